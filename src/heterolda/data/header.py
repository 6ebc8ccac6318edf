"""First lines that name columns, unless they are rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from heterolda.data.layout import Layout
from heterolda.data.not_numeric import number_pattern
from heterolda.data.notes import warn_of_reading
from heterolda.data.table import Table
from heterolda.foundations.wording import named

_MANY = 10  # numbers that increase are wavelengths, or numbers of columns
_MOST = 0.75  # share of numbers among names
_NUMBER = re.compile(number_pattern("."))


def resolved_by_header(table: Table, layout: Layout, where: str) -> Table:
    """Return the table with all columns named; say so if the names may be a row."""
    names = layout.names
    is_row = layout.format.header and looks_like_a_row(names)
    taken = f"was read as column names, {named(names, 3)}"
    options = "--no-header"
    columns = (
        ", or write a line of names before it; the columns are then column_1 to "
        f"column_{len(names)}"
    )
    try:
        resolved = table.resolve(names, where, layout.unnamed)
    except ValueError as error:
        if not is_row:
            raise
        problem = f"{str(error).partition(';')[0]}; its first line {taken}"
        words = [k for k, name in enumerate(names, 1) if not _NUMBER.search(name)]
        if table.target not in (None, *names) and len(words) == 1:
            options += f" --target column_{words[0]}"
        remedy = f"; if it is a row, add {options}{columns}"
        raise ValueError(f"{problem}{remedy}") from error
    if is_row and table.columns is None:
        remedy = f"; if it is a row, add {options}{columns}"
        warn_of_reading(f"the first line of {where} {taken}{remedy}")
    return resolved


def looks_like_a_row(names: Sequence[str]) -> bool:
    """Return whether most names are numbers that neither count nor increase long."""
    numbers = [float(name) for name in names if _NUMBER.search(name)]
    if len(numbers) < max(2, min(_MOST * len(names), len(names) - 1)):
        return False
    steps = {b - a for a, b in pairwise(numbers)}
    return steps != {1} and not (len(numbers) >= _MANY and min(steps) > 0)
