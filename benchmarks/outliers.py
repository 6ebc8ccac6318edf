"""What outliers among the training rows do to four linear classifiers.

python -m benchmarks.outliers [--data FOLDER ...] [--sets NAMES] [--out FILE]

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
from heterolda import GaussianLinearDiscriminant
from heterolda.foundations.files import written_whole

Array = np.ndarray

FOLDS, SHARE, DEVIATIONS = 10, 0.1, 10
MOST_ROWS, MOST_FEATURES, ROWS_PER_FEATURE = 2_000, 10, 5
KEPT = Path("build/outliers")
PAGE = Path(__file__).resolve().parent.parent / "docs" / "outliers.md"
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
    "none": "Training rows as they are",
    "moved": "A tenth of the training rows of each class moved together",
    "slips": "One value wrong in a tenth of the training rows of each class",
}


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


def page(results: dict[str, Any]) -> str:
    """The page, a table for each kind of outliers."""
    lines = [
        "# Outliers among the training rows",
        "",
        "Made by `python -m benchmarks.outliers`; do not edit. Accuracy in % on rows "
        f"held out, which are clean, {FOLDS} stratified folds, the same for all. "
        f"{len(results)} public sets: all with at most {MOST_FEATURES} features and, "
        f"in every class, at least {ROWS_PER_FEATURE} rows for each; of more than "
        f"{MOST_ROWS:,} rows so many are drawn. *Plain* is "
        "`GaussianLinearDiscriminant()`, *robust* the same with "
        "`covariance_estimator=MinCovDet(random_state=0)`, *LDA* scikit-learn's, "
        "*logistic* its logistic regression on standardised features. Differences are "
        "in points, with the standard error of the paired difference over rows.",
    ]
    for kind, title in KINDS.items():
        lines += ["", f"## {title}", ""]
        lines += [_how(kind), ""] if kind != "none" else []
        lines += [
            f"| set | rows | features | classes | {' | '.join(METHODS)} | "
            "robust - plain | robust - logistic |",
            "|---" * (6 + len(METHODS)) + "|",
        ]
        for name, one in results.items():
            cells = [name, *map(str, one["shape"])]
            cells += [f"{v:.1f}" for v in one["accuracy"][kind].values()]
            cells += [f"{v:+.1f} ± {e:.1f}" for v, e in one["gain"][kind].values()]
            lines.append(f"| {' | '.join(cells)} |")
        table = [list(one["accuracy"][kind].values()) for one in results.values()]
        means = " | ".join(f"{mean:.1f}" for mean in np.mean(table, axis=0))
        lines.append(f"| mean | | | | {means} | | |")
    return "\n".join([*lines, ""])


def _how(kind: str) -> str:
    where = f"by {DEVIATIONS} standard deviations of the features in all rows"
    if kind == "moved":
        return f"Each class in one direction of its own, drawn at random, {where}."
    return f"In each of these rows one feature, drawn at random, is off {where}."


def main(arguments: list[str] | None = None) -> int:
    """Measure what is missing, then write the page."""
    parser = argparse.ArgumentParser("benchmarks.outliers", description=__doc__)
    home = os.environ.get("HETEROLDA_DATA")
    known = [Path(home), Path(home) / "more"] if home else []
    parser.add_argument("--data", type=Path, nargs="*", default=known)
    parser.add_argument("--sets", help="names separated by commas (default: all)")
    parser.add_argument("--out", type=Path, default=PAGE)
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
    with written_whole(options.out) as file:
        file.write(page(results).encode())
    print(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
