"""The certified optimum by the compiled solver, as far as it goes.

It gives the answers of :class:`heterolda.solvers.global_search.Global`, which is asked
for the pairs that are handed over.
"""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

import heterolda.kernels as kernels
from heterolda.foundations.threads import in_threads, one_blas_thread
from heterolda.foundations.types import Array, Index
from heterolda.kernels.pair_solver import (
    DONE,
    MOST_FEATURES,
    SINGULAR,
    SolvedPairs,
    solve_pairs,
)
from heterolda.solvers.global_search import Global
from heterolda.solvers.hyperplanes import Hyperplanes
from heterolda.solvers.pair_moments import PairMoments
from heterolda.solvers.pencil import differences, scaled_by
from heterolda.solvers.principal_axes import PrincipalAxes

# Operations on numbers that are worth a thread of their own: some milliseconds.
_WORTH_A_THREAD = 10_000_000
# Singular pairs whose matrices are in memory at a time.
_AT_A_TIME = 256


def is_compiled(solver: object, n_features: int) -> bool:
    """Whether the compiled solver can take these pairs."""
    compiled = kernels.compiled is not None and n_features <= MOST_FEATURES
    return compiled and type(solver) is Global


def work_of_pair(n_features: int) -> int:
    """About how many operations on numbers a pair takes."""
    return n_features * (2 * n_features**2 + 1000)


def solve_compiled(moments: PairMoments, solver: Global) -> Hyperplanes:
    """Rules of a batch of pairs; Fisher's are written into `moments`."""
    n_pairs, d = len(moments.pairs), moments.means.shape[1]
    work = n_pairs * work_of_pair(d)

    def part(rows: slice) -> SolvedPairs:
        given = moments.pairs[rows], moments.priors[rows]
        classes = moments.means, moments.covariances, moments.weights
        return solve_pairs(*classes, *given, solver.gap)

    solved = SolvedPairs.joined(in_threads(part, n_pairs, work // _WORTH_A_THREAD))
    dropped = np.zeros((n_pairs, d))
    singular = np.flatnonzero(solved.outcome == SINGULAR)
    if len(singular):

        def some(rows: slice) -> None:
            for start in range(rows.start, rows.stop, _AT_A_TIME):
                pairs = singular[start : min(start + _AT_A_TIME, rows.stop)]
                dropped[pairs] = _solve_singular(moments, solver, solved, pairs)

        worth = 4 * work * len(singular) // n_pairs // _WORTH_A_THREAD
        with one_blas_thread() if worth > 1 else nullcontext():
            in_threads(some, len(singular), worth)
    planes = Hyperplanes(
        coef=solved.coef,
        intercept=solved.intercept,
        error=solved.error,
        gap=solved.gap,
        n_iter=solved.n_iter,
        status=solved.status,
        means=solved.means,
        deviations=solved.deviations,
        dropped=dropped,
        floored=solved.floored,
    )
    unsure = np.flatnonzero(solved.outcome != DONE)
    if len(unsure):
        rest = moments.take(unsure)
        planes.put(unsure, solver.solve(rest.pencil, np.random.default_rng(0)))
        solved.fisher_coef[unsure], solved.fisher_intercept[unsure] = rest.fisher
        solved.rank[unsure] = rest.rank
    moments.know(fisher=(solved.fisher_coef, solved.fisher_intercept), rank=solved.rank)
    return planes


def _solve_singular(
    moments: PairMoments, solver: Global, solved: SolvedPairs, pairs: Index
) -> Array:
    """Solve pairs whose S1 + S2 is singular in the space of its real directions.

    Returned is what `Pencil.dropped` says of them. Pairs that some direction separates
    without any variance stay unsolved.
    """
    classes = moments.pairs[pairs]
    means, covariances = moments.means[classes], moments.covariances[classes]
    offset = np.abs(means).max(axis=1)
    variances = np.einsum("pkii->pi", covariances)
    delta, scale, constant, differs = differences(means, variances, offset)
    total = scaled_by(covariances, scale).sum(axis=1)
    place = offset / scale
    axes = PrincipalAxes.from_covariance(total, place, moments.weights[classes])
    apart = delta / scale
    separable = axes.separation(apart, place).any(axis=1) | differs.any(axis=1)
    whitening = np.where(constant[:, :, None], 0.0, axes.whitening())
    found = solve_pairs(
        moments.means,
        moments.covariances,
        moments.weights,
        classes,
        moments.priors[pairs],
        solver.gap,
        whitening,
    )
    found.outcome[separable] = SINGULAR
    for mine, theirs in zip(solved.columns(), found.columns(), strict=True):
        mine[pairs] = theirs
    return axes.dropped(apart, place) / scale
