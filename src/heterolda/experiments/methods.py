"""The methods of the study: the paper's seven, two of ours, three of scikit-learn.

The classifiers are imported when one is made, so that the names are quick to have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from heterolda.experiments.catalogue import resolve_names

__all__ = ["METHODS", "Method", "resolve_methods"]


@dataclass(frozen=True)
class Method:
    """A row of the table of methods; `make` takes a seed, returns an estimator."""

    name: str
    make: Callable[[int], Any]
    description: str


def pure_model(solver: str, seed: int = 0) -> Any:
    """The discriminant as the paper has it: no class borrows, no rule is replaced."""
    from heterolda.estimators.discriminant import GaussianLinearDiscriminant

    return GaussianLinearDiscriminant(
        solver=solver, guard=False, shrinkage=0.0, random_state=seed
    )


def _local_search(solver: str, seed: int) -> Any:
    from heterolda.estimators.local_search import LocalNeighborhoodSearch

    start = pure_model(solver)
    return LocalNeighborhoodSearch(start)  # type: ignore[no-untyped-call]


def _sklearn_lda(seed: int) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis()


def _standardised(module: str, name: str, seed: int, **settings: Any) -> Any:
    """A classifier of scikit-learn on standardised features."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    classifier = getattr(import_module(module), name)(**settings)
    return make_pipeline(StandardScaler(), classifier)


_OF_PAPER = (
    Method("LDA", partial(pure_model, "fisher"), "LDA of each pair of classes"),
    Method("C-HLD", partial(pure_model, "c-hld"), "grid of convex combinations"),
    Method(
        "R-HLD-1", partial(pure_model, "r-hld-1"), "random combinations, s1 + s2 = 1"
    ),
    Method("R-HLD-2", partial(pure_model, "r-hld-2"), "random combinations"),
    Method("GLD", partial(pure_model, "fixed-point"), "Algorithm 1"),
    Method(
        "LNS", partial(_local_search, "fixed-point"), "Algorithm 2, started from GLD"
    ),
    Method(
        "SVM",
        partial(_standardised, "sklearn.svm", "SVC", kernel="linear"),
        "SVC(kernel='linear') on standardised features, one against one",
    ),
)
_OTHERS = (
    Method("GLD-global", partial(pure_model, "global"), "the certified optimum"),
    Method(
        "global+LNS", partial(_local_search, "global"), "Algorithm 2, started from it"
    ),
    Method(
        "LinearDiscriminantAnalysis",
        _sklearn_lda,
        "scikit-learn's LDA of all classes together",
    ),
    Method(
        "LogisticRegression",
        partial(
            _standardised, "sklearn.linear_model", "LogisticRegression", max_iter=1000
        ),
        "scikit-learn's, multinomial, on standardised features",
    ),
    Method(
        "LinearSVC",
        partial(_standardised, "sklearn.svm", "LinearSVC", dual=False),
        "scikit-learn's, one against the rest, on standardised features",
    ),
)

METHODS = {row.name: row for row in (*_OF_PAPER, *_OTHERS)}
_GROUPS = {"all": list(METHODS), "paper": [row.name for row in _OF_PAPER]}


def resolve_methods(names: list[str]) -> list[str]:
    """Names of methods from names and the groups "all" and "paper", in their order."""
    return resolve_names("method", names, list(METHODS), _GROUPS)
