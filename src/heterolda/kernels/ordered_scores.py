"""Scores of linear rules, finite for all finite rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, is_numpy, xp_of

# Scores are kept near or below this, so that sums of them do not overflow.
_LARGEST_SCORE, _ROOM = 1e300, 1e8
# Products of features and coefficients that are summed at once, if there are no more.
_FEW_PRODUCTS = 1 << 16


def ordered_scores(X: Any, coef: Any, intercept: Any) -> Any:
    """Return products of rows and rules, plus intercept.

    In NumPy they are summed from left to right: the order decides the sign of scores
    that are zero but for rounding, so a score depends on its row and its rule only. It
    is finite and has the right sign even if products overflow.
    """
    if not is_numpy(X):
        return linear_scores(X, coef.T, intercept)
    if kernels.compiled is None:
        return _finite(X, lambda rows: _products(rows, coef), intercept)
    scores = np.empty((len(X), len(coef)))
    X, coef, intercept = map(kernels.ready, (X, coef, intercept))
    kernels.compiled.ordered_scores(X, coef, intercept, scores)
    return scores


def linear_scores(rows: Any, normals: Any, intercept: Any) -> Any:
    """Return scores of rows, summed in any order, but finite as `ordered_scores` are.

    `normals` is `coef` transposed, perhaps for each row, and so may `intercept` be.
    """

    def products(rows: Any) -> Any:
        if normals.ndim == 3:
            return np.einsum("rj,rjp->rp", rows, normals)
        if normals.shape[1] == 1:  # by a vector it is faster
            return (rows @ normals[:, 0])[:, None]
        return rows @ normals

    return _finite(rows, products, intercept)


def _finite(X: Any, products: Callable[[Any], Any], intercept: Any) -> Any:
    """Return products of rows with rules, plus intercept, finite and of the right sign.

    Scores of rows that are not finite are NaN.
    """
    xp = xp_of(X)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = products(X)
        scores += intercept
        # The sum of all is finite unless one of them is not, or nearly so.
        if bool(xp.isfinite(xp.sum(scores) * _ROOM)):
            return scores
        size = xp.max(xp.abs(X), axis=1, keepdims=True)
        size = xp.where(size > 0, size, 1.0)
        scaled = size * (products(X / size) + intercept / size)
        scaled = xp.clip(scaled, -_LARGEST_SCORE, _LARGEST_SCORE)
        return xp.where(xp.isfinite(scores * _ROOM), scores, scaled)


def _products(X: Array, coef: Array) -> Array:
    """Return X @ coef.T, summed from left to right."""
    (n, d), p = X.shape, len(coef)
    if d and n * p * d <= _FEW_PRODUCTS:
        sums: Array = np.add.accumulate(X[:, None] * coef, axis=2)[:, :, -1]
        return sums
    products = np.zeros((n, p))
    for k in range(d):
        products += X[:, k, None] * coef[:, k]
    return products
