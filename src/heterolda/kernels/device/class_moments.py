"""Weights, means and centred scatters of classes, where the rows are.

Rows are sorted by class within chunks that stay in cache, gathered in tiles of rows of
one class, centred, and multiplied: one product z'z for each tile, all of a chunk at
once. Tiles are short, so that sums in single precision lose little, and what they give
is added up in double precision. The origin that is subtracted is the median of a few
rows of the class: it takes out any offset, and it is a value of the feature, so that a
constant one has a scatter of exactly zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from heterolda.foundations.devices import Device, to_host
from heterolda.foundations.types import Array, Index
from heterolda.kernels.class_moments import SMALLEST_SQUARE, ClassMoments

# Bytes of the rows that are gathered at a time: what stays in the cache of a GPU or of
# a processor.
_CHUNK_BYTES = {True: 1 << 25, False: 1 << 20}
# Rows of a tile, at most and at least; and tiles that a class should fill in a chunk.
_MOST, _LEAST, _TILES = 1024, 16, 8
# Rows of a class, an odd number of them, whose median is its origin.
_SAMPLE = 129
# An origin nearer to zero than this, in quartile ranges, is not worth a subtraction.
_NEAR = 1.0
# Numbers whose squares have digits enough in single precision are between these.
_SMALL, _LARGE = 1e-12, 1e12
# If the mean is farther than this from the origin, in deviations, digits are lost.
_FAR = 1e3


@dataclass(frozen=True)
class _Tiles:
    """Which rows are in which tiles; tiles come chunk after chunk.

    Attributes
    ----------
    order : array of shape (n,)
        Rows by chunk, then by class; those that do not count are not in any tile.
    start, n_rows, classes : ndarray of shape (n_tiles,)
        Where the rows of a tile begin in `order`, how many there are, and their class.
    bounds : ndarray of shape (n_chunks + 1,)
        Tiles of each chunk, and of these the first that is not full.
    partial : ndarray of shape (n_chunks,)
        The first tile of each chunk that is not full.
    size : int
        Rows of a full tile.
    """

    order: Any
    start: Index
    n_rows: Index
    classes: Index
    bounds: Index
    partial: Index
    size: int


def class_moments(
    device: Device, X: Any, codes: Any, weight: Any, n_classes: int
) -> ClassMoments:
    """Moments of classes of rows on a device, as NumPy arrays.

    `codes` has the class of each row; rows of weight zero do not count. What overflows
    becomes infinite or NaN, and so do the moments of what is not finite.
    """
    xp, (n, d) = device.xp, X.shape
    if not n:
        zeros = np.zeros(n_classes), np.zeros((n_classes, d))
        return ClassMoments(*zeros, np.zeros((n_classes, d, d)), -1)
    codes = device.take(codes, device.integers)
    if weight is not None:
        weight = device.take(weight, device.floats)
        codes = xp.where(weight > 0, codes, n_classes)
    tiles = _tiles(device, X, codes, n_classes)
    sample = _sample(device, X, tiles, n_classes)
    single = X.dtype == xp.float32 and _SMALL < sample.spread and sample.most < _LARGE
    kind = xp.float32 if single else device.floats
    origin = sample.origin
    for _ in range(3):
        sums = _sums(device, X, weight, tiles, origin, n_classes, kind)
        total = np.where(sums.total > 0, sums.total, 1.0)[:, None]
        with np.errstate(all="ignore"):
            shift = sums.linear / total
            squares = np.einsum("kjj->kj", sums.products)
            far = total * shift**2 > _FAR**2 * (squares - total * shift**2)
            moved = np.where(far & (shift != 0) & np.isfinite(shift), shift, 0.0)
        if kind == xp.float32 and not np.isfinite(squares).all():
            kind = device.floats  # whose range is larger
        elif not moved.any():
            break
        # Where sorted rows or outliers misled the sample.
        origin = (0.0 if origin is None else origin) + moved
    with np.errstate(all="ignore"):
        scatters = (
            sums.products - total[:, :, None] * shift[:, :, None] * shift[:, None]
        )
        scatters = 0.5 * (scatters + scatters.mT)
        negative = np.einsum("kjj->kj", scatters) < 0  # by rounding
    if negative.any():
        scatters[negative[:, :, None] | negative[:, None, :]] = 0.0
    means = shift + (0.0 if origin is None else origin)
    means = np.where(sums.total[:, None] > 0, means, 0.0)
    lost = _lost(device, X, codes, squares, means, sums.total)
    return ClassMoments(sums.total, means, scatters, lost)


def _tiles(device: Device, X: Any, codes: Any, n_classes: int) -> _Tiles:
    """Sort rows by class within chunks, and lay them out in tiles."""
    xp, (n, d) = device.xp, X.shape
    room = _CHUNK_BYTES[device.is_gpu] // (8 * d)
    length = min(n, max(256, room, 2 * n_classes))
    size = 1 << int(np.log2(max(1, length / (_TILES * n_classes))))
    size = max(_LEAST, min(size, _MOST))
    n_chunks, width = -(-n // length), n_classes + 1
    small = xp.uint8 if n_chunks == 1 and width < 256 else xp.int32
    key = device.astype(codes, small)
    if n_chunks > 1:
        rows = xp.arange(n, dtype=xp.int32, device=device.device)
        key = key + rows // length * width
    order = xp.argsort(key, stable=True)
    ends = xp.arange(n_chunks * width, dtype=xp.int64, device=device.device)
    key = device.astype(xp.take(key, order), xp.int64)
    last = to_host(xp.searchsorted(key, ends, side="right"))
    counts = np.diff(last, prepend=0).reshape(n_chunks, width)[:, :n_classes]
    first = (last - np.diff(last, prepend=0)).reshape(n_chunks, width)[:, :n_classes]

    # Full tiles of a chunk before those that are not, which are fewer.
    full, rest = np.divmod(counts, size)
    blocks = np.stack([full, (rest > 0).astype(full.dtype)], axis=1)
    n_tiles = blocks.ravel()
    begins = np.stack([first, first + full * size], axis=1).ravel()
    within = np.arange(n_tiles.sum()) - np.repeat(np.cumsum(n_tiles) - n_tiles, n_tiles)
    start = np.repeat(begins, n_tiles) + within * size
    n_rows = np.repeat(np.stack([np.full_like(rest, size), rest], 1).ravel(), n_tiles)
    classes = np.tile(np.arange(n_classes), 2 * n_chunks).repeat(n_tiles)
    edges = np.append(0, blocks.sum(axis=2).ravel().cumsum())
    return _Tiles(order, start, n_rows, classes, edges[::2], edges[1::2], size)


@dataclass(frozen=True)
class _Sample:
    """What a few rows of each class say.

    Attributes
    ----------
    origin : ndarray of shape (n_classes, d) or None
        Medians of the features; None if all are near zero.
    spread : float
        The least quartile range that is not zero.
    most : float
        The largest size of a number.
    """

    origin: Array | None
    spread: float
    most: float


def _sample(device: Device, X: Any, tiles: _Tiles, n_classes: int) -> _Sample:
    """Medians and quartiles of rows that are spread over all of a class."""
    xp, d = device.xp, X.shape[1]
    n = min(_SAMPLE, max(9, (1 << 16) // n_classes) | 1)
    places = np.zeros((n_classes, n), np.int64)
    by_class = np.argsort(tiles.classes, kind="stable")
    bounds = np.searchsorted(tiles.classes[by_class], np.arange(n_classes + 1))
    for k, mine in enumerate(np.split(by_class, bounds[1:-1])):
        if len(mine):
            ends = np.cumsum(tiles.n_rows[mine])
            rank = np.arange(n) * int(ends[-1]) // n
            tile = np.searchsorted(ends, rank, side="right")
            within = rank - (ends - tiles.n_rows[mine])[tile]
            places[k] = tiles.start[mine][tile] + within
    rows = xp.take(tiles.order, device.put(places.ravel()))
    some = device.astype(xp.take(X, rows, axis=0), device.floats)
    some = xp.sort(xp.reshape(some, (n_classes, n, d)), axis=1)
    quarters = xp.stack(
        [some[:, i, :] for i in (0, n // 4, n // 2, n - 1 - n // 4, -1)]
    )
    low, first, origin, third, high = to_host(quarters).astype(np.float64)
    with np.errstate(all="ignore"):
        spread = third - first
        near = np.abs(origin) <= _NEAR * spread
        most = float(np.maximum(np.abs(low), np.abs(high)).max())
    least = float(spread[spread > 0].min(initial=np.inf))
    origin = np.where(np.isfinite(origin), origin, 0.0)
    return _Sample(None if near.all() else origin, least, most)


@dataclass
class _Sums:
    """Sums over the rows of each class, as NumPy arrays; in words see `_sums`."""

    total: Array
    linear: Array
    products: Array


def _sums(
    device: Device,
    X: Any,
    weight: Any,
    tiles: _Tiles,
    origin: Array | None,
    n_classes: int,
    kind: Any,
) -> _Sums:
    """Total weights, and weighted sums of z and of z z' for z = x - origin."""
    xp, d, size = device.xp, X.shape[1], tiles.size
    steps = xp.arange(size, dtype=xp.int64, device=device.device)
    last = device.put(tiles.start + tiles.n_rows - 1)
    first, n_rows = device.put(tiles.start), device.put(tiles.n_rows)
    classes = device.put(tiles.classes)
    numbers = xp.arange(n_classes, dtype=xp.int64, device=device.device)
    centre = None if origin is None else device.put(origin, kind)
    roots = None if weight is None else device.astype(xp.sqrt(weight), kind)
    known = [
        np.zeros(n_classes),
        np.zeros((n_classes, d)),
        np.zeros((n_classes, d * d)),
    ]
    sums: list[Any] = known
    on_host = device.floats == xp.float32  # where there is no double precision
    if not on_host:
        sums = [device.put(one) for one in known]
    for low, partial, high in zip(
        tiles.bounds[:-1].tolist(),
        tiles.partial.tolist(),
        tiles.bounds[1:].tolist(),
        strict=True,
    ):
        if low == high:
            continue
        chunk = slice(low, high)
        place = first[chunk, None] + steps[None, :]
        if partial < high:
            place = xp.minimum(place, last[chunk, None])
        rows = xp.take(tiles.order, xp.reshape(place, (-1,)))
        z = device.astype(xp.take(X, rows, axis=0), kind)
        z = xp.reshape(z, (high - low, size, d))
        if centre is not None:
            z = z - xp.take(centre, classes[chunk], axis=0)[:, None, :]
        factor = None  # of each row
        if roots is not None:
            factor = xp.reshape(xp.take(roots, rows), (high - low, size))
        if partial < high:
            there = steps[None, :] < n_rows[partial:high, None]
            z, factor = _without_rest(device, z, factor, there, partial - low, kind)
        if factor is not None and roots is not None:
            z = z * factor[:, :, None]
            linear = xp.matmul(factor[:, None, :], z)[:, 0, :]
            total = xp.sum(factor * factor, axis=1)
        else:
            linear, total = xp.sum(z, axis=1), n_rows[chunk]
        products = xp.matmul(xp.matrix_transpose(z), z)
        marks = device.astype(classes[None, chunk] == numbers[:, None], device.floats)
        found = (
            xp.matmul(marks, device.astype(total, device.floats)),
            xp.matmul(marks, device.astype(linear, device.floats)),
            xp.matmul(
                marks, device.astype(xp.reshape(products, (-1, d * d)), device.floats)
            ),
        )
        for i, more in enumerate(found):
            sums[i] = sums[i] + (to_host(more).astype(np.float64) if on_host else more)
    total, linear, products = (to_host(one).astype(np.float64) for one in sums)
    return _Sums(total, linear, products.reshape(n_classes, d, d))


