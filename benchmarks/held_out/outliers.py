"""Four linear classifiers, fitted to training rows with outliers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.covariance import MinCovDet
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.accuracy.sets import load
from benchmarks.held_out.runner import Array, Fold, Study
from heterolda import GaussianLinearDiscriminant

SHARE, DEVIATIONS, MAX_ROWS = 0.1, 10, 2000
# At most ten features, and in every class at least five rows for each.
SETS = (
    *("liver", "vowels", "abalone_3class", "banknote", "biomed", "haberman", "htru2"),
    *("mammographic", "new_thyroid", "seeds", "vertebral_2c", "vertebral_3c"),
    "wall_following_4",
)
CLEAN, MOVED, SLIPS = "clean rows", "a tenth moved together", "one wrong value"
METHODS = {
    "robust GLD": partial(
        GaussianLinearDiscriminant, covariance_estimator=MinCovDet(random_state=0)
    ),
    "GLD": GaussianLinearDiscriminant,
    "LDA": LinearDiscriminantAnalysis,
    "logistic": lambda: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=5000)
    ),
}


def contaminated(X: Array, y: Array, kind: str, rng: np.random.Generator) -> Array:
    """Return the rows with outliers in each class, by deviations of the features."""
    X, spread = X.copy(), DEVIATIONS * X.std(axis=0)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        few = rows[: round(SHARE * len(rows))]
        direction = rng.normal(size=X.shape[1])
        feature = rng.integers(X.shape[1], size=len(few))
        sign = rng.choice([-1, 1], size=len(few))
        if kind == MOVED:
            X[few] += spread * direction / np.linalg.norm(direction)
        elif kind == SLIPS:
            X[few, feature] += sign * spread[feature]
    return X


def fits(method: str, fold: Fold) -> Iterator[tuple[str, Any, Any]]:
    """Yield a model for each kind of outliers."""
    for kind in (CLEAN, MOVED, SLIPS):
        X = contaminated(fold.X, fold.y, kind, np.random.default_rng(fold.seed))
        yield kind, METHODS[method]().fit(X, fold.y), fold.X_test


def sample(name: str) -> tuple[Array, Array]:
    """Return at most `MAX_ROWS` rows of a set."""
    X, y = load(name)
    rows = np.random.default_rng(0).permutation(len(y))[:MAX_ROWS]
    return X[rows], y[rows]


OUTLIERS = Study(
    "outliers", {n: partial(sample, n) for n in SETS}, tuple(METHODS), fits
)
