"""Compare all solvers on the paper's D1 and D2 and on scikit-learn's bundled sets.

For each set: 5-fold cross-validated accuracy, and the mean Bayes error of the pairs
under the Gaussian model, over the training folds. ``make demo`` runs this.
"""

import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold, cross_validate

from heterolda import GaussianLinearDiscriminant, TrivialRuleWarning
from heterolda.experiments.datasets import make_d1, make_d2

SETS = {
    "D1": lambda: make_d1(random_state=0),
    "D2": lambda: make_d2(random_state=0),
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
}
SOLVERS = ["fisher", "c-hld", "r-hld-1", "r-hld-2", "fixed-point", "global"]


def evaluate(model, X, y):
    """Accuracy, mean Bayes error and largest gap over five folds."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    result = cross_validate(model, X, y, cv=folds, return_estimator=True)
    fitted = result["estimator"]
    accuracy = 100 * result["test_score"].mean()
    if isinstance(model, LinearDiscriminantAnalysis):
        return accuracy, np.nan, np.nan
    error = 100 * np.mean([f.bayes_error_.mean() for f in fitted])
    return accuracy, error, max(f.gap_.max() for f in fitted)


def main():
    start = time.perf_counter()
    header = f"{'':15}" + "".join(f"{name:>13}" for name in ["sklearn LDA", *SOLVERS])
    accuracies, errors, gaps = [], [], {}
    for name, load in SETS.items():
        X, y = load()
        print(f"fitting {name} ({X.shape[0]} x {X.shape[1]}) ...", flush=True)
        row = [evaluate(LinearDiscriminantAnalysis(), X, y)]
        for solver in SOLVERS:
            model = GaussianLinearDiscriminant(solver=solver, random_state=0)
            with warnings.catch_warnings(action="ignore", category=TrivialRuleWarning):
                row.append(evaluate(model, X, y))
        gaps[name] = row[-1][2]
        accuracies.append(f"{name:15}" + "".join(f"{r[0]:13.2f}" for r in row))
        errors.append(f"{name:15}{'':13}" + "".join(f"{r[1]:13.3f}" for r in row[1:]))

    print("\nAccuracy in %, 5-fold cross-validation", header, *accuracies, sep="\n")
    print(
        "\nMean Bayes error of the pairs in %, under the Gaussian model",
        header,
        *errors,
        sep="\n",
    )
    print(
        f"\nglobal is certified: proven gap at most {max(gaps.values()):.1e} everywhere"
    )
    print(f"{time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
