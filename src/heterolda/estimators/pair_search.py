"""The search of one pair of classes, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heterolda.estimators.starts import TrainingData
from heterolda.search.algorithm2 import SearchResult, count_errors
from heterolda.solvers.hyperplanes import linear_scores

Array = NDArray[np.float64]

# Margins up to two to this power are left as they are.
_TAME = 300


@dataclass(frozen=True)
class Refined:
    """The refined rule of a pair.

    Attributes
    ----------
    rule : ndarray of shape (n_features + 1,)
        (w0, w), as in :mod:`heterolda.search.algorithm2`.
    errors_start, errors : float
        Errors of the start and of the rule.
    errors_held_out : float
        Errors of the rule among the rows held out; NaN if there are none.
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
    errors_held_out: float
    error_rate: float
    history: Array
    means: tuple[float, float]
    deviations: tuple[float, float]


def refine_pair(
    data: TrainingData,
    held_out: TrainingData | None,
    v: Array,
    search: Callable[..., SearchResult],
) -> Refined:
    """Search from v; with rows held out, take the best rule of the path by those.

    Parameters
    ----------
    data : TrainingData
        Rows of two classes.
    held_out : TrainingData or None
        Rows to choose by.
    v : ndarray of shape (n_features + 1,)
        The start.
    search : callable
        `paper_search` or `exact_search`, with all their options.

    Returns
    -------
    Refined
        The rule.
    """
    rows = _arrays(data)
    X = rows[0]
    sizes = np.maximum(X.max(axis=0), -X.min(axis=0))
    result = search(*rows, tame(v, sizes))
    rule, errors, wrong = result.v, result.errors, np.nan
    if held_out is not None:
        others = _arrays(held_out)
        trials = [count_errors(*others, u) for u in result.path]
        best = int(np.argmin(trials))
        rule, wrong = result.path[best], trials[best]
        errors = count_errors(*rows, rule)
    return summarise(data, rule, result.errors_start, errors, wrong, result.history)


def summarise(
    data: TrainingData,
    rule: Array,
    errors_start: float,
    errors: float,
    errors_held_out: float,
    history: Array,
) -> Refined:
    """Complete the record of a refined rule.

    Parameters
    ----------
    data : TrainingData
        Rows of two classes.
    rule, errors_start, errors, errors_held_out, history
        As in the record.

    Returns
    -------
    Refined
        The record.
    """
    X, _, weight = _arrays(data)
    total = len(data.codes) if weight is None else weight.sum()
    scores = linear_scores(X, -rule[1:, None], rule[:1])[:, 0]
    moments = [_moments(scores, data.weight, data.codes == k) for k in (0, 1)]
    means, deviations = zip(*moments, strict=True)
    return Refined(
        rule=rule,
        errors_start=errors_start,
        errors=errors,
        errors_held_out=errors_held_out,
        error_rate=errors / total,
        history=history,
        means=means,
        deviations=deviations,
    )


def _arrays(data: TrainingData) -> tuple[Array, NDArray[np.bool_], Array | None]:
    """The arguments X, first and weight of the searches."""
    X = np.ascontiguousarray(data.X, dtype=np.float64)
    return X, data.codes == 0, data.error_weights()


def tame(v: Array, sizes: Array) -> Array:
    """The same rule, scaled by a power of two if its margins are extreme.

    All steps are relative, so that the search takes the same path; but squares of
    margins stay in the range of floating point.

    Parameters
    ----------
    v : ndarray of shape (n_features + 1,)
        The rule.
    sizes : ndarray of shape (n_features,)
        Largest absolute value of each feature, roughly.

    Returns
    -------
    ndarray of shape (n_features + 1,)
        The rule.
    """
    sizes = np.append(1.0, sizes)
    exponents = np.frexp(v)[1] + np.frexp(sizes)[1]
    used = (v != 0) & (sizes != 0)
    largest = int(exponents[used].max()) if used.any() else 0
    scaled: Array = np.ldexp(v, -largest) if abs(largest) > _TAME else v
    return scaled


def _moments(
    scores: Array, weight: Array | None, inside: NDArray[np.bool_]
) -> tuple[float, float]:
    """Mean and standard deviation of the scores of a class, weights as frequencies."""
    s = scores[inside]
    w = np.ones(len(s)) if weight is None else weight[inside]
    total = w.sum()
    mean = w @ s / total
    away = s - mean
    # A power of two, so that squares stay in the range and all else is the same.
    unit = np.ldexp(1.0, np.frexp(np.abs(away).max())[1])
    # For a total weight of 1 or less there is no unbiased estimate.
    square = w @ (away / unit) ** 2 / max(total - 1, total / 2)
    return mean, unit * np.sqrt(square)
