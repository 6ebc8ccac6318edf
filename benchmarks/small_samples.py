"""Accuracy from few rows of each class: shrinkage of ours and of scikit-learn's LDA.

python -m benchmarks.small_samples [--repetitions 10]

Prints the table of docs/guide/shrinkage.md. A set is learned from some rows of each
class, drawn at random, and tested with the others.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from heterolda import GaussianLinearDiscriminant
from heterolda.experiments import load_dataset

# None of the sets that benchmarks.accuracy sets aside.
DATASETS = ("wine", "liver", "vowels", "segmentation", "zernike", "digits", "satellite")
ROWS = (5, 10, 30)
METHODS = {
    "none": GaussianLinearDiscriminant(),
    '"auto"': GaussianLinearDiscriminant(shrinkage="auto"),
    '"cv"': GaussianLinearDiscriminant(shrinkage="cv"),
    "LDA": LinearDiscriminantAnalysis(),
    'LDA "auto"': LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
}


def accuracies(name: str, rows: int, repetitions: int) -> np.ndarray:
    """Mean accuracy of each method in %, from so many rows of each class."""
    X, y = load_dataset(name)
    found = []
    for seed in range(repetitions):
        order = np.random.default_rng(seed).permutation(len(y))
        train = np.concatenate([order[y[order] == k][:rows] for k in np.unique(y)])
        test = np.setdiff1d(order, train)
        with warnings.catch_warnings(action="ignore"):
            models = [clone(m).fit(X[train], y[train]) for m in METHODS.values()]
        found.append([m.score(X[test], y[test]) for m in models])
    return 100 * np.mean(found, axis=0)


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        "benchmarks.small_samples", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    options = parser.parse_args(arguments)
    print("| set | rows a class | " + " | ".join(METHODS) + " |")
    print("|---|---|" + "---|" * len(METHODS))
    for name in options.datasets.split(","):
        for rows in ROWS:
            values = accuracies(name, rows, options.repetitions)
            figures = " | ".join(f"{value:.1f}" for value in values)
            print(f"| {name} | {rows} | {figures} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
