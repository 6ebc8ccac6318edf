"""Power transformation of each feature, which makes skewed features symmetric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.arrays import Array, Index, blocks, is_numpy, put_like, xp_of
from heterolda.foundations.draws import sample_of

# Values are clipped to this many units from the center, so that no outlier dominates
# the variances, and no power overflows, even in single precision.
FARTHEST = 10.0
# Bisection of this range never reaches 0 or 2, where the formulas need a limit. Its
# last step is finer than the rounding of the powers.
MIN_POWER, MAX_POWER = -2.0, 4.0
_N_HALVINGS = 10
# Rounds of clipping outliers, and the tolerance for values at the limit.
_MAX_ROUNDS, _AT_LIMIT = 20, 1 + 1e-9
_DIGITS = 2
# Classes with a smaller variance, relative to that of all rows, are ignored: a nearly
# constant class would favor any power that stretches the scale around it.
_MIN_VARIANCE = 1e-4
# Number of rows for each class from which powers are estimated, of all classes in
# proportion.
_MAX_ROWS = 500
# Number of values transformed at a time, to stay in cache.
_BLOCK = 1 << 14


@dataclass(frozen=True, eq=False)
class PowerTransformation:
    r"""Yeo and Johnson's power transformation of each standardized feature.

    With :math:`z = (x - c) / s` a feature becomes

    .. math::
        t(x) = \frac{(1 + z)^\lambda - 1}{\lambda} \text{ for } z \ge 0, \quad
        t(x) = -\frac{(1 - z)^{2 - \lambda} - 1}{2 - \lambda} \text{ for } z < 0,

    and :math:`\pm\log(1 + |z|)` where the exponent is 0. It increases for
    :math:`|z| \le 10`, is constant beyond, and is :math:`z` for :math:`\lambda = 1`.
    """

    center: Array  # mean c of each feature, with outliers clipped
    scale: Array  # deviation s, with outliers clipped; 1 if it is 0
    lambdas: Array  # powers, between -2 and 4

    @classmethod
    def fit(
        cls, X: NDArray[Any], codes: Index, weight: Array | None = None
    ) -> PowerTransformation:
        """Estimate the powers that make features Gaussian within classes."""
        weight = np.ones(len(X)) if weight is None else weight
        counts = np.bincount(codes)
        max_rows = _MAX_ROWS * len(counts)
        if len(X) > max_rows:
            sample = sample_of(codes, counts * max_rows // len(X) + 1)
            X, codes, weight = X[sample], codes[sample], weight[sample]
        if np.isnan(X).any():  # of each feature, the rows that have it
            kept = [np.flatnonzero(~np.isnan(x)) for x in X.T]
            parts = [
                cls.fit(x[rows, None], codes[rows], weight[rows])
                for x, rows in zip(X.T, kept, strict=True)
            ]
            names = "center", "scale", "lambdas"
            return cls(*(np.array([getattr(p, n)[0] for p in parts]) for n in names))
        center, scale = _units(X, weight / weight.sum())
        # A class with the weight of a single row has no variance.
        used = (np.bincount(codes, weight) > 1)[codes]
        order = np.flatnonzero(used)[np.argsort(codes[used], kind="stable")]
        lambdas = np.ones(X.shape[1])
        if len(order):
            X, codes, weight = X[order], codes[order], weight[order]
            for part in blocks(len(lambdas), max(1, _BLOCK // len(X))):
                z = _in_units(X[:, part], center[part], scale[part])
                z = np.ascontiguousarray(z.T)
                lambdas[part] = _likeliest(z, codes, weight)
        return cls(center, scale, lambdas)

    def has_outliers(self, X: NDArray[Any]) -> bool:
        """Return whether any value would be clipped."""
        with np.errstate(over="ignore"):
            low, high = (end.reduce(X) - self.center for end in (np.fmin, np.fmax))
            return bool(np.any(np.maximum(high, -low) > FARTHEST * self.scale))

    def apply(self, X: Any) -> Any:
        """Return rows of transformed features; finite if X is."""
        if not is_numpy(X):
            units = put_like(self.center, X), put_like(self.scale, X)
            return _powers(_in_units(X, *units), put_like(self.lambdas, X))
        result = np.empty(X.shape)
        for rows in blocks(len(X), max(1, _BLOCK // X.shape[1])):
            z = _in_units(X[rows], self.center, self.scale)
            result[rows] = _powers(z, self.lambdas)
        return result


def _units(X: NDArray[Any], share: Array) -> tuple[Array, Array]:
    """Return means and deviations of features, clipped until nothing changes."""
    # Scaled to [-1, 1], so that squares cannot overflow.
    low, high = (ends.astype(np.float64) / 2 for ends in (X.min(axis=0), X.max(axis=0)))
    middle, half = low + high, high - low
    half[half == 0] = 1
    u = (X - middle) / half
    for _ in range(_MAX_ROUNDS):
        mean = share @ u
        deviation = np.sqrt(share @ (u - mean) ** 2)
        limit = FARTHEST * deviation
        if (np.abs(u - mean) <= limit * _AT_LIMIT).all():
            break
        u = np.clip(u, mean - limit, mean + limit)
    scale = half * deviation
    return middle + half * mean, np.where(scale > 0, scale, 1.0)


def _in_units(X: Any, center: Any, scale: Any) -> Any:
    """Return standardized and clipped values."""
    with np.errstate(over="ignore"):
        z = (X - center) / scale
    return xp_of(z).clip(z, -FARTHEST, FARTHEST)


def _powers(z: Any, lambdas: Any) -> Any:
    """Return the power transformation of standardized values."""
    xp = xp_of(z)
    side = xp.where(z < 0, -1.0, xp.ones_like(z))
    size = xp.log1p(xp.abs(z))
    power = 1 + side * (lambdas - 1)
    power = xp.where(power == 0, 1e-300, power)  # gives the limit, a logarithm
    return side * xp.expm1(power * size) / power


def _likeliest(z: Array, codes: Index, weight: Array) -> Array:
    """Return the most likely power of each feature, a row of z sorted by class.

    The log-likelihood of a class is concave (Marchand et al., 2022), and so is the sum,
    whose maximum is found by bisection on the sign of its slope: the mean of
    +-log(1 + |z|) minus that of cov(t, dt/dlambda) / var(t) over the classes.
    """
    new = np.append(True, np.diff(codes) != 0)
    starts, class_of = np.flatnonzero(new), np.cumsum(new) - 1
    total = float(weight.sum())
    share = weight / total
    shares = np.add.reduceat(share, starts)

    def sums(values: Array) -> Array:
        """Return the weighted sum of each class."""
        result: Array = np.add.reduceat(values * share, starts, axis=1)
        return result

    def centered(t: Array) -> tuple[Array, Array]:
        """Return values minus their class means, and class variances."""
        t = t - (sums(t) / shares)[:, class_of]
        return t, sums(t**2) / shares

    side = np.copysign(1.0, z)
    size = np.log1p(np.abs(z))
    before = centered(z)[1]
    used = before > _MIN_VARIANCE
    before[~used] = 1.0
    tilt = (sums(side * size) * used).sum(axis=1)
    low, high = (np.full(len(z), end) for end in (MIN_POWER, MAX_POWER))
    for _ in range(_N_HALVINGS):
        lambdas = (low + high) / 2
        power = 1 + side * (lambdas[:, None] - 1)
        growth = np.expm1(power * size)
        values = growth / power
        slope = (size * (growth + 1) - values) / power
        t, variances = centered(side * values)
        ratios = np.divide(sums(t * slope), variances, where=used, out=0 * before)
        rises = tilt > ratios.sum(axis=1)
        low, high = np.where(rises, lambdas, low), np.where(rises, high, lambdas)
    lambdas = np.round((low + high) / 2, _DIGITS)
    after = np.where(used, centered(_powers(z.T, lambdas).T)[1], 1.0)
    spread = np.log(after / before) @ shares
    gain = total * (2 * (lambdas - 1) * tilt - spread)
    ends = z.min(axis=1, keepdims=True), z.max(axis=1, keepdims=True)
    # The power is 1, no transformation, if the information criterion (BIC) prefers it.
    two_values = ((z == ends[0]) | (z == ends[1])).all(axis=1)
    return np.where(two_values | (gain <= np.log(total)), 1.0, lambdas)
