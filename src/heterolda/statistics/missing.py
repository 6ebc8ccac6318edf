r"""Means and covariances of classes from rows with missing values, by EM.

The guide on missing values has the formulas. A row costs a product with the precision
matrix Q, and a pattern of m missing values O(m^3). Every two steps are followed by an
extrapolation, if that raises the likelihood.

If at most d + 1 rows of a class have all d features, the likelihood may be largest at a
singular covariance. Then the covariance of the class is
:math:`(T + \nu P) / (W + \nu)`, as if there were :math:`\nu = d` more rows with the
pooled covariance P of all classes, which is also estimated by EM.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Mask
from heterolda.foundations.rounding import EPS, SAME_CONSTANT
from heterolda.foundations.wording import listed
from heterolda.statistics.incomplete_rows import IncompleteRows
from heterolda.statistics.moments import RangeError, check_memory, check_range, is_wide

MAX_STEPS = 1000
# Share of the pooled variances that is added to variances: without it the likelihood
# has no maximum where features depend on each other.
_MIN_VARIANCE = 1e-9
# Stop at this distance from the limit, in standard deviations, as estimated from the
# last two steps. For classes that borrow, or whose correlations have an eigenvalue
# below _DEPENDENT, also stop when the log-likelihood rises by less than _GAIN per
# parameter.
_DISTANCE, _DEPENDENT, _GAIN = 1e-7, 1e-4, 1e-3
# Maximum number of steps that an extrapolation may replace.
_MAX_EXTRAPOLATED = 1000.0
_START_VARIANCE = 1e-6
_TINY = float(np.finfo(float).tiny)

# Rows in parts that fit in memory: a list, or an object that rereads them in each loop.
Passes = Iterable[IncompleteRows]


class Margins(NamedTuple):
    """Moments of single features, by class."""

    weights: Array  # total weight, (n_classes,)
    seen: Array  # weight of rows with at least one value
    complete: Array  # weight of complete rows
    n_values: Array  # weight of observed values, (n_classes, d)
    means: Array  # of observed values minus the origin; overall if there are none
    variances: Array
    origin: Array  # approximate mean of all values, (d,)


def margins_of(passes: Passes) -> Margins:
    """Gather margins; reject too few rows, and features without values."""
    centers, weights, sums = _sums(passes)
    origin, (seen, complete) = centers[0], sums[:, :2].T
    n_values, totals, squares = np.split(sums[:, 2:], 3, axis=1)
    _check(weights.sum(), n_values, squares)
    n, overall = np.maximum(n_values, _TINY), totals.sum(axis=0)
    means = np.where(n_values > 0, totals / n, overall / n_values.sum(axis=0))
    # About class means, no variance is left of a feature that is constant in a class.
    *_, sums = _sums(passes, origin + means)
    _, totals, squares = np.split(sums[:, 2:], 3, axis=1)
    means = means + totals / n
    variances = np.maximum(squares / n - (totals / n) ** 2, 0.0)
    noise = SAME_CONSTANT * (np.abs(means) + np.abs(origin))
    variances[variances <= noise**2] = 0.0
    is_zero = (variances == 0) & (np.abs(means + origin) <= noise)
    means = np.where(is_zero, -origin, means)
    return Margins(weights, seen, complete, n_values, means, variances, origin)


def _sums(passes: Passes, centers: Any = None) -> tuple[Array, Array, Array]:
    """Return centers, weights and sums of counts, deviations and squares, by class."""
    weights: Any = 0.0
    sums: Any = 0.0
    for rows in passes:
        t, observed = rows.Z[:, :1], rows.observed
        if centers is None:  # about the mean of all values
            n = np.maximum((t**2 * observed).sum(axis=0), _TINY)
            origin = (t * rows.Z[:, 1:]).sum(axis=0) / n
            centers = np.tile(origin, (len(rows.weights), 1))
        z = np.where(observed, rows.Z[:, 1:] - t * centers[rows.codes], 0.0)
        kinds = observed.any(axis=1), observed.all(axis=1)
        with np.errstate(over="ignore"):
            counts = t**2 * np.column_stack([*kinds, observed])
            values = np.hstack([counts, t * z, z**2])
            parts = [values[of_class].sum(axis=0) for of_class in rows.class_slices]
        sums, weights = sums + np.array(parts), weights + rows.weights
    return centers, weights, sums


def _check(total: float, n_values: Array, squares: Array) -> None:
    """Reject too few rows, features without values, and squares that overflow."""
    k, d = n_values.shape
    if not total:
        raise ParameterError(
            "sample_weight", "is zero for every row: give some rows a positive weight"
        )
    if is_wide(int(total), d):
        raise ValueError(
            f"there are missing values and fewer rows ({int(total)}) than features "
            f"({d}), too few to estimate what is missing: choose fewer features, "
            "or fill the values in"
        )
    check_memory(k, d)
    n = n_values.sum(axis=0)
    if not n.all():
        raise RangeError(
            "X", int(np.argmin(n)), "are all missing: leave the feature out"
        )
    check_range(squares.sum(axis=0))


def completed(
    rows: IncompleteRows, means: Array, precisions: Array, origin: Array, scale: Array
) -> tuple[Array, Array, Array]:
    """Return completed rows minus means, sums of Cov x_m, and log-likelihoods of rows.

    The log-likelihoods leave out constants and determinants of covariances.
    """
    k, d = means.shape
    t = rows.Z[:, :1]
    r = rows.Z[:, 1:] - t * origin
    r /= scale
    r -= t * means[rows.codes]
    r[~rows.observed] = 0.0
    y = np.empty_like(r)
    for of_class, precision in zip(rows.class_slices, precisions, strict=True):
        np.matmul(r[of_class], precision, out=y[of_class])
    square = np.einsum("ij,ij->i", r, y)
    covariances, log_det = np.zeros(k * d * d), np.zeros(len(r))
    for patterns, missing, members, of_row in rows.blocks:
        codes, totals = rows.codes[rows.bounds[patterns]], rows.totals[patterns]
        entries = missing[:, :, None] * d + missing[:, None, :]  # of precisions
        entries += codes[:, None, None] * d * d
        inverse = precisions.reshape(-1)[entries]
        log_det[members] = np.linalg.slogdet(inverse)[1][of_row]
        covariance = np.linalg.inv(inverse)
        part = totals[:, None, None] * covariance
        covariances += np.bincount(entries.ravel(), part.ravel(), k * d * d)
        cells = members[:, None], missing[of_row]
        expected = -(covariance[of_row] @ y[cells][:, :, None])[:, :, 0]
        square[members] += np.einsum("ij,ij->i", expected, y[cells])
        r[cells] = expected
    log_likelihood = -0.5 * (t[:, 0] ** 2 * log_det + square)
    return r, covariances.reshape(k, d, d), log_likelihood


@dataclass(frozen=True)
class Likelihood:
    """Likelihood of moments: for each class, a matrix of its mean and covariance."""

    passes: Passes
    weights: Array  # of rows with at least one value, (n_classes,)
    origin: Array
    scale: Array  # units of the moments, which are of rows minus the origin
    n_prior: Array  # number of prior rows added to each class
    scatters: Array  # scatters of the prior rows, (n_classes, d, d)
    shared: bool = False  # whether all classes share one covariance

    def step(self, moments: Array) -> tuple[Array, Array, Array]:
        """Return moments after a step, scatters, and log-likelihoods before it."""
        means, covariances = moments[:, 0], moments[:, 1:]
        precisions = np.asarray(np.linalg.inv(covariances), np.float64)
        sums, products = np.zeros_like(means), np.zeros_like(covariances)
        value = np.zeros(len(means))
        for rows in self.passes:
            r, missing, log_likelihood = completed(
                rows, means, precisions, self.origin, self.scale
            )
            for k, of_class in enumerate(rows.class_slices):
                sums[k] += rows.Z[of_class, 0] @ r[of_class]
                products[k] += r[of_class].T @ r[of_class]
            products += missing
            value += np.bincount(rows.codes, log_likelihood, len(means))
        shift = sums / np.maximum(self.weights, _TINY)[:, None]
        scatters = products - sums[:, :, None] * shift[:, None]
        combined, totals = scatters, self.weights
        if self.shared:
            combined, totals = scatters.sum(axis=0), self.weights.sum()
            value = np.full(len(value), value.sum())
        totals = totals + self.n_prior
        after = (combined + self.scatters) / totals[:, None, None]
        value = value - 0.5 * totals * np.linalg.slogdet(covariances)[1]
        value -= 0.5 * np.einsum("kij,kij->k", precisions, self.scatters)
        after = np.concatenate([(means + shift)[:, None], after], axis=1)
        return after, scatters, value

    def climb(self, moments: Array) -> tuple[Array, Array, list[Array], bool]:
        """Return moments, scatters, log-likelihoods, and whether steps converged."""
        d = moments.shape[2]
        gain = _GAIN * d * (d + 3) / 2
        exact = (self.n_prior == 0) & (not self.shared)
        values = []
        for _ in range(0, MAX_STEPS, 3):
            first, _, before = self.step(moments)
            second, scatters, after = self.step(first)
            values += [before, after]
            step1, step2 = first - moments, second - first
            moves = step1, step2, step2 - step1
            size, last, bend = (self._sizes(move, moments) for move in moves)
            # Where the likelihood is flat, the added variance keeps steps from ending.
            last = np.maximum(last - 10 * _MIN_VARIANCE, 0.0)
            rate = np.minimum(last / np.maximum(size, _TINY), 1 - 1e-9)
            distance = last * rate / (1 - rate)
            fast = after - before > gain
            active = (distance > _DISTANCE) & (fast | (exact & _regular(second)))
            # With gains within rounding, steps may lead to and fro for ever.
            active &= after - before > 4 * EPS * np.abs(after)
            if not active.any():
                return second, scatters, values, True
            # Varadhan and Roland's third scheme, where covariances stay definite.
            length = size / np.maximum(bend, size / _MAX_EXTRAPOLATED + _TINY)
            length = np.maximum(length, 1.0)[:, None, None]
            extrapolated = moments + 2 * length * step1 + length**2 * (step2 - step1)
            definite = np.linalg.eigvalsh(extrapolated[:, 1:])[:, 0] > _MIN_VARIANCE / 2
            extrapolated = np.where(definite[:, None, None], extrapolated, second)
            third, _, value = self.step(extrapolated)
            moments = np.where((value >= after)[:, None, None], third, second)
        return second, scatters, values, False

    def _sizes(self, changes: Array, moments: Array) -> Array:
        """Return the sizes of changes of moments, in standard deviations."""
        sd = np.sqrt(np.einsum("kjj->kj", moments[:, 1:]))
        units = np.insert(sd, 0, 1.0, axis=1)[:, :, None] * sd[:, None]
        squares: Array = ((changes / units) ** 2).sum(axis=(1, 2))
        return np.sqrt(np.full(len(sd), squares.mean()) if self.shared else squares)


def _regular(moments: Array) -> Mask:
    """Return a mask of the classes without nearly dependent features."""
    sd = np.sqrt(np.einsum("kjj->kj", moments[:, 1:]))
    correlations = moments[:, 1:] / (sd[:, :, None] * sd[:, None])
    return np.asarray(np.linalg.eigvalsh(correlations)[:, 0] > _DEPENDENT)


def em_moments(
    passes: Passes, classes: NDArray[Any], names: NDArray[Any] | None = None
) -> tuple[Array, Array, Array]:
    """Return the weights, and the maximum-likelihood means and scatters, of classes."""
    if isinstance(passes, list):
        passes = [rows.compacted() for rows in passes]
    margins = margins_of(passes)
    n, seen, weights = margins.n_values, margins.seen, margins.weights
    _warn_unseen((n == 0) & (weights > 0)[:, None], classes, names)
    d = n.shape[1]
    overall = (n * margins.variances).sum(axis=0) / n.sum(axis=0)
    scale = np.sqrt(np.where(overall > 0, overall, 1.0))
    diagonal = (margins.variances / scale**2 + _START_VARIANCE)[:, None] * np.eye(d)
    start = np.concatenate([margins.means[:, None] / scale, diagonal], axis=1)
    incomplete = n.min(axis=1) < np.maximum((1 - 1e-12) * seen, _TINY)
    few = (margins.complete <= d + 1) & incomplete
    n_prior = np.where(few, float(d), 0.0)
    added = (seen * _MIN_VARIANCE)[:, None, None] * np.eye(d)
    likelihood = Likelihood(passes, seen, margins.origin, scale, n_prior, added)
    if few.any():
        start[few, 1:] = pooled = _pooled(likelihood, start, margins.complete.sum())
        added[few] += d * pooled
    after, scatters, _, converged = likelihood.climb(start)
    if not converged:
        warnings.warn(
            "the means and covariances of rows with missing values did not converge in "
            f"{MAX_STEPS} steps: leave out features that are missing in most rows, or "
            "nearly depend on others",
            ConvergenceWarning,
            stacklevel=2,
        )
    # Classes too small for a separate covariance are shrunk later, like complete rows.
    borrows = few & (weights > d + 1)
    unshrunk = scatters / np.where(seen > 0, seen, np.inf)[:, None, None]
    covariances = np.where(borrows[:, None, None], after[:, 1:], unshrunk)
    total = np.where(weights > 1, weights, 0.0)[:, None, None]
    constant = (margins.variances == 0) & (n > 0) & ~few[:, None]
    varies = ~(constant[:, :, None] | constant[:, None])
    means = np.where(constant, margins.means, after[:, 0] * scale) + margins.origin
    return weights, means, total * covariances * np.outer(scale, scale) * varies


def _pooled(likelihood: Likelihood, start: Array, n_complete: float) -> Array:
    """Return the pooled covariance, shrunk to its diagonal if few rows are complete."""
    d, total = len(likelihood.scale), likelihood.weights.sum()
    identity = np.broadcast_to(np.eye(d), likelihood.scatters.shape)
    rows = float(d) if n_complete <= d + 1 else 0.0
    pooled_likelihood = replace(
        likelihood,
        n_prior=np.full(len(start), rows),
        scatters=(rows + total * _MIN_VARIANCE) * identity,
        shared=True,
    )
    start = np.concatenate([start[:, :1], identity], axis=1)
    covariance: Array = pooled_likelihood.climb(start)[0][0, 1:]
    return covariance


def _warn_unseen(
    unseen: Mask, classes: NDArray[Any], names: NDArray[Any] | None
) -> None:
    """Warn about features that have no value in some classes."""
    features, lacking = np.flatnonzero(unseen.any(axis=0)), unseen.any(axis=1)
    if lacking.any():
        warnings.warn(
            f"features {listed(features if names is None else names[features])} have "
            f"no value in some of the classes {listed(classes[lacking])}, so the means "
            "of all classes are used there: leave these features out, or add rows that "
            "have them",
            UserWarning,
            stacklevel=3,
        )
