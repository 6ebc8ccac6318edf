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
is :math:`(T + \nu P) / (W + \nu)`, as if there were :math:`\nu` more rows with the
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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from heterolda.foundations.types import Array, Mask
from heterolda.foundations.wording import listed
from heterolda.statistics.moments import RangeError, check_room
from heterolda.statistics.patterns import GapRows

# Rows, in parts that fit in memory: a list, or what reads them anew each time.
Passes = Iterable[GapRows]

# Largest distance to the limit, as far as the last steps tell, in deviations: of
# moments of largest likelihood, and of those that other classes have a part in.
TOLERANCE, _ROUGH = 1e-7, 1e-4
MAX_STEPS = 1000
# What is added to variances, as a share of those of all classes: without it the
# likelihood has no maximum where features depend on each other.
_LEAST_VARIANCE = 1e-10
_TINY = float(np.finfo(float).tiny)


class Expectation(NamedTuple):
    """Sums over rows that are completed by what is expected.

    Attributes
    ----------
    sums : ndarray of shape (n_classes, d)
        Of deviations from the means.
    products : ndarray of shape (n_classes, d, d)
        Of outer products of deviations.
    log_likelihood : ndarray of shape (n_classes,)
        Of what was observed, without constants and the determinants of covariances.
    """

    sums: Array
    products: Array
    log_likelihood: Array


def expectation(rows: GapRows, means: Array, precisions: Array) -> Expectation:
    """The expectation step, for classes with these means and inverse covariances."""
    r, products, log_likelihood = completed(rows, means, precisions)
    sums, weighted = np.zeros(means.shape), rows.weight[:, None] * r
    for i, one in enumerate(rows.classes()):
        sums[i] = rows.located[one] @ weighted[one]
        products[i] += weighted[one].T @ r[one]
    return Expectation(sums, products, log_likelihood)


def completed(
    rows: GapRows, means: Array, precisions: Array
) -> tuple[Array, Array, Array]:
    """Deviations of rows from their means, with what is expected where nothing is.

    Then come the sums of the covariances of what is missing, for each class, and the
    log-likelihoods of `Expectation`.
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
class Available:
    """What classes say of single features.

    Attributes
    ----------
    weights : ndarray of shape (n_classes,)
        Total weight of each class, rows without any value included.
    blank : ndarray of shape (n_classes,)
        Weight of the latter.
    complete : ndarray of shape (n_classes,)
        Weight of the rows without gaps.
    n_values : ndarray of shape (n_classes, d)
        Weight of the rows that have a feature.
    sums, squares : ndarray of shape (n_classes, d)
        Of what was observed, less the origin.
    low, high : ndarray of shape (n_classes, d)
        The smallest and the largest value, less the origin.
    origin : ndarray of shape (d,)
        About the mean of all values.
    """

    weights: Array
    blank: Array
    complete: Array
    n_values: Array
    sums: Array
    squares: Array
    low: Array
    high: Array
    origin: Array

    @classmethod
    def from_rows(cls, parts: Iterable[GapRows]) -> Available:
        """Gather it in one pass."""
        total: Available | None = None
        for rows in parts:
            part = cls._of_part(rows, None if total is None else total.origin)
            total = part if total is None else total._with(part)
        if total is None:
            raise ValueError("there are no rows")
        return total

    @classmethod
    def _of_part(cls, rows: GapRows, origin: Array | None) -> Available:
        k, d = len(rows.blank), rows.X.shape[1]
        there, w = rows.row_observed, rows.weight[:, None]
        if origin is None:
            n = np.maximum((w * there).sum(axis=0), _TINY)
            origin = (w * rows.X).sum(axis=0) / n
        z = np.where(there, rows.X - origin, 0.0)
        n_values, sums, squares = np.zeros((3, k, d))
        low, high = np.full((k, d), np.inf), np.full((k, d), -np.inf)
        for i, one in enumerate(rows.classes()):
            mask = there[one]
            n_values[i] = rows.weight[one] @ mask
            sums[i], squares[i] = (w[one] * [z[one], z[one] ** 2]).sum(axis=1)
            low[i] = z[one].min(axis=0, initial=np.inf, where=mask)
            high[i] = z[one].max(axis=0, initial=-np.inf, where=mask)
        totals = rows.blank + np.bincount(rows.codes, rows.totals, k)
        whole = rows.totals * rows.observed.all(axis=1)
        complete: Array = np.bincount(rows.codes, whole, k).astype(np.float64)
        known = totals, rows.blank, complete, n_values, sums, squares
        return cls(*known, low, high, origin)

    def _with(self, other: Available) -> Available:
        return Available(
            self.weights + other.weights,
            self.blank + other.blank,
            self.complete + other.complete,
            self.n_values + other.n_values,
            self.sums + other.sums,
            self.squares + other.squares,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.origin,
        )

    def means(self) -> Array:
        """Means of each feature, less the origin; without values, that of all."""
        n = self.n_values
        overall = self.sums.sum(axis=0) / n.sum(axis=0)
        return np.where(n > 0, self.sums / np.maximum(n, _TINY), overall)

    def variances(self) -> Array:
        """Variances of each feature with the divisor of largest likelihood."""
        n = np.maximum(self.n_values, _TINY)
        found = np.where(self.low < self.high, self.squares / n - self.means() ** 2, 0)
        return np.maximum(found, 0.0)


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
        Sums of their squares.
    """

    rows: Array
    scatters: Array


