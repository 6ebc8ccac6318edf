"""Rules of a pair without one row, for many rows at once.

Without weight l of a row x of a class of weight W, mean m and scatter T, z = x - m,

    m' = m - l/(W - l) z,   T' = T - l W/(W - l) z z',   S' = T' / (W - l - 1)

In the pencil's coordinates, with v = V'z, every b S1' + a S2' is then a diagonal matrix
less a multiple of v v', and delta' = c + s v. With h the inverse of the diagonal and R
the multiple, Sherman and Morrison's formula is

    u = h (c + t v),   t = (s + R q) / (1 - R p),   p = sum h v^2,   q = sum h v c

so a rule costs O(d). The class of the rows is called *own* here, the other one of the
pair *other*, wherever they stand in the pair: delta is the mean of own less that of
other, b the weight of own's covariance and a that of other's. Signs are turned at the
end, by `signed`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from heterolda.foundations.types import Array, Index, Mask
from heterolda.solvers.hyperplanes import Hyperplanes
from heterolda.solvers.pencil import Pencil

# A matrix that keeps less than this share of its size in some direction, once a row is
# gone, is next to singular: digits are lost.
_SINGULAR = 1e-9


@dataclass(frozen=True)
class LeftOutRules:
    """Rules of P pairs, each without one of n rows; arrays of shape (P, n).

    For m points that all rows have in common they are of shape (P, m, n).

    Attributes
    ----------
    score : ndarray
        That of the row which is left out, positive for the other class.
    variance_own, variance_other : ndarray
        Variances of the score in both classes.
    distance : ndarray
        Difference of the means of the score.
    regular : ndarray of bool
        Whether b S_own + a S_other is positive definite; otherwise nothing is known.
    """

    score: Array
    variance_own: Array
    variance_other: Array
    distance: Array
    regular: Mask


@dataclass(frozen=True)
class LeftOut:
    """P pairs of a class with others, each without one of n rows of that class.

    Attributes
    ----------
    v : ndarray of shape (P, n, d)
        Deviations of the rows from the mean of their class.
    c : ndarray of shape (P, 1, d)
        The difference of the means with all rows.
    own, other : ndarray of shape (P, 1 or n, d)
        Diagonals from which multiples of v v' are taken to give the covariances.
    less_own, less_other : ndarray of shape (P, n)
        These multiples.
    shift : ndarray of shape (n,)
        What of v is added to c: s = -l / (W - l).
    shares : ndarray of shape (2, P, n)
        Weights of both classes without the row, as shares of their sum.
    log_odds : ndarray of shape (P, n)
        ln(p_own / p_other) without the row.
    sign : ndarray of shape (P, 1)
        1 where own is the first class of the pair, else -1.
    precision : ndarray of shape (P, 1 or n, d)
        Inverse of `own` less what the pencil would take for rounding errors; zero where
        it did, NaN where `own` is hardly larger.
    """

    v: Array
    c: Array
    own: Array
    other: Array
    less_own: Array
    less_other: Array
    shift: Array
    shares: Array
    log_odds: Array
    sign: Array
    precision: Array

    @classmethod
    def from_pencil(
        cls,
        pencil: Pencil,
        place: Index,
        rows: Array,
        weight: Array | None = None,
        *,
        borrowed: float = 0.0,
        frequencies: bool = True,
    ) -> LeftOut:
        """Leave rows of one class out of pairs that all contain it.

        Parameters
        ----------
        pencil : Pencil
            The P pairs, with all rows.
        place : ndarray of shape (P,)
            Where the class stands in each pair: 0 or 1.
        rows : ndarray of shape (n, d)
            Rows of the class.
        weight : ndarray of shape (n,) or None
            Their weights. Of a row of weight 3, one of three copies is left out.
        borrowed : float
            The share of some other matrix in the covariance of the class. That matrix
            is kept, and so is the number of rows that it counts for.
        frequencies : bool
            Whether the priors are relative frequencies, which change with the row.
        """
        pairs = np.arange(len(place))
        total, left = pencil.weights[0, place[0]], left_out_weight(weight)
        diagonals = np.array([pencil.alpha, pencil.beta])
        own, other = diagonals[place, pairs][:, None], diagonals[1 - place, pairs]
        raised = np.array([pencil.alpha0, pencil.beta0])[place, pairs][:, None] < own
        # Of the covariance (T + nu P) / (W - 1 + nu), nu = borrowed (W - 1) / (1 -
        # borrowed), T and W change. Variances that were raised are not the rows'.
        freedom = total - 1
        rest = freedom - (1 - borrowed) * left
        grown = freedom / np.where(rest > 0, rest, np.nan)  # no covariance is left
        with np.errstate(divide="ignore", invalid="ignore"):
            taken = grown * (1 - borrowed) / freedom * left * total / (total - left)
        own = np.where(raised, 1.0, grown[:, None]) * own
        clear = own - _noise(pencil, place)
        clear[clear <= 0] = np.nan
        shape = len(pairs), len(rows)
        return cls(
            own=own,
            other=other[:, None],
            less_own=np.broadcast_to(taken, shape),
            less_other=np.broadcast_to(0.0, shape),
            precision=1 / np.where(raised, np.inf, clear),
            **_whatever_the_covariances(pencil, place, rows, left, frequencies),
        )

    @classmethod
    def from_mixtures(
        cls,
        pencil: Pencil,
        place: Index,
        rows: Array,
        weight: Array,
        factors: Array,
        *,
        frequencies: bool = True,
    ) -> LeftOut:
        """Leave rows out of one pair whose covariances are mixtures of its scatters.

        `factors`, of shape (2, 2, 1 or n), are those of the scatters of own and other
        in the covariance of own, and in that of other, without each row. The pencil is
        that of the covariances before they were mixed.
        """
        total, left = pencil.weights[0, place[0]], left_out_weight(weight)
        scatters = np.array([pencil.alpha0, pencil.beta0])[:, 0] * (
            pencil.weights.T - 1
        )
        scatters = scatters[[place[0], 1 - place[0]]]
        own, other = factors.transpose(0, 2, 1) @ scatters
        shape = 1, len(rows)
        taken = left * total / (total - left)
        clear = own[None] - _noise(pencil, place) * np.abs(own).max()
        clear[clear <= 0] = np.nan
        return cls(
            own=own[None],
            other=other[None],
            less_own=np.broadcast_to(factors[0, 0] * taken, shape),
            less_other=np.broadcast_to(factors[1, 0] * taken, shape),
            precision=1 / clear,
            **_whatever_the_covariances(pencil, place, rows, left, frequencies),
        )

    def of_pairs(self, pairs: Index) -> LeftOut:
        """Some of the pairs, with all rows."""
        return replace(
            self,
            v=self.v[pairs],
            c=self.c[pairs],
            own=self.own[pairs],
            other=self.other[pairs],
            less_own=self.less_own[pairs],
            less_other=self.less_other[pairs],
            shares=self.shares[:, pairs],
            log_odds=self.log_odds[pairs],
            sign=self.sign[pairs],
            precision=self.precision[pairs],
        )

    def of_rows(self, rows: Index) -> LeftOut:
        """Some of the rows, in all pairs."""

        def few(diagonal: Array) -> Array:
            return diagonal if diagonal.shape[1] == 1 else diagonal[:, rows]

        return replace(
            self,
            v=self.v[:, rows],
            own=few(self.own),
            other=few(self.other),
            less_own=self.less_own[:, rows],
            less_other=self.less_other[:, rows],
            shift=self.shift[rows],
            shares=self.shares[:, :, rows],
            log_odds=self.log_odds[:, rows],
            precision=few(self.precision),
        )

    def pick(self, pairs: Index, rows: Index) -> LeftOut:
        """Single rows of single pairs, as if they were those of one pair."""

        def each(diagonal: Array) -> Array:
            return diagonal[None, pairs, 0 if diagonal.shape[1] == 1 else rows]

        return replace(
            self,
            v=self.v[None, pairs, rows],
            c=each(self.c),
            own=each(self.own),
            other=each(self.other),
            less_own=self.less_own[None, pairs, rows],
            less_other=self.less_other[None, pairs, rows],
            shift=self.shift[rows],
            shares=self.shares[:, None, pairs, rows],
            log_odds=self.log_odds[None, pairs, rows],
            sign=self.sign[None, pairs, 0],
            precision=each(self.precision),
        )

    def signed(self, score: Array) -> Array:
        """Scores, positive for the second class of each pair."""
        return self.sign * score

    def arc_rules(self, b: Array, a: Array) -> LeftOutRules:
        """Rules w = (b S_own + a S_other)^-1 delta with the threshold of the arc.

        It lies b sigma_own^2 from the mean of own, and a sigma_other^2 from that of
        other. The weights are of shape (P, n), or (P, m, 1): then the rules have the
        shape (P, m, n), for m points that all rows have in common.
        """
        rules = self._project(b, a)
        return replace(rules, score=-b * rules.variance_own - rules.score)

    def fisher_rules(self) -> LeftOutRules:
        """Fisher's rules, with the threshold midway, moved by the log-odds."""
        b, a = self.shares
        if self.own.shape[1] > 1:  # the shares differ from row to row
            rules = self._project(b, a)
        else:
            common = self._project(b[:, :1, None], a[:, :1, None])
            rules = LeftOutRules(
                *(getattr(common, f.name)[:, 0] for f in fields(common))
            )
        score = -0.5 * rules.distance - self.log_odds - rules.score
        return replace(rules, score=score)

    def _project(self, b: Array, a: Array) -> LeftOutRules:
        """Rules whose `score` is how far a row lies from the mean of its class."""
        common = b.ndim == 3
        less_own, less_other = self.less_own, self.less_other
        if common:
            less_own, less_other = less_own[:, None], less_other[:, None]
        s = self.shift
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            R = b * less_own + a * less_other
            if not common:
                positive, rest, uv, v1, v2 = self._at_rows(b, a, R)
            elif self.own.shape[1] == 1:
                positive, rest, uv, v1, v2 = self._at_nodes(b, a, R)
            else:
                each = [
                    self._at_rows(b[:, k], a[:, k], R[:, k]) for k in range(b.shape[1])
                ]
                positive, rest, uv, v1, v2 = (
                    np.stack(one, axis=1) for one in zip(*each, strict=True)
                )
            v1, v2 = v1 - less_own * uv**2, v2 - less_other * uv**2
        # The row lies W / (W - l) = 1 - s times as far from the mean without it. The
        # distance of the means is w.(b S_own + a S_other)w.
        return LeftOutRules(
            score=(1 - s) * uv,
            variance_own=v1,
            variance_other=v2,
            distance=b * v1 + a * v2,
            regular=positive & (rest > _SINGULAR) & (v1 > 0) & (v2 > 0),
        )

    def _at_nodes(self, b: Array, a: Array, R: Array) -> tuple[Any, ...]:
        """Sums over the features at m points that all rows have in common.

        They are products of matrices. Returned are whether the diagonal is positive,
        1 - R p, u.v, and the sums of own u^2 and other u^2.
        """
        c, s, (P, m) = self.c, self.shift, b.shape[:2]
        g = b * self.own + a * self.other
        h = 1 / g
        factors = np.stack([h, self.own * h * h, self.other * h * h], axis=1)
        flat = factors.reshape(P, 3 * m, -1)
        pp = (flat @ self.squares.mT).reshape(P, 3, m, -1).swapaxes(0, 1)
        qq = ((flat * c) @ self.v.mT).reshape(P, 3, m, -1).swapaxes(0, 1)
        cc = (factors * (c * c)[:, None]).sum(axis=3).swapaxes(0, 1)[..., None]
        rest = 1 - R * pp[0]
        t = (s + R * qq[0]) / rest
        positive = (g > 0).all(axis=2, keepdims=True)
        v1, v2 = (cc[k] + t * (2 * qq[k] + t * pp[k]) for k in (1, 2))
        return positive, rest, qq[0] + t * pp[0], v1, v2

    def _at_rows(self, b: Array, a: Array, R: Array) -> tuple[Any, ...]:
        """The same at points that differ from row to row."""
        v, c, s = self.v, self.c, self.shift
        if self.own.shape[1] == 1 == self.other.shape[1]:
            both = np.concatenate([self.own, self.other], axis=1)
            g = np.stack([b, a], axis=2) @ both
        else:
            g = b[:, :, None] * self.own + a[:, :, None] * self.other
        positive = (g > 0).all(axis=2)
        h = np.divide(1, g, out=g)
        u = h * v
        p = np.einsum("pni,pni->pn", u, v)
        q = sums(u, c)
        rest = 1 - R * p
        t = (s + R * q) / rest
        np.multiply(t[:, :, None], v, out=u)
        u += c
        u *= h
        u *= u
        return positive, rest, q + t * p, sums(u, self.own), sums(u, self.other)

    @cached_property
    def squares(self) -> Array:
        """The squares of v."""
        squares: Array = self.v * self.v
        return squares


