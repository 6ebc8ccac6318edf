"""The search for the rule of one pair of classes, and what is kept of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from heterolda.foundations.arrays import Array, Mask
from heterolda.kernels.ordered_scores import linear_scores
from heterolda.search.algorithm2 import paper_search
from heterolda.search.training_data import TrainingData

# Margins up to two to this power are left as they are.
_LARGEST_EXPONENT = 300


@dataclass(frozen=True)
class PairResult:
    """The rule that was found for a pair.

    Attributes
    ----------
    rule : ndarray of shape (n_features + 1,)
        (w0, w), as in :mod:`heterolda.search.algorithm2`.
    errors_start, errors : float
        Errors of the start and of the rule.
    error_rate : float
        Share of the errors of the rule.
    history : ndarray of shape (n_iter,)
        Errors at each iteration.
    means, deviations : tuple of float
        Of the scores in the two classes.
    """

    rule: Array
    errors_start: float
    errors: float
    error_rate: float
    history: Array
    means: tuple[float, float]
    deviations: tuple[float, float]

    @classmethod
    def from_rows(
        cls,
        data: TrainingData,
        rule: Array,
        *,
        errors_start: float,
        errors: float,
        history: Array,
    ) -> PairResult:
        """Complete the record of a rule by the rows of its two classes."""
        weight = data.error_weights()
        total = len(data.codes) if weight is None else weight.sum()
        # Scores that are positive for the second class.
        scores = linear_scores(data.float_rows(), -rule[1:, None], rule[:1])[:, 0]
        one, two = score_moments(scores, data.codes == 0, data.weights).tolist()
        return cls(
            rule=rule,
            errors_start=errors_start,
            errors=errors,
            error_rate=errors / total,
            history=history,
            means=(one[0], two[0]),
            deviations=(one[1], two[1]),
        )


def search_pair(data: TrainingData, start: Array, **options: Any) -> PairResult:
    """Search from a rule by Algorithm 2, with the options of `paper_search`."""
    X, first, weight = data.float_rows(), data.codes == 0, data.error_weights()
    result = paper_search(X, first, weight, _tamed(start, X), **options)
    return PairResult.from_rows(
        data,
        result.v,
        errors_start=result.errors_start,
        errors=result.errors,
        history=result.history,
    )


def score_moments(scores: Array, first: Mask, weight: Array | None) -> Array:
    """Mean and deviation of the first class, and then of the other; each has rows.

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
    """The same rule, scaled by a power of two if its margins are extreme.

    All steps are relative, so that the search takes the same path; but squares of
    margins stay in the range of floating point.
    """
    sizes = np.append(1.0, np.maximum(X.max(axis=0), -X.min(axis=0)))
    exponents = np.frexp(v)[1] + np.frexp(sizes)[1]
    used = (v != 0) & (sizes != 0)
    most = int(exponents[used].max()) if used.any() else 0
    return np.ldexp(v, -most) if abs(most) > _LARGEST_EXPONENT else v
