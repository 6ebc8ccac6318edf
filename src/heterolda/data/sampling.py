"""A sample of rows that come batch by batch, in little more time than hashing takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.arrays import Array, Index
from heterolda.statistics.samples import (
    IN_ALL,
    Hashes,
    RowSample,
    most_rows,
    row_hashes,
)

_ANY = np.iinfo(np.uint64).max


class SamplePool:
    """The sum of the samples of batches, which takes no row that cannot stay.

    Samples are added up only now and then: each sum goes through all of their rows.
    """

    def __init__(self) -> None:
        self._parts: list[RowSample] = []
        self._n_merged = 0
        # Hashes above which rows of a class have no place, by its number.
        self._limits: Hashes = np.zeros(0, np.uint64)

    def add(self, X: NDArray[Any], codes: Index, weight: Array | None) -> None:
        """Take the rows of a batch, with the numbers of their classes."""
        n_rows = len(X) if weight is None else int(np.count_nonzero(weight > 0))
        if len(self._limits):
            more = np.full(codes.max(initial=0) + 1, _ANY)
            more[: len(self._limits)] = self._limits[: len(more)]
            near = np.flatnonzero(row_hashes(X) <= more[codes])
            X, codes = X[near], codes[near]
            weight = None if weight is None else weight[near]
        some = RowSample.from_arrays(X, codes, weight)
        self._parts.append(replace(some, n_rows=n_rows))
        if sum(len(part.y) for part in self._parts) > 2 * self._n_merged:
            self._merge()

    def total(self) -> RowSample:
        """The sample of all batches."""
        self._merge()
        return self._parts[0]

    def _merge(self) -> None:
        """Add the samples up, and see what they leave room for."""
        while len(self._parts) > 1:  # two by two, so that few sums are of many rows
            half = zip(self._parts[::2], self._parts[1::2], strict=False)
            rest = self._parts[len(self._parts) // 2 * 2 :]
            self._parts = rest + [one + other for one, other in half]
        total = self._parts[0]
        self._n_merged = len(total.y)
        n_classes = int(total.y.max(initial=-1)) + 1
        most = most_rows(total.X.shape[1], n_classes)
        in_all = np.unique(total.hashes)[IN_ALL - 1 : IN_ALL]
        self._limits = np.full(n_classes, _ANY)
        for k in range(n_classes if len(in_all) else 0):
            mine = total.hashes[total.y == k][most - 1 : most]  # they are sorted
            if len(mine):
                self._limits[k] = max(mine[0], in_all[0])
