"""Probabilities calibrated on held-out rows.

On each side of a rule, the log-odds that a row is on the right side are linear in its
distance from the threshold, by logistic regression. Distances are binned, so that all
pairs can be fitted at once; the effect is negligible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from heterolda.estimators.posterior import SidedLogOdds
from heterolda.foundations.arrays import Array, Index, Mask

# Weight of the wrong row that is added on each side of a rule.
_WRONG = 0.5
_NO_WEIGHT = 1e-12
_MOST_STEPS = 50
# Relative decrease of the costs that is not worth another step.
_SETTLED = 1e-9
# Bins of the distances from a threshold, and what counts as infinitely far.
_N_BINS = 32
_FARTHEST = 1e100
# Least slope of log-odds: where rows show none, distinct scores still rank rows.
_LEAST_SLOPE = 1e-5


@dataclass(frozen=True)
class Sides:
    """Rows on both sides of rules, in bins by their distance from the threshold.

    Arrays have shape (..., 2, n_bins), first for the side of the first class.
    """

    x: Array  # mean distance
    right: Array  # weight of the rows that are right
    wrong: Array

    @classmethod
    def of(cls, scores: Array, second: Mask, weight: Array) -> Sides:
        """Return the rows of one pair, whose scores are positive on the second side.

        Bins are narrow next to the threshold, where it matters, and go on to infinity.
        """
        distance = np.minimum(np.abs(scores), _FARTHEST)
        # The mean of square roots depends less on a few distant rows.
        unit = (np.sqrt(distance) @ weight / max(weight.sum(), _NO_WEIGHT)) ** 2
        place = distance / (distance + (unit if unit > 0 else 1.0))
        cell = np.minimum((_N_BINS * place).astype(np.intp), _N_BINS - 1)
        cell += _N_BINS * (scores > 0)
        right = (scores > 0) == second
        sums = [
            _sums(cell, values)
            for values in (weight * distance, weight * right, weight * ~right)
        ]
        total = sums[1] + sums[2]
        x = np.divide(sums[0], total, out=np.zeros_like(total), where=total > 0)
        return cls(x, sums[1], sums[2])

    @classmethod
    def stacked(cls, pairs: list[Sides]) -> Sides:
        """Return one record for several pairs."""
        names = "x", "right", "wrong"
        return cls(*(np.stack([getattr(one, name) for one in pairs]) for name in names))

    def log_odds(self) -> SidedLogOdds:
        """Return the log-odds of all pairs that fit the rows best.

        Half a wrong row is added on each side, distributed as the errors of a line
        through zero, so that log-odds stay bounded if no row is wrong. Offsets and
        slopes are not negative. If all rows are of one class, both sides share a line
        through zero; if there are none, the log-odds are the score.
        """
        flat = (-1, _N_BINS)
        with np.errstate(over="ignore", invalid="ignore"):  # in bins of tiny weight
            lines = _lines(*(part.reshape(flat) for part in self._parts))
        offset, slope = (values.reshape(-1, 2).T.copy() for values in lines)
        right, wrong = self.right.sum(axis=2), self.wrong.sum(axis=2)
        classes = right + wrong[:, ::-1]
        lone = np.flatnonzero(classes.min(axis=1) <= _NO_WEIGHT)
        if len(lone):
            both = (part[lone].reshape(len(lone), -1) for part in self._parts)
            offset[:, lone], slope[:, lone] = 0.0, _lines_through_zero(*both)
            slope[:, classes.max(axis=1) <= _NO_WEIGHT] = 1.0
        return SidedLogOdds(offset, np.maximum(slope, _LEAST_SLOPE))

    @property
    def _parts(self) -> tuple[Array, Array, Array]:
        return self.x, self.right, self.wrong


def _sums(cell: Index, values: Array) -> Array:
    """Return the sums of values in the bins of both sides."""
    sums = np.bincount(cell, values, minlength=2 * _N_BINS)
    return sums.astype(np.float64, copy=False).reshape(2, _N_BINS)


def _lines(x: Array, right: Array, wrong: Array) -> tuple[Array, Array]:
    """Return offsets and slopes of log-odds at distances x, (n_lines, n_bins)."""
    slope = _lines_through_zero(x, right, wrong)
    share = (right + wrong) * expit(-slope[:, None] * x)
    total = share.sum(axis=1, keepdims=True)
    wrong = wrong + _WRONG * np.divide(share, total, out=share, where=total > 0)
    free = np.ones((len(x), 2), dtype=bool)
    offset, slope = _logistic_regressions(x, right, wrong, free, slope)
    # If the optimum has a negative coordinate, the best in the quadrant is on an axis.
    free[:, 1] = slope >= 0
    free[:, 0] = (offset >= 0) | ~free[:, 1]
    if not free.all():
        offset, slope = _logistic_regressions(x, right, wrong, free, slope)
    return np.maximum(offset, 0.0), np.maximum(slope, 0.0)


def _lines_through_zero(x: Array, right: Array, wrong: Array) -> Array:
    """Return slopes without offset, with half a wrong row spread over all distances."""
    both = right + wrong
    total = both.sum(axis=1)
    wrong = wrong + (_WRONG / np.maximum(total, _WRONG))[:, None] * both
    free = np.tile([False, True], (len(x), 1))
    # Start from the log-odds of all rows together, at their mean distance.
    lost, far = wrong.sum(axis=1), np.einsum("pn,pn->p", both, x)
    odds = np.maximum(total, lost) / np.maximum(lost, _NO_WEIGHT)
    slope = np.log(np.maximum(odds, 1.0)) * total / np.where(far > 0, far, np.inf)
    return np.maximum(_logistic_regressions(x, right, wrong, free, slope)[1], 0.0)


def _logistic_regressions(
    x: Array, right: Array, wrong: Array, free: Mask, slope: Array
) -> tuple[Array, Array]:
    """Return offsets and slopes by Newton's method, halving steps if necessary.

    Those that are not free are zero. `slope` is the initial guess.
    """
    weight = right + wrong
    unit = np.einsum("pn,pn->p", weight, x)
    unit /= np.maximum(weight.sum(axis=1), _NO_WEIGHT)
    unit = np.where(unit > 0, unit, 1.0)
    x = x / unit[:, None]
    theta = np.column_stack([np.zeros(len(x)), slope * unit]) * free

    def values(theta: Array) -> tuple[Array, Array]:
        """Return costs, and probabilities of being right."""
        z = theta[:, :1] + theta[:, 1:] * x
        size = np.abs(z)
        e = np.exp(-size)
        cost = np.einsum("pn,pn->p", weight, np.log1p(e))
        cost += np.einsum("pn,pn->p", np.where(z > 0, wrong, right), size)
        return cost, np.where(z > 0, 1.0, e) / (1 + e)

    now, p = values(theta)
    going = np.ones((len(x), 1), dtype=bool)  # each stops on its own
    for _ in range(_MOST_STEPS):
        bend, pull = weight * p * (1 - p), weight * p - right
        g = np.column_stack([pull.sum(axis=1), np.einsum("pn,pn->p", pull, x)]) * free
        bx = bend * x
        a, b = bend.sum(axis=1), bx.sum(axis=1) * free.all(axis=1)
        c = np.einsum("pn,pn->p", bx, x)
        ridge = 1e-9 * (a + c) + _NO_WEIGHT
        a, c = np.where(free[:, 0], a, 1) + ridge, np.where(free[:, 1], c, 1) + ridge
        step = -np.column_stack([c * g[:, 0] - b * g[:, 1], a * g[:, 1] - b * g[:, 0]])
        step *= going / (a * c - b * b)[:, None]
        next_value, p = values(theta + step)
        for _ in range(_MOST_STEPS):
            worse = next_value > now * (1 + 1e-12)
            if not worse.any():
                break
            step[worse] /= 2
            next_value, p = values(theta + step)
        going[now - next_value <= _SETTLED * next_value] = False
        theta, now = theta + step, next_value
        if not going.any():
            break
    return theta[:, 0], theta[:, 1] / unit
