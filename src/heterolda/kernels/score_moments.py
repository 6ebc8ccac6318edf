"""Mean and standard deviation of scores in each of two classes."""

from __future__ import annotations

import numpy as np

import heterolda.kernels as kernels
from heterolda.foundations.types import Array, Mask


def score_moments(scores: Array, first: Mask, weight: Array | None) -> Array:
    """Mean and deviation of the first class, and then of the other; each has rows.

    Weights are frequencies. For a total weight of 1 or less there is no unbiased
    estimate of the deviation.
    """
    if kernels.compiled is None:
        return score_moments_numpy(scores, first, weight)
    moments = np.empty((2, 2))
    scores, first, weight = map(kernels.ready, (scores, first, weight))
    kernels.compiled.score_moments(scores, first, weight, moments)
    return moments


def score_moments_numpy(scores: Array, first: Mask, weight: Array | None) -> Array:
    """The same in NumPy."""
    moments = np.empty((2, 2))
    for c, inside in enumerate((first, ~first)):
        s = scores[inside]
        w = np.ones(len(s)) if weight is None else weight[inside]
        total = w.sum()
        mean = w @ s / total
        away = s - mean
        # A power of two, so that squares stay in the range and all else is the same.
        unit = np.ldexp(1.0, np.frexp(np.abs(away).max())[1])
        square = w @ (away / unit) ** 2 / max(total - 1, total / 2)
        moments[c] = mean, unit * np.sqrt(square)
    return moments
