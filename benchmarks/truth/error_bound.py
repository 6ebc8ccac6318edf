"""How often the bound of `BoundedErrorClassifier` holds, with its default seed.

The classifiers inside have scores of a known law, so the error rate of the bounded
class at a threshold is known exactly. If scores are continuous, so is the probability
that the threshold of rank k among n rows keeps the bound: at most k - 1 of n rows are
among the 1 - q of the class with the lowest scores.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats
from scipy.special import bdtr
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from benchmarks.pages import Record, section_table
from heterolda import BoundedErrorClassifier

Array = NDArray[np.float64]
# The error rate at the threshold, and the bound, of a fit to n new rows of the class.
Fit = Callable[[Generator, int], tuple[float, Any]]

MAX_ERROR, CONFIDENCE = 0.05, 0.95
# Probability that `violations` finds any in a study without one.
LEVEL = 0.01
# Below 118 rows a fit is rejected: half of them are held out, and 59 are needed.
SIZES, DRAWS = range(118, 601), 50


class KnownScores(ClassifierMixin, BaseEstimator):
    """A classifier that learns nothing."""

    def __init__(self, score):
        self.score = score

    def fit(self, X, y, sample_weight=None):
        """Keep the names of the classes."""
        self.classes_ = np.array([0, 1])
        return self

    def decision_function(self, X):
        """Return the known scores."""
        return self.score(X)


def first_feature(X: Array) -> Array:
    """Return the first feature."""
    return X[:, 0]


@dataclass(frozen=True)
class Law:
    """Rows of the bounded class, their scores, and the law of the scores."""

    rows: Callable[[Generator, int], Array]
    scores: Any
    score: Callable[[Array], Array] = first_feature

    def fit(self, rng: Generator, n: int) -> tuple[float, Any]:
        """Fit a classifier of these scores."""
        return self.of(self.rows(rng, n))

    def of(self, X: Array, weights: Array | None = None, **settings: Any) -> Any:
        """Fit to rows; settings are those of `bounded`."""
        model = bounded(KnownScores(self.score), X, weights, **settings)
        return self.scores.sf(model.threshold_), model.bounds_[0]

    def frozen(self, rng: Generator, n: int) -> tuple[float, Any]:
        """Fit the threshold alone, to all rows."""
        inside = FrozenEstimator(KnownScores(self.score).fit(None, None))
        model = bounded(inside, self.rows(rng, n))
        return self.scores.sf(model.threshold_), model.bounds_[0]

    def in_order(self, rng: Generator, n: int) -> tuple[float, Any]:
        """Fit to sorted rows, with a new seed."""
        rows = np.sort(self.rows(rng, n), axis=0)
        return self.of(rows, random_state=int(rng.integers(2**31)))

    def counted(self, rng: Generator, n: int) -> tuple[float, Any]:
        """Fit to distinct rows with their counts as weights, with a new seed."""
        rows, counts = np.unique(self.rows(rng, n), axis=0, return_counts=True)
        return self.of(rows, counts, random_state=int(rng.integers(2**31)))


def bounded(
    inside: Any, X: Array, weights: Array | None = None, **settings: Any
) -> BoundedErrorClassifier:
    """Fit to rows of class 0, which is bounded, and one row of class 1 far away."""
    X = np.vstack([X, np.full((1, X.shape[1]), 1e9)])
    y = np.repeat([0, 1], [len(X) - 1, 1])
    w = None if weights is None else np.append(weights, 1.0)
    model = BoundedErrorClassifier(inside, max_error={0: MAX_ERROR}, **settings)
    return model.fit(X, y, sample_weight=w)


def discriminant(rng: Generator, n: int) -> tuple[float, Any]:
    """Fit a discriminant, whose direction is found from the other rows."""
    scales = np.array([1.0, 2.0])
    X = np.vstack([rng.normal(size=(n, 2)) * scales, rng.normal(1, 1, (50, 2))])
    model = BoundedErrorClassifier(max_error={0: MAX_ERROR})
    with warnings.catch_warnings(action="ignore"):
        model.fit(X, np.repeat([0, 1], [n, 50]))
    offset, *units = model.decision_function([[0, 0], [1, 0], [0, 1]])
    scale = np.linalg.norm((np.array(units) - offset) * scales)
    return float(stats.norm.sf(-offset / scale)), model.bounds_[0]


LAWS = {
    "normal": Law(lambda rng, n: rng.normal(size=(n, 1)), stats.norm()),
    "exponential": Law(lambda rng, n: rng.exponential(size=(n, 1)), stats.expon()),
    "lognormal, product of 5 features": Law(
        lambda rng, n: rng.lognormal(size=(n, 5)),
        stats.norm(scale=np.sqrt(5)),
        lambda X: np.log(X).sum(axis=1),
    ),
    "Student's t, 2 degrees of freedom": Law(
        lambda rng, n: rng.standard_t(2, size=(n, 1)), stats.t(2)
    ),
    "Poisson, mean 20": Law(
        lambda rng, n: rng.poisson(20, size=(n, 1)).astype(float), stats.poisson(20)
    ),
}


@dataclass(frozen=True)
class Case:
    """A way to fit; with discrete scores the bound may hold more often than needed."""

    fit: Fit
    sizes: range = SIZES
    discrete: bool = False


POISSON = LAWS["Poisson, mean 20"]
CASES = {
    **{name: Case(law.fit, discrete=law is POISSON) for name, law in LAWS.items()},
    "a discriminant, normal rows": Case(discriminant, range(118, 601, 10)),
    "a fitted classifier, exponential rows": Case(
        LAWS["exponential"].frozen, range(59, 601, 5)
    ),
    "sorted exponential rows, new seeds": Case(
        LAWS["exponential"].in_order, range(118, 601, 5)
    ),
    "distinct Poisson rows with counts, new seeds": Case(
        POISSON.counted, range(118, 601, 5), discrete=True
    ),
}


@dataclass
class Cell:
    """Fits of a case to n rows: how many keep the bound, and the exact probability."""

    case: str
    n: int
    draws: int
    kept: int
    exact: float

    @property
    def p_value(self) -> float:
        """Return the probability of a count as far from what is expected."""
        law = stats.binom(self.draws, self.exact)
        below = float(law.cdf(self.kept))
        if CASES[self.case].discrete:
            return below
        return min(1.0, 2 * min(below, float(law.sf(self.kept - 1))))


def cell(case: str, n: int, draws: int, rng: Generator) -> Cell:
    """Fit to so many samples of n rows of the bounded class."""
    kept = 0
    for _ in range(draws):
        error, bound = CASES[case].fit(rng, n)
        kept += error <= MAX_ERROR
    exact = bdtr(bound.rank - 1, bound.n_rows, 1 - MAX_ERROR)
    return Cell(case, n, draws, int(kept), float(exact))


def total(cells: list[Cell]) -> Cell:
    """Return all cells of a case as one; its p-value is slightly too large."""
    draws, kept = sum(one.draws for one in cells), sum(one.kept for one in cells)
    exact = sum(one.draws * one.exact for one in cells) / draws
    return Cell(cells[0].case, 0, draws, kept, exact)


def violations(cells: list[Cell]) -> list[Cell]:
    """Return cells, and cases as a whole, that break the promise, at level LEVEL."""
    of_case: dict[str, list[Cell]] = {}
    for one in cells:
        of_case.setdefault(one.case, []).append(one)
    judged = cells + [total(group) for group in of_case.values() if len(group) > 1]
    return [one for one in judged if one.p_value <= LEVEL / len(judged)]


def if_sorted(n: int) -> float:
    """Return the exact probability that the bound holds if rows are sorted by score.

    With the default seed, the threshold is then always of the same rank among all n.
    """
    model = bounded(KnownScores(first_feature), np.arange(1.0, n + 1)[:, None])
    return float(bdtr(np.floor(model.threshold_) - 1, n, 1 - MAX_ERROR))


def measure() -> Record:
    """Return the sums over the cells of each case, and what holds for sorted rows."""
    rng = np.random.default_rng(0)
    cells = [
        cell(name, n, DRAWS, rng) for name, case in CASES.items() for n in case.sizes
    ]
    record = {"cells": len(cells), "violations": list(map(asdict, violations(cells)))}
    for name in CASES:
        group = [one for one in cells if one.case == name]
        worst = min(group, key=lambda one: one.p_value)
        record[name] = asdict(total(group)) | {
            "sizes": [group[0].n, group[-1].n],
            "least likely": asdict(worst) | {"p_value": worst.p_value},
        }
    holds = {n: if_sorted(n) for n in SIZES}
    low = min(holds, key=lambda n: holds[n])
    below = sum(value < CONFIDENCE for value in holds.values())
    record["sorted"] = {"n": low, "lowest": holds[low], "below": below / len(holds)}
    return record


def percent(share: float, digits: int = 2) -> str:
    """Return a share in percent."""
    return f"{100 * share:.{digits}f} %"


def parts(record: Record) -> dict[str, str]:
    """Return the table of the page, and the figures for sorted rows."""
    rows = []
    for name, case in CASES.items():
        row = record[name]
        exact = ("at least " if case.discrete else "") + percent(row["exact"])
        sizes = "{} to {}".format(*row["sizes"])
        kept = percent(row["kept"] / row["draws"])
        rows.append((name, sizes, f"{row['draws']:,}", kept, exact))
    ordered = record["sorted"]
    return {
        "error bound": section_table(
            "rows of the bounded class|n|fits|bound kept|exact probability", rows
        ),
        "error bound, sorted": "If a table is sorted by a feature with which the score "
        f"rises, the probability is below 95 % at {percent(ordered['below'], 0)} of "
        f"these n, and {percent(ordered['lowest'], 0)} at n = {ordered['n']}.",
    }
