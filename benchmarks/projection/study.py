"""The protocol: the same rows and folds for every reduction, defaults throughout."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.guard import read
from benchmarks.projection.reductions import REDUCTIONS
from heterolda import GaussianLinearDiscriminant
from heterolda.experiments import make_d1, make_d2
from heterolda.foundations.files import written_whole

Array = np.ndarray
Data = tuple[Array, Array]

FOLDS, MOST_ROWS = 10, 5_000
# A sample keeps so many rows of a small class, or all that it has.
LEAST_ROWS = 2 * FOLDS
CLASSIFIERS = {
    # Without this term scikit-learn refuses classes that do not vary in a component.
    "QDA": QuadraticDiscriminantAnalysis(reg_param=1e-3),
    "5-NN": KNeighborsClassifier(5),
    "discriminant": GaussianLinearDiscriminant(),
}


def sets(folders: list[Path]) -> dict[str, Callable[[], Data]]:
    """Names, and what returns the rows and labels."""
    found: dict[str, Callable[[], Data]] = {
        "D1": lambda: make_d1(random_state=0),
        "D2": lambda: make_d2(random_state=0),
    }
    for folder in folders:
        for path in sorted(folder.glob("*.csv.gz")):
            found[path.name.removesuffix(".csv.gz")] = lambda path=path: read(path)
    return found


def sample(X: Array, y: Array) -> tuple[Array, Array, int]:
    """At most `MOST_ROWS` rows, without classes that have no row for every fold.

    Returns the rows, their labels as integers, and how many classes are left out.
    """
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    share = min(1.0, MOST_ROWS / len(y))
    wanted = np.maximum(np.round(share * counts).astype(int), LEAST_ROWS)
    rng = np.random.default_rng(0)
    kept = [
        rng.permutation(np.flatnonzero(codes == k))[: wanted[k]]
        for k in range(len(labels))
        if counts[k] >= FOLDS
    ]
    rows = np.sort(np.concatenate(kept))
    return X[rows], codes[rows], len(labels) - len(kept)


def numbers_of_components(d: int, n_classes: int) -> dict[str, int]:
    """The numbers that are compared, by their names."""
    asked = {"1": 1, "2": 2, "3": 3, "K - 1": n_classes - 1}
    return {name: min(number, d) for name, number in asked.items()}


def measure(X: Array, y: Array, reduction: str) -> dict[str, Any]:
    """Accuracy in % on rows held out, of each classifier and number of components.

    None where scikit-learn's QDA refuses a class that has no more rows than components.
    """
    numbers = numbers_of_components(X.shape[1], len(np.unique(y)))
    hits: dict[str, dict[str, int | None]]
    hits = {c: dict.fromkeys(numbers, 0) for c in CLASSIFIERS}
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    for train, test in folds.split(X, y):
        found = REDUCTIONS[reduction](X[train], y[train], sorted({*numbers.values()}))
        mean = X[train].mean(axis=0)
        for name, number in numbers.items():
            Z = (X - mean) @ found[number]
            for c, model in CLASSIFIERS.items():
                if hits[c][name] is None:
                    continue
                try:
                    fitted = clone(model).fit(Z[train], y[train])
                except np.linalg.LinAlgError:
                    hits[c][name] = None
                else:
                    hits[c][name] += int(np.sum(fitted.predict(Z[test]) == y[test]))
    return {
        c: {name: None if n is None else 100 * n / len(y) for name, n in counts.items()}
        for c, counts in hits.items()
    }


def run(
    data: dict[str, Callable[[], Data]],
    reductions: list[str],
    folder: Path,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Measure what the folder does not have yet, a file for each set and reduction.

    Returns, of each set, its shape and the accuracies of every reduction.
    """
    folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {name: {"accuracy": {}} for name in data}
    for reduction in reductions:
        for name, load in data.items():
            kept = folder / f"{name}.{reduction}.json"
            if not kept.exists():
                X, y, left_out = sample(*load())
                shape = [*X.shape, len(np.unique(y)), left_out]
                with warnings.catch_warnings(action="ignore"):
                    record = {"shape": shape, "accuracy": measure(X, y, reduction)}
                with written_whole(kept) as file:
                    file.write(json.dumps(record).encode())
                say(f"{name}, {reduction}: {record['accuracy']}")
            record = json.loads(kept.read_text())
            results[name]["shape"] = record["shape"]
            results[name]["accuracy"][reduction] = record["accuracy"]
    return results
