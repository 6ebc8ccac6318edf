"""A power transformation of each feature, which makes skewed features symmetric."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.arrays import (
    Array,
    Index,
    blocks,
    is_numpy,
    put_like,
    xp_of,
)
from heterolda.statistics.samples import row_hashes, smallest

# A value counts as no farther from the center than this many units, so that no outlier
# rules the variances, and no power of it overflows, not even in single precision.
FARTHEST = 10.0
# The halvings of this range never meet 0 or 2, where the formulas have a limit. The
# last is shorter than the rounding.
LEAST_POWER, MOST_POWER = -2.0, 4.0
_N_HALVINGS = 10
# Rounds in which outliers come closer, and what counts as no farther than the limit.
_MOST_ROUNDS, _NEARLY = 20, 1 + 1e-9
_DIGITS = 2
# Classes of less variance, in units of that of all rows, have no say: a class that is
# all but constant would take any power that stretches its place.
_LEAST_VARIANCE = 1e-4
# Distinct rows that powers are found by.
_MOST_ROWS = 5000
# Numbers that are taken at a time, to stay in cache.
_BLOCK = 1 << 14


@dataclass(frozen=True, eq=False)
class PowerTransformation:
    r"""Yeo and Johnson's power transformation of each feature, in units of its own.

    With :math:`z = (x - c) / s` a feature becomes

    .. math::
        t(x) = \frac{(1 + z)^\lambda - 1}{\lambda} \text{ for } z \ge 0, \quad
        t(x) = -\frac{(1 - z)^{2 - \lambda} - 1}{2 - \lambda} \text{ for } z < 0,

    and :math:`\pm\log(1 + |z|)` where the exponent is 0. It rises everywhere, up to
    :math:`|z| = 10`, and is :math:`z` itself for :math:`\lambda = 1`.
    """

    centre: Array  # the mean c of each feature without its outliers
    scale: Array  # the deviation s without them; 1 stands for 0
    lambdas: Array  # the powers, between -2 and 4

    @classmethod
    def fit(
        cls, X: NDArray[Any], codes: Index, weight: Array | None = None
    ) -> PowerTransformation:
        """Find the powers that make features Gaussian within classes, to two digits.

        The power of a feature has the largest likelihood of Gaussian classes, each with
        its mean and variance. It stays 1, which changes nothing but the units, where
        that is not likelier by the Bayesian information criterion, and where a feature
        has one or two values. Of many rows, the powers are those of a sample, which
        depends on neither order nor copies of rows.
        """
        weight = np.ones(len(X)) if weight is None else weight
        centre, scale = _units(X, weight / weight.sum())
        if len(X) > _MOST_ROWS:
            sample = np.flatnonzero(smallest(row_hashes(X), _MOST_ROWS))
            X, codes, weight = X[sample], codes[sample], weight[sample]
        # A class that weighs no more than one row has no variance to speak of.
        kept = (np.bincount(codes, weight) > 1)[codes]
        order = np.flatnonzero(kept)[np.argsort(codes[kept], kind="stable")]
        lambdas = np.ones(X.shape[1])
        if len(order):
            X, codes, weight = X[order], codes[order], weight[order]
            for part in blocks(len(lambdas), max(1, _BLOCK // len(X))):
                z = _in_units(X[:, part], centre[part], scale[part])
                z = np.ascontiguousarray(z.T)
                lambdas[part] = _likeliest(z, codes, weight)
        return cls(centre, scale, lambdas)

    def without_powers(self) -> PowerTransformation:
        """Return the transformation that only brings outliers closer."""
        return replace(self, lambdas=np.ones_like(self.lambdas))

    def has_outliers(self, X: NDArray[Any]) -> bool:
        """Return whether some values are so far out that they count as nearer."""
        with np.errstate(over="ignore"):
            return bool(np.any(np.abs(X - self.centre) > FARTHEST * self.scale))

    def apply(self, X: Any) -> Any:
        """Return rows of transformed features; finite if X is."""
        if not is_numpy(X):
            units = put_like(self.centre, X), put_like(self.scale, X)
            return _bent(_in_units(X, *units), put_like(self.lambdas, X))
        result = np.empty(X.shape)
        for rows in blocks(len(X), max(1, _BLOCK // X.shape[1])):
            z = _in_units(X[rows], self.centre, self.scale)
            result[rows] = _bent(z, self.lambdas)
        return result


def _units(X: NDArray[Any], share: Array) -> tuple[Array, Array]:
    """Return means and standard deviations of features without their outliers.

    Values farther from the mean than `FARTHEST` deviations count as if they were there,
    until none is. 1 stands for a deviation of 0. Numbers are first brought to [-1, 1],
    so that none is too large to be squared.
    """
    low, high = (ends.astype(np.float64) / 2 for ends in (X.min(axis=0), X.max(axis=0)))
    middle, half = low + high, high - low
    half[half == 0] = 1
    u = (X - middle) / half
    for _ in range(_MOST_ROUNDS):
        mean = share @ u
        deviation = np.sqrt(share @ (u - mean) ** 2)
        limit = FARTHEST * deviation
        if (np.abs(u - mean) <= limit * _NEARLY).all():
            break
        u = np.clip(u, mean - limit, mean + limit)
    scale = half * deviation
    return middle + half * mean, np.where(scale > 0, scale, 1.0)


def _in_units(X: Any, centre: Any, scale: Any) -> Any:
    """Return distances from the center in units of the scale, none too large."""
    with np.errstate(over="ignore"):
        z = (X - centre) / scale
    return xp_of(z).clip(z, -FARTHEST, FARTHEST)


def _bent(z: Any, lambdas: Any) -> Any:
    """Return the transformation of values in units."""
    xp = xp_of(z)
    side = xp.where(z < 0, -1.0, xp.ones_like(z))
    size = xp.log1p(xp.abs(z))
    power = 1 + side * (lambdas - 1)
    power = xp.where(power == 0, 1e-300, power)  # of which only the limit is left
    return side * xp.expm1(power * size) / power


def _likeliest(z: Array, codes: Index, weight: Array) -> Array:
    """Return the power of each feature, a row of z; columns are sorted by class.

    The likelihood of a class is concave (Marchand et al., 2022), and so is that of all,
    so halving finds its maximum by the sign of its slope: the mean of +-log(1 + |z|)
    less that of cov(t, dt/dlambda) / var(t) over the classes.
    """
    new = np.append(True, np.diff(codes) != 0)
    starts, places = np.flatnonzero(new), np.cumsum(new) - 1
    total = float(weight.sum())
    share = weight / total
    shares = np.add.reduceat(share, starts)

    def sums(values: Array) -> Array:
        """Return weighted sums of each class."""
        means: Array = np.add.reduceat(values * share, starts, axis=1)
        return means

    def centered(t: Array) -> tuple[Array, Array]:
        """Return values less the means of their classes, and class variances."""
        t = t - (sums(t) / shares)[:, places]
        return t, sums(t**2) / shares

    side = np.copysign(1.0, z)
    size = np.log1p(np.abs(z))
    before = centered(z)[1]
    counts = before > _LEAST_VARIANCE
    before[~counts] = 1.0
    tilt = (sums(side * size) * counts).sum(axis=1)
    low, high = (np.full(len(z), end) for end in (LEAST_POWER, MOST_POWER))
    for _ in range(_N_HALVINGS):
        lambdas = (low + high) / 2
        power = 1 + side * (lambdas[:, None] - 1)
        grown = np.expm1(power * size)
        bent = grown / power
        slope = (size * (grown + 1) - bent) / power
        t, variances = centered(side * bent)
        pulls = np.divide(sums(t * slope), variances, where=counts, out=0 * before)
        rises = tilt > pulls.sum(axis=1)
        low, high = np.where(rises, lambdas, low), np.where(rises, high, lambdas)
    lambdas = np.round((low + high) / 2, _DIGITS)
    after = np.where(counts, centered(_bent(z.T, lambdas).T)[1], 1.0)
    spread = np.log(after / before) @ shares
    gain = total * (2 * (lambdas - 1) * tilt - spread)
    ends = z.min(axis=1, keepdims=True), z.max(axis=1, keepdims=True)
    one_or_two = ((z == ends[0]) | (z == ends[1])).all(axis=1)
    return np.where(one_or_two | (gain <= np.log(total)), 1.0, lambdas)
