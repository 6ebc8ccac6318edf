"""A few rows of each class, the same ones whatever order and chunks they come in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from heterolda.foundations.sparse_rows import dense
from heterolda.foundations.types import Array, Index
from heterolda.foundations.validation import encode
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.labels import class_order
from heterolda.statistics.missing import filled
from heterolda.statistics.moments import total_moments
from heterolda.statistics.row_hashes import Hashes, row_hashes, smallest

# Distinct rows of a class that are kept: so many numbers for each pair that it is in,
# but no fewer rows than the least. Besides, so many rows of all classes in proportion.
_NUMBERS = 1 << 20
_LEAST = 500
IN_ALL = 20_000


def most_rows(n_features: int, n_classes: int) -> int:
    """Number of distinct rows of a class that a sample keeps."""
    return max(_LEAST, _NUMBERS // max(1, n_features * (n_classes - 1)))


def filled_rows(X: NDArray[Any], statistics: ClassStatistics) -> Array:
    """Return rows with missing values filled in, whatever their class."""
    known = statistics.means, statistics.scatters, statistics.weights
    return filled(X, *total_moments(*known))


@dataclass(frozen=True)
class ClassRows:
    """Rows of each class, no more than a sample keeps, gathered when asked for.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, n_features)
        Rows in memory; of those on a device a sample.
    y : ndarray of shape (n,)
        Their labels.
    weight : ndarray of shape (n,) or None
        Their weights.
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    codes : ndarray of int64 of shape (n,) or None, default=None
        Index of the class of each row, if that is known.
    """

    X: Any
    y: NDArray[Any]
    weight: Array | None
    classes: NDArray[Any]
    codes: Index | None = None

    def statistics_of(self, statistics: ClassStatistics) -> ClassStatistics:
        """Sums over these rows, if statistics of the same rows are none."""
        if statistics.estimated_by is None or not self.are_all_of(statistics):
            return statistics
        some = self.X, self.y, self.classes, self.weight
        return ClassStatistics.from_arrays(*some)

    def are_all_of(self, statistics: ClassStatistics) -> bool:
        """Whether statistics are of these rows, and of no more."""
        n = len(self.y) if self.weight is None else self.weight.sum()
        return bool(np.isclose(n, statistics.weights.sum()))

    @cached_property
    def _order(self) -> tuple[Index, Index]:
        """Indices of the rows class by class, and bounds of those of each class."""
        codes, n_classes = self.codes, len(self.classes)
        if codes is None:
            codes = encode(self.y, self.classes).astype(np.int64)
        order, bounds = class_order(codes, self.weight, n_classes)
        most = most_rows(self.X.shape[1], n_classes)
        sampled = not isinstance(self.X, np.ndarray) and not issparse(self.X)
        if sampled or len(order) <= most or np.diff(bounds).max() <= most:
            return order, bounds
        parts = np.split(order, bounds[1:-1])
        hashes = row_hashes(self.X)
        for k, rows in enumerate(parts):
            if len(rows) > most:
                parts[k] = rows[smallest(hashes[rows], most)]
        counts = [0, *map(len, parts)]
        return np.concatenate(parts), np.cumsum(counts, dtype=np.int64)

    @cached_property
    def arrays(self) -> tuple[NDArray[Any], Array | None, Index, Index]:
        """Rows, weights, indices of the rows class by class, and their bounds.

        Of sparse rows only those that the sample keeps are made dense.
        """
        order, bounds = self._order
        if not issparse(self.X):
            return self.X, self.weight, order, bounds
        weight = None if self.weight is None else self.weight[order]
        return dense(self.X[order]), weight, np.arange(len(order)), bounds

    @cached_property
    def totals(self) -> Array:
        """Total weight of the rows of each class."""
        order, bounds = self._order
        if self.weight is None:
            return np.diff(bounds).astype(np.float64)
        parts = np.split(self.weight[order], bounds[1:-1])
        return np.array([part.sum() for part in parts])

    def __getitem__(self, k: int) -> tuple[Array, Array | None]:
        """Rows and weights of class k."""
        X, weight, order, bounds = self.arrays
        rows = order[bounds[k] : bounds[k + 1]]
        some = X.take(rows, axis=0).astype(np.float64, copy=False)
        return some, None if weight is None else weight[rows]


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
    n_rows : int
        Number of rows of positive weight that there were to choose among.
    """

    X: Array
    y: NDArray[Any]
    weight: Array
    hashes: Hashes
    n_rows: int

    @classmethod
    def from_arrays(
        cls, X: Any, y: NDArray[Any], sample_weight: Array | None = None
    ) -> RowSample:
        """Choose among rows; those of weight zero do not count."""
        hashes = row_hashes(X)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        positive = np.flatnonzero(weight > 0)
        kept = positive[_kept(y[positive], hashes[positive], X.shape[1])]
        rows = dense(X[kept]).astype(np.float64, copy=False)
        some = cls(rows, y[kept], weight[kept], hashes[kept], len(positive))
        return some._without_copies()

    def __add__(self, other: RowSample) -> RowSample:
        both = RowSample(
            np.concatenate([self.X, other.X]),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.hashes, other.hashes]),
            self.n_rows + other.n_rows,
        )
        return both._take(_kept(both.y, both.hashes, both.X.shape[1]))._without_copies()

    def _take(self, rows: Any) -> RowSample:
        weight, hashes = self.weight[rows], self.hashes[rows]
        return RowSample(self.X[rows], self.y[rows], weight, hashes, self.n_rows)

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

    def by_class(self, classes: NDArray[Any]) -> ClassRows:
        """The rows of each class."""
        return ClassRows(self.X, self.y, self.weight, classes)

    def in_proportion(self) -> tuple[Array, NDArray[Any], Array]:
        """Rows, labels and weights of up to `IN_ALL` distinct rows of all classes."""
        few = self._take(slice(IN_ALL))
        return few.X, few.y, few.weight


def _kept(y: NDArray[Any], hashes: Hashes, n_features: int) -> NDArray[np.bool_]:
    """Which rows are among the smallest of their class, or of all.

    More classes may come with other rows: then fewer rows of each will do.
    """
    kept = smallest(hashes, IN_ALL)
    codes = np.unique(y, return_inverse=True)[1]
    counts = np.bincount(codes)
    most = most_rows(n_features, len(counts))
    order = codes.argsort(kind="stable")
    for rows in np.split(order, counts.cumsum()[:-1]):
        kept[rows] |= smallest(hashes[rows], most)
    return kept
