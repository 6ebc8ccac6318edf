"""Judge probabilities on rows held out, and write the table of docs/accuracy.md.

python -m benchmarks.probabilities [--report]

Five stratified folds of each set, the same for all methods.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from benchmarks.accuracy.__main__ import FOLDS, LEFT_OUT
from benchmarks.accuracy.methods import GLD, METHODS, log_losses
from benchmarks.accuracy.sets import SETS, load
from benchmarks.pages import (
    GRAY,
    OURS,
    PEER,
    Record,
    canvas,
    command,
    origin,
    png,
    publish,
    section_table,
)

COLORS = {GLD: OURS, "LDA": GRAY, "logistic": PEER}
SCORES = "log loss", "Brier score", "calibration error"
BINS = 15  # of the probability of the predicted class


def judged(name: str, method: str) -> tuple[list[float], Any]:
    """Return the scores on a set; and by bin the shares of rows and of hits."""
    X, y = load(name)
    bins, scores = np.zeros((3, BINS)), np.zeros(2)
    with warnings.catch_warnings(action="ignore"), threadpool_limits(1):
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        for train, test in folds.split(X, y):
            model = METHODS[method](0).fit(X[train], y[train])
            p, right = model.predict_proba(X[test]), model.predict(X[test]) == y[test]
            square = ((p - (y[test][:, None] == model.classes_)) ** 2).sum(axis=1)
            scores += log_losses(model, X[test], y[test]).sum(), square.sum()
            top = p.max(axis=1)
            place = np.minimum((BINS * top).astype(int), BINS - 1)
            for total, weight in zip(bins, (top**0, top, right), strict=True):
                total += np.bincount(place, weight, BINS)
    bins /= len(y)
    return [*scores / len(y), float(np.abs(bins[1] - bins[2]).sum())], bins


def measure() -> Record:
    """Return the scores of all methods by set, and their bins over all sets."""
    names = [name for name in SETS if name not in LEFT_OUT]
    record: Record = {"sets": names, "scores": {}, "bins": {}}
    for method in COLORS:
        scores, bins = zip(*(judged(name, method) for name in names), strict=True)
        record["scores"][method] = [[float(f"{x:.4g}") for x in s] for s in scores]
        record["bins"][method] = np.mean(bins, axis=0).round(6).tolist()
    return record


def table(record: Record) -> str:
    """Return mean scores, and on how many sets ours is better and worse."""
    rows, ours = [], np.array(record["scores"][GLD])
    for method, found in record["scores"].items():
        means, d = np.mean(found, axis=0), np.array(found) - ours
        text = [f"{mean:.3f}" for mean in means]
        if method != GLD:
            counts = zip(text, (d > 0).sum(axis=0), (d < 0).sum(axis=0), strict=True)
            text = [f"{mean} ({better} : {worse})" for mean, better, worse in counts]
        rows.append((method, *text))
    return section_table("|".join(["method", *SCORES]), rows)


def picture(record: Record) -> bytes:
    """Return how often predictions are right, by the probability they were given."""
    figure, panels = canvas(3.6)
    panel = panels[0, 0]
    panel.plot([0, 1], [0, 1], color="0.3", linewidth=0.9)
    for method, bins in record["bins"].items():
        share, given, right = np.array(bins)
        kept = share > 0.002
        given, right = given[kept] / share[kept], right[kept] / share[kept]
        style = {"marker": "o", "markersize": 4, "color": COLORS[method]}
        panel.plot(given, right, label=method, **style)
    panel.set_xlabel("probability of the predicted class")
    panel.set_ylabel("share of right predictions")
    panel.set_xlim(0.25, 1)
    panel.set_ylim(0.15, 1)
    panel.legend(frameon=False, fontsize=9)
    return png(figure)


def parts(record: Record) -> dict[str, str]:
    """Return the parts of the page."""
    machine = origin("probabilities", "Probabilities")
    return {"probabilities": table(record), "probabilities, machine": machine}


def write(record: Record) -> None:
    """Write the table, and the picture."""
    publish("accuracy", parts(record), {"probabilities.png": picture(record)})


if __name__ == "__main__":
    command("probabilities", measure, write)
