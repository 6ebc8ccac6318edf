"""Certified optimum by the compiled solver.

It gives the answers of :class:`heterolda.solvers.global_search.Global`, which solves
the pairs that the compiled solver leaves unsolved.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array
from heterolda.foundations.threads import in_threads
from heterolda.kernels.pair_solver import DONE, SINGULAR, UNSOLVED, solve_pairs
from heterolda.kernels.score_distributions import MAX_FEATURES
from heterolda.solvers.global_search import Global
from heterolda.solvers.pencil import Moments
from heterolda.solvers.rules import Rules

# DONE, SINGULAR or UNSOLVED for each pair.
Outcome = NDArray[np.uint8]
# Number of operations that justifies a thread: a few milliseconds.
_WORTH_A_THREAD = 10_000_000
_UNUSED_RNG = np.random.default_rng(0)


def is_compiled(solver: object, n_features: int) -> bool:
    """Return whether the compiled solver can solve these pairs."""
    compiled = kernels.compiled is not None and n_features <= MAX_FEATURES
    return compiled and type(solver) is Global


def solve_compiled(moments: Moments, solver: Global) -> Rules:
    """Return the rules of a batch of pairs."""
    n_pairs, d = len(moments.pairs), moments.means.shape[1]
    work = d * (2 * d**2 + 1000)  # operations for a pair

    def regular(part: slice) -> tuple[Rules, Outcome]:
        return _solve(moments.take(part), solver)

    def singular(part: slice) -> Rules:
        return _solve_singular(moments.take(index[part]), solver)

    n_tasks = n_pairs * work // _WORTH_A_THREAD
    parts, outcomes = zip(*in_threads(regular, n_pairs, n_tasks), strict=True)
    rules, outcome = Rules.concatenate(list(parts)), np.concatenate(outcomes)
    index = np.flatnonzero(outcome == SINGULAR)
    if len(index):
        n_tasks = 4 * len(index) * work // _WORTH_A_THREAD
        solved = Rules.concatenate(in_threads(singular, len(index), n_tasks))
        rules = rules.replaced(index, solved)
    unsolved = np.flatnonzero(outcome == UNSOLVED)
    if len(unsolved):
        pencil = moments.take(unsolved).pencil()
        rules = rules.replaced(unsolved, solver.solve(pencil, _UNUSED_RNG))
    return rules


def _solve(
    moments: Moments, solver: Global, whitening: Array | None = None
) -> tuple[Rules, Outcome]:
    """Return rules, undefined for unsolved pairs, and the outcome of each pair."""
    columns, outcome = solve_pairs(
        moments.means,
        moments.covariances,
        moments.weights,
        moments.pairs,
        moments.pair_priors,
        solver.gap,
        whitening,
    )
    return Rules(**columns, dropped=np.zeros_like(columns["coef"])), outcome


def _solve_singular(moments: Moments, solver: Global) -> Rules:
    """Solve pairs with singular S1 + S2, in the space of its real axes."""
    axes = moments.axes()
    rules, outcome = _solve(moments, solver, axes.whitening())
    outcome[axes.separation().any(axis=1) | axes.units.differs.any(axis=1)] = SINGULAR
    gap = np.where(axes.blurred(), np.nan, rules.gap)
    rules = replace(rules, dropped=axes.dropped(), gap=gap)
    unsolved = np.flatnonzero(outcome != DONE)
    if len(unsolved):
        pencil = moments.take(unsolved).pencil(axes=axes.take(unsolved))
        rules = rules.replaced(unsolved, solver.solve(pencil, _UNUSED_RNG))
    return rules
