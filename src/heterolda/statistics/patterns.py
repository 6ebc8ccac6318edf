"""Rows with gaps, in the order of their classes and of the patterns of their gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.types import Array, Index, Mask
from heterolda.statistics.moments import check_range, compressed, factor_of

# Numbers of the matrices that are worked on at a time, at most.
_BLOCK_SIZE = 1 << 21
# Up to so many rows for each feature their factor is found without their scatter.
_FEW = 10


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
        rows already.
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
        Where the rows were; -1 after a merger or in place of other rows.
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
        there = ~np.isnan(X)
        kept = there.any(axis=1)
        blank = np.bincount(
            codes[~kept], None if weight is None else weight[~kept], n_classes
        )
        if weight is not None:
            kept &= weight > 0
        rows = np.flatnonzero(kept)
        order, first = _sorted(there[rows], codes[rows])
        rows = rows[order]
        values = X[rows].astype(np.float64)
        np.nan_to_num(values, copy=False, nan=0.0)
        w = np.ones(len(rows)) if weight is None else weight[rows]
        return cls(
            values,
            w,
            np.ones(len(rows)),
            np.append(first, len(rows)),
            there[rows[first]],
            codes[rows[first]].astype(np.intp),
            np.add.reduceat(w, first) if len(first) else np.zeros(0),
            blank.astype(np.float64),
            rows,
        )

    @classmethod
    def from_moments(
        cls, weights: Array, means: Array, factors: Sequence[Array], n_classes: int
    ) -> GapRows:
        """Rows without gaps that have these moments: means, and factors of scatters."""
        classes = np.flatnonzero(weights)
        few = [factors[k] for k in classes.tolist()]
        counts = np.array([1 + len(factor) for factor in few], np.intp)
        bounds = np.append(0, np.cumsum(counts))
        located = np.zeros(bounds[-1])
        located[bounds[:-1]] = 1.0
        weight = np.ones(bounds[-1])
        weight[bounds[:-1]] = weights[classes]
        X = np.empty((bounds[-1], means.shape[1]))
        X[located > 0] = means[classes]
        X[located == 0] = np.concatenate([X[:0], *few])
        return cls(
            X,
            weight,
            located,
            bounds,
            np.ones((len(classes), X.shape[1]), bool),
            classes,
            weights[classes],
            np.zeros(n_classes),
            np.full(bounds[-1], -1),
        )

    @classmethod
    def merged(cls, parts: Sequence[GapRows]) -> GapRows:
        """All rows of several parts, of which later ones may have more classes."""
        blank = np.zeros(max(len(part.blank) for part in parts))
        for part in parts:
            blank[: len(part.blank)] += part.blank
        codes = np.concatenate([part.row_codes for part in parts])
        there = np.concatenate([part.row_observed for part in parts])
        order, first = _sorted(there, codes)
        weight = np.concatenate([part.weight for part in parts])[order]
        located = np.concatenate([part.located for part in parts])[order]
        totals = np.add.reduceat(weight * located, first) if len(first) else weight
        return cls(
            np.concatenate([part.X for part in parts])[order],
            weight,
            located,
            np.append(first, len(order)),
            there[order[first]],
            codes[order[first]],
            totals,
            blank,
            np.full(len(order), -1),
        )

    def compacted(self) -> GapRows:
        """Rows with the same sums, no more than twice as many as a pattern needs.

        Many rows of a pattern become their mean and a factor of their scatter.
        """
        counts = np.diff(self.bounds)
        many = counts > 2 * (self.observed.sum(axis=1) + 1)
        if not many.any():
            return self
        groups = [self._compact_group(k) for k in np.flatnonzero(many).tolist()]
        sizes = counts.copy()
        sizes[many] = [len(group[0]) for group in groups]
        bounds = np.append(0, np.cumsum(sizes))
        old, new = (~np.repeat(many, n) for n in (counts, sizes))
        X = np.empty((bounds[-1], self.X.shape[1]))
        weight, located = np.ones(len(X)), np.zeros(len(X))
        X[new], weight[new] = self.X[old], self.weight[old]
        located[new] = self.located[old]
        parts = zip(*groups, strict=True)
        for whole, part in zip((X, weight, located), parts, strict=True):
            whole[~new] = np.concatenate(part)
        places = np.full(len(X), -1)
        return replace(
            self, X=X, weight=weight, located=located, bounds=bounds, places=places
        )

    def _compact_group(self, k: int) -> tuple[Array, Array, Array]:
        """The mean of the rows of a pattern, and a factor of their scatter.

        Or the rows that differ, if these are no more. Then come weights and `located`.
        """
        rows = slice(self.bounds[k], self.bounds[k + 1])
        located = self.located[rows, None]
        weight = self.weight[rows, None]
        # Centred on a row first, constant columns become zero.
        mean = self.X[rows][located[:, 0].argmax()].copy()
        z = self.X[rows] - located * mean
        with np.errstate(over="ignore", invalid="ignore"):
            shift = (weight * located * z).sum(axis=0) / self.totals[k]
            mean += shift
            z = (z - located * shift) * np.sqrt(weight)
            check_range(np.einsum("ij,ij->j", z, z), np.zeros(len(mean), bool))
        few = len(z) <= _FEW * z.shape[1]
        factor = compressed(z) if few else factor_of(z.T @ z)
        if len(factor) < self.observed[k].sum() and located.all():
            distinct, which = np.unique(self.X[rows], axis=0, return_inverse=True)
            if len(distinct) <= len(factor) + 1:
                total: Array = np.zeros(len(distinct))
                np.add.at(total, which.ravel(), weight[:, 0])
                return distinct, total, np.ones(len(distinct))
        weights, first = np.ones(len(factor) + 1), np.zeros(len(factor) + 1)
        weights[0], first[0] = self.totals[k], 1.0
        return np.concatenate([mean[None], factor]), weights, first

    def scaled(self, factor: float) -> GapRows:
        """The same rows with all weights multiplied by a factor."""
        weight, totals = self.weight * factor, self.totals * factor
        return replace(self, weight=weight, totals=totals, blank=self.blank * factor)

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


def _sorted(there: Mask, codes: Index) -> tuple[Index, Index]:
    """Order of rows by class and pattern, and where in it the patterns begin."""
    bits = np.packbits(there, axis=1)
    order = np.lexsort((*bits.T, codes))
    bits, codes = bits[order], codes[order]
    new = (np.diff(bits, axis=0) != 0).any(axis=1) | (np.diff(codes) != 0)
    return order, np.flatnonzero(np.append(True, new)[: len(order)])
