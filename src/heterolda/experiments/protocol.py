"""The paper's protocol: repeated stratified cross-validation, every method alike.

A task is one fold of one trial of one data set. All methods of a task run in the same
process, one after the other, on the same rows and with one thread, so that their times
compare. A trial is a shuffle with a seed of its own, and for D1 and D2 a new draw.

Folds are stratified. A class with fewer rows than folds is spread over as many folds
as it has rows: each of its rows is tested once, and in the other folds all of them
belong to the training rows.
"""

from __future__ import annotations

import gc
import math
import os
import platform
import sys
import time
import warnings
from collections.abc import Container, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from heterolda.exceptions import ParameterError, TrivialRuleWarning
from heterolda.experiments.catalogue import CATALOGUE
from heterolda.experiments.datasets import Data, DataDir, load_dataset
from heterolda.experiments.folder import RunFolder
from heterolda.experiments.methods import METHODS, Method
from heterolda.experiments.results import Row
from heterolda.experiments.workers import computed
from heterolda.kernels import in_use

__all__ = ["Observer", "Split", "Study", "Task", "run_study"]

_LIBRARIES = ("numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Task:
    """A fold, and the methods to run on it; trial and fold count from 0."""

    dataset: str
    trial: int
    fold: int
    methods: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.dataset}, trial {self.trial + 1}, fold {self.fold + 1}"

    @property
    def work(self) -> float:
        """Rough seconds that it takes, to weigh tasks against each other."""
        row = CATALOGUE[self.dataset]
        svm = 1e-8 * row.n**2 if "SVM" in self.methods else 0.0
        return 1e-7 * row.n * row.d * row.k * len(self.methods) + svm + 0.01


class Split(NamedTuple):
    """Rows to train with and rows to test with."""

    X_train: NDArray[np.float64]
    y_train: NDArray[Any]
    X_test: NDArray[np.float64]
    y_test: NDArray[Any]


@dataclass(frozen=True)
class Study:
    """What to compute.

    Attributes
    ----------
    datasets, methods : list of str
        Names.
    trials : int
        Number of shuffles.
    folds : int
        Number of folds of each shuffle.
    seed : int
        The trial t uses the seed ``seed + t``.
    limits : dict
        Largest number of trials for pairs of method and data set, by
        ``"METHOD:DATASET"``.
    """

    datasets: list[str]
    methods: list[str]
    trials: int = 1
    folds: int = 10
    seed: int = 0
    limits: dict[str, int] = field(default_factory=dict)

    # What another study replaces: its methods, its rows, and `evaluate`.
    table: ClassVar[Mapping[str, Method]] = METHODS
    kind: ClassVar[type[Row]] = Row

    def evaluate(self, task: Task, data_dir: DataDir = None) -> list[Row]:
        """Run the methods of a task; a row for each."""
        split = self.split(task, data_dir)
        sizes = len(split.y_train), len(split.y_test)
        return [
            Row(
                *(task.dataset, method, task.trial, task.fold, *sizes),
                *_measured(self.table[method].make(self.seed + task.trial), split),
            )
            for method in task.methods
        ]

    def split(self, task: Task, data_dir: DataDir = None) -> Split:
        """The data of a task, the same for every method."""
        seed = self.seed + task.trial
        X, y = _data(task.dataset, data_dir, seed)
        train, test = _splits(task.dataset, data_dir, self.folds, seed)[task.fold]
        return Split(X[train], y[train], X[test], y[test])

    def warm_up(self) -> None:
        """Import, warm up and keep to one thread, so that no method is timed for it."""
        y = np.repeat([0, 1, 2, 3], 30)
        X = np.random.default_rng(0).normal(size=(len(y), 3)) + y[:, None]
        for name in self.methods:
            self.table[name].make(0).fit(X, y).predict(X)
        # Of BLAS and OpenMP, which are loaded by now.
        threadpool_limits(1)
        gc.freeze()  # collections in the middle of a fit now pass over all of this

    def tasks(self, done: Container[tuple[str, str, int, int]] = ()) -> list[Task]:
        """What remains to be computed, trial after trial.

        `done` has the keys (data set, method, trial, fold) of results that are there.
        """
        tasks = []
        for trial in range(self.trials):
            for dataset, counts in self.plan().items():
                wanted = [method for method, n in counts.items() if trial < n]
                for fold in range(self.folds):
                    missing = tuple(
                        m for m in wanted if (dataset, m, trial, fold) not in done
                    )
                    if missing:
                        tasks.append(Task(dataset, trial, fold, missing))
        return tasks

    def plan(self) -> dict[str, dict[str, int]]:
        """Number of trials of each method on each data set."""
        return {
            dataset: {
                method: min(
                    self.trials, self.limits.get(f"{method}:{dataset}", self.trials)
                )
                for method in self.methods
            }
            for dataset in self.datasets
        }

    def description(self, jobs: int) -> dict[str, Any]:
        """What ``run.json`` says, free of names and paths of the machine."""
        limits = "".join(f" --limit {key}={n}" for key, n in self.limits.items())
        return {
            "command": f"heterolda reproduce --datasets {','.join(self.datasets)} "
            f"--methods {','.join(self.methods)} --trials {self.trials} "
            f"--folds {self.folds} --seed {self.seed} --jobs {jobs}{limits}",
            "folds": self.folds,
            "seed": self.seed,
            "plan": self.plan(),
            "versions": {
                "heterolda": sys.modules["heterolda"].__version__,
                "python": platform.python_version(),
                **{name: version(name) for name in _LIBRARIES},
            },
            "machine": {
                "processors": os.cpu_count(),
                "architecture": platform.machine(),
                "system": platform.system(),
                "kernels": in_use(),  # and a line if there are none
            },
        }


