"""The results of a run: one row for each data set, method, trial and fold.

A folder of results has ``results.csv``, to which rows are appended as folds finish,
and ``run.json``, which says what was asked for. What was asked for and is not there is
incomplete, and everything that is made from the results says so.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections import defaultdict
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from heterolda.experiments.catalogue import CATALOGUE
from heterolda.experiments.methods import METHODS

__all__ = ["RESULTS", "RUN", "Cell", "Results", "Row", "read_results"]

RESULTS, RUN = "results.csv", "run.json"
# Nobody has more trials or rows than this.
_LARGEST = 10**12


@dataclass(frozen=True)
class Row:
    """What a method did on a fold.

    A method that has no Bayes error or no iterations has NaN there.
    """

    dataset: str
    method: str
    trial: int  # from 0, like the fold
    fold: int
    n_train: int
    n_test: int
    n_correct: int
    bayes_error: float  # mean over the pairs of classes, a fraction
    fit_seconds: float
    predict_seconds: float
    iterations: float

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What identifies a row."""
        return self.dataset, self.method, self.trial, self.fold

    # Digits of the figures, and those that a method may lack.
    FORMATS: ClassVar[dict[str, str]] = {
        "bayes_error": ".9g",
        "fit_seconds": ".3g",
        "predict_seconds": ".3g",
        "iterations": ".0f",
    }
    OPTIONAL: ClassVar[frozenset[str]] = frozenset({"bayes_error", "iterations"})

    @classmethod
    def header(cls) -> tuple[str, ...]:
        """Names of the fields."""
        return tuple(field.name for field in fields(cls))

    def line(self) -> str:
        """The row as text, with its end of line."""

        def text(name: str, value: object) -> str:
            if not isinstance(value, float):
                return str(value)
            return "" if math.isnan(value) else format(value, self.FORMATS[name])

        return ",".join(text(*item) for item in vars(self).items()) + "\n"

    @classmethod
    def parse(cls, record: list[str]) -> Self:
        """Read the fields of a line; ValueError says what is wrong with them."""
        wanted = fields(cls)
        if len(record) != len(wanted):
            raise ValueError(f"it has {len(record)} fields instead of {len(wanted)}")
        kinds: dict[str, type] = {"str": str, "int": int, "float": float}
        values: dict[str, Any] = {}
        for field, value in zip(wanted, record, strict=True):
            if field.name in cls.OPTIONAL and not value:
                value = "nan"
            try:
                values[field.name] = kinds[str(field.type)](value)
            except ValueError:
                raise ValueError(
                    f"{field.name} is {value[:50]!r}, not a number"
                ) from None
        row = cls(**values)
        if not all(name and name.isprintable() for name in (row.dataset, row.method)):
            raise ValueError("it names no data set or no method")
        if not (0 <= row.n_correct <= row.n_test and row.n_test > 0):
            raise ValueError(f"{row.n_correct} of {row.n_test} points are correct")
        if min(row.trial, row.fold, row.n_train) < 0:
            raise ValueError("a count is negative")
        if max(row.trial, row.fold, row.n_train, row.n_test) > _LARGEST:
            raise ValueError(f"a count is larger than {_LARGEST}")
        if not all(0 <= t < math.inf for t in (row.fit_seconds, row.predict_seconds)):
            raise ValueError("a time is negative or not finite")
        if row.bayes_error < 0 or row.bayes_error > 1:
            raise ValueError(f"bayes_error is {row.bayes_error}, not a fraction")
        return row


@dataclass(frozen=True)
class Cell:
    """All folds of a method on a data set: those that are there, by trial and fold.

    `folds` and `trials` were asked for; `planned_trials` is less than `trials` where
    the run limits the method on this set.
    """

    rows: tuple[Row, ...]
    folds: int
    trials: int
    planned_trials: int

    @property
    def n_trials(self) -> int:
        """Number of trials with at least one fold."""
        return len({row.trial for row in self.rows})

    @property
    def complete(self) -> bool:
        """Whether every fold of every planned trial is there."""
        # No two rows have the same trial and fold.
        there = sum(
            row.trial < self.planned_trials and row.fold < self.folds
            for row in self.rows
        )
        return there == self.planned_trials * self.folds

    @property
    def n(self) -> int:
        """Number of points of the data set."""
        return self.rows[0].n_train + self.rows[0].n_test

    @property
    def accuracies(self) -> NDArray[np.float64]:
        """Share of correct points of each trial, in %."""
        counts: dict[int, NDArray[np.int64]] = defaultdict(lambda: np.zeros(2, int))
        for row in self.rows:
            counts[row.trial] += row.n_correct, row.n_test
        return np.array([100 * correct / n for correct, n in counts.values()])

    @property
    def bayes_error(self) -> float:
        """Mean over folds of the mean error of the pairs, a fraction; NaN if none."""
        return float(np.mean([row.bayes_error for row in self.rows]))

    @property
    def fit_seconds(self) -> float:
        """Median over folds of the time of training."""
        return float(np.median([row.fit_seconds for row in self.rows]))

    def time_ratio(self, peer: Cell) -> float | None:
        """Median over the folds that both have of the quotient of training times."""
        theirs = {(row.trial, row.fold): row.fit_seconds for row in peer.rows}
        ratios = [
            row.fit_seconds / theirs[row.trial, row.fold]
            for row in self.rows
            if theirs.get((row.trial, row.fold), 0) > 0
        ]
        return float(np.median(ratios)) if ratios else None

    def remark(self) -> str:
        """What is less than was asked for, or an empty string."""
        if not self.complete:
            wanted = self.folds * self.planned_trials
            return f"incomplete, {len(self.rows)} of {wanted} folds"
        if self.n_trials < self.trials:
            return f"{self.n_trials} of {self.trials} trials (--limit)"
        return ""


