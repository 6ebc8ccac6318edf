"""Solvers, one algorithm per file, all on the same pencil.

A solver is a frozen dataclass of settings that implements the protocol `Solver`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Protocol, cast

import numpy as np
from numpy.random import Generator

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Index
from heterolda.foundations.threads import one_blas_thread, progress_of
from heterolda.solvers.compiled import is_compiled, solve_compiled
from heterolda.solvers.fisher import Fisher
from heterolda.solvers.global_search import Global
from heterolda.solvers.paper import FixedPoint, Grid, RandomSearch
from heterolda.solvers.pencil import Moments, Pencil
from heterolda.solvers.rules import Rules

__all__ = ["Fisher", "FixedPoint", "Global", "Grid", "RandomSearch"]

# With at least this many features, BLAS would use threads, which cost more than they
# gain on the matrices of a pair, so it is limited to one. (Threads across pairs gain
# nothing.)
_BLAS_THREADS_FROM = 24
# With fewer features, Krylov spaces do not pay.
MIN_FEATURES = 160
# Pairs are solved in batches whose matrices take about this much memory.
_BATCH_BYTES = 1 << 26
# Seconds per pair, divided by the cube of the number of features; with Krylov spaces,
# each further pair takes this share of it.
_PAIR_SECONDS, _SHARING = 1.5e-9, 0.07


class Solver(Protocol):
    """Interface of a solver.

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
    """Return the solver of a name in `SOLVERS`, or a settings object unchanged."""
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
    """Return the class indices (i, j), i < j, of all pairs, in lexicographic order."""
    classes = np.arange(n_classes)
    return np.argwhere(classes[:, None] < classes)


def solve(moments: Moments, solver: Solver, seed: int = 0) -> Rules:
    """Return rules for pairs of Gaussian classes, one row per pair.

    Random trials use the same seed for every pair.
    """
    d = moments.means.shape[1]

    def directly(batch: Moments) -> Rules:
        if is_compiled(solver, batch.means.shape[1]):
            return solve_compiled(batch, cast(Global, solver))
        pencil = batch.pencil(moore_penrose=solver.moore_penrose)
        return solver.solve(pencil, np.random.default_rng(seed))

    if type(solver) in (Global, Fisher) and d >= MIN_FEATURES:
        from heterolda.solvers.krylov import KrylovSpaces

        spaces = KrylovSpaces(moments.covariances, moments.pairs)
        any_error = type(solver) is Fisher
        rules = _in_batches(
            moments,
            lambda batch: spaces.solve(batch, directly, any_error=any_error),
            sharing=_SHARING,
        )
    else:
        rules = _in_batches(moments, directly)
    return rules.with_rounding(moments)


def _in_batches(
    moments: Moments, solve_batch: Callable[[Moments], Rules], sharing: float = 1.0
) -> Rules:
    """Solve pairs batch by batch, and report progress."""
    n, d = len(moments.pairs), moments.means.shape[1]
    step = max(1, _BATCH_BYTES // (16 * max(1, d * d)))
    seconds = _PAIR_SECONDS * d**3 * (1 + sharing * (n - 1))
    pairs = "one pair" if n == 1 else f"{n} pairs"
    show = progress_of(f"solving {pairs} of classes with {d} features", seconds)
    rules = []
    with nullcontext() if n == 1 or d < _BLAS_THREADS_FROM else one_blas_thread():
        for start in range(0, n, step):
            rules.append(solve_batch(moments.take(slice(start, start + step))))
            show(min(1.0, (start + step) / n))
    return Rules.concatenate(rules)
