"""A small folder of results, made up, with what tables and report must cope with."""

import json

import numpy as np

HEADER = "dataset,method,trial,fold,n_train,n_test,n_correct,bayes_error,fit_seconds"
SIZES = {"D2": 6000, "liver": 345, "wine_white": 4898, "iris": 150, "wine": 178}
METHODS = [
    "pairwise-lda",
    "c-hld",
    "algorithm-1",
    "algorithm-2",
    "svm",
    "gld",
    "logistic-regression",
]
WITH_ERROR = {"pairwise-lda", "c-hld", "algorithm-1", "gld"}
FOLDS, TRIALS = 5, 3
LIMITS = {"svm:wine_white": 1}


def make_rows(rng):
    """Rows as lists, in the order in which a run writes them."""
    rows = []
    for dataset, n in SIZES.items():
        for trial in range(TRIALS):
            for fold in range(FOLDS):
                for k, method in enumerate(METHODS):
                    if trial >= LIMITS.get(f"{method}:{dataset}", TRIALS):
                        continue
                    n_test = len(range(fold, n, FOLDS))
                    correct = int(rng.integers(n_test // 2, n_test + 1))
                    error = repr(float(rng.uniform(0.01, 0.4)))
                    seconds = repr(float(rng.uniform(0.5, 2) * (k + 1) / 1000))
                    counts = n - n_test, n_test, correct
                    if method not in WITH_ERROR:
                        error = ""
                    rows.append([dataset, method, trial, fold, *counts, error, seconds])
    return rows


def write_run(folder, rows, **changes):
    """Write rows and the description of their run."""
    folder.mkdir(exist_ok=True)
    run = {
        "folds": FOLDS,
        "seed": 0,
        "versions": {"numpy": np.__version__},
        "machine": {"system": "made up <for a test>"},
    }
    (folder / "run.json").write_text(json.dumps(run | changes), encoding="utf-8")
    lines = [HEADER, *(",".join(map(str, row)) for row in rows)]
    (folder / "results.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
