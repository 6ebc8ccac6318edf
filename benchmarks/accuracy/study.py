"""The protocol: 10 stratified folds, 3 shuffles, every method on the same rows."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Container
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss

from benchmarks.accuracy.methods import METHODS, TUNED
from heterolda.experiments.catalogue import CATALOGUE, resolve_datasets
from heterolda.experiments.protocol import Split, Study, Task
from heterolda.experiments.results import Row

# optdigits is the set whose size the paper prints in row (j), and pendigits the one
# that the row was computed on: both are here.
DATASETS = resolve_datasets(["paper", "optdigits", "breast_cancer", "wine", "digits"])
# These five are set aside before the first full run and looked at once in the end:
# nothing is chosen by what happens on them.
SET_ASIDE = ("D2", "shuttle", "wine_white", "optdigits", "breast_cancer")
DEVELOPMENT = [name for name in DATASETS if name not in SET_ASIDE]

FOLDS, TRIALS = 10, 3
BINS = 10


@dataclass(frozen=True)
class Score(Row):
    """What a method did on a fold, with its probabilities where it has any.

    Attributes
    ----------
    log_loss : float
        Mean negative logarithm of the probability of the true class; NaN without
        probabilities.
    excess : str
        For each of `BINS` bins of the largest probability of a row, the sum of that
        probability less the number of hits, with spaces between; empty without
        probabilities. Sums over folds give the calibration error of a whole trial.
    n_warnings : int
        Number of ConvergenceWarnings, those of inner folds too.
    """

    log_loss: float
    excess: str
    n_warnings: int

    FORMATS: ClassVar[dict[str, str]] = Row.FORMATS | {"log_loss": ".6g"}
    OPTIONAL: ClassVar[frozenset[str]] = Row.OPTIONAL | {"log_loss"}


@dataclass(frozen=True)
class CellTask(Task):
    """A fold of one method."""

    @property
    def work(self) -> float:
        """Rough seconds that it takes."""
        row = CATALOGUE[self.dataset]
        (method,) = self.methods
        direct = method.startswith(("LDA", "ridge"))  # no iterations
        seconds = (2e-8 if direct else 2e-7) * row.n * row.d * row.k
        if method.startswith("SVC"):
            seconds += 1.2e-8 * row.n**2
        if method.endswith(TUNED):
            seconds *= 12
        return seconds + 0.01


@dataclass(frozen=True)
class AccuracyStudy(Study):
    """The folds of all methods, the first trial of everything before the second."""

    table: ClassVar = METHODS
    kind: ClassVar[type[Row]] = Score

    def tasks(self, done: Container[tuple[str, str, int, int]] = ()) -> list[Task]:
        """What remains to be computed: within a trial the cheapest first.

        Those that have a limit, because they take so long, come last in it.
        """
        tasks: list[Task] = [
            CellTask(task.dataset, task.trial, task.fold, (method,))
            for task in super().tasks(done)
            for method in task.methods
        ]

        def place(task: Task) -> tuple[Any, ...]:
            limited = f"{task.methods[0]}:{task.dataset}" in self.limits
            return task.trial, limited, task.work, task.dataset, task.methods

        return sorted(tasks, key=place)

    def description(self, jobs: int) -> dict[str, Any]:
        """What ``run.json`` says; the limits are no option of the command."""
        command = (
            f"python -m benchmarks.accuracy --datasets {','.join(self.datasets)} "
            f"--methods {','.join(self.methods)} --trials {self.trials} "
            f"--folds {self.folds} --jobs {jobs}"
        )
        return super().description(jobs) | {"command": command}

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
        "bayes_error": math.nan,
        "fit_seconds": fitted - begin,
        "predict_seconds": end - fitted,
        "iterations": math.nan,
        "n_warnings": sum(issubclass(w.category, ConvergenceWarning) for w in caught),
        **scores,
    }


def _probability_scores(model: Any, split: Split) -> dict[str, Any]:
    if not hasattr(model, "predict_proba"):
        return {"log_loss": math.nan, "excess": ""}
    proba = model.predict_proba(split.X_test)
    top = proba.max(axis=1)
    hits = model.classes_[proba.argmax(axis=1)] == split.y_test
    bins = np.minimum((top * BINS).astype(int), BINS - 1)
    excess = np.bincount(bins, top - hits, minlength=BINS)
    return {
        "log_loss": float(log_loss(split.y_test, proba, labels=model.classes_)),
        "excess": " ".join(f"{value:.6g}" for value in excess),
    }


def calibration_error(rows: tuple[Score, ...]) -> float:
    """Expected calibration error of the trials of a cell, averaged over them.

    The rows of all folds of a trial are put in bins together: folds of few rows would
    overstate the error.
    """
    errors = []
    for trial in sorted({row.trial for row in rows}):
        mine = [row for row in rows if row.trial == trial and row.excess]
        if mine:
            sums = np.sum([np.fromstring(row.excess, sep=" ") for row in mine], axis=0)
            errors.append(np.abs(sums).sum() / sum(row.n_test for row in mine))
    return float(np.mean(errors)) if errors else math.nan
