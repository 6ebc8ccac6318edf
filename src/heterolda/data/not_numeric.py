"""Report all columns that must be numeric and are not in one message."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from heterolda.data.formats import number_pattern
from heterolda.data.table import File
from heterolda.foundations.wording import count, named

# Likely NA strings, in addition to those that are always recognized.
_LIKELY_NA = re.compile(
    r"[^\w\s]{1,3}|n[./]?[adks][./]?|missing|unknown", re.IGNORECASE
)
_WORD = re.compile(r"\D{1,30}")
_DATE = re.compile(
    r"(\d{1,4}[-/. ](\d{1,2}|[a-z]{3,9})[-/. ]\d{1,4}|\d{1,2}:\d{2})\b.*", re.IGNORECASE
)
# A number, perhaps with signs or a unit around it: "<0.1", "5 mm", "$3.95", "1,5".
AMOUNT = re.compile(r"[^\w\s]{0,3}\s?\d+([.,]\d+){0,2}\D{0,15}")
_LENGTH = 100  # characters of a cell that are compared
_MAX_NA_STRINGS = 5  # of a column
_MAX_NA_SHARE = 0.1  # of the cells, for ordinary words as NA strings
_MAX_WRONG_SHARE = 0.5  # of the cells of a column of amounts
_MAX_LEVELS, _MIN_ROWS_PER_LEVEL = 50, 3
_SHOWN = 20  # columns in a message
TEXT = "string", "large_string", "string_view"  # types, as Arrow calls them


def is_any(kind: Any, *names: str) -> bool:
    """Return whether the type of a column has one of these names in Arrow."""
    from pyarrow import types

    return any(getattr(types, f"is_{name}")(kind) for name in names)


class NotNumericError(ValueError):
    """Columns that must be numeric are not; `options` are those that help."""

    def __init__(
        self, problem: str, remedy: str = "", options: dict[str, Any] | None = None
    ) -> None:
        super().__init__(problem + remedy)
        self.problem, self.options = problem, options or {}


class _Column:
    """The cells of a column, and the option that helps, "mend", or None."""

    def __init__(self, column: Any, file: File, n_before: int) -> None:
        kind, text = column.type, file.format
        kind = kind.value_type if is_any(kind, "dictionary") else kind
        self.words: Counter[str] = Counter()  # cells that are not numbers
        self.has_missing, self.remedy = column.null_count > 0, None
        self.is_date = is_any(kind, "temporal")
        if is_any(kind, "floating", "integer", "boolean", "decimal"):
            return
        if not is_any(kind, *TEXT):
            self.shown, self.remedy = f"of type {kind}", "exclude"
            return
        missing = {"", *(text.missing_words if file.is_text else text.na)}
        column = column.dictionary_encode()  # a long text may be repeated in all rows
        words = [(w or "").strip()[:_LENGTH] for w in column.dictionary.to_pylist()]
        values = ["" if k is None else words[k] for k in column.indices.to_pylist()]
        cells = Counter(value for value in values if value not in missing)
        self.has_missing = cells.total() < len(values)
        is_number = number_pattern(text.decimal or ".", text.grouped).fullmatch
        self.words = Counter(
            {w: n for w, n in cells.items() if not (file.is_text and is_number(w))}
        )
        self.shown = "empty"
        if self.words:
            first = next(iter(self.words))
            shown = repr(first[:25] + "..." * (len(first) > 25))
            self.is_date = _DATE.fullmatch(first) is not None
            self.shown = f"row {n_before + values.index(first) + 1}: {shown}"
        if self.words or not cells:
            self.remedy = _remedy(cells, self.words, self.is_date)


def _remedy(cells: Counter[str], words: Counter[str], is_date: bool) -> str:
    """Return what helps if some cells of a column are not numbers."""
    n, n_words = cells.total(), words.total()
    few = n_words <= max(1, _MAX_NA_SHARE * n)
    may_be_na = n_words < n and len(words) <= _MAX_NA_STRINGS
    if may_be_na and all(
        _LIKELY_NA.fullmatch(w) or (few and _WORD.fullmatch(w)) for w in words
    ):
        return "na"
    if n_words < n and few:
        return "mend"
    if is_date or not n:
        return "exclude"
    if 1 < len(cells) <= min(_MAX_LEVELS, n // _MIN_ROWS_PER_LEVEL):
        return "categorical"
    n_wrong = sum(k for word, k in words.items() if not AMOUNT.fullmatch(word))
    return "mend" if n_wrong <= _MAX_WRONG_SHARE * n else "exclude"


def not_numeric(columns: dict[str, Any], file: File, n_before: int) -> NotNumericError:
    """Return the error that names the wrong columns and the options that help."""
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
    mended, levels, dropped = (
        [name for name, column in wrong.items() if column.remedy == remedy]
        for remedy in ("mend", "categorical", "exclude")
    )
    if mended:
        problem += f". Write plain numbers in {named(mended, _SHOWN)}"
    if len(mended) == len(wrong):
        return NotNumericError(problem)
    problem += ". Correct the others" if mended else ". Correct the file"
    if any(wrong[name].is_date for name in dropped):
        problem += " (in place of dates, days since a start, for instance)"
    if len(dropped) == len(counted) and not table.categorical:
        return NotNumericError(f"{problem}, or add columns of numbers")
    options: dict[str, Any] = {}
    na_strings = {word for c in wrong.values() if c.remedy == "na" for word in c.words}
    if na_strings:
        options["na"] = [*file.format.na, *sorted(na_strings)]
    if levels:
        options["categorical"] = [*table.categorical, *levels]
    if dropped:
        options |= table.without(dropped)
    has_missing = any(
        c.has_missing for name, c in counted.items() if name not in dropped
    )
    if table.advice and (na_strings or has_missing):
        options["missing"] = table.advice
    remedy = ""
    if levels or dropped:  # in Python, which has no option for categories
        ((parameter, value),) = table.without([*levels, *dropped]).items()
        remedy = f", or use {parameter}={value!r}"
    return NotNumericError(problem, remedy, options)
