"""Numbers, labels and tables as text, and the strings that parameters accept.

This file imports only the standard library, so that commands print their help at once.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Strings that parameters accept.
CRITERIA = ("bayes", "minimax", "neyman-pearson")
MULTICLASS = ("ovo", "ovr")
VOTINGS = ("probability", "weighted", "majority")
MISSING = ("error", "em")
MISSING_IN_FILES = ("error", "drop", "em")
PROJECTIONS = ("error", "chernoff", "fisher")


def text_table(table: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table: first column left-aligned, others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


class Markup(str):
    """Text that is already HTML."""

    __slots__ = ()


def escape(text: str) -> str:
    """Return text as HTML."""
    return html.escape(printable(text))


def named(labels: Sequence[Any] | NDArray[Any], max_shown: int = 5) -> str:
    """Return the first labels and the number of others: 'a', 'b' and 1 more."""
    first = labels[:max_shown]
    first = first if isinstance(first, Sequence) else first.tolist()
    return ", ".join(map(repr, first)) + _more(len(labels) - max_shown)


def names_text(names: Sequence[str], max_shown: int = 20) -> str:
    """Return the first names, without quotes: a, b and 1 more."""
    return ", ".join(names[:max_shown]) + _more(len(names) - max_shown)


def listed(labels: NDArray[Any], max_shown: int = 10) -> str:
    """Return labels or indices as a short Python list: [0, 1] and 298 more."""
    return f"{labels[:max_shown].tolist()}{_more(len(labels) - max_shown)}"


def _more(number: int) -> str:
    return f" and {number} more" if number > 0 else ""


def percent(share: float) -> str:
    """Return a share in percent, with more digits if it is small: 12.3 %, 0.12 %."""
    value = round(100 * share, 9)  # so that rounding errors do not show
    if share > 0 and value < 0.0005:
        return "< 0.001 %"
    digits = 1 if value >= 1 or value == 0 else 2 if value >= 0.1 else 3
    return f"{value:.{digits}f} %"


def points(difference: float) -> str:
    """Return a difference of shares in percentage points: 0.12 points."""
    return percent(difference).replace(" %", " points")


def amount(number: float) -> str:
    """Return a rounded number of rows, or weight: 12,345, 163.5, 0.0517."""
    if 0 < number < 1:
        return f"{number:.3g}"
    return f"{number:,.1f}".removesuffix(".0")


def count(number: float, noun: str) -> str:
    """Return a number with its noun, in the plural if needed: 1 row, 2 classes."""
    digits = amount(number)
    ending = "" if digits == "1" else "es" if noun.endswith("s") else "s"
    return f"{digits} {noun}{ending}"


def printable(text: str, max_length: int | None = None) -> str:
    """Return text that is safe for a terminal, with the middle cut if it is too long.

    Unprintable characters other than line feeds are escaped: they may change colors or
    the direction of writing.
    """
    if max_length is not None and len(text) > max_length:
        half = max_length // 2
        text = f"{text[: max_length - half - 1]} [...] {text[len(text) - half + 1 :]}"
    if text.isprintable():
        return text
    return "".join(
        c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode()
        for c in text
    )
