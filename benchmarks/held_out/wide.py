"""More features than rows: our rules, and linear peers, tuned by inner folds.

Each is fitted to all training rows, and to ten of each class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import heterolda
from benchmarks.accuracy.sets import read
from benchmarks.held_out.choose import CONDITION
from benchmarks.held_out.runner import Fold, Study
from heterolda import GaussianLinearDiscriminant

Array = np.ndarray

INNER_FOLDS = 5
# In steps of about a factor of five, from what shrinks most; of equally good ones the
# first is taken. The penalty of all features grows with their number, hence small ones.
RIDGE = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0]
LASSO = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
THRESHOLDS = [4.0, 3.0, 2.5, 2.0, 1.5, 1.0, 0.5, 0.25, None]


class LedoitWolf(ClassifierMixin, BaseEstimator):
    """`LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")` of wide data.

    The same rule without a matrix of all features: every class covariance is a multiple
    of that of the rows, plus a diagonal.
    """

    def fit(self, X: Array, y: Array) -> LedoitWolf:
        """Estimate means, a diagonal and factors of the covariance."""
        self.classes_, counts = np.unique(y, return_counts=True)
        priors = counts / len(y)
        means = np.array([X[y == c].mean(axis=0) for c in self.classes_])
        diagonal, factors = np.zeros(X.shape[1]), []
        for c, prior, mean in zip(self.classes_, priors, means, strict=True):
            centered = X[y == c] - mean
            scale = centered.std(axis=0)
            scale[scale == 0] = 1.0
            z = centered / scale
            average = np.mean(z**2)
            amount = ledoit_wolf(z)
            diagonal += prior * amount * average * scale**2
            factors.append(np.sqrt(prior * (1 - amount) / len(z)) * centered)
        # Woodbury: (D + F'F)^-1 m
        factor = np.concatenate(factors)
        scaled = factor / diagonal
        inner = np.eye(len(factor)) + scaled @ factor.T
        self.coef_ = means / diagonal
        self.coef_ -= np.linalg.solve(inner, scaled @ means.T).T @ scaled
        self.intercept_ = np.log(priors) - 0.5 * np.sum(means * self.coef_, axis=1)
        return self

    def predict(self, X: Array) -> Array:
        """Return labels of rows."""
        scores = X @ self.coef_.T + self.intercept_
        return self.classes_[scores.argmax(axis=1)]


def ledoit_wolf(z: Array) -> float:
    """Return the shrinkage of centered rows, from their inner products."""
    n, d = z.shape
    gram = z @ z.T
    squares = np.diag(gram)
    beta, delta = np.sum(squares**2), np.sum(gram**2) / n**2
    mu = squares.sum() / n / d
    beta = (beta / n - delta) / (d * n)
    delta = (delta - d * mu**2) / d
    return float(min(beta, delta) / delta) if delta > 0 and beta > 0 else 0.0


def _tuned(
    name: str, values: list[Any], *steps: Callable[[], Any]
) -> Callable[[int], Any]:
    def search(seed: int) -> Any:
        model = make_pipeline(StandardScaler(), *(step() for step in steps))
        folds = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=seed)
        return GridSearchCV(model, {f"{model.steps[-1][0]}__{name}": values}, cv=folds)

    return search


def _turned() -> PCA:
    # All components: the penalty is the same for turned rows, which are much shorter.
    return PCA(svd_solver="full")


def _lasso() -> OneVsRestClassifier:
    # The solver penalizes the intercept, too, less so if it is scaled.
    return OneVsRestClassifier(
        LogisticRegression(l1_ratio=1, solver="liblinear", intercept_scaling=10)
    )


PEERS: dict[str, Callable[[int], Any]] = {
    "LDA": lambda seed: LinearDiscriminantAnalysis(),
    "LDA (Ledoit-Wolf)": lambda seed: LedoitWolf(),
    "logistic (l2)": _tuned(
        "C", RIDGE, _turned, lambda: LogisticRegression(max_iter=1000)
    ),
    "logistic (l1)": _tuned("estimator__C", LASSO, _lasso),
    "linear SVM": _tuned("C", RIDGE, _turned, LinearSVC),
    "shrunken centroids": _tuned("shrink_threshold", THRESHOLDS, NearestCentroid),
}
METHODS: dict[str, Callable[[int], Any]] = {
    "GLD": lambda seed: GaussianLinearDiscriminant(),
    'GLD, shrinkage="cv"': lambda seed: GaussianLinearDiscriminant(shrinkage="cv"),
    "smoothed": lambda seed: heterolda.SmoothedLinearDiscriminant(),
} | PEERS
SETS = "alon", "golub", "gravier", "khan"


def some_of_each(y: Array, n: int, seed: int) -> Array:
    """Return indices of at most n rows of each class, drawn at random."""
    order = np.random.default_rng(seed).permutation(len(y))
    return np.concatenate([order[y[order] == k][:n] for k in np.unique(y)])


def fits(method: str, fold: Fold) -> Iterator[tuple[str, Any, Any]]:
    """Yield the fitted models."""
    for condition, n in ((CONDITION, len(fold.y)), ("10 rows of each class", 10)):
        rows = some_of_each(fold.y, n, fold.seed) if n == 10 else slice(None)
        model = METHODS[method](fold.seed).fit(fold.X[rows], fold.y[rows])
        yield condition, model, fold.X_test


WIDE = Study(
    "wide",
    {name: partial(read, f"wide/{name}.csv.gz") for name in SETS},
    tuple(METHODS),
    fits,
    folds=5,
    shuffles=2,
)
