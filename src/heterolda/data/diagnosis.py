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
    number_pattern,
)
from heterolda.data.sources import is_read_once, open_source
from heterolda.exceptions import Setting
from heterolda.foundations.wording import count

_ROWS, _CELLS = 100_000, 5_000_000  # that are read of each file, at most
_LENGTH = 100  # characters of a cell that count
# Missing values have few marks, and these are in few cells.
_MARKS, _FEW = 5, 0.1
# Categories have no more levels, and each has so many rows on average.
_LEVELS, _ROWS_OF_LEVEL = 50, 3
_SHOWN, _LONGEST = 20, 20_000  # columns in a message, characters that it asks to type


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
            look = _Look(source, wanted)
    except (ValueError, OSError):  # whatever it is, it is for later
        return error
    return error if look.where is None else look.error(wanted, for_gaps)


def columns_of_categories(
    source: Any, wanted: Columns, for_gaps: str | None
) -> tuple[str, ...]:
    """Return the names of the features whose first rows show categories.

    NotNumbersError where others are neither these nor numbers.
    """
    look = _Look(source, wanted)
    advice = look.advice()
    if any(advice[name] != "categorical" for name in look.wrong):
        raise look.error(wanted, for_gaps)
    return tuple(look.wrong)


@dataclass
class _Column:
    """What the first rows of a column hold."""

    n_missing: int = 0
    n_numbers: int = 0
    n_others: int = 0
    levels: set[str] = field(default_factory=set)  # different cells where some are text
    others: set[str] = field(default_factory=set)  # those that are not numbers
    first: str = ""  # of these, with its row
    is_date: bool = False

    def add(self, batch: Any, name: str, file: OpenFile, n_before: int) -> None:
        """Look at some more rows, after so many."""
        try:
            gaps = np.isnan(numbers_of(batch, name, file))
        except NotNumbersError:
            self._add_text(column_of(batch, name, file), file, n_before)
        else:
            self.n_missing += int(gaps.sum())
            self.n_numbers += int((~gaps).sum())

    def _add_text(self, column: Any, file: OpenFile, n_before: int) -> None:
        from pyarrow import types

        kind = column.type.value_type if types.is_dictionary(column.type) else None
        kind = kind or column.type
        if not is_any(kind, *TEXT):
            self.first = self.first or f"of type {kind}"
            return
        cells = [(cell or "").strip()[:_LENGTH] for cell in column.to_pylist()]
        known = missing_words(file.reading) if file.is_text else file.reading.marks
        pattern = number_pattern(file.reading.decimal or ".", file.reading.grouped)
        is_number = re.compile(pattern).search if file.is_text else lambda cell: None
        counts = Counter(cells)
        missing = {"", *known} & counts.keys()
        others = {c for c in counts if c not in missing and not is_number(c)}
        n_missing = sum(counts[cell] for cell in missing)
        n_others = sum(counts[cell] for cell in others)
        self.n_missing += n_missing
        self.n_others += n_others
        self.n_numbers += len(cells) - n_missing - n_others
        if others and not self.first:
            row = next(k for k, cell in enumerate(cells) if cell in others)
            shown = cells[row][:25] + "..." * (len(cells[row]) > 25)
            self.first = f"row {n_before + row + 1}: {shown!r}"
            self.is_date = bool(DATE.fullmatch(cells[row]))
        if len(self.levels) <= _LEVELS:
            self.levels |= counts.keys() - missing
        if len(self.others) <= _LEVELS:
            self.others |= others

    def advice(self, labels: set[str]) -> str | None:
        """Return the parameter that helps; None for numbers."""
        n = self.n_numbers + self.n_others
        if not self.first:
            return None if n else "exclude"
        if self._has_marks(n) and not labels & self.others:
            return "na"
        few = 1 < len(self.levels) <= min(_LEVELS, n // _ROWS_OF_LEVEL)
        return "categorical" if few and not self.is_date else "exclude"

    def _has_marks(self, n: int) -> bool:
        """Whether these are numbers, and marks of missing values."""
        if not self.n_numbers or not 0 < len(self.others) <= _MARKS:
            return False
        few = self.n_others <= max(1, _FEW * n)
        return all(
            MARK.fullmatch(cell)
            or (few and len(cell) <= LONGEST_MARK and not re.search(r"\d", cell))
            for cell in self.others
        )


class _Look:
    """A look at the first rows of all files."""

    def __init__(self, source: Any, wanted: Columns) -> None:
        self.columns: dict[str, _Column] = {}
        self.known = wanted.text  # to be categories
        self.labels: set[str] = set()
        self.marks: tuple[str, ...] = ()  # that are known
        self.where: str | None = None  # the first file with something else
        for file in open_source(source, replace(wanted, keep=True, batch_size=4096)):
            names = [n for n in file.columns.features or () if n not in self.known]
            self.columns = self.columns or {name: _Column() for name in names}
            self.marks = file.reading.marks
            self._add(file)
            if self.wrong and self.where is None:
                self.where = file.name

    def _add(self, file: OpenFile) -> None:
        n_rows, most = 0, min(_ROWS, _CELLS // max(1, len(self.columns)))
        for batch in file.batches:
            for name, column in self.columns.items():
                column.add(batch, name, file, n_rows)
            if file.columns.target is not None:
                labels = column_of(batch, file.columns.target, file).unique()
                self.labels.update(map(str, labels.to_pylist()))
            n_rows += batch.num_rows
            if n_rows >= most:
                break

    @property
    def wrong(self) -> list[str]:
        """Names of the columns with something that is not a number."""
        return [name for name, column in self.columns.items() if column.first]

    def advice(self) -> dict[str, str | None]:
        """The parameter that helps, by column."""
        return {name: one.advice(self.labels) for name, one in self.columns.items()}

    def error(self, wanted: Columns, for_gaps: str | None) -> NotNumbersError:
        """What is wrong, and the options that help."""
        advice = self.advice()
        wrong = {name: self.columns[name].first or "empty" for name in advice}
        wrong = {name: first for name, first in wrong.items() if advice[name]}
        cells = [f"{name[:40]!r} ({first})" for name, first in wrong.items()]
        more = f" and {len(cells) - _SHOWN} more" if cells[_SHOWN:] else ""
        verb = "is" if len(wrong) == 1 else "are"
        problem = (
            f"{self.where}: {count(len(wrong), 'column')} {verb} not all numbers: "
            f"{', '.join(cells[:_SHOWN])}{more}"
        )
        if not self.known and set(advice.values()) == {"exclude"}:
            return NotNumbersError(problem, ". Add columns of numbers or categories")
        if sum(map(len, wrong)) > _LONGEST:
            remedy = ". Select columns with ", Setting("columns")
            return NotNumbersError(problem, *remedy)
        return NotNumbersError(
            problem,
            ". Convert them to numbers, or leave them out with ",
            wanted.without(list(wrong)),
            options=self._options(advice, wanted, for_gaps),
            lead=". Correct the file, or add ",
        )

    def _options(
        self, advice: dict[str, str | None], wanted: Columns, for_gaps: str | None
    ) -> list[Setting]:
        """The options with which the other columns can be read."""
        names: dict[str | None, list[str]] = {}
        for name, parameter in advice.items():
            names.setdefault(parameter, []).append(name)
        marks = sorted({m for n in names.get("na", ()) for m in self.columns[n].others})
        options = [Setting("na", [*self.marks, *marks])] if marks else []
        if "categorical" in names:
            known = [*self.known, *names["categorical"]]
            options.append(Setting("categorical", known))
        if "exclude" in names:
            options.append(wanted.without(names["exclude"]))
        used = (one for n, one in self.columns.items() if advice[n] != "exclude")
        if for_gaps and (marks or any(one.n_missing for one in used)):
            options.append(Setting("missing", for_gaps))
        return options
