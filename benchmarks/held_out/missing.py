"""Missing values: EM, or values filled in before LDA and before GLD."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.accuracy.sets import SETS, SIZES, load
from benchmarks.held_out.runner import Array, Fold, Study
from heterolda import GaussianLinearDiscriminant

# Shares of values that are removed at random.
RANDOM = {"5 % at random": 0.05, "20 % at random": 0.2, "40 % at random": 0.4}
# Values that are missing depending on a partner, a column that is complete: shares
# where the partner is above its median, and elsewhere.
DEPENDENT, ABOVE, ELSEWHERE = "depending on another column", 0.4, 0.05

DROP = "drop rows"


class Method(NamedTuple):
    """How values are filled in, if at all, and the classifier that is fitted then."""

    filler: str | None
    classifier: Callable[[], Any]


FILLERS: dict[str, Callable[[], Any]] = {
    DROP: lambda: SimpleImputer(keep_empty_features=True),
    "mean": lambda: SimpleImputer(keep_empty_features=True),
    "iterative": lambda: IterativeImputer(random_state=0),
    "kNN": lambda: make_pipeline(StandardScaler(), KNNImputer()),
}
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "LDA": LinearDiscriminantAnalysis,
    "GLD": GaussianLinearDiscriminant,
}
EM = "EM"
PEERS = {
    f"{filler} + {name}": Method(filler, make)
    for name, make in CLASSIFIERS.items()
    for filler in FILLERS
}
METHODS = {EM: Method(None, lambda: GaussianLinearDiscriminant(missing="em"))} | PEERS


def filled(filler: str | None, X: Array, y: Array) -> tuple[Any, ...]:
    """Return training rows, their labels, and a function that fills in new rows.

    Dropping rows cannot classify a new row with missing values: these get the mean of
    what was observed in the training rows.
    """
    if filler is None:
        return X, y, lambda rows: rows
    model = FILLERS[filler]()
    if filler == DROP:
        whole = ~np.isnan(X).any(axis=1)
        return X[whole], y[whole], model.fit(X).transform
    return model.fit_transform(X), y, model.transform


def fitted(make: Callable[[], Any], X: Array, y: Array, labels: Array) -> Any:
    """Return a classifier, of class frequencies where too few rows are left.

    That is: rows of fewer than two classes, or no more rows than classes.
    """
    n_classes = len(np.unique(y))
    if n_classes < 2 or len(y) <= n_classes:
        return DummyClassifier(strategy="prior").fit(np.zeros((len(labels), 1)), labels)
    return make().fit(X, y)


def removed(X: Array, kind: str, seed: int) -> Array:
    """Return the rows with values removed; the same for every method."""
    rng = np.random.default_rng([seed, zlib.crc32(kind.encode())])
    if kind in RANDOM:
        return np.where(rng.random(X.shape) < RANDOM[kind], np.nan, X)
    order = rng.permutation(X.shape[1])
    partners, others = np.split(order, [len(order) // 2])
    # In turns, so that with an odd number of columns one partner has two.
    chosen = np.resize(partners, len(others))
    above = X[:, chosen] > np.median(X[:, chosen], axis=0)
    mask = np.zeros(X.shape, dtype=bool)
    mask[:, others] = rng.random(above.shape) < np.where(above, ABOVE, ELSEWHERE)
    return np.where(mask, np.nan, X)


def fits(method: str, fold: Fold) -> Iterator[tuple[str, Any, Any]]:
    """Yield a model for each way of removing values, from training and test rows."""
    filler, make = METHODS[method]
    rows = np.concatenate([fold.X, fold.X_test])
    for kind in (*RANDOM, DEPENDENT):
        X, X_test = np.split(removed(rows, kind, fold.seed), [len(fold.X)])
        complete, labels, fill = filled(filler, X, fold.y)
        yield kind, fitted(make, complete, labels, fold.y), fill(X_test)


def _is_small(name: str) -> bool:
    """Return whether regressions of each feature on all others take seconds only."""
    n_rows, n_features, n_classes = SIZES[name]
    return n_rows < 2500 and n_features < 30 and n_classes < 50


MISSING = Study(
    "missing",
    {name: partial(load, name) for name in SETS if _is_small(name)},
    tuple(METHODS),
    fits,
    folds=5,
)
