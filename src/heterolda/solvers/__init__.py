"""The solvers: one algorithm per file, all on the same pencil.

A solver is a frozen dataclass of settings that keeps to the protocol `Solver`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol, cast

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from heterolda.exceptions import ParameterError
from heterolda.foundations.long_work import progress_of
from heterolda.foundations.threads import one_blas_thread
from heterolda.foundations.types import Array
from heterolda.solvers.compiled_global import (
    is_compiled,
    solve_compiled,
    work_of_pair,
)
from heterolda.solvers.fisher import Fisher
from heterolda.solvers.fixed_point import FixedPoint
from heterolda.solvers.global_search import Global
from heterolda.solvers.grid import Grid
from heterolda.solvers.hyperplanes import Hyperplanes, Status
from heterolda.solvers.krylov import LEAST_FEATURES, KrylovSpaces
from heterolda.solvers.pair_moments import PairMoments
from heterolda.solvers.pencil import Pencil
from heterolda.solvers.random_search import RandomSearch
from heterolda.solvers.threshold import bayes_error, best_threshold

__all__ = [
    "SOLVERS",
    "Fisher",
    "FixedPoint",
    "Global",
    "Grid",
    "Hyperplanes",
    "PairMoments",
    "Pencil",
    "RandomSearch",
    "Solver",
    "Status",
    "all_pairs",
    "bayes_error",
    "best_threshold",
    "draws",
    "generator",
    "resolve_solver",
    "solve_pairs",
]

# For solvers that draw nothing: a generator takes longer to make than a small fit.
_NO_DRAWS = np.random.default_rng(0)
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


# Takes pairs, their rules and their place among all pairs; returns their rules.
Review = Callable[[PairMoments, Hyperplanes, slice], Hyperplanes]


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

    def solve(self, pencil: Pencil, rng: Generator) -> Hyperplanes:
        """Rules for a batch of pairs."""
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
    if isinstance(solver, str) or not hasattr(solver, "solve"):
        raise ParameterError(
            "solver",
            f"must be one of {list(SOLVERS)} or a settings object such as "
            f"Global(gap=1e-6), got {solver!r}",
        )
    if isinstance(solver, type):
        raise ParameterError(
            "solver",
            f"must be a settings object, got the class: use {solver.__name__}()",
        )
    if not hasattr(solver, "moore_penrose"):
        raise ParameterError(
            "solver",
            f"{type(solver).__name__} lacks the attribute moore_penrose: see Solver",
        )
    return solver


@lru_cache(maxsize=8)
def _all_pairs(n_classes: int) -> NDArray[np.intp]:
    return np.column_stack(np.triu_indices(n_classes, 1))


def all_pairs(n_classes: int) -> NDArray[np.intp]:
    """Class indices (i, j), i < j, of all pairs, in the order of all our arrays."""
    return _all_pairs(n_classes).copy()


def draws(solver: Solver) -> bool:
    """Whether a solver draws; one that does not say so is taken to draw."""
    return getattr(solver, "draws", True)


def generator(solver: Solver, seed: int = 0) -> Generator:
    """What a solver draws from: a generator of its own, if it draws at all."""
    return np.random.default_rng(seed) if draws(solver) else _NO_DRAWS


def _work(n_pairs: int, n_features: int, *, sharing: bool) -> tuple[str, float]:
    """What solving pairs is, and about how many seconds it takes.

    Pairs that share spaces take little more time than one.
    """
    each = _PAIR_SECONDS * n_features**3
    seconds = each * (1 + _SHARING * (n_pairs - 1) if sharing else n_pairs)
    pairs = "one pair" if n_pairs == 1 else f"{n_pairs} pairs"
    return f"solving {pairs} of classes with {n_features} features", seconds


def solve_pairs(
    means: Array,
    covariances: Array,
    priors: Array,
    weights: Array,
    pairs: NDArray[np.intp],
    solver: Solver,
    seed: int = 0,
    shares: Array | None = None,
    review: Review | None = None,
) -> Hyperplanes:
    """Rules for pairs of Gaussian classes, one row per pair.

    `pairs`, of shape (n_pairs, 2), has the indices of the first and second class. The
    priors of a pair, or its row of `shares`, are renormalised to sum to one. The seed
    of random trials is the same for every pair. `review` may replace the rules of a
    batch of pairs.
    """
    n_pairs, d = len(pairs), means.shape[1]
    compiled = is_compiled(solver, d)
    spaces = None
    if type(solver) in (Global, Fisher) and d >= LEAST_FEATURES:
        spaces = KrylovSpaces(covariances, pairs)

    def directly(moments: PairMoments) -> Hyperplanes:
        if is_compiled(solver, moments.means.shape[1]):
            return solve_compiled(moments, cast(Global, solver))
        return solver.solve(moments.pencil, generator(solver, seed))

    def solve(rows: slice) -> Hyperplanes:
        batch = pairs[rows]
        pair_priors = priors[batch] if shares is None else shares[rows]
        moments = PairMoments(
            means,
            covariances,
            weights,
            batch,
            pair_priors / pair_priors.sum(axis=1, keepdims=True),
            solver.moore_penrose,
        )
        if spaces is None:
            found = directly(moments)
        else:
            any_error = type(solver) is Fisher
            found = spaces.solve(moments, directly, any_error=any_error)
        return found if review is None else review(moments, found, rows)

    def solve_all() -> Hyperplanes:
        step = max(1, _BATCH_BYTES // (16 * max(1, d * d)))
        if compiled:
            step = max(1, _BATCH_WORK // work_of_pair(d))
        found, show = [], progress_of(*_work(n_pairs, d, sharing=spaces is not None))
        for start in range(0, n_pairs, step):
            found.append(solve(slice(start, start + step)))
            show(min(1.0, (start + step) / n_pairs))
        return Hyperplanes.concatenate(found)

    if compiled or n_pairs == 1 or d < _THREADED:
        return solve_all()
    with one_blas_thread():
        return solve_all()
