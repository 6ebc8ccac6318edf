"""Data in chunks, statistics that are no moments, and the number of threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, reduce
from itertools import permutations
from operator import add
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from heterolda import ClassStatistics, ModelMisfitWarning
from hostile.case import Case
from hostile.contenders import DISCRIMINANTS
from hostile.data import Data, benign, grouped, variant
from hostile.judges import Checked, Refused, Same
from hostile.trial import Trial, attempt

_CHUNKS = ("partial_fit", "statistics", "dask", "command line")


def _cut(parts: Callable[[Data], Any]) -> Callable[[int], Data]:
    """Benign data in chunks, given as lists of indices."""
    return variant(parts=lambda data: tuple(np.asarray(p, int) for p in parts(data)))


def _few_at_a_time(data: Data) -> Any:
    """The first rows one by one, then the rest."""
    n = len(data.X)
    return [*([i] for i in range(20)), np.arange(20, n)]


def _any_order(trial: Trial) -> str | None:
    """Whether merges in all orders of four chunks give the same answers."""
    data = trial.data
    parts = [ClassStatistics.from_data(data.X[i::4], data.y[i::4]) for i in range(4)]
    for order in permutations(parts):
        a, b, c, d = order
        for merged in (reduce(add, order), (a + b) + (c + d)):
            model = trial.contender.build().fit_statistics(merged)
            if np.any(model.predict(data.X) != trial.labels):
                return "answers otherwise after merges in another order"
    return None


def _moments(**changes: Any) -> Callable[[int], Data]:
    """Moments of two classes; changes are made to the covariance of the second."""

    @cache
    def make(k: int) -> Data:
        good = {
            "classes": [0, 1],
            "counts": [50, 60],
            "means": np.array([[0.0, 0.0], [1.0, 2.0]]),
            "covariances": np.array(
                [[[1.0, 0.2], [0.2, 2.0]], [[1.0, 1.0], [1.0, 1.0]]]
            ),
        }
        rng = np.random.default_rng(7)
        rows = np.vstack(
            [
                rng.multivariate_normal(mean, cov, 100)
                for mean, cov in zip(good["means"], good["covariances"], strict=True)
            ]
        )
        twin = Data(good, np.repeat([0, 1], 100), rows=rows)
        bad = {**good, **{n: v for n, v in changes.items() if n in good}}
        if "add" in changes:
            bad["covariances"] = good["covariances"].copy()
            bad["covariances"][1] += changes["add"]
        return twin.but(X=bad)

    return make


@cache
def _large(k: int) -> Data:
    """Large enough for several threads of a matrix product."""
    X, y, rng = grouped(2, 4000, 40)
    return Data(X @ rng.normal(size=(40, 40)) + 0.3 * y[:, None], y)


def _threads_do_not_matter(trial: Trial) -> str | None:
    with threadpool_limits(1):
        one = attempt(trial.contender, trial.data)
    with threadpool_limits(4):
        four = attempt(trial.contender, trial.data)
    if np.any(one.labels != four.labels):
        return "answers otherwise with four threads than with one"
    a, b = one.model.coef_, four.model.coef_
    far = np.abs(a - b).max() > 1e-9 * np.abs(a).max()
    return "has other coefficients with four threads than with one" if far else None


def _bad(words: str) -> Refused:
    return Refused(words=words)


CASES = [
    Case("chunks of one row", _cut(_few_at_a_time), Same(), ways=_CHUNKS, peers=False),
    Case(
        "chunks of one class",
        _cut(lambda data: [np.flatnonzero(data.y == k) for k in np.unique(data.y)]),
        Same(),
        ways=_CHUNKS,
        peers=False,
    ),
    Case(
        "chunks without rows",
        _cut(lambda data: [[], np.arange(50), [], np.arange(50, len(data.X)), []]),
        Same(),
        ways=_CHUNKS,
        peers=False,
    ),
    Case(
        "merges in any order",
        benign,
        Checked(check=_any_order),
        only=DISCRIMINANTS,
        ways=("statistics",),
        peers=False,
    ),
    *(
        Case(
            name,
            make,
            must,
            but={"shrinkage auto": replace(must, told=None)},
            classes=(2,),
            ways=("moments",),
            only=DISCRIMINANTS,
            peers=False,
        )
        for name, make, must in (
            (
                "a covariance asymmetric by 1e-12",
                _moments(add=[[0, 1e-12], [0, 0]]),
                Same(told=ModelMisfitWarning),
            ),
            (
                "a covariance asymmetric by 1e-2",
                _moments(add=[[0, 1e-2], [0, 0]]),
                _bad("class 1 is not symmetric"),
            ),
            (
                "a covariance indefinite by 1e-12",
                _moments(add=[[0, 1e-12], [1e-12, 0]]),
                Same(told=ModelMisfitWarning),
            ),
            (
                "a covariance indefinite by 1e-2",
                _moments(add=[[0, 1e-2], [1e-2, 0]]),
                _bad("class 1 is indefinite"),
            ),
            (
                "a negative variance",
                _moments(add=[[-2, 0], [0, 0]]),
                _bad("negative variance"),
            ),
            (
                "NaN in a covariance",
                _moments(add=np.nan),
                _bad("covariances contains NaN"),
            ),
            (
                "NaN in a mean",
                _moments(means=[[0, 0], [np.nan, 1]]),
                _bad("means contains NaN"),
            ),
            ("a count of 1", _moments(counts=[50, 1]), _bad("counts must exceed 1")),
        )
    ),
    Case(
        "one thread of linear algebra, and four",
        _large,
        Checked(check=_threads_do_not_matter),
        classes=(2,),
        ways=("fit",),
        only=(*DISCRIMINANTS, "paper"),
        peers=False,
    ),
]
