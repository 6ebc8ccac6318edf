"""Rows of files with missing values: kept in little memory, or read again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from heterolda.data.batches import Batch
from heterolda.data.labels import LabelNumbers
from heterolda.foundations.arrays import Index
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.moments import factor_of
from heterolda.statistics.patterns import IncompleteRows

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

    def add(self, batch: Batch, codes: Index, n_classes: int) -> None:
        """Add the incomplete rows of a batch."""
        rows = incomplete_rows(batch, codes, n_classes)
        self.n_rows += batch.n_gaps
        self.weight += float(rows.weights.sum())
        if self.parts is None:
            return
        self.parts.append(rows.compacted())
        if sum(len(part.Z) for part in self.parts) > 2 * self._n_merged:
            merged = IncompleteRows.merged(self.parts).compacted()
            full = _COPIES * merged.Z.nbytes > self._memory
            self.parts, self._n_merged = None if full else [merged], len(merged.Z)


def incomplete_rows(batch: Batch, codes: Index, n_classes: int) -> IncompleteRows:
    """Return the rows of a batch in which a feature is missing."""
    some = slice(0) if batch.whole is None else ~batch.whole
    weight = None if batch.weight is None else batch.weight[some]
    return IncompleteRows.from_arrays(batch.X[some], codes[some], weight, n_classes)


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
    batches: Callable[[], Iterator[Batch]]
    numbers: LabelNumbers  # of all labels
    n_rows: int  # incomplete ones, as the first pass has counted them
    scale: float  # of weights
    source: Any

    def __iter__(self) -> Iterator[IncompleteRows]:
        n_rows, n_classes = 0, len(self.numbers)
        yield from self.complete
        for batch in self.batches():
            codes = self.numbers.of(batch)
            n_rows += batch.n_gaps
            if len(self.numbers) == n_classes and batch.n_gaps:
                yield incomplete_rows(batch, codes, n_classes).scaled(self.scale)
        if n_rows != self.n_rows or len(self.numbers) > n_classes:
            raise too_large_for_one_pass(self.source)


def too_large_for_one_pass(source: Any) -> TypeError:
    """Return the error for rows that cannot be read again, or are others then."""
    return TypeError(
        f"source is a {type(source).__name__}, which can be read only once, but it has "
        "too many rows with missing values to keep, so these must be read several "
        "times: pass files, a dataset or a table"
    )
