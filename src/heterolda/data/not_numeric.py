"""Report all columns that must be numeric and are not in one message."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from heterolda.data.formats import Format, number_pattern
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
# A number, and a sign or a unit around it: "<0.1", "5 mm", "$3.95", "1,5".
_AMOUNT = re.compile(
    r"([^\w\s.,+-]{0,3})\s?[+-]?\d+([.,]\d+){0,2}(?:e[+-]?\d+)?\s?(\D{0,15})",
    re.IGNORECASE,
)
_UNIT_SHARE = 0.8  # of the cells have the same unit
_LENGTH = 100  # characters of a cell that are compared
_MAX_NA_STRINGS = 5  # of a column
_MAX_NA_SHARE = 0.1  # of the cells, for ordinary words as NA strings
_MAX_WRONG_SHARE = 0.5  # of the cells of a column of numbers
_MAX_LEVELS, _MIN_ROWS_PER_LEVEL = 50, 3
_SHOWN = 20  # columns in a message
TEXT = "string", "large_string", "string_view"  # types, as Arrow calls them


def is_any(kind: Any, *names: str) -> bool:
    """Return whether the type of a column has one of these names in Arrow."""
    from pyarrow import types

    return any(getattr(types, f"is_{name}")(kind) for name in names)


class NotNumericError(ValueError):
    """Columns that must be numeric are not.

    The message states the problem, how to correct the file, and a remedy in Python.
    `options` are the command-line options that help, with their values; `joint` comes
    between the correction and them.
    """

    def __init__(
        self,
        problem: str,
        *,
        exclude: str = "",
        joint: str = "",
        options: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{problem}{joint}use {exclude}" if exclude else problem)
        self.problem, self.joint, self.options = problem, joint, options or {}


class _Column:
    """Count the cells of a column and find what helps; None for numbers.

    The remedy is an option, or "mend" if numbers are spoilt by some cells or a unit.
    """

    def __init__(self, column: Any, file: File, n_before: int) -> None:
        kind, text = column.type, file.format
        kind = kind.value_type if is_any(kind, "dictionary") else kind
        self.words: Counter[str] = Counter()  # cells that are not numbers
        self.has_missing, self.remedy = column.null_count > 0, None
        self.is_date, self.has_mark = is_any(kind, "temporal"), False
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
        mark = text.decimal or "."
        is_number = number_pattern(mark, text.grouped).fullmatch
        numbers = list(filter(is_number, cells))
        self.words = Counter(cells)
        if file.is_text:
            self.has_mark = any(mark in number for number in numbers)
            for number in numbers:
                del self.words[number]
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
    if not is_date:
        if 1 < len(cells) <= min(_MAX_LEVELS, n // _MIN_ROWS_PER_LEVEL):
            return "categorical"
        if 0 < n_words <= _MAX_WRONG_SHARE * n or have_a_unit(words):
            return "mend"
    return "exclude"


def have_a_unit(words: Counter[str]) -> bool:
    """Return whether most cells are a number with the same sign or unit, or none."""
    units: Counter[tuple[str, str]] = Counter()
    for word, n in words.items():
        if amount := _AMOUNT.fullmatch(word):
            units[amount[1], amount[3]] += n
    return max(units.values(), default=0) > _UNIT_SHARE * words.total() > 0


def not_numeric(columns: dict[str, Any], file: File, n_before: int) -> NotNumericError:
    """Return the error that names the wrong columns and the options that help.

    `columns` are all columns of a batch that should be numeric.
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
    mended, levels, dropped = (
        [name for name, column in wrong.items() if column.remedy == remedy]
        for remedy in ("mend", "categorical", "exclude")
    )
    options: dict[str, Any] = {}
    is_start = file.is_text and not n_before
    if mended and is_start and _have_other_mark(counted, mended, file.format):
        mended, options["decimal"] = [], "," if file.format.decimal == "." else "."
    problem += ". Correct the file"
    if mended:
        problem += f": write plain numbers in {named(mended, _SHOWN)}"
    if any(wrong[name].is_date for name in dropped):
        problem += " (in place of dates, days since a start, for instance)"
    if len(mended) == len(wrong):
        return NotNumericError(problem)
    if len(dropped) == len(counted) and not table.categorical:
        return NotNumericError(f"{problem}, or add columns of numbers")
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
    excluded = ""  # in Python, which has no option for categories
    if levels or dropped:
        ((parameter, value),) = table.without([*levels, *dropped]).items()
        excluded = f"{parameter}={value!r}"
    joint = "; for the other columns, " if mended else ", or "
    return NotNumericError(problem, exclude=excluded, joint=joint, options=options)


def _have_other_mark(
    counted: dict[str, _Column], names: list[str], text: Format
) -> bool:
    """Return whether these columns have the other decimal mark, and all fit it."""
    if text.grouped or any(column.has_mark for column in counted.values()):
        return False
    words = [word for name in names for word in counted[name].words]
    other = number_pattern("," if text.decimal == "." else ".").fullmatch
    are_thousands = all(
        re.fullmatch(r"[+-]?[1-9]\d{0,2}([.,]\d{3})+", w) for w in words
    )
    return all(map(other, words)) and not are_thousands
