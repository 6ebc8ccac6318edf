r"""Class statistics in the space spanned by few rows with many features.

With :math:`n < d` rows, all scatters and differences of means are in a space of at most
n - 1 dimensions. Let s be units of the features, o an origin, and Q an orthonormal
basis (d, r) of that space in these units, from a QR decomposition of the factors: no
(d, d) matrix is needed. A row has the coordinates

    z = Q' diag(1/s) (x - o),

and a rule v.z has the normal w = diag(1/s) Q v. If s are the pooled deviations, the
diagonal of the pooled covariance, toward which covariances are shrunk, is the identity
in these units, and so in the coordinates. Outside that space, each class has the same
variance in all directions, and means do not differ; one more coordinate represents
these directions. So rules, errors and certificates equal those of (d, d) matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import qr

from heterolda.foundations.arrays import Array, Mask, blocks, dense
from heterolda.foundations.rounding import (
    NO_COORDINATE,
    NO_DEVIATION,
    REAL_SEPARATION,
    SAME_CONSTANT,
    SINGULAR,
)
from heterolda.statistics.class_statistics import ClassStatistics, Coordinates
from heterolda.statistics.covariances import pooled_freedom, two_amounts
from heterolda.statistics.rows import Rows

# At most this many values are centered at a time, in at least this many blocks.
_BLOCK, _PARTS = 1 << 20, 8


@dataclass(frozen=True)
class Span:
    """Coordinates in the space of the rows."""

    statistics: ClassStatistics  # in coordinates
    origin: Array  # point whose coordinates are zero, (n_features,)
    units: Array  # units of the features
    basis: Array  # coordinates are (X - origin) @ basis, (n_features, n_coordinates)

    @classmethod
    def of(cls, statistics: ClassStatistics, shrinkage: Any = "auto") -> Span:
        """Return the span of statistics with factors, in units of pooled deviations.

        If `shrinkage` leaves out the diagonal, directions without variance remain, and
        the units decide which of them are used; then units are the deviations of all
        classes together. Features that are constant within classes have separate
        coordinates, and no target of shrinkage.
        """
        factors, means = statistics.factors or [], statistics.means
        freedom, squares = pooled_freedom(statistics.weights), statistics.squares
        varies: Mask = squares.sum(axis=0) > 0
        n_varying = int(np.count_nonzero(varies))
        variances = squares.sum(axis=0) / max(freedom, 1.0)
        share, diagonal = two_amounts(shrinkage)
        without_diagonal = share == 0 or diagonal == 0
        if without_diagonal:
            sums = (squares.T / np.maximum(statistics.weights - 1, 1.0)).sum(axis=1)
            variances = (1 - share) * sums + share * len(factors) * variances
        units = np.where(varies, np.sqrt(variances), np.ptp(means, axis=0))
        differs = ~varies & (units > SAME_CONSTANT * np.abs(means).max(axis=0))
        units[~varies & ~differs] = 1.0
        origin = np.where(varies, means.mean(axis=0), means[0])
        # The last shift follows from the others; a direction outside all rows replaces
        # it.
        shifts = (means - origin)[:-1]
        outside = np.where(np.arange(len(units)) % 2, 1.0, -1.0)[None] * units
        careful = without_diagonal or freedom >= n_varying
        rows = [*factors, shifts, outside]
        basis, parts = _orthonormal(rows, varies, units, careful=careful)
        r = basis.shape[1]
        centers = np.vstack([parts[-2], -parts[-2].sum(axis=0)])
        if differs.any():
            constant_basis, constant_centers = _constant_basis(means, differs, units)
            basis = np.hstack([basis, constant_basis])
            centers = np.hstack([centers, constant_centers])
        scatters = np.zeros((len(factors), centers.shape[1], centers.shape[1]))
        for scatter, part in zip(scatters, parts, strict=False):
            scatter[:r, :r] = part.T @ part
        rank = n_varying
        if 1 < rank <= freedom:
            spectrum = np.linalg.eigvalsh(scatters.sum(axis=0))
            rank = int(np.count_nonzero(spectrum > SINGULAR * spectrum[-1]))
        inside = ClassStatistics(
            statistics.classes,
            statistics.weights,
            centers,
            scatters,
            given=statistics.given,
            estimated_by=statistics.estimated_by,
            coordinates=Coordinates(
                target=(np.arange(basis.shape[1]) < r).astype(np.float64),
                rank=max(rank, 1),
                n_features=len(units),
                n_outside=max(n_varying - r, 0),
            ),
        )
        return cls(inside, origin, units, basis)

    def coordinates(self, X: Any) -> Array:
        """Return the coordinates of rows."""
        n = X.shape[0]
        coordinates = np.empty((n, self.basis.shape[1]))
        for block in blocks(n, max(1, min(_BLOCK // X.shape[1], n // _PARTS))):
            rows = dense(X[block]).astype(np.float64, copy=False)
            coordinates[block] = (rows - self.origin) @ self.basis
        return coordinates

    def in_features(self, planes: Any) -> Any:
        """Convert a record of hyperplanes from coordinates to features."""
        coef, intercept = self.rules(planes.coef, planes.intercept)
        return replace(planes, coef=coef, intercept=intercept, dropped=None)

    def rules(self, coef: Array, intercept: Array) -> tuple[Array, Array]:
        """Convert rules from coordinates to features."""
        normals = coef @ self.basis.T
        return normals, intercept - normals @ self.origin

    def rules_inside(self, coef: Array, intercept: Array) -> tuple[Array, Array]:
        """Convert rules from features to coordinates."""
        inside = (coef * self.units**2) @ self.basis
        return inside, intercept + coef @ self.origin


def in_span(
    statistics: ClassStatistics, shrinkage: Any = "auto"
) -> tuple[ClassStatistics, Span | None]:
    """Return statistics in coordinates and their span, or unchanged and None."""
    if statistics.factors is None:
        return statistics, None
    span = Span.of(statistics, shrinkage)
    return span.statistics, span


def in_coordinates(
    statistics: ClassStatistics, shrinkage: Any, rows: Rows | None
) -> tuple[ClassStatistics, Span | None, Rows | None]:
    """Return the results of `in_span`, and rows in the same coordinates."""
    inside, span = in_span(statistics, shrinkage)
    if span is not None and rows is not None:
        rows = replace(rows, X=span.coordinates(rows.X))
    return inside, span, rows


def outside_of(
    coordinates: Coordinates | None, covariances: Array
) -> tuple[int, Array]:
    """Return the number of directions outside the span, and class variances there."""
    if coordinates is None or not coordinates.n_outside:
        return 0, np.ones(len(covariances))
    last = np.flatnonzero(coordinates.target)[-1]
    return coordinates.n_outside, covariances[:, last, last]


def _orthonormal(
    parts: list[Array], features: Mask, units: Array, *, careful: bool
) -> tuple[Array, list[Array]]:
    """Return a basis for rows, in units, and the coordinates of each part in it."""
    bounds = np.cumsum([len(part) for part in parts])
    if not features.any():  # one coordinate that is always zero
        return np.zeros((len(units), 1)), [np.zeros((len(part), 1)) for part in parts]
    rows = np.concatenate(parts)
    if not features.all():  # copies take 40 % more memory in a fit
        rows = rows[:, features]
    rows /= units[features]
    Q, R = qr(rows.T, mode="economic", overwrite_a=True, check_finite=False)
    if careful:
        rotation, R = _principal_axes(R, bounds[-3])
        Q = Q @ rotation
    size = np.abs(R[:, :-1]).max(axis=1)
    empty = size <= NO_COORDINATE * len(size) * size.max()
    R[empty] = 0.0
    # Of the axes along which all other rows are zero, only the last is kept.
    used = np.append(np.flatnonzero(~empty), np.flatnonzero(empty)[-1:])
    if not np.array_equal(used, np.arange(len(R))):
        Q, R = Q[:, used], R[used]
    Q /= units[features][:, None]
    if not features.all():
        basis = np.zeros((len(units), Q.shape[1]))
        basis[features] = Q
        Q = basis
    return Q, np.split(R.T, bounds[:-1])


def _principal_axes(R: Array, n: int) -> tuple[Array, Array]:
    """Rotate R to the axes of its first n columns, then to those of remaining shifts.

    Variances and shifts that may be rounding errors become zero, so that they do not
    separate classes.
    """
    axes, size, _ = np.linalg.svd(R[:, :n])
    rank = np.count_nonzero(size > NO_DEVIATION * np.sqrt(n))
    null = axes[:, rank:]
    shifts = null.T @ R[:, n:-1]
    shifts = np.column_stack([shifts, -shifts.sum(axis=1)])  # of all classes
    null = null @ np.linalg.svd(shifts)[0]
    axes = np.hstack([axes[:, :rank], null])
    rotated = axes.T @ R
    rotated[rank:, :n] = 0.0
    null_shifts = rotated[rank:, n:-1]
    null_shifts[np.abs(null_shifts) <= REAL_SEPARATION * NO_DEVIATION] = 0.0
    return axes, rotated


def _constant_basis(means: Array, features: Mask, units: Array) -> tuple[Array, Array]:
    """Return a basis for features constant within classes, and class centers in it."""
    shifts = (means - means[0])[:, features] / units[features]
    _, size, axes = np.linalg.svd(shifts, full_matrices=False)
    vectors = axes[size > SAME_CONSTANT * len(units) * size[0]].T
    basis = np.zeros((len(units), vectors.shape[1]))
    basis[features] = vectors / units[features][:, None]
    return basis, shifts @ vectors
