"""The paper's local search against its naive NumPy form.

The naive form computes X @ w for each of the 2 (d + 1) neighbours of each iteration.
Both take the same number of iterations and must take the same path. The ratio depends
on the share of rows that can change sides, so on the data. Whole fits have all of
`LocalNeighborhoodSearch.fit` but the fit of the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.frozen import FrozenEstimator

from benchmarks.runner import Case, Method, Settings
from benchmarks.shapes import Shape
from heterolda import GaussianLinearDiscriminant, LocalNeighborhoodSearch
from heterolda.search.algorithm2 import SearchResult, paper_search

GROUP = "local search"
# Rows, features, iterations; and for a quick run: rows, iterations; the target.
SIZES = (
    (1_540, 16, 400, 1_540, 50, 1 / 80),
    (4_601, 57, 400, 4_601, 10, 1 / 150),
    (50_000, 9, 400, 50_000, 10, 1 / 100),
    (1_000_000, 20, 60, 50_000, 10, 1 / 60),
)


# Rows, features and iterations of whole fits; for a quick run: iterations; the target.
FITS = (
    (5_000, 5, 300, 30, 1 / 60),
    (20_000, 10, 300, 10, 1 / 60),
    (500, 150, 300, 5, 1 / 60),
)


@dataclass(frozen=True)
class Search:
    """Ours from one start, with as many iterations as asked for."""

    solver: str
    n_iter: int
    quick_iter: int

    def prepare(self, X, y, settings: Settings):
        """The call of our search."""
        n_iter = self.quick_iter if settings.quick else self.n_iter
        first, v = y == 0, start_rule(X, y, self.solver)
        limits = {"max_iter": n_iter, "patience": n_iter}
        return partial(
            paper_search, X, first, None, v, threads=settings.threads, **limits
        )

    def prepare_naive(self, X, y, settings: Settings):
        """The call of the naive form, for as many iterations as ours takes."""
        n_iter = self.prepare(X, y, settings)().n_iter
        return partial(naive_search, X, y == 0, start_rule(X, y, self.solver), n_iter)


class Fit(Search):
    """The same as a whole fit of the estimator, from a start that is fitted."""

    def prepare(self, X, y, settings: Settings):
        """The call of our fit."""
        n_iter = self.quick_iter if settings.quick else self.n_iter
        start = FrozenEstimator(fitted_start(X, y, self.solver))
        limits = {"max_iter": n_iter, "patience": n_iter}
        return partial(LocalNeighborhoodSearch(start, **limits).fit, X, y)

    def prepare_naive(self, X, y, settings: Settings):
        """The call of the naive form, for as many iterations as ours takes."""
        n_iter = self.prepare(X, y, settings)().n_iter_[0]
        return partial(naive_search, X, y == 0, start_rule(X, y, self.solver), n_iter)


def fitted_start(X, y, solver: str):
    """A fitted discriminant."""
    return GaussianLinearDiscriminant(solver=solver).fit(X, y)


def start_rule(X, y, solver: str):
    """Its rule (w0, w); class 0 comes first."""
    model = fitted_start(X, y, solver)
    return np.append(model.intercept_, -model.coef_[0])


def naive_search(X, first, v, n_iter: int, step: float = 0.1):
    """Errors of the current rule at each iteration of Algorithm 2."""
    v = v.copy()
    history = [np.count_nonzero((X @ v[1:] >= v[0]) != first)]
    while len(history) < n_iter:
        fewest, winner = np.inf, None
        for i in range(len(v)):
            for sign in (1, -1):
                u = v.copy()
                u[i] += sign * step * abs(v[i])
                errors = np.count_nonzero((X @ u[1:] >= u[0]) != first)
                if errors < fewest:
                    fewest, winner = errors, u
        v = winner
        history.append(fewest)
    return np.array(history)


def compare(ours: SearchResult, history: np.ndarray) -> str:
    """Remark on the share of rows touched and on the paths."""
    same = "same path" if np.array_equal(ours.history, history) else "PATHS DIFFER"
    return f"{ours.n_iter} iterations, {100 * ours.touched:.1f} % touched, {same}"


def compare_fit(ours: LocalNeighborhoodSearch, history: np.ndarray) -> str:
    """The same for a whole fit."""
    same = np.array_equal(ours.history_[0], history)
    return f"{ours.n_iter_[0]} iterations, {'same path' if same else 'PATHS DIFFER'}"


def cases() -> list[Case]:
    """Whole fits and searches of several sizes, two kinds of data, two starts."""
    fits = [
        Case(
            GROUP,
            Shape(n, d, 2, kind=kind),
            Method(f"{kind} data, from {solver}, whole fit", fit.prepare),
            Method("naive NumPy form", fit.prepare_naive),
            target,
            compare=compare_fit,
        )
        for n, d, n_iter, quick_iter, target in FITS
        for kind in ("round", "flat")
        for solver in ("fisher", "global")
        for fit in [Fit(solver, n_iter, quick_iter)]
    ]
    return fits + [
        Case(
            GROUP,
            Shape(n, d, 2, kind=kind),
            Method(f"{kind} data, from {solver}", search.prepare),
            Method("naive NumPy form", search.prepare_naive),
            target,
            Shape(quick_n, d, 2, kind=kind),
            compare,
        )
        for n, d, n_iter, quick_n, quick_iter, target in SIZES
        for kind in ("round", "flat")
        for solver in ("fisher", "global")
        for search in [Search(solver, n_iter, quick_iter)]
    ]
