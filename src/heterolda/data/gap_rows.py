"""Rows of files in which features are missing: in little memory, or read anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from heterolda.data.batches import Batch
from heterolda.data.labels import LabelNumbers
from heterolda.foundations.types import Index
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.moments import factor_of
from heterolda.statistics.patterns import GapRows

# Copies of the rows that there are at the same time, at most.
_COPIES = 6
# Batches of fewer rows are put together.
_AT_ONCE = 1 << 13


class GapPool:
    """Rows with gaps, as they come; of many with the same gaps only their moments.

    Attributes
    ----------
    n_rows : int
        Their number.
    weight : float
        Their total weight.
    parts : list of GapRows or None
        The rows; None as soon as they take more than the memory for them.
    """

    def __init__(self, memory: float) -> None:
        self.n_rows, self.weight = 0, 0.0
        self.parts: list[GapRows] | None = []
        self._memory = memory
        self._n_merged = 0

    def add(self, batch: Batch, codes: Index, n_classes: int) -> None:
        """Take the rows of a batch that have gaps."""
        rows = rows_with_gaps(batch, codes, n_classes)
        self.n_rows += batch.n_gaps
        self.weight += float(rows.totals.sum() + rows.blank.sum())
        if self.parts is None:
            return
        self.parts.append(rows.compacted())
        if sum(len(part.X) for part in self.parts) > 2 * self._n_merged:
            merged = GapRows.merged(self.parts).compacted()
            self.parts, self._n_merged = [merged], len(merged.X)
            if _COPIES * merged.X.nbytes > self._memory:
                self.parts = None


def rows_with_gaps(batch: Batch, codes: Index, n_classes: int) -> GapRows:
    """The rows of a batch in which a feature is missing."""
    if batch.whole is None:
        return GapRows.from_arrays(batch.X[:0], codes[:0], None, n_classes)
    some = ~batch.whole
    weight = None if batch.weight is None else batch.weight[some]
    return GapRows.from_arrays(batch.X[some], codes[some], weight, n_classes)


def complete_rows(total: ClassStatistics | None, n_classes: int) -> list[GapRows]:
    """Rows with the moments of all that have no gaps; none if there is none."""
    if total is None:
        return []
    factors = total.factors
    if factors is None:
        factors = [factor_of(scatter) for scatter in total.scatters]
    return [GapRows.from_moments(total.weights, total.means, factors, n_classes)]


@dataclass(frozen=True)
class RereadRows:
    """Rows of which those with gaps are read anew at each iteration."""

    complete: list[GapRows]
    batches: Callable[[], Iterator[Batch]]
    numbers: LabelNumbers  # all labels are in it
    n_rows: int  # with gaps, as the first pass has found them
    scale: float  # of weights
    source: Any

    def __iter__(self) -> Iterator[GapRows]:
        parts = self.complete
        n_rows, n_classes = 0, len(self.numbers)
        for batch in self.batches():
            codes = self.numbers.of(batch)
            n_rows += batch.n_gaps
            if len(self.numbers) > n_classes:
                break
            some = rows_with_gaps(batch, codes, n_classes).scaled(self.scale)
            parts = [*parts, some]
            if sum(len(part.X) for part in parts) > _AT_ONCE:
                yield GapRows.merged(parts)
                parts = []
        if n_rows != self.n_rows or len(self.numbers) > n_classes:
            raise too_large_for_one_pass(self.source)
        if parts:
            yield GapRows.merged(parts)


def too_large_for_one_pass(source: Any) -> TypeError:
    """The error for rows that are gone, or others, when they are needed again."""
    return TypeError(
        f"source is a {type(source).__name__}, which can be read only once, but it has "
        "too many rows with missing values to keep, so these must be read several "
        "times: pass files, a dataset or a table"
    )
