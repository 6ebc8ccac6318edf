"""The methods of the study: the paper's seven, two of ours, three of scikit-learn.

Keys are those of result folders and of ``--methods``; they follow the paper, which
calls Algorithm 1 "GLD". Readers see titles: elsewhere in heterolda *GLD* is the global
optimum and *LDA* is scikit-learn's. Classifiers are imported when one is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from heterolda.experiments.catalogue import resolve_names

__all__ = ["METHODS", "Method", "resolve_methods", "title"]


@dataclass(frozen=True)
class Method:
    """A row of the table of methods; `make` takes a seed, returns an estimator.

    Tables and pictures show the title; by default it is the name.
    """

    name: str
    make: Callable[[int], Any]
    title: str = ""


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
    Method("LDA", partial(pure_model, "fisher"), "Pairwise LDA"),
    Method("C-HLD", partial(pure_model, "c-hld")),
    Method("R-HLD-1", partial(pure_model, "r-hld-1")),
    Method("R-HLD-2", partial(pure_model, "r-hld-2")),
    Method("GLD", partial(pure_model, "fixed-point"), "Algorithm 1"),
    Method("LNS", partial(_local_search, "fixed-point"), "Algorithms 1 + 2"),
    Method("SVM", partial(_standardised, "sklearn.svm", "SVC", kernel="linear")),
)
_OTHERS = (
    Method("GLD-global", partial(pure_model, "global"), "GLD"),
    Method("global+LNS", partial(_local_search, "global"), "GLD + Algorithm 2"),
    Method("LinearDiscriminantAnalysis", _sklearn_lda, "LDA"),
    Method(
        "LogisticRegression",
        partial(
            _standardised, "sklearn.linear_model", "LogisticRegression", max_iter=1000
        ),
        "Logistic regression",
    ),
    Method("LinearSVC", partial(_standardised, "sklearn.svm", "LinearSVC", dual=False)),
)

METHODS = {row.name: row for row in (*_OF_PAPER, *_OTHERS)}
_GROUPS = {"all": list(METHODS), "paper": [row.name for row in _OF_PAPER]}


def title(method: str) -> str:
    """What readers see for a key; a method that is not of the study has its key."""
    return (METHODS[method].title or method) if method in METHODS else method


def resolve_methods(names: list[str]) -> list[str]:
    """Names of methods from names and the groups "all" and "paper", in their order."""
    return resolve_names("method", names, list(METHODS), _GROUPS)
