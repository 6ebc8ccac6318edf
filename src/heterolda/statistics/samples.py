"""Samples of the rows of each class that do not depend on order or chunks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from heterolda.foundations.arrays import Array, Index, Mask, dense
from heterolda.foundations.validation import encode
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.rows import Rows, frequency_factor

Hashes = NDArray[np.uint64]

# Values that a sample has of a class, divided by the number of its pairs; minimum
# number of distinct rows of a class; and rows of all classes together, in proportion.
_MAX_VALUES = 1 << 20
_MIN_ROWS = 500
MAX_SAMPLE_ROWS = 20_000
# Constants of the hash function, and the number of values hashed at a time.
_FACTORS = np.random.default_rng(1936).integers(2**63, size=4096, dtype=np.uint64)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_BLOCK = 1 << 16


def max_rows_per_class(n_features: int, n_classes: int) -> int:
    """Return the maximum number of distinct rows of a class in a sample."""
    return max(_MIN_ROWS, _MAX_VALUES // max(1, n_features * (n_classes - 1)))


def sampled(rows: Rows) -> Rows:
    """Return dense rows, with weight zero for those beyond `max_rows_per_class`."""
    order, bounds = rows.by_class
    max_rows = max_rows_per_class(rows.X.shape[1], len(rows.classes))
    if np.diff(bounds).max(initial=0) > max_rows:
        hashes = row_hashes(rows.X)
        parts = [
            part if len(part) <= max_rows else part[smallest(hashes[part], max_rows)]
            for part in np.split(order, bounds[1:-1])
        ]
        # Set other weights to zero, which is faster than copying rows.
        weights = np.zeros(len(rows.codes))
        order = np.concatenate(parts)
        weights[order] = rows.frequencies[order]
        rows = replace(rows, weights=weights)
    if issparse(rows.X):
        rows = rows.take(order)
        rows = replace(rows, X=dense(rows.X))
    return rows


def without_copies(rows: Rows) -> Rows:
    """Merge equal rows of a class into one row of their total weight."""
    index, weights = _merged(row_hashes(rows.X), rows.codes, rows.frequencies)
    if len(index) == len(rows.codes):
        return rows
    return replace(rows.take(index), weights=weights)


def _merged(hashes: Hashes, codes: Index, weights: Array) -> tuple[Index, Array]:
    """Return indices of distinct rows, sorted by hash, and their total weights."""
    order = np.lexsort((codes, hashes))
    new = (np.diff(hashes[order]) != 0) | (np.diff(codes[order]) != 0)
    first = np.flatnonzero(np.append(True, new)[: len(order)])
    totals = np.add.reduceat(weights[order], first) if len(first) else weights[:0]
    return order[first], totals


@dataclass(frozen=True, eq=False)
class RowSample:
    """Rows with the smallest hashes, of each class and of all classes together.

    The samples of two data sets add up to that of their union (``a + b``). Equal rows
    are one row with their total weight, so weight 3 means three copies.
    """

    X: Array
    y: NDArray[Any]  # labels
    weight: Array  # total weight of all copies of each row
    hashes: Hashes  # hashes of the rows, sorted
    n_rows: int  # number of rows of positive weight from which the sample was drawn

    @classmethod
    def from_arrays(
        cls, X: Any, y: NDArray[Any], sample_weight: Array | None = None
    ) -> RowSample:
        """Sample rows of positive weight."""
        hashes = row_hashes(X)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        positive = np.flatnonzero(weight > 0)
        index = positive[_in_sample(y[positive], hashes[positive], X.shape[1])]
        rows = dense(X[index]).astype(np.float64, copy=False)
        sample = cls(rows, y[index], weight[index], hashes[index], len(positive))
        return sample._without_copies()

    def __add__(self, other: RowSample) -> RowSample:
        both = RowSample(
            np.concatenate([self.X, other.X]),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.hashes, other.hashes]),
            self.n_rows + other.n_rows,
        )
        mask = _in_sample(both.y, both.hashes, both.X.shape[1])
        return both.take(mask)._without_copies()

    def take(self, index: Any) -> RowSample:
        """Return the rows selected by a mask, indices or a slice."""
        weight, hashes = self.weight[index], self.hashes[index]
        return RowSample(self.X[index], self.y[index], weight, hashes, self.n_rows)

    def _without_copies(self) -> RowSample:
        """Sort by hash, and merge copies into one row."""
        codes = np.unique(self.y, return_inverse=True)[1]
        index, weight = _merged(self.hashes, codes, self.weight)
        return replace(self.take(index), weight=weight)

    def rows(self, classes: NDArray[Any]) -> Rows:
        """Return the sample as `Rows` with these classes."""
        return Rows(self.X, encode(self.y, classes), self.weight, classes)

    def in_proportion(self) -> tuple[Array, NDArray[Any], Array]:
        """Return X, y and weights of up to `MAX_SAMPLE_ROWS` rows, in proportion."""
        sample = self.take(slice(MAX_SAMPLE_ROWS))
        return sample.X, sample.y, sample.weight


def as_frequencies(
    statistics: ClassStatistics, sample: RowSample
) -> tuple[ClassStatistics, RowSample]:
    """Scale weights like `check_frequencies`, for rows that are not in memory."""
    factor = frequency_factor(float(statistics.weights.sum()), sample.n_rows)
    if factor == 1:
        return statistics, sample
    weight = sample.weight * factor
    return statistics.scaled(factor), replace(sample, weight=weight)


def _in_sample(y: NDArray[Any], hashes: Hashes, n_features: int) -> Mask:
    """Return a mask of the rows with the smallest hashes, of all or of their class."""
    mask = smallest(hashes, MAX_SAMPLE_ROWS)
    codes = np.unique(y, return_inverse=True)[1]
    counts = np.bincount(codes)
    max_rows = max_rows_per_class(n_features, len(counts))
    order = codes.argsort(kind="stable")
    for part in np.split(order, counts.cumsum()[:-1]):
        mask[part] |= smallest(hashes[part], max_rows)
    return mask


def row_hashes(X: Any) -> Hashes:
    """Return uniform hashes of rows that depend on their values only."""
    n, d = X.shape
    factors = np.resize(_FACTORS, d) * np.uint64(2) + np.uint64(1)
    factors += np.arange(d, dtype=np.uint64) // np.uint64(4096) * np.uint64(2)
    if issparse(X):
        X = X.copy()
        X.sum_duplicates()
        bits = _bits(X.data.astype(np.float64, copy=False))  # 0.0 has no bit set
        return _mixed(csr_array((bits, X.indices, X.indptr), X.shape) @ factors)
    hashes = np.empty(n, np.uint64)
    step = max(1, _BLOCK // max(d, 1))
    for start in range(0, n, step):
        block = slice(start, start + step)
        bits = _bits(X[block].astype(np.float64, copy=False))
        hashes[block] = _mixed(bits @ factors)
    return hashes


def _bits(numbers: Array) -> Hashes:
    """Return the bits of numbers, with high bits mixed into the low ones."""
    # Adding zero turns -0.0 into 0.0.
    bits = np.add(numbers, 0.0, order="C").view(np.uint64)
    bits ^= bits >> _HALF
    return bits


def _mixed(sums: Hashes) -> Hashes:
    """Mix the bits of sums in place, so that they are uniformly distributed."""
    sums ^= sums >> _HALF
    sums *= _MIX
    sums ^= sums >> _HALF
    return sums


def fold_of(hashes: Hashes, n_folds: int) -> Index:
    """Return the fold of each row; equal rows are in the same fold."""
    return (hashes % np.uint64(n_folds)).astype(np.intp)


def smallest(hashes: Hashes, n: int) -> Mask:
    """Return a mask of the n smallest distinct hashes and their copies."""
    ordered = np.sort(hashes)  # thirty times as fast as np.unique
    is_new = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    return np.asarray(hashes <= ordered[is_new][:n][-1:])
