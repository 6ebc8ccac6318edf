"""The results of a run: one row for each data set, method, trial and fold.

A folder of results has ``results.csv``, to which rows are appended as folds finish,
and ``run.json``, which says what was asked for. What was asked for and is not there is
incomplete, and everything that is made from the results says so.
"""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.experiments.catalogue import CATALOGUE
from heterolda.experiments.methods import METHODS
from heterolda.experiments.records import RESULTS, RUN, Row, read_rows, read_run

__all__ = ["Cell", "Results", "read_results"]


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
        counts: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for row in self.rows:
            counts[row.trial].append((row.n_correct, row.n_test))
        sums = np.array([np.sum(pairs, axis=0) for pairs in counts.values()])
        shares: NDArray[np.float64] = 100 * sums[:, 0] / sums[:, 1]
        return shares

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
            return f"{self.n_trials} of {self.trials} trials, by a limit of the run"
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
    unfinished : bool
        Whether the file ended within a line, which was left out.
    """

    folder: Path
    rows: tuple[Row, ...]
    run: dict[str, Any]
    unfinished: bool = False

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
            cells[dataset, method] = Cell(
                rows=tuple(sorted(found, key=lambda row: (row.trial, row.fold))),
                folds=self.folds,
                trials=self.trials,
                planned_trials=planned,
            )
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
    rows, unfinished = read_rows(folder / RESULTS, kind)
    return Results(folder, rows, run, unfinished)


def _ordered(names: list[str], order: list[str]) -> list[str]:
    """Each name once: those of `order` first, the others as they come."""
    named = dict.fromkeys(names)
    known = [name for name in order if name in named]
    return known + [name for name in named if name not in order]
