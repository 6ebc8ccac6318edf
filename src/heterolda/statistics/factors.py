"""Scatters of few rows and many features, by factors instead of matrices.

The scatter of a class of n rows and d features is T = F'F with the n rows F of
deviations from the mean. With n < d it is F that is small, and any rows that an
orthogonal matrix makes of F will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import qr
from scipy.sparse import issparse

from heterolda.foundations.sparse_rows import dense
from heterolda.foundations.types import Array, Index
from heterolda.kernels.class_moments import SMALLEST_SQUARE
from heterolda.statistics.labels import class_order
from heterolda.statistics.moments import check_range, check_room

# Up to so many features matrices are small, and faster than factors.
NARROW = 100
# What is left out when factors are compressed, as a share of features' deviations.
TOLERANCE = 1e-13


def is_wide(n_rows: int, n_features: int) -> bool:
    """Whether so many rows of factors take the place of matrices."""
    return n_rows < n_features and n_features > NARROW


def class_factors(
    X: Any, codes: Index, weight: Array | None, n_classes: int
) -> tuple[Array, Array, list[Array], int]:
    """Weights, means and factors of classes, as `class_moments` has scatters.

    Last comes a feature that varies though sums of its squares are next to zero, or -1.
    """
    d, lost = X.shape[1], -1
    totals, means = np.zeros(n_classes), np.zeros((n_classes, d))
    factors: list[Array] = []
    order, bounds = class_order(codes, weight, n_classes)
    for k in range(n_classes):
        rows = order[bounds[k] : bounds[k + 1]]
        z = dense(X[rows]) if issparse(X) else X[rows]
        z = z.astype(np.float64, order="C", copy=False)
        if len(z):
            w = np.ones(len(z)) if weight is None else weight[rows]
            totals[k] = w.sum()
            with np.errstate(over="ignore", invalid="ignore"):
                means[k] = z[0]  # centred on a row first, constant columns become zero
                z -= means[k]
                shift = w @ z / totals[k]
                means[k] += shift
                z -= shift
                if weight is not None:
                    z *= np.sqrt(w)[:, None]
                squares = np.einsum("ij,ij->j", z, z)
            check_range(squares, np.zeros(d, bool))
            vanished = (squares < SMALLEST_SQUARE) & z.any(axis=0)
            if lost < 0 and vanished.any():
                lost = int(vanished.argmax())
            z = _without_mean(z, np.sqrt(w))
        factors.append(z)
    return totals, means, factors, lost


def _without_mean(z: Array, root: Array) -> Array:
    """Rows less one, with the same scatter.

    The sum of the rows times `root` is zero: so is the first row after the reflection
    that turns `root` to the first axis.
    """
    v = root / np.linalg.norm(root)
    v[0] += 1.0
    z -= np.outer(v / v[0], v @ z)  # |v|^2 = 2 v[0]
    return z[1:]


def squares_of(factors: Sequence[Array]) -> Array:
    """Sums of squares of each feature, of shape (n_classes, n_features)."""
    return np.array([np.einsum("ij,ij->j", factor, factor) for factor in factors])


def expanded(factors: Sequence[Array]) -> Array:
    """The scatters, of shape (n_classes, n_features, n_features)."""
    d = factors[0].shape[1] if factors else 0
    scatters = np.empty((len(factors), d, d))
    for factor, scatter in zip(factors, scatters, strict=True):
        np.matmul(factor.T, factor, out=scatter)
    return scatters


def compressed(factor: Array) -> Array:
    """Another factor of the same scatter, of as few rows as it has rank.

    It is that of Cholesky with pivots, the largest correlation first: determined by the
    scatter, it tells no more about rows. The scatter changes by no more than
    `TOLERANCE` of the deviations of two features. Doing it twice changes nothing.
    """
    if not len(factor):
        return factor
    norms = np.sqrt(np.einsum("ij,ij->j", factor, factor))
    units = np.ldexp(1.0, np.frexp(norms)[1])  # divisions by these are exact
    R, order = qr(factor / units, mode="r", pivoting=True, check_finite=False)
    R[np.abs(R) <= TOLERANCE] = 0.0
    R = R[R.any(axis=1)]
    R *= np.where(np.diag(R) < 0, -1.0, 1.0)[:, None]
    small: Array = np.empty_like(R)
    small[:, order] = R + 0.0  # no zero has a sign
    small *= units
    return small


def factor_of(scatter: Array) -> Array:
    """A factor of a scatter, as `compressed` makes it."""
    norms = np.sqrt(np.diag(scatter))
    units = np.ldexp(1.0, np.frexp(norms)[1])
    values, vectors = np.linalg.eigh(scatter / np.outer(units, units))
    roots = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return compressed(np.where(norms > 0, roots, 0.0) * units)


def compact(factors: list[Array]) -> list[Array] | Array:
    """The same factors as long as they are wide, fewer rows if possible, or scatters.

    The share of rows that must go makes sure that it is not tried at every merge.
    """
    d = factors[0].shape[1] if factors else 0
    if is_wide(sum(map(len, factors)), d):
        return factors
    few = [compressed(factor) for factor in factors]
    if is_wide(2 * sum(map(len, few)), d):
        return few
    check_room(len(factors), d)
    return expanded(factors)
