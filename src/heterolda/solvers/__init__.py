"""The solvers: one algorithm per file, all on the same pencil.

A solver is a frozen dataclass of settings that keeps to the protocol `Solver`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Protocol, cast

import numpy as np
from numpy.random import Generator

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Index
from heterolda.foundations.threads import one_blas_thread, progress_of
from heterolda.solvers.axes import is_unresolved
from heterolda.solvers.compiled import is_compiled, solve_compiled, work_of_pair
from heterolda.solvers.fisher import Fisher
from heterolda.solvers.global_search import Global
from heterolda.solvers.krylov import LEAST_FEATURES, KrylovSpaces
from heterolda.solvers.moments import Moments
from heterolda.solvers.paper import FixedPoint, Grid, RandomSearch
from heterolda.solvers.pencil import Pencil
from heterolda.solvers.rules import Rules, Status, bayes_error, best_threshold

__all__ = [
    "SOLVERS",
    "Fisher",
    "FixedPoint",
    "Global",
    "Grid",
    "Moments",
    "Pencil",
    "RandomSearch",
    "Rules",
    "Solver",
    "Status",
    "all_pairs",
    "bayes_error",
    "best_threshold",
    "draws",
    "resolve_solver",
    "solve",
    "solve_fisher",
]

# From this number of features on, threads of the linear algebra library wait for each
# other longer than they work on the matrices of one pair: they get one thread. (Threads
# of our own over the pairs were tried and gain nothing.)
_THREADED = 24
# Pairs are solved in batches whose matrices take about this much memory.
_BATCH_BYTES = 1 << 26
# Seconds that a pair takes, over the cube of the number of features; and the part of it
# that each pair adds to another with which it shares spaces.
_PAIR_SECONDS, _SHARING = 1.5e-9, 0.07
# The compiled solver looks for an interrupt after so much work, a quarter of a second.
_BATCH_WORK = 1_000_000_000


class Solver(Protocol):
    """The interface of a solver.

    Attributes
    ----------
    moore_penrose : bool
        Whether to use the pseudo-inverse of singular matrices, as the paper does.
    draws : bool
        Whether `solve` draws from `rng`, which is then seeded by `random_state`.
    """

    moore_penrose: bool
    draws: bool

    def solve(self, pencil: Pencil, rng: Generator) -> Rules:
        """Return rules for a batch of pairs."""
        ...


SOLVERS: dict[str, Solver] = {
    "global": Global(),
    "fixed-point": FixedPoint(),
    "c-hld": Grid(),
    "r-hld-1": RandomSearch(parameters=1),
    "r-hld-2": RandomSearch(parameters=2),
    "fisher": Fisher(),
}


def resolve_solver(solver: str | Solver) -> Solver:
    """Look a solver up by its name in `SOLVERS`; settings objects pass through."""
    if isinstance(solver, str) and solver in SOLVERS:
        return SOLVERS[solver]
    complete = hasattr(solver, "solve") and hasattr(solver, "moore_penrose")
    if isinstance(solver, str | type) or not complete:
        raise ParameterError(
            "solver",
            f"must be one of {list(SOLVERS)} or a settings object such as "
            f"Global(gap=1e-6), got {solver!r}",
        )
    return solver


def all_pairs(n_classes: int) -> Index:
    """Return class indices (i, j), i < j, of all pairs, in the order of our arrays."""
    numbers = np.arange(n_classes)
    return np.argwhere(numbers[:, None] < numbers)


def draws(solver: Solver) -> bool:
    """Return whether a solver draws; one that does not say so is taken to draw."""
    return getattr(solver, "draws", True)


def solve(moments: Moments, solver: Solver, seed: int = 0) -> Rules:
    """Return rules for pairs of Gaussian classes, one row per pair.

    The seed of random trials is the same for every pair. Nothing is certified where a
    variance was raised that is not zero, but cannot be resolved.
    """
    rules = _solved(moments, solver, seed)
    if rules.floored is None or not rules.floored.any():
        return rules
    unresolved = np.zeros(len(moments.means), bool)
    for k in np.unique(moments.pairs[rules.floored]):
        unresolved[k] = is_unresolved(moments.covariances[k])
    blurred = (rules.floored & unresolved[moments.pairs]).any(axis=1)
    return replace(rules, gap=np.where(blurred, np.nan, rules.gap))


def _solved(moments: Moments, solver: Solver, seed: int) -> Rules:
    """Return rules as a solver has them."""
    d = moments.means.shape[1]

    def directly(batch: Moments) -> Rules:
        if is_compiled(solver, batch.means.shape[1]):
            return solve_compiled(batch, cast(Global, solver))
        pencil = batch.pencil(moore_penrose=solver.moore_penrose)
        return solver.solve(pencil, np.random.default_rng(seed))

    if type(solver) in (Global, Fisher) and d >= LEAST_FEATURES:
        spaces = KrylovSpaces(moments.covariances, moments.pairs)
        any_error = type(solver) is Fisher
        return _in_batches(
            moments,
            lambda batch: spaces.solve(batch, directly, any_error=any_error),
            sharing=True,
        )
    return _in_batches(moments, directly, compiled=is_compiled(solver, d))


def solve_fisher(moments: Moments) -> Rules:
    """Return Fisher's rules of pairs, as `solve` finds them along with the optimum.

    A singular S1 + S2 is inverted for features in units of their deviations, where the
    solver `Fisher` takes the Moore-Penrose inverse.
    """
    rng = np.random.default_rng()
    return _in_batches(moments, lambda batch: Fisher().solve(batch.pencil(), rng))


def _in_batches(
    moments: Moments,
    solve_batch: Callable[[Moments], Rules],
    *,
    compiled: bool = False,
    sharing: bool = False,
) -> Rules:
    """Solve pairs batch by batch, and show the progress.

    Pairs that share spaces take little more time than one.
    """
    n, d = len(moments.pairs), moments.means.shape[1]
    step = max(1, _BATCH_BYTES // (16 * max(1, d * d)))
    if compiled:
        step = max(1, _BATCH_WORK // work_of_pair(d))
    seconds = _PAIR_SECONDS * d**3 * (1 + _SHARING * (n - 1) if sharing else n)
    pairs = "one pair" if n == 1 else f"{n} pairs"
    show = progress_of(f"solving {pairs} of classes with {d} features", seconds)
    rules = []
    with nullcontext() if compiled or n == 1 or d < _THREADED else one_blas_thread():
        for start in range(0, n, step):
            rules.append(solve_batch(moments.take(slice(start, start + step))))
            show(min(1.0, (start + step) / n))
    return Rules.concatenate(rules)
