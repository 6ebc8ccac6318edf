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

from dataclasses import dataclass, replace

import numpy as np

from heterolda.foundations.types import Array, Index, Mask
from heterolda.solvers.hyperplanes import Hyperplanes
from heterolda.solvers.pencil import VARIANCE_FLOOR, Pencil

# A matrix that keeps less than this share of its size in some direction, once a row is
# gone, is next to singular: digits are lost.
_SINGULAR = 1e-9


@dataclass(frozen=True)
class LeftOutRules:
    """Rules of P pairs, each without one of n rows; all arrays are of shape (P, n).

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
    least : ndarray of shape (P, 1)
        A class that keeps a smaller share of its variance in some direction, without
        the row, would have it raised by the pencil.
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
    least: Array

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
        mean, total = pencil.means[0, place[0]], pencil.weights[0, place[0]]
        left = np.ones(1) if weight is None else np.minimum(weight, 1.0)
        if (left == 1).all():
            left = np.ones(1)
        diagonals = np.array([pencil.alpha, pencil.beta])
        own, other = diagonals[place, pairs], diagonals[1 - place, pairs]
        raised = np.array([pencil.alpha0, pencil.beta0])[place, pairs] < own
        # Of the covariance (T + nu P) / (W - 1 + nu), nu = borrowed (W - 1) / (1 -
        # borrowed), T and W change. Variances that were raised are not the rows'.
        freedom = total - 1
        rest = freedom - (1 - borrowed) * left
        grown = freedom / np.where(rest > 0, rest, np.nan)  # no covariance is left
        scales = np.where(raised[:, None], 1.0, grown[:, None])
        taken = grown * (1 - borrowed) / freedom * left * total / (total - left)
        n = len(rows)
        weights = pencil.weights[pairs, 1 - place][:, None]
        shares = np.array(np.broadcast_arrays(total - left, weights))
        sign = np.where(place == 0, 1.0, -1.0)[:, None]
        log_odds = -sign * pencil.log_tau[:, None]
        if frequencies:
            log_odds = log_odds + np.log1p(-left / total)
        shape = len(pairs), n
        return cls(
            v=(rows - mean) @ pencil.basis,
            c=(sign * pencil.c)[:, None],
            own=scales * own[:, None],
            other=other[:, None],
            less_own=np.broadcast_to(taken, shape),
            less_other=np.broadcast_to(0.0, shape),
            shift=np.broadcast_to(-left / (total - left), (n,)),
            shares=np.broadcast_to(shares / shares.sum(axis=0), (2, *shape)),
            log_odds=np.broadcast_to(log_odds, shape),
            sign=sign,
            least=VARIANCE_FLOOR / np.where(raised, 1.0, own).min(axis=1)[:, None],
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
            least=self.least[pairs],
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
            least=self.least[None, pairs, 0],
        )

    def signed(self, score: Array) -> Array:
        """Scores, positive for the second class of each pair."""
        return self.sign * score

    def arc_rules(self, b: Array, a: Array) -> LeftOutRules:
        """Rules w = (b S_own + a S_other)^-1 delta with the threshold of the arc.

        It lies b sigma_own^2 from the mean of own, and a sigma_other^2 from that of
        other. The weights are of shape (P, 1), or (P, n).
        """
        along, v1, v2, distance, regular = self._project(b, a)
        return LeftOutRules(-b * v1 - along, v1, v2, distance, regular)

    def fisher_rules(self) -> LeftOutRules:
        """Fisher's rules, with the threshold midway, moved by the log-odds."""
        b, a = self.shares
        if self.own.shape[1] == 1:  # all rows have the same shares
            b, a = b[:, :1], a[:, :1]
        along, v1, v2, distance, regular = self._project(b, a)
        score = -0.5 * distance - self.log_odds - along
        return LeftOutRules(score, v1, v2, distance, regular)

    def _project(self, b: Array, a: Array) -> tuple[Array, Array, Array, Array, Mask]:
        """How far a row lies from the mean of its class along w; see `LeftOutRules`."""
        v, c, s = self.v, self.c, self.shift
        g = self._diagonal(b, a)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            h = 1 / g
            R = b * self.less_own + a * self.less_other
            if h.shape[1] == 1:  # the same for all rows: sums are products of matrices
                factors = np.concatenate([h, self.own * h * h, self.other * h * h], 1)
                pp, qq = (v * v) @ factors.mT, v @ (factors * c).mT
                cc = (factors * (c * c)).sum(axis=2)[:, None]
                p, q = pp[:, :, 0], qq[:, :, 0]
                rest = 1 - R * p
                t = (s + R * q) / rest
                uu = cc + t[:, :, None] * (2 * qq + t[:, :, None] * pp)
                v1, v2 = uu[:, :, 1], uu[:, :, 2]
            else:
                hv = h * v
                p, q = (hv * v).sum(axis=2), (hv * c).sum(axis=2)
                rest = 1 - R * p
                t = (s + R * q) / rest
                u = t[:, :, None] * v
                u += c
                u *= h
                u *= u
                v1, v2 = sums(u, self.own), sums(u, self.other)
            uv = q + t * p
            v1, v2 = v1 - self.less_own * uv**2, v2 - self.less_other * uv**2
        regular = (g > 0).all(axis=2) & (rest > _SINGULAR) & (v1 > 0) & (v2 > 0)
        # The row lies W / (W - l) = 1 - s times as far from the mean without it. The
        # distance of the means is w.(b S_own + a S_other)w.
        return (1 - s) * uv, v1, v2, b * v1 + a * v2, regular

    def _diagonal(self, b: Array, a: Array) -> Array:
        """The diagonal from which multiples of v v' are taken in b S_own + a S_other.

        It is of shape (P, 1, d) if all rows have it in common, else (P, n, d).
        """
        if self.own.shape[1] == 1 == self.other.shape[1]:
            both = np.concatenate([self.own, self.other], axis=1)
            diagonal: Array = np.array([b, a]).transpose(1, 2, 0) @ both
        else:
            diagonal = b[:, :, None] * self.own + a[:, :, None] * self.other
        return diagonal


def sums(squares: Array, diagonal: Array) -> Array:
    """Sums of squares over the features, weighted by a diagonal of each pair or row."""
    if diagonal.shape[1] == 1:
        sums: Array = (squares @ diagonal.mT)[:, :, 0]
    else:
        sums = (squares * diagonal).sum(axis=2)
    return sums


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
    first, second = (weights[:, None] for weights in arc_weights(planes))
    own_first = out.sign > 0
    arc = out.arc_rules(
        np.where(own_first, first, second), np.where(own_first, second, first)
    )
    fisher = out.fisher_rules()
    score = np.where(arc.regular, arc.score, np.nan)
    score = np.where(planes.trivial[:, None], -out.log_odds, score)
    other = np.where(fisher.regular, fisher.score, np.nan)
    return out.signed(score), out.signed(other)
