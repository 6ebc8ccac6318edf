"""Rules of a pair without one row, for many rows at once.

Without weight l of a row x of a class of weight W, mean m and scatter T, z = x - m,

    m' = m - l/(W - l) z,   T' = T - l W/(W - l) z z',   S' = T' / (W - l - 1)

In the pencil's coordinates, with v = V'z, every b S1' + a S2' is then a diagonal matrix
less a multiple of v v', and delta' = c + s v. With h the inverse of the diagonal and R
the multiple, Sherman and Morrison's formula is

    u = h (c + t v),   t = (s + R q) / (1 - R p),   p = sum h v^2,   q = sum h v c

so a rule costs O(d). The rows are those of the first class of the pairs, which is
called *own* here, and the second one *other*: b is the weight of own's covariance and a
that of other's. `Pencil.turned` brings the class to the first place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

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
    pencil : Pencil
        The pairs with all rows.
    v : ndarray of shape (P, n, d)
        Deviations of the rows from the mean of their class, in the pencil's basis.
    total : float
        The weight W of the class with all rows.
    left : ndarray of shape (n,) or (1,)
        The weight that is left out of each row, or of all.
    borrowed : float
        The share of some other matrix in the covariance of the class.
    frequencies : bool
        Whether the priors are relative frequencies.
    """

    pencil: Pencil
    v: Array
    total: float
    left: Array
    borrowed: float
    frequencies: bool

    @classmethod
    def from_pencil(
        cls,
        pencil: Pencil,
        rows: Array,
        weight: Array | None = None,
        *,
        borrowed: float = 0.0,
        frequencies: bool = True,
    ) -> LeftOut:
        """Leave rows out of pairs whose first class is theirs.

        Parameters
        ----------
        pencil : Pencil
            The P pairs, with all rows.
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
        v = (rows - pencil.means[0, 0]) @ pencil.basis
        left = np.ones(1)
        if weight is not None and (weight < 1).any():
            left = np.minimum(weight, 1.0)
        return cls(pencil, v, pencil.weights[0, 0], left, borrowed, frequencies)

    def of_pairs(self, pairs: Index) -> LeftOut:
        """Some of the pairs; one may come several times."""
        if np.array_equal(pairs, np.arange(len(self.v))):
            return self
        return replace(self, pencil=self.pencil.take(pairs), v=self.v[pairs])

    @cached_property
    def shift(self) -> Array:
        """What of v is added to c: s = -l / (W - l)."""
        with np.errstate(divide="ignore"):
            shift: Array = -self.left / (self.total - self.left)
        return shift

    @cached_property
    def log_odds(self) -> Array:
        """ln(p_own / p_other) without the row, of shape (P, n)."""
        log_odds = np.broadcast_to(-self.pencil.log_tau[:, None], self.v.shape[:2])
        if self.frequencies:
            with np.errstate(divide="ignore"):
                log_odds = log_odds + np.log1p(-self.left / self.total)
        return log_odds

    # Of own's covariance (T + nu P) / (W - 1 + nu), nu = borrowed (W - 1) / (1 -
    # borrowed), T and W change. It becomes grown (diag(own) - taken v v').

    @cached_property
    def grown(self) -> Array:
        """How much less the divisor becomes, NaN if no covariance is left."""
        freedom = self.total - 1
        rest = freedom - (1 - self.borrowed) * self.left
        grown: Array = freedom / np.where(rest > 0, rest, np.nan)
        return grown

    @cached_property
    def taken(self) -> Array:
        """The multiple of v v'."""
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (1 - self.borrowed) / (self.total - 1)
            taken: Array = share * self.left * self.total / (self.total - self.left)
        return taken

    @cached_property
    def raised(self) -> Mask:
        """Where the pencil has raised a variance of own: it is not the rows'."""
        raised: Mask = self.pencil.alpha0 < self.pencil.alpha
        return raised

    @cached_property
    def own(self) -> Array:
        """The diagonal from which multiples of v v' are taken, (P, d).

        Raised variances do not grow.
        """
        alpha = self.pencil.alpha
        return np.where(self.raised, alpha / self.grown.min(), alpha)

    @cached_property
    def squares(self) -> Array:
        """The squares of v."""
        squares: Array = self.v * self.v
        return squares

    @cached_property
    def well_posed(self) -> Mask:
        """Whether the class keeps its variance in all directions, of shape (P, n).

        own - e - k v v' is positive definite if k sum v^2 / (own - e) < 1. Here e is
        what the pencil would take for rounding errors, so that nothing is raised. Of
        raised variances nothing is known if rows of several weights are left out.
        """
        rest = self.own - 2 * self.pencil.noise[:, 0] / self.grown.min()
        rest = np.where(self.raised, np.inf, np.where(rest > 0, rest, np.nan))
        posed: Mask = self.taken * _sums(self.squares, 1 / rest[:, None]) < 1
        if len(self.left) > 1:
            posed &= ~self.raised.any(axis=1, keepdims=True)
        return posed

    def arc_rules(self, b: Array, a: Array) -> LeftOutRules:
        """Rules w = (b S_own + a S_other)^-1 delta with the threshold of the arc.

        It lies b sigma_own^2 from the mean of own, and a sigma_other^2 from that of
        other. The weights are of shape (P, n), or (P, 1) for all rows.
        """
        rules = self._project(b, a)
        return replace(rules, score=-b * rules.variance_own - rules.score)

    def fisher_rules(self) -> LeftOutRules:
        """Fisher's rules, with the threshold midway, moved by the log-odds."""
        rest, others = self.total - self.left, self.pencil.weights[:, 1:]
        rules = self._project(rest / (rest + others), others / (rest + others))
        score = -0.5 * rules.distance - self.log_odds - rules.score
        return replace(rules, score=score)

    def _project(self, b: Array, a: Array) -> LeftOutRules:
        """Rules whose `score` is how far a row lies from the mean of its class."""
        own, other = self.own[:, None], self.pencil.beta[:, None]
        v, c, s = self.v, self.pencil.c[:, None], self.shift
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            g = (b * self.grown)[:, :, None] * own + a[:, :, None] * other
            R = b * self.grown * self.taken
            h = 1 / g
            p, q = _sums(self.squares, h), _sums(v, h * c)
            rest = 1 - R * p
            t = (s + R * q) / rest
            u_v = q + t * p
            u = t[:, :, None] * v
            u += c
            u *= h
            u *= u
            sums = u @ np.concatenate([own, other], axis=1).mT
            variance_own = self.grown * (sums[:, :, 0] - self.taken * u_v**2)
            variance_other = sums[:, :, 1]
        positive = (g > 0).all(axis=2) & (variance_own > 0) & (variance_other > 0)
        # The row lies W / (W - l) = 1 - s times as far from the mean without it. The
        # distance of the means is w.(b S_own + a S_other)w.
        return LeftOutRules(
            score=(1 - s) * u_v,
            variance_own=variance_own,
            variance_other=variance_other,
            distance=b * variance_own + a * variance_other,
            regular=positive & (rest > _SINGULAR),
        )


def _sums(values: Array, factors: Array) -> Array:
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

    The class of the rows stands in each pair at its `place`, 0 or 1. The other
    arguments are those of `LeftOut.from_pencil`, with the rules of the same pairs.
    Returned are the scores by these rules and by Fisher's, both of shape (P, n) and
    positive for the second class of a pair. They are NaN where without the row the
    pair's covariances are singular or the place is off the arc.
    """
    out = LeftOut.from_pencil(
        pencil.turned(place), rows, weight, borrowed=borrowed, frequencies=frequencies
    )
    first, second = arc_weights(planes)
    is_first = place == 0
    arc = out.arc_rules(
        np.where(is_first, first, second)[:, None],
        np.where(is_first, second, first)[:, None],
    )
    fisher = out.fisher_rules()
    score = np.where(arc.regular, arc.score, np.nan)
    score = np.where(planes.trivial[:, None], -out.log_odds, score)
    other = np.where(fisher.regular, fisher.score, np.nan)
    sign = np.where(is_first, 1.0, -1.0)[:, None]
    return sign * score, sign * other