class Step(NamedTuple):
    """A step of both kinds.

    Attributes
    ----------
    after : Gaussians
        Moments after it.
    scatters : ndarray of shape (n_classes or 1, d, d)
        Of the completed rows.
    objective : ndarray of shape (n_classes or 1,)
        Log-likelihood before it, that of the prior included, up to constants.
    """

    after: Gaussians
    scatters: Array
    objective: Array


def em_step(passes: Passes, weights: Array, now: Gaussians, prior: Prior) -> Step:
    """Complete the rows, and take the moments of what they are then."""
    k, pooled = len(now.means), len(now.covariances) == 1
    precisions = np.linalg.inv(now.covariances)
    each = np.broadcast_to(precisions, (k, *precisions.shape[1:]))
    parts = [expectation(rows, now.means, each) for rows in passes]
    sums, products, likelihood = (
        np.sum(one, axis=0) for one in zip(*parts, strict=True)
    )
    shift = sums / np.maximum(weights, _TINY)[:, None]
    scatters = products - weights[:, None, None] * shift[:, :, None] * shift[:, None]
    totals = weights
    if pooled:
        scatters, totals = scatters.sum(axis=0)[None], weights.sum()[None]
        likelihood = likelihood.sum()[None]
    totals = totals + prior.rows
    covariances = (scatters + prior.scatters) / totals[:, None, None]
    objective = likelihood - 0.5 * (
        totals * np.linalg.slogdet(now.covariances)[1]
        + np.einsum("gij,gij->g", precisions, prior.scatters)
    )
    return Step(Gaussians(now.means + shift, covariances), scatters, objective)


class Fit(NamedTuple):
    """Where the steps have led.

    Attributes
    ----------
    moments : Gaussians
        The last ones.
    scatters : ndarray of shape (n_classes or 1, d, d)
        Of the rows that are completed by them.
    objectives : list of ndarray
        Log-likelihoods, which never fall.
    excess : float
        Estimate of the distance to the limit, over what it may be.
    """

    moments: Gaussians
    scatters: Array
    objectives: list[Array]
    excess: float


def climb(passes: Passes, weights: Array, start: Gaussians, prior: Prior) -> Fit:
    """Take steps until they lead no further, two at a time and then a longer one."""

    def step(now: Gaussians) -> Step:
        return em_step(passes, weights, now, prior)

    zero, objectives = start, []
    for _ in range(0, MAX_STEPS, 3):
        first = step(zero)
        second = step(first.after)
        objectives.append(first.objective)
        one, two = zero.between(first.after), zero.between(second.after)
        size, then = _norm(*one), _norm(two[0] - one[0], two[1] - one[1])
        # Where the likelihood is flat, what is added to variances moves on for ever.
        then = np.maximum(then - 10 * _LEAST_VARIANCE, 0.0)
        rate = np.minimum(then / np.maximum(size, _TINY), 1 - 1e-9)
        wanted = np.where(prior.rows > 0, _ROUGH, TOLERANCE)
        excess = float((then * rate / (1 - rate) / wanted).max())
        if excess <= 1:
            break
        third = step(_leap(zero, one, two))
        better = third.objective >= second.objective
        zero = second.after.where(better, third.after)
    return Fit(second.after, second.scatters, objectives, excess)


def _norm(means: Array, covariances: Array) -> Array:
    """Size of a difference of Gaussians, for each covariance."""
    squares = (covariances**2).sum(axis=(1, 2))
    of_means = (means**2).sum(axis=1)
    if len(squares) < len(of_means):
        of_means = of_means.sum()[None]
    size: Array = np.sqrt(squares + of_means)
    return size


