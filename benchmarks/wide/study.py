"""The protocol: 10 times 5 stratified folds, the same rows for every method."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.guard import read
from benchmarks.wide.methods import METHODS
from heterolda.foundations.files import written_whole

FOLDS, REPEATS = 5, 10
SETS = [
    *(f"wide/{name}" for name in ("alon", "golub", "gravier", "khan")),
    *(f"more/{name}" for name in ("semeion", "libras", "spectf")),
]


def measure(X: np.ndarray, y: np.ndarray, method: str) -> list[float]:
    """Accuracy in % on rows held out, of each repeat."""
    hits = np.zeros(REPEATS)
    for seed in range(REPEATS):
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        for train, test in folds.split(X, y):
            model = METHODS[method](seed).fit(X[train], y[train])
            hits[seed] += np.sum(model.predict(X[test]) == y[test])
    return (100 * hits / len(y)).tolist()


def run(
    data: Path,
    sets: list[str],
    methods: list[str],
    folder: Path,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Measure what the folder does not have yet, a file for each set and method.

    Returns, of each set, its shape and the accuracies of every method.
    """
    folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {Path(name).name: {"accuracy": {}} for name in sets}
    for method in methods:
        for path in sets:
            name = Path(path).name
            short = re.sub("[^a-z0-9]+", "-", method.lower()).strip("-")
            kept = folder / f"{name}.{short}.json"
            if not kept.exists():
                X, y = read(data / f"{path}.csv.gz")
                with warnings.catch_warnings(action="ignore"):
                    accuracy = measure(X, y, method)
                shape = [*X.shape, len(np.unique(y))]
                with written_whole(kept) as file:
                    record = {"shape": shape, "accuracy": accuracy}
                    file.write(json.dumps(record).encode())
                say(f"{name}, {method}: {np.mean(accuracy):.2f}")
            record = json.loads(kept.read_text())
            results[name]["shape"] = record["shape"]
            results[name]["accuracy"][method] = record["accuracy"]
    return results
