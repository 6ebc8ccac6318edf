"""The protocol: stratified folds and shuffles, every method on the same rows.

Five shuffles of sets with few rows, one of the others.
"""

from __future__ import annotations

import base64
import math
import time
import warnings
import zlib
from collections.abc import Container
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from benchmarks.accuracy.honesty import claimed_error
from benchmarks.accuracy.methods import LIMITS, METHODS, work
from benchmarks.accuracy.sets import SETS, SIZES, load
from heterolda.experiments.folder import RunFolder
from heterolda.experiments.protocol import Observer, Split, Study, Task
from heterolda.experiments.results import Row
from heterolda.experiments.workers import computed

FOLDS, TRIALS = 5, 5
# Sets of at least so many rows have one shuffle.
ENOUGH_ROWS = 2000
# The protocol of the published figures.
PUBLISHED_FOLDS = 4
# Cells of more estimated seconds in all come last: a run that is stopped after an hour
# then lacks only these, about one of twenty.
DEAR = 20.0
_STEPS = 32767


def shuffles(dataset: str, method: str) -> int:
    """Shuffles of a method on a set in the full protocol; 0 if it is left out."""
    usual = TRIALS if SIZES[dataset][0] < ENOUGH_ROWS else 1
    return min(usual, LIMITS.get((method, dataset), usual))


@dataclass(frozen=True)
class Score(Row):
    """What a method did on a fold, with its probabilities where it has any.

    The Bayes error is the error that the model itself expects at new rows, if it does.

    Attributes
    ----------
    log_loss : float
        Mean negative logarithm of the probability of the true class; NaN without
        probabilities.
    n_warnings : int
        Number of ConvergenceWarnings, those of inner folds too.
    forecasts : str
        Largest probability of each test row, and whether its class was right, as
        `unpacked` returns them; empty without probabilities.
    """

    log_loss: float
    n_warnings: int
    forecasts: str

    FORMATS: ClassVar[dict[str, str]] = Row.FORMATS | {"log_loss": ".6g"}
    OPTIONAL: ClassVar[frozenset[str]] = Row.OPTIONAL | {"log_loss"}


def packed(top: Any, hits: Any) -> str:
    """Largest probabilities and hits as a short text."""
    codes = np.round(np.asarray(top) * _STEPS).astype("<u2") * 2 + np.asarray(hits)
    return base64.b64encode(zlib.compress(codes.astype("<u2").tobytes(), 9)).decode()


