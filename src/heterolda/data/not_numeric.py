"""One message for columns that must be numeric and are not."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from heterolda.data.formats import number_pattern
from heterolda.data.table import File
from heterolda.foundations.wording import count

# Strings for missing values, besides those that are always recognized.
_MARK = re.compile(r"[^\w\s]{1,3}|n[./]?[adks][./]?|missing|unknown", re.IGNORECASE)
_WORD = re.compile(r"\D{1,30}")
_DATE = re.compile(
    r"(\d{1,4}[-/. ](\d{1,2}|[a-z]{3,9})[-/. ]\d{1,4}|\d{1,2}:\d{2})\b.*", re.IGNORECASE
)
_LENGTH = 100  # characters of a cell that count
# A column has few NA strings, and these are in few cells.
_MARKS, _FEW = 5, 0.1
# The most levels of a category, and the fewest rows per level on average.
_LEVELS, _ROWS_OF_LEVEL = 50, 3
_SHOWN = 20  # columns in a message
TEXT = "string", "large_string", "string_view"  # types, as Arrow calls them


def is_any(kind: Any, *names: str) -> bool:
    """Return whether the type of a column is one of those that Arrow calls so."""
    from pyarrow import types

    return any(getattr(types, f"is_{name}")(kind) for name in names)


class NotNumericError(ValueError):
    """Columns that must be numeric are not.

    The message is the problem and a remedy for callers of the library. `options` are
    those of the command line that help, with their values.
    """

    def __init__(self, problem: str, remedy: str, options: dict[str, Any]) -> None:
        super().__init__(problem + remedy)
        self.problem, self.options = problem, options


class _Column:
    """The cells of a column, counted, and the option that helps; None for numbers."""

    def __init__(self, column: Any, file: File, n_before: int) -> None:
        kind, text = column.type, file.format
        kind = kind.value_type if is_any(kind, "dictionary") else kind
        self.words: Counter[str] = Counter()  # cells that are not numbers
        self.has_missing, self.remedy = column.null_count > 0, None
        if is_any(kind, "floating", "integer", "boolean", "decimal"):
            return
        if not is_any(kind, *TEXT):
            self.shown, self.remedy = f"of type {kind}", "exclude"
            return
        missing = {"", *(text.missing_words if file.is_text else text.na)}
        values = [(value or "").strip()[:_LENGTH] for value in column.to_pylist()]
        cells = Counter(value for value in values if value not in missing)
        self.has_missing = cells.total() < len(values)
        is_number = number_pattern(text.decimal or ".", text.grouped).fullmatch
        for cell, n in cells.items():
            if not (file.is_text and is_number(cell)):
                self.words[cell] = n
        self.shown = "empty"
        if self.words:
            first = next(iter(self.words))
            shown = first[:25] + "..." * (len(first) > 25)
            self.shown = f"row {n_before + values.index(first) + 1}: {shown!r}"
        if self.words or not cells:
            self.remedy = _remedy(cells, self.words)


def _remedy(cells: Counter[str], words: Counter[str]) -> str:
    """Return the option that helps with a column of cells, some not numbers."""
    n = cells.total()
    if words.total() < n and len(words) <= _MARKS:
        few = words.total() <= max(1, _FEW * n)
        if all(_MARK.fullmatch(w) or (few and _WORD.fullmatch(w)) for w in words):
            return "na"
    is_date = _DATE.fullmatch(next(iter(words), ""))
    few = 1 < len(cells) <= min(_LEVELS, n // _ROWS_OF_LEVEL)
    return "categorical" if few and not is_date else "exclude"


def not_numeric(columns: dict[str, Any], file: File, n_before: int) -> NotNumericError:
    """Return the error that names the columns, and the options that help.

    The columns are all that should be numeric, of a batch in which some are not.
    """
    table = file.table
    counted = {name: _Column(c, file, n_before) for name, c in columns.items()}
    wrong = {name: column for name, column in counted.items() if column.remedy}
    cells = [f"{name[:40]!r} ({column.shown})" for name, column in wrong.items()]
    more = f" and {len(cells) - _SHOWN} more" if cells[_SHOWN:] else ""
    problem = (
        f"{file.name}: {count(len(wrong), 'column')} "
        f"{'is' if len(wrong) == 1 else 'are'} not all numbers: "
        f"{', '.join(cells[:_SHOWN])}{more}"
    )
    levels, out = (
        [name for name, column in wrong.items() if column.remedy == remedy]
        for remedy in ("categorical", "exclude")
    )
    if len(out) == len(counted) and not table.categorical:
        remedy = ". Convert them to numbers, or add columns that are"
        return NotNumericError(problem, remedy, {})
    options: dict[str, Any] = {}
    marks = {word for c in wrong.values() if c.remedy == "na" for word in c.words}
    if marks:
        options["na"] = [*file.format.na, *sorted(marks)]
    if levels:
        options["categorical"] = [*table.categorical, *levels]
    if out:
        options |= [table.without(out)]
    has_missing = any(c.has_missing for name, c in counted.items() if name not in out)
    if table.advice and (marks or has_missing):
        options["missing"] = table.advice
    parameter, value = table.without(list(wrong))
    remedy = f". Convert them to numbers, or leave them out with {parameter}={value!r}"
    return NotNumericError(problem, remedy, options)
