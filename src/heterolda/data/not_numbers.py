"""Cells that are not numbers: what they may be; messages that say what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from heterolda.data.reading import Reading
from heterolda.exceptions import ReadingWarning

# What people write for a missing value, beside what is read as such anyway.
MARK = re.compile(
    r"[^\w\s]{1,3}|n[./]?[adks][./]?|not? (data|value)|none|nil|void|missing|unknown"
    r"|undefined|#?(div/0|value|ref|name|num)[!?]?",
    re.IGNORECASE,
)
LONGEST_MARK = 30  # characters
_DAY = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/. ](\d{1,2}|[a-z]{3,9})[-/. ]\d{2,4}"
_TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[ap]m)?( ?(z|utc|[+-]\d{2}:?\d{2}))?"
DATE = re.compile(rf"({_DAY})([t ]+{_TIME})?|{_TIME}", re.IGNORECASE)


def number_pattern(decimal: str, grouped: bool = False) -> str:
    """A regular expression for numbers in text, perhaps with groups of thousands."""
    digits = rf"(\d+[{decimal}]?\d*|[{decimal}]\d+)(e[+-]?\d+)?"
    if grouped:
        group = "," if decimal == "." else "."
        digits += rf"|\d{{1,3}}([{group}]\d{{3}})+([{decimal}]\d*)?"
    return rf"(?i)^[+-]?({digits}|inf(inity)?|nan)$"


def other_decimal(reading: Reading) -> str:
    """The decimal mark that a file does not seem to have."""
    return "." if reading.decimal == "," else ","


@dataclass(frozen=True)
class Setting:
    """A parameter with a value that helps, or an option without one."""

    parameter: str
    value: object = None

    def __str__(self) -> str:
        return self.parameter + ("" if self.value is None else f"={self.value!r}")


class _AdvisesOptions(Exception):
    """A message for those who call the library, and another for those at a shell.

    A command says `problem`, `lead`, the `options` to add, and `advice` after them.
    """

    def __init__(
        self,
        problem: str,
        remedy: str = "",
        *,
        options: Iterable[Setting] = (),
        lead: str = ". Add ",
        advice: str = "",
    ) -> None:
        super().__init__(problem + remedy)
        self.problem, self.lead, self.advice = problem, lead, advice
        self.options = tuple(options)


class ReadingError(_AdvisesOptions, ValueError):
    """A file is not as it should be."""


class ReadingNote(_AdvisesOptions, ReadingWarning):
    """A file may not be what it was taken for."""


class NotNumbersError(ReadingError):
    """A column that must be numbers has something else."""

    def complete(self, advice: str | None) -> None:
        """Advise what to do about gaps, a value of `missing`, unless it is None."""
        if advice and any(s.parameter == "na" for s in self.options):
            self.options += (Setting("missing", advice),)


def not_a_number(
    where: str, column: str, row: int, value: str, reading: Reading
) -> NotNumbersError:
    """The error for a cell; rows are counted from 1, without the header."""
    text, other = value.strip(), other_decimal(reading)
    problem = (
        f"{where}: column {column!r} must be numbers, but row {row} has {value!r:.60}"
    )
    if re.search(number_pattern(other), text):
        words = "write a decimal point" if other == "," else "write a decimal comma"
        return NotNumbersError(
            problem, f"; {words}", options=[Setting("decimal", other)]
        )
    if not 0 < len(text) <= LONGEST_MARK:
        return NotNumbersError(problem)
    return NotNumbersError(
        problem,
        ": if it stands for a missing value, leave the cell empty",
        options=[Setting("na", (*reading.marks, text))],
        lead=": correct it or, if it stands for a missing value, add ",
    )
