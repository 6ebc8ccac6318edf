"""Weights, means and centred scatters of classes, where the rows are.

Rows are sorted by class, gathered in tiles of rows of one class, centred, and
multiplied: one product z'z for each tile, those of many tiles at once. A column of ones
beside the rows gives the sums of z, too; with weights it has their roots, by which rows
are multiplied. Tiles are short, so that sums in single precision lose little, and what
they give is added up in double precision. The origin that is subtracted is the median
of a few rows of the class: it takes out any offset, and it is a value of the feature,
so that a constant one has a scatter of exactly zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from heterolda.foundations.arrays import (
    Array,
    Device,
    Index,
    Mask,
    blocks,
    device_of,
    to_host,
)
from heterolda.kernels.class_moments import SMALLEST_SQUARE, ClassMoments

# Share of the bytes of X that are gathered at a time on a GPU, which needs much to do,
# but no fewer bytes than these; elsewhere, what stays in cache.
_SHARE, _LEAST_BYTES, _CACHE = 0.1, 1 << 27, 1 << 20
# Rows of a tile, at most and at least; and tiles that a class should fill in a chunk.
_MOST, _LEAST, _TILES = 1024, 16, 8
# Rows of a class, an odd number of them, whose median is its origin.
_SAMPLE = 129
# Numbers whose squares have digits enough in single precision are between these.
_SMALL, _LARGE = 1e-12, 1e12
# Share of the variance of a feature that others may leave in single precision.
_LEFT = 1e-3
# Most turns, if digits are lacking at first.
_TURNS = 3
# If the mean is farther than this from the origin, in deviations, digits are lost.
_FAR = 1e3


@dataclass(frozen=True)
class Tiles:
    """Which rows are in which tiles; tiles come class after class.

    Attributes
    ----------
    order : array of shape (n,)
        Rows by class, on the device; those that do not count come last.
    start, n_rows, classes : ndarray of shape (n_tiles,)
        Where the rows of a tile begin in `order`, how many there are, and their class.
    bounds : ndarray of shape (n_classes + 1,)
        Where the rows of each class begin in `order`, and where the last end.
    size : int
        Rows of a full tile.
    """

    order: Any
    start: Index
    n_rows: Index
    classes: Index
    bounds: Index
    size: int


def class_moments(X: Any, codes: Any, weight: Any, n_classes: int) -> ClassMoments:
    """Moments of classes of rows on a device, as NumPy arrays.

    `codes` has the class of each row, on the device; weights are in NumPy, and rows of
    weight zero do not count. What overflows becomes infinite or NaN, and so do the
    moments of what is not finite.
    """
    device = device_of(X, always=True)
    xp, (n, d) = device.xp, X.shape
    if not n:
        zeros = np.zeros(n_classes), np.zeros((n_classes, d))
        return ClassMoments(*zeros, np.zeros((n_classes, d, d)), -1)
    if weight is not None:
        weight = device.put(weight, device.floats)
    tiles = _tiles(device, codes, weight, n_classes)
    origin, spread, most = _sample(device, X, tiles, n_classes)
    single = X.dtype == xp.float32 and device.multiplies_exactly
    single = single and weight is None  # whose roots are rounded
    single = single and spread > _SMALL and most < _LARGE
    kind = xp.float32 if single else device.floats
    for turn in range(_TURNS):
        if kind == xp.float32:
            origin = origin.astype(np.float32).astype(np.float64)
        with np.errstate(all="ignore"):  # libraries that rest on NumPy warn
            sums = _sums(device, X, weight, tiles, origin, kind)
        counts, linear, products = sums[:, d, d], sums[:, :d, d], sums[:, :d, :d]
        total = np.where(counts > 0, counts, 1.0)[:, None]
        with np.errstate(all="ignore"):
            shift = linear / total
            squares = np.einsum("kjj->kj", products)
            far = total * shift**2 > _FAR**2 * (squares - total * shift**2)
            moved = np.where(far & (shift != 0) & np.isfinite(shift), shift, 0.0)
        if turn == _TURNS - 1:
            break
        if kind == xp.float32 and kind != device.floats and _are_delicate(sums):
            kind = device.floats
        elif not moved.any():
            break
        origin = origin + moved  # where sorted rows or outliers misled the sample
    with np.errstate(all="ignore"):
        outer = shift[:, :, None] * shift[:, None, :]
        scatters = products - total[:, :, None] * outer
        scatters = 0.5 * (scatters + scatters.mT)
        negative = np.einsum("kjj->kj", scatters) < 0  # by rounding
    if negative.any():
        scatters[negative[:, :, None] | negative[:, None, :]] = 0.0
    means = np.where(counts[:, None] > 0, origin + shift, 0.0)
    if weight is not None and bool(xp.all(weight == xp.round(weight))):
        counts = np.rint(counts)  # which squares of roots need not be
    tiny = (squares < SMALLEST_SQUARE) & (counts[:, None] > 0)
    return ClassMoments(counts, means, scatters, _lost(xp, X, codes, weight, tiny))


def _are_delicate(sums: Array) -> bool:
    """Whether sums in single precision may lack digits that matter.

    That is so where they leave its range, and where features of a class nearly depend
    on each other: what is left of them then is of the size of rounding.
    """
    d = sums.shape[1] - 1
    linear, products = sums[:, :d, d], sums[:, :d, :d]
    squares = np.einsum("kjj->kj", products)
    tiny = (squares < _SMALL**2) & (linear != 0)  # of few rows, and many zeros
    if (tiny | ~np.isfinite(squares)).any():
        return True
    count = np.maximum(sums[:, d, d], 1.0)[:, None, None]
    scatters = products - linear[:, :, None] * (linear[:, None, :] / count)
    scale = np.sqrt(np.einsum("kjj->kj", scatters).clip(0.0))
    scale[scale == 0] = np.inf  # constant features
    shape = scatters / scale[:, :, None] / scale[:, None, :]
    try:
        np.linalg.cholesky(shape + np.eye(d) * (np.isinf(scale)[:, :, None] - _LEFT))
    except np.linalg.LinAlgError:
        return True
    return False


def _tiles(device: Device, codes: Any, weight: Any, n_classes: int) -> Tiles:
    """Sort rows by class, and lay them out in tiles."""
    xp, n = device.xp, codes.shape[0]
    size = 1 << int(np.log2(max(1, n / (_TILES * n_classes))))
    size = max(_LEAST, min(size, _MOST))
    kind = xp.uint8 if n_classes < 255 else xp.int32
    key = device.astype(codes, kind)
    if weight is not None:
        key = xp.where(weight > 0, key, key * 0 + n_classes)
    order = xp.argsort(key, stable=True)
    ends = xp.arange(n_classes, dtype=kind, device=device.device)
    last = xp.searchsorted(xp.take(key, order), ends, side="right")
    bounds = np.append(0, to_host(last)).astype(np.int64)

    n_tiles = -(-np.diff(bounds) // size)
    within = np.arange(n_tiles.sum()) - np.repeat(np.cumsum(n_tiles) - n_tiles, n_tiles)
    start = np.repeat(bounds[:-1], n_tiles) + within * size
    n_rows = np.minimum(size, np.repeat(bounds[1:], n_tiles) - start)
    classes = np.repeat(np.arange(n_classes), n_tiles)
    return Tiles(order, start, n_rows, classes, bounds, size)


def _sample(
    device: Device, X: Any, tiles: Tiles, n_classes: int
) -> tuple[Array, float, float]:
    """Medians of features, from rows that are spread over all of a class.

    Besides the least quartile range that is not zero, and the largest number.
    """
    xp, d = device.xp, X.shape[1]
    n = min(_SAMPLE, max(9, (1 << 16) // n_classes) | 1)
    counts = np.diff(tiles.bounds)[:, None]
    chosen = tiles.bounds[:-1, None] + np.arange(n) * counts // n
    chosen = np.where(counts > 0, chosen, 0)
    rows = xp.take(tiles.order, device.put(chosen.ravel()))
    some = device.astype(xp.take(X, rows, axis=0), device.floats)
    some = xp.sort(xp.reshape(some, (n_classes, n, d)), axis=1)
    places = device.put(np.array([0, n // 4, n // 2, n - 1 - n // 4, n - 1]))
    quarters = to_host(xp.take(some, places, axis=1)).astype(np.float64)
    low, first, origin, third, high = quarters.swapaxes(0, 1)
    with np.errstate(all="ignore"):
        spread = third - first
        most = float(np.maximum(np.abs(low), np.abs(high)).max())
    least = float(spread[spread > 0].min(initial=np.inf))
    return np.where(np.isfinite(origin), origin, 0.0), least, most


def _sums(
    device: Device, X: Any, weight: Any, tiles: Tiles, origin: Array, kind: Any
) -> Array:
    """Sums over rows of each class of w u u', where u = (x - origin, 1), in NumPy."""
    xp, (n_classes, d) = device.xp, origin.shape
    of_tiles = device.put(np.stack([tiles.start, tiles.n_rows, tiles.classes]))
    centre = device.put(origin, kind)
    roots = None if weight is None else device.astype(xp.sqrt(weight), kind)
    numbers = xp.arange(n_classes, dtype=xp.int64, device=device.device)
    sums: Any = np.zeros(1)
    on_host = device.floats == xp.float32  # where there is no double precision
    bytes_of_tile = tiles.size * (d + 1) * (4 if kind == xp.float32 else 8)
    room = _CACHE
    if device.is_gpu:
        of_number = 4 if X.dtype == xp.float32 else 8
        room = max(_LEAST_BYTES, int(_SHARE * X.shape[0] * d * of_number))
    for i, some in enumerate(blocks(len(tiles.start), max(1, room // bytes_of_tile))):
        known = of_tiles[0, some], of_tiles[1, some], of_tiles[2, some]
        z = _gathered(device, X, tiles, *known, centre, roots)
        products = xp.matmul(xp.matrix_transpose(z), z)
        flat = xp.reshape(products, (-1, (d + 1) ** 2))
        marks = device.astype(known[2][None, :] == numbers[:, None], device.floats)
        found = xp.matmul(marks, device.astype(flat, device.floats))
        found = to_host(found).astype(np.float64) if on_host else found
        sums = found if i == 0 else sums + found
        del z  # before the next is made
    total = to_host(sums).astype(np.float64)
    if not len(tiles.start):  # no row counts
        return np.zeros((n_classes, d + 1, d + 1))
    return total.reshape(n_classes, d + 1, d + 1)


def _gathered(
    device: Device,
    X: Any,
    tiles: Tiles,
    first: Any,
    n_rows: Any,
    classes: Any,
    origin: Any,
    roots: Any,
) -> Any:
    """Return some tiles of centred rows: an array of shape (n_tiles, size, d + 1).

    A tile has its rows less the origin of its class, then zeros. The last column has
    ones for its rows, or the roots of their weights, which rows are multiplied with.
    """
    xp, d = device.xp, X.shape[1]
    steps = xp.arange(tiles.size, dtype=xp.int64, device=device.device)
    place = xp.minimum(first[:, None] + steps, (first + n_rows - 1)[:, None])
    rows = xp.take(tiles.order, xp.reshape(place, (-1,)))
    z = device.astype(xp.take(X, rows, axis=0), origin.dtype)
    centre = xp.take(origin, classes, axis=0)[:, None, :]
    z = xp.reshape(z, (-1, tiles.size, d)) - centre
    there = steps < n_rows[:, None]
    factor = device.astype(there, z.dtype)
    if roots is not None:
        factor = factor * xp.reshape(xp.take(roots, rows), factor.shape)
        z = z * factor[:, :, None]
    elif not bool(xp.all(n_rows == tiles.size)):
        z = xp.where(there[:, :, None], z, xp.zeros_like(z))
    return xp.concat([z, factor[:, :, None]], axis=2)


def _lost(xp: Any, X: Any, codes: Any, weight: Any, tiny: Mask) -> int:
    """Return a feature that varies though its sums of squares are tiny, or -1."""
    for j in np.flatnonzero(tiny.any(axis=0)).tolist():
        column = X[:, j]
        for k in np.flatnonzero(tiny[:, j]).tolist():
            own = codes == k
            mine = column[own if weight is None else own & (weight > 0)]
            if bool(xp.any(mine != mine[0])):
                return j
    return -1
