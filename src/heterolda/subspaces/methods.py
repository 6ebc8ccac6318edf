"""Subspaces that separate classes: three methods, from moments alone."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from heterolda.foundations.arrays import Array, blocks
from heterolda.foundations.threads import Progress, silent
from heterolda.solvers import Global, solve
from heterolda.solvers.pencil import Moments
from heterolda.subspaces.bound import BATCH_SIZE, BhattacharyyaBound
from heterolda.subspaces.classes import WhitenedClasses

# Iterations of a descent, and of its first part, from every start; number of starts
# that continue; and number of operations that all descents may take.
_MAX_ITER, _FIRST_ITER, _FINALISTS, _WORK = 500, 30, 3, 2e10
# A descent ends when a step lowers the logarithm of the bound by less than this share,
# or when its gradient is below the second number.
_TOLERANCE = 1e-11
_GRADIENT = 1e-7
# A subspace that cannot be evaluated is this much worse than the best one.
_PENALTY = 10.0
# Number of axes that are found one by one, and of descents for each.
_BEST_AXES = 3
_RANDOM_STARTS = 4


def fisher(classes: WhitenedClasses, n_components: int) -> Array:
    r"""Return the directions of linear discriminant analysis, best first.

    With the pooled covariance :math:`W` they maximize the variance of the class means,

    .. math::
        \operatorname{tr} (A' W A)^{-1} A' B A, \quad
        B = \sum_k p_k (m_k - m)(m_k - m)', \quad m = \sum_k p_k m_k,

    and are eigenvectors of B in whitened coordinates. At most K - 1 of them separate
    classes (Rao 1948).
    """
    between = (classes.means.T * classes.priors) @ classes.means
    return leading(between, n_components)


def leading(matrix: Array, n: int) -> Array:
    """Return the eigenvectors of the n largest eigenvalues, as columns."""
    vectors: Array = np.linalg.eigh(matrix)[1]
    return vectors[:, ::-1][:, :n]


def chernoff(classes: WhitenedClasses, n_components: int) -> Array:
    r"""Return the directions of the largest Chernoff distances, best first.

    In coordinates in which :math:`\sum_k p_k S_k` is the identity, they are the
    eigenvectors of

    .. math::
        \sum_{i<j} p_i p_j \Bigl[S_{ij}^{-1/2} \delta \delta' S_{ij}^{-1/2}
        + \frac{1}{\pi_i \pi_j} (\ln S_{ij} - \pi_i \ln S_i - \pi_j \ln S_j)\Bigr],

    with :math:`\pi_i = p_i / (p_i + p_j)`, :math:`S_{ij} = \pi_i S_i + \pi_j S_j` and
    :math:`\delta = m_i - m_j`, equation (11) of Loog and Duin (2004). If covariances
    are equal, this is the matrix of :func:`fisher`.
    """
    # The classes are whitened by the pooled covariance, which does not use the priors.
    mean = np.tensordot(classes.priors, classes.covariances, axes=1)
    spread, rotation = np.linalg.eigh(mean)
    root = rotation / np.sqrt(spread)
    priors = classes.priors[classes.pairs]
    shares = priors / priors.sum(axis=1, keepdims=True)
    distances = directed_distances(classes.within(root), shares, priors.prod(axis=1))
    return np.linalg.qr(root @ leading(distances, n_components))[0]


def directed_distances(
    classes: WhitenedClasses, shares: Array, weights: Array
) -> Array:
    r"""Return the weighted sum of the directed distance matrices of all pairs.

    The matrix of a pair is the bracket in :func:`chernoff`; its trace is
    :math:`2 / (\pi_i \pi_j)` times the Chernoff distance at :math:`\pi_i`. `shares` of
    the two covariances of a pair sum to one, and have shape (n_pairs, 2). `weights` are
    those of the pairs in the sum.
    """
    rank, n_classes = classes.rank, len(classes.priors)
    total = np.zeros((rank, rank))
    for rows in blocks(len(weights), max(1, BATCH_SIZE // rank**2)):
        (i, j), (a, b) = classes.pairs[rows].T, shares[rows].T
        weight, factor = weights[rows], weights[rows] / (a * b)
        mixed = a[:, None, None] * classes.covariances[i]
        mixed += b[:, None, None] * classes.covariances[j]
        values, vectors = np.linalg.eigh(mixed)
        delta = vectors.mT @ (classes.means[i] - classes.means[j])[:, :, None]
        shift = (vectors @ (delta / np.sqrt(values)[:, :, None]))[:, :, 0]
        total += (shift.T * weight) @ shift
        columns = vectors.transpose(1, 0, 2).reshape(rank, -1)
        total += (columns * (factor[:, None] * np.log(values)).ravel()) @ columns.T
        factors = np.bincount(i, factor * a, n_classes)
        factors += np.bincount(j, factor * b, n_classes)
        total -= np.tensordot(factors, classes.logarithms, axes=1)
    return total


def error(
    classes: WhitenedClasses, n_components: int, progress: Progress = silent
) -> Array:
    r"""Return the directions with the least Bhattacharyya bound on the errors.

    They span the subspace A that minimizes

    .. math::
        \sum_{i<j} \sqrt{p_i p_j} \exp(-B_{ij}(A)),

    see :class:`BhattacharyyaBound`. Descents start at the subspaces of :func:`chernoff`
    and :func:`fisher`, at the normals of the optimal rules of all pairs, at
    successively found best axes, and at a few random subspaces with a fixed seed. The
    best of them continue to convergence. Since the bound depends only on the span of A,
    its gradient is orthogonal to all changes of basis, and L-BFGS on the entries of A
    moves on the Grassmann manifold.
    """
    if n_components == classes.rank:
        return np.eye(classes.rank)
    bound, starts = BhattacharyyaBound(classes), _starts(classes, n_components)
    evaluations = _WORK / bound.work(n_components)

    def log_bound(A: Array) -> float:
        return float(bound.logs(A)[-1])

    first = min(_FIRST_ITER, int(evaluations / (2 * len(starts))))
    ends: list[Array] = []
    for number, start in enumerate(starts, 1):
        progress(f"start {number} of {len(starts)}", np.nan)
        ends.append(descend(bound, start, max_iter=first))
    finalists = sorted(ends, key=log_bound)[:_FINALISTS]
    last = min(_MAX_ITER, int(evaluations / (2 * len(finalists))))
    for number, end in enumerate(finalists):
        step = f"descent {number + 1} of {len(finalists)}"
        max_errors = np.exp(log_bound(end))
        progress(f"{step}: pairs' errors at most {max_errors:.4g}", np.nan)
        finalists[number] = descend(bound, end, max_iter=last)
    return min(finalists, key=log_bound)


def descend(
    bound: BhattacharyyaBound,
    start: Array,
    fixed: Array | None = None,
    max_iter: int = _MAX_ITER,
) -> Array:
    """Return orthonormal directions that minimize the bound together with `fixed`."""
    if not max_iter:
        return start
    fixed = np.empty((len(start), 0)) if fixed is None else fixed
    m, lowest = fixed.shape[1], np.inf

    def value(entries: Array) -> tuple[float, Array]:
        nonlocal lowest
        A = np.column_stack([fixed, entries.reshape(start.shape)])
        try:
            with np.errstate(all="ignore"):
                log, slope = bound.log_and_gradient(A)
        except np.linalg.LinAlgError:
            log, slope = np.nan, A
        if not (np.isfinite(log) and np.isfinite(slope).all()):  # step was too long
            return lowest + _PENALTY, np.zeros(start.size)
        lowest = min(lowest, log)
        return log, slope[:, m:].ravel()

    result = minimize(
        value,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "ftol": _TOLERANCE, "gtol": _GRADIENT},
    )
    A = np.column_stack([fixed, result.x.reshape(start.shape)])
    end = np.linalg.qr(A)[0][:, m:]
    logs = [bound.logs(np.column_stack([fixed, A]))[-1] for A in (start, end)]
    return end if logs[1] < logs[0] else start


def _starts(classes: WhitenedClasses, n: int) -> list[Array]:
    """Return the subspaces at which descents start."""
    directions = chernoff(classes, classes.rank)
    means = fisher(classes, min(n, len(classes.priors) - 1))
    moments = classes.means, classes.covariances, classes.priors, classes.weights
    normals = solve(Moments(*moments, classes.pairs), Global()).coef
    lengths = np.linalg.norm(normals, axis=1)
    units = normals[lengths > 0] / lengths[lengths > 0, None]
    rules = np.linalg.svd(units, full_matrices=False)[2][:n].T
    bound = BhattacharyyaBound(classes)
    forward = best_axes(bound, directions, min(n, _BEST_AXES))
    drawn = np.random.default_rng(0).normal(size=(_RANDOM_STARTS, classes.rank, n))
    # Starts with fewer than n directions are completed with those of `chernoff`.
    return [
        np.linalg.qr(np.column_stack([start, directions]))[0][:, :n]
        for start in (directions[:, :n], means, rules, forward, *drawn)
    ]


def best_axes(bound: BhattacharyyaBound, candidates: Array, n: int) -> Array:
    """Return n orthonormal axes, each chosen to lower the bound the most."""
    axes = np.empty((len(candidates), 0))
    for _ in range(n):
        residuals = candidates - axes @ (axes.T @ candidates)
        lengths = np.linalg.norm(residuals, axis=0)
        residuals = residuals[:, lengths > 1e-6] / lengths[lengths > 1e-6]
        trials = [np.column_stack([axes, residual]) for residual in residuals.T]
        trials.sort(key=lambda A: float(bound.logs(A)[-1]))
        ends = [descend(bound, A[:, -1:], fixed=axes) for A in trials[:_BEST_AXES]]
        extended = [np.column_stack([axes, end]) for end in ends]
        axes = min(extended, key=lambda A: float(bound.logs(A)[-1]))
    return axes


def ordered_axes(classes: WhitenedClasses) -> Array:
    """Return all axes of the space of classes, best first."""
    bound, rank = BhattacharyyaBound(classes), classes.rank
    n_pairs = len(classes.pairs)
    weights = np.exp(bound.pair_terms(np.empty((rank, 0)))[:, 0])
    distances = directed_distances(classes, np.full((n_pairs, 2), 0.5), weights)
    axes = best_axes(bound, leading(distances, rank), min(_BEST_AXES, rank - 1))
    complement = np.linalg.qr(axes, mode="complete")[0][:, axes.shape[1] :]
    # Axes after the third are rarely plotted, so a closed form is enough.
    last = complement @ leading(complement.T @ distances @ complement, rank)
    return np.column_stack([axes, last])
