"""What outliers among the training rows do to four linear classifiers.

python -m benchmarks.outliers [--data FOLDER ...] [--sets NAMES] [--out FOLDER]

The folders hold gzip CSV files whose last column is `target`; by default that of
HETEROLDA_DATA and its subfolder `more`. Results of each set are kept in build/outliers,
so that an interrupted run goes on where it was; it takes about four minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.covariance import MinCovDet
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.guard import read
from benchmarks.pages import (
    GREY,
    OURS,
    PEER,
    bars,
    canvas,
    compose,
    listed,
    png,
    section,
    write,
)
from heterolda import GaussianLinearDiscriminant
from heterolda.foundations.files import written_whole

Array = np.ndarray

FOLDS, SHARE, DEVIATIONS = 10, 0.1, 10
MOST_ROWS, MOST_FEATURES, ROWS_PER_FEATURE = 2_000, 10, 5
KEPT = Path("build/outliers")
DOCS = Path(__file__).resolve().parent.parent / "docs"
ROBUST = MinCovDet(random_state=0)
METHODS = {
    "plain": GaussianLinearDiscriminant,
    "robust": lambda: GaussianLinearDiscriminant(covariance_estimator=ROBUST),
    "LDA": LinearDiscriminantAnalysis,
    "logistic": lambda: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=5_000)
    ),
}
KINDS = {
    "none": "Clean training rows",
    "moved": "A tenth of the training rows of each class moved together",
    "slips": "One value wrong in a tenth of the training rows of each class",
}
BRIEF = {
    "none": "clean training rows",
    "moved": "a tenth of the rows moved together",
    "slips": "one wrong value in a tenth of the rows",
}
SHOWN = {"plain": "GLD", "robust": "robust GLD", "LDA": "LDA", "logistic": "logistic"}
COLOURS = {"plain": "#e58a8d", "robust": OURS, "LDA": PEER, "logistic": GREY}
PICTURE = (
    "![Mean accuracies with clean training rows and with two kinds of outliers: only "
    "the robust discriminant keeps its accuracy](images/outliers.png)"
)


def contaminate(X: Array, y: Array, kind: str, rng: np.random.Generator) -> Array:
    """The rows with outliers in each class, in units of the features' deviations."""
    X, spread = X.copy(), DEVIATIONS * X.std(axis=0)
    for label in np.unique(y):
        mine = rng.permutation(np.flatnonzero(y == label))
        few = mine[: round(SHARE * len(mine))]
        direction = rng.normal(size=X.shape[1])
        feature = rng.integers(X.shape[1], size=len(few))
        sign = rng.choice([-1, 1], size=len(few))
        if kind == "moved":
            X[few] += spread * direction / np.linalg.norm(direction)
        elif kind == "slips":
            X[few, feature] += sign * spread[feature]
    return X


def suits(X: Array, y: Array) -> bool:
    """Whether a set is small enough, and its classes large enough."""
    smallest = np.unique(y, return_counts=True)[1].min()
    return X.shape[1] <= MOST_FEATURES and smallest >= ROWS_PER_FEATURE * X.shape[1]


def measure(X: Array, y: Array) -> dict[str, Any]:
    """Which rows each method gets wrong, for each kind of outliers, held out."""
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    X, y = X[rows], y[rows]
    wrong = {kind: {name: np.zeros(len(y)) for name in METHODS} for kind in KINDS}
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    for k, (train, test) in enumerate(folds.split(X, y)):
        for kind, found in wrong.items():
            rng = np.random.default_rng(k)
            bad = contaminate(X[train], y[train], kind, rng)
            for name, make in METHODS.items():
                answers = make().fit(bad, y[train]).predict(X[test])
                found[name][test] = answers != y[test]
    return {
        "shape": [*X.shape, len(np.unique(y))],
        "accuracy": {
            kind: {name: 100 * (1 - one.mean()) for name, one in found.items()}
            for kind, found in wrong.items()
        },
        "gain": {
            kind: {
                name: _paired(found[name] - found["robust"])
                for name in ("plain", "logistic")
            }
            for kind, found in wrong.items()
        },
    }


def _paired(difference: Array) -> list[float]:
    """Mean of a difference over rows in points, and its standard error."""
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return [100 * float(difference.mean()), 100 * float(error)]