class Observer(Protocol):
    """What `run_study` tells about the course of a run."""

    def notice(self, text: str) -> None:
        """Something that a reader should know."""

    def begin(self, tasks: list[Task], n_done: int) -> None:
        """The tasks to come, and the number of rows that are there already."""

    def finish(self, task: Task) -> None:
        """A task whose rows are on the disk."""


def run_study(
    study: Study,
    out: str | Path,
    observer: Observer,
    *,
    jobs: int = 1,
    data_dir: DataDir = None,
) -> Path:
    """Compute what a folder of results lacks.

    Parameters
    ----------
    study : Study
        What to compute.
    out : path-like
        The folder. It keeps what it has: a run that was interrupted goes on where it
        stopped, and further data sets, methods and trials can be added.
    observer : Observer
        Told about the course.
    jobs : int, default=1
        Number of processes.
    data_dir : path-like, default=None
        Folder of data files.

    Returns
    -------
    Path
        The folder.
    """
    _check_data(study, data_dir)
    folder = RunFolder(out, study.description(jobs), study.kind)
    if folder.notice:
        observer.notice(folder.notice)
    tasks = study.tasks({row.key for row in folder.rows})
    observer.begin(tasks, len(folder.rows))
    compute = partial(study.evaluate, data_dir=data_dir)
    with closing(computed(tasks, study.warm_up, compute, jobs)) as results:
        for task, rows in results:
            folder.append(rows)
            observer.finish(task)
    folder.sort(list(CATALOGUE), list(study.table))
    return folder.path


def _check_data(study: Study, data_dir: DataDir) -> None:
    """Load every set once, so that errors and downloads come before the work."""
    for name in study.datasets:
        _, y = load_dataset(name, data_dir)
        largest = np.unique(y, return_counts=True)[1].max()
        if study.folds > largest:
            raise ParameterError(
                "folds",
                f"={study.folds!r} is too many for {name}, whose largest class has "
                f"{largest} rows",
            )


def _measured(model: Any, split: Split) -> tuple[int, float, float, float, float]:
    """Hits, mean Bayes error, time to fit, time to predict, iterations."""
    with warnings.catch_warnings():
        # Pairs without a useful rule belong to the paper's data.
        warnings.simplefilter("ignore", TrivialRuleWarning)
        begin = time.perf_counter()
        model.fit(split.X_train, split.y_train)
        fitted = time.perf_counter()
    predicted = model.predict(split.X_test)
    end = time.perf_counter()
    last = model[-1] if isinstance(model, Pipeline) else model
    errors, n_iter = (getattr(last, name, None) for name in ("bayes_error_", "n_iter_"))
    return (
        int(np.sum(predicted == split.y_test)),
        math.nan if errors is None else float(np.mean(errors)),
        fitted - begin,
        end - fitted,
        math.nan if n_iter is None else float(np.sum(n_iter)),
    )


def _data(name: str, data_dir: DataDir, seed: int) -> Data:
    """The data of a trial; all trials share what is not drawn."""
    return _loaded(name, data_dir, seed if CATALOGUE[name].kind == "drawn" else 0)


_loaded = lru_cache(maxsize=len(CATALOGUE))(load_dataset)


@lru_cache(maxsize=4)
def _splits(
    name: str, data_dir: DataDir, folds: int, seed: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Training and test rows of the folds of a trial."""
    X, y = _data(name, data_dir, seed)
    folds_of_trial = StratifiedKFold(folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # Classes with fewer rows than folds: see the head of this module.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return list(folds_of_trial.split(X, y))
