"""A few rows of each class, the same ones whatever order and chunks they come in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.types import Array, Index

Hashes = NDArray[np.uint64]

# Distinct rows that are kept: so many of each class, and besides so many of all, which
# come in the proportions of the classes.
PER_CLASS = 2000
IN_ALL = 20_000

_FACTORS = np.random.default_rng(1936).integers(2**63, size=4096, dtype=np.uint64)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_BLOCK = 1 << 16  # numbers that are hashed at a time


def row_hashes(X: NDArray[Any], rows: Index | None = None) -> Hashes:
    """A number for each row, or each of some, that depends on its values only.

    Numbers are evenly spread. Equal rows have equal ones, whatever the type of the
    floats that hold them.
    """
    n, d = len(X) if rows is None else len(rows), X.shape[1]
    factors = np.resize(_FACTORS, d) * np.uint64(2) + np.uint64(1)
    factors += np.arange(d, dtype=np.uint64) // np.uint64(4096) * np.uint64(2)
    result = np.empty(n, np.uint64)
    step = max(1, _BLOCK // max(d, 1))
    for start in range(0, n, step):
        # Adding zero makes one number of 0.0 and -0.0.
        here = slice(start, start + step)
        block = X[here] if rows is None else X[rows[here]]
        bits = np.add(np.asarray(block, np.float64), 0.0, order="C").view(np.uint64)
        bits ^= bits >> _HALF  # the low bits of round numbers are all zeros
        result[here] = bits @ factors
    result ^= result >> _HALF
    result *= _MIX
    result ^= result >> _HALF
    return result


def smallest(hashes: Hashes, most: int) -> NDArray[np.bool_]:
    """Which hashes are among so many smallest distinct ones."""
    if len(hashes) <= most:
        return np.ones(len(hashes), np.bool_)
    share = 2 * most / len(hashes)  # enough if there are few copies
    low = hashes[:0]
    while len(low) < most and share < 1:
        low = np.unique(hashes[hashes < np.uint64(share * 2.0**64)])
        share *= 4
    if len(low) < most:
        low = np.unique(hashes)
    limit = low[min(most, len(low)) - 1]
    return np.asarray(hashes <= limit)


def rows_of_class(
    X: NDArray[Any], rows: Index, sample_weight: Array | None
) -> tuple[Array, Array | None]:
    """The rows of a class, given by their indices, that a sample would keep of it."""
    if sample_weight is not None:
        rows = rows[sample_weight[rows] > 0]
    if len(rows) > PER_CLASS:
        rows = rows[smallest(row_hashes(X, rows), PER_CLASS)]
    weight = None if sample_weight is None else sample_weight[rows]
    return X[rows].astype(np.float64, copy=False), weight


@dataclass(frozen=True)
class RowSample:
    """The rows with the smallest hashes, of each class and of all together.

    The samples of two data sets add up to that of their union (``a + b``). Copies of a
    row count as one row of their total weight, so weight 3 is three copies.

    Attributes
    ----------
    X : ndarray of shape (n, n_features)
        The rows.
    y : ndarray of shape (n,)
        Their labels.
    weight : ndarray of shape (n,)
        Total weights of all copies.
    hashes : ndarray of shape (n,)
        What the rows were chosen by; they are sorted.
    """

    X: Array
    y: NDArray[Any]
    weight: Array
    hashes: Hashes

    @classmethod
    def from_arrays(
        cls, X: NDArray[Any], y: NDArray[Any], sample_weight: Array | None = None
    ) -> RowSample:
        """Choose among rows; those of weight zero do not count."""
        hashes = row_hashes(X)
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        kept = np.flatnonzero(weight > 0)
        kept = kept[_kept(y[kept], hashes[kept])]
        rows = X[kept].astype(np.float64, copy=False)
        return cls(rows, y[kept], weight[kept], hashes[kept])._without_copies()

    def __add__(self, other: RowSample) -> RowSample:
        both = RowSample(
            np.concatenate([self.X, other.X]),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.hashes, other.hashes]),
        )
        return both._take(_kept(both.y, both.hashes))._without_copies()

    def _take(self, rows: Any) -> RowSample:
        return RowSample(
            self.X[rows], self.y[rows], self.weight[rows], self.hashes[rows]
        )

    def _without_copies(self) -> RowSample:
        """Sorted by hash, and copies merged into one row."""
        codes = np.unique(self.y, return_inverse=True)[1]
        order = np.lexsort((codes, self.hashes))
        new = np.diff(self.hashes[order]) != 0
        new |= np.diff(codes[order]) != 0
        first = np.flatnonzero(np.append(True, new)[: len(order)])
        kept = self._take(order[first])
        if not len(first):
            return kept
        return replace(kept, weight=np.add.reduceat(self.weight[order], first))

    def by_class(self, classes: NDArray[Any]) -> list[tuple[Array, Array | None]]:
        """Rows and weights of each class, no more than `PER_CLASS` distinct ones."""
        found: list[tuple[Array, Array | None]] = []
        for label in classes:
            rows = np.flatnonzero(self.y == label)[:PER_CLASS]
            found.append((self.X[rows], self.weight[rows]))
        return found

    def in_proportion(self) -> tuple[Array, NDArray[Any], Array]:
        """Rows, labels and weights of up to `IN_ALL` distinct rows of all classes."""
        few = self._take(slice(IN_ALL))
        return few.X, few.y, few.weight


def _kept(y: NDArray[Any], hashes: Hashes) -> NDArray[np.bool_]:
    """Which rows are among the smallest of their class, or of all."""
    kept = smallest(hashes, IN_ALL)
    codes = np.unique(y, return_inverse=True)[1]
    order = codes.argsort(kind="stable")
    for rows in np.split(order, np.bincount(codes).cumsum()[:-1]):
        kept[rows] |= smallest(hashes[rows], PER_CLASS)
    return kept
