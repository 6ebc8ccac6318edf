"""Weights, means and centred scatters of classes, where the rows are.

Rows are sorted by class within chunks, gathered in tiles of rows of one class, centred,
and multiplied: one product z'z for each tile, all of a chunk at once. A column of ones
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

from heterolda.foundations.devices import Device, blocks, device_of, to_host
from heterolda.foundations.types import Array, Index
from heterolda.kernels.class_moments import SMALLEST_SQUARE, ClassMoments
from heterolda.kernels.device.fused import gather_tiles

# Share of the bytes of X that are gathered at a time on a GPU, which needs much to do,
# but no fewer bytes than these; elsewhere, what stays in cache.
_SHARE, _LEAST_BYTES, _CACHE = 0.1, 1 << 26, 1 << 20
# Rows of a tile, at most and at least; and tiles that a class should fill in a chunk.
_MOST, _LEAST, _TILES = 1024, 16, 8
# Rows of a class, an odd number of them, whose median is its origin.
_SAMPLE = 129
# Numbers whose squares have digits enough in single precision are between these.
_SMALL, _LARGE = 1e-12, 1e12
# If the mean is farther than this from the origin, in deviations, digits are lost.
_FAR = 1e3


@dataclass(frozen=True)
class Tiles:
    """Which rows are in which tiles; tiles come chunk after chunk.

    Attributes
    ----------
    order : array of shape (n,)
        Rows by chunk, then by class, on the device; those that do not count are last in
        their chunk.
    start, n_rows, classes : ndarray of shape (n_tiles,)
        Where the rows of a tile begin in `order`, how many there are, and their class.
    bounds : ndarray of shape (n_chunks + 1,)
        Tiles of each chunk.
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

    `codes` has the class of each row; rows of weight zero do not count. What overflows
    becomes infinite or NaN, and so do the moments of what is not finite.
    """
    device = device_of(X, always=True)
    xp, (n, d) = device.xp, X.shape
    if not n:
        zeros = np.zeros(n_classes), np.zeros((n_classes, d))
        return ClassMoments(*zeros, np.zeros((n_classes, d, d)), -1)
    codes = device.take(codes)
    if weight is not None:
        weight = device.take(weight, device.floats)
    tiles = _tiles(device, X, codes, weight, n_classes)
    origin, spread, most = _sample(device, X, tiles, n_classes)
    single = X.dtype == xp.float32 and weight is None  # whose roots are rounded
    single = single and spread > _SMALL and most < _LARGE
    kind = xp.float32 if single else device.floats
    for _ in range(3):
        sums = _sums(device, X, weight, tiles, origin, kind)
        counts, linear, products = sums[:, d, d], sums[:, :d, d], sums[:, :d, :d]
        total = np.where(counts > 0, counts, 1.0)[:, None]
        with np.errstate(all="ignore"):
            shift = linear / total
            squares = np.einsum("kjj->kj", products)
            far = total * shift**2 > _FAR**2 * (squares - total * shift**2)
            moved = np.where(far & (shift != 0) & np.isfinite(shift), shift, 0.0)
        if kind == xp.float32 and not np.isfinite(squares).all():
            kind = device.floats  # whose range is larger
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
    return ClassMoments(counts, means, scatters, _lost(xp, X, codes, squares, counts))


def _tiles(device: Device, X: Any, codes: Any, weight: Any, n_classes: int) -> Tiles:
    """Sort rows by class within chunks, and lay them out in tiles."""
    xp, (n, d) = device.xp, X.shape
    room = _CACHE
    if device.is_gpu:
        room = max(
            _LEAST_BYTES, int(_SHARE * n * d * (4 + 4 * (X.dtype != xp.float32)))
        )
    length = min(n, max(256, room // (8 * d), 2 * n_classes))
    size = 1 << int(np.log2(max(1, length / (_TILES * n_classes))))
    size = max(_LEAST, min(size, _MOST))
    kind = xp.uint8 if n_classes < 255 else xp.int32
    ends = xp.arange(n_classes, dtype=kind, device=device.device)
    orders, lasts, chunks = [], [], blocks(n, length)
    for chunk in chunks:
        key = device.astype(codes[chunk], kind)
        if weight is not None:
            key = xp.where(weight[chunk] > 0, key, key * 0 + n_classes)
        order = xp.argsort(key, stable=True)
        lasts.append(xp.searchsorted(xp.take(key, order), ends, side="right"))
        orders.append(device.astype(order, xp.int32) + chunk.start)
    last = to_host(xp.stack(lasts)).astype(np.int64)
    counts = np.diff(last, prepend=0)
    first = last - counts + np.array([[chunk.start] for chunk in chunks])

    full, rest = np.divmod(counts, size)
    n_tiles = (full + (rest > 0)).ravel()
    within = np.arange(n_tiles.sum()) - np.repeat(np.cumsum(n_tiles) - n_tiles, n_tiles)
    start = np.repeat(first.ravel(), n_tiles) + within * size
    n_rows = np.minimum(size, np.repeat((first + counts).ravel(), n_tiles) - start)
    classes = np.tile(np.arange(n_classes), len(chunks)).repeat(n_tiles)
    bounds = np.append(0, n_tiles.reshape(counts.shape).sum(axis=1).cumsum())
    order = orders[0] if len(orders) == 1 else xp.concat(orders)
    return Tiles(order, start, n_rows, classes, bounds, size)


def _sample(
    device: Device, X: Any, tiles: Tiles, n_classes: int
) -> tuple[Array, float, float]:
    """Medians of features, from rows that are spread over all of a class.

    Besides the least quartile range that is not zero, and the largest number.
    """
    xp, d = device.xp, X.shape[1]
    n = min(_SAMPLE, max(9, (1 << 16) // n_classes) | 1)
    chosen = np.zeros((n_classes, n), np.int64)
    by_class = np.argsort(tiles.classes, kind="stable")
    bounds = np.searchsorted(tiles.classes[by_class], np.arange(n_classes + 1))
    for k, mine in enumerate(np.split(by_class, bounds[1:-1])):
        if len(mine):
            ends = np.cumsum(tiles.n_rows[mine])
            rank = np.arange(n) * int(ends[-1]) // n
            tile = np.searchsorted(ends, rank, side="right")
            within = rank - (ends - tiles.n_rows[mine])[tile]
            chosen[k] = tiles.start[mine][tile] + within
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
    first, n_rows = device.put(tiles.start), device.put(tiles.n_rows)
    classes, centre = device.put(tiles.classes), device.put(origin, kind)
    roots = None if weight is None else device.astype(xp.sqrt(weight), kind)
    numbers = xp.arange(n_classes, dtype=xp.int64, device=device.device)
    sums: Any = 0.0
    on_host = device.floats == xp.float32  # where there is no double precision
    for low, high in zip(
        tiles.bounds[:-1].tolist(), tiles.bounds[1:].tolist(), strict=True
    ):
        if low == high:
            continue
        chunk = slice(low, high)
        some = first[chunk], n_rows[chunk], classes[chunk]
        z = gather_tiles(device, X, tiles.order, tiles.size, *some, centre, roots)
        products = xp.matmul(xp.matrix_transpose(z), z)
        width = products.shape[1]
        flat = device.astype(xp.reshape(products, (-1, width**2)), device.floats)
        marks = device.astype(classes[None, chunk] == numbers[:, None], device.floats)
        found = xp.matmul(marks, flat)
        sums = sums + (to_host(found).astype(np.float64) if on_host else found)
    if isinstance(sums, float):  # no row counts
        return np.zeros((n_classes, d + 1, d + 1))
    found = to_host(sums).astype(np.float64).reshape(n_classes, width, width)
    return found[:, : d + 1, : d + 1]


def _lost(xp: Any, X: Any, codes: Any, squares: Array, counts: Array) -> int:
    """A feature that varies though sums of its squares are next to zero, or -1."""
    tiny = (squares < SMALLEST_SQUARE) & (counts[:, None] > 0)
    for j in np.flatnonzero(tiny.any(axis=0)).tolist():
        column = X[:, j]
        for k in np.flatnonzero(tiny[:, j]).tolist():
            mine = column[codes == k]
            if bool(xp.any(mine != mine[0])):
                return j
    return -1
