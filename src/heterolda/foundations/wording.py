"""Numbers, labels and tables in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["aligned", "count", "listed", "named", "percent", "printable"]


def aligned(table: Sequence[Sequence[str]]) -> list[str]:
    r"""Lines of a table, the first column to the left and the others to the right.

    Parameters
    ----------
    table : sequence of rows
        Cells.

    Returns
    -------
    list of str
        Lines of equal columns.

    Examples
    --------
    >>> from heterolda.foundations.wording import aligned
    >>> print(*aligned([["pair", "error"], ["a, b", "1.0 %"]]), sep="\n")
    pair  error
    a, b  1.0 %
    """
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def named(labels: Sequence[Any] | NDArray[Any], most: int = 5) -> str:
    """A few labels, and how many more there are.

    Parameters
    ----------
    labels : sequence or ndarray
        Labels.
    most : int, default=5
        How many are named.

    Returns
    -------
    str
        Words.

    Examples
    --------
    >>> from heterolda.foundations.wording import named
    >>> named(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    given = labels.tolist() if isinstance(labels, np.ndarray) else labels
    return ", ".join(map(repr, given[:most])) + _more(len(labels) - most)


def listed(labels: NDArray[Any], most: int = 10) -> str:
    """A list of labels or indices as Python writes it, but never a long one.

    Parameters
    ----------
    labels : ndarray
        Labels.
    most : int, default=10
        How many are listed.

    Returns
    -------
    str
        Words.

    Examples
    --------
    >>> import numpy as np
    >>> from heterolda.foundations.wording import listed
    >>> listed(np.arange(3)), listed(np.arange(300), most=2)
    ('[0, 1, 2]', '[0, 1] and 298 more')
    """
    return f"{labels[:most].tolist()}{_more(len(labels) - most)}"


def _more(number: int) -> str:
    return f" and {number} more" if number > 0 else ""


def percent(share: float) -> str:
    """A share as a short text.

    Parameters
    ----------
    share : float
        The share.

    Returns
    -------
    str
        In percent, with more digits for less.

    Examples
    --------
    >>> from heterolda.foundations.wording import percent
    >>> percent(0.1234), percent(0.00123), percent(1e-9)
    ('12.3 %', '0.12 %', '< 0.001 %')
    """
    value = round(100 * share, 9)  # 0.1 is shown alike from above and from below
    if share > 0 and value < 0.0005:
        return "< 0.001 %"
    digits = 1 if value >= 1 or value == 0 else 2 if value >= 0.1 else 3
    return f"{value:.{digits}f} %"


def count(number: float, what: str) -> str:
    """A number of things, with a comma in thousands.

    Parameters
    ----------
    number : float
        How many.
    what : str
        The word for one of them.

    Returns
    -------
    str
        Words.

    Examples
    --------
    >>> from heterolda.foundations.wording import count
    >>> count(1, "row"), count(12345, "row"), count(2, "class")
    ('1 row', '12,345 rows', '2 classes')
    """
    ending = "" if number == 1 else "es" if what.endswith("s") else "s"
    digits = f"{number:,.0f}" if number == int(number) else f"{number:,.1f}"
    return f"{digits} {what}{ending}"


def printable(text: str, longest: int | None = None) -> str:
    r"""Text that is safe for a terminal.

    Parameters
    ----------
    text : str
        Any text. Line feeds stay; other characters that do not print, such as those
        that change colours or the direction of writing, are escaped.
    longest : int or None, default=None
        Number of characters beyond which it is cut in its middle.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> from heterolda.foundations.wording import printable
    >>> print(printable("column 'a\x1b[31mb'"))
    column 'a\x1b[31mb'
    >>> printable("a very long name", 11)
    'a ver [...] name'
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
