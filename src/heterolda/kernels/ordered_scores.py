"""Scores of linear rules, the same numbers for any block of rows."""

from __future__ import annotations

import numpy as np

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array

# Scores are kept near or below this, so that sums of them do not overflow.
_LARGEST_SCORE, _ROOM = 1e300, 1e8
# Products of features and coefficients that are summed at once, if there are no more.
_FEW_PRODUCTS = 1 << 16


def ordered_scores(X: Array, coef: Array, intercept: Array) -> Array:
    """The products of a row and a rule, summed from left to right, plus intercept.

    The order decides the sign of scores that are zero but for rounding, so a score
    depends on its row and its rule only. It is finite and has the right sign even if
    products overflow.
    """
    if kernels.compiled is None:
        return ordered_scores_numpy(X, coef, intercept)
    scores = np.empty((len(X), len(coef)))
    X, coef, intercept = map(kernels.ready, (X, coef, intercept))
    kernels.compiled.ordered_scores(X, coef, intercept, scores)
    return scores


def ordered_scores_numpy(X: Array, coef: Array, intercept: Array) -> Array:
    """The same, feature by feature."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = _products(X, coef)
        scores += intercept
        huge = ~np.isfinite(scores * _ROOM)
        if huge.any():
            rows = huge.any(axis=1)
            some = X[rows]
            size = np.abs(some).max(axis=1, keepdims=True, initial=0.0)
            size[size == 0] = 1.0
            scaled = size * (_products(some / size, coef) + intercept / size)
            scaled = np.clip(scaled, -_LARGEST_SCORE, _LARGEST_SCORE)
            scores[rows] = np.where(huge[rows], scaled, scores[rows])
    return scores


def _products(X: Array, coef: Array) -> Array:
    """X @ coef.T, summed from left to right."""
    (n, d), p = X.shape, len(coef)
    if d and n * p * d <= _FEW_PRODUCTS:
        sums: Array = np.add.accumulate(X[:, None] * coef, axis=2)[:, :, -1]
        return sums
    products = np.zeros((n, p))
    for k in range(d):
        products += X[:, k, None] * coef[:, k]
    return products
