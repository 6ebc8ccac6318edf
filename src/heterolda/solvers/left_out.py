r"""Scores of rows by rules fitted without them, in closed form.

Without a row x of weight l (its copies included), a class of weight W, mean m and
scatter T has, with z = x - m,

    m' = m - l/(W - l) z,   T' = T - l W/(W - l) z z'

The divisors of the covariances and the position of a rule stay the same: the weights
(b, a) in its matrix M = b S1 + a S2, and its threshold as a share of the distance of
the means. So M loses a multiple R of z z', and by the Sherman-Morrison formula the
normal w = M^-1 delta becomes, with y = M^-1 z and e = l/(W - l),

    w' = w + t y,   t = (e + R w.z) / (1 - R y.z)

No rule is solved again. In a direction in which x alone varies, 1 - R y.z and e + R w.z
are zero but for rounding, and any t solves M' w' = delta'. The rule then leaves that
direction out: t = -w.y / y.y, in units in which the pooled variances are one, gives the
shortest w'.

The pooled covariance, if a class uses a share of it, loses a multiple of z z', too.
Here delta is the mean of the other class minus that of the class of the row.
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
from heterolda.solvers.pencil import Moments
from heterolda.solvers.rules import Rules
from heterolda.statistics.covariances import pooled_freedom
from heterolda.statistics.rows import Rows

# Number of values computed at a time.
_BLOCK = 1 << 20
# Share of the variances that is added to them before a matrix is inverted.
_RIDGE = 1e-10
# Signs of the mean scores of the two classes of a pair.
_SIGNS = np.array([-1.0, 1.0])
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class LeftOutScores:
    """Scores of n rows of one class in P pairs, each by a rule without the row."""

    pairs: Index  # (P,)
    position: Index  # 0 or 1, the position of the class in each of these pairs
    rows: Rows
    score: Array  # positive for the second class; NaN if there is no rule, (P, n)
    distance: Array  # of the means along w; scores divided by its root are comparable


@dataclass(frozen=True)
class LeftOut:
    """Rows of classes, and the moments that were computed from them."""

    rows: Rows  # dense, in the coordinates of the moments
    moments: Moments
    lda: PooledLDA  # of these classes
    to_pooled: Array  # share of the pooled covariance in that of each class
    to_diagonal: float  # share of the diagonal, which is kept, in the pooled one
    frequencies: bool  # whether the priors are frequencies, which change with a row

    @cached_property
    def _members(self) -> dict[int, tuple[Rows, Array]]:
        """Return the rows that each class can do without, and their deviations z."""
        weights, members = self.moments.weights, {}
        for k, mean in enumerate(self.moments.means):
            rows = self.rows.of_class(k)
            max_weight = (1 - SAME_SUM) * min(weights[k], pooled_freedom(weights))
            rows = rows.take(rows.frequencies < max_weight)
            members[k] = rows, (rows.X - mean) @ self.lda.basis
        return members

    def of_arcs(self, rules: Rules, chosen: Mask) -> Iterator[LeftOutScores]:
        """Yield left-out scores by rules of an arc, for classes of pairs in a mask.

        The mask `chosen` has shape (n_pairs, 2). Trivial rules change with the priors
        only.
        """
        classes, basis = self.moments.pairs, self.lda.basis
        S = basis.T @ self.moments.covariances @ basis
        pooled = self.to_pooled * self._lost_by_pooled
        freedom = np.maximum(self.moments.weights - 1, _TINY)
        factor = (1 - self.to_pooled) / freedom + pooled
        weights = arc_weights(rules)
        lost = weights * factor[classes] + (weights * pooled[classes])[:, ::-1]
        distance = np.where(rules.trivial[:, None], 1.0, np.diff(rules.means))
        share = _SIGNS * rules.means / np.maximum(distance, _TINY)
        # Variances are raised to a share of S1 + S2, as in the pencil.
        weights = weights + VARIANCE_FLOOR * weights.sum(axis=1, keepdims=True)
        pairs = np.flatnonzero(np.logical_or(*chosen.T))
        step = max(1, _BLOCK // max(1, S[0].size))
        for start in range(0, len(pairs), step):
            block = pairs[start : start + step]
            first, second = weights[block].T[:, :, None, None]
            inverse = _inverse(
                first * S[classes[block, 0]] + second * S[classes[block, 1]]
            )
            terms = lost[block], share[block], rules.trivial[block]
            yield from self._scores(block, chosen[block], inverse, *terms)

    def of_lda(self, chosen: Mask) -> Iterator[LeftOutScores]:
        """Yield left-out scores by pooled LDA, for classes of pairs in a mask."""
        pairs = np.flatnonzero(np.logical_or(*chosen.T))
        lost = np.full((len(pairs), 2), self._lost_by_pooled)
        share = np.full((len(pairs), 2), 0.5)
        yield from self._scores(pairs, chosen[pairs], None, lost, share)

    @property
    def _lost_by_pooled(self) -> float:
        """Return the factor of the pooled scatter in the shrunk pooled covariance."""
        freedom = max(pooled_freedom(self.moments.weights), _TINY)
        return (1 - self.to_diagonal) / freedom

    def _scores(
        self,
        pairs: Index,
        chosen: Mask,
        inverse: Array | None,
        lost: Array,
        share: Array,
        trivial: Mask | None = None,
    ) -> Iterator[LeftOutScores]:
        """Yield scores of pairs (P,), class by class, for classes in the mask (P, 2).

        `inverse` (P, r, r) is M^-1, or None for the pooled covariance. `lost` (P, 2) is
        the multiple of l W/(W - l) z z' that M loses with a row of either class.
        `share` (P, 2) is the distance from either mean to the threshold, as a share of
        that of the means. `trivial` (P,) marks rules that only the priors change.
        """
        classes, priors = self.moments.pairs[pairs], self.moments.pair_priors[pairs]
        means = (self.moments.means - self.moments.means.mean(axis=0)) @ self.lda.basis
        for k in np.unique(classes[chosen]).tolist():
            at, position = np.nonzero((classes == k) & chosen)
            rows, z = self._members[k]
            delta = means[classes[at, 1 - position]] - means[k]
            if inverse is None:
                normals, y = delta * self.lda.precisions, z[None] * self.lda.precisions
            else:
                normals = np.einsum("pij,pj->pi", inverse[at], delta)
                y = z @ inverse[at]
            yz = np.einsum("pni,ni->pn", y, z)
            wz, dd = normals @ z.T, np.einsum("pi,pi->p", normals, delta)[:, None]
            removed, total = rows.frequencies, self.moments.weights[k]
            e = removed / (total - removed)
            R = lost[at, position][:, None] * (total * e)
            divisor = 1 - R * yz
            yy = np.einsum("pni,pni->pn", y, y)
            wy = np.einsum("pni,pi->pn", y, normals)
            varies = np.abs(divisor) > SINGULAR_WITHOUT_ROW
            t = np.where(varies, e + R * wz, -wy)
            t /= np.where(varies, divisor, np.maximum(yy, _TINY))
            t[varies & (divisor < 0)] = np.nan  # M' is indefinite: there is no rule
            distance = dd + e * wz + t * (wz + e * yz)
            distance = np.where(distance > 0, distance, np.nan)
            score = (1 + e) * (wz + t * yz) - share[at, position][:, None] * distance
            log_odds = np.log(priors[at, position] / priors[at, 1 - position])[:, None]
            if self.frequencies:
                log_odds = log_odds + np.log1p(-removed / total)
            if trivial is None:
                score -= log_odds
            else:
                score = np.where(trivial[at][:, None], -log_odds, score)
            sign = np.where(position == 0, 1.0, -1.0)[:, None]
            yield LeftOutScores(pairs[at], position, rows, sign * score, distance)


def _inverse(matrices: Array) -> Array:
    """Return inverses, with a ridge that keeps them finite."""
    scale = np.sqrt(np.abs(np.einsum("pii->pi", matrices)))
    scale = np.where(scale > 0, scale, 1.0)
    size = scale[:, :, None] * scale[:, None]
    inverse: Array = np.linalg.inv(matrices / size + _RIDGE * np.eye(scale.shape[1]))
    inverse /= size
    return inverse


def arc_weights(rules: Rules) -> Array:
    """Return the weights of S1 and S2 in rules of an arc, from t = a sigma2^2."""
    trivial = rules.trivial[:, None]
    variances = np.where(trivial, 1.0, rules.deviations) ** 2
    weights: Array = np.where(trivial, 0.5, _SIGNS * rules.means / variances)
    return weights