def unpacked(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Largest probabilities, up to rounding, and hits."""
    codes = np.frombuffer(zlib.decompress(base64.b64decode(text)), "<u2")
    return (codes >> 1) / _STEPS, (codes & 1).astype(bool)


@dataclass(frozen=True)
class CellTask(Task):
    """A fold of one method."""

    @property
    def work(self) -> float:
        """Rough seconds that it takes."""
        return work(self.methods[0], *SIZES[self.dataset])


@dataclass(frozen=True)
class AccuracyStudy(Study):
    """The folds of all methods, the first trial of everything before the second."""

    table: ClassVar = METHODS
    kind: ClassVar[type[Row]] = Score

    def plan(self) -> dict[str, dict[str, int]]:
        """Number of trials of each method on each data set, where there are any."""
        plan = {
            dataset: {
                method: min(self.trials, n)
                for method in self.methods
                if (n := shuffles(dataset, method))
            }
            for dataset in self.datasets
        }
        return {dataset: counts for dataset, counts in plan.items() if counts}

    def tasks(self, done: Container[tuple[str, str, int, int]] = ()) -> list[Task]:
        """What remains to be computed: within a trial the cheapest first.

        Cells that take long in all come last.
        """
        plan = self.plan()
        tasks: list[Task] = [
            CellTask(task.dataset, task.trial, task.fold, (method,))
            for task in super().tasks(done)
            for method in task.methods
        ]

        def place(task: Task) -> tuple[Any, ...]:
            (method,) = task.methods
            total = task.work * self.folds * plan[task.dataset][method]
            return total > DEAR, task.trial, task.work, task.dataset, method, task.fold

        return sorted(tasks, key=place)

    def description(self, jobs: int) -> dict[str, Any]:
        """What ``run.json`` says; the limits are no option of the command."""
        command = (
            f"python -m benchmarks.accuracy --datasets {','.join(self.datasets)} "
            f"--methods {','.join(self.methods)} --trials {self.trials} "
            f"--folds {self.folds} --jobs {jobs}"
        )
        return super().description(jobs) | {"command": command}

    def warm_up(self) -> None:
        """Import and warm up, without warnings of this small data."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            super().warm_up()

    def split(self, task: Task, data_dir: Any = None) -> Split:
        """The data of a task, the same for every method."""
        seed = self.seed + task.trial
        X, y = load(task.dataset, _draw(task.dataset, seed))
        train, test = _splits(task.dataset, self.folds, seed)[task.fold]
        return Split(X[train], y[train], X[test], y[test])

    def evaluate(self, task: Task, data_dir: Any = None) -> list[Row]:
        """Run the method of a task."""
        split = self.split(task, data_dir)
        (method,) = task.methods
        model = METHODS[method].make(self.seed + task.trial)
        return [
            Score(
                *(task.dataset, method, task.trial, task.fold),
                *(len(split.y_train), len(split.y_test)),
                **measured(model, split),
            )
        ]

    def attempt(self, task: Task) -> list[Row] | str:
        """The rows of a task, or why there are none."""
        try:
            return self.evaluate(task)
        except Exception as error:
            return f"{type(error).__name__}: {error}".partition("\n")[0]


def run(study: AccuracyStudy, out: Path, observer: Observer, jobs: int = 1) -> None:
    """Compute what a folder of results lacks.

    As `run_study` does, for sets that are not in its catalogue; and what fails is
    missing in the end, told, and tried again by the next run.
    """
    for name in study.datasets:  # so that a file that is missing comes before the work
        load(name, _draw(name, study.seed))
    failures = []
    folder = RunFolder(out, study.description(jobs), study.kind)
    if folder.notice:
        observer.notice(folder.notice)
    tasks = study.tasks({row.key for row in folder.rows})
    observer.begin(tasks, len(folder.rows))
    with closing(computed(tasks, study.warm_up, study.attempt, jobs)) as results:
        for task, rows in results:
            if isinstance(rows, str):
                failures.append(f"{task.methods[0]} on {task} failed: {rows}")
                observer.notice(failures[-1])
            else:
                folder.append(rows)
            observer.finish(task)
    folder.sort(list(SETS), list(study.table))
    if failures:
        observer.notice("\n".join(["missing, because they failed:", *failures]))


def measured(model: Any, split: Split) -> dict[str, Any]:
    """Hits, times, probabilities and warnings of a model on a fold.

    Times are those of the processor, which other processes disturb little; everything
    runs in one thread.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        begin = time.process_time()
        model.fit(split.X_train, split.y_train)
        fitted = time.process_time()
        predicted = model.predict(split.X_test)
        end = time.process_time()
        scores = _probability_scores(model, split)
    hits = predicted == split.y_test
    return {
        "n_correct": int(np.sum(hits)),
        "bayes_error": claimed_error(model),
        "fit_seconds": fitted - begin,
        "predict_seconds": end - fitted,
        "iterations": math.nan,
        "n_warnings": sum(issubclass(w.category, ConvergenceWarning) for w in caught),
        **scores,
    }


def _probability_scores(model: Any, split: Split) -> dict[str, Any]:
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(split.X_test)
        if np.isfinite(proba).all():
            hits = model.classes_[proba.argmax(axis=1)] == split.y_test
            return {
                "log_loss": float(log_loss(split.y_test, proba, labels=model.classes_)),
                "forecasts": packed(proba.max(axis=1), hits),
            }
    return {"log_loss": math.nan, "forecasts": ""}


def _draw(name: str, seed: int) -> int:
    """The seed of a set; all trials share what is not drawn."""
    return seed if name in ("D1", "D2") else 0


@lru_cache(maxsize=4)
def _splits(name: str, folds: int, seed: int) -> list[tuple[Any, Any]]:
    """Training and test rows of the folds of a trial."""
    X, y = load(name, _draw(name, seed))
    with warnings.catch_warnings():
        # A class with fewer rows than folds is spread over as many as it has rows.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        folding = StratifiedKFold(folds, shuffle=True, random_state=seed)
        return list(folding.split(X, y))
