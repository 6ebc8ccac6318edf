"""Read and write the results of a study, a row per data set, method, trial and fold.

A folder of results has ``results.csv``, to which rows are appended as folds finish,
and ``run.json``, which says how they were computed.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from heterolda.foundations.arrays import Array
from heterolda.foundations.files import PATH
from heterolda.foundations.validation import check_type

RESULTS, RUN = "results.csv", "run.json"
Key = tuple[str, str, int, int]
# Limit on counts and on times and their inverses, so that ratios of times are finite.
_LARGEST = 10**12
_RUN = {"folds": int, "seed": int, "versions": dict, "machine": dict}


class Row(NamedTuple):
    """Result of a method on a fold; trials and folds count from 0."""

    dataset: str
    method: str
    trial: int
    fold: int
    n_train: int
    n_test: int
    n_correct: int
    bayes_error: float  # mean over the pairs of classes, a fraction; NaN if none
    fit_seconds: float  # to three digits

    @property
    def key(self) -> Key:
        """Return the key of a row."""
        return self[:4]

    @classmethod
    def parse(cls, record: list[str]) -> Row:
        """Convert a record of text to a row, or raise ValueError."""
        if len(record) != len(cls._fields):
            raise ValueError(
                f"it has {len(record)} fields instead of {len(cls._fields)}"
            )
        counts = map(int, record[2:7])
        error, seconds = (float(text or "nan") for text in record[7:])
        values: Any = *record[:2], *counts, error, seconds
        row = cls(*values)
        if not all(name and name.isprintable() for name in row[:2]):
            raise ValueError("it names no data set or no method")
        if (
            not all(0 <= number <= _LARGEST for number in (*row[2:7], seconds))
            or 0 < seconds < 1 / _LARGEST
            or not 0 <= row.n_correct <= row.n_test != 0
            or not (math.isnan(error) or 0 <= error <= 1)
        ):
            raise ValueError("a number is out of range")
        return row


def write_rows(rows: list[Row], file: TextIO) -> None:
    """Write rows as lines of a CSV file; NaN is an empty field."""
    csv.writer(file, lineterminator="\n").writerows(
        [f"{v:.9g}".replace("nan", "") if isinstance(v, float) else v for v in row]
        for row in rows
    )


@dataclass(frozen=True)
class Cell:
    """All rows of a method on a data set, by trial and fold."""

    rows: list[Row]
    n_folds: int  # largest number of rows of any method on any set

    @property
    def complete(self) -> bool:
        """Return whether no fold is missing."""
        return len(self.rows) == self.n_folds

    @property
    def n(self) -> int:
        """Return the number of rows of the data set."""
        return self.rows[0].n_train + self.rows[0].n_test

    @property
    def accuracies(self) -> Array:
        """Return the share of correct rows of each trial, in %."""
        counts: dict[int, Any] = defaultdict(lambda: np.zeros(2, int))
        for row in self.rows:
            counts[row.trial] += row.n_correct, row.n_test
        return np.array([100 * correct / n for correct, n in counts.values()])

    @property
    def bayes_error(self) -> float:
        """Return the mean Bayes error over folds, a fraction; NaN if none."""
        return float(np.mean([row.bayes_error for row in self.rows]))

    def time_ratio(self, peer: Cell) -> float:
        """Return the median ratio of training times over the common folds."""
        other = {(row.trial, row.fold): row.fit_seconds for row in peer.rows}
        ratios = [
            row.fit_seconds / other[row.trial, row.fold]
            for row in self.rows
            if other.get((row.trial, row.fold), 0) > 0
        ]
        return float(np.median(ratios)) if ratios else math.nan


@dataclass(frozen=True)
class Results:
    """The results of a study.

    Attributes
    ----------
    rows : list of Row
        In the order of the file.
    run : dict
        The content of ``run.json``: ``folds``, ``seed``, ``versions`` and ``machine``.
    """

    rows: list[Row]
    run: dict[str, Any]

    @cached_property
    def datasets(self) -> list[str]:
        """Return the names of the data sets."""
        return list(dict.fromkeys(row.dataset for row in self.rows))

    @cached_property
    def methods(self) -> list[str]:
        """Return the names of the methods."""
        return list(dict.fromkeys(row.method for row in self.rows))

    @cached_property
    def cells(self) -> dict[tuple[str, str], Cell]:
        """Return the results by data set and method."""
        rows: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in sorted(self.rows, key=lambda row: (row.trial, row.fold)):
            rows[row.dataset, row.method].append(row)
        n_folds = max(map(len, rows.values()), default=0)
        return {key: Cell(cell, n_folds) for key, cell in rows.items()}


def read_results(folder: str | os.PathLike[str]) -> Results:
    """Read a folder of results.

    Parameters
    ----------
    folder : str or path-like
        The folder, with ``results.csv`` and ``run.json``.

    Returns
    -------
    Results
        The rows and how they were computed. An incomplete last line, from a run that
        was killed, is left out.
    """
    check_type("folder", folder, PATH, "a path")
    path = Path(folder)
    return Results(_read_rows(path / RESULTS), _read_run(path / RUN))


def _read_run(path: Path) -> dict[str, Any]:
    """Return how the results were computed."""
    text = _text(path)
    try:
        run = json.loads(text)
        if not isinstance(run, dict):
            raise ValueError("it is not a JSON object")
        for key, kind in _RUN.items():
            if type(run.get(key)) is not kind:
                raise ValueError(f"it lacks {key!r}")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not the description of a run: {error}") from error
    return run


def _read_rows(path: Path) -> list[Row]:
    """Return the rows, without an incomplete last line."""
    lines = _text(path).splitlines(keepends=True)
    header = ",".join(Row._fields)
    if not lines or lines[0].rstrip("\r\n") != header:
        raise ValueError(
            f"{path}: not a file of results, whose first line is {header!r}"
        )
    if not lines[-1].endswith("\n"):
        lines.pop()
    rows: dict[Key, Row] = {}
    for number, record in enumerate(csv.reader(lines[1:]), start=2):
        try:
            row = Row.parse(record)
            if row.key in rows:
                raise ValueError("the same fold is on an earlier line")
        except ValueError as error:
            raise ValueError(
                f"{path}, line {number}: {str(error)[:200]}; delete the line, and "
                "`heterolda reproduce` computes it again"
            ) from error
        rows[row.key] = row
    return list(rows.values())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} does not exist: name a folder that `heterolda reproduce` has "
            "written"
        ) from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not a text file: {error}") from error
