"""Rules of a pair without one row, for many rows at once, their place on the arc kept.

Without weight l of a row x of a class of weight W, mean m and scatter T, z = x - m,

    m' = m - l/(W - l) z,   T' = T - l W/(W - l) z z',   S' = T' / (W - l - 1)

In the pencil's coordinates, with v = V'z, every b S1' + a S2' is then a diagonal matrix
less a multiple of v v', and delta' = c + s v. With h the inverse of the diagonal and R
the multiple, Sherman and Morrison's formula is

    u = h (c + t v),   t = (s + R q) / (1 - R p),   p = sum h v^2,   q = sum h v c

so a rule costs O(d). The rows are those of the first class of the pairs, which is
called *own* here, and the second one *other*: b is the weight of own's covariance and a
that of other's. `Moments.turned` brings the class to the first place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.rounding import SINGULAR_WITHOUT_ROW
from heterolda.solvers.moments import Moments
from heterolda.solvers.pencil import Pencil
from heterolda.solvers.rules import Rules


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

    Without a row, own's covariance becomes grown (diag(own) - taken v v').

    Attributes
    ----------
    pencil : Pencil
        The pairs with all rows.
    v, squares : ndarray of shape (P, n, d)
        Deviations of the rows from the mean of their class, in the pencil's basis, and
        their squares.
    total : float
        The weight W of the class with all rows.
    left : ndarray of shape (n,) or (1,)
        The weight that is left out of each row, or of all; the same shape have
    shift, grown, taken : ndarray
        s = -l / (W - l); how much less the divisor becomes, NaN if no covariance is
        left; and the multiple of v v'.
    log_odds : ndarray of shape (P, n)
        ln(p_own / p_other) without the row.
    own : ndarray of shape (P, d)
        The diagonal from which multiples of v v' are taken.
    """

    pencil: Pencil
    v: Array
    squares: Array
    total: float
    left: Array
    shift: Array
    grown: Array
    taken: Array
    log_odds: Array
    own: Array

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
        total = pencil.weights[0, 0]
        left = np.ones(1)
        if weight is not None and (weight < 1).any():
            left = np.minimum(weight, 1.0)
        v = (rows - pencil.means[0, 0]) @ pencil.basis
        log_odds = np.broadcast_to(-pencil.log_tau[:, None], v.shape[:2])
        # Of own's covariance (T + nu P) / (W - 1 + nu), nu = borrowed (W - 1) / (1 -
        # borrowed), T and W change.
        freedom = total - 1
        rest = freedom - (1 - borrowed) * left
        grown = freedom / np.where(rest > 0, rest, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = -left / (total - left)
            taken = (1 - borrowed) / freedom * left * total / (total - left)
            if frequencies:
                log_odds = log_odds + np.log1p(-left / total)
        # Variances that the pencil has raised are not the rows', and do not grow.
        alpha = pencil.alpha
        own = np.where(pencil.alpha0 < alpha, alpha / grown.min(), alpha)
        return cls(pencil, v, v * v, total, left, shift, grown, taken, log_odds, own)

    def arc_rules(self, b: Array, a: Array) -> LeftOutRules:
        """Return rules w = (b S_own + a S_other)^-1 delta with the arc's threshold.

        It lies b sigma_own^2 from the mean of own, and a sigma_other^2 from that of
        other. The weights are of shape (P, n), or (P, 1) for all rows.
        """
        rules = self._project(b, a)
        return replace(rules, score=-b * rules.variance_own - rules.score)

    def fisher_rules(self) -> LeftOutRules:
        """Return Fisher's rules: the threshold is midway, moved by the log-odds."""
        rest, others = self.total - self.left, self.pencil.weights[:, 1:]
        rules = self._project(rest / (rest + others), others / (rest + others))
        score = -0.5 * rules.distance - self.log_odds - rules.score
        return replace(rules, score=score)

    def _project(self, b: Array, a: Array) -> LeftOutRules:
        """Return rules whose `score` is how far a row lies from the mean of own."""
        own, other = self.own[:, None], self.pencil.beta[:, None]
        v, c, s = self.v, self.pencil.c[:, None], self.shift
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            g = (b * self.grown)[:, :, None] * own + a[:, :, None] * other
            R = b * self.grown * self.taken
            h = 1 / g
            p, q = sums(self.squares, h), sums(v, h * c)
            rest = 1 - R * p
            t = (s + R * q) / rest
            u_v = q + t * p
            u = t[:, :, None] * v
            u += c
            u *= h
            u *= u
            variances = u @ np.concatenate([own, other], axis=1).mT
            variance_own = self.grown * (variances[:, :, 0] - self.taken * u_v**2)
            variance_other = variances[:, :, 1]
        positive = (g > 0).all(axis=2) & (variance_own > 0) & (variance_other > 0)
        # The row lies W / (W - l) = 1 - s times as far from the mean without it. The
        # distance of the means is w.(b S_own + a S_other)w.
        return LeftOutRules(
            score=(1 - s) * u_v,
            variance_own=variance_own,
            variance_other=variance_other,
            distance=b * variance_own + a * variance_other,
            regular=positive & (rest > SINGULAR_WITHOUT_ROW),
        )


def sums(values: Array, factors: Array) -> Array:
    """Return sums over the features, with factors of each pair or of each row."""
    if factors.shape[1] == 1:
        weighted: Array = (values @ factors.mT)[:, :, 0]
    else:
        weighted = np.einsum("pni,pni->pn", values, factors)
    return weighted


def arc_weights(rules: Rules) -> tuple[Array, Array]:
    """Return the weights of S1 and S2 in the rules of an arc, from t = a sigma2^2 etc.

    Trivial rules have none: they get one half of each.
    """
    trivial = rules.trivial
    variances = np.where(trivial[:, None], 1.0, rules.deviations) ** 2
    b, a = (np.array([-1, 1]) * rules.means / variances).T
    return np.where(trivial, 0.5, b), np.where(trivial, 0.5, a)


def left_out_scores(
    moments: Moments,
    rules: Rules,
    place: Index,
    rows: Array,
    weight: Array | None = None,
    *,
    borrowed: float = 0.0,
    frequencies: bool = True,
) -> tuple[Array, Array]:
    """Return scores of rows by rules that have not seen them.

    The class of the rows stands in each pair at its `place`, 0 or 1. The other
    arguments are those of `LeftOut.from_pencil`, with the rules of the same pairs.
    Returned are the scores by these rules and by Fisher's, both of shape (P, n) and
    positive for the second class of a pair. They are NaN where without the row the
    pair's covariances are singular or the place is off the arc.
    """
    pencil = moments.turned(place).pencil()
    out = LeftOut.from_pencil(
        pencil, rows, weight, borrowed=borrowed, frequencies=frequencies
    )
    first, second = arc_weights(rules)
    is_first = place == 0
    arc = out.arc_rules(
        np.where(is_first, first, second)[:, None],
        np.where(is_first, second, first)[:, None],
    )
    fisher = out.fisher_rules()
    score = np.where(arc.regular, arc.score, np.nan)
    score = np.where(rules.trivial[:, None], -out.log_odds, score)
    other = np.where(fisher.regular, fisher.score, np.nan)
    sign = np.where(is_first, 1.0, -1.0)[:, None]
    return sign * score, sign * other
