r"""Moments of Gaussian classes from rows with gaps, by expectation and maximisation.

With values missing at random, the means and covariances of largest likelihood given
what was observed are a fixed point of two steps [1]_, in units :math:`z` of features:

- for each row, the missing values :math:`z_m` given those that are there,

  .. math::
      \operatorname{E} z_m = \mu_m - Q_{mm}^{-1} Q_{mo} (z_o - \mu_o), \qquad
      \operatorname{Cov} z_m = Q_{mm}^{-1}, \qquad Q = \Sigma^{-1},

  so that a row costs a product with Q, and a pattern of m gaps O(m^3);
- the mean and the scatter T of the rows so completed, :math:`\Sigma = T / W`.

The steps are extrapolated [2]_ as long as the likelihood does not fall.

What the rows of a class do not say, the other classes do: where no more than d + 1 rows
have all d features, and perhaps none has two of them both, the covariance of the class
is :math:`(T + \nu P) / (W + \nu)`, as if there were :math:`\nu = d` more rows with the
covariance P of all classes, which is found in the same way.

References
----------
.. [1] R. J. A. Little and D. B. Rubin (2019), "Statistical Analysis with Missing Data",
   third edition, Wiley, section 11.2.
.. [2] R. Varadhan and C. Roland (2008), "Simple and globally convergent methods for
   accelerating the convergence of any EM algorithm", Scandinavian Journal of
   Statistics 35, 335-353.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from heterolda.foundations.long_work import progress_of
from heterolda.foundations.types import Array, Mask
from heterolda.foundations.wording import listed
from heterolda.statistics.available import Available
from heterolda.statistics.patterns import GapRows

# Rows, in parts that fit in memory: a list, or what reads them anew each time.
Passes = Iterable[GapRows]

MAX_STEPS = 1000
# How much nearer three steps come to the limit, about.
_PACE = 5.0
# What is added to variances, as a share of those of all classes: without it the
# likelihood has no maximum where features depend on each other. And the largest
# distance to the limit, as far as the last steps tell, in deviations.
_LEAST_VARIANCE, _DISTANCE = 1e-10, 1e-7
# Where features nearly depend on each other, the smallest eigenvalue of correlations
# being below the limit, or a class borrows, and to begin with: more is added, and the
# steps end where the log-likelihood grows by no more than this for each parameter.
_DEPENDENT = 1e-4
_ROUGH_VARIANCE, _GAIN = 1e-6, 1e-3
# So many steps are the longest leap.
_LONGEST = 1000.0
_TINY = float(np.finfo(float).tiny)


def expectation(
    rows: GapRows, means: Array, precisions: Array
) -> tuple[Array, Array, Array]:
    """The expectation step, for classes with these means and inverse covariances.

    For each class, over the completed rows: sums of deviations from the means, of their
    outer products, and the log-likelihood of what was observed, without constants and
    determinants of covariances.
    """
    r, products, log_likelihood = completed(rows, means, precisions)
    sums, weighted = np.zeros(means.shape), rows.weight[:, None] * r
    for i, one in enumerate(rows.classes()):
        sums[i] = rows.located[one] @ weighted[one]
        products[i] += weighted[one].T @ r[one]
    return sums, products, log_likelihood


def completed(
    rows: GapRows, means: Array, precisions: Array
) -> tuple[Array, Array, Array]:
    """Deviations of rows from their means, with expected values in the gaps.

    Then, for each class, the sum of the covariances of what is missing and the
    log-likelihood of `expectation`.
    """
    k, d = means.shape
    r = rows.X - means[rows.row_codes] * rows.located[:, None]
    r[~rows.row_observed] = 0.0
    y = np.empty_like(r)
    for one, precision in zip(rows.classes(), precisions, strict=True):
        np.matmul(r[one], precision, out=y[one])
    square = np.einsum("ij,ij->i", r, y)
    products, log_det = np.zeros(k * d * d), np.zeros(k)
    for patterns, gaps, members, of_row in rows.by_size:
        mine = rows.codes[patterns]
        place = gaps[:, :, None] * d + gaps[:, None, :] + mine[:, None, None] * d * d
        inverse = precisions.reshape(-1)[place]
        log_det += np.bincount(
            mine, rows.totals[patterns] * np.linalg.slogdet(inverse)[1], k
        )
        covariance = np.linalg.inv(inverse)
        part = rows.totals[patterns][:, None, None] * covariance
        products += np.bincount(place.ravel(), part.ravel(), k * d * d)
        missing = members[:, None], gaps[of_row]
        filled = -(covariance[of_row] @ y[missing][:, :, None])[:, :, 0]
        square[members] += np.einsum("ij,ij->i", filled, y[missing])
        r[missing] = filled
    quadratic = np.bincount(rows.row_codes, rows.weight * square, k)
    return r, products.reshape(k, d, d), -0.5 * (log_det + quadratic)


def filled(X: NDArray[Any], mean: Array, covariance: Array) -> Array:
    """Rows with their gaps filled in by linear regression on what is there."""
    variances = np.diag(covariance)
    scale = np.sqrt(np.where(variances > 0, variances, 1.0))
    least = _LEAST_VARIANCE * np.eye(len(mean))
    precision = np.linalg.inv(covariance / np.outer(scale, scale) + least)
    rows = GapRows.from_arrays(X, np.zeros(len(X), np.intp), None, 1)
    rows = rows.in_units(mean, scale)
    found = np.tile(mean, (len(X), 1))
    zero = np.zeros((1, len(mean)))
    found[rows.places] += scale * completed(rows, zero, precision[None])[0]
    there = ~np.isnan(X)
    found[there] = X[there]
    return found


@dataclass(frozen=True)
class Gaussians:
    """Means of classes and covariances, one for each class or one for all.

    Attributes
    ----------
    means : ndarray of shape (n_classes, d)
        The means.
    covariances : ndarray of shape (n_classes or 1, d, d)
        The covariances.
    """

    means: Array
    covariances: Array

    def between(self, other: Gaussians) -> tuple[Array, Array]:
        """Differences to others, in deviations."""
        sd = np.sqrt(np.einsum("gjj->gj", self.covariances))
        return (
            (other.means - self.means) / sd,
            (other.covariances - self.covariances) / (sd[:, :, None] * sd[:, None]),
        )

    def smallest_eigenvalues(self) -> Array:
        """Those of the correlations."""
        sd = np.sqrt(np.einsum("gjj->gj", self.covariances))
        found = np.linalg.eigvalsh(self.covariances / (sd[:, :, None] * sd[:, None]))
        smallest: Array = found[:, 0]
        return smallest

    def moved(self, means: Array, covariances: Array) -> Gaussians:
        """Others, by differences in deviations from these."""
        sd = np.sqrt(np.einsum("gjj->gj", self.covariances))
        return Gaussians(
            self.means + sd * means,
            self.covariances + sd[:, :, None] * sd[:, None] * covariances,
        )

    def where(self, chosen: Mask, others: Gaussians) -> Gaussians:
        """These, or others for those covariances that are chosen, and their means."""
        means = np.where(chosen[:, None], others.means, self.means)
        every = chosen[:, None, None]
        return Gaussians(means, np.where(every, others.covariances, self.covariances))


@dataclass(frozen=True)
class Prior:
    """As if there were so many more rows, with a given sum of squares about the mean.

    Attributes
    ----------
    rows : ndarray of shape (n_classes or 1,)
        Their number.
    scatters : ndarray of shape (n_classes or 1, d, d)
        Sums of their squares, without what keeps variances from zero.
    fine : ndarray of bool of shape (n_classes or 1,)
        Whether that is next to nothing, and the limit is wanted.
    """

    rows: Array
    scatters: Array
    fine: Mask

    @property
    def least(self) -> Array:
        """What is added to variances."""
        return np.where(self.fine, _LEAST_VARIANCE, _ROUGH_VARIANCE)


class Step(NamedTuple):
    """An expectation and a maximisation step.

    Attributes
    ----------
    after : Gaussians
        Moments after it.
    scatters : ndarray of shape (n_classes or 1, d, d)
        Scatters of the completed rows.
    objective : ndarray of shape (n_classes or 1,)
        Log-likelihood before it, including that of the prior, up to constants.
    """

    after: Gaussians
    scatters: Array
    objective: Array


def em_step(passes: Passes, weights: Array, now: Gaussians, prior: Prior) -> Step:
    """Complete the rows, and take the moments of what they are then."""
    k, pooled = len(now.means), len(now.covariances) == 1
    precisions = np.linalg.inv(now.covariances)
    each = np.broadcast_to(precisions, (k, *precisions.shape[1:]))
    found = (expectation(rows, now.means, each) for rows in passes)
    sums, products, likelihood = reduce(
        lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] + b[2]), found
    )
    shift = sums / np.maximum(weights, _TINY)[:, None]
    scatters = products - weights[:, None, None] * shift[:, :, None] * shift[:, None]
    totals = weights
    if pooled:
        scatters, totals = scatters.sum(axis=0)[None], weights.sum()[None]
        likelihood = likelihood.sum()[None]
    least = (totals * prior.least)[:, None, None]
    more = prior.scatters + least * np.eye(now.means.shape[1])
    totals = totals + prior.rows
    covariances = (scatters + more) / totals[:, None, None]
    objective = likelihood - 0.5 * (
        totals * np.linalg.slogdet(now.covariances)[1]
        + np.einsum("gij,gij->g", precisions, more)
    )
    return Step(Gaussians(now.means + shift, covariances), scatters, objective)


def climb(
    passes: Passes, weights: Array, start: Gaussians, prior: Prior
) -> tuple[Step, list[Array], bool]:
    """Take steps until they lead no further, two at a time and then a longer one.

    Returns the last step, the log-likelihoods, which never fall, and whether it ended
    because the steps converged.
    """

    def step(now: Gaussians) -> Step:
        return em_step(passes, weights, now, prior)

    d = start.means.shape[1]
    gain = _GAIN * d * (d + 3) / 2
    zero, objectives = start, []
    show, begin, far = None, monotonic(), 0.0
    for _ in range(0, MAX_STEPS, 3):
        first = step(zero)
        second = step(first.after)
        objectives.append(first.objective)
        one, two = zero.between(first.after), zero.between(second.after)
        size, then = _norm(*one), _norm(two[0] - one[0], two[1] - one[1])
        # Where the likelihood is flat, what is added to variances moves on for ever.
        then = np.maximum(then - 10 * _LEAST_VARIANCE, 0.0)
        rate = np.minimum(then / np.maximum(size, _TINY), 1 - 1e-9)
        distance = then * rate / (1 - rate)
        flat = second.objective - first.objective <= gain
        going = ~((distance <= _DISTANCE) | (flat & ~prior.fine))
        converged = not going.any()
        left = np.log(np.max(distance / _DISTANCE, where=going, initial=1.0))
        if show is None:
            far, seconds = left, (monotonic() - begin) * left / np.log(_PACE)
            show = progress_of("estimating moments of rows with gaps", seconds)
        show(1.0 if converged else max(0.0, 1 - left / far))
        if converged:
            break
        third = step(_leap(zero, one, two, prior.least / 2))
        better = third.objective >= second.objective
        zero = second.after.where(better, third.after)
    return second, objectives, converged


def _norm(means: Array, covariances: Array) -> Array:
    """Size of a difference of Gaussians, for each covariance."""
    squares = (covariances**2).sum(axis=(1, 2))
    of_means = (means**2).sum(axis=1)
    if len(squares) < len(of_means):
        of_means = of_means.sum()[None]
    size: Array = np.sqrt(squares + of_means)
    return size


def _leap(
    zero: Gaussians, one: tuple[Array, Array], two: tuple[Array, Array], least: Array
) -> Gaussians:
    """Beyond two steps, as far as their ratio suggests; the second step at least.

    No variance becomes smaller than the least one.
    """
    bend = tuple(b - 2 * a for a, b in zip(one, two, strict=True))
    size = _norm(*one)
    least = np.maximum(size / _LONGEST, _TINY)  # a class may have arrived already
    length = np.maximum(size / np.maximum(_norm(*bend), least), 1.0)
    while True:
        way = [
            2 * a * np.reshape(length, (-1, *(1,) * (a.ndim - 1)))
            + b * np.reshape(length**2, (-1, *(1,) * (a.ndim - 1)))
            for a, b in zip(one, bend, strict=True)
        ]
        found = zero.moved(*way)
        definite = np.linalg.eigvalsh(found.covariances)[:, 0] > least
        if (definite | (length == 1)).all():
            return found
        length = np.where(definite, length, np.where(length > 1.1, (length + 1) / 2, 1))


class Moments(NamedTuple):
    """What rows with gaps say of their classes.

    Attributes
    ----------
    weights : ndarray of shape (n_classes,)
        Total weights.
    means : ndarray of shape (n_classes, d)
        Means.
    scatters : ndarray of shape (n_classes, d, d)
        Covariances of largest likelihood times the weight; without gaps, sums of
        outer products of deviations.
    unseen : ndarray of bool of shape (n_classes, d)
        Features without a value in a class: there the mean is that of all classes.
    objectives : list of ndarray
        Log-likelihoods of the steps.
    converged : bool
        Whether the steps converged.
    """

    weights: Array
    means: Array
    scatters: Array
    unseen: Mask
    objectives: list[Array]
    converged: bool


def class_moments_by_em(
    passes: Passes, classes: NDArray[Any], names: NDArray[Any] | None = None
) -> tuple[Array, Array, Array]:
    """Weights, means and scatters of classes; warns of what is doubtful in them."""
    found = em_moments(passes)
    if not found.converged:
        warnings.warn(
            "the means and covariances of rows with missing values did not converge in "
            f"{MAX_STEPS} steps: leave out features that are missing in most rows, or "
            "nearly depend on others",
            ConvergenceWarning,
            stacklevel=2,
        )
    unseen = found.unseen & (found.weights > 0)[:, None]
    lost = unseen.any(axis=1)
    if lost.any():
        features = np.flatnonzero(unseen.any(axis=0))
        if names is not None:
            features = names[features]
        warnings.warn(
            f"features {listed(features)} have no value in some of the classes "
            f"{listed(classes[lost])}, so the means of all classes are used there: "
            "leave these features out, or add rows that have them",
            UserWarning,
            stacklevel=2,
        )
    return found.weights, found.means, found.scatters


def em_moments(passes: Passes) -> Moments:
    """Moments of classes of largest likelihood, given what was observed."""
    if isinstance(passes, list):
        passes = [rows.compacted() for rows in passes]
    known = Available.from_rows(passes)
    known.check()
    n, weights, seen = known.n_values, known.weights, known.weights - known.blank
    k, d = n.shape
    variances = known.variances()
    overall = (n * variances).sum(axis=0) / n.sum(axis=0)
    scale = np.sqrt(np.where(overall > 0, overall, 1.0))
    passes = _in_units(passes, known.origin, scale)
    diagonal = (variances / scale**2 + _ROUGH_VARIANCE)[:, :, None] * np.eye(d)
    start = Gaussians(known.means() / scale, diagonal)
    prior = Prior(np.zeros(k), np.zeros((k, d, d)), np.zeros(k, bool))
    # Where fewer rows have all features, the likelihood may be largest where a variance
    # is nothing, in a direction in which no row was seen.
    has_gaps = n.min(axis=1) < np.maximum((1 - 1e-12) * seen, _TINY)
    few = (known.complete <= d + 1) & has_gaps
    if few.any():
        target = _pooled(passes, known, start.means)
        more = np.where(few, float(d), 0.0)
        prior = replace(prior, rows=more, scatters=more[:, None, None] * target)
        covariances = np.where(few[:, None, None], target, diagonal)
        start = replace(start, covariances=covariances)
    last, objectives, converged = climb(passes, seen, start, prior)
    regular = ~few & (last.after.smallest_eigenvalues() > _DEPENDENT)
    if regular.any():
        fine = replace(prior, fine=regular)
        last, objectives, converged = climb(passes, seen, last.after, fine)
    means, scatters = last.after.means, last.scatters
    # What is too small to stand alone borrows from others later, as without gaps.
    inside = few & (weights > d + 1)
    own = scatters / np.where(seen > 0, seen, np.inf)[:, None, None]
    covariances = np.where(inside[:, None, None], last.after.covariances, own)
    total = np.where(weights > 1, weights, 0.0)[:, None, None]
    scatters = total * covariances * np.outer(scale, scale)
    constant = (known.low == known.high) & ~few[:, None]
    varies = ~(constant[:, :, None] | constant[:, None])
    means = np.where(constant, known.low, means * scale) + known.origin
    scatters = scatters * varies
    return Moments(weights, means, scatters, n == 0, objectives, converged)


def _pooled(passes: Passes, known: Available, means: Array) -> Array:
    """The covariance of all classes, which has its diagonal where rows are few."""
    d, seen = means.shape[1], known.weights - known.blank
    rows = float(d) * (known.complete.sum() <= d + 1)
    start = Gaussians(means, np.eye(d)[None])
    prior = Prior(np.array([rows]), rows * np.eye(d)[None], np.zeros(1, bool))
    last, *_ = climb(passes, seen, start, prior)
    pooled: Array = last.after.covariances[0]
    return pooled


def _in_units(passes: Passes, origin: Array, scale: Array) -> Passes:
    """The same rows less an origin, in units of a scale."""
    if isinstance(passes, list):
        return [rows.in_units(origin, scale) for rows in passes]
    return _InUnits(passes, origin, scale)


@dataclass(frozen=True)
class _InUnits:
    """Rows that are read anew each time."""

    passes: Passes
    origin: Array
    scale: Array

    def __iter__(self) -> Iterator[GapRows]:
        return (rows.in_units(self.origin, self.scale) for rows in self.passes)
