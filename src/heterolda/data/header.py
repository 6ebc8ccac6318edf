"""First lines that name columns, unless they are rows."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from heterolda.data.columns import Columns
from heterolda.data.not_numbers import (
    ReadingError,
    ReadingNote,
    Setting,
    number_pattern,
)
from heterolda.data.reading import Reading
from heterolda.foundations.wording import named

_MANY = 10  # numbers that increase are wavelengths, or numbers of columns
_MOST = 0.75  # share of numbers among names
_NUMBER = re.compile(number_pattern("."))


def resolved_by_header(
    columns: Columns,
    names: Sequence[str],
    where: str,
    reading: Reading,
    unnamed: Sequence[str] = (),
) -> Columns:
    """All columns named; a note or an error if the names seem to be a row."""
    is_row = reading.header and looks_like_a_row(names)
    taken = f"was read as column names, {named(names, 3)}"
    options = [Setting("no_header")]
    advice: dict[str, Any] = {
        "options": options,
        "lead": "; if it is a row, add ",
        "advice": f"; the columns are then column_1 to column_{len(names)}",
    }
    remedy = "; if it is a row, write a line of names before it"
    try:
        resolved = columns.resolve(names, where, unnamed)
    except ValueError as error:
        if not is_row:
            raise
        problem = f"{str(error).partition(';')[0]}; its first line {taken}"
        words = [k for k, name in enumerate(names, 1) if not _NUMBER.search(name)]
        if columns.target not in (None, *names) and len(words) == 1:
            options.append(Setting("target", f"column_{words[0]}"))
        raise ReadingError(problem, remedy, **advice) from error
    if is_row and columns.features is None:
        problem = f"the first line of {where} {taken}"
        warnings.warn(ReadingNote(problem, remedy, **advice), stacklevel=2)
    return resolved


def looks_like_a_row(names: Sequence[str]) -> bool:
    """Whether most names are numbers, but neither count nor increase for long."""
    numbers = [float(name) for name in names if _NUMBER.search(name)]
    if len(numbers) < max(2, min(_MOST * len(names), len(names) - 1)):
        return False
    steps = {b - a for a, b in pairwise(numbers)}
    return steps != {1} and not (len(numbers) >= _MANY and min(steps) > 0)
