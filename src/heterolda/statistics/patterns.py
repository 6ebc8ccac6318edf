"""Rows with missing values, grouped by class and by pattern of missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.arrays import Array, Index, Mask

# Number of values in the matrices gathered for the rows of a block.
_BLOCK_SIZE = 1 << 21


class Block(NamedTuple):
    """Patterns with the same number m of missing values."""

    patterns: Index  # indices of the patterns, (n,)
    missing: Index  # missing features of each pattern, (n, m)
    rows: Index  # indices of the rows with these patterns
    of_row: Index  # which of the n patterns each of these rows has


@dataclass(frozen=True)
class IncompleteRows:
    """Rows grouped by class and by pattern of missing values.

    A row x of weight w is stored as ``sqrt(w) (1, x)``. EM needs only the sum of the
    outer products of the rows of a pattern, so the few rows of a triangular factor can
    replace many rows.
    """

    Z: Array  # rows, zero where a value is missing, (n, 1 + d)
    bounds: Index  # where the rows of each pattern begin, (n_patterns + 1,)
    observed: Mask  # observed features of each pattern, (n_patterns, d)
    codes: Index  # class of each pattern, sorted
    weights: Array  # total weight of each class, without rounding, (n_classes,)
    low: Array  # smallest value of each feature, or a lower bound, (n_classes, d)
    high: Array  # largest value, or an upper bound
    distinct: Array  # number of distinct complete rows, or any number above d + 1

    @classmethod
    def from_arrays(
        cls, X: NDArray[Any], codes: Index, weight: Array | None, n_classes: int
    ) -> IncompleteRows:
        """Group rows of positive weight."""
        order = np.argsort(codes, kind="stable")
        if weight is not None:
            order = order[weight[order] > 0]
        X, codes = X[order].astype(np.float64), codes[order]
        observed = ~np.isnan(X)
        w = np.ones(len(X)) if weight is None else weight[order]
        totals = np.bincount(codes, w, n_classes).astype(np.float64)
        low, high = np.empty((2, n_classes, X.shape[1]))
        distinct = np.empty(n_classes)
        for k, rows in enumerate(_class_slices(codes, n_classes)):
            low[k] = np.fmin.reduce(X[rows], axis=0, initial=np.inf)
            high[k] = np.fmax.reduce(X[rows], axis=0, initial=-np.inf)
            distinct[k] = _n_distinct(X[rows][observed[rows].all(axis=1)])
        Z = np.insert(np.where(observed, X, 0.0), 0, 1.0, axis=1)
        Z *= np.sqrt(w)[:, None]
        return cls._grouped(Z, observed, codes, totals, low, high, distinct)

    @classmethod
    def from_moments(
        cls, weights: Array, means: Array, factors: Sequence[Array], n_classes: int
    ) -> IncompleteRows:
        """Return complete rows with these means and factors of scatters.

        Classes beyond these, up to `n_classes`, have no rows.
        """
        k, d = means.shape
        mean_rows = np.sqrt(weights)[:, None] * np.insert(means, 0, 1.0, axis=1)
        Z = np.vstack([mean_rows, *(np.insert(F, 0, 0.0, axis=1) for F in factors)])
        codes = np.append(np.arange(k), np.repeat(np.arange(k), [*map(len, factors)]))
        low, high = np.full((2, n_classes, d), [[[np.inf]], [[-np.inf]]])
        varies = np.array([factor.any(axis=0) for factor in factors])
        present = weights > 0
        low[:k][present] = np.where(varies, -np.inf, means)[present]
        high[:k][present] = np.where(varies, np.inf, means)[present]
        totals, distinct = np.zeros(n_classes), np.full(n_classes, np.inf)
        totals[:k] = weights
        observed = np.ones((len(Z), d), bool)
        return cls._grouped(Z, observed, codes, totals, low, high, distinct)

    @classmethod
    def merged(cls, parts: Sequence[IncompleteRows]) -> IncompleteRows:
        """Concatenate the rows of several parts; later ones may have more classes."""

        def padded(name: str, fill: float) -> list[Array]:
            values = [getattr(part, name) for part in parts]
            k = max(map(len, values))
            return [
                np.concatenate([part, np.full((k - len(part), *part.shape[1:]), fill)])
                for part in values
            ]

        return cls._grouped(
            np.concatenate([part.Z for part in parts]),
            np.concatenate([part.row_observed for part in parts]),
            np.concatenate([part.row_codes for part in parts]),
            np.sum(padded("weights", 0.0), axis=0),
            np.min(padded("low", np.inf), axis=0),
            np.max(padded("high", -np.inf), axis=0),
            np.sum(padded("distinct", 0.0), axis=0),
        )

    @classmethod
    def _grouped(
        cls, Z: Array, observed: Mask, codes: Index, *of_classes: Array
    ) -> IncompleteRows:
        order, starts = grouping(observed, codes)
        bounds, first = np.append(starts, len(order)), order[starts]
        return cls(Z[order], bounds, observed[first], codes[first], *of_classes)

    def compacted(self) -> IncompleteRows:
        """Replace the rows of long patterns by triangular factors.

        A pattern with o observed features and more than 2 (o + 1) rows gets o + 1 rows
        with the same sum of outer products.
        """
        sizes, needed = np.diff(self.bounds), 1 + self.observed.sum(axis=1)
        long = sizes > 2 * needed
        if not long.any():
            return self
        short, n_new = ~np.repeat(long, sizes), needed[long]
        factors = [self._factor(pattern) for pattern in np.flatnonzero(long).tolist()]
        observed = np.repeat(self.observed[long], n_new, axis=0)
        return self._grouped(
            np.concatenate([self.Z[short], *factors]),
            np.concatenate([self.row_observed[short], observed]),
            np.append(self.row_codes[short], np.repeat(self.codes[long], n_new)),
            *(self.weights, self.low, self.high, self.distinct),
        )

    def _factor(self, pattern: int) -> Array:
        """Return a triangular factor of the rows of a pattern."""
        seen = np.append(True, self.observed[pattern])
        Z = self.Z[self.bounds[pattern] : self.bounds[pattern + 1], seen]
        factor = np.zeros((seen.sum(), len(seen)))
        with np.errstate(over="ignore", invalid="ignore"):  # EM checks for overflow
            center = Z[:, 0] @ Z / (Z[:, 0] @ Z[:, 0])  # keeps rounding small
            center[0] = 0.0
            R = np.asarray(np.linalg.qr(Z - np.outer(Z[:, 0], center), mode="r"))
            factor[:, seen] = R + np.outer(R[:, 0], center)
        return factor

    def scaled(self, factor: float) -> IncompleteRows:
        """Multiply the weights by a factor."""
        weights = self.weights * factor
        return replace(self, Z=self.Z * np.sqrt(factor), weights=weights)

    @cached_property
    def row_observed(self) -> Mask:
        """Observed features of each row."""
        return np.repeat(self.observed, np.diff(self.bounds), axis=0)

    @cached_property
    def row_codes(self) -> Index:
        """Class of each row."""
        return np.repeat(self.codes, np.diff(self.bounds))

    @cached_property
    def totals(self) -> Array:
        """Total weight of each pattern."""
        pattern = np.repeat(np.arange(len(self.codes)), np.diff(self.bounds))
        weights: Array = self.Z[:, 0] ** 2
        return np.bincount(pattern, weights, len(self.codes)).astype(np.float64)

    @cached_property
    def class_slices(self) -> list[slice]:
        """Slice of the rows of each class."""
        return _class_slices(self.row_codes, len(self.low))

    @cached_property
    def blocks(self) -> list[Block]:
        """Patterns in blocks with the same number of missing values.

        Patterns without missing or without observed values are in no block.
        """
        n_missing, sizes = (~self.observed).sum(axis=1), np.diff(self.bounds)
        blocks = []
        for m in range(1, self.observed.shape[1]):
            patterns = np.flatnonzero(n_missing == m)
            ends = np.cumsum(sizes[patterns]) * m**2 // _BLOCK_SIZE
            for part in np.split(patterns, np.flatnonzero(np.diff(ends)) + 1):
                missing = np.nonzero(~self.observed[part])[1].reshape(len(part), m)
                of_row = np.repeat(np.arange(len(part)), sizes[part])
                start = self.bounds[part] - np.cumsum(sizes[part]) + sizes[part]
                rows = np.arange(len(of_row)) + start[of_row]
                if len(part):
                    blocks.append(Block(part, missing, rows, of_row))
        return blocks


def grouping(observed: Mask, codes: Index) -> tuple[Index, Index]:
    """Return the order of rows by class and pattern, and the start of each pattern."""
    bits = np.packbits(observed, axis=1)
    order = np.lexsort((*bits.T, codes))
    bits, codes = bits[order], codes[order]
    new = (np.diff(bits, axis=0) != 0).any(axis=1) | (np.diff(codes) != 0)
    return order, np.flatnonzero(np.append(True, new)[: len(order)])


def _class_slices(codes: Index, n_classes: int) -> list[slice]:
    ends = np.searchsorted(codes, np.arange(n_classes + 1)).tolist()
    return [slice(*ends_of_class) for ends_of_class in pairwise(ends)]


def _n_distinct(rows: Array) -> int:
    """Count distinct rows of d features, or return a number above d + 1."""
    first = rows[: 2 * rows.shape[1] + 4]
    n = len(np.unique(first, axis=0))
    return n if n > rows.shape[1] + 1 else len(np.unique(rows, axis=0))