def means(results: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Mean accuracy over the sets, by kind of outliers and method."""
    return {
        kind: {
            method: float(np.mean([one["accuracy"][kind][method] for one in found]))
            for method in METHODS
        }
        for kind in KINDS
        if (found := list(results.values()))
    }


def page(results: dict[str, Any]) -> str:
    """The page, a table for each kind of outliers."""
    average = means(results)
    clean, moved, slips = (average[kind] for kind in KINDS)
    lost = [
        name
        for name, one in results.items()
        if all(gain < -2 * e for gain, e in (one["gain"][k]["plain"] for k in KINDS))
    ]
    opening = (
        "What happens if a tenth of your training rows are wrong? "
        "`GaussianLinearDiscriminant()` (*GLD*) with "
        "`covariance_estimator=MinCovDet()` (*robust GLD*) hardly notices: over "
        f"{len(results)} public data sets it is right on {moved['robust']:.1f} % of "
        "clean rows held out if a tenth of each class is moved, and on "
        f"{slips['robust']:.1f} % if single values are wrong. Plain GLD falls from "
        f"{clean['plain']:.1f} to {moved['plain']:.1f} and {slips['plain']:.1f} %, "
        f"logistic regression from {clean['logistic']:.1f} to "
        f"{moved['logistic']:.1f} and {slips['logistic']:.1f} %, LDA from "
        f"{clean['LDA']:.1f} to {moved['LDA']:.1f} and {slips['LDA']:.1f} %. "
        "**Robustness has its price**: with clean training rows robust GLD reaches "
        f"{clean['robust']:.1f} % only"
        + (f", and on {listed(lost)} it loses even with outliers" if lost else "")
        + ". Use it if you expect outliers, and compare it with plain GLD on your own "
        "rows."
    )
    tables = []
    for kind, title in KINDS.items():
        rows = []
        for name, one in results.items():
            n, d, classes = one["shape"]
            cells = [name, f"{n:,} x {d}, {classes}"]
            cells += [f"{v:.1f}" for v in one["accuracy"][kind].values()]
            cells += [f"{v:+.1f} ± {e:.1f}" for v, e in one["gain"][kind].values()]
            rows.append(tuple(cells))
        figures = [f"{mean:.1f}" for mean in average[kind].values()]
        rows.append(("mean", "", *figures, "", ""))
        names = [SHOWN[method] for method in METHODS]
        head = "|".join(["set", "size", *names, "robust - plain", "robust - logistic"])
        tables.append(section(title, _how(kind), head, rows))
    return compose(
        "Outliers among the training rows",
        [opening],
        tables,
        [
            "Made by `python -m benchmarks.outliers`; run it again instead of editing "
            "the page.",
            f"{FOLDS} stratified folds, the same for all methods. Training rows are "
            "contaminated, the rows held out never.",
            f"All public sets of ours with at most {MOST_FEATURES} features and, in "
            f"every class, at least {ROWS_PER_FEATURE} rows for each feature. Of more "
            f"than {MOST_ROWS:,} rows, {MOST_ROWS:,} are drawn.",
            "*Robust GLD* is `GaussianLinearDiscriminant(covariance_estimator="
            "MinCovDet(random_state=0))`. *LDA* and *logistic* are scikit-learn's, the "
            "latter on standardised features.",
        ],
        picture=PICTURE,
    )


def _how(kind: str) -> str:
    size = (
        "Accuracy in % on clean rows held out; size is rows x features, classes; "
        "differences in points, with the standard error over rows."
    )
    far = f"by {DEVIATIONS} standard deviations of the feature over all rows"
    return {
        "none": size,
        "moved": f"Each class is moved in a direction of its own, drawn at random, "
        f"{far}.",
        "slips": f"In each of these rows one feature, drawn at random, is off {far}.",
    }[kind]


def draw(results: dict[str, Any]) -> bytes:
    """The picture: mean accuracies, one group of bars for each kind, as PNG."""
    average = means(results)
    figure, panels = canvas(4.6, len(average), sharex=True)
    for panel, (kind, found) in zip(panels[:, 0], average.items(), strict=True):
        bars(
            panel,
            {SHOWN[m]: (mean, f"{mean:.1f}", COLOURS[m]) for m, mean in found.items()},
            dots=True,
        )
        panel.set_title(BRIEF[kind], fontsize=10, loc="left")
        panel.margins(x=0.12)
    panels[-1, 0].set_xlabel("mean accuracy in % on clean rows held out")
    return png(figure)


def main(arguments: list[str] | None = None) -> int:
    """Measure what is missing, then write the page."""
    parser = argparse.ArgumentParser("benchmarks.outliers", description=__doc__)
    home = os.environ.get("HETEROLDA_DATA")
    known = [Path(home), Path(home) / "more"] if home else []
    parser.add_argument("--data", type=Path, nargs="*", default=known)
    parser.add_argument("--sets", help="names separated by commas (default: all)")
    parser.add_argument("--out", type=Path, default=DOCS)
    options = parser.parse_args(arguments)
    KEPT.mkdir(parents=True, exist_ok=True)
    results = {}
    for path in [p for f in options.data for p in sorted(f.glob("*.csv.gz"))]:
        name = path.name.removesuffix(".csv.gz")
        if options.sets and name not in options.sets.split(","):
            continue
        kept = KEPT / f"{name}.json"
        if not kept.exists():
            X, y = read(path)
            if not suits(X, y):
                continue
            with warnings.catch_warnings(action="ignore"), threadpool_limits(1):
                result = measure(X, y)
            with written_whole(kept) as file:
                file.write(json.dumps(result).encode())
        results[name] = json.loads(kept.read_text())
        print(name, results[name]["accuracy"], file=sys.stderr, flush=True)
    picture = {"images/outliers.png": draw(results)}
    write(options.out, {"outliers.md": page(results)} | picture)
    print(options.out / "outliers.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
