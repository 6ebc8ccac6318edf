"""The protocol of all studies: equal folds for all methods, errors paired by row."""

from __future__ import annotations

import csv
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from benchmarks.accuracy.methods import log_losses

Array = np.ndarray
RESULTS = Path(__file__).parents[1] / "results" / "held_out.csv"


class Fold(NamedTuple):
    """Rows to train with and to test with, and a seed of the shuffle and the fold."""

    X: Array
    y: Array
    X_test: Array
    seed: int


# What a method does on a fold: a fitted model and its test rows, for each condition.
Fits = Callable[[str, Fold], Iterable[tuple[str, Any, Array]]]


@dataclass(frozen=True)
class Study:
    """Methods to compare on data sets, under conditions.

    Attributes
    ----------
    name : str
        Its name in the file of results.
    sets : dict
        For each data set a function that returns rows and labels.
    methods : tuple of str
        Names; the first is ours, which the others are compared with.
    fits : callable
        Takes a method and a fold; yields conditions, models and test rows.
    folds, shuffles : int
        Of the cross-validation.
    """

    name: str
    sets: dict[str, Callable[[], tuple[Array, Array]]]
    methods: tuple[str, ...]
    fits: Fits
    folds: int = 10
    shuffles: int = 1


class Line(NamedTuple):
    """A method on a set under a condition; a figure that is missing is NaN.

    Attributes
    ----------
    study, set, size, condition, method : str
        What was measured; the size is rows x features, classes.
    accuracy : float
        In % of the rows held out.
    behind, error : float
        Points behind the first method, and the standard error, paired over rows.
    log_loss, seconds : float
        Mean over rows; processor time of a fit.
    """

    study: str
    set: str
    size: str
    condition: str
    method: str
    accuracy: float
    behind: float
    error: float
    log_loss: float
    seconds: float


def measure(study: Study, name: str) -> list[Line]:
    """Return the lines of a data set; what fails on some fold has none."""
    X, y = study.sets[name]()
    n, share = len(y), 1 / study.shuffles
    wrong: dict[tuple[str, str], Array] = defaultdict(lambda: np.full(n, np.nan))
    loss, seconds = defaultdict(float), defaultdict(float)
    for shuffle in range(study.shuffles):
        folds = StratifiedKFold(study.folds, shuffle=True, random_state=shuffle)
        for k, (train, test) in enumerate(folds.split(X, y)):
            fold = Fold(X[train], y[train], X[test], 1000 * shuffle + k)
            for method in study.methods:
                for condition, model, rows, spent in _timed(study.fits, method, fold):
                    key = condition, method
                    if shuffle == 0:
                        wrong[key][test] = 0.0
                    wrong[key][test] += (model.predict(rows) != y[test]) * share
                    loss[key] += log_losses(model, rows, y[test]).sum() / n * share
                    seconds[key] += spent / study.folds * share
    size = f"{n:,} x {X.shape[1]:,}, {len(np.unique(y))}"
    lines = []
    for (condition, method), own in wrong.items():
        if np.isnan(own).any():
            continue
        behind = own - wrong[condition, study.methods[0]]
        figures = (
            100 * (1 - own.mean()),
            100 * behind.mean(),
            100 * behind.std(ddof=1) / np.sqrt(n),
        )
        figures += loss[condition, method], seconds[condition, method]
        rounded = (float(f"{round(x, 9):.5g}") for x in figures)
        lines.append(Line(study.name, name, size, condition, method, *rounded))
    return lines


def _timed(
    fits: Fits, method: str, fold: Fold
) -> Iterator[tuple[str, Any, Any, float]]:
    """Yield what `fits` does, with processor times; nothing more after an error."""
    with warnings.catch_warnings(action="ignore"), threadpool_limits(1):
        begin = time.process_time()
        try:
            for condition, model, rows in fits(method, fold):
                yield condition, model, rows, time.process_time() - begin
                begin = time.process_time()
        except (ValueError, np.linalg.LinAlgError):
            return


def finished(
    work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], jobs: int
) -> Iterator[Any]:
    """Yield the results of tasks as they finish, and show their number."""
    parallel = Parallel(jobs, return_as="generator_unordered", batch_size=1)
    results = parallel(delayed(work)(*task) for task in tasks)
    for number, result in enumerate(results, 1):
        yield result
        print(f"{number} of {len(tasks)} are done", file=sys.stderr, flush=True)


def read() -> list[Line]:
    """Return the lines of all studies."""
    with open(RESULTS, encoding="utf-8", newline="") as file:
        records = csv.reader(file)
        next(records)
        return [
            Line(*r[:5], *(float(text or "nan") for text in r[5:])) for r in records
        ]


def append(lines: Iterable[Line]) -> None:
    """Add lines to the file."""
    with open(RESULTS, "a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for line in lines:
            figures = ("" if np.isnan(x) else f"{x:.5g}" for x in line[5:])
            writer.writerow([*line[:5], *figures])
