"""The printed tables of the paper, quoted as they stand in ``paper.toml``.

`paper_slips` says where the tables cannot mean what they print.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

__all__ = ["METHODS", "TABLES", "VARIANTS", "paper_slips", "printed_figure"]

_PAPER = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
METHODS: list[str] = _PAPER["methods"]
# By number, the rows by data set.
TABLES = {int(number): rows for number, rows in _PAPER["table"].items()}
# Sets that are not in Table 1 and yet belong beside one of its rows.
VARIANTS = {"D2-0.53": "D2"}


def paper_slips(table: int, datasets: Sequence[str]) -> list[str]:
    """What to know about the paper's figures when comparing with them.

    Parameters
    ----------
    table : {2, 3, 4}
        Number of the table.
    datasets : sequence of str
        The sets that are compared.

    Returns
    -------
    list of str
        One or two sentences each; none if none of the sets is in the paper.
    """
    if not any(VARIANTS.get(name, name) in TABLES[1] for name in datasets):
        return []
    slips = _PAPER["slips"]
    notes = slips[str(table)] | slips["any"]
    return [text for name, text in notes.items() if name in ("all", *datasets)]


def printed_figure(table: int, dataset: str, method: str) -> float | None:
    """A figure of the paper's Tables 2 to 4.

    Parameters
    ----------
    table : {2, 3, 4}
        Number of the table.
    dataset, method : str
        Names of the set and the method.

    Returns
    -------
    float or None
        The figure as printed; None where the paper has none.

    Examples
    --------
    >>> from heterolda.experiments import printed_figure
    >>> printed_figure(3, "letters", "GLD")
    81.88
    """
    return printed_row(table, dataset).get(method)


def printed_row(table: int, dataset: str) -> dict[str, float]:
    """The figures of a data set in Tables 2 to 4, by method."""
    row = TABLES[table].get(VARIANTS.get(dataset, dataset), ())
    return dict(zip(METHODS, row, strict=False))  # Table 2 has the first five alone
