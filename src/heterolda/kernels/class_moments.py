"""Weights, means and centred scatters of classes, in one pass over rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, Index

# Below this a sum of squares has lost digits to underflow.
SMALLEST_SQUARE = 1e-305

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
    X: NDArray[Any], codes: Index, weight: Array | None, n_classes: int
) -> ClassMoments:
    """Moments of classes, of rows of any type and layout.

    `codes` has the class of each row; rows of weight zero do not count. What overflows
    becomes infinite or NaN.
    """
    d = X.shape[1]
    many = d > _FEW_FEATURES and len(X) > _FEW_ROWS * n_classes
    if kernels.compiled is None or many:
        return class_moments_numpy(X, codes, weight, n_classes)
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
        here = _native(X if step == len(X) else X[rows])
        sums = totals, means, scatters, SMALLEST_SQUARE, lost
        kernels.compiled.class_moments(*here, codes[rows], part, *sums)
    return ClassMoments(totals, means, scatters, int(lost[0]))


def _native(X: NDArray[Any]) -> list[NDArray[Any] | None]:
    """Rows in one of the four forms that the kernel takes, and None for the others."""
    single = X.dtype == np.float32
    if not single:
        X = X.astype(np.float64, copy=False)
    columns = X.flags.fnc and X.flags.aligned
    place = 2 * single + columns
    forms: list[NDArray[Any] | None] = [None] * 4
    forms[place] = X.T if columns else kernels.ready(X)
    return forms


def class_moments_numpy(
    X: NDArray[Any], codes: Index, weight: Array | None, n_classes: int
) -> ClassMoments:
    """The same, class by class: gathered, centred and multiplied in blocks."""
    d, lost = X.shape[1], -1
    totals, means = np.zeros(n_classes), np.zeros((n_classes, d))
    scatters = np.zeros((n_classes, d, d))
    room = np.empty(max(16 * d, _BUFFER_BYTES // 8))[: len(X) * d]
    step = max(1, len(room) // max(d, 1))
    ones = np.ones(step)
    small = np.min_scalar_type(max(n_classes - 1, 0))  # which sorts in linear time
    for start in range(0, len(X), _SORTED_ROWS):
        some = codes[start : start + _SORTED_ROWS].astype(small)
        order = some.argsort(kind="stable") + start
        bounds = np.bincount(some, minlength=n_classes).cumsum().tolist()
        for k, (low, high) in enumerate(zip([0, *bounds[:-1]], bounds, strict=True)):
            rows = order[low:high]
            if weight is not None:
                rows = rows[weight[rows] > 0]
            for first in range(0, len(rows), step):
                block = rows[first : first + step]
                w = ones[: len(block)] if weight is None else weight[block]
                z = _gather(X, block, room)
                squares = add_rows(z, w, totals[k : k + 1], means[k], scatters[k])
                if lost < 0 and squares.min(initial=1.0) < SMALLEST_SQUARE:
                    vanished = (squares < SMALLEST_SQUARE) & (z != 0).any(axis=0)
                    lost = int(vanished.argmax()) if vanished.any() else -1
    return ClassMoments(totals, means, scatters, lost)


def _gather(X: NDArray[Any], rows: Index, room: Array) -> Array:
    """Some rows of X in float64, in `room`, laid out in memory as X is."""
    room = room[: len(rows) * X.shape[1]]
    # Columns that lie one after the other, as those of data frames, stay so.
    if X.flags.f_contiguous and not X.flags.c_contiguous:
        columns = room.reshape(X.shape[1], len(rows))
        if X.dtype == room.dtype:
            X.T.take(rows, axis=1, out=columns, mode="clip")
        else:
            columns[...] = X.T[:, rows]
        return columns.T
    z = room.reshape(len(rows), X.shape[1])
    if X.dtype == room.dtype and X.flags.c_contiguous:
        X.take(rows, axis=0, out=z, mode="clip")
    else:
        z[...] = X[rows]
    return z


def add_rows(
    z: Array, weight: Array, total: Array, mean: Array, scatter: Array
) -> Array:
    """Add rows to the total weight, mean and centred scatter of a class, in place.

    The rows z are overwritten. Returns the sums of squares of the features.
    """
    before, more = float(total[0]), float(weight.sum())
    total += more
    with np.errstate(over="ignore", invalid="ignore"):
        # Centring on a row first makes the scatter of a constant column exactly zero
        # and takes out any offset before sums are formed. The mean of a class that
        # has as much weight already does that too, and saves a pass.
        known = before >= more
        origin = mean if known else z[0].copy()
        z -= origin
        shift = (weight @ z) / more
        if not known:
            z -= shift
            shift += origin - mean
        if more != len(z) or (weight != 1).any():
            z *= np.sqrt(weight)[:, None]
        product = z.T @ z
        scatter += product
        if known:
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
