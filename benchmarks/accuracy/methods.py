"""The methods: six linear peers, at their defaults and tuned, and ours.

Peers get standardised features. A tuned peer chooses C (or alpha, or the shrinkage of
LDA) among five values by three inner folds of the training rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC

import heterolda
from heterolda import GaussianLinearDiscriminant, LocalNeighborhoodSearch
from heterolda.experiments.catalogue import CATALOGUE, resolve_names
from heterolda.experiments.methods import Method

RECOMMENDED = "recommended"
TUNED = "-tuned"
# Training times are compared with this one.
TIMED_PEER = "OvO-LinearSVC-tuned"

VALUES = [0.01, 0.1, 1, 10, 100]
SHRINKAGES = [None, "auto", 0.1, 0.5, 0.9]
INNER_FOLDS = 3
# SVC with a large C takes hours on the larger sets. With more training rows than the
# first number, it is tuned with a stratified sample of the second, and fitted to all.
MANY_ROWS, SAMPLE = 2500, 2000
# Without a limit it would take hours where C is large and the classes overlap.
ITERATIONS = 50_000
# It then has one trial only, and on the dearest sets every method has.
DEAREST = ("shuttle", "letters", "optdigits")


class InnerFolds:
    """Stratified inner folds, of a sample of the rows where these are too many.

    Parameters
    ----------
    seed : int
        For shuffles and sample.
    sampled : bool
        Whether to use a sample if there are more than `MANY_ROWS` rows.
    """

    def __init__(self, seed: int, sampled: bool):
        self.seed = seed
        self.sampled = sampled

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds."""
        return INNER_FOLDS

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[Any, Any]]:
        """Training and test rows of each fold."""
        rows = np.arange(len(y))
        if self.sampled and len(y) > MANY_ROWS:
            rows, _ = train_test_split(
                rows, train_size=SAMPLE, stratify=y, random_state=self.seed
            )
        folds = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=self.seed)
        for train, test in folds.split(rows, y[rows]):
            yield rows[train], rows[test]


def _default(make: Callable[[], Any]) -> Callable[[int], Any]:
    return lambda seed: make_pipeline(StandardScaler(), make())


def _tuned(
    make: Callable[[], Any], name: str, values: list[Any], sampled: bool = False
) -> Callable[[int], Any]:
    def search(seed: int) -> Any:
        model = make_pipeline(StandardScaler(), make())
        grid = {f"{model.steps[-1][0]}__{name}": values}
        return GridSearchCV(model, grid, cv=InnerFolds(seed, sampled))

    return search


def _ovo() -> Any:
    return OneVsOneClassifier(LinearSVC())


_PEERS = (
    Method("LDA", _default(LinearDiscriminantAnalysis), "of all classes"),
    Method("logistic", _default(LogisticRegression), "LogisticRegression"),
    Method("LinearSVC", _default(LinearSVC), "one against the rest"),
    Method("OvO-LinearSVC", _default(_ovo), "OneVsOneClassifier(LinearSVC())"),
    Method("SVC", _default(lambda: SVC(kernel="linear")), "kernel='linear'"),
    Method("ridge", _default(RidgeClassifier), "RidgeClassifier"),
)
_TUNED_PEERS = (
    Method(
        "LDA-tuned",
        _tuned(lambda: LinearDiscriminantAnalysis("lsqr"), "shrinkage", SHRINKAGES),
        "solver='lsqr'; shrinkage None, 'auto', 0.1, 0.5 or 0.9",
    ),
    Method(
        "logistic-tuned",
        _tuned(lambda: LogisticRegression(max_iter=1000), "C", VALUES),
        "max_iter=1000, so that a large C converges",
    ),
    Method("LinearSVC-tuned", _tuned(LinearSVC, "C", VALUES), "C"),
    Method(
        "OvO-LinearSVC-tuned",
        _tuned(_ovo, "estimator__C", VALUES),
        "one C for all pairs",
    ),
    Method(
        "SVC-tuned",
        _tuned(
            lambda: SVC(kernel="linear", max_iter=ITERATIONS), "C", VALUES, sampled=True
        ),
        f"above {MANY_ROWS} training rows tuned with a sample of {SAMPLE}; at most "
        f"{ITERATIONS} iterations for each pair of classes",
    ),
    Method("ridge-tuned", _tuned(RidgeClassifier, "alpha", VALUES), "alpha"),
)
_OURS = (
    Method(
        "GLD",
        lambda seed: GaussianLinearDiscriminant(),
        "GaussianLinearDiscriminant()",
    ),
    Method(
        "GLD-cv",
        lambda seed: GaussianLinearDiscriminant(shrinkage="cv"),
        "GaussianLinearDiscriminant(shrinkage='cv')",
    ),
    Method(
        "power+GLD",
        lambda seed: make_pipeline(PowerTransformer(), GaussianLinearDiscriminant()),
        "make_pipeline(PowerTransformer(), GaussianLinearDiscriminant())",
    ),
    Method(
        "LNS",
        lambda seed: LocalNeighborhoodSearch(),
        "LocalNeighborhoodSearch()",
    ),
    Method(
        RECOMMENDED,
        lambda seed: heterolda.recommended(),
        "heterolda.recommended()",
    ),
)

OURS = [method.name for method in _OURS]
PEERS = [method.name for method in _PEERS]
TUNED_PEERS = [method.name for method in _TUNED_PEERS]
METHODS = {row.name: row for row in (*_OURS, *_PEERS, *_TUNED_PEERS)}
# Trials of cells that have fewer than the others, as "method:set".
LIMITS = {f"{name}:{dataset}": 1 for name in METHODS for dataset in DEAREST} | {
    f"SVC-tuned:{row.name}": 1 for row in CATALOGUE.values() if row.n > MANY_ROWS
}
_GROUPS = {
    "all": list(METHODS),
    "ours": OURS,
    "peers": [*PEERS, *TUNED_PEERS],
    "default": PEERS,
    "tuned": TUNED_PEERS,
}


def resolve(names: list[str]) -> list[str]:
    """Names of methods from names and groups: all, ours, peers, default, tuned."""
    return resolve_names("method", names, list(METHODS), _GROUPS)
