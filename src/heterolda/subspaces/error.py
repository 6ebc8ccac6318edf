"""The subspace in which the bound on the pairs' errors is least."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from heterolda.foundations.types import Array
from heterolda.solvers import Global, solve_pairs
from heterolda.subspaces.bound import ErrorBound
from heterolda.subspaces.chernoff import chernoff, directed_distances
from heterolda.subspaces.classes import WhitenedClasses
from heterolda.subspaces.fisher import fisher, leading

# Called with the number of the start, how many there are, iterations and the bound.
Progress = Callable[[int, int, int, float], None]

# Iterations of a descent, and of the first part of it that all starts have.
_MAX_ITER, _FIRST_ITER = 500, 30
# A descent ends where a step lowers the logarithm of the bound by no more than this
# share of it, or where its gradient is as small.
_TOLERANCE = 1e-11
_GRADIENT = 1e-7
# So many axes of the subspace are the best ones there, one after the other, each the
# best end of so many descents.
_BEST_AXES = 3


def error(
    classes: WhitenedClasses, n_components: int, progress: Progress | None = None
) -> Array:
    r"""Directions in which the pairs' errors, bounded by Bhattacharyya, are least.

    They span the subspace A that minimises

    .. math::
        \sum_{i<j} \sqrt{p_i p_j} \exp(-B_{ij}(A)),

    see :class:`ErrorBound`, by descents from the subspaces of :func:`chernoff` and
    :func:`fisher` and from the normals of the best rules of all pairs; the one that
    gets furthest goes on to its end, so no start has a smaller bound. Since the bound
    depends on the span of A only, its gradient is orthogonal to all changes of axes,
    and L-BFGS on the entries of A moves on the Grassmann manifold.

    The first axis is the best single direction in that subspace, the second the best
    one to be added, the third likewise.
    """
    best = np.eye(classes.rank)
    if n_components < classes.rank:
        best = _best_end(ErrorBound(classes), _starts(classes, n_components), progress)
    return best @ _axes(classes.within(best))


def _best_end(
    bound: ErrorBound, starts: list[Array], progress: Progress | None
) -> Array:
    """Descend a little way from all starts, and to the end where that led furthest."""

    def go(number: int, start: Array, n_before: int, max_iter: int) -> Array:
        def report(n_iter: int, log: float) -> None:
            if progress is not None:
                bounded = float(np.exp(log))
                progress(number + 1, len(starts), n_before + n_iter, bounded)

        return descend(bound, start, report, max_iter=max_iter)

    ends = [go(number, start, 0, _FIRST_ITER) for number, start in enumerate(starts)]
    best = int(np.argmin([bound.logs(end)[-1] for end in ends]))
    return go(best, ends[best], _FIRST_ITER, _MAX_ITER)


def descend(
    bound: ErrorBound,
    start: Array,
    report: Callable[[int, float], None] = lambda n_iter, log: None,
    fixed: Array | None = None,
    max_iter: int = _MAX_ITER,
) -> Array:
    """Orthonormal directions of a local minimum of the bound, which is below the start.

    They are orthogonal to `fixed` ones, which belong to the subspace as well.
    """
    kept = np.empty((len(start), 0)) if fixed is None else fixed
    m, n_iter, lowest = kept.shape[1], 0, np.inf

    def value(entries: Array) -> tuple[float, Array]:
        nonlocal lowest
        A = np.column_stack([kept, entries.reshape(start.shape)])
        log, slope = bound.log_and_gradient(A)
        lowest = min(lowest, log)
        return log, slope[:, m:].ravel()

    def count(_: Array) -> None:
        nonlocal n_iter
        n_iter += 1
        report(n_iter, lowest)

    settings = {"maxiter": max_iter, "ftol": _TOLERANCE, "gtol": _GRADIENT}
    how = {"jac": True, "method": "L-BFGS-B", "callback": count, "options": settings}
    found = minimize(value, start.ravel(), **how).x.reshape(start.shape)
    end = np.linalg.qr(np.column_stack([kept, found]))[0][:, m:]
    logs = [bound.logs(np.column_stack([kept, A]))[-1] for A in (start, end)]
    return end if logs[1] < logs[0] else start


def _starts(classes: WhitenedClasses, n: int) -> list[Array]:
    """Subspaces to descend from."""
    directions = chernoff(classes, classes.rank)
    means = fisher(classes, min(n, len(classes.priors) - 1))
    moments = classes.means, classes.covariances, classes.priors, classes.weights
    normals = solve_pairs(*moments, classes.pairs, Global()).coef
    lengths = np.linalg.norm(normals, axis=1)
    units = normals[lengths > 0] / lengths[lengths > 0, None]
    rules = np.linalg.svd(units, full_matrices=False)[2][:n].T
    # What is missing of n directions comes from Chernoff's.
    return [
        np.linalg.qr(np.column_stack([first, directions]))[0][:, :n]
        for first in (directions[:, :n], means, rules)
    ]


def _axes(classes: WhitenedClasses) -> Array:
    """The axes of a subspace: each of the first few lowers the bound as far as it can.

    The others, of which nobody draws a picture, are eigenvectors of the pairs' directed
    distances.
    """
    bound, rank = ErrorBound(classes), classes.rank
    n_pairs = len(classes.pairs)
    weights = np.exp(bound.pair_terms(np.empty((rank, 0)))[:, 0])
    distances = directed_distances(classes, np.full((n_pairs, 2), 0.5), weights)
    axes, rest = np.empty((rank, 0)), np.eye(rank)
    for _ in range(min(_BEST_AXES, rank - 1)):
        candidates = rest @ leading(rest.T @ distances @ rest, rank)
        trials = [np.column_stack([axes, one]) for one in candidates.T]
        trials.sort(key=lambda A: float(bound.logs(A)[-1]))
        ends = [descend(bound, A[:, -1:], fixed=axes) for A in trials[:_BEST_AXES]]
        found = [np.column_stack([axes, end]) for end in ends]
        axes = min(found, key=lambda A: float(bound.logs(A)[-1]))
        rest = np.linalg.qr(axes, mode="complete")[0][:, axes.shape[1] :]
    others = rest @ leading(rest.T @ distances @ rest, rank)
    return np.column_stack([axes, others])
