"""EM, and ways of filling gaps before linear discriminant analysis and before ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from heterolda import GaussianLinearDiscriminant

Array = np.ndarray

# With more features, regressions on all others take minutes for a single fold.
MANY_FEATURES, NEAREST = 100, 20
DROP = "drop rows"


class Method(NamedTuple):
    """What fills the gaps, if anything does, and what is fitted then."""

    filler: str | None
    classifier: Callable[[], Any]


def iterative(n_features: int) -> IterativeImputer:
    """The defaults, save for many features."""
    nearest = NEAREST if n_features > MANY_FEATURES else None
    return IterativeImputer(random_state=0, n_nearest_features=nearest)


FILLERS: dict[str, Callable[[int], Any]] = {
    DROP: lambda d: SimpleImputer(keep_empty_features=True),
    "mean": lambda d: SimpleImputer(keep_empty_features=True),
    "iterative": iterative,
    "kNN": lambda d: make_pipeline(StandardScaler(), KNNImputer()),
}
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "LDA": LinearDiscriminantAnalysis,
    "ours": GaussianLinearDiscriminant,
}
EM = "EM"
PEERS = {
    f"{filler} + {name}": Method(filler, make)
    for name, make in CLASSIFIERS.items()
    for filler in FILLERS
}
METHODS = {EM: Method(None, lambda: GaussianLinearDiscriminant(missing="em"))} | PEERS


def filled(filler: str | None, X: Array, y: Array) -> tuple[Any, ...]:
    """Training rows, their labels, and a function that fills in new rows.

    Dropping rows cannot classify a new row with gaps: its gaps get the mean of what was
    observed in the training rows.
    """
    if filler is None:
        return X, y, lambda rows: rows
    model = FILLERS[filler](X.shape[1])
    if filler == DROP:
        whole = ~np.isnan(X).any(axis=1)
        return X[whole], y[whole], model.fit(X).transform
    return model.fit_transform(X), y, model.transform


def fitted(make: Callable[[], Any], X: Array, y: Array, labels: Array) -> Any:
    """A classifier; the class frequencies where too few rows are left to fit one.

    That is: rows of fewer than two classes, or no more rows than classes.
    """
    n_classes = len(np.unique(y))
    if n_classes < 2 or len(y) <= n_classes:
        return DummyClassifier(strategy="prior").fit(np.zeros((len(labels), 1)), labels)
    return make().fit(X, y)
