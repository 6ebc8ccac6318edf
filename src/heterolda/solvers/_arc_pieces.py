"""Pieces of arcs, and the lower bound of the error that they prove together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heterolda.foundations.types import Array, Index, Mask
from heterolda.solvers.arc import ArcPoints


@dataclass(frozen=True)
class Pieces:
    """Pieces of arcs with a proven lower bound of the error on each.

    Attributes
    ----------
    pair : ndarray of shape (m,)
        Which arc a piece belongs to.
    a, b : ArcPoints of length m
        Its ends, a before b.
    log_bound : ndarray of shape (m,)
        No rule on the piece has a log error below this.
    """

    pair: Index
    a: ArcPoints
    b: ArcPoints
    log_bound: Array

    def take(self, index: Index | Mask) -> Pieces:
        """Select pieces by index or mask."""
        index = np.arange(len(self.pair))[index]
        a, b = self.a.take(index), self.b.take(index)
        return Pieces(self.pair[index], a, b, self.log_bound[index])

    @staticmethod
    def concatenate(records: list[Pieces]) -> Pieces:
        """Join several records of pieces."""
        return Pieces(
            np.concatenate([one.pair for one in records]),
            ArcPoints.concatenate([one.a for one in records]),
            ArcPoints.concatenate([one.b for one in records]),
            np.concatenate([one.log_bound for one in records]),
        )


def proven_bound(pieces: Pieces, n_pairs: int) -> Array:
    """Lower bound of the log error on each arc: the least bound of its pieces.

    A ValueError says that no piece covers some point of an arc: then nothing is proven.
    """
    pair, a, b = pieces.pair, pieces.a.x, pieces.b.x
    if (pair[1:] < pair[:-1]).any() or (a[1:] < a[:-1])[pair[1:] == pair[:-1]].any():
        order = np.lexsort((b, a, pair))
        pair, a, b = pair[order], a[order], b[order]
    inner = pair[1:] == pair[:-1]
    holes = np.where(inner, a[1:] != b[:-1], (b[:-1] != np.inf) | (a[1:] != -np.inf))
    missing = np.bincount(pair, minlength=n_pairs) == 0
    if missing.any() or holes.any() or a[0] != -np.inf or b[-1] != np.inf:
        where = np.argmax(missing) if missing.any() else pair[np.argmax(holes)]
        raise ValueError(
            f"the pieces do not cover the arc of pair {where}: no bound is proven"
        )
    bound = np.full(n_pairs, np.inf)
    np.minimum.at(bound, pieces.pair, pieces.log_bound)
    return bound
