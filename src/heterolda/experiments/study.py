"""Run the paper's protocol, repeated stratified cross-validation.

All methods of a fold run in the same process, in sequence, on the same rows and with
one thread, so that their times are comparable. Each trial is a shuffle with its own
seed, and for D1 and D2 also a new draw.

A class with fewer rows than folds has one test row in as many folds as it has rows; in
the other folds all its rows are training rows.
"""

from __future__ import annotations

import json
import math
import os
import platform
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from itertools import product
from multiprocessing import current_process
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import check_X_y
from threadpoolctl import threadpool_limits

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.local_search import LocalNeighborhoodSearch
from heterolda.exceptions import ParameterError, TrivialRuleWarning
from heterolda.experiments.datasets import (
    CATALOG,
    Data,
    DataDir,
    load_dataset,
    resolve_names,
)
from heterolda.experiments.results import (
    RESULTS,
    RUN,
    Key,
    Results,
    Row,
    read_results,
    write_rows,
)
from heterolda.foundations.files import atomic_write
from heterolda.foundations.threads import Progress
from heterolda.foundations.validation import (
    check_number,
    check_several_classes,
    check_type,
)
from heterolda.foundations.wording import count
from heterolda.kernels import in_use


def _pure(solver: str) -> Any:
    """Return the discriminant of the paper, without shrinkage or choice on rows."""
    return GaussianLinearDiscriminant(
        solver=solver, choose_on="model", shrinkage=0.0, voting="weighted"
    )


def _search(solver: str) -> Any:
    initial = _pure(solver)
    return LocalNeighborhoodSearch(initial, voting="weighted")  # type: ignore[no-untyped-call]


def _scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


# The paper's seven, then two of ours and three from scikit-learn. The SVM has a small
# cache, because the default of 200 MB costs memory and saves no time.
METHODS: dict[str, Any] = {
    "pairwise-lda": _pure("fisher"),
    "c-hld": _pure("c-hld"),
    "r-hld-1": _pure("r-hld-1"),
    "r-hld-2": _pure("r-hld-2"),
    "algorithm-1": _pure("fixed-point"),
    "algorithm-2": _search("fixed-point"),
    "svm": _scaled(SVC(kernel="linear", cache_size=10)),
    "gld": _pure("global"),
    "gld+algorithm-2": _search("global"),
    "lda": LinearDiscriminantAnalysis(),
    "logistic-regression": _scaled(LogisticRegression(max_iter=1000)),
    "linear-svc": _scaled(LinearSVC(dual=False)),
}
_GROUPS = {"all": list(METHODS), "paper": list(METHODS)[:7]}


def resolve_methods(names: Sequence[str]) -> list[str]:
    """Return names of methods from names and the groups "all" and "paper"."""
    return resolve_names("methods", names, METHODS, _GROUPS)


class Task(NamedTuple):
    """A fold, and the methods to run on it; trials and folds are numbered from 0."""

    dataset: str
    trial: int
    fold: int
    methods: tuple[str, ...]


