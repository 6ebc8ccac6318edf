"""Numbers that may stand for missing values, such as -999."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from heterolda.cli.messages import in_options, print_to_stderr
from heterolda.data.labels import text_of
from heterolda.data.not_numbers import ReadingNote, Setting
from heterolda.foundations.arrays import Array
from heterolda.foundations.wording import percent

_ROWS = 100_000  # that are looked at
_SHARE, _NUMBER = 0.01, 6  # of the rows, at least
_DISTINCT = 10  # other values, at least


class OddNumber(NamedTuple):
    """A number that makes up an odd share of a column."""

    column: str
    value: float
    share: float


def find_odd_numbers(X: Array, names: Sequence[str]) -> list[OddNumber]:
    """Numbers at an end of a column, in many rows, and far from all others.

    That is by more than the standard deviation of the others: zeros of counts and of
    measurements from zero on are not far.
    """
    X = X[:: max(1, -(-len(X) // _ROWS))]
    if not len(X):
        return []
    found = []
    ends = np.array([np.fmin.reduce(X), np.fmax.reduce(X)])
    often = np.array([np.count_nonzero(np.equal(X, end), axis=0) for end in ends])
    for j, k in np.argwhere(max(_NUMBER, _SHARE * len(X)) <= often.T).tolist():
        column, value = X[:, j], ends[k, j]
        others = column[(column != value) & ~np.isnan(column)]
        if len(np.unique(others)) < _DISTINCT:
            continue
        if np.abs(others - value).min() > others.std(ddof=1):
            share = often[k, j] / len(X)
            found.append(OddNumber(names[j], float(value), float(share)))
    return found


def note_odd_numbers(data: Any, X: Array, names: Sequence[str]) -> None:
    """Say which numbers may stand for missing values, in one line, if there are any.

    A mark goes for all columns, so that none is advised that others have.
    """
    columns: dict[float, list[OddNumber]] = {}
    for one in find_odd_numbers(X, names):
        columns.setdefault(one.value, []).append(one)
    n_columns = {value: np.equal(X, value).any(axis=0).sum() for value in columns}
    columns = {v: mine for v, mine in columns.items() if n_columns[v] == len(mine)}
    if not columns:
        return
    shares = [
        f"{text_of(value)} makes up {percent(share)} of column {column!r:.60}"
        for mine in columns.values()
        for column, value, share in mine
    ]
    more = f" and {len(shares) - 3} more such columns" if shares[3:] else ""
    given = getattr(data.source, "reading", None)
    marks = [*(given.marks if given else ()), *map(text_of, columns)]
    options = [Setting("na", marks)]
    if data.advice:
        options.append(Setting("missing", data.advice))
    note = ReadingNote(
        f"{', '.join(shares[:3])}{more}, far from the other values there",
        options=options,
        lead=": if it stands for a missing value, add ",
    )
    print_to_stderr(f"note: {in_options(note)}")
