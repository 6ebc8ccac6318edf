"""The methods of the study: the paper's seven, two of ours, three of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.local_search import LocalNeighborhoodSearch
from heterolda.experiments.catalogue import resolve_names

__all__ = ["METHODS", "Method", "resolve_methods"]


@dataclass(frozen=True)
class Method:
    """A row of the table of methods.

    Attributes
    ----------
    name : str
        For the results.
    make : callable
        Takes a seed, returns an estimator to fit.
    paper : bool
        Whether it is one of the paper's.
    description : str
        What it is.
    """

    name: str
    make: Callable[[int], Any]
    paper: bool
    description: str


def _gaussian(solver: str) -> Callable[[int], Any]:
    return lambda seed: GaussianLinearDiscriminant(solver=solver, random_state=seed)


def _refined(solver: str) -> Callable[[int], Any]:
    start = GaussianLinearDiscriminant(solver=solver)
    return lambda seed: LocalNeighborhoodSearch(start)  # type: ignore[no-untyped-call]


_ROWS = (
    Method("LDA", _gaussian("fisher"), True, "LDA of each pair of classes"),
    Method("C-HLD", _gaussian("c-hld"), True, "grid of convex combinations"),
    Method("R-HLD-1", _gaussian("r-hld-1"), True, "random combinations, s1 + s2 = 1"),
    Method("R-HLD-2", _gaussian("r-hld-2"), True, "random combinations"),
    Method("GLD", _gaussian("fixed-point"), True, "Algorithm 1"),
    Method("LNS", _refined("fixed-point"), True, "Algorithm 2, started from GLD"),
    Method(
        "SVM",
        lambda seed: make_pipeline(StandardScaler(), SVC(kernel="linear")),
        True,
        "SVC(kernel='linear') on standardised features, one against one",
    ),
    Method("GLD-global", _gaussian("global"), False, "the certified optimum"),
    Method("global+LNS", _refined("global"), False, "Algorithm 2, started from it"),
    Method(
        "LinearDiscriminantAnalysis",
        lambda seed: LinearDiscriminantAnalysis(),
        False,
        "scikit-learn's LDA of all classes together",
    ),
    Method(
        "LogisticRegression",
        lambda seed: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        False,
        "scikit-learn's, multinomial, on standardised features",
    ),
    Method(
        "LinearSVC",
        lambda seed: make_pipeline(StandardScaler(), LinearSVC(dual=False)),
        False,
        "scikit-learn's, one against the rest, on standardised features",
    ),
)

METHODS = {row.name: row for row in _ROWS}
_GROUPS = {
    "all": list(METHODS),
    "paper": [row.name for row in _ROWS if row.paper],
}


def resolve_methods(names: list[str]) -> list[str]:
    """Names of methods from names and groups, in the order of the table.

    Parameters
    ----------
    names : list of str
        Names, or "all" or "paper" (the paper's seven).

    Returns
    -------
    list of str
        Names, each once.
    """
    return resolve_names("method", names, list(METHODS), _GROUPS)