def left_out_weight(weight: Array | None) -> Array:
    """The weight that is left out of each row, of shape (n,); or (1,) if it is one."""
    if weight is None or (weight >= 1).all():
        return np.ones(1)
    return np.minimum(weight, 1.0)


def _noise(pencil: Pencil, place: Index) -> Array:
    """Variances of own that the pencil may take for rounding errors, (P, 1, d)."""
    noise: Array = 2 * pencil.noise()[np.arange(len(place)), place]
    return noise[:, None]


def _whatever_the_covariances(
    pencil: Pencil, place: Index, rows: Array, left: Array, frequencies: bool
) -> dict[str, Array]:
    """The fields of `LeftOut` that do not depend on how covariances change."""
    pairs, n = np.arange(len(place)), len(rows)
    mean, total = pencil.means[0, place[0]], pencil.weights[0, place[0]]
    weights = pencil.weights[pairs, 1 - place][:, None]
    shares = np.array(np.broadcast_arrays(total - left, weights))
    sign = np.where(place == 0, 1.0, -1.0)[:, None]
    log_odds = -sign * pencil.log_tau[:, None]
    with np.errstate(divide="ignore"):
        shift = -left / (total - left)
        if frequencies:
            log_odds = log_odds + np.log1p(-left / total)
    shape = len(pairs), n
    return {
        "v": (rows - mean) @ pencil.basis,
        "c": (sign * pencil.c)[:, None],
        "shift": np.broadcast_to(shift, (n,)),
        "shares": np.broadcast_to(shares / shares.sum(axis=0), (2, *shape)),
        "log_odds": np.broadcast_to(log_odds, shape),
        "sign": sign,
    }


