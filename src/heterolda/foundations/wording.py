"""Numbers, labels and tables in words, and the words that parameters may be.

No other package is imported here, so that a command can print its help at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The words that parameters may be: one list for the library and the command line.
SOLVER_NAMES = ("global", "fixed-point", "c-hld", "r-hld-1", "r-hld-2", "fisher")
CRITERIA = ("bayes", "minimax", "neyman-pearson")
MULTICLASS = ("ovo", "ova")
# The last is for searches only, which have rules that know no covariances.
VOTINGS = ("weighted", "majority")
MISSING = ("error", "em")
MISSING_IN_FILES = ("error", "drop", "em")
PROJECTIONS = ("error", "chernoff", "fisher")


def text_table(table: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, the first column flush left, others right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def _escaped(text: str) -> str:
    return text if isinstance(text, Markup) else escape(text)


def html(*parts: str) -> str:
    """Return paragraphs of text, and markup as it is, for notebooks."""
    shown = [
        part if isinstance(part, Markup) else f"<p>{escape(part)}</p>" for part in parts
    ]
    return f"<div>{''.join(shown)}</div>"


def html_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], most: int | None = None
) -> Markup:
    """Return a table as HTML, with `most` rows and the number of the others."""
    heads = "".join(f'<th scope="col">{_escaped(cell)}</th>' for cell in head)
    lines = [
        f'<tr><th scope="row">{_escaped(first)}</th>'
        + "".join(f"<td>{_escaped(cell)}</td>" for cell in cells)
        + "</tr>"
        for first, *cells in rows[:most]
    ]
    more = _more(len(rows) - len(lines)).strip()
    return Markup(
        f"<table><thead><tr>{heads}</tr></thead><tbody>\n"
        + "\n".join(lines)
        + "\n</tbody></table>"
        + (f"<p>{more}</p>" if more else "")
    )


def named(labels: Sequence[Any] | NDArray[Any], most: int = 5) -> str:
    """Return a few labels and how many more there are: 'a', 'b' and 1 more."""
    first = labels[:most]
    first = first if isinstance(first, Sequence) else first.tolist()
    return ", ".join(map(repr, first)) + _more(len(labels) - most)


def names_text(names: Sequence[str], most: int = 20) -> str:
    """Return a few names without quotes: a, b and 1 more."""
    return ", ".join(names[:most]) + _more(len(names) - most)


def listed(labels: NDArray[Any], most: int = 10) -> str:
    """Return labels or indices as a short Python list: [0, 1] and 298 more."""
    return f"{labels[:most].tolist()}{_more(len(labels) - most)}"


def _more(number: int) -> str:
    return f" and {number} more" if number > 0 else ""


def percent(share: float) -> str:
    """Return a share in percent, with more digits for smaller ones: 12.3 %, 0.12 %."""
    value = round(100 * share, 9)  # 0.1 is shown alike from above and from below
    if share > 0 and value < 0.0005:
        return "< 0.001 %"
    digits = 1 if value >= 1 or value == 0 else 2 if value >= 0.1 else 3
    return f"{value:.{digits}f} %"


def points(difference: float) -> str:
    """Return a difference of shares in percentage points: 0.12 points."""
    return percent(difference).replace(" %", " points")


def amount(number: float) -> str:
    """Return a number of rows or a weight, rounded: 12,345, 163.5, 0.0517."""
    if 0 < number < 1:
        return f"{number:.3g}"
    return f"{number:,.1f}".removesuffix(".0")


def count(number: float, what: str) -> str:
    """Return a number of things with commas: 1 row, 12,345 rows, 2 classes."""
    digits = amount(number)
    ending = "" if digits == "1" else "es" if what.endswith("s") else "s"
    return f"{digits} {what}{ending}"


def printable(text: str, longest: int | None = None) -> str:
    """Return text that is safe for a terminal, cut in its middle if too long.

    Line feeds stay; other characters that do not print, such as those that change
    colors or the direction of writing, are escaped.
    """
    if longest is not None and len(text) > longest:
        half = longest // 2
        text = f"{text[: longest - half - 1]} [...] {text[len(text) - half + 1 :]}"
    if text.isprintable():
        return text
    return "".join(
        c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode()
        for c in text
    )
