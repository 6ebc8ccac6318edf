"""Subspaces that separate classes: three methods, from moments alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from heterolda.foundations.arrays import Array, blocks
from heterolda.foundations.threads import Progress, silent
from heterolda.solvers import Global, Moments, solve
from heterolda.subspaces.bound import BATCH_SIZE, BhattacharyyaBound
from heterolda.subspaces.classes import WhitenedClasses

# Called with the number of the start, how many there are, iterations and the bound.

# Iterations of a descent, and of the first part of it that all starts have; how many go
# on, and the operations that they may take together.
_MAX_ITER, _FIRST_ITER, _FINALISTS, _WORK = 500, 30, 3, 2e10
# A descent ends where a step lowers the logarithm of the bound by no more than this
# share of it, or where its gradient is as small.
_TOLERANCE = 1e-11
_GRADIENT = 1e-7
# A subspace that cannot be evaluated counts as this much worse than the best one.
_HOPELESS = 10.0
# Number of axes that are found one after the other, and descents for each.
_BEST_AXES = 3
_RANDOM_STARTS = 4


def fisher(classes: WhitenedClasses, n_components: int) -> Array:
    r"""Return directions of linear discriminant analysis, the best first.

    With the pooled covariance :math:`W` they maximize the variance of the class means,

    .. math::
        \operatorname{tr} (A' W A)^{-1} A' B A, \quad
        B = \sum_k p_k (m_k - m)(m_k - m)', \quad m = \sum_k p_k m_k,

    and are eigenvectors of B in whitened coordinates. No more than K - 1 of them
    separate classes.

    References
    ----------
    C. R. Rao (1948), "The utilization of multiple measurements in problems of
    biological classification", Journal of the Royal Statistical Society B 10, 159-203.
    """
    between = (classes.means.T * classes.priors) @ classes.means
    return leading(between, n_components)


def leading(matrix: Array, n: int) -> Array:
    """Return the eigenvectors of the n largest eigenvalues, as columns."""
    vectors: Array = np.linalg.eigh(matrix)[1]
    return vectors[:, ::-1][:, :n]


def chernoff(classes: WhitenedClasses, n_components: int) -> Array:
    r"""Return directions of the largest Chernoff distances, the best first.

    In coordinates in which :math:`\sum_k p_k S_k` is the identity, they are the
    eigenvectors of

    .. math::
        \sum_{i<j} p_i p_j \Bigl[S_{ij}^{-1/2} \delta \delta' S_{ij}^{-1/2}
        + \frac{1}{\pi_i \pi_j} (\ln S_{ij} - \pi_i \ln S_i - \pi_j \ln S_j)\Bigr],

    with :math:`\pi_i = p_i / (p_i + p_j)`, :math:`S_{ij} = \pi_i S_i + \pi_j S_j` and
    :math:`\delta = m_i - m_j`, equation (11) of [1]_. Where covariances are equal this
    is the matrix of :func:`fisher`.

    References
    ----------
    .. [1] M. Loog and R. P. W. Duin (2004), "Linear dimensionality reduction via a
       heteroscedastic extension of LDA: the Chernoff criterion", IEEE Transactions on
       Pattern Analysis and Machine Intelligence 26, 732-739.
    """
    # The pooled covariance has the divisors of scikit-learn, which are not the priors.
    mean = np.tensordot(classes.priors, classes.covariances, axes=1)
    spread, turn = np.linalg.eigh(mean)
    root = turn / np.sqrt(spread)
    both = classes.priors[classes.pairs]
    shares = both / both.sum(axis=1, keepdims=True)
    distances = directed_distances(classes.within(root), shares, both.prod(axis=1))
    return np.linalg.qr(root @ leading(distances, n_components))[0]


def directed_distances(
    classes: WhitenedClasses, shares: Array, weights: Array
) -> Array:
    r"""Return the weighted sum of the directed distance matrices of all pairs.

    The matrix of a pair is what stands in the brackets of :func:`chernoff`; its
    trace is :math:`2 / (\pi_i \pi_j)` times the Chernoff distance at :math:`\pi_i`.
    The two covariances of a pair have `shares` that sum to one, of shape (n_pairs, 2);
    the `weights` of the pairs are those of the sum.
    """
    rank, n_classes = classes.rank, len(classes.priors)
    total = np.zeros((rank, rank))
    for rows in blocks(len(weights), max(1, BATCH_SIZE // rank**2)):
        (i, j), (a, b) = classes.pairs[rows].T, shares[rows].T
        weight, factor = weights[rows], weights[rows] / (a * b)
        mixed = a[:, None, None] * classes.covariances[i]
        mixed += b[:, None, None] * classes.covariances[j]
        values, vectors = np.linalg.eigh(mixed)
        apart = vectors.mT @ (classes.means[i] - classes.means[j])[:, :, None]
        shift = (vectors @ (apart / np.sqrt(values)[:, :, None]))[:, :, 0]
        total += (shift.T * weight) @ shift
        columns = vectors.transpose(1, 0, 2).reshape(rank, -1)
        total += (columns * (factor[:, None] * np.log(values)).ravel()) @ columns.T
        own = np.bincount(i, factor * a, n_classes)
        own += np.bincount(j, factor * b, n_classes)
        total -= np.tensordot(own, classes.logarithms, axes=1)
    return total


def error(
    classes: WhitenedClasses, n_components: int, progress: Progress = silent
) -> Array:
    r"""Return directions in which Bhattacharyya's bound on the errors is least.

    They span the subspace A that minimizes

    .. math::
        \sum_{i<j} \sqrt{p_i p_j} \exp(-B_{ij}(A)),

    see :class:`BhattacharyyaBound`. Descents begin at the subspaces of :func:`chernoff`
    and :func:`fisher`, at the normals of the best rules of all pairs, at the best axes
    one after the other, and at a few that are drawn, always the same. Those that get
    furthest go on to their ends; no start has a smaller bound than the best of these.
    Since the bound depends on the span of A only, its gradient is orthogonal to all
    changes of axes, and L-BFGS on the entries of A moves on the Grassmann manifold.
    """
    if n_components == classes.rank:
        return np.eye(classes.rank)
    bound, starts = BhattacharyyaBound(classes), _starts(classes, n_components)
    evaluations = _WORK / bound.work(n_components)

    def go(number: int, start: Array, n_before: int, max_iter: int) -> Array:
        def report(n_iter: int, log: float) -> None:
            n = n_before + n_iter
            if n == 1 or n % 20 == 0:
                where = f"start {number + 1} of {len(starts)}, iteration {n}"
                progress(f"{where}: pairs' errors at most {np.exp(log):.4g}", np.nan)

        return descend(bound, start, report, max_iter=max_iter)

    def height(A: Array) -> float:
        return float(bound.logs(A)[-1])

    first = min(_FIRST_ITER, int(evaluations / (2 * len(starts))))
    ends = [go(number, start, 0, first) for number, start in enumerate(starts)]
    best = np.argsort([height(end) for end in ends], kind="stable")[:_FINALISTS]
    last = min(_MAX_ITER, int(evaluations / (2 * len(best))))
    return min([go(k, ends[k], first, last) for k in best], key=height)


def descend(
    bound: BhattacharyyaBound,
    start: Array,
    report: Callable[[int, float], None] = lambda n_iter, log: None,
    fixed: Array | None = None,
    max_iter: int = _MAX_ITER,
) -> Array:
    """Return orthonormal directions of a local minimum of the bound.

    They are orthogonal to `fixed` ones, which belong to the subspace as well.
    """
    if not max_iter:
        return start
    kept = np.empty((len(start), 0)) if fixed is None else fixed
    m, n_iter, lowest = kept.shape[1], 0, np.inf

    def value(entries: Array) -> tuple[float, Array]:
        nonlocal lowest
        A = np.column_stack([kept, entries.reshape(start.shape)])
        try:
            with np.errstate(all="ignore"):
                log, slope = bound.log_and_gradient(A)
        except np.linalg.LinAlgError:
            log, slope = np.nan, A
        if not (np.isfinite(log) and np.isfinite(slope).all()):  # a step too far
            return lowest + _HOPELESS, np.zeros(start.size)
        lowest = min(lowest, log)
        return log, slope[:, m:].ravel()

    def count(_: Array) -> None:
        nonlocal n_iter
        n_iter += 1
        report(n_iter, lowest)

    settings = {"maxiter": max_iter, "ftol": _TOLERANCE, "gtol": _GRADIENT}
    how = {"jac": True, "method": "L-BFGS-B", "callback": count, "options": settings}
    lowered = minimize(value, start.ravel(), **how).x.reshape(start.shape)
    end = np.linalg.qr(np.column_stack([kept, lowered]))[0][:, m:]
    logs = [bound.logs(np.column_stack([kept, A]))[-1] for A in (start, end)]
    return end if logs[1] < logs[0] else start


def _starts(classes: WhitenedClasses, n: int) -> list[Array]:
    """Return subspaces to descend from."""
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
    # What is missing of n directions comes from Chernoff's.
    return [
        np.linalg.qr(np.column_stack([first, directions]))[0][:, :n]
        for first in (directions[:, :n], means, rules, forward, *drawn)
    ]


def best_axes(bound: BhattacharyyaBound, candidates: Array, n: int) -> Array:
    """Return orthonormal axes, each of which lowers the bound as far as it can.

    Descents begin at candidates, given as columns.
    """
    axes = np.empty((len(candidates), 0))
    for _ in range(n):
        others = candidates - axes @ (axes.T @ candidates)
        lengths = np.linalg.norm(others, axis=0)
        others = others[:, lengths > 1e-6] / lengths[lengths > 1e-6]
        trials = [np.column_stack([axes, one]) for one in others.T]
        trials.sort(key=lambda A: float(bound.logs(A)[-1]))
        ends = [descend(bound, A[:, -1:], fixed=axes) for A in trials[:_BEST_AXES]]
        extended = [np.column_stack([axes, end]) for end in ends]
        axes = min(extended, key=lambda A: float(bound.logs(A)[-1]))
    return axes


def ordered_axes(classes: WhitenedClasses) -> Array:
    """Return all axes of the space of classes, the best ones first.

    Those after the third, of which nobody draws a picture, are eigenvectors of the
    pairs' directed distances.
    """
    bound, rank = BhattacharyyaBound(classes), classes.rank
    n_pairs = len(classes.pairs)
    weights = np.exp(bound.pair_terms(np.empty((rank, 0)))[:, 0])
    distances = directed_distances(classes, np.full((n_pairs, 2), 0.5), weights)
    axes = best_axes(bound, leading(distances, rank), min(_BEST_AXES, rank - 1))
    complement = np.linalg.qr(axes, mode="complete")[0][:, axes.shape[1] :]
    others = complement @ leading(complement.T @ distances @ complement, rank)
    return np.column_stack([axes, others])
