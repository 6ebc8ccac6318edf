"""Our calls and the peers'."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from importlib.util import find_spec

import numpy as np
from sklearn.base import clone
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from benchmarks import paper
from benchmarks.runner import Call, Method, NotInstalled, Settings
from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
    kernels,
    recommended,
)

# Models that predict are fitted to so many rows at most.
TRAINING_ROWS = 20_000
# A prediction of one row is too short to time alone.
TIMES = 100

# "global" has all the defaults, the guard included.
OURS = {
    solver: GaussianLinearDiscriminant(solver=solver, random_state=0)
    for solver in ("global", "fixed-point", "c-hld", "r-hld-1", "r-hld-2")
}
OURS["global without guard"] = GaussianLinearDiscriminant(guard=False)
OURS["local search"] = LocalNeighborhoodSearch()
OURS["recommended"] = recommended()
PEERS = {
    "LDA svd": LinearDiscriminantAnalysis(),
    "LDA lsqr": LinearDiscriminantAnalysis(solver="lsqr"),
    "LDA eigen": LinearDiscriminantAnalysis(solver="eigen"),
    "QDA": QuadraticDiscriminantAnalysis(),
    "GaussianNB": GaussianNB(),
    "LogisticRegression": LogisticRegression(),
    "LinearSVC": LinearSVC(random_state=0),
    "OneVsOne(LDA)": OneVsOneClassifier(LinearDiscriminantAnalysis()),
}
PAPER = {
    "fixed-point": ("Algorithm 1 with inverses", paper.algorithm_1),
    "c-hld": ("C-HLD with 1001 inverses a pair", paper.c_hld),
    "r-hld-1": (
        "R-HLD-1 with 1000 inverses a pair",
        partial(paper.r_hld, parameters=1),
    ),
    "r-hld-2": (
        "R-HLD-2 with 1000 inverses a pair",
        partial(paper.r_hld, parameters=2),
    ),
}


def fitting(name: str) -> Method:
    """Fit of one of our solvers or of a peer."""
    model = OURS.get(name) or PEERS[name]

    def prepare(X, y, settings: Settings) -> Call:
        return partial(clone(model).fit, X, y)

    return Method(f"fit {name}", prepare)


def predicting(name: str) -> Method:
    """Prediction of one of our solvers or of a peer."""
    model = OURS.get(name) or PEERS[name]

    def prepare(X, y, settings: Settings) -> Call:
        fitted = clone(model).fit(X[:TRAINING_ROWS], y[:TRAINING_ROWS])
        return partial(fitted.predict, X)

    return Method(f"predict {name}", prepare)


def one_row(name: str, method: str) -> Method:
    """A prediction of one row, many times; `method` is predict or predict_proba."""
    model = OURS.get(name) or PEERS[name]

    def prepare(X, y, settings: Settings) -> Call:
        fitted = clone(model).fit(X[:TRAINING_ROWS], y[:TRAINING_ROWS])
        call, row = getattr(fitted, method), X[:1]

        def times() -> None:
            for _ in range(TIMES):
                call(row)

        return times

    return Method(f"{method} {name}, {TIMES} times", prepare)


def projecting(how: str) -> Method:
    """Two components from class statistics, or one where "fisher" has no more."""

    def prepare(X, y, settings: Settings) -> Call:
        statistics = ClassStatistics.from_data(X, y)
        only_one = how == "fisher" and statistics.n_classes == 2
        model = HeteroscedasticProjection(1 if only_one else 2, method=how)
        return partial(model.fit_statistics, statistics)

    return Method(f"project {how}", prepare)


def on_numpy(method: Method) -> Method:
    """The same without the compiled kernels."""

    def prepare(X, y, settings: Settings) -> Call:
        call = method.prepare(X, y, settings)

        def without() -> object:
            compiled, kernels.compiled = kernels.compiled, None
            try:
                return call()
            finally:
                kernels.compiled = compiled

        return without

    return Method("the same on NumPy", prepare)


def _gram(X, y, settings: Settings) -> Call:
    return partial(np.matmul, X.T, X)


def _scores(X, y, settings: Settings) -> Call:
    fitted = clone(OURS["global"]).fit(X[:TRAINING_ROWS], y[:TRAINING_ROWS])
    return partial(np.matmul, X, np.ascontiguousarray(fitted.coef_.T))


# What no method that reads all the data can beat.
GRAM = Method("bare X.T @ X", _gram)
SCORES = Method("bare X @ W", _scores)
LIMITS = (GRAM.name, SCORES.name)


def transcribed(solver: str) -> Method:
    """The paper's form of a solver."""
    name, method = PAPER[solver]

    def prepare(X, y, settings: Settings) -> Call:
        return partial(paper.fit_pairs, X, y, method)

    return Method(name, prepare)


def same_errors(model: GaussianLinearDiscriminant, errors: np.ndarray) -> str:
    """Remark on how far the errors of two forms of a method lie apart."""
    apart = np.abs(model.bayes_error_ - errors).max()
    return f"errors differ by at most {apart:.1e}"


def _mempm(X, y, settings: Settings) -> Call:
    if find_spec("empulse") is None:
        raise NotInstalled("not installed")
    from empulse.models import ProfMEMPMClassifier

    positive = (y == np.unique(y)[1]).astype(int)
    return partial(ProfMEMPMClassifier(fp_cost=1, fn_cost=1).fit, X, positive)


MEMPM = Method("empulse ProfMEMPM", _mempm)


def child_environment(threads: int) -> dict[str, str]:
    """Environment of a child process whose BLAS uses some threads."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    return os.environ | dict.fromkeys(names, str(threads))


def importing(module: str, name: str) -> Method:
    """Import in a fresh interpreter."""
    return _fresh(f"import {name}", "", f"from {module} import {name}")


def first(name: str, imports: str, call: str) -> Method:
    """The first call in a fresh interpreter, after imports, on data of D1's size."""
    before = (
        f"import numpy as np; {imports}; y = np.arange(3000) % 2; "
        "X = np.random.default_rng(0).normal(size=(3000, 8)) * (1 + y[:, None]); "
    )
    return _fresh(f"first {name}", before, call)


def _fresh(name: str, before: str, code: str) -> Method:
    """A fresh interpreter, which states the seconds that some of its code took."""
    clock = "time.perf_counter()"
    code = f"import time; {before}begin = {clock}; {code}; print({clock} - begin)"

    def prepare(X, y, settings: Settings) -> Call:
        def call() -> float:
            run = subprocess.run(
                [sys.executable, "-c", code],
                env=child_environment(settings.threads),
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            return float(run.stdout)

        return call

    return Method(name, prepare, stated=True)
