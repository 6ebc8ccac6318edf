"""Rows with gaps, in the order of their classes and of the patterns of their gaps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heterolda.exceptions import ParameterError, Setting
from heterolda.foundations.types import Array, Index, Mask
from heterolda.statistics.factors import is_wide

# Numbers of the matrices that are worked on at a time, at most.
_BLOCK_SIZE = 1 << 21


class SameSize(NamedTuple):
    """Patterns with the same number of gaps.

    Attributes
    ----------
    patterns : ndarray of int of shape (n,)
        Their places among all patterns.
    gaps : ndarray of int of shape (n, m)
        Features that are missing.
    rows : ndarray of int of shape (n_rows,)
        Rows of these patterns.
    of_row : ndarray of int of shape (n_rows,)
        Which of the n patterns a row has.
    """

    patterns: Index
    gaps: Index
    rows: Index
    of_row: Index


@dataclass(frozen=True)
class GapRows:
    """Rows of classes, those of one class and one pattern of gaps next to each other.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        The rows, zero where a value is missing.
    weight : ndarray of shape (n,)
        Their weights.
    located : ndarray of shape (n,)
        One for a row; zero for a row of a factor, which is a deviation from the mean of
        rows already and has weight one.
    bounds : ndarray of int of shape (n_patterns + 1,)
        Where the rows of each pattern begin.
    observed : ndarray of bool of shape (n_patterns, d)
        Features that are there.
    codes : ndarray of int of shape (n_patterns,)
        Class of each pattern.
    totals : ndarray of shape (n_patterns,)
        Total weight of the rows of each pattern.
    blank : ndarray of shape (n_classes,)
        Weight of the rows of each class without any value, which are not here.
    places : ndarray of int of shape (n,)
        Where the rows were.
    """

    X: Array
    weight: Array
    located: Array
    bounds: Index
    observed: Mask
    codes: Index
    totals: Array
    blank: Array
    places: Index

    @classmethod
    def from_arrays(
        cls, X: NDArray[Any], codes: Index, weight: Array | None, n_classes: int
    ) -> GapRows:
        """Sort rows; those of weight zero and those without any value are left out."""
        if is_wide(*X.shape):
            raise ParameterError(
                Setting("X"),
                f" has missing values and fewer rows ({len(X)}) than features "
                f"({X.shape[1]}), which say too little of what is missing: choose "
                "fewer features, or fill the values in",
            )
        there = ~np.isnan(X)
        kept = there.any(axis=1)
        blank = np.bincount(
            codes[~kept], None if weight is None else weight[~kept], n_classes
        )
        if weight is not None:
            kept &= weight > 0
        rows = np.flatnonzero(kept)
        bits = np.packbits(there[rows], axis=1)
        order = np.lexsort((*bits.T, codes[rows]))
        rows, bits = rows[order], bits[order]
        sorted_codes = codes[rows]
        new = (np.diff(bits, axis=0) != 0).any(axis=1) | (np.diff(sorted_codes) != 0)
        first = np.flatnonzero(np.append(True, new)[: len(rows)])
        values = X[rows].astype(np.float64)
        np.nan_to_num(values, copy=False, nan=0.0)
        w = np.ones(len(rows)) if weight is None else weight[rows]
        return cls(
            values,
            w,
            np.ones(len(rows)),
            np.append(first, len(rows)),
            there[rows[first]],
            sorted_codes[first].astype(np.intp),
            np.add.reduceat(w, first) if len(first) else np.zeros(0),
            blank.astype(np.float64),
            rows,
        )

    @cached_property
    def by_size(self) -> list[SameSize]:
        """The patterns with gaps, in blocks of the same number of gaps."""
        sizes = (~self.observed).sum(axis=1)
        counts = np.diff(self.bounds)
        blocks = []
        for size in np.unique(sizes[sizes > 0]).tolist():
            same = np.flatnonzero(sizes == size)
            # Matrices are gathered for each row.
            ends = np.cumsum(counts[same]) * size**2 // _BLOCK_SIZE
            for part in np.split(same, np.flatnonzero(np.diff(ends)) + 1):
                gaps = np.nonzero(~self.observed[part])[1].reshape(len(part), size)
                of_row = np.repeat(np.arange(len(part)), counts[part])
                start = np.cumsum(counts[part]) - counts[part]
                rows = np.arange(len(of_row)) + (self.bounds[part] - start)[of_row]
                blocks.append(SameSize(part, gaps, rows, of_row))
        return blocks

    def classes(self) -> list[slice]:
        """Where the rows of each class are."""
        ends = np.searchsorted(self.row_codes, np.arange(len(self.blank) + 1)).tolist()
        return [slice(*two) for two in pairwise(ends)]

    def in_units(self, origin: Array, scale: Array) -> GapRows:
        """The same rows with the origin subtracted, in units of a scale."""
        X = (self.X - origin * self.located[:, None]) / scale
        return replace(self, X=np.where(self.row_observed, X, 0.0))

    @cached_property
    def row_observed(self) -> Mask:
        """Features that each row has."""
        return np.repeat(self.observed, np.diff(self.bounds), axis=0)

    @cached_property
    def row_codes(self) -> Index:
        """Class of each row."""
        return np.repeat(self.codes, np.diff(self.bounds))
