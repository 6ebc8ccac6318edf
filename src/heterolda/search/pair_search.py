"""The search for the rule of one pair of classes, and what is kept of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from heterolda.foundations.arrays import Array, Mask
from heterolda.kernels.ordered_scores import linear_scores
from heterolda.search.algorithm2 import SearchResult, paper_search
from heterolda.search.training_data import TrainingData

# Margins up to two to this power are left as they are.
_LARGEST_EXPONENT = 300


def search_pair(
    data: TrainingData, start: Array, **options: Any
) -> tuple[SearchResult, Array]:
    """Search from a rule by Algorithm 2, with the options of `paper_search`.

    Also returned are the moments of the scores in both classes, positive for the
    second: mean and deviation of the first, and then of the other.
    """
    X, first = data.float_rows(), data.codes == 0
    result = paper_search(X, first, data.error_weights(), _tamed(start, X), **options)
    scores = linear_scores(X, -result.v[1:, None], result.v[:1])[:, 0]
    return result, score_moments(scores, first, data.weights)


def score_moments(scores: Array, first: Mask, weight: Array | None) -> Array:
    """Return mean and deviation of the first class, then of the other; each has rows.

    Weights are frequencies. For a total weight of 1 or less there is no unbiased
    estimate of the deviation.
    """
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


def _tamed(v: Array, X: Array) -> Array:
    """Return the same rule, scaled by a power of two if its margins are extreme.

    All steps are relative, so that the search takes the same path; but squares of
    margins stay in the range of floating point.
    """
    sizes = np.append(1.0, np.maximum(X.max(axis=0), -X.min(axis=0)))
    exponents = np.frexp(v)[1] + np.frexp(sizes)[1]
    used = (v != 0) & (sizes != 0)
    most = int(exponents[used].max()) if used.any() else 0
    return np.ldexp(v, -most) if abs(most) > _LARGEST_EXPONENT else v
