"""Rows with missing values, sorted by class and by pattern of missing values."""

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


@dataclass(frozen=True, eq=False)
class IncompleteRows:
    """Rows x of weight w by class and by pattern of missing values."""

    Z: Array  # sqrt(w) (1, x), zero where a value is missing, (n, 1 + d)
    observed: Mask  # observed features of each row, (n, d)
    codes: Index  # class of each row, sorted
    bounds: Index  # where the rows of each pattern begin, (n_patterns + 1,)
    weights: Array  # total weight of each class, without rounding, (n_classes,)

    @classmethod
    def from_arrays(
        cls, X: NDArray[Any], codes: Index, weight: Array | None, n_classes: int
    ) -> IncompleteRows:
        """Group rows of positive weight."""
        w = np.ones(len(X)) if weight is None else weight
        X, codes, w = X[w > 0].astype(np.float64), codes[w > 0], w[w > 0]
        observed = ~np.isnan(X)
        Z = np.insert(np.where(observed, X, 0.0), 0, 1.0, axis=1)
        Z *= np.sqrt(w)[:, None]
        totals = np.bincount(codes, w, n_classes).astype(np.float64)
        return cls._grouped(Z, observed, codes, totals)

    @classmethod
    def from_statistics(cls, stats: Any, n_classes: int) -> IncompleteRows:
        """Return complete rows with the moments of the first classes of `n_classes`."""
        k, d = stats.means.shape
        factors = stats.factors or [_root(scatter) for scatter in stats.scatters]
        means = np.sqrt(stats.weights)[:, None] * np.insert(stats.means, 0, 1.0, axis=1)
        Z = np.vstack([means, *(np.insert(F, 0, 0.0, axis=1) for F in factors)])
        codes = np.append(np.arange(k), np.repeat(np.arange(k), [*map(len, factors)]))
        weights = np.append(stats.weights, np.zeros(n_classes - k))
        return cls._grouped(Z, np.ones((len(Z), d), bool), codes, weights)

    @classmethod
    def merged(cls, parts: Sequence[IncompleteRows]) -> IncompleteRows:
        """Concatenate the rows of several parts; later ones may have more classes."""
        weights = np.zeros(max(len(part.weights) for part in parts))
        for part in parts:
            weights[: len(part.weights)] += part.weights
        return cls._grouped(
            np.concatenate([part.Z for part in parts]),
            np.concatenate([part.observed for part in parts]),
            np.concatenate([part.codes for part in parts]),
            weights,
        )

    @classmethod
    def _grouped(
        cls, Z: Array, observed: Mask, codes: Index, weights: Array
    ) -> IncompleteRows:
        order, bounds = group_by_pattern(observed, codes)
        return cls(Z[order], observed[order], codes[order], bounds, weights)

    def compacted(self) -> IncompleteRows:
        """Replace the rows of frequent patterns with triangular factors."""
        # EM needs only the sum of the outer products of the rows of a pattern.
        sizes, first = np.diff(self.bounds), self.bounds[:-1]
        needed = 1 + self.observed[first].sum(axis=1)
        frequent = np.flatnonzero(sizes > 2 * needed)
        if not len(frequent):
            return self
        kept = ~np.repeat(sizes > 2 * needed, sizes)
        new = np.repeat(first[frequent], needed[frequent])
        return self._grouped(
            np.concatenate([self.Z[kept], *map(self._factor, frequent.tolist())]),
            np.concatenate([self.observed[kept], self.observed[new]]),
            np.append(self.codes[kept], self.codes[new]),
            self.weights,
        )

    def _factor(self, pattern: int) -> Array:
        """Return a triangular factor of the rows of a pattern."""
        low, high = self.bounds[pattern : pattern + 2]
        seen = np.append(True, self.observed[low])
        Z = self.Z[low:high, seen]
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
    def class_slices(self) -> list[slice]:
        """Return the slice of the rows of each class."""
        ends = np.searchsorted(self.codes, np.arange(len(self.weights) + 1))
        return [slice(*pair) for pair in pairwise(ends.tolist())]

    @cached_property
    def totals(self) -> Array:
        """Return the total weight of each pattern."""
        totals: Array = np.add.reduceat(self.Z[:, 0] ** 2, self.bounds[:-1])
        return totals

    @cached_property
    def blocks(self) -> list[Block]:
        """Return patterns in blocks by number of missing values, neither 0 nor d."""
        first, sizes = self.bounds[:-1], np.diff(self.bounds)
        lacking = ~self.observed[first]
        n_missing = lacking.sum(axis=1)
        blocks = []
        for m in range(1, lacking.shape[1]):
            patterns = np.flatnonzero(n_missing == m)
            ends = np.cumsum(sizes[patterns]) * m**2 // _BLOCK_SIZE
            for part in np.split(patterns, np.flatnonzero(np.diff(ends)) + 1):
                missing = np.nonzero(lacking[part])[1].reshape(len(part), m)
                of_row = np.repeat(np.arange(len(part)), sizes[part])
                start = first[part] - np.cumsum(sizes[part]) + sizes[part]
                rows = np.arange(len(of_row)) + start[of_row]
                if len(part):
                    blocks.append(Block(part, missing, rows, of_row))
        return blocks


def _root(scatter: Array) -> Array:
    """Return rows with this scatter."""
    units = np.sqrt(np.diag(scatter))
    units[units == 0] = 1.0
    values, vectors = np.linalg.eigh(scatter / np.outer(units, units))
    rows: Array = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * units
    return rows * (np.diag(scatter) > 0)


def group_by_pattern(observed: Mask, codes: Index) -> tuple[Index, Index]:
    """Return the order of rows by class and pattern, and the bounds of patterns."""
    bits = np.packbits(observed, axis=1)
    order = np.lexsort((*bits.T, codes))
    bits, codes = bits[order], codes[order]
    new = (np.diff(bits, axis=0) != 0).any(axis=1) | (np.diff(codes) != 0)
    inner = np.flatnonzero(new) + 1
    return order, np.unique(np.concatenate([[0], inner, [len(order)]]))
