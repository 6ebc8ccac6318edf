"""Numbers that may stand for missing values, such as -999."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from heterolda.cli.messages import in_options, print_to_stderr
from heterolda.data.labels import text_of
from heterolda.data.not_numbers import ReadingNote
from heterolda.exceptions import Setting
from heterolda.foundations.types import Array
from heterolda.foundations.wording import percent

_ROWS = 100_000  # that are looked at
_SHARE, _NUMBER = 0.01, 6  # of the rows, at least
_DISTINCT = 10  # other values, at least


class OddNumber(NamedTuple):
    """A number that makes up an odd share of a column."""

    column: str
    value: float
    share: float


def find_odd_numbers(
    X: Array, names: Sequence[str], weight: Array | None = None
) -> list[OddNumber]:
    """Numbers at an end of a column, in many rows, and far from all others.

    That is by more than the standard deviation of the others: zeros of counts and of
    measurements from zero on are not far.
    """
    step = -(-len(X) // _ROWS)
    X = X[:: max(1, step)]
    w = np.ones(len(X)) if weight is None else weight[:: max(1, step)]
    found: list[OddNumber] = []
    total = w.sum()
    if not len(X):
        return found
    ends = np.array([np.fmin.reduce(X), np.fmax.reduce(X)])
    often = np.array([w @ np.equal(X, end) for end in ends])
    odd = (often >= _SHARE * total) & (often >= _NUMBER)
    for j in np.flatnonzero(odd.any(axis=0)).tolist():
        name, column = names[j], X[:, j]
        for value, n_same in zip(ends[odd[:, j], j], often[odd[:, j], j], strict=True):
            rest = (column != value) & ~np.isnan(column)
            share = n_same / total
            others = column[rest]
            gap = np.abs(others - value).min(initial=np.inf)
            spread = np.sqrt(np.cov(others, aweights=w[rest])) if len(others) > 1 else 0
            if gap > spread and len(np.unique(others)) >= _DISTINCT:
                found.append(OddNumber(name, float(value), float(share)))
    return found


def note_odd_numbers(
    data: Any, X: Array, names: Sequence[str], weight: Array | None = None
) -> None:
    """Say which numbers may stand for missing values, in one line, if there are any."""
    odd = find_odd_numbers(X, names, weight)
    if not odd:
        return
    columns: dict[str, list[str]] = {}
    for column, value, _ in odd:
        columns.setdefault(text_of(value), []).append(column)
    shares = [
        f"{text_of(value)} makes up {percent(share)} of column {column!r:.60}"
        for column, value, share in odd[:3]
    ]
    more = f" and {len(odd) - 3} more such columns" if odd[3:] else ""
    # A mark goes for all features, so that it must mean the same in all of them.
    marks = [
        text
        for text, mine in columns.items()
        if not any((X[:, j] == float(text)).any() for j in _places(names, mine))
    ]
    given = getattr(data.source, "reading", None)
    options = [Setting("na", [*(given.marks if given else ()), *marks])]
    if data.advice:
        options.append(Setting("missing", data.advice))
    elsewhere = ", ".join(text for text in columns if text not in marks)
    empty = f"empty the cells with {elsewhere}, a value that other columns also have"
    condition = ": if it stands for a missing value, "
    note = ReadingNote(
        f"{', '.join(shares)}{more}, far from the other values there",
        condition + empty,
        options=options if marks else (),
        lead=f"{condition}add ",
        advice=f" and {empty}" if elsewhere else "",
    )
    print_to_stderr(f"note: {in_options(note)}")


def _places(names: Sequence[str], without: Sequence[str]) -> list[int]:
    out = set(without)
    return [j for j, name in enumerate(names) if name not in out]
