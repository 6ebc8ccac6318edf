"""The protocol: stratified folds, the same rows and the same gaps for every method."""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import StratifiedKFold

from benchmarks.accuracy.sets import NEW_DEVELOPMENT, SET_ASIDE, SIZES, STUDY, load
from benchmarks.gaps.methods import METHODS, filled, fitted
from benchmarks.gaps.regimes import REGIMES, gaps
from heterolda.experiments.datasets import resolve_names
from heterolda.foundations.files import written_whole

FOLDS = 5
# Sets of at least so many rows have one shuffle, the others two.
ENOUGH_ROWS, TRIALS = 1000, 2
FEWER_ROWS = 5000
# Probabilities are at least this in the log loss.
SMALLEST = 1e-15

ASIDE = tuple(name for name in SET_ASIDE if SIZES[name][0] < FEWER_ROWS)
DEVELOPMENT = tuple(
    name for name in (*STUDY, *NEW_DEVELOPMENT) if SIZES[name][0] < FEWER_ROWS
)
SETS = (*DEVELOPMENT, *ASIDE)
_GROUPS = {
    "all": list(SETS),
    "development": list(DEVELOPMENT),
    "aside": list(ASIDE),
}

Record = dict[str, Any]
Results = dict[tuple[str, str, str], Record]


def resolve(names: list[str]) -> list[str]:
    """Names of sets from names and groups."""
    return resolve_names("data set", names, list(SETS), _GROUPS)


def shuffles(name: str) -> int:
    """Shuffles of a set."""
    return 1 if SIZES[name][0] >= ENOUGH_ROWS else TRIALS


def measure(name: str, regime: str, methods: list[str]) -> dict[str, Record]:
    """What each method does on a set, over all folds and shuffles.

    Returns, by method, the accuracy in %, the mean log loss, mean seconds of a fit
    and of a prediction of a fold, and the number of folds with too few rows to fit. One
    that fails has an `error` instead.
    """
    found: dict[str, list[Record]] = {method: [] for method in methods}
    failed: dict[str, str] = {}
    for seed in range(shuffles(name)):
        X, y = load(name, seed if name == "D1" else 0)
        X = np.where(gaps(X, name, regime, seed), np.nan, X)
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        for train, test in folds.split(X, y):
            fold = X[train], y[train], X[test], y[test]
            for filler in dict.fromkeys(METHODS[m].filler for m in methods):
                these = [m for m in methods if METHODS[m].filler == filler]
                for method, record in _scores(filler, these, *fold):
                    if isinstance(record, str):
                        failed[method] = record
                    else:
                        found[method].append(record)
    return {
        m: {"error": failed[m]} if m in failed else _together(records)
        for m, records in found.items()
    }


def _scores(
    filler: str | None, methods: list[str], X: Any, y: Any, new: Any, truth: Any
) -> Iterator[tuple[str, Record | str]]:
    """Of each method with the same filler, or why there is none.

    Each is charged the time of filling.
    """
    clock = time.process_time
    begin = clock()
    rows, labels, fill = filled(filler, X, y)
    fill_seconds = clock() - begin
    begin = clock()
    complete = fill(new)
    more_seconds = clock() - begin
    for method in methods:
        try:
            begin = clock()
            model = fitted(METHODS[method].classifier, rows, labels, y)
            between = clock()
            predicted = model.predict(complete)
            end = clock()
            losses = log_losses(model.predict_proba(complete), model.classes_, truth)
        except Exception as error:
            yield method, f"{type(error).__name__}: {error}".partition("\n")[0]
            continue
        yield (
            method,
            {
                "hits": int(np.sum(predicted == truth)),
                "loss": float(losses.sum()),
                "rows": len(truth),
                "fit_seconds": fill_seconds + between - begin,
                "predict_seconds": more_seconds + end - between,
                "unfitted": isinstance(model, DummyClassifier),
            },
        )


def log_losses(proba: Any, classes: Any, truth: Any) -> Any:
    """Of each row; a class that was not in the training rows has probability zero."""
    place = np.searchsorted(classes, truth).clip(max=len(classes) - 1)
    known = classes[place] == truth
    own = np.where(known, proba[np.arange(len(truth)), place], 0.0)
    if not np.isfinite(own).all():
        raise ValueError("a probability is not finite")
    return -np.log(own.clip(SMALLEST, 1.0))


def _together(records: list[Record]) -> Record:
    rows = sum(r["rows"] for r in records)
    return {
        "accuracy": 100 * sum(r["hits"] for r in records) / rows,
        "log_loss": sum(r["loss"] for r in records) / rows,
        "fit_seconds": float(np.mean([r["fit_seconds"] for r in records])),
        "predict_seconds": float(np.mean([r["predict_seconds"] for r in records])),
        "unfitted": sum(r["unfitted"] for r in records),
        "folds": len(records),
    }


def run(
    sets: list[str], methods: list[str], folder: Path, say: Callable[[str], None]
) -> None:
    """Measure what the folder does not have yet, cheap sets first.

    There is a file for each set, way of removing values and method. What fails has
    none, is told, and is tried again by the next run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in sorted(sets, key=lambda name: np.prod(SIZES[name])):
        for regime in REGIMES:
            missing = [m for m in methods if not kept(folder, name, regime, m).exists()]
            with warnings.catch_warnings(action="ignore"):
                found = measure(name, regime, missing) if missing else {}
            for method, record in found.items():
                if "error" in record:
                    say(f"{name}, {regime}, {method} failed: {record['error']}")
                    continue
                with written_whole(kept(folder, name, regime, method)) as file:
                    file.write(json.dumps(record).encode())
                say(
                    f"{name}, {regime}, {method}: {record['accuracy']:.2f} %, "
                    f"{record['log_loss']:.3f}, {record['fit_seconds']:.2g} s + "
                    f"{record['predict_seconds']:.2g} s"
                )


def read(folder: Path, sets: Iterable[str], methods: list[str]) -> Results:
    """What the folder has, by set, way of removing values and method."""
    keys = [(s, r, m) for s in sets for r in REGIMES for m in methods]
    return {
        key: json.loads(path.read_text())
        for key in keys
        if (path := kept(folder, *key)).exists()
    }


def kept(folder: Path, name: str, regime: str, method: str) -> Path:
    """The file of a result."""
    short = re.sub("[^a-z0-9]+", "-", method.lower()).strip("-")
    return folder / f"{name}.{regime}.{short}.json"