def _leap(
    zero: Gaussians, one: tuple[Array, Array], two: tuple[Array, Array]
) -> Gaussians:
    """Beyond two steps, as far as their ratio suggests; the second step at least."""
    bend = tuple(b - 2 * a for a, b in zip(one, two, strict=True))
    length = np.maximum(_norm(*one) / np.maximum(_norm(*bend), _TINY), 1.0)
    while True:
        way = [
            2 * a * np.reshape(length, (-1, *(1,) * (a.ndim - 1)))
            + b * np.reshape(length**2, (-1, *(1,) * (a.ndim - 1)))
            for a, b in zip(one, bend, strict=True)
        ]
        found = zero.moved(*way)
        definite = np.linalg.eigvalsh(found.covariances)[:, 0] > 0
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
    fit : Fit
        How the steps ended.
    """

    weights: Array
    means: Array
    scatters: Array
    unseen: Mask
    fit: Fit


def class_moments_by_em(
    passes: Passes, classes: NDArray[Any]
) -> tuple[Array, Array, Array]:
    """Weights, means and scatters of classes; warns of what is doubtful in them."""
    found = em_moments(passes)
    if found.fit.excess > 1:
        warnings.warn(
            "the means and covariances of rows with missing values have not converged "
            f"after {MAX_STEPS} steps: leave out features that are missing in most "
            "rows, or nearly depend on others",
            ConvergenceWarning,
            stacklevel=2,
        )
    lost = found.unseen.any(axis=1)
    if lost.any():
        features = np.flatnonzero(found.unseen.any(axis=0))
        warnings.warn(
            f"features {listed(features)} have no value in some of the classes "
            f"{listed(classes[lost])}, which take the means of all classes there: "
            "leave these features out, or add rows that have them",
            UserWarning,
            stacklevel=2,
        )
    return found.weights, found.means, found.scatters


def em_moments(passes: Passes) -> Moments:
    """Moments of classes of largest likelihood, given what was observed."""
    known = Available.from_rows(passes)
    check_room(*known.sums.shape)
    n, weights, seen = known.n_values, known.weights, known.weights - known.blank
    if not n.sum(axis=0).all():
        lost = int(np.argmin(n.sum(axis=0)))
        raise RangeError.of_feature("X", lost, "are all missing: leave the feature out")
    k, d = n.shape
    variances = known.variances()
    overall = (n * variances).sum(axis=0) / n.sum(axis=0)
    scale = np.sqrt(np.where(overall > 0, overall, 1.0))
    passes = _in_units(passes, known.origin, scale)
    least = _LEAST_VARIANCE * np.eye(d)
    diagonal = (variances / scale**2)[:, :, None] * np.eye(d) + least
    start = Gaussians(known.means() / scale, diagonal)
    prior = Prior(np.zeros(k), seen[:, None, None] * least)
    # Where fewer rows have all features, the likelihood has no maximum: in directions
    # in which no row was seen, the variance may be nothing.
    few = known.complete <= d + 1
    if few.any():
        target = _pooled(passes, known, start.means, least)
        more = np.where(few, float(d), 0.0)
        prior = Prior(more, prior.scatters + more[:, None, None] * target)
        covariances = np.where(few[:, None, None], target, diagonal)
        start = replace(start, covariances=covariances)
    fit = climb(passes, seen, start, prior)
    means, scatters = fit.moments.means, fit.scatters
    # What is too small to stand alone borrows from others later, as without gaps.
    inside = few & (weights > d + 1)
    mixed = fit.moments.covariances * seen[:, None, None]
    scatters = np.where(inside[:, None, None], mixed, scatters)
    factor = np.where(weights > 1, weights / np.maximum(seen, _TINY), 0.0)
    scatters = factor[:, None, None] * scatters * np.outer(scale, scale)
    constant = (known.low == known.high) & ~few[:, None]
    varies = ~(constant[:, :, None] | constant[:, None])
    means = np.where(constant, known.low, means * scale) + known.origin
    return Moments(weights, means, scatters * varies, n == 0, fit)


def _pooled(passes: Passes, known: Available, means: Array, least: Array) -> Array:
    """The covariance of all classes, which has its diagonal where rows are few."""
    d, seen = len(least), known.weights - known.blank
    rows = float(d) * (known.complete.sum() <= d + 1)
    scatter = seen.sum() * least + rows * np.eye(d)
    start = Gaussians(means, (np.eye(d) + least)[None])
    fit = climb(passes, seen, start, Prior(np.array([rows]), scatter[None]))
    pooled: Array = fit.moments.covariances[0]
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
