r"""Scores of rows by rules that have not seen them, in closed form.

Without a row x of weight l (its copies included), a class of weight W, mean m and
scatter T has, with z = x - m,

    m' = m - l/(W - l) z,   T' = T - l W/(W - l) z z'

Kept are the divisors of the covariances and the place of a rule: the weights (b, a) of
its matrix M = b S1 + a S2, and the share of the distance of the means at which its
threshold lies. So M loses a multiple R of z z', and by Sherman and Morrison's formula
the normal w = M^-1 delta becomes, with y = M^-1 z and e = l/(W - l),

    w' = w + t y,   t = (e + R w.z) / (1 - R y.z)

No rule is solved again. If a class has a share of the pooled covariance, that loses a
multiple of z z', too. The class of a row is called *own* here, the other class of a
pair *other*; delta is the mean of other less that of own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.rounding import (
    SAME_SUM,
    SINGULAR_WITHOUT_ROW,
    VARIANCE_FLOOR,
)
from heterolda.solvers.fisher import PooledLDA
from heterolda.solvers.moments import Moments
from heterolda.solvers.rules import Rules
from heterolda.statistics.covariances import pooled_freedom
from heterolda.statistics.rows import Rows

# Numbers that are computed at a time.
_BLOCK = 1 << 20
# What is added to variances, as a share of them, before a matrix is inverted.
_RIDGE = 1e-10
# Of the mean score of either class, which is negative for the first.
_SIGNS = np.array([-1.0, 1.0])
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class LeftOutScores:
    """Scores of n rows of one class in P pairs, each by a rule without the row."""

    pairs: Index  # (P,)
    place: Index  # where the class stands in these pairs, 0 or 1
    rows: Rows
    score: Array  # positive for the second class; NaN without a rule, (P, n)
    distance: Array  # of the means along each rule; scores over its root are comparable


@dataclass(frozen=True)
class LeftOut:
    """Rows of classes, and the moments that they have given."""

    rows: Rows  # dense, in the coordinates of the moments, without copies
    moments: Moments
    lda: PooledLDA  # of these classes, with the directions that vary
    to_pooled: Array  # share of the pooled covariance in that of each class
    to_diagonal: float  # share of its diagonal, which is kept, in the pooled covariance
    frequencies: bool  # whether the priors are frequencies, which change with a row

    @cached_property
    def _members(self) -> dict[int, tuple[Rows, Array]]:
        """Rows that can be left out of each class, and their deviations z.

        Without the only row of a class, or of all freedom, there is no rule.
        """
        weights, members = self.moments.weights, {}
        for k, mean in enumerate(self.moments.means):
            rows = self.rows.of_class(k)
            most = (1 - SAME_SUM) * min(weights[k], pooled_freedom(weights))
            rows = rows.take(rows.frequencies < most)
            members[k] = rows, (rows.X - mean) @ self.lda.basis
        return members

    def of_arcs(self, rules: Rules, places: Mask) -> Iterator[LeftOutScores]:
        """Yield scores of rows at some places, (n_pairs, 2), by rules of an arc.

        Trivial rules stay, but for the priors.
        """
        classes, basis = self.moments.pairs, self.lda.basis
        S = basis.T @ self.moments.covariances @ basis
        own = (1 - self.to_pooled) / np.maximum(self.moments.weights - 1, _TINY)
        shared = self.to_pooled * self._lost_by_pooled
        weights = arc_weights(rules)
        lost = weights * (own + shared)[classes] + (weights * shared[classes])[:, ::-1]
        share = _SIGNS * rules.means / np.maximum(np.diff(rules.means), _TINY)
        # Variances are raised to a share of both, as in the pencil.
        weights = weights + VARIANCE_FLOOR * weights.sum(axis=1, keepdims=True)
        pairs = np.flatnonzero(np.logical_or(*places.T))
        step = max(1, _BLOCK // max(1, S[0].size))
        for start in range(0, len(pairs), step):
            chosen = pairs[start : start + step]
            first, second = weights[chosen].T[:, :, None, None]
            inverse = _inverse(
                first * S[classes[chosen, 0]] + second * S[classes[chosen, 1]]
            )
            terms = lost[chosen], share[chosen], rules.trivial[chosen]
            yield from self._scores(chosen, places[chosen], inverse, *terms)

    def of_lda(self, places: Mask) -> Iterator[LeftOutScores]:
        """Yield scores of rows at some places by linear discriminant analysis."""
        pairs = np.flatnonzero(np.logical_or(*places.T))
        lost = np.full((len(pairs), 2), self._lost_by_pooled)
        share = np.full((len(pairs), 2), 0.5)
        yield from self._scores(pairs, places[pairs], None, lost, share)

    @property
    def _lost_by_pooled(self) -> float:
        """Factor of the pooled scatter in the pooled covariance."""
        freedom = max(pooled_freedom(self.moments.weights), _TINY)
        return (1 - self.to_diagonal) / freedom

    def _scores(
        self,
        pairs: Index,
        places: Mask,
        inverse: Array | None,
        lost: Array,
        share: Array,
        trivial: Mask | None = None,
    ) -> Iterator[LeftOutScores]:
        """Yield scores of rows at some places (P, 2) of pairs (P,), class by class.

        `inverse` is M^-1, (P, r, r), None for the pooled covariance; `lost` (P, 2) the
        multiple of l W/(W - l) z z' that M loses with a row of either class; `share`
        (P, 2) that of the distance of the means from either mean to the threshold;
        `trivial` (P,) are rules that only the priors change, None for thresholds that
        they move.
        """
        classes, priors = self.moments.pairs[pairs], self.moments.pair_priors[pairs]
        means = (self.moments.means - self.moments.means.mean(axis=0)) @ self.lda.basis
        for k in np.unique(classes[places]).tolist():
            at, place = np.nonzero((classes == k) & places)
            rows, z = self._members[k]
            delta = means[classes[at, 1 - place]] - means[k]
            if inverse is None:
                normals, yz = delta * self.lda.precisions, z**2 @ self.lda.precisions
            else:
                normals = np.einsum("pij,pj->pi", inverse[at], delta)
                yz = np.einsum("pni,ni->pn", z @ inverse[at], z)
            wz, dd = normals @ z.T, np.einsum("pi,pi->p", normals, delta)[:, None]
            left, total = rows.frequencies, self.moments.weights[k]
            e = left / (total - left)
            R = lost[at, place][:, None] * (total * e)
            kept = 1 - R * yz
            t = (e + R * wz) / np.where(kept > SINGULAR_WITHOUT_ROW, kept, np.nan)
            distance = dd + e * wz + t * (wz + e * yz)
            distance = np.where(distance > 0, distance, np.nan)
            score = (1 + e) * (wz + t * yz) - share[at, place][:, None] * distance
            log_odds = np.log(priors[at, place] / priors[at, 1 - place])[:, None]
            if self.frequencies:
                log_odds = log_odds + np.log1p(-left / total)
            if trivial is None:
                score -= log_odds
            else:
                score = np.where(trivial[at][:, None], -log_odds, score)
            sign = np.where(place == 0, 1.0, -1.0)[:, None]
            yield LeftOutScores(pairs[at], place, rows, sign * score, distance)


def _inverse(matrices: Array) -> Array:
    """Return inverses, in which directions without variance stay small."""
    scale = np.sqrt(np.abs(np.einsum("pii->pi", matrices)))
    scale = np.where(scale > 0, scale, 1.0)
    size = scale[:, :, None] * scale[:, None]
    inverse: Array = np.linalg.inv(matrices / size + _RIDGE * np.eye(scale.shape[1]))
    inverse /= size
    return inverse


def arc_weights(rules: Rules) -> Array:
    """Return the weights of S1 and S2 in rules of an arc, of shape (n_pairs, 2).

    They follow from t = a sigma2^2. Trivial rules have none: they get one half of each.
    """
    trivial = rules.trivial[:, None]
    variances = np.where(trivial, 1.0, rules.deviations) ** 2
    weights: Array = np.where(trivial, 0.5, _SIGNS * rules.means / variances)
    return weights
