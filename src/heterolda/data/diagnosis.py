"""One message for all columns that should be numbers and are not."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from heterolda.data.columns import Columns, OpenFile
from heterolda.data.csv_reader import missing_words
from heterolda.data.decoding import TEXT, column_of, is_any, numbers_of
from heterolda.data.not_numbers import (
    DATE,
    LONGEST_MARK,
    MARK,
    NotNumbersError,
    Setting,
    number_pattern,
)
from heterolda.data.sources import is_read_once, open_source
from heterolda.foundations.wording import count

_ROWS, _CELLS = 100_000, 1_000_000  # that are read of each file, at most
_LENGTH = 100  # characters of a cell that count
# Missing values have few marks, and these are in few cells.
_MARKS, _FEW = 5, 0.1
# Categories have no more levels, and each has so many rows on average.
_LEVELS, _ROWS_OF_LEVEL = 50, 3
_SHOWN = 20  # columns in a message


def diagnosed(
    error: NotNumbersError, source: Any, wanted: Columns, for_gaps: str | None
) -> NotNumbersError:
    """Return the error that names all columns that are not numbers.

    It is the error given if that advises a decimal mark where none was chosen, if the
    rows are gone, or if the first of them are numbers. `for_gaps` is the value of
    `missing` to advise.
    """
    chosen = getattr(getattr(source, "reading", None), "decimal", None)
    decimal = any(s.parameter == "decimal" for s in error.options)
    if is_read_once(source) or (decimal and chosen is None):
        return error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they have been heard
            columns, where = _first_rows(source, wanted)
    except (ValueError, OSError):  # whatever it is, it is for later
        return error
    if where is None:
        return error
    return _error(columns, where, source, wanted, for_gaps)


def columns_of_categories(
    source: Any, wanted: Columns, for_gaps: str | None
) -> tuple[str, ...]:
    """Return the names of the features whose first rows show categories.

    NotNumbersError where others are neither these nor numbers.
    """
    columns, where = _first_rows(source, wanted)
    wrong = {name: column for name, column in columns.items() if column.first}
    if any(column.remedy() != "categorical" for column in wrong.values()):
        raise _error(columns, str(where), source, wanted, for_gaps)
    return tuple(wrong)


@dataclass
class _Column:
    """What the first rows of a column hold."""

    n_missing: int = 0
    n_numbers: int = 0
    cells: set[str] = field(default_factory=set)  # of batches that are not all numbers
    others: Counter[str] = field(default_factory=Counter)  # those that are no numbers
    first: str = ""  # of these, with its row

    def add(self, batch: Any, name: str, file: OpenFile, n_before: int) -> None:
        """Look at some more rows, after so many."""
        from pyarrow import types

        try:
            gaps = np.isnan(numbers_of(batch, name, file))
        except NotNumbersError:
            column = column_of(batch, name, file)
        else:
            self.n_missing += int(gaps.sum())
            self.n_numbers += int((~gaps).sum())
            return
        kind = column.type
        kind = kind.value_type if types.is_dictionary(kind) else kind
        if not is_any(kind, *TEXT):
            self.first = self.first or f"of type {kind}"
            return
        reading = file.reading
        missing = {"", *(missing_words(reading) if file.is_text else reading.marks)}
        pattern = number_pattern(reading.decimal or ".", reading.grouped)
        is_number = re.compile(pattern).search
        for row, text in enumerate(column.to_pylist(), n_before + 1):
            cell = (text or "").strip()[:_LENGTH]
            if cell in missing:
                self.n_missing += 1
                continue
            self.cells.add(cell)
            if file.is_text and is_number(cell):
                self.n_numbers += 1
                continue
            self.others[cell] += 1
            shown = cell[:25] + "..." * (len(cell) > 25)
            self.first = self.first or f"row {row}: {shown!r}"

    def remedy(self) -> str | None:
        """The parameter that helps; None for numbers."""
        n = self.n_numbers + self.others.total()
        if not self.first:
            return None if n else "exclude"
        if self.n_numbers and 0 < len(self.others) <= _MARKS:
            few = self.others.total() <= max(1, _FEW * n)
            if all(MARK.fullmatch(c) or (few and _is_word(c)) for c in self.others):
                return "na"
        is_date = DATE.fullmatch(next(iter(self.others), ""))
        few = 1 < len(self.cells) <= min(_LEVELS, n // _ROWS_OF_LEVEL)
        return "categorical" if few and not is_date else "exclude"


def _is_word(cell: str) -> bool:
    return len(cell) <= LONGEST_MARK and not re.search(r"\d", cell)


def _first_rows(source: Any, wanted: Columns) -> tuple[dict[str, _Column], str | None]:
    """All features but the categories, and the first file with one that is wrong."""
    columns: dict[str, _Column] = {}
    where = None
    for file in open_source(source, replace(wanted, keep=True, batch_size=4096)):
        features = [n for n in file.columns.features or () if n not in wanted.text]
        columns = columns or {name: _Column() for name in features}
        n_rows, most = 0, min(_ROWS, _CELLS // max(1, len(columns)))
        for batch in file.batches:
            for name, column in columns.items():
                column.add(batch, name, file, n_rows)
            n_rows += batch.num_rows
            if n_rows >= most:
                break
        if where is None and any(column.first for column in columns.values()):
            where = file.name
    return columns, where


def _error(
    columns: dict[str, _Column],
    where: str,
    source: Any,
    wanted: Columns,
    for_gaps: str | None,
) -> NotNumbersError:
    """What is wrong with the columns, and the options that help."""
    names: dict[str | None, list[str]] = {}
    for name, column in columns.items():
        names.setdefault(column.remedy(), []).append(name)
    right = names.pop(None, [])
    wrong = {n: column.first or "empty" for n, column in columns.items()}
    wrong = {name: first for name, first in wrong.items() if name not in right}
    cells = [f"{name[:40]!r} ({first})" for name, first in wrong.items()]
    more = f" and {len(cells) - _SHOWN} more" if cells[_SHOWN:] else ""
    problem = (
        f"{where}: {count(len(wrong), 'column')} {'is' if len(wrong) == 1 else 'are'} "
        f"not all numbers: {', '.join(cells[:_SHOWN])}{more}"
    )
    marks = sorted({mark for n in names.get("na", ()) for mark in columns[n].others})
    out, categories = names.get("exclude", []), names.get("categorical", [])
    if len(out) == len(columns) and not wanted.text:
        return NotNumbersError(problem, ". Add columns of numbers or categories")
    options = []
    if marks:
        known = getattr(getattr(source, "reading", None), "marks", ())
        options.append(Setting("na", [*known, *marks]))
    if categories:
        options.append(Setting("categorical", [*wanted.text, *categories]))
    if out:
        options.append(wanted.without(out))
    used = (column for name, column in columns.items() if name not in out)
    if for_gaps and (marks or any(column.n_missing for column in used)):
        options.append(Setting("missing", for_gaps))
    return NotNumbersError(
        problem,
        ". Convert them to numbers, or leave them out with "
        f"{wanted.without(list(wrong))}",
        options=options,
        lead=". Correct the file, or add ",
    )
