"""The arrays that the compiled loops of the local search work on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.types import Array, Count, Mask

# Rows that are moved, evaluated or skipped together.
TILE = 256
# Rows are sorted by |M| into so many buckets.
N_BUCKETS = 512


class Block(NamedTuple):
    """Rows of data, and what is known of them at the current rule.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        The rows.
    first : ndarray of shape (n,)
        True for class 1.
    weight : ndarray of shape (n,) or (0,)
        Integer weights; empty if all are 1.
    keys : ndarray of shape (n, 2)
        Signed margin at the reference and y / c of each row, to sort by.
    rows : ndarray of shape (n_tiles, TILE)
        The rows in tiles, the last one filled up with zeros.
    scales, margins : ndarray of shape (n_tiles, TILE)
        y / c of these rows, and their signed margins at the rule that the tile was
        last moved to.
    free, single, tile_weight : ndarray of shape (n_buckets + 1,), (TILE,) and (TILE,)
        Next free position of each bucket; room for margins in single precision and for
        weights.
    tiles : ndarray of shape (n_tiles, d + 1, TILE)
        Terms z in single precision; one tile only if they are not kept.
    synced : ndarray of shape (n_tiles, d + 4)
        The rule that each tile was last moved to; P' + q, up to which it is skipped;
        q; and whether its terms are there yet.
    rules : ndarray of shape (4, d + 1)
        The reference, the rule of the last iteration, room for a neighbour, and r.
    counters : ndarray of shape (6,)
        L, whether there is a reference, rows touched in all, P, rows touched by the
        first iteration after the reference, and the sum of what later ones touched
        beyond that.
    """

    X: Array
    first: Mask
    weight: Count
    keys: Array
    rows: NDArray[np.int32]
    scales: Array
    margins: Array
    free: Count
    single: NDArray[np.float32]
    tile_weight: Count
    tiles: NDArray[np.float32]
    synced: Array
    rules: Array
    counters: Array


def make_block(X: Any, first: Any, weight: Any, keep: bool) -> Block:
    """Room for a block of rows, to be filled by the first iteration.

    With `keep` the terms, half the size of the data, are kept; else they are computed
    anew each time.
    """
    n, d = X.shape
    n_tiles = -(-n // TILE)
    tiles = np.empty((n_tiles if keep else 1, d + 1, TILE), dtype=np.float32)
    # Keys are needed only while there are no terms yet, and can share their memory.
    room = tiles.reshape(-1).view(np.float64)
    keys = room[: 2 * n].reshape(n, 2) if len(room) >= 2 * n else np.empty((n, 2))
    return Block(
        X,
        first,
        weight,
        keys=keys,
        rows=np.zeros((n_tiles, TILE), dtype=np.int32),
        scales=np.zeros((n_tiles, TILE)),
        margins=np.empty((n_tiles, TILE)),
        free=np.empty(N_BUCKETS + 1, dtype=np.int64),
        single=np.empty(TILE, dtype=np.float32),
        tile_weight=np.zeros(TILE, dtype=np.int64),
        tiles=tiles,
        synced=np.empty((n_tiles, d + 4)),
        rules=np.zeros((4, d + 1)),
        counters=np.zeros(6),
    )