@dataclass(frozen=True)
class Results:
    """The results of a run.

    Attributes
    ----------
    folder : Path
        Where they were read.
    rows : tuple of Row
        In the order of the file.
    run : dict
        The content of ``run.json``. Its ``plan`` has the number of trials of each
        method on each set.
    """

    folder: Path
    rows: tuple[Row, ...]
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
        named = [*self.run["plan"], *(row.dataset for row in self.rows)]
        return _ordered(named, list(CATALOGUE))

    @cached_property
    def methods(self) -> list[str]:
        """Names of the methods that have results or should have."""
        wanted = [m for counts in self.run["plan"].values() for m in counts]
        named = [*wanted, *(row.method for row in self.rows)]
        return _ordered(named, list(METHODS))

    @cached_property
    def cells(self) -> dict[tuple[str, str], Cell]:
        """Results by data set and method, where there are any."""
        rows: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in self.rows:
            rows[row.dataset, row.method].append(row)
        cells = {}
        for (dataset, method), found in rows.items():
            planned = self.run["plan"].get(dataset, {}).get(method, self.trials)
            found.sort(key=lambda row: (row.trial, row.fold))
            cell = Cell(tuple(found), self.folds, self.trials, planned)
            cells[dataset, method] = cell
        return cells


def read_results(folder: str | os.PathLike[str], kind: type[Row] = Row) -> Results:
    """Read a folder of results.

    Parameters
    ----------
    folder : str or path-like
        The folder, with ``results.csv`` and ``run.json``.
    kind : type, default=Row
        What its rows are.

    Returns
    -------
    Results
        What is there. A last line without its end, which a killed run leaves behind,
        is left out.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"the folder of results {str(folder)!r} does not exist")
    run = read_run(folder / RUN)
    return Results(folder, tuple(read_rows(folder / RESULTS, kind)), run)


def read_run(path: Path) -> dict[str, Any]:
    """Read what was asked for from the file ``run.json``."""
    try:
        run = json.loads(_read(path))
        if not isinstance(run, dict):
            raise ValueError("it is not a JSON object")
        kinds: dict[str, type] = {"folds": int, "seed": int, "plan": dict}
        kinds |= {"command": str, "versions": dict, "machine": dict}
        for key, kind in kinds.items():
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


def read_rows(path: Path, kind: type[Row] = Row) -> list[Row]:
    """Read the rows of ``results.csv``, without a last line that a crash has cut."""
    lines = _read(path).splitlines(keepends=True)
    header = ",".join(kind.header())
    if not lines or lines[0].rstrip("\r\n") != header:
        raise ValueError(
            f"{path}: not a file of results, whose first line is {header!r}"
        )
    if not lines[-1].endswith("\n"):
        lines.pop()
    rows: dict[tuple[str, str, int, int], Row] = {}
    for number, record in enumerate(csv.reader(lines[1:]), start=2):
        try:
            row = kind.parse(record)
            if row.key in rows:
                raise ValueError("the same fold stands on an earlier line")
        except ValueError as error:
            raise ValueError(
                f"{path}, line {number}: {error}; delete the line, and `heterolda "
                "reproduce` computes it again"
            ) from error
        rows[row.key] = row
    return list(rows.values())


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} does not exist: name a folder that `heterolda reproduce` has "
            "written"
        ) from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not a text file: {error}") from error


def _ordered(names: list[str], order: list[str]) -> list[str]:
    """Each name once: those of `order` first, the others as they come."""
    place = {name: k for k, name in enumerate(order)}
    return sorted(dict.fromkeys(names), key=lambda name: place.get(name, len(order)))
