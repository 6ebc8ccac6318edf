"""Log-odds of the two classes of a pair, as functions of the score of their rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
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


class _ByCurve(ABC):
    """Log-odds of the second class that a curve describes."""

    @property
    @abstractmethod
    def curve(self) -> Curve:
        """Return these log-odds in the form that kernels take."""

    def __call__(self, scores: Any) -> Any:
        """Return log-odds at scores of shape (n_samples, n_pairs)."""
        return self.curve.log_odds(scores)


@dataclass(frozen=True)
class LogOdds(_ByCurve):
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

    @classmethod
    def from_rules(cls, rules: Rules) -> LogOdds:
        """Return log-odds of each pair, from the projected means and deviations.

        The priors are those that make the threshold the Bayes one along w, condition
        (29): the given priors if the rule has the best threshold, and effective ones
        otherwise. Where the tail still contradicts the rule (a local minimum worse
        than the trivial rule), the probability stays next to one half.
        """
        sd = np.where(rules.trivial[:, None], 1.0, rules.deviations)
        unit = np.clip(sd.min(axis=1), 1 / _EXTREME, _EXTREME)
        with np.errstate(over="ignore"):
            ratios = np.array([*rules.means.T, *sd.T]) / unit
        mean1, mean2, sd1, sd2 = np.clip(ratios, -_EXTREME, _EXTREME)
        slope = np.where(rules.trivial, 1.0, mean2 / sd2**2 - mean1 / sd1**2)
        bend = 0.5 * np.abs(1 / sd1**2 - 1 / sd2**2)

        # The log-odds turn back on the side of the narrower class: let it be positive.
        mirrored = sd2 > sd1
        wide, narrow = np.where(mirrored, (-mean2, -mean1), (mean1, mean2))
        sd_wide, sd_narrow = np.where(mirrored, (sd2, sd1), (sd1, sd2))
        # ln of the ratio of the effective priors, narrow to wide, from (29).
        prior = 0.5 * (narrow / sd_narrow) ** 2 + np.log(sd_narrow)
        prior -= 0.5 * (wide / sd_wide) ** 2 + np.log(sd_wide)

        def excess(i: Index, s: Array) -> Array:
            """Return log-odds at s, less those of the average posterior beyond s."""
            tail = prior[i] + log_ndtr((narrow[i] - s) / sd_narrow[i])
            tail -= log_ndtr((wide[i] - s) / sd_wide[i])
            difference: Array = s * (slope[i] - bend[i] * s) - tail
            return difference

        limit, other = _where_large(slope, -bend), _where_large(slope, bend)
        turns = np.flatnonzero((bend > 0) & (slope > 0))
        turn = 0.5 * slope[turns] / bend[turns]
        zero = np.zeros(len(turns))
        with np.errstate(invalid="ignore"):
            ends = excess(turns, zero), excess(turns, turn)
        contradicts = ~(ends[0] < 0)
        turn[contradicts] = np.minimum(turn, _GROWTH / slope[turns])[contradicts]
        # Far out both tails underflow and cannot be compared: the log-odds there are
        # beyond any limit, so the vertex will do.
        k = np.flatnonzero((ends[0] < 0) & (ends[1] > 0))
        turn[k] = bracketed_roots(
            lambda index, s: excess(turns[k[index]], s),
            *(zero[k], turn[k], ends[0][k], ends[1][k]),
        )
        limit[turns] = np.minimum(turn, limit[turns])
        inverted = slope <= 0
        bend[inverted], slope[inverted] = 0.0, _GROWTH
        limit[inverted] = other[inverted] = 1.0
        return cls(
            bend=np.where(mirrored, bend, -bend) / unit**2,
            slope=slope / unit,
            low=-unit * np.where(mirrored, limit, other),
            high=unit * np.where(mirrored, other, limit),
        )

    @cached_property
    def curve(self) -> Curve:
        """Return these log-odds in the form that kernels take."""
        slope = np.array([self.slope, self.slope])
        return _growing(np.zeros_like(slope), slope, self.bend, self.low, self.high)


@dataclass(frozen=True)
class SidedLogOdds(_ByCurve):
    """Log-odds of the second class that are linear in the score on each side of zero.

    They are ``offset[1] + slope[1] s`` for a positive score s and
    ``-offset[0] + slope[0] s`` for others.
    """

    offset: Array  # not negative, (2, n_pairs)
    slope: Array

    @property
    def curve(self) -> Curve:
        """Return these log-odds in the form that kernels take."""
        with np.errstate(divide="ignore", over="ignore"):
            low, high = np.maximum(_LARGE - self.offset, _GROWTH) / self.slope
        return _growing(self.offset, self.slope, np.zeros(low.shape), -low, high)


def _where_large(slope: Array, bend: Array) -> Array:
    """Return the positive score at which a parabola is large, or infinity."""
    square = slope**2 + 4 * bend * _LARGE
    with np.errstate(divide="ignore", over="ignore"):
        score = 2 * _LARGE / (slope + np.sqrt(np.maximum(square, 0.0)))
    return np.where((square < 0) | (slope <= 0), np.inf, score)


def _growing(
    offset: Array, slope: Array, bend: Array, low: Array, high: Array
) -> Curve:
    """Return a curve that grows beyond its limits, by a small step for each doubling.

    Log-odds x are a probability p with dp = p (1 - p) dx = dx / (2 + 2 cosh x).
    """
    low, high = np.minimum(low, -_LEAST_LIMIT), np.maximum(high, _LEAST_LIMIT)
    s = np.array([low, high])
    s[~np.isfinite(s)] = 0.0
    size = offset + np.abs(s * (bend * s + slope))
    odds = np.cosh(np.minimum(size, MOST_LOG_ODDS))
    step = np.minimum(_GROWTH * (2 + 2 * odds), _MOST_STEP)
    return Curve(offset, slope, bend, low, high, step)
