"""Who is tried: our estimators in all their forms, and scikit-learn's discriminants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)

from heterolda import (
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
)
from heterolda.solvers import SOLVERS
from hostile.ways import FIT_OR_COMMAND, WAYS


@dataclass(frozen=True)
class Contender:
    """A classifier by its settings.

    Attributes
    ----------
    name : str
        In tests and on the page.
    build : callable
        Makes an estimator with further settings of the discriminant.
    ways : tuple of str
        Ways in which it takes data.
    classes : tuple of int
        Numbers of classes that it is tried with, where a case has several.
    all_ways : tuple of int
        Numbers of classes that it is tried with in all ways; by `fit` alone with
        others, to save time.
    """

    name: str
    build: Callable[..., Any]
    ways: tuple[str, ...] = ("fit",)
    classes: tuple[int, ...] = (2, 4)
    all_ways: tuple[int, ...] = (2,)

    @property
    def searches(self) -> bool:
        """Whether it is a local search."""
        return self.name == "paper"

    @property
    def is_peer(self) -> bool:
        """Whether it is somebody else's."""
        return self.name in PEERS


def _discriminant(**own: Any) -> Callable[..., Any]:
    return lambda **settings: GaussianLinearDiscriminant(
        random_state=0, **own, **settings
    )


def _search(**settings: Any) -> Any:
    start = GaussianLinearDiscriminant(**settings)
    return LocalNeighborhoodSearch(start, max_iter=50, patience=10)


def _peer(kind: type, **own: Any) -> Callable[..., Any]:
    return lambda **settings: kind(**own, **settings)


ALL_WAYS = tuple(WAYS)
# For data that are not normal: Algorithm 2, and the smoothed error.
NON_NORMAL = ("paper", "smoothed")

_ALL = [
    Contender("global", _discriminant(), ALL_WAYS, all_ways=(2, 4)),
    *(
        Contender(name, _discriminant(solver=name), ALL_WAYS)
        for name in SOLVERS
        if name != "global"
    ),
    Contender("shrinkage auto", _discriminant(shrinkage="auto"), ALL_WAYS),
    Contender("shrinkage cv", _discriminant(shrinkage="cv"), FIT_OR_COMMAND),
    Contender("minimax", _discriminant(criterion="minimax"), FIT_OR_COMMAND),
    Contender("paper", _search, FIT_OR_COMMAND),
    # Four classes would take most of the time and go the same way, pair by pair.
    Contender("smoothed", SmoothedLinearDiscriminant, FIT_OR_COMMAND, classes=(2,)),
]
DISCRIMINANTS = tuple(c.name for c in _ALL if "moments" in c.ways)
OURS = {contender.name: contender for contender in _ALL}
PEERS = {
    name: Contender(name, _peer(kind, **own))
    for name, kind, own in (
        ("LDA svd", LinearDiscriminantAnalysis, {"solver": "svd"}),
        ("LDA lsqr", LinearDiscriminantAnalysis, {"solver": "lsqr"}),
        ("LDA eigen", LinearDiscriminantAnalysis, {"solver": "eigen"}),
        ("QDA", QuadraticDiscriminantAnalysis, {}),
    )
}