def sums(values: Array, factors: Array) -> Array:
    """Sums over the features, weighted by factors of each pair or of each row."""
    if factors.shape[1] == 1:
        weighted: Array = (values @ factors.mT)[:, :, 0]
    else:
        weighted = np.einsum("pni,pni->pn", values, factors)
    return weighted


def arc_weights(planes: Hyperplanes) -> tuple[Array, Array]:
    """The weights of S1 and S2 in the rules of an arc, from t = a sigma2^2 etc.

    Trivial rules have none: they get one half of each.
    """
    trivial = planes.trivial
    variances = np.where(trivial[:, None], 1.0, planes.deviations) ** 2
    b, a = (np.array([-1, 1]) * planes.means / variances).T
    return np.where(trivial, 0.5, b), np.where(trivial, 0.5, a)


def left_out_scores(
    pencil: Pencil,
    planes: Hyperplanes,
    place: Index,
    rows: Array,
    weight: Array | None = None,
    *,
    borrowed: float = 0.0,
    frequencies: bool = True,
) -> tuple[Array, Array]:
    """Scores of rows by rules that have not seen them, their place on the arc kept.

    The arguments are those of `LeftOut.from_pencil`, with the rules of the same pairs.
    Returned are the scores by these rules and by Fisher's, both of shape (P, n) and
    positive for the second class of a pair. They are NaN where without the row the
    pair's covariances are singular or the place is off the arc.
    """
    out = LeftOut.from_pencil(
        pencil, place, rows, weight, borrowed=borrowed, frequencies=frequencies
    )
    first, second = (weights[:, None, None] for weights in arc_weights(planes))
    own_first = out.sign[:, None] > 0
    arc = out.arc_rules(
        np.where(own_first, first, second), np.where(own_first, second, first)
    )
    fisher = out.fisher_rules()
    score = np.where(arc.regular, arc.score, np.nan)[:, 0]
    score = np.where(planes.trivial[:, None], -out.log_odds, score)
    other = np.where(fisher.regular, fisher.score, np.nan)
    return out.signed(score), out.signed(other)
