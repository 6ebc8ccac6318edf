"""The calls that are timed, ours and the peers', and which are compared."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from benchmarks.shapes import (
    PAPER_SHAPES,
    REAL_SHAPES,
    SMALL_SHAPES,
    WIDE_SHAPES,
    Shape,
)
from benchmarks.timing import Call, Seconds, child_environment
from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
    kernels,
)

Method = Callable[[Any, Any], Call]  # of rows and labels

# Models that predict are fitted to at most this many rows.
TRAINING_ROWS = 20_000
# Calls that are too short to time alone are repeated.
TIMES = 100
ITERATIONS = 300

MODELS = {
    "GLD": GaussianLinearDiscriminant(),
    "smoothed": SmoothedLinearDiscriminant(),
    "LDA": LinearDiscriminantAnalysis(),
    "LDA (lsqr)": LinearDiscriminantAnalysis(solver="lsqr"),
    "QDA": QuadraticDiscriminantAnalysis(),
    "GaussianNB": GaussianNB(),
    "LogisticRegression": LogisticRegression(),
    "LinearSVC": LinearSVC(random_state=0),
    "OneVsOne(LDA)": OneVsOneClassifier(LinearDiscriminantAnalysis()),
}
GRAM, SCORES = "bare X.T @ X", "bare X @ W"
NUMPY = "the same in NumPy"

FIT = "fit, real data"
SMALL = "fit, small data"
LARGE = "fit, large data"
PREDICT = "predict"
ONE_ROW = "predict, one row"
OTHERS = "other classifiers"
SMOOTHED = "smoothed"
PROJECT = "two components, from class statistics"
SEARCH = "Algorithm 2"
KERNELS = "compiled kernels"
FRESH = "a fresh process"


class Case(NamedTuple):
    """A row of the tables: a call of ours and one of a peer, on the same data."""

    group: str
    shape: Shape | None
    ours: str
    peer: str


def all_cases() -> list[Case]:
    """Return all comparisons, in the order of the page."""
    shapes = {shape.name: shape for shape in PAPER_SHAPES}
    many, letters = Shape(1_000_000, 50, 5), Shape(20_000, 16, 26)
    cases = [Case(FIT, shape, "fit GLD", "fit LDA") for shape in REAL_SHAPES]
    cases += [Case(SMALL, shape, "fit GLD", "fit LDA") for shape in SMALL_SHAPES]
    cases += [
        Case(LARGE, many, "fit GLD", peer)
        for peer in ("fit LDA", "fit LDA (lsqr)", GRAM)
    ]
    cases += [
        Case(LARGE, letters, "fit GLD", "fit OneVsOne(LDA)"),
        Case(LARGE, Shape(1_200, 64, 100), "fit GLD", "fit LDA"),
        Case(LARGE, Shape(5_000, 600, 10, pixels=True), "fit GLD", "fit LDA"),
        *(Case(LARGE, shape, "fit GLD", "fit LDA") for shape in WIDE_SHAPES),
    ]
    cases += [
        Case(PREDICT, shape, "predict GLD", "predict LDA")
        for shape in (*REAL_SHAPES, Shape(1_000_000, 50, 2), Shape(20_000, 64, 100))
    ]
    cases += [
        Case(PREDICT, Shape(100_000, 16, 26), "predict GLD", peer)
        for peer in ("predict OneVsOne(LDA)", SCORES)
    ]
    cases += [
        Case(
            ONE_ROW,
            shapes[name],
            f"{kind} one row with GLD",
            f"{kind} one row with LDA",
        )
        for name in ("D1", "vowels", "letters")
        for kind in ("predict", "predict_proba")
    ]
    peers = [name for name in MODELS if name not in ("GLD", "smoothed", "LDA")]
    cases += [
        Case(OTHERS, shapes["satellite"], f"{call} GLD", f"{call} {peer}")
        for call in ("fit", "predict")
        for peer in peers
    ]
    cases += [
        Case(SMOOTHED, shapes[name], "fit smoothed", "fit LDA")
        for name in ("liver", "zernike", "satellite")
    ]
    cases += [
        Case(PROJECT, shapes["satellite"], f"project, {method}", "fit LDA")
        for method in ("fisher", "chernoff", "error")
    ]
    cases += [
        Case(SEARCH, Shape(n, d, 2), "search", "search, naive NumPy form")
        for n, d in ((5_000, 5), (20_000, 10))
    ]
    cases += [
        Case(KERNELS, shapes[name], f"{call} GLD", NUMPY)
        for name in ("D1", "zernike", "letters")
        for call in ("fit", "predict")
    ]
    cases.append(Case(KERNELS, shapes["liver"], "fit smoothed", NUMPY))
    return cases + [
        Case(FRESH, None, f"{what} GLD", f"{what} LDA")
        for what in ("import", "import and fit")
    ]


def prepared(case: Case, X: Any, y: Any) -> tuple[Call, Call]:
    """Return the calls to time."""
    ours = METHODS[case.ours](X, y)
    if case.peer == NUMPY:
        return ours, partial(_without_kernels, ours)
    return ours, METHODS[case.peer](X, y)


def _fit(model: Any, X: Any, y: Any) -> Call:
    return partial(clone(model).fit, X, y)


def _predict(model: Any, X: Any, y: Any) -> Call:
    fitted = clone(model).fit(X[:TRAINING_ROWS], y[:TRAINING_ROWS])
    return partial(fitted.predict, X)


def _one_row(model: Any, kind: str, X: Any, y: Any) -> Call:
    fitted = clone(model).fit(X[:TRAINING_ROWS], y[:TRAINING_ROWS])
    call, row = getattr(fitted, kind), X[:1]

    def repeated() -> None:
        for _ in range(TIMES):
            call(row)

    return repeated


def _project(kind: str, X: Any, y: Any) -> Call:
    model = HeteroscedasticProjection(2, method=kind)
    return partial(model.fit_statistics, ClassStatistics.from_data(X, y))


def _gram(X: Any, y: Any) -> Call:
    return partial(np.matmul, X.T, X)


def _scores(X: Any, y: Any) -> Call:
    fitted = clone(MODELS["GLD"]).fit(X[:TRAINING_ROWS], y[:TRAINING_ROWS])
    return partial(np.matmul, X, np.ascontiguousarray(fitted.coef_.T))


def _search(X: Any, y: Any) -> LocalNeighborhoodSearch:
    start = FrozenEstimator(GaussianLinearDiscriminant().fit(X, y))
    return LocalNeighborhoodSearch(start, max_iter=ITERATIONS, patience=ITERATIONS)


def _fit_search(X: Any, y: Any) -> Call:
    return partial(_search(X, y).fit, X, y)


def naive_search(search: LocalNeighborhoodSearch, X: Any, y: Any) -> Call:
    """Compute X @ w for each of 2 (d + 1) neighbors, as often as a fitted search."""
    start = search.estimator_.estimator
    first = y == search.classes_[0]

    def errors(v: np.ndarray) -> int:
        return np.count_nonzero((X @ v[1:] >= v[0]) != first)

    def call() -> None:
        v = np.append(start.intercept_, -start.coef_[0])
        history = [errors(v)]
        for _ in range(search.n_iter_[0] - 1):
            neighbors = []
            for i in range(len(v)):
                for sign in (1, -1):
                    u = v.copy()
                    u[i] += sign * 0.1 * abs(v[i])
                    neighbors.append((errors(u), u))
            fewest, v = min(neighbors, key=lambda one: one[0])
            history.append(fewest)
        if history != search.history_[0].tolist():
            raise ValueError("the searches take different paths")

    return call


def _without_kernels(call: Call) -> Any:
    compiled, kernels.compiled = kernels.compiled, None
    try:
        return call()
    finally:
        kernels.compiled = compiled


def _fresh(module: str, name: str, fit: bool, X: Any, y: Any) -> Call:
    """Import in a fresh interpreter, which prints the seconds it took."""
    code = "import time, numpy as np; y = np.arange(3000) % 2; "
    code += "X = np.random.default_rng(0).normal(size=(3000, 8)) * (1 + y[:, None]); "
    code += f"begin = time.perf_counter(); from {module} import {name}; "
    code += f"{name}().fit(X, y); " if fit else ""
    code += "print(time.perf_counter() - begin)"

    def call() -> Seconds:
        run = subprocess.run(
            [sys.executable, "-c", code],
            env=child_environment(),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return Seconds(run.stdout)

    return call


_OURS = "heterolda", "GaussianLinearDiscriminant"
_LDA = "sklearn.discriminant_analysis", "LinearDiscriminantAnalysis"
METHODS: dict[str, Method] = {
    **{f"fit {name}": partial(_fit, model) for name, model in MODELS.items()},
    **{f"predict {name}": partial(_predict, model) for name, model in MODELS.items()},
    **{
        f"{kind} one row with {name}": partial(_one_row, MODELS[name], kind)
        for kind in ("predict", "predict_proba")
        for name in ("GLD", "LDA")
    },
    **{
        f"project, {kind}": partial(_project, kind)
        for kind in ("fisher", "chernoff", "error")
    },
    GRAM: _gram,
    SCORES: _scores,
    "search": _fit_search,
    "search, naive NumPy form": lambda X, y: naive_search(
        _search(X, y).fit(X, y), X, y
    ),
    "import GLD": partial(_fresh, *_OURS, False),
    "import LDA": partial(_fresh, *_LDA, False),
    "import and fit GLD": partial(_fresh, *_OURS, True),
    "import and fit LDA": partial(_fresh, *_LDA, True),
}
