r"""Class statistics in the space that few rows span, whatever the number of features.

With :math:`n < d` rows, all scatters and differences of means lie in a space of no
more than n - 1 dimensions. Let s be units of the features, o an origin, and Q an
orthonormal basis (d, r) of that space in these units, from a QR decomposition of the
factors: no matrix (d, d) is needed. A row has the coordinates

    z = Q' diag(1/s) (x - o),

and a rule v.z the normal w = diag(1/s) Q v. If s are the pooled deviations, then the
diagonal of the pooled covariance, towards which covariances are shrunk, is the identity
in these units: it is the identity in the coordinates, and outside of them one number
for each class, with no difference of means. One coordinate more stands for all of that.
So every rule, with its errors and its certificate, is that of the matrices (d, d).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from scipy.linalg import qr

from heterolda.foundations.sparse_rows import dense
from heterolda.foundations.types import Array, Mask
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.moments import SINGULAR, Coordinates, pooled_freedom

# A coordinate along which everything is less than this share of the rest is zero.
_NOTHING = 1e-14
# Numbers of rows that are centred at a time.
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Span:
    """Coordinates in the space of the rows.

    Attributes
    ----------
    statistics : ClassStatistics
        The statistics in coordinates.
    origin : ndarray of shape (n_features,)
        The point whose coordinates are zero.
    units : ndarray of shape (n_features,)
        What the features are divided by.
    basis : ndarray of shape (n_features, n_coordinates)
        Its products with rows less the origin are their coordinates.
    """

    statistics: ClassStatistics
    origin: Array
    units: Array
    basis: Array

    @classmethod
    def of(cls, statistics: ClassStatistics, units: Array | None = None) -> Span:
        """The space of statistics that have factors; by default in pooled deviations.

        Features that do not vary within classes have coordinates of their own, without
        a target of shrinkage.
        """
        factors = cast(list[Array], statistics.factors)
        freedom = pooled_freedom(statistics.weights)
        squares = statistics.squares.sum(axis=0)
        varies = squares > 0
        if units is None:
            units = np.sqrt(squares / max(freedom, 1.0))
        units = np.where(varies, units, 1.0)
        origin = statistics.means.mean(axis=0)
        # The last of the shifts follows from the others. A direction outside of all
        # rows takes its place.
        shifts = (statistics.means - origin)[:-1]
        other = np.where(np.arange(len(units)) % 2, 1.0, -1.0)[None] * units
        inner, parts = _orthonormal([*factors, shifts, other], varies, units)
        differs = ~varies & shifts.any(axis=0)
        outer, apart = _orthonormal([shifts], differs, units)
        n_varying = int(np.count_nonzero(varies))
        outside = max(n_varying - inner.shape[1], 0)
        means = np.hstack([parts[-2], apart[0]])
        means = np.vstack([means, -means.sum(axis=0)])
        scatters = np.zeros((len(factors), means.shape[1], means.shape[1]))
        r = inner.shape[1]
        for scatter, part in zip(scatters, parts, strict=False):
            scatter[:r, :r] = part.T @ part
        known = ClassStatistics(
            statistics.classes,
            statistics.weights,
            means,
            scatters,
            given=statistics.given,
            estimated_by=statistics.estimated_by,
        )
        rank = n_varying
        if 1 < rank <= freedom:
            spectrum = np.linalg.eigvalsh(scatters.sum(axis=0))
            rank = int(np.count_nonzero(spectrum > SINGULAR * spectrum[-1]))
        target = np.repeat([1.0, 0.0], [r, outer.shape[1]])
        known.coordinates = Coordinates(target, max(rank, 1), len(units), outside)
        basis = np.hstack([inner, outer]) if differs.any() else inner
        return cls(known, origin, units, basis)

    def coordinates(self, X: Any) -> Array:
        """Coordinates of rows."""
        n, step = X.shape[0], max(1, _BLOCK // X.shape[1])
        found = np.empty((n, self.basis.shape[1]))
        for start in range(0, n, step):
            rows = dense(X[start : start + step]).astype(np.float64, copy=False)
            found[start : start + step] = (rows - self.origin) @ self.basis
        return found

    def in_features(self, planes: Any) -> Any:
        """Hyperplanes of features, of a record of hyperplanes in coordinates."""
        coef, intercept = self.rules(planes.coef, planes.intercept)
        return replace(planes, coef=coef, intercept=intercept, dropped=None)

    def rules(self, coef: Array, intercept: Array) -> tuple[Array, Array]:
        """Rules for features, of rules for coordinates."""
        normals = coef @ self.basis.T
        return normals, intercept - normals @ self.origin

    def rules_inside(self, coef: Array, intercept: Array) -> tuple[Array, Array]:
        """The way back: rules for coordinates, of rules for features."""
        inside = (coef * self.units**2) @ self.basis
        return inside, intercept + coef @ self.origin


def in_span(statistics: ClassStatistics) -> tuple[ClassStatistics, Span | None]:
    """Statistics to compute with: in coordinates, with their span, if they are wide."""
    if not statistics.factors:
        return statistics, None
    span = Span.of(statistics)
    return span.statistics, span


def outside_of(
    coordinates: Coordinates | None, covariances: Array
) -> tuple[int, Array]:
    """How many directions lie outside of coordinates, and class variances along each.

    They are those of the last coordinate with a target of shrinkage.
    """
    if coordinates is None or not coordinates.n_outside:
        return 0, np.ones(len(covariances))
    last = np.flatnonzero(coordinates.target)[-1]
    return coordinates.n_outside, covariances[:, last, last]


def _orthonormal(
    parts: list[Array], features: Mask, units: Array
) -> tuple[Array, list[Array]]:
    """A basis for rows of some features, in units, and their coordinates in it.

    Other features have zeros in the basis; they must not vary in the rows.
    """
    bounds = np.cumsum([len(part) for part in parts])
    if not features.any() or not bounds[-1]:
        return np.zeros((len(units), 0)), [np.zeros((len(part), 0)) for part in parts]
    rows = np.concatenate(parts)
    if not features.all():
        rows = rows[:, features]
    rows /= units[features]
    Q, R = qr(rows.T, mode="economic", overwrite_a=True, check_finite=False)
    size = np.sqrt((R * R).sum(axis=1))
    R[size <= _NOTHING * len(size) * size.max()] = 0.0
    Q /= units[features][:, None]
    if not features.all():
        basis = np.zeros((len(units), Q.shape[1]))
        basis[features] = Q
        Q = basis
    return Q, np.split(R.T, bounds[:-1])
