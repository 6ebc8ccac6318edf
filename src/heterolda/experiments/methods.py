"""The methods of the study: the paper's seven, two of ours, three of scikit-learn.

The classifiers are imported when one is made, so that the names are quick to have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from heterolda.experiments.catalogue import resolve_names

__all__ = ["METHODS", "Method", "resolve_methods"]


@dataclass(frozen=True)
class Method:
    """A row of the table of methods; `make` takes a seed, returns an estimator."""

    name: str
    make: Callable[[int], Any]
    paper: bool
    description: str


def _gaussian(solver: str) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        from heterolda.estimators.discriminant import GaussianLinearDiscriminant

        return GaussianLinearDiscriminant(solver=solver, random_state=seed)

    return make


def _refined(solver: str) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        from heterolda.estimators.discriminant import GaussianLinearDiscriminant
        from heterolda.estimators.local_search import LocalNeighborhoodSearch

        start = GaussianLinearDiscriminant(solver=solver)
        return LocalNeighborhoodSearch(start)  # type: ignore[no-untyped-call]

    return make


def _sklearn_lda(seed: int) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis()


def _standardised(module: str, name: str, **settings: Any) -> Callable[[int], Any]:
    """A classifier of scikit-learn on standardised features."""

    def make(seed: int) -> Any:
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        classifier = getattr(import_module(module), name)(**settings)
        return make_pipeline(StandardScaler(), classifier)

    return make


_ROWS = (
    Method("LDA", _gaussian("fisher"), True, "LDA of each pair of classes"),
    Method("C-HLD", _gaussian("c-hld"), True, "grid of convex combinations"),
    Method("R-HLD-1", _gaussian("r-hld-1"), True, "random combinations, s1 + s2 = 1"),
    Method("R-HLD-2", _gaussian("r-hld-2"), True, "random combinations"),
    Method("GLD", _gaussian("fixed-point"), True, "Algorithm 1"),
    Method("LNS", _refined("fixed-point"), True, "Algorithm 2, started from GLD"),
    Method(
        *("SVM", _standardised("sklearn.svm", "SVC", kernel="linear"), True),
        "SVC(kernel='linear') on standardised features, one against one",
    ),
    Method("GLD-global", _gaussian("global"), False, "the certified optimum"),
    Method("global+LNS", _refined("global"), False, "Algorithm 2, started from it"),
    Method(
        *("LinearDiscriminantAnalysis", _sklearn_lda, False),
        "scikit-learn's LDA of all classes together",
    ),
    Method(
        "LogisticRegression",
        _standardised("sklearn.linear_model", "LogisticRegression", max_iter=1000),
        *(False, "scikit-learn's, multinomial, on standardised features"),
    ),
    Method(
        *("LinearSVC", _standardised("sklearn.svm", "LinearSVC", dual=False), False),
        "scikit-learn's, one against the rest, on standardised features",
    ),
)

METHODS = {row.name: row for row in _ROWS}
_GROUPS = {
    "all": list(METHODS),
    "paper": [row.name for row in _ROWS if row.paper],
}


def resolve_methods(names: list[str]) -> list[str]:
    """Names of methods from names and the groups "all" and "paper", in their order."""
    return resolve_names("method", names, list(METHODS), _GROUPS)
