"""Scores of linear rules, finite for all finite rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, is_numpy, xp_of

# Scores are clipped to this size, so that their sums do not overflow.
_LARGEST_SCORE, _MARGIN = 1e300, 1e8
# Up to this many products of features and coefficients are summed in one call.
_FEW_PRODUCTS = 1 << 16


def ordered_scores(X: Any, coef: Any, intercept: Any) -> Any:
    """Return X @ coef.T + intercept, finite and of the right sign even on overflow.

    In NumPy the products are summed from left to right, so that a score, even one whose
    sign is decided by rounding, depends only on its row and its rule.
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
    """Return finite scores like `ordered_scores`, but summed in any order.

    `normals` is `coef` transposed; it and `intercept` may differ from row to row.
    """

    def products(rows: Any) -> Any:
        if normals.ndim == 3:
            return np.einsum("rj,rjp->rp", rows, normals)
        if normals.shape[1] == 1:  # a product with a vector is faster
            return (rows @ normals[:, 0])[:, None]
        return rows @ normals

    return _finite(rows, products, intercept)


def _finite(X: Any, products: Callable[[Any], Any], intercept: Any) -> Any:
    """Return products(X) + intercept, finite and of the right sign if X is finite."""
    xp = xp_of(X)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = products(X)
        scores += intercept
        # The sum is finite only if all scores are.
        if bool(xp.isfinite(xp.sum(scores) * _MARGIN)):
            return scores
        size = xp.max(xp.abs(X), axis=1, keepdims=True)
        size = xp.where(size > 0, size, 1.0)
        scaled = size * (products(X / size) + intercept / size)
        scaled = xp.clip(scaled, -_LARGEST_SCORE, _LARGEST_SCORE)
        return xp.where(xp.isfinite(scores * _MARGIN), scores, scaled)


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