def _without_rest(
    device: Device, z: Any, factor: Any, there: Any, partial: int, kind: Any
) -> tuple[Any, Any]:
    """Zeros in the place of rows that only fill a tile up; `there` says which do not."""
    xp = device.xp
    there = device.astype(there, kind)
    if device.is_torch:  # in place, as tiles that are not full are few
        z[partial:] = xp.where(there[:, :, None] > 0, z[partial:], 0.0)
    else:
        rest = xp.where(
            there[:, :, None] > 0, z[partial:, ...], xp.zeros_like(z[partial:, ...])
        )
        z = xp.concat([z[:partial, ...], rest])
    if factor is not None:
        factor = xp.concat([factor[:partial, :], factor[partial:, :] * there])
    return z, factor


def _lost(
    device: Device, X: Any, codes: Any, squares: Array, means: Array, total: Array
) -> int:
    """A feature that varies though sums of its squares are next to zero, or -1."""
    tiny = (squares < SMALLEST_SQUARE) & (total[:, None] > 0)
    for j in np.flatnonzero(tiny.any(axis=0)).tolist():
        column = X[:, j]
        for k in np.flatnonzero(tiny[:, j]).tolist():
            mine = column[codes == k]
            if bool(device.xp.any(mine != mine[0])):
                return j
    return -1