@dataclass
class Study:
    """A comparison of methods on data sets by repeated cross-validation.

    Parameters
    ----------
    datasets : list of str, or dict
        Names in the catalog; or data by name, each a pair (X, y), or None for a set
        in the catalog.
    methods : list of str, or dict
        Names in `METHODS`; or scikit-learn classifiers by name, or None for one of
        `METHODS`.
    trials : int, default=1
        Number of shuffles.
    folds : int, default=10
        Number of folds of each shuffle.
    seed : int, default=0
        Trial t uses ``seed + t`` for the shuffle and for every
        ``random_state`` parameter of the methods.
    data_dir : path-like, default=None
        Folder of the catalog's files, as for `load_dataset`.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from heterolda.experiments import Study
    >>> study = Study(
    ...     datasets={"mine": load_iris(return_X_y=True)},
    ...     methods={"svm": SVC(kernel="linear"), "gld": None},
    ... )
    >>> results = study.run(tempfile.mkdtemp())
    >>> print(round(results.cells["mine", "gld"].accuracies.mean(), 1))
    97.3
    """

    datasets: Any
    methods: Any
    trials: int = 1
    folds: int = 10
    seed: int = 0
    data_dir: DataDir = None

    def __post_init__(self) -> None:
        for name in ("datasets", "methods"):
            given = getattr(self, name)
            if isinstance(given, Mapping):
                continue
            check_type(name, given, list | tuple, "a list of names, or a dict")
            for item in given:
                check_type(name, item, str, "names")
            setattr(self, name, dict.fromkeys(given))
        for name, low in {"trials": 1, "folds": 2, "seed": 0}.items():
            check_number(name, getattr(self, name), low, 2**31, integer=True)
        check_type(
            "data_dir", self.data_dir, str | os.PathLike | None, "a folder or None"
        )

    def tasks(self, done: Container[Key] = ()) -> list[Task]:
        """Return the tasks that remain when the keys in `done` have been computed."""
        tasks = []
        for key in product(range(self.trials), self.datasets, range(self.folds)):
            trial, dataset, fold = key
            methods = [m for m in self.methods if (dataset, m, trial, fold) not in done]
            if methods:
                tasks.append(Task(dataset, trial, fold, tuple(methods)))
        return tasks

    def data(self, name: str, trial: int) -> Data:
        """Return the rows and labels of a data set in a trial."""
        value = self.datasets[name]
        if value is not None:
            X, y = check_X_y(*value, dtype=np.float64)
            return X, y
        drawn = name in CATALOG and CATALOG[name].kind == "drawn"
        folder = None if self.data_dir is None else os.fspath(self.data_dir)
        return _loaded(name, folder, self.seed + trial if drawn else 0)

    def model(self, name: str, trial: int) -> Any:
        """Return a new classifier for a trial."""
        value = self.methods[name]
        if value is None:
            value = METHODS[resolve_methods([name])[0]]
        model = clone(value)
        seeds = [p for p in model.get_params() if p.split("__")[-1] == "random_state"]
        return model.set_params(**dict.fromkeys(seeds, self.seed + trial))

    def split(self, task: Task) -> tuple[Any, Any, Any, Any]:
        """Return training rows and labels, and test rows and labels, of a task."""
        X, y = self.data(task.dataset, task.trial)
        seed = self.seed + task.trial
        folds = StratifiedKFold(self.folds, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            # See the docstring of this module.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            train, test = list(folds.split(X, y))[task.fold]
        return X[train], y[train], X[test], y[test]

    def evaluate(self, task: Task) -> tuple[list[Row], list[str]]:
        """Run the methods of a task; return rows and messages about failures."""
        rows, failures = [], []
        split = self.split(task)
        with threadpool_limits(1):
            for method in task.methods:
                key = task.dataset, method, task.trial, task.fold
                try:
                    figures = _measured(self.model(method, task.trial), *split)
                    rows.append(Row(*key, **figures))
                except Exception as error:
                    reason = f"{type(error).__name__}: {error}"
                    failures.append(f"{method} failed on {task.dataset}: {reason}")
        return rows, failures

    def run(
        self,
        out: str | os.PathLike[str],
        *,
        jobs: int = 1,
        progress: Progress | None = None,
    ) -> Results:
        """Compute the results that are missing from a folder.

        Parameters
        ----------
        out : path-like
            The folder. Its rows are kept, so an interrupted run continues, and data
            sets, methods and trials can be added.
        jobs : int, default=1
            Number of processes.
        progress : callable, default=None
            Called with the last task, as text, and the share of the work done.

        Returns
        -------
        Results
            All rows of the folder. Methods that failed are missing; a warning gives the
            reason, and the next run tries them again.
        """
        self._check()
        folder = Path(out)
        tasks = self.tasks(self._opened(folder))
        failures: Counter[str] = Counter()
        parallel = Parallel(jobs, return_as="generator", batch_size=1)
        results = parallel(delayed(self._evaluate)(task) for task in tasks)
        try:
            for number, (rows, failed) in enumerate(results, start=1):
                with open(folder / RESULTS, "a", encoding="utf-8") as file:
                    write_rows(rows, file)
                failures.update(failed)
                if progress is not None:
                    task = tasks[number - 1]
                    text = f"{task.dataset}, trial {task.trial + 1} of {self.trials}"
                    progress(text, number / len(tasks))
        finally:
            # After an interrupt, joblib would warn of unfinished tasks.
            with warnings.catch_warnings(action="ignore"):
                results.close()
        for text, n in failures.items():
            warnings.warn(f"{text} ({count(n, 'fold')})", stacklevel=2)
        return read_results(folder)

    def _evaluate(self, task: Task) -> tuple[list[Row], list[str]]:
        """Evaluate a task; the command's own process answers an interrupt for all."""
        if current_process().name != "MainProcess":
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        return self.evaluate(task)

    def _check(self) -> None:
        """Load every set and make every model once, to raise errors early."""
        for name in [*self.datasets, *self.methods]:
            if not name or not name.isprintable():
                raise ValueError(f"{name!r} is not a name that can be printed")
        for name in self.methods:
            self.model(name, 0)
        for name in self.datasets:
            _, y = self.data(name, 0)
            counts = np.unique(y, return_counts=True)[1]
            check_several_classes(len(counts))
            largest = counts.max()
            if self.folds > largest:
                raise ParameterError(
                    "folds",
                    f"={self.folds!r} is too many for {name}, whose largest class has "
                    f"{largest} rows",
                )

    def _opened(self, folder: Path) -> set[Key]:
        """Prepare a folder for new rows; return the keys of the rows it has."""
        folder.mkdir(parents=True, exist_ok=True)
        path, run = folder / RESULTS, self._description()
        old = read_results(folder) if path.exists() else None
        if old is not None and old.rows:
            for key in ("folds", "seed"):
                if old.run[key] != run[key]:
                    raise ValueError(
                        f"{str(folder)!r} has results with {key} = {old.run[key]}, "
                        f"not {key} = {run[key]}: choose another folder"
                    )
            value = {**self.datasets, **self.methods}
            names = {name for row in old.rows for name in row[:2]}
            stored = sorted(n for n in names if value.get(n) is not None)
            if stored:
                warnings.warn(
                    f"{str(folder)!r} has results of {', '.join(stored)} and "
                    "keeps them: choose another folder if these have changed since",
                    stacklevel=3,
                )
            if old.run != run:
                warnings.warn(
                    f"the rows in {str(folder)!r} were computed with other versions or "
                    f"on another kind of machine; {RUN} now describes this run",
                    stacklevel=3,
                )
        with atomic_write(folder / RUN) as file:
            file.write(json.dumps(run, indent=2).encode() + b"\n")
        if old is None or not old.rows:
            path.write_text(",".join(Row._fields) + "\n", encoding="utf-8")
            return set()
        with open(path, "r+b") as file:  # remove a line that a crash cut short
            file.truncate(file.read().rfind(b"\n") + 1)
        return {row.key for row in old.rows}

    def _description(self) -> dict[str, Any]:
        """Return the content of ``run.json``; it has no names or paths."""
        libraries = "numpy", "scipy", "scikit-learn"
        return {
            "folds": self.folds,
            "seed": self.seed,
            "versions": {
                "heterolda": sys.modules["heterolda"].__version__,
                "python": platform.python_version(),
                **{name: version(name) for name in libraries},
            },
            "machine": {
                "processors": os.cpu_count(),
                "architecture": platform.machine(),
                "system": platform.system(),
                "kernels": in_use(),
            },
        }


_loaded = lru_cache(maxsize=len(CATALOG))(load_dataset)


def _measured(
    model: Any, X_train: Any, y_train: Any, X_test: Any, y_test: Any
) -> dict[str, Any]:
    """Fit and test a model, and return the figures of its row."""
    with warnings.catch_warnings():
        # The paper's data have pairs without a useful rule.
        warnings.simplefilter("ignore", TrivialRuleWarning)
        begin = time.perf_counter()
        model.fit(X_train, y_train)
        seconds = time.perf_counter() - begin
    predicted = model.predict(X_test)
    last = model[-1] if isinstance(model, Pipeline) else model
    errors = getattr(last, "model_error_", math.nan)
    return {
        "n_train": len(y_train),
        "n_test": len(y_test),
        "n_correct": int(accuracy_score(y_test, predicted, normalize=False)),
        "bayes_error": float(np.mean(errors)),
        "fit_seconds": float(f"{seconds:.3g}"),
    }
