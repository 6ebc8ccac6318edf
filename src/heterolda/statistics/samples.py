"""Random samples of the rows of each class, drawn by number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from heterolda.foundations.arrays import (
    Array,
    Index,
    dense,
    device_of,
    put_like,
    to_host,
    xp_of,
)
from heterolda.foundations.draws import sample_of, smallest
from heterolda.foundations.validation import encode
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.rows import Rows, frequency_factor

# Rows of each class in a sample, and rows of all classes together, in proportion.
MAX_ROWS, MAX_SAMPLE_ROWS = 1000, 20_000
# Rows of all classes together for fits that need rows.
MANY_ROWS = 100_000


def drawn_rows(rows: Rows, random_state: Any = 0) -> Index:
    """Return the numbers of at most `MAX_ROWS` rows of each class."""
    return sample_of(rows.drawn_codes, MAX_ROWS, random_state)


def rows_by_class(rows: Rows, random_state: Any = 0) -> tuple[Index, Index]:
    """Return the numbers of rows drawn of each class, sorted by class, and bounds."""
    order, bounds = rows.by_class
    if np.diff(bounds).max(initial=0) > MAX_ROWS:
        order = drawn_rows(rows, random_state)
        order = order[np.argsort(rows.codes[order], kind="stable")]
        bounds = np.searchsorted(rows.codes[order], np.arange(len(rows.classes) + 1))
    return order, bounds


def sampled(rows: Rows, random_state: Any = 0) -> Rows:
    """Return dense rows, with weight zero for those beyond `MAX_ROWS` of a class."""
    order, bounds = rows.by_class
    if np.diff(bounds).max(initial=0) > MAX_ROWS:
        order = drawn_rows(rows, random_state)
        # Set other weights to zero, which is faster than copying rows.
        weights = np.zeros(len(rows.codes))
        weights[order] = rows.frequencies[order]
        rows = replace(rows, weights=weights)
    if issparse(rows.X):
        rows = rows.take(order)
        rows = replace(rows, X=dense(rows.X))
    return rows


@dataclass(frozen=True, eq=False)
class RowSample:
    """Rows with the smallest keys, of each class and of all classes; they add up."""

    X: Array
    y: NDArray[Any]  # labels
    weight: Array
    keys: Array  # random, uniform in [0, 1)
    folds: Index  # zero if there are none
    n_rows: int  # number of rows of positive weight from which the sample was drawn
    n_together: int  # maximum number of rows of all classes together, in proportion
    held_by: Any = None  # as of `Rows`

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: NDArray[Any],
        sample_weight: Array | None,
        keys: Array,
        folds: Index | None = None,
        n_together: int | None = None,
        held_by: Any = None,
    ) -> RowSample:
        """Sample rows of positive weight."""
        n = MAX_SAMPLE_ROWS if n_together is None else n_together
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        positive = np.flatnonzero(weight > 0)
        index = positive[_in_sample(y[positive], keys[positive], n)]
        if device_of(X) is None:
            rows = dense(X[index]).astype(np.float64, copy=False)
        else:
            rows = to_host(xp_of(X).take(X, put_like(index, X), axis=0))
        folds = np.zeros(len(y), np.intp) if folds is None else folds
        held_by = None if held_by is None else held_by[index]
        rest = weight[index], keys[index], folds[index], len(positive), n, held_by
        return cls(rows, y[index], *rest)

    @classmethod
    def joined(cls, parts: Sequence[RowSample]) -> RowSample:
        """Join samples of different rows."""
        names = ["X", "y", "weight", "keys", "folds"]
        names += [] if parts[0].held_by is None else ["held_by"]
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in names
        }
        n_rows = sum(part.n_rows for part in parts)
        whole = replace(parts[0], **columns, n_rows=n_rows)
        return whole.take(_in_sample(whole.y, whole.keys, whole.n_together))

    def __add__(self, other: RowSample) -> RowSample:
        return self.joined([self, other])

    def take(self, index: Any) -> RowSample:
        """Return the rows selected by a mask or indices."""
        weight, keys, folds = self.weight[index], self.keys[index], self.folds[index]
        held_by = None if self.held_by is None else self.held_by[index]
        rest = weight, keys, folds, self.n_rows, self.n_together, held_by
        return RowSample(self.X[index], self.y[index], *rest)

    def rows(self, classes: NDArray[Any]) -> Rows:
        """Return the rows drawn of each class as `Rows` with these classes."""
        return self.take(_in_sample(self.y, self.keys, 0)).as_rows(classes)

    def as_rows(self, classes: NDArray[Any] | None = None) -> Rows:
        """Return all rows as `Rows`, with their own classes or those given."""
        classes = np.unique(self.y) if classes is None else classes
        weights = None if (self.weight == 1).all() else self.weight
        codes = encode(self.y, classes)
        return Rows(self.X, codes, weights, classes, self.held_by)

    def in_proportion(self) -> RowSample:
        """Return up to `n_together` rows of all classes in proportion."""
        return self.take(smallest(self.keys, self.n_together))


def as_frequencies(
    statistics: ClassStatistics, sample: RowSample
) -> tuple[ClassStatistics, RowSample]:
    """Scale weights like `check_frequencies`, for rows that are not in memory."""
    factor = frequency_factor(float(statistics.weights.sum()), sample.n_rows)
    if factor == 1:
        return statistics, sample
    weight = sample.weight * factor
    return statistics.scaled(factor), replace(sample, weight=weight)


def _in_sample(y: NDArray[Any], keys: Array, n_together: int) -> Index:
    """Return sorted indices of the smallest keys, of all rows or of their class."""
    codes = np.unique(y, return_inverse=True)[1]
    mask = np.zeros(len(y), bool)
    mask[smallest(keys, n_together)] = True
    order = codes.argsort(kind="stable")
    for part in np.split(order, np.bincount(codes).cumsum()[:-1]):
        mask[part[smallest(keys[part], MAX_ROWS)]] = True
    return np.flatnonzero(mask)
