"""Coordinates in which rows have the unit matrix as their second moment."""

from __future__ import annotations

import numpy as np

import heterolda.kernels as kernels
from heterolda.foundations.types import Array

# Directions with less than this share of the variance, all features being scaled to
# variance one, are rounding errors.
_NO_VARIANCE = 1e-10
# A feature that varies less than this, relative to its size, is constant.
_CONSTANT = 1e-14


def whiten(X: Array, weight: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Z, centre, size, mean and B of Z = (1, ((x - centre) / size - mean) B).

    Centre and size are the middle and half of the range of each feature, and the size
    of a constant one is infinite; the weights sum to one. Z, of shape (n, r + 1) with
    the rank r, is the transpose of a matrix in C order. The coordinates are unique up
    to a rotation of all but the first.
    """
    n, d = X.shape
    if kernels.compiled is None or n <= d:  # then the rank is less than d
        return whiten_numpy(X, weight)
    centre, size, mean = np.empty((3, d))
    basis, columns = np.empty((d, d)), np.empty((d + 1, n))
    rank = np.empty(1, np.int64)
    rows = map(kernels.ready, (X, weight))
    kernels.compiled.whiten(*rows, centre, size, mean, basis, columns, rank)
    r = int(rank[0])
    if r < 0:  # some directions may be rounding errors
        return whiten_numpy(X, weight)
    return columns[: r + 1].T, centre, size, mean, basis[:, :r]


def whiten_numpy(X: Array, weight: Array) -> tuple[Array, Array, Array, Array, Array]:
    """The same by eigenvectors, those of the products of rows if these are few."""
    A, centre, size, mean, deviation = _scaled(X, weight)
    n, d = X.shape
    if n <= d:
        root = np.sqrt(weight)
        rooted = root[:, None] * A
        values, vectors = np.linalg.eigh(rooted @ rooted.T)
    else:
        values, vectors = np.linalg.eigh((A.T * weight) @ A)
    kept = values > _NO_VARIANCE * max(values[-1], _NO_VARIANCE)
    values, vectors = values[kept], vectors[:, kept]
    if n <= d:
        vectors = rooted.T @ vectors / np.sqrt(values)
    basis = vectors / np.sqrt(values)
    columns = np.empty((basis.shape[1] + 1, n))
    columns[0] = 1.0
    np.matmul(basis.T, A.T, out=columns[1:])
    return columns.T, centre, size, mean, basis / deviation[:, None]


def independent(X: Array, weight: Array) -> bool:
    """Whether the rank of rows less their mean is surely one less than their number.

    It is not if it is hard to tell.
    """
    if len(X) > X.shape[1] + 1:
        return False
    if kernels.compiled is None:
        return independent_numpy(X, weight)
    proven = np.empty(1, np.int64)
    rows = map(kernels.ready, (X, weight))
    kernels.compiled.independent(*rows, proven)
    return bool(proven[0])


def independent_numpy(X: Array, weight: Array) -> bool:
    """The same by eigenvalues of the products of rows."""
    root = np.sqrt(weight)
    rooted = root[:, None] * _scaled(X, weight)[0]
    values = np.linalg.eigvalsh(rooted @ rooted.T + np.outer(root, root))
    return bool(values[0] > 10 * _NO_VARIANCE * values.sum())


def _scaled(X: Array, weight: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Rows less their mean, of variance one, and what leads there."""
    low, high = X.min(axis=0), X.max(axis=0)
    centre, size = low / 2 + high / 2, high / 2 - low / 2
    size[size <= _CONSTANT * np.abs(centre)] = np.inf
    A = (X - centre) / size
    mean = weight @ A
    A -= mean
    deviation = np.sqrt(weight @ (A * A))
    deviation[deviation == 0] = 1.0
    A /= deviation
    return A, centre, size, mean, deviation
