"""Scores of linear rules, the same numbers for any block of rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, Mask

# Scores are kept near or below this, so that sums of them do not overflow.
_LARGEST_SCORE, _ROOM = 1e300, 1e8
# Products of features and coefficients that are summed at once, if there are no more.
_FEW_PRODUCTS = 1 << 16


def ordered_scores(X: Array, coef: Array, intercept: Array) -> Array:
    """Return products of rows and rules, summed from left to right, plus intercept.

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
    """Return the same, feature by feature."""
    return _finite(X, lambda rows, some: _products(rows, coef), intercept)


def linear_scores(rows: Array, normals: Array, intercept: Array) -> Array:
    """Return scores of rows, summed in any order, but finite as `ordered_scores` are.

    `normals` is `coef` transposed, perhaps for each row, and so may `intercept` be.
    """

    def products(rows: Array, some: Mask | slice) -> Array:
        if normals.ndim == 2:
            return rows @ normals
        sums: Array = np.einsum("rj,rjp->rp", rows, normals[some])
        return sums

    return _finite(rows, products, intercept)


def _finite(
    X: Array, products: Callable[[Array, Mask | slice], Array], intercept: Array
) -> Array:
    """Return products of rows with rules, plus intercept, finite and of the right sign.

    The function is called with some rows, and which rows they are.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scores = products(X, slice(None))
        scores += intercept
        # The sum of all is finite unless one of them is not, or nearly so.
        if np.isfinite(scores.sum() * _ROOM):
            return scores
        huge = ~np.isfinite(scores * _ROOM)
        rows = huge.any(axis=1)
        size = np.abs(X[rows]).max(axis=1, keepdims=True, initial=0.0)
        size[size == 0] = 1.0
        each = np.broadcast_to(intercept, scores.shape)[rows]
        scaled = size * (products(X[rows] / size, rows) + each / size)
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
