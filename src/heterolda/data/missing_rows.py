"""Rows of files with missing values: kept in little memory, or read again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from heterolda.data.reading import Pass
from heterolda.data.table import Table
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.moments import factor_of
from heterolda.statistics.patterns import IncompleteRows
from heterolda.statistics.rows import Rows

# Copies of the rows that EM holds at the same time, at most.
_COPIES = 6


class IncompletePool:
    """Incomplete rows of batches; many of one pattern are replaced by a factor.

    Attributes
    ----------
    n_rows : int
        Their number.
    weight : float
        Their total weight.
    parts : list of IncompleteRows or None
        The rows; None as soon as they take more than the memory for them.
    """

    def __init__(self, memory: float) -> None:
        self.n_rows, self.weight = 0, 0.0
        self.parts: list[IncompleteRows] | None = []
        self._memory, self._n_merged = memory, 0

    def add(self, rows: Rows) -> None:
        """Add incomplete rows."""
        made = _incomplete(rows)
        self.n_rows += len(rows.codes)
        self.weight += float(made.weights.sum())
        if self.parts is None:
            return
        self.parts.append(made.compacted())
        if sum(len(part.Z) for part in self.parts) > 2 * self._n_merged:
            merged = IncompleteRows.merged(self.parts).compacted()
            full = _COPIES * merged.Z.nbytes > self._memory
            self.parts, self._n_merged = None if full else [merged], len(merged.Z)


def _incomplete(rows: Rows) -> IncompleteRows:
    return IncompleteRows.from_arrays(
        rows.X, rows.codes, rows.weights, len(rows.classes)
    )


def complete_rows(
    total: ClassStatistics | None, n_classes: int
) -> list[IncompleteRows]:
    """Return rows with the moments of all complete ones, if there are any."""
    if total is None:
        return []
    factors = total.factors or [factor_of(scatter) for scatter in total.scatters]
    moments = total.weights, total.means, factors
    return [IncompleteRows.from_moments(*moments, n_classes)]


@dataclass(frozen=True)
class RereadRows:
    """Rows whose incomplete ones are read again for each step of EM."""

    complete: list[IncompleteRows]
    table: Table
    labels: Any  # of the first pass
    n_rows: int  # incomplete ones, as the first pass has counted them
    scale: float  # of weights

    def __iter__(self) -> Iterator[IncompleteRows]:
        n_rows, n_classes = 0, len(self.labels)
        yield from self.complete
        reading = Pass(self.table)
        reading.labels = self.labels
        for rows in reading:
            mask = np.isnan(rows.X).any(axis=1)
            n_rows += int(mask.sum())
            if len(self.labels) == n_classes and mask.any():
                yield _incomplete(rows.take(mask)).scaled(self.scale)
        if n_rows != self.n_rows or len(self.labels) > n_classes:
            raise too_large_for_one_pass(self.table.source)


def too_large_for_one_pass(source: Any) -> TypeError:
    """Return the error for rows that cannot be read again, or are others then."""
    return TypeError(
        f"source is a {type(source).__name__}, which can be read only once, but it has "
        "too many rows with missing values to keep, so these must be read several "
        "times: pass files, a dataset or a table"
    )
