"""One message for columns that must be numeric and are not."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from heterolda.data.table import File
from heterolda.foundations.wording import count

# What people write for a missing value, in addition to what is read as such anyway.
_MARK = re.compile(r"[^\w\s]{1,3}|n[./]?[adks][./]?|missing|unknown", re.IGNORECASE)
_WORD = re.compile(r"\D{1,30}")
_DATE = re.compile(
    r"(\d{1,4}[-/. ](\d{1,2}|[a-z]{3,9})[-/. ]\d{1,4}|\d{1,2}:\d{2})\b.*", re.IGNORECASE
)
_LENGTH = 100  # characters of a cell that count
# A column has few NA strings, and these are in few cells.
_MARKS, _FEW = 5, 0.1
# Categories have no more levels, and each has so many rows on average.
_LEVELS, _ROWS_OF_LEVEL = 50, 3
_SHOWN = 20  # columns in a message


class NotNumericError(ValueError):
    """Columns that must be numeric are not.

    The message is the problem and a remedy for callers of the library. `options` are
    those of the command line that help, with their values.
    """

    def __init__(
        self, problem: str, remedy: str = "", options: dict[str, Any] | None = None
    ) -> None:
        super().__init__(problem + remedy)
        self.problem, self.options = problem, options or {}


def number_pattern(decimal: str, grouped: bool = False) -> str:
    """Return a regular expression for numbers, perhaps with groups of thousands."""
    digits = rf"(\d+[{decimal}]?\d*|[{decimal}]\d+)(e[+-]?\d+)?"
    if grouped:
        group = "," if decimal == "." else "."
        digits += rf"|\d{{1,3}}([{group}]\d{{3}})+([{decimal}]\d*)?"
    return rf"(?i)^[+-]?({digits}|inf(inity)?|nan)$"


@dataclass
class _Column:
    """The cells of a column, counted by kind."""

    first: str = ""  # the first that is not a number, with its row
    n_missing: int = 0
    n_numbers: int = 0
    cells: set[str] = field(default_factory=set)
    others: Counter[str] = field(default_factory=Counter)  # those that are not numbers

    @classmethod
    def of(cls, column: Any, file: File, n_before: int) -> _Column:
        """Look at all cells; columns that are neither text nor numbers have a type."""
        from pyarrow import types

        kind = column.type
        kind = kind.value_type if types.is_dictionary(kind) else kind
        if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind):
            return cls("", column.null_count, len(column) - column.null_count)
        if not (types.is_string(kind) or types.is_large_string(kind)):
            return cls(f"of type {kind}")
        made, text = cls(), file.format
        missing = {"", *(text.missing_words if file.is_text else text.na)}
        is_number = re.compile(number_pattern(text.decimal or ".", text.grouped)).search
        for row, value in enumerate(column.to_pylist(), n_before + 1):
            cell = (value or "").strip()[:_LENGTH]
            if cell in missing:
                made.n_missing += 1
                continue
            made.cells.add(cell)
            if file.is_text and is_number(cell):
                made.n_numbers += 1
                continue
            made.others[cell] += 1
            shown = cell[:25] + "..." * (len(cell) > 25)
            made.first = made.first or f"row {row}: {shown!r}"
        return made

    def remedy(self) -> str | None:
        """Return the option that helps; None for numbers."""
        n = self.n_numbers + self.others.total()
        if not self.first:
            return None if n else "exclude"
        if self.n_numbers and 0 < len(self.others) <= _MARKS:
            few = self.others.total() <= max(1, _FEW * n)
            if all(
                _MARK.fullmatch(cell) or (few and _WORD.fullmatch(cell))
                for cell in self.others
            ):
                return "na"
        is_date = _DATE.fullmatch(next(iter(self.others), ""))
        few = 1 < len(self.cells) <= min(_LEVELS, n // _ROWS_OF_LEVEL)
        return "categorical" if few and not is_date else "exclude"

    def has_decimals(self, mark: str) -> bool:
        """Return whether all other cells are numbers with this decimal mark."""
        is_number = re.compile(number_pattern(mark)).search
        return bool(self.others) and all(map(is_number, self.others))


def not_numeric(columns: dict[str, Any], file: File, n_before: int) -> NotNumericError:
    """Return the error that names the columns, and the options that help.

    The columns are all that should be numeric, of a batch in which some are not.
    """
    table = file.table
    counted = {name: _Column.of(c, file, n_before) for name, c in columns.items()}
    remedies = {name: column.remedy() for name, column in counted.items()}
    wrong = {name: counted[name] for name, remedy in remedies.items() if remedy}
    cells = [f"{name[:40]!r} ({c.first or 'empty'})" for name, c in wrong.items()]
    more = f" and {len(cells) - _SHOWN} more" if cells[_SHOWN:] else ""
    problem = (
        f"{file.name}: {count(len(wrong), 'column')} "
        f"{'is' if len(wrong) == 1 else 'are'} not all numbers: "
        f"{', '.join(cells[:_SHOWN])}{more}"
    )
    marked, levels, out = (
        [name for name in wrong if remedies[name] == remedy]
        for remedy in ("na", "categorical", "exclude")
    )
    if len(out) == len(counted) and not table.text:
        return NotNumericError(problem, ". Add columns of numbers or categories")
    parameter, value = table.without(list(wrong))
    remedy = f". Convert them to numbers, or leave them out with {parameter}={value!r}"
    other: Any = "." if file.format.decimal == "," else ","
    if table.format.decimal is None and any(
        column.has_decimals(other) for column in wrong.values()
    ):
        return NotNumericError(problem, remedy, {"decimal": other})
    options: dict[str, Any] = {}
    marks = {cell for name in marked for cell in counted[name].others}
    if marks:
        options["na"] = [*file.format.na, *sorted(marks)]
    if levels:
        options["categorical"] = [*table.text, *levels]
    if out:
        options |= [table.without(out)]
    has_missing = any(c.n_missing for name, c in counted.items() if name not in out)
    if table.advice and (marks or has_missing):
        options["missing"] = table.advice
    return NotNumericError(problem, remedy, options)
