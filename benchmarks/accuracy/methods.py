"""The methods that are compared: ours, linear classifiers of scikit-learn, a forest."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from heterolda import GaussianLinearDiscriminant, SmoothedLinearDiscriminant
from heterolda.statistics.power import PowerTransformation

SMOOTHED, GLD, FOREST = "smoothed", "GLD", "forest"
POWERS = " + powers"
C = [0.01, 0.1, 1, 10]
# With more training rows than the first number, C is chosen on a stratified sample of
# the second number of rows.
MANY_ROWS, SAMPLE = 2500, 2000


class ClassPowers(TransformerMixin, BaseEstimator):
    """The power transformation of the smoothed discriminant, by the likelihood."""

    def fit(self, X: Any, y: Any) -> Self:
        """Find the powers."""
        self.powers_ = None
        if len(X) > X.shape[1]:
            codes = np.unique(y, return_inverse=True)[1]
            self.powers_ = PowerTransformation.fit(X, codes, None)
        return self

    def transform(self, X: Any) -> Any:
        """Return transformed rows."""
        return X if self.powers_ is None else self.powers_.apply(X)


def log_losses(model: Any, X: Any, y: Any) -> Any:
    """Return the log loss of each row, at most 36; NaN without probabilities."""
    if not hasattr(model, "predict_proba"):
        return np.full(len(y), np.nan)
    proba = model.predict_proba(X)
    place = np.searchsorted(model.classes_, y).clip(max=len(model.classes_) - 1)
    p = np.where(model.classes_[place] == y, proba[np.arange(len(y)), place], 0.0)
    return -np.log(np.maximum(p, np.finfo(float).eps))


class InnerFolds:
    """Five stratified folds of the training rows, or of a sample of many."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return 5

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[Any, Any]]:
        """Yield training and test rows of each fold."""
        rows, seed = np.arange(len(y)), self.seed
        if len(y) > MANY_ROWS:
            options = {"train_size": SAMPLE, "stratify": y, "random_state": seed}
            rows, _ = train_test_split(rows, **options)
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        with warnings.catch_warnings():  # a class may have fewer rows than folds
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            parts = list(folds.split(rows, y[rows]))
        for train, test in parts:
            yield rows[train], rows[test]


def _scaled(model: Any, *before: Any) -> Any:
    return make_pipeline(*before, StandardScaler(), model)


def _tuned(model: Any, name: str, seed: int) -> Any:
    return GridSearchCV(model, {name: C}, cv=InnerFolds(seed))


def _svc(seed: int) -> Any:
    return OneVsOneClassifier(LinearSVC(random_state=seed))


def _pairs(seed: int) -> Any:
    return OneVsOneClassifier(LogisticRegression(max_iter=1000))


# Each takes a seed, and returns an estimator.
METHODS: dict[str, Callable[[int], Any]] = {
    SMOOTHED: lambda seed: SmoothedLinearDiscriminant(),
    GLD: lambda seed: GaussianLinearDiscriminant(),
    "LDA": lambda seed: _scaled(LinearDiscriminantAnalysis()),
    "LDA-LW": lambda seed: _scaled(LinearDiscriminantAnalysis("lsqr", "auto")),
    f"LDA{POWERS}": lambda seed: _scaled(LinearDiscriminantAnalysis(), ClassPowers()),
    "ridge": lambda seed: _scaled(RidgeClassifier()),
    "logistic": lambda seed: _scaled(LogisticRegression(max_iter=1000)),
    "logistic-tuned": lambda seed: _scaled(
        _tuned(LogisticRegression(max_iter=1000), "C", seed)
    ),
    "OvO-LinearSVC": lambda seed: _scaled(_svc(seed)),
    "OvO-LinearSVC-tuned": lambda seed: _scaled(
        _tuned(_svc(seed), "estimator__C", seed)
    ),
    f"OvO-LinearSVC-tuned{POWERS}": lambda seed: _scaled(
        _tuned(_svc(seed), "estimator__C", seed), ClassPowers()
    ),
    f"OvO-logistic{POWERS}": lambda seed: _scaled(_pairs(seed), ClassPowers()),
    f"OvO-logistic-tuned{POWERS}": lambda seed: _scaled(
        _tuned(_pairs(seed), "estimator__C", seed), ClassPowers()
    ),
    FOREST: lambda seed: RandomForestClassifier(200, random_state=seed),
}
PEERS = [name for name in METHODS if name not in (SMOOTHED, GLD, FOREST)]
