"""Class statistics and a sample of the rows of a table, in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.data.labels import text_of
from heterolda.data.missing_rows import (
    IncompletePool,
    RereadRows,
    complete_rows,
    too_large_for_one_pass,
)
from heterolda.data.notes import warn_of_missing_rows, warn_of_similar_labels
from heterolda.data.reading import Pass
from heterolda.data.streams import ArrayRows, is_read_once
from heterolda.data.table import Table
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Mask
from heterolda.foundations.threads import Progress, silent
from heterolda.foundations.validation import has_missing_values
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.missing import Passes
from heterolda.statistics.moments import RangeError
from heterolda.statistics.patterns import IncompleteRows
from heterolda.statistics.rows import Rows, frequency_factor
from heterolda.statistics.samples import RowSample, filled_rows, fold_of, row_hashes

# Bytes for rows that are kept.
MEMORY = 2**29
# Numbers of the matrices of a class that statistics by fold may take.
_FOLD_NUMBERS = 1 << 19
# Every other row may be of another class only if there are no more rows than this:
# in the first batches, and in all.
_MANY_ROWS, _FEW_ROWS = 1000, 20
# Labels with decimals are a measurement if there are more of them.
_MOST_DECIMALS = 20


@dataclass(frozen=True)
class Gathered:
    """What a pass over a table has found."""

    statistics: ClassStatistics  # of all rows
    folds: list[ClassStatistics]  # the statistics of each fold, if asked for
    sample: Any  # a RowSample, if asked for
    n_rows: int  # that were used
    n_incomplete: int  # of these, rows with missing values
    first: Array  # the first rows


def gather(
    table: Table,
    progress: Progress = silent,
    *,
    n_folds: int = 0,
    sampled: bool = True,
    memory: float | None = None,
) -> Gathered:
    """Gather class statistics, and a sample of each class, in one pass.

    The hash of a row says which fold it is in. Moments by EM, of rows with missing
    values, do not add up: then there are no folds, and incomplete rows are read again
    for each step if they take more memory, in bytes.
    """
    reading, sample = Pass(table, progress), None
    incomplete = IncompletePool(MEMORY if memory is None else memory)
    parts: list[ClassStatistics | None] = []
    n_rows, names = 0, np.empty(0, dtype=object)
    for rows in reading:
        n_rows += len(rows.codes)
        _check_classes(reading, n_rows, _MANY_ROWS, n_rows)
        if sampled:
            part = RowSample.from_arrays(rows.X, rows.codes, rows.weights)
            sample = part if sample is None else sample + part
        complete = _complete(rows) if table.missing == "em" else None
        if complete is not None:
            incomplete.add(rows.take(~complete))
            rows = rows.take(complete)
            if incomplete.parts is None and is_read_once(table.source):
                raise too_large_for_one_pass(table.source)
        if not parts:
            names = np.array(reading.file.table.features, dtype=object)
            most = max(2, _FOLD_NUMBERS // len(names) ** 2)
            parts = [None] * (1 + min(n_folds, most))  # of all rows, then of folds
        with _columns_named(reading.file.name, names):
            parts = [
                _added(part, some, names)
                for part, some in zip(parts, _dealt(rows, len(parts) - 1), strict=True)
            ]
    _check_rows(reading, n_rows)
    labels, total, folds = _labels(reading), parts[0], parts[1:]
    if incomplete.n_rows:
        factor = 1.0
        if sample is not None:  # weights of a fit are frequencies
            weight = incomplete.weight + (0 if total is None else total.weights.sum())
            factor = frequency_factor(weight, sample.n_rows)
            sample = replace(sample, weight=sample.weight * factor)
        with _columns_named(reading.file.name, names):
            passes = _passes(table, total, incomplete, reading, factor)
            total = ClassStatistics.from_incomplete(passes, labels, names)
        folds = []
    stats = _with_labels(total, labels)
    if isinstance(table.source, ArrayRows):
        stats.feature_names = None  # numbers, for messages
    if sample is not None:
        X = filled_rows(sample.X, stats) if incomplete.n_rows else sample.X
        sample = replace(sample, X=X, y=labels[sample.y])
    named = [_with_labels(part, labels) for part in folds if part is not None]
    return Gathered(stats, named, sample, n_rows, incomplete.n_rows, reading.first)


def _dealt(rows: Rows, n_folds: int) -> Iterator[Rows]:
    """Yield all rows, then those of each fold."""
    yield rows
    if n_folds:
        folds = fold_of(row_hashes(rows.X), n_folds)
        yield from (rows.take(folds == k) for k in range(n_folds))


def read_all(
    table: Table, progress: Progress = silent, most: int | None = None, seed: int = 0
) -> tuple[Rows, Pass]:
    """Read all rows at once; of more than `most` rows, keep a random sample.

    The pass that has read them comes with them.
    """
    reading, kept = Pass(table, progress), _RandomRows(most, seed)
    for rows in reading:
        kept.add(rows)
        _check_classes(reading, reading.n_read, _MANY_ROWS, reading.n_read)
    _check_rows(reading, reading.n_read - reading.n_dropped)
    X, codes, weights = kept.rows()
    labels = _labels(reading)
    order = np.argsort(labels)
    codes = np.argsort(order)[codes]
    return Rows(X, codes, weights, labels[order]), reading


class _RandomRows:
    """All rows of batches, or a random sample of `most` of them, in their order.

    A row has a random key, and those of the smallest keys are kept.
    """

    def __init__(self, most: int | None, seed: int) -> None:
        self._most, self._rng = most, np.random.default_rng(seed)
        self._parts: list[tuple[Array, ...]] = []

    def add(self, rows: Rows) -> None:
        """Add the rows of a batch."""
        weights = [] if rows.weights is None else [rows.weights]
        keys = self._rng.random(len(rows.codes))
        self._parts.append((keys, rows.X, rows.codes, *weights))
        n = sum(len(part[0]) for part in self._parts)
        if self._most is not None and n > 2 * self._most:
            self._parts = [self._kept()]

    def rows(self) -> tuple[Array, NDArray[Any], Array | None]:
        """Return features, codes of labels and weights."""
        _, X, codes, *weights = self._kept()
        return X, codes, weights[0] if weights else None

    def _kept(self) -> tuple[Array, ...]:
        parts = tuple(map(np.concatenate, zip(*self._parts, strict=True)))
        if self._most is None or len(parts[0]) <= self._most:
            return parts
        kept = np.sort(np.argpartition(parts[0], self._most - 1)[: self._most])
        return tuple(part[kept] for part in parts)


def _labels(reading: Pass) -> NDArray[Any]:
    labels: NDArray[Any] = reading.labels.classes
    return labels


def _check_rows(reading: Pass, n_rows: int) -> None:
    """Refuse a table without rows or classes; warn of what was left out."""
    if not n_rows:
        complete = " without missing values" if reading.n_dropped else ""
        raise ParameterError("source", f": the data have no rows{complete}")
    _check_classes(reading, n_rows, _FEW_ROWS, _MOST_DECIMALS)
    warn_of_missing_rows(reading.n_dropped, n_rows, reading.table.missing)
    warn_of_similar_labels(_labels(reading).tolist())


def _check_classes(reading: Pass, n_rows: int, least: int, most_decimals: int) -> None:
    """Refuse labels that are not classes, among so many rows that were used.

    That is so if every other row has its own, unless rows are few, or if they are
    many numbers with decimals.
    """
    n = len(reading.labels)
    differ = 2 * n > max(n_rows, least)
    if not differ and n <= most_decimals:
        return
    numbers = [_number(text_of(label)) for label in _labels(reading).tolist()]
    is_measured = None not in numbers and any(x % 1 for x in numbers if x is not None)
    if not differ and not is_measured:
        return
    where = f"{reading.file.name}: column {reading.file.table.target!r}"
    if None in numbers:
        raise ValueError(
            f"{where} has {n} different labels in the first {n_rows} rows, too many "
            "for classes: name another column with target=..."
        )
    raise ValueError(
        f"{where} is a measurement and not a class: it has {n} different numbers in "
        f"{n_rows} rows; name another column with target=..."
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _complete(rows: Rows) -> Mask | None:
    """Return which rows have no missing values; None if that is all of them."""
    if not has_missing_values(rows.X):
        return None
    return np.asarray(~np.isnan(rows.X).any(axis=1))


def _added(
    total: ClassStatistics | None, rows: Rows, names: NDArray[Any]
) -> ClassStatistics | None:
    """Add the statistics of rows, whose classes are numbers of labels."""
    if not len(rows.codes):
        return total
    sums = ClassStatistics.from_rows(rows, names)
    return sums if total is None else total + sums


def _with_labels(stats: Any, labels: NDArray[Any]) -> ClassStatistics:
    """Return statistics of the first classes with their labels, in order."""
    labels = labels[: stats.n_classes]
    order = np.argsort(labels)
    made: ClassStatistics = stats.with_entries(order, labels[order])
    return made


def _passes(
    table: Table,
    total: ClassStatistics | None,
    incomplete: IncompletePool,
    reading: Pass,
    factor: float,
) -> Passes:
    """Return what EM goes through in each step, with weights times a factor."""
    n_classes = len(reading.labels)
    parts = complete_rows(total, n_classes)
    if incomplete.parts is not None:
        rows = IncompleteRows.merged([*parts, *incomplete.parts])
        return [rows.scaled(factor)]
    parts = [part.scaled(factor) for part in parts]
    return RereadRows(parts, table, reading.labels, incomplete.n_rows, factor)


@contextmanager
def _columns_named(where: str, names: NDArray[Any]) -> Iterator[None]:
    """Let errors about features name their columns."""
    try:
        yield
    except RangeError as error:
        raise ValueError(
            f"{where}: the values of column {names[error.feature]!r} {error.problem}"
        ) from error
