"""Compare accuracies by cross-validation, then write the tables of docs/accuracy.md.

python -m benchmarks.accuracy [--jobs N] [--report]

Every method on every set, on the same five stratified folds; five shuffles of sets with
fewer than 1,000 rows and at most ten classes, one of the others. A line for each
shuffle of a method on a set is appended to benchmarks/results/accuracy.csv: a run that
was stopped goes on. --report computes nothing.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from benchmarks.accuracy.methods import METHODS, log_losses
from benchmarks.accuracy.page import write
from benchmarks.accuracy.sets import SETS, SIZES, load
from benchmarks.held_out.runner import finished
from benchmarks.pages import record_origin
from benchmarks.timing import circumstances

RESULTS = Path(__file__).parents[1] / "results" / "accuracy.csv"
FIELDS = "set", "method", "shuffle", "correct", "log_loss", "seconds"
FOLDS, SHUFFLES = 5, 5
FEW_ROWS, FEW_CLASSES = 1000, 10
# Without it: one-vs-one methods would fit 100,000 rules to its 100 classes.
LEFT_OUT = ("plant_margin",)
Key = tuple[str, str, int]


def planned() -> list[Key]:
    """Return the keys of all lines, the quick first."""
    names = [name for name in SETS if name not in LEFT_OUT]
    work = {name: n * d * k**2 for name, (n, d, k) in SIZES.items()}
    return [
        (name, method, shuffle)
        for name in sorted(names, key=work.__getitem__)
        for shuffle in range(SHUFFLES if few(name) else 1)
        for method in METHODS
    ]


def few(name: str) -> bool:
    """Return whether a set has several shuffles."""
    n, _, k = SIZES[name]
    return n < FEW_ROWS and k <= FEW_CLASSES


def run(name: str, method: str, shuffle: int) -> dict[str, Any]:
    """Return the line of a shuffle: hits in each fold, log loss, seconds of a fit."""
    X, y = load(name, shuffle if name in ("D1", "D2") else 0)
    hits, losses, seconds = [], [], []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=shuffle)
        for train, test in folds.split(X, y):
            model = METHODS[method](shuffle)
            begin = time.process_time()
            model.fit(X[train], y[train])
            seconds.append(time.process_time() - begin)
            hits.append(int(np.sum(model.predict(X[test]) == y[test])))
            losses.append(log_losses(model, X[test], y[test]))
    loss = np.concatenate(losses).mean()
    return {
        "set": name,
        "method": method,
        "shuffle": shuffle,
        "correct": " ".join(map(str, hits)),
        "log_loss": "" if np.isnan(loss) else f"{loss:.5g}",
        "seconds": f"{np.median(seconds):.4g}",
    }


def done() -> dict[Key, dict[str, str]]:
    """Return the lines of the file of results."""
    with open(RESULTS, encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file)
        return {(r["set"], r["method"], int(r["shuffle"])): r for r in lines}


def main() -> int:
    """Compute missing lines, and write the page."""
    parser = argparse.ArgumentParser("benchmarks.accuracy")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--report", action="store_true", help="compute nothing")
    options = parser.parse_args()
    lines = done()
    missing = [key for key in planned() if key not in lines]
    if options.report and missing:
        parser.error(f"{len(missing)} lines are missing, such as {missing[0]}")
    with open(RESULTS, "a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        for line in finished(run, missing, options.jobs):
            writer.writerow(line)
            file.flush()
    if missing:
        record_origin("accuracy", circumstances())
    write(done())
    return 0


if __name__ == "__main__":
    sys.exit(main())
