"""Gather class statistics and a sample of the rows of a table in one pass."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.data.formats import number_of
from heterolda.data.labels import text_of, warn_of_similar_labels
from heterolda.data.not_numeric import AMOUNT
from heterolda.data.reading import Pass
from heterolda.data.table import Table
from heterolda.exceptions import MissingRowsWarning, ParameterError
from heterolda.foundations.draws import RowDraws
from heterolda.foundations.threads import Progress, silent
from heterolda.foundations.validation import has_missing_values
from heterolda.foundations.wording import count
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.completion import filled_rows
from heterolda.statistics.incomplete_rows import IncompleteRows
from heterolda.statistics.missing import Passes
from heterolda.statistics.moments import RangeError
from heterolda.statistics.power import PowerTransformation
from heterolda.statistics.rows import Rows, frequency_factor
from heterolda.statistics.samples import MANY_ROWS, RowSample

# Maximum bytes of incomplete rows in memory, and number of copies that EM makes.
MEMORY = 2**29
_COPIES = 6
_FOLD_NUMBERS = 1 << 19  # matrix entries of a class, for all folds together
# Labels are not classes if there are more of them than half the number of rows, once
# there are this many rows so far, or this many in all.
_MANY_ROWS, _FEW_ROWS = 1000, 20
_MAX_DECIMALS = 20  # more labels that are decimal numbers are a measurement


@dataclass(frozen=True)
class Gathered:
    """The result of a pass over a table."""

    statistics: ClassStatistics  # of all rows
    folds: dict[int, ClassStatistics]  # of each fold with rows, if requested
    sample: Any  # a RowSample, if requested
    n_incomplete: int  # rows with missing values
    reading: Pass


def gather(
    table: Table,
    progress: Progress = silent,
    *,
    n_folds: int = 0,
    sampled: bool = True,
    random_state: Any = 0,
    powers: PowerTransformation | None = None,
) -> Gathered:
    """Gather class statistics, and a sample of each class, in one pass.

    With powers, features are transformed first.
    """
    reading, sample = Pass(table, progress, powers=powers), None
    incomplete = _IncompletePool()
    parts: list[ClassStatistics | None] = []  # of all rows, then of folds
    names = np.empty(0, dtype=object)
    for rows in reading:
        _check_classes(reading)
        if not parts:
            names = np.array(reading.file.features, dtype=object)
            n_folds = min(n_folds, max(2, _FOLD_NUMBERS // len(names) ** 2))
            parts = [None] * (1 + n_folds)
            draws = RowDraws(random_state, max(1, n_folds))
        if rows.held_by is None or table.in_time:
            folds = draws.folds(rows.drawn_codes)
        else:  # whole groups
            folds = rows.held_by % max(1, n_folds)
        if sampled:
            keys = draws.keys(rows.drawn_codes)
            held_by = rows.held_by
            part = RowSample.from_arrays(
                rows.X, rows.codes, rows.weights, keys, folds, held_by=held_by
            )
            sample = part if sample is None else sample + part
        if table.missing == "em" and has_missing_values(rows.X):
            mask = np.isnan(rows.X).any(axis=1)
            incomplete.add(rows.take(mask))
            rows, folds = rows.take(~mask), folds[~mask]
        with columns_in_errors(reading.file.name, names):
            chunks = [rows, *(rows.take(folds == k) for k in range(n_folds))]
            for k, chunk in enumerate(chunks):
                if len(chunk.codes):
                    sums, before = ClassStatistics.from_rows(chunk, names), parts[k]
                    parts[k] = sums if before is None else before + sums
    _check_rows(reading)
    labels: NDArray[Any] = reading.labels.classes
    total, fold_parts = parts[0], parts[1:]
    if incomplete.n_rows:
        factor = 1.0
        if sample is not None:  # a fit takes weights as frequencies
            weight = incomplete.weight + (0 if total is None else total.weights.sum())
            factor = frequency_factor(weight, sample.n_rows)
            sample = replace(sample, weight=sample.weight * factor)
        with columns_in_errors(reading.file.name, names):
            kept = incomplete.parts or []
            if total is not None:  # a few rows replace all complete ones
                kept.append(IncompleteRows.from_statistics(total, len(labels)))
            kept = [IncompleteRows.merged(kept).scaled(factor)] if kept else []
            passes: Passes = kept
            if incomplete.parts is None:
                passes = _RereadRows(kept, reading, incomplete.n_rows, factor)
            total = ClassStatistics.from_incomplete(passes, labels, names)
        fold_parts = []  # EM's moments are not sums
    stats = _with_labels(total, labels)
    if sample is not None:
        X = filled_rows(sample.X, stats) if incomplete.n_rows else sample.X
        sample = replace(sample, X=X, y=labels[sample.y])
    named = {
        k: _with_labels(part, labels)
        for k, part in enumerate(fold_parts)
        if part is not None
    }
    return Gathered(stats, named, sample, incomplete.n_rows, reading)


def _with_labels(stats: Any, labels: NDArray[Any]) -> ClassStatistics:
    """Label the classes of statistics, and sort them by label."""
    labels = labels[: stats.n_classes]
    order = np.argsort(labels)
    ordered: ClassStatistics = stats.with_entries(order, labels[order])
    return ordered


@contextmanager
def columns_in_errors(where: str, names: NDArray[Any]) -> Iterator[None]:
    """Name the columns in errors about features."""
    try:
        yield
    except RangeError as error:
        raise ValueError(
            f"{where}: the values of column {names[error.feature]!r} {error.problem}"
        ) from error


def read_all(table: Table, progress: Progress = silent) -> tuple[Rows, Pass]:
    """Return all rows, and the pass over them."""
    reading, parts = Pass(table, progress), []
    for rows in reading:
        parts.append(rows)
        _check_classes(reading)
    _check_rows(reading)
    labels, weights, held_by = reading.labels.classes, None, None
    if parts[0].weights is not None:
        weights = np.concatenate([rows.frequencies for rows in parts])
    if parts[0].held_by is not None:
        held_by = np.concatenate([rows.held_by for rows in parts])
    order = np.argsort(labels)
    codes = np.argsort(order)[np.concatenate([rows.codes for rows in parts])]
    X = np.concatenate([rows.X for rows in parts])
    return Rows(X, codes, weights, labels[order], held_by), reading


@dataclass(frozen=True)
class Drawn:
    """Rows that were drawn in a pass over a table."""

    sample: RowSample
    reading: Pass
    progress: Progress

    @property
    def names(self) -> NDArray[Any]:
        """Return the names of the features."""
        return np.array(self.reading.file.features, dtype=object)

    def again(self, powers: PowerTransformation | None) -> ClassStatistics:
        """Gather statistics of all rows in another pass; powers transform them."""
        table, n_rows = self.reading.table, None
        with warnings.catch_warnings(), suppress(ParameterError):
            warnings.simplefilter("ignore")  # the first pass has warned
            second = gather(table, self.progress, sampled=False, powers=powers)
            n_rows = second.reading.n_rows
        if n_rows != self.reading.n_rows:
            raise _other_rows(table, "there are too many rows to keep in memory")
        return second.statistics


def draw_rows(
    table: Table, progress: Progress = silent, random_state: Any = 0, n: int = MANY_ROWS
) -> Drawn:
    """Draw n rows of a table, and at least some of each class, in one pass."""
    reading, draws = Pass(table, progress), RowDraws(random_state)
    parts: list[RowSample] = []
    for rows in reading:
        _check_classes(reading)
        part = rows.X, rows.codes, rows.weights, draws.keys(rows.drawn_codes)
        held_by = rows.held_by
        parts.append(RowSample.from_arrays(*part, n_together=n, held_by=held_by))
        if sum(len(part.y) for part in parts) > 2 * n:
            parts = [RowSample.joined(parts)]
    _check_rows(reading)
    sample = RowSample.joined(parts)
    sample = replace(sample, y=reading.labels.classes[sample.y])
    return Drawn(sample, reading, progress)


def _other_rows(table: Table, why: str) -> TypeError:
    return TypeError(
        f"source is a {type(table.source).__name__}, which does not yield the same "
        f"rows again, but {why}: pass files, a dataset or a table"
    )


def _check_rows(reading: Pass) -> None:
    """Reject a table without rows or classes; warn of rows that were left out."""
    n_rows, n_dropped = reading.n_rows, reading.n_dropped
    if not n_rows:
        complete = " without missing values" if n_dropped else ""
        raise ParameterError("source", f": the data have no rows{complete}")
    _check_classes(reading, is_end=True)
    if n_dropped:
        is_em = reading.table.missing == "em"
        reason = "no label or no weight" if is_em else "missing values"
        warnings.warn(
            f"{n_dropped} of {n_dropped + n_rows} rows have {reason} and were left out",
            MissingRowsWarning,
            stacklevel=3,
        )
    warn_of_similar_labels(reading.labels.classes.tolist())


def _check_classes(reading: Pass, *, is_end: bool = False) -> None:
    """Reject a label column that numbers the rows or, at the end, is a measurement."""
    n, n_rows = len(reading.labels), reading.n_rows
    too_many = 2 * n > max(n_rows, _FEW_ROWS if is_end else _MANY_ROWS)
    if not too_many and not (is_end and n > min(_MAX_DECIMALS, n_rows / 2)):
        return
    labels = [text_of(label) for label in reading.labels.classes.tolist()]
    mark = reading.file.format.decimal or "."
    numbers = [number_of(label.replace(mark, ".")) for label in labels]
    are_decimals = None not in numbers and any(x % 1 for x in numbers if x is not None)
    if too_many or are_decimals:
        problem = f"has {n} different values in {count(n_rows, 'row')}"
        remedy = "name another column with target=..."
        if 2 * sum(map(bool, map(AMOUNT.fullmatch, labels))) > n:
            problem = f"looks like a measurement and not a class: it {problem}"
            remedy += ", or make classes of it, such as low and high"
        where = f"{reading.file.name}: column {reading.table.target!r}"
        raise ValueError(f"{where} {problem}; {remedy}")


# Rows with missing values


class _IncompletePool:
    """Incomplete rows; a factor replaces many rows of one pattern."""

    def __init__(self) -> None:
        self.n_rows, self.weight = 0, 0.0
        self.parts: list[IncompleteRows] | None = []  # None if they take much memory
        self._n_merged = 0

    def add(self, rows: Rows) -> None:
        """Add incomplete rows."""
        part = _incomplete(rows)
        self.n_rows += len(rows.codes)
        self.weight += float(part.weights.sum())
        if self.parts is None:
            return
        self.parts.append(part.compacted())
        if sum(len(part.Z) for part in self.parts) > 2 * self._n_merged:
            merged = IncompleteRows.merged(self.parts).compacted()
            is_full = _COPIES * merged.Z.nbytes > MEMORY
            self.parts, self._n_merged = None if is_full else [merged], len(merged.Z)


def _incomplete(rows: Rows) -> IncompleteRows:
    n_classes = len(rows.classes)
    return IncompleteRows.from_arrays(rows.X, rows.codes, rows.weights, n_classes)


@dataclass(frozen=True)
class _RereadRows:
    """Rows for EM; the incomplete ones are read again for each step."""

    complete: list[IncompleteRows]
    first_pass: Pass
    n_rows: int  # incomplete rows in the first pass
    scale: float  # of weights

    def __iter__(self) -> Iterator[IncompleteRows]:
        yield from self.complete
        n_rows, table = 0, self.first_pass.table
        reading = Pass(table, powers=self.first_pass.powers)
        reading.labels = self.first_pass.labels
        n_classes = len(reading.labels)
        for rows in reading:
            mask = np.isnan(rows.X).any(axis=1)
            n_rows += int(mask.sum())
            if len(reading.labels) == n_classes and mask.any():
                yield _incomplete(rows.take(mask)).scaled(self.scale)
        if n_rows != self.n_rows or len(reading.labels) > n_classes:
            raise _other_rows(table, "too many have missing values to keep in memory")
