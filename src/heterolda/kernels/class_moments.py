"""Weights, means and centred scatters of classes, in one pass over rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import heterolda.kernels as kernels
from heterolda.foundations.arrays import (
    Array,
    Index,
    blocks,
    device_of,
    is_numpy,
    put_like,
    to_host,
    xp_of,
)

# Below this a sum of squares begins to lose digits: numbers are 5e-324 apart there.
SMALLEST_SQUARE = 1e-307

# With no more features, or no more rows in a class, loops of our own are faster than
# the linear algebra library.
_FEW_FEATURES = 48
_FEW_ROWS = 128
# Rows are gathered class by class into a buffer of about this size, small enough
# to stay in cache while it is centred and multiplied.
_BUFFER_BYTES = 1 << 20
# Labels are sorted this many rows at a time, so that the gathered rows lie near each
# other even if X is a memory map larger than memory.
_SORTED_ROWS = 1 << 17
# A GPU is busy only with large blocks: at least this many bytes, or a tenth of those of
# the rows; and with many products at once, of at least this many rows.
_GPU_BYTES, _TILE = 1 << 27, 1024


class ClassMoments(NamedTuple):
    """Moments of classes.

    Attributes
    ----------
    weights : ndarray of shape (n_classes,)
        Total weights.
    means : ndarray of shape (n_classes, n_features)
        Means; zero without rows.
    scatters : ndarray of shape (n_classes, n_features, n_features)
        Weighted sums of outer products of deviations from the mean.
    lost : int
        A feature that varies though sums of its squares are next to zero, or -1.
    """

    weights: Array
    means: Array
    scatters: Array
    lost: int


def class_moments(
    X: Any, codes: Any, weight: Array | None, n_classes: int
) -> ClassMoments:
    """Return moments of classes, of rows of any type, layout and library.

    `codes` has the class of each row, where X is; weights are in NumPy, and rows of
    weight zero do not count. What overflows becomes infinite or NaN.
    """
    d = X.shape[1]
    many = d > _FEW_FEATURES and X.shape[0] > _FEW_ROWS * n_classes
    if kernels.compiled is None or many or not is_numpy(X):
        return class_moments_python(X, codes, weight, n_classes)
    totals, means = np.zeros(n_classes), np.zeros((n_classes, d))
    scatters = np.zeros((n_classes, d, d))
    lost = np.full(1, -1, np.int64)
    step = len(X)
    usable = X.flags.forc and X.flags.aligned
    if not usable or X.dtype not in (np.float64, np.float32):
        step = max(1, _BUFFER_BYTES // 8 // max(d, 1))  # what is converted at a time
    for start in range(0, len(X), step or 1):
        rows = slice(start, start + step)
        part = None if weight is None else kernels.ready(weight[rows])
        native = _native(X if step == len(X) else X[rows])
        sums = totals, means, scatters, SMALLEST_SQUARE, lost
        kernels.compiled.class_moments(*native, codes[rows], part, *sums)
    return ClassMoments(totals, means, scatters, int(lost[0]))


def _native(X: NDArray[Any]) -> list[NDArray[Any] | None]:
    """Return rows in one of the four forms of the kernel, and None for the others."""
    single = X.dtype == np.float32
    if not single:
        X = X.astype(np.float64, copy=False)
    columns = X.flags.fnc and X.flags.aligned
    place = 2 * single + columns
    forms: list[NDArray[Any] | None] = [None] * 4
    forms[place] = X.T if columns else kernels.ready(X)
    return forms


def class_moments_python(
    X: Any, codes: Any, weight: Array | None, n_classes: int
) -> ClassMoments:
    """Return the moments class by class: gathered, centered, multiplied in blocks."""
    (n, d), lost = X.shape, -1
    totals, means = np.zeros(n_classes), np.zeros((n_classes, d))
    scatters = np.zeros((n_classes, d, d))
    n_sorted, step = _sizes(X)
    weight = None if weight is None else put_like(weight, X)
    for part in blocks(n, n_sorted):
        order, bounds = by_class(codes[part], n_classes)
        for k, (low, high) in enumerate(pairwise(bounds.tolist())):
            rows = order[low:high] + part.start
            if weight is not None:
                rows = rows[weight[rows] > 0]
            for some in blocks(rows.shape[0], step):
                block = rows[some]
                w = None if weight is None else weight[block]
                z = _gathered(X, block)
                squares = add_rows(z, w, totals[k : k + 1], means[k], scatters[k])
                if lost < 0 and squares.min(initial=1.0) < SMALLEST_SQUARE:
                    varies = to_host(xp_of(z).any(z != 0, axis=0))
                    vanished = (squares < SMALLEST_SQUARE) & varies
                    lost = int(vanished.argmax()) if vanished.any() else -1
    return ClassMoments(totals, means, scatters, lost)


def _sizes(X: Any) -> tuple[int, int]:
    """Return how many labels are sorted, and rows gathered, at a time."""
    n, d = X.shape
    if is_numpy(X):
        return _SORTED_ROWS, max(16, _BUFFER_BYTES // 8 // max(d, 1))
    if not device_of(X, always=True).is_gpu:
        return max(n, 1), max(16, _BUFFER_BYTES // 8 // d)
    share = 10 if X.dtype == xp_of(X).float64 else 20
    return max(n, 1), max(16, _GPU_BYTES // 8 // d, n // share)


def by_class(codes: Any, n_classes: int) -> tuple[Any, Index]:
    """Return indices of rows, class by class, and in NumPy where each class begins."""
    xp = xp_of(codes)
    # Integers of one or two bytes sort in linear time.
    kinds = xp.uint8, xp.int16, xp.int64
    kind = next(kind for kind in kinds if n_classes <= xp.iinfo(kind).max)
    codes = xp.astype(codes, kind, copy=False)
    order = xp.argsort(codes, stable=True)
    ends = put_like(np.arange(n_classes), codes)
    last = xp.searchsorted(xp.take(codes, order), xp.astype(ends, kind), side="right")
    return order, np.append(0, to_host(last))


def _gathered(X: Any, rows: Any) -> Any:
    """Return some rows of X in float64, laid out in memory as X is."""
    xp = xp_of(X)
    if not is_numpy(X):
        z = xp.take(X, rows, axis=0)
    elif X.flags.f_contiguous and not X.flags.c_contiguous:
        # Columns that lie one after the other, as those of data frames, stay so.
        z = X.T.take(rows, axis=1, mode="clip").T
    else:
        z = X.take(rows, axis=0, mode="clip")
    return xp.astype(z, xp.float64, copy=False)


def add_rows(z: Any, weight: Any, total: Array, mean: Array, scatter: Array) -> Array:
    """Add rows to the total weight, mean and centered scatter of a class, in place.

    These are in NumPy. The rows z are overwritten. Return the sums of squares of the
    features.
    """
    xp = xp_of(z)
    before = float(total[0])
    more = float(z.shape[0] if weight is None else xp.sum(weight))
    total += more
    with np.errstate(over="ignore", invalid="ignore"):
        # Centering on a row first makes the scatter of a constant column exactly zero
        # and takes out any offset before sums are formed. The mean of a class that
        # has as much weight already does that too, and saves a pass.
        enough = before >= more
        origin = put_like(mean, z) if enough else z[0, :] + 0.0
        z -= origin
        if weight is None and is_numpy(z):
            shift = z.sum(axis=0) / more
        else:  # a product takes CuPy a hundredth of the time of a sum over rows
            column = xp.ones_like(z[:, :1]) if weight is None else weight[:, None]
            shift = _product(column, z)[0, :] / more
        if not enough:
            z -= shift
            shift += origin - put_like(mean, z)
        if weight is not None:
            z *= xp.sqrt(weight)[:, None]
        product, shift = to_host(_product(z, z)), to_host(shift)
        scatter += product
        if enough:
            # What is taken off is at most half of what was summed: no digits are lost.
            scatter -= np.outer(shift, shift * (more * more / total))
            mean += shift * (more / total)
        elif before == 0:
            mean += shift
        else:  # Chan, Golub and LeVeque, pairwise update
            scatter += np.outer(shift, shift * (before * more / total))
            mean += shift * (more / total)
    squares: Array = product.diagonal()
    return squares


def _product(a: Any, b: Any) -> Any:
    """Return a'b; a GPU needs many products at once, so that rows are cut in tiles."""
    if is_numpy(a):
        return a.T @ b
    xp, (n, d) = xp_of(a), b.shape
    tile = max(_TILE, 4 * d)
    whole = n - n % tile
    tiles = (xp.reshape(m[:whole, :], (-1, tile, m.shape[1])) for m in (a, b))
    sums = xp.sum(xp.matmul(xp.matrix_transpose(next(tiles)), next(tiles)), axis=0)
    return sums + a[whole:, :].T @ b[whole:, :]
