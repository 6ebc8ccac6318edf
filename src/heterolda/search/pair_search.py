"""Search for the rule of one pair of classes, and moments of its scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from heterolda.foundations.arrays import Array, Mask
from heterolda.kernels.ordered_scores import linear_scores
from heterolda.search.algorithm2 import SearchResult, paper_search
from heterolda.search.training_data import TrainingData

# Rules with margins up to two to this power are not rescaled.
_LARGEST_EXPONENT = 300


def search_pair(
    data: TrainingData, start: Array, **options: Any
) -> tuple[SearchResult, Array]:
    """Run Algorithm 2 from a rule, with the options of `paper_search`.

    Also return the `score_moments`; scores are positive for the second class.
    """
    X, first = np.ascontiguousarray(data.X, np.float64), data.codes == 0
    result = paper_search(
        X, first, data.error_weights(), _rescaled(start, X), **options
    )
    scores = linear_scores(X, -result.v[1:, None], result.v[:1])[:, 0]
    return result, score_moments(scores, first, data.weights)


def score_moments(scores: Array, first: Mask, weight: Array | None) -> Array:
    """Return mean and deviation of the scores in the first class, then in the other.

    Weights are frequencies. The divisor of the variance is the total weight minus one,
    but at least half of the total weight.
    """
    moments = np.empty((2, 2))
    for c, mask in enumerate((first, ~first)):
        s = scores[mask]
        w = np.ones(len(s)) if weight is None else weight[mask]
        total = w.sum()
        mean = w @ s / total
        deviations = s - mean
        # Dividing by a power of two is exact, and keeps squares in range.
        unit = np.ldexp(1.0, np.frexp(np.abs(deviations).max())[1])
        square = w @ (deviations / unit) ** 2 / max(total - 1, total / 2)
        moments[c] = mean, unit * np.sqrt(square)
    return moments


def _rescaled(v: Array, X: Array) -> Array:
    """Scale a rule by a power of two if its margins are extreme.

    All steps are relative, so the search takes the same path, but squares of margins
    stay in the range of floating point.
    """
    sizes = np.append(1.0, np.maximum(X.max(axis=0), -X.min(axis=0)))
    exponents = np.frexp(v)[1] + np.frexp(sizes)[1]
    used = (v != 0) & (sizes != 0)
    most = int(exponents[used].max()) if used.any() else 0
    return np.ldexp(v, -most) if abs(most) > _LARGEST_EXPONENT else v
