"""How many rows of each class two rules of a pair give to its second class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import heterolda.kernels as kernels
from heterolda.foundations.types import Array, Index

# Rows that are gathered at a time where they cannot be used as they are.
_ROWS = 1 << 13


def rule_counts(
    X: NDArray[Any],
    weight: Array | None,
    order: Index,
    bounds: Index,
    rules: tuple[Array, Array],
    others: tuple[Array, Array],
    pairs: Index,
    starts: Index,
) -> Array:
    """Weights of the rows that either rule, and that only one, gives to second.

    Class k has the rows ``order[bounds[k] : bounds[k + 1]]`` of X and the pairs
    ``pairs[starts[k] : starts[k + 1]]``. `rules` are coefficients and intercepts of one
    rule of each pair, `others` those of another. The result has a row for each entry of
    `pairs`. Scores that rounding cannot tell from zero may have either sign.
    """
    if kernels.compiled is None:
        work = rule_counts_numpy
    elif X.dtype == np.float64 and X.flags.c_contiguous:
        return _compiled(X, weight, order, bounds, rules, others, pairs, starts)
    else:
        work = _compiled
    counts = np.zeros((len(pairs), 3))
    for k in np.flatnonzero(np.diff(starts)):
        some = pairs[starts[k] : starts[k + 1]]
        for start in range(bounds[k], bounds[k + 1], _ROWS):
            rows = order[start : min(start + _ROWS, bounds[k + 1])]
            counts[starts[k] : starts[k + 1]] += work(
                X.take(rows, axis=0).astype(np.float64, order="C", copy=False),
                None if weight is None else weight[rows],
                np.arange(len(rows)),
                np.array([0, len(rows)]),
                rules,
                others,
                some,
                np.array([0, len(some)]),
            )
    return counts


def _compiled(X, weight, order, bounds, rules, others, pairs, starts):
    """The same for rows in float64 and in C order."""
    counts = np.empty((len(pairs), 3))
    if weight is not None:
        weight = np.ascontiguousarray(weight)
    rules, others = ([np.ascontiguousarray(a) for a in two] for two in (rules, others))
    where = X, weight, order, bounds
    kernels.compiled.rule_counts(*where, *rules, *others, pairs, starts, counts)
    return counts


def rule_counts_numpy(X, weight, order, bounds, rules, others, pairs, starts):
    """The same of one class that has all rows of X and all of `pairs`."""
    w = np.ones(len(X)) if weight is None else weight
    one, two = (
        _are_positive(X, coef[pairs].T, intercept[pairs])
        for coef, intercept in (rules, others)
    )
    return np.array([w @ one, w @ two, w @ (one != two)]).T


def _are_positive(rows, normals, intercept):
    """Whether scores are positive; where products overflow, rows are made smaller."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = rows @ normals + intercept
        huge = ~np.isfinite(scores).all(axis=1)
        if huge.any():
            size = np.abs(rows[huge]).max(axis=1, keepdims=True)
            scores[huge] = rows[huge] / size @ normals + intercept / size
    return scores > 0
