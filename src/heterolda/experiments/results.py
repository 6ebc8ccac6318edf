"""The results of a study: one row for each data set, method, trial and fold.

A folder of results has ``results.csv``, to which rows are appended as folds finish,
and ``run.json``, which says what was asked for. What was asked for and is missing is
incomplete, and everything that is made from the results says so.
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

__all__ = ["Cell", "Results", "Row", "read_results"]

RESULTS, RUN = "results.csv", "run.json"
Key = tuple[str, str, int, int]
# Nobody has more trials or rows than this.
_LARGEST = 10**12
_RUN = {"folds": int, "seed": int, "plan": dict, "versions": dict, "machine": dict}


class Row(NamedTuple):
    """What a method did on a fold; trials and folds count from 0.

    A method without a Bayes error or without iterations has NaN there.
    """

    dataset: str
    method: str
    trial: int
    fold: int
    n_train: int
    n_test: int
    n_correct: int
    bayes_error: float  # mean over the pairs of classes, a fraction
    fit_seconds: float  # to three digits
    predict_seconds: float
    iterations: float

    @property
    def key(self) -> Key:
        """What identifies a row."""
        return self[:4]


_KINDS: list[Any] = [str] * 2 + [int] * 5 + [float] * 4  # of the fields


def write_rows(rows: list[Row], file: TextIO) -> None:
    """Write rows as lines of a CSV file; NaN is an empty field."""
    csv.writer(file, lineterminator="\n").writerows(
        [f"{v:.9g}".replace("nan", "") if isinstance(v, float) else v for v in row]
        for row in rows
    )


def _parsed(record: list[str]) -> Row:
    """Return the row of a record of text; a ValueError says what is wrong with it."""
    if len(record) != len(Row._fields):
        raise ValueError(f"it has {len(record)} fields instead of {len(Row._fields)}")
    values: list[Any] = []
    for name, kind, text in zip(Row._fields, _KINDS, record, strict=True):
        try:
            values.append(kind(text or "nan") if kind is float else kind(text))
        except ValueError:
            raise ValueError(f"{name} is {text[:50]!r}, not a number") from None
    row = Row(*values)
    if not all(name and name.isprintable() for name in row[:2]):
        raise ValueError("it names no data set or no method")
    if not all(0 <= number <= _LARGEST for number in row[2:7]):
        raise ValueError("a count is negative or very large")
    if row.n_correct > row.n_test or row.n_test == 0:
        raise ValueError(f"{row.n_correct} of {row.n_test} rows are correct")
    if not all(0 <= time < math.inf for time in (row.fit_seconds, row.predict_seconds)):
        raise ValueError("a time is negative or not finite")
    if row.bayes_error < 0 or row.bayes_error > 1:
        raise ValueError(f"bayes_error is {row.bayes_error}, not a fraction")
    return row


@dataclass(frozen=True)
class Cell:
    """All rows of a method on a data set, by trial and fold.

    `folds` and `trials` were asked for; `most_trials` is the largest number of trials
    that the study has for any method and set.
    """

    rows: list[Row]
    folds: int
    trials: int
    most_trials: int

    @property
    def n_trials(self) -> int:
        """Number of trials with at least one fold."""
        return len({row.trial for row in self.rows})

    @property
    def complete(self) -> bool:
        """Whether every fold of every trial is there."""
        wanted = (r.trial < self.trials and r.fold < self.folds for r in self.rows)
        return sum(wanted) == self.trials * self.folds  # keys are unique

    @property
    def n(self) -> int:
        """Number of rows of the data set."""
        return self.rows[0].n_train + self.rows[0].n_test

    @property
    def accuracies(self) -> Array:
        """Share of correct rows of each trial, in %."""
        counts: dict[int, Any] = defaultdict(lambda: np.zeros(2, int))
        for row in self.rows:
            counts[row.trial] += row.n_correct, row.n_test
        return np.array([100 * correct / n for correct, n in counts.values()])

    @property
    def bayes_error(self) -> float:
        """Mean over folds of the mean error of the pairs, a fraction; NaN if none."""
        return float(np.mean([row.bayes_error for row in self.rows]))

    @property
    def fit_seconds(self) -> float:
        """Median over folds of the training time."""
        return float(np.median([row.fit_seconds for row in self.rows]))

    def time_ratio(self, peer: Cell) -> float:
        """Return the median ratio of training times on the folds that both have."""
        other = {(row.trial, row.fold): row.fit_seconds for row in peer.rows}
        ratios = [
            row.fit_seconds / other[row.trial, row.fold]
            for row in self.rows
            if other.get((row.trial, row.fold), 0) > 0
        ]
        return float(np.median(ratios)) if ratios else math.nan

    def remark(self) -> str:
        """Return what is less than was asked for, or an empty string."""
        if not self.complete:
            wanted = self.folds * self.trials
            return f"incomplete, {len(self.rows)} of {wanted} folds"
        if self.n_trials < self.most_trials:
            return f"{self.n_trials} of {self.most_trials} trials"
        return ""


@dataclass(frozen=True)
class Results:
    """The results of a study.

    Attributes
    ----------
    folder : Path
        Where they are.
    rows : list of Row
        In the order of the file.
    run : dict
        The content of ``run.json``: ``folds``, ``seed``, ``versions``, ``machine`` and
        ``plan``, the number of trials of each method on each set.
    """

    folder: Path
    rows: list[Row]
    run: dict[str, Any]

    @property
    def folds(self) -> int:
        """Number of folds of a trial."""
        return int(self.run["folds"])

    @property
    def trials(self) -> int:
        """Number of trials that were asked for."""
        plan: dict[str, dict[str, int]] = self.run["plan"]
        return max(n for counts in plan.values() for n in counts.values())

    @cached_property
    def datasets(self) -> list[str]:
        """Names of the data sets that have results or should have."""
        return list(dict.fromkeys([*self.run["plan"], *(r.dataset for r in self.rows)]))

    @cached_property
    def methods(self) -> list[str]:
        """Names of the methods that have results or should have."""
        planned = [m for counts in self.run["plan"].values() for m in counts]
        return list(dict.fromkeys([*planned, *(row.method for row in self.rows)]))

    @cached_property
    def cells(self) -> dict[tuple[str, str], Cell]:
        """Results by data set and method, where there are any."""
        rows: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in sorted(self.rows, key=lambda row: (row.trial, row.fold)):
            rows[row.dataset, row.method].append(row)
        plan, most = self.run["plan"], self.trials
        return {
            (d, m): Cell(some, self.folds, plan.get(d, {}).get(m, most), most)
            for (d, m), some in rows.items()
        }

    @property
    def n_planned(self) -> int:
        """Number of combinations of data set and method that were asked for."""
        return sum(len(counts) for counts in self.run["plan"].values())

    @property
    def n_complete(self) -> int:
        """Number of combinations that are complete."""
        return sum(cell.complete for cell in self.cells.values())


def read_results(folder: str | os.PathLike[str]) -> Results:
    """Read a folder of results.

    Parameters
    ----------
    folder : str or path-like
        The folder, with ``results.csv`` and ``run.json``.

    Returns
    -------
    Results
        What is there. A last line without its end, which a killed run leaves behind,
        is left out.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"the folder of results {str(folder)!r} does not exist")
    run = _read_run(folder / RUN)
    return Results(folder, _read_rows(folder / RESULTS), run)


def _read_run(path: Path) -> dict[str, Any]:
    """Return what was asked for."""
    text = _text(path)
    try:
        run = json.loads(text)
        if not isinstance(run, dict):
            raise ValueError("it is not a JSON object")
        for key, kind in _RUN.items():
            if not isinstance(run.get(key), kind):
                raise ValueError(f"it lacks {key!r}")
        plan = list(run["plan"].values())
        if not all(isinstance(row, dict) for row in plan) or not any(plan):
            raise ValueError("its plan has no numbers of trials by method")
        counts = [run["folds"], *(n for row in plan for n in row.values())]
        if not all(type(n) is int and 1 <= n <= _LARGEST for n in counts):
            raise ValueError("folds and numbers of trials must be at least 1")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not the description of a run: {error}") from error
    return run


def _read_rows(path: Path) -> list[Row]:
    """Return the rows, without a last line that a crash has cut."""
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
            row = _parsed(record)
            if row.key in rows:
                raise ValueError("the same fold is on an earlier line")
        except ValueError as error:
            raise ValueError(
                f"{path}, line {number}: {error}; delete the line, and `heterolda "
                "reproduce` computes it again"
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
