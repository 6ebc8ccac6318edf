"""Posterior probabilities along the normal of a hyperplane."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.roots import bracketed_roots
from heterolda.kernels.coupling import MOST_LOG_ODDS, Curve
from heterolda.solvers.rules import Rules

# Squares of numbers beyond this, or below its inverse, may overflow or underflow.
_EXTREME = 1e140
# Beyond its limits a curve keeps growing, so that distinct scores have distinct
# probabilities: by this much each time the score doubles, too little to matter.
_GROWTH = 1e-6
# Largest log-odds of a curve: beyond, at 2e-9 from 0 and 1, a Gaussian model is
# meaningless, and float64 needs room for more probabilities near 1. From there on,
# log-odds grow by at most _MOST_STEP, at most 2,000 times.
_LARGE = 20.0
_MOST_STEP = 0.1
_LEAST_LIMIT = 1e-307  # its inverse is finite


@dataclass(frozen=True)
class LogOdds:
    """Posterior log-odds of the second class as a monotone function of the score.

    Along a hyperplane's normal both classes are Gaussian, so the log-odds are a
    parabola through zero at the threshold: ``bend s^2 + slope s``. It turns back in
    the tail of the wider class. From the point where the posterior equals its own
    average over the rest of the tail, that average is used, which is what isotonic
    regression of the posterior on the score gives: the result is calibrated, and
    its sign is that of the score. From there on it grows very slowly, so that distinct
    scores have distinct probabilities; see :func:`_growing`.
    """

    bend: Array  # of the parabola, (n_pairs,)
    slope: Array
    # Limits to which scores are clipped before it is applied: where the tail begins,
    # or where the log-odds are large.
    low: Array
    high: Array
    unit: Array  # of the scores in the parabola; 1 unless they are extreme

    @classmethod
    def from_rules(cls, planes: Rules) -> LogOdds:
        """Return log-odds of each pair, from the projected means and deviations.

        The priors are those that make the threshold the Bayes one along w, condition
        (29): the given priors if the rule has the best threshold, and effective ones
        otherwise. Where the tail still contradicts the rule (a local minimum worse
        than the trivial rule), the probability stays next to one half.
        """
        trivial = planes.trivial
        mean1, mean2 = planes.means.T
        sd1, sd2 = np.where(trivial, 1.0, planes.deviations.T)
        unit = np.minimum(sd1, sd2)  # so that no square overflows
        with np.errstate(over="ignore"):
            ratios = np.array([mean1, mean2, sd1, sd2]) / unit
        mean1, mean2, sd1, sd2 = np.clip(ratios, -_EXTREME, _EXTREME)
        bend = 0.5 * (1 / sd1**2 - 1 / sd2**2)
        slope = np.where(trivial, 1.0, mean2 / sd2**2 - mean1 / sd1**2)

        # The parabola turns on the negative side if the second class is the wider
        # one; mirroring brings all turns to the positive side.
        mirrored = sd2 > sd1
        sign = np.where(mirrored, -1.0, 1.0)
        wide, narrow = sign * np.where(mirrored, (mean2, mean1), (mean1, mean2))
        sd_wide, sd_narrow = np.where(mirrored, (sd2, sd1), (sd1, sd2))
        # ln of the ratio of the effective priors, narrow to wide, from (29).
        prior = 0.5 * (narrow / sd_narrow) ** 2 + np.log(sd_narrow)
        prior -= 0.5 * (wide / sd_wide) ** 2 + np.log(sd_wide)

        def excess(i: Index, s: Array) -> Array:
            """Return log-odds at s, less those of the average posterior beyond s."""
            tail: Array = prior[i] + log_ndtr((narrow[i] - s) / sd_narrow[i])
            tail -= log_ndtr((wide[i] - s) / sd_wide[i])
            tail -= s * (slope[i] - np.abs(bend[i]) * s)
            return -tail

        limit, other = (_where_large(slope, side * np.abs(bend)) for side in (-1, 1))
        turns = np.flatnonzero((bend != 0) & (slope > 0) & ~trivial)
        vertex = 0.5 * slope[turns] / np.abs(bend[turns])
        at_zero = excess(turns, np.zeros(len(turns)))
        with np.errstate(invalid="ignore"):
            at_vertex = excess(turns, vertex)
        # Far out both tails underflow and cannot be compared: the log-odds there are
        # beyond any limit, so the vertex will do.
        inside = (at_zero < 0) & (at_vertex > 0)
        turn = np.where(at_zero < 0, vertex, np.minimum(vertex, _GROWTH / slope[turns]))
        solved = turns[inside]
        turn[inside] = bracketed_roots(
            lambda index, s: excess(solved[index], s),
            np.zeros(len(solved)),
            vertex[inside],
            at_zero[inside],
            at_vertex[inside],
        )
        limit[turns] = np.minimum(turn, limit[turns])
        inverted = slope <= 0
        bend[inverted], slope[inverted] = 0.0, _GROWTH
        limit[inverted] = other[inverted] = 1.0
        limit, other = np.maximum([limit * unit, other * unit], _LEAST_LIMIT)
        low = -np.where(mirrored, limit, other)
        high = np.where(mirrored, other, limit)
        extreme = (unit > _EXTREME) | (unit < 1 / _EXTREME)
        kept = np.where(extreme, unit, 1.0)
        unit = unit / kept
        return cls(
            bend=bend / unit**2,
            slope=slope / unit,
            low=low,
            high=high,
            unit=kept,
        )

    @cached_property
    def curve(self) -> Curve:
        """Return these log-odds in the form that kernels take."""
        slope = np.array([self.slope, self.slope])
        limits = self.low, self.high, self.unit
        return _growing(np.zeros_like(slope), slope, self.bend, *limits)

    def __call__(self, scores: Any) -> Any:
        """Return log-odds at scores of shape (n_samples, n_pairs)."""
        return self.curve.log_odds(scores)


def _where_large(slope: Array, bend: Array) -> Array:
    """Return the positive score at which a parabola is large, or infinity."""
    square = slope**2 + 4 * bend * _LARGE
    with np.errstate(divide="ignore", over="ignore"):
        score = 2 * _LARGE / (slope + np.sqrt(np.maximum(square, 0.0)))
    return np.where((square < 0) | (slope <= 0), np.inf, score)


def _growing(
    offset: Array, slope: Array, bend: Array, low: Array, high: Array, unit: Array
) -> Curve:
    """Return a curve that grows beyond its limits, by a small step for each doubling.

    Log-odds x are a probability p with dp = p (1 - p) dx = dx / (2 + 2 cosh x).
    """
    limit = np.array([low, high])
    s = np.where(np.isfinite(limit), limit, 0.0) / unit
    size = offset + np.abs(s * (bend * s + slope))
    odds = np.cosh(np.minimum(size, MOST_LOG_ODDS))
    step = np.minimum(_GROWTH * (2 + 2 * odds), _MOST_STEP)
    return Curve(offset, slope, bend, low, high, unit, step)


@dataclass(frozen=True)
class SidedLogOdds:
    """Log-odds of the second class that are linear in the score on each side of zero.

    They are ``offset[1] + slope[1] s`` for a positive score s and
    ``-offset[0] + slope[0] s`` for others.
    """

    offset: Array  # not negative, (2, n_pairs)
    slope: Array

    @property
    def curve(self) -> Curve:
        """Return these log-odds in the form that kernels take."""
        zero = np.zeros(self.slope.shape[1])
        with np.errstate(divide="ignore", over="ignore"):
            limit = np.maximum(_LARGE - self.offset, _GROWTH) / self.slope
        low, high = np.maximum(limit, _LEAST_LIMIT) * [[-1], [1]]
        return _growing(self.offset, self.slope, zero, low, high, zero + 1)

    def __call__(self, scores: Any) -> Any:
        """Return log-odds at scores of shape (n_samples, n_pairs)."""
        return self.curve.log_odds(scores)
