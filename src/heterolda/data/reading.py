"""Read the rows of a table batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.data.arrow import open_parquet, open_streams
from heterolda.data.csv_reader import open_standard_input, open_text_file
from heterolda.data.decoding import features_of, labels_of, weights_of
from heterolda.data.excel import open_excel
from heterolda.data.files import EXCEL, PARQUET, STANDARD_STREAM, paths_of
from heterolda.data.labels import ClassFinder, LabelNumbers
from heterolda.data.table import File, Table
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Mask
from heterolda.foundations.threads import Progress, silent
from heterolda.foundations.validation import all_finite, check_sample_weight
from heterolda.foundations.wording import count, listed
from heterolda.statistics.power import PowerTransformation
from heterolda.statistics.rows import Rows

_FIRST_ROWS = 1000


def open_files(table: Table) -> Iterator[File]:
    """Open the files or streams of a table in turn."""
    first: File | None = None
    for file in _opened(table):
        first = first or file
        _check_same(file, first)
        yield replace(file, columns=first.columns)


def _opened(table: Table) -> Iterator[File]:
    if isinstance(table.source, str) and table.source == STANDARD_STREAM:
        yield open_standard_input(table)
        return
    paths = paths_of(table.source)
    if paths is None:
        yield from open_streams(table)
    for path in paths or ():
        if path.lower().endswith(PARQUET):
            yield open_parquet(path, table)
        elif path.lower().endswith(EXCEL):
            yield open_excel(path, table)
        else:
            yield open_text_file(path, table)


def _check_same(file: File, first: File) -> None:
    """Reject a file that cannot be read or written like the first one."""
    difference = {*file.columns} ^ {*first.columns}
    remedy = "name the features with columns=..."
    if file.table.keep:
        difference |= {*file.schema.names} ^ {*first.schema.names}
        remedy = "process these files one by one"
    if difference:
        raise ValueError(
            f"{file.name}: its columns are not those of {first.name}: only one file "
            f"has {listed(np.array(sorted(difference)))}; {remedy}"
        )
    mark_differs = file.is_text and file.format.decimal != first.format.decimal
    if file.table.keep and mark_differs:
        raise ValueError(
            f"{file.name}: its decimal mark differs from that of {first.name}, and the "
            "output would mix both: process these files one by one"
        )


class Pass:
    """A pass over the rows of a table.

    Iterating yields nonempty `Rows`, batch by batch. Their codes number the labels in
    order of appearance, or are indices of the given classes.
    """

    def __init__(
        self,
        table: Table,
        progress: Progress = silent,
        classes: NDArray[Any] | None = None,
        powers: PowerTransformation | None = None,
    ) -> None:
        self.table, self._progress, self.powers = table, progress, powers
        self.n_rows = self.n_dropped = 0  # used, and left out for missing values
        self.file: Any = None  # being read
        self.first: Array = np.empty((0, 0))
        # By column: rows with levels that were not in the fit.
        self._unseen: Counter[str] = Counter()
        self.labels: LabelNumbers | ClassFinder = (
            LabelNumbers() if classes is None else ClassFinder(classes)
        )

    def __iter__(self) -> Iterator[Rows]:
        for file in open_files(self.table):
            yield from (rows for _, rows in self.of_file(file) if len(rows.codes))

    def of_file(self, file: File) -> Iterator[tuple[Any, Rows]]:
        """Yield the records that are used and their rows, which may be empty."""
        self.file, n_before = file, 0
        for records in file.batches:
            used, rows = self._decoded(records, n_before)
            n_before += records.num_rows
            self.n_rows += len(rows.codes)
            self.n_dropped += records.num_rows - len(rows.codes)
            if not len(self.first):
                self.first = rows.X[:_FIRST_ROWS].copy()
            self._progress(count(self.n_rows + self.n_dropped, "row"), np.nan)
            yield records if used is None else records.filter(used), rows

    def unseen_notes(self) -> list[str]:
        """Return a line for each column with levels that were not in the fit."""
        return [
            f"column {c.column!r}: {count(self._unseen[c.column], 'row')} with values "
            f"that were not in the fit, which count as {c.unseen_count_as}"
            for c in self.table.categories
            if self._unseen[c.column]
        ]

    def _decoded(self, records: Any, n_before: int) -> tuple[Mask | None, Rows]:
        """Return a mask of the records used, or None for all, and their rows."""
        file, table = self.file, self.table
        X = features_of(records, file, n_before, self._unseen)
        codes, labels, weights = np.zeros(len(X), np.int64), ["all"], None
        absent = []
        if table.target is not None:
            codes, labels = labels_of(records, file, n_before)
            absent.append(codes < 0)
        if table.sample_weight is not None:
            weights = weights_of(records, table.sample_weight, file)
            absent.append(np.isnan(weights))
        used = _usable(file, X, absent, n_before)
        rows = Rows(X, codes, weights, np.empty(0))
        rows = rows if used is None else rows.take(used)
        try:
            weights = check_sample_weight(rows.weights, len(rows.codes))
        except ParameterError as error:
            where = f"{file.name}: column {table.sample_weight!r}"
            raise ValueError(f"{where} {error.args[1]}") from error
        codes = rows.codes
        if table.target is not None:
            codes = self.labels.of(codes, labels, file)
        X = rows.X if self.powers is None else self.powers.apply(rows.X)
        return used, Rows(X, codes, weights, np.arange(max(1, len(self.labels))))


def _usable(file: File, X: Array, absent: list[Mask], n_before: int) -> Mask | None:
    """Return a mask of rows to use, or None for all; `absent` are without a label."""
    if all_finite(X) and not np.any(absent):
        return None
    infinite = np.isinf(X)
    if infinite.any():
        place = file.place(infinite, n_before)
        raise ValueError(f"{place} is infinite: every number must be finite")
    table = file.table
    bad = np.column_stack([np.isnan(X) & (table.missing != "em"), *absent])
    used = np.asarray(~bad.any(axis=1))
    if used.all():
        return None
    if table.missing == "error":
        em_helps = table.advice == "em" and np.isnan(X[used.argmin()]).any()
        keep = "keep such rows with missing='em', " if em_helps else ""
        drop = " with missing='drop'" if table.advice else ""
        raise ValueError(
            f"{file.place(bad, n_before)} is missing: fill it in, {keep}or leave such "
            f"rows out{drop}"
        )
    return used
