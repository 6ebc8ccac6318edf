"""Weights, means and centered scatters of classes, in one pass over the rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from heterolda.foundations.arrays import (
    Array,
    Index,
    blocks,
    device_of,
    is_numpy,
    put_like,
    rows_at,
    to_host,
    xp_of,
)

# Sums of squares below this lose digits: the spacing of numbers there is 5e-324.
SMALLEST_SQUARE = 1e-307

# Rows are gathered class by class into a buffer of about this size, small enough
# to stay in cache while it is centered and multiplied.
_BUFFER_BYTES = 1 << 20
# Labels are sorted this many rows at a time, so that the gathered rows are close
# together even if X is a memory map larger than memory.
SORTED_ROWS = 1 << 17
# A GPU needs large blocks, of at least this many bytes or a tenth of the rows, and many
# products at once, of at least this many rows each.
_GPU_BYTES, _TILE = 1 << 27, 1024


class ClassMoments(NamedTuple):
    """Moments of classes."""

    weights: Array  # total weights
    means: Array  # zero for a class without rows
    scatters: Array  # weighted sums of outer products of deviations from the mean
    lost: int  # index of a feature whose squares underflow though it varies, or -1


def class_moments(
    X: Any,
    codes: Any,
    weight: Array | None,
    n_classes: int,
    sorted_rows: tuple[Index, Index] | None = None,
) -> ClassMoments:
    """Return the moments of classes, for rows of any type, layout and library.

    `codes` has the class of each row, on the device of X; `weight` is in NumPy. Rows of
    weight zero do not count. Sums that overflow are infinite or NaN. The order and
    bounds of the rows by class, if known, save sorting them.
    """
    (n, d), lost = X.shape, -1
    totals, means = np.zeros(n_classes), np.zeros((n_classes, d))
    scatters = np.zeros((n_classes, d, d))
    n_sorted, step = _sizes(X)
    n_sorted = n_sorted if sorted_rows is None else max(n, 1)
    weight = None if weight is None else put_like(weight, X)
    for part in blocks(n, n_sorted):
        order, bounds = sorted_rows or by_class(codes[part], n_classes)
        for k, (low, high) in enumerate(pairwise(bounds.tolist())):
            rows = order[low:high] + part.start
            if weight is not None:
                rows = rows[weight[rows] > 0]
            for chunk in blocks(rows.shape[0], step):
                block = rows[chunk]
                w = None if weight is None else weight[block]
                z = _gathered(X, block)
                squares = add_rows(z, w, totals[k : k + 1], means[k], scatters[k])
                if lost < 0 and squares.min(initial=1.0) < SMALLEST_SQUARE:
                    varies = to_host(xp_of(z).any(z != 0, axis=0))
                    underflows = (squares < SMALLEST_SQUARE) & varies
                    lost = int(underflows.argmax()) if underflows.any() else -1
    return ClassMoments(totals, means, scatters, lost)


def _sizes(X: Any) -> tuple[int, int]:
    """Return how many labels to sort, and how many rows to gather, at a time."""
    n, d = X.shape
    if is_numpy(X):
        return SORTED_ROWS, max(16, _BUFFER_BYTES // 8 // max(d, 1))
    if not device_of(X, always=True).is_gpu:
        return max(n, 1), max(16, _BUFFER_BYTES // 8 // d)
    share = 10 if X.dtype == xp_of(X).float64 else 20
    return max(n, 1), max(16, _GPU_BYTES // 8 // d, n // share)


def by_class(codes: Any, n_classes: int) -> tuple[Any, Index]:
    """Return the order of rows by class, and where each class begins (in NumPy)."""
    xp = xp_of(codes)
    # Integers of one or two bytes sort in linear time.
    kinds = xp.uint8, xp.int16, xp.int64
    kind = next(kind for kind in kinds if n_classes <= xp.iinfo(kind).max)
    codes = xp.astype(codes, kind, copy=False)
    order = xp.argsort(codes, stable=True)
    classes = xp.astype(put_like(np.arange(n_classes), codes), kind)
    ends = xp.searchsorted(xp.take(codes, order), classes, side="right")
    return order, np.append(0, to_host(ends))


def _gathered(X: Any, rows: Any) -> Any:
    """Copy rows of X to float64."""
    if is_numpy(X):  # sums do not depend on the layout
        return np.ascontiguousarray(rows_at(X, rows), np.float64)
    xp = xp_of(X)
    return xp.astype(xp.take(X, rows, axis=0), xp.float64, copy=False)


def add_rows(z: Any, weight: Any, total: Array, mean: Array, scatter: Array) -> Array:
    """Add rows to the total weight, mean and centered scatter of a class, in place.

    These are in NumPy. The rows z are overwritten. Return the sum of squares of each
    feature.
    """
    xp = xp_of(z)
    before = float(total[0])
    added = float(z.shape[0] if weight is None else xp.sum(weight))
    total += added
    with np.errstate(over="ignore", invalid="ignore"):
        # Centering on a row first makes the scatter of a constant column exactly zero,
        # and removes any offset before sums are formed. So does centering on the mean
        # of a class that has as much weight already, which saves a pass.
        enough = before >= added
        origin = put_like(mean, z) if enough else z[0, :] + 0.0
        z -= origin
        if weight is None and is_numpy(z):
            shift = z.sum(axis=0) / added
        else:  # in CuPy a product is a hundred times as fast as a sum over rows
            column = xp.ones_like(z[:, :1]) if weight is None else weight[:, None]
            shift = _product(column, z)[0, :] / added
        if not enough:
            z -= shift
            shift += origin - put_like(mean, z)
        if weight is not None:
            z *= xp.sqrt(weight)[:, None]
        product, shift = to_host(_product(z, z)), to_host(shift)
        scatter += product
        if enough:
            # At most half of the sum is subtracted, so no digits are lost.
            scatter -= np.outer(shift, shift * (added * added / total))
            mean += shift * (added / total)
        elif before == 0:
            mean += shift
        else:  # Chan, Golub and LeVeque, pairwise update
            scatter += np.outer(shift, shift * (before * added / total))
            mean += shift * (added / total)
    squares: Array = product.diagonal()
    return squares


def _product(a: Any, b: Any) -> Any:
    """Return a'b, on a device as a sum over tiles of rows, all multiplied at once."""
    if is_numpy(a):
        return a.T @ b
    xp, (n, d) = xp_of(a), b.shape
    tile = max(_TILE, 4 * d)
    n_tiled = n - n % tile
    tiles = (xp.reshape(m[:n_tiled, :], (-1, tile, m.shape[1])) for m in (a, b))
    sums = xp.sum(xp.matmul(xp.matrix_transpose(next(tiles)), next(tiles)), axis=0)
    return sums + a[n_tiled:, :].T @ b[n_tiled:, :]
