"""Read the paper's printed tables from ``paper.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

_PAPER = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
METHODS: list[str] = _PAPER["methods"]
# Rows by data set, by table number.
TABLES = {int(number): rows for number, rows in _PAPER["table"].items()}
# Sets that are not in Table 1, and the sets with which they are compared.
_VARIANTS = {"D2-0.53": "D2"}


def slips(table: int, datasets: Sequence[str]) -> list[str]:
    """Return notes on slips in the printed figures of a table."""
    if not any(printed_row(table, name) for name in datasets):
        return []
    notes = _PAPER["slips"][str(table)] | _PAPER["slips"]["any"]
    return [text for name, text in notes.items() if name in ("all", *datasets)]


def printed_row(table: int, dataset: str) -> dict[str, float]:
    """Return the figures of a data set in Tables 2 to 4, by method."""
    row = TABLES[table].get(_VARIANTS.get(dataset, dataset), ())
    return dict(zip(METHODS, row, strict=False))  # Table 2 has only the first five


def printed_letter(dataset: str) -> str:
    """Return the letter of a data set in Table 1; an empty string if it has none."""
    row = TABLES[1].get(_VARIANTS.get(dataset, dataset))
    return str(row[0]) if row else ""
