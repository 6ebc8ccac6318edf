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
from typing import Any

import numpy as np
from scipy.linalg import qr

from heterolda.foundations.arrays import Array, Mask, blocks, dense
from heterolda.foundations.rounding import (
    NO_COORDINATE,
    NO_DEVIATION,
    REAL_SEPARATION,
    SAME_CONSTANT,
    SHIFT_DECIMALS,
    SINGULAR,
)
from heterolda.statistics.class_statistics import ClassStatistics, Coordinates
from heterolda.statistics.covariances import pooled_freedom, two_amounts
from heterolda.statistics.rows import Rows
from heterolda.statistics.samples import without_copies

# Numbers of rows that are centered at a time, and parts of all rows that they are.
_BLOCK, _PARTS = 1 << 20, 8


@dataclass(frozen=True)
class Span:
    """Coordinates in the space of the rows."""

    statistics: ClassStatistics  # in coordinates
    origin: Array  # the point whose coordinates are zero, (n_features,)
    units: Array  # what the features are divided by
    basis: Array  # rows less the origin, times this (n_features, n_coordinates), are z

    @classmethod
    def of(cls, statistics: ClassStatistics, shrinkage: Any = None) -> Span:
        """Return the space of statistics that have factors.

        Units are pooled deviations. Where `shrinkage` leaves the diagonal out, there
        are directions without variance, and the units decide which of them are taken:
        there they are the deviations of all classes together. Features that do not
        vary within classes have coordinates of their own, and no target of shrinkage.
        """
        factors, means = statistics.factors or [], statistics.means
        freedom, squares = pooled_freedom(statistics.weights), statistics.squares
        varies: Mask = squares.sum(axis=0) > 0
        n_varying = int(np.count_nonzero(varies))
        variances = squares.sum(axis=0) / max(freedom, 1.0)
        share, diagonal = two_amounts(shrinkage)
        bare = share == 0 or diagonal == 0
        if bare:
            own = (squares.T / np.maximum(statistics.weights - 1, 1.0)).sum(axis=1)
            variances = (1 - share) * own + share * len(factors) * variances
        units = np.where(varies, np.sqrt(variances), np.ptp(means, axis=0))
        differs = ~varies & (units > SAME_CONSTANT * np.abs(means).max(axis=0))
        units[~varies & ~differs] = 1.0
        origin = np.where(varies, means.mean(axis=0), means[0])
        # The last of the shifts follows from the others. A direction outside of all
        # rows takes its place.
        shifts = (means - origin)[:-1]
        other = np.where(np.arange(len(units)) % 2, 1.0, -1.0)[None] * units
        careful = bare or freedom >= n_varying
        rows = [*factors, shifts, other]
        basis, parts = _orthonormal(rows, varies, units, careful=careful)
        r = basis.shape[1]
        centers = np.vstack([parts[-2], -parts[-2].sum(axis=0)])
        if differs.any():
            constants, apart = _of_constants(means, differs, units, r)
            basis, centers = np.hstack([basis, constants]), np.hstack([centers, apart])
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
        """Return hyperplanes of features, of a record of those in coordinates."""
        coef, intercept = self.rules(planes.coef, planes.intercept)
        return replace(planes, coef=coef, intercept=intercept, dropped=None)

    def rules(self, coef: Array, intercept: Array) -> tuple[Array, Array]:
        """Return rules for features, of rules for coordinates."""
        normals = coef @ self.basis.T
        return normals, intercept - normals @ self.origin

    def rules_inside(self, coef: Array, intercept: Array) -> tuple[Array, Array]:
        """Return rules for coordinates, of rules for features."""
        inside = (coef * self.units**2) @ self.basis
        return inside, intercept + coef @ self.origin


def in_span(
    statistics: ClassStatistics, shrinkage: Any = None
) -> tuple[ClassStatistics, Span | None]:
    """Return statistics to compute with: in coordinates, with their span, if wide.

    `shrinkage` is that of the covariances that will be computed.
    """
    if statistics.factors is None:
        return statistics, None
    span = Span.of(statistics, shrinkage)
    return span.statistics, span


def in_coordinates(
    statistics: ClassStatistics, shrinkage: Any, rows: Rows | None
) -> tuple[ClassStatistics, Span | None, Rows | None]:
    """Return what `in_span` does, and rows in the same coordinates."""
    inside, span = in_span(statistics, shrinkage)
    if span is not None and rows is not None:
        rows = without_copies(rows)  # which rounding might make unequal
        rows = replace(rows, X=span.coordinates(rows.X))
    return inside, span, rows


def outside_of(
    coordinates: Coordinates | None, covariances: Array
) -> tuple[int, Array]:
    """Return the number of directions outside, and class variances along each.

    They are those of the last coordinate with a target of shrinkage.
    """
    if coordinates is None or not coordinates.n_outside:
        return 0, np.ones(len(covariances))
    last = np.flatnonzero(coordinates.target)[-1]
    return coordinates.n_outside, covariances[:, last, last]


def _orthonormal(
    parts: list[Array], features: Mask, units: Array, *, careful: bool
) -> tuple[Array, list[Array]]:
    """Return a basis for rows of some features, in units, and their coordinates in it.

    Other features have zeros in the basis. The last two parts are shifts and a
    direction outside: of directions without anything else, one is kept, the last.
    """
    bounds = np.cumsum([len(part) for part in parts])
    if not features.any():  # one coordinate that is always zero
        return np.zeros((len(units), 1)), [np.zeros((len(part), 1)) for part in parts]
    rows = np.concatenate(parts)
    if not features.all():
        rows = rows[:, features]
    rows /= units[features]
    Q, R = qr(rows.T, mode="economic", overwrite_a=True, check_finite=False)
    if careful:
        turn, R = _principal_axes(R, bounds[-3])
        Q = Q @ turn
    size = np.abs(R[:, :-1]).max(axis=1)
    empty = size <= NO_COORDINATE * len(size) * size.max()
    R[empty] = 0.0
    kept = np.append(np.flatnonzero(~empty), np.flatnonzero(empty)[-1:])
    if not np.array_equal(kept, np.arange(len(R))):
        Q, R = Q[:, kept], R[kept]
    Q /= units[features][:, None]
    if not features.all():
        basis = np.zeros((len(units), Q.shape[1]))
        basis[features] = Q
        Q = basis
    return Q, np.split(R.T, bounds[:-1])


def _principal_axes(R: Array, n: int) -> tuple[Array, Array]:
    """Return axes of the first n columns, within classes, then of what shifts leave.

    The last column is neither. The axes do not depend on the order of rows and classes.
    Variances and shifts become zero if rounding may have made them, to a pencil of
    matrices: then they separate no classes.
    """
    axes, size, _ = np.linalg.svd(R[:, :n])
    rank = np.count_nonzero(size > NO_DEVIATION * np.sqrt(n))
    null = axes[:, rank:]
    shifts = null.T @ R[:, n:-1]
    shifts = np.column_stack([shifts, -shifts.sum(axis=1)])  # of all classes
    null = null @ np.linalg.svd(shifts)[0]
    axes = np.hstack([axes[:, :rank], null])
    turned = axes.T @ R
    turned[rank:, :n] = 0.0
    left = turned[rank:, n:-1]
    left[np.abs(left) <= REAL_SEPARATION * NO_DEVIATION] = 0.0
    return axes, turned


def _of_constants(
    means: Array, features: Mask, units: Array, most: int
) -> tuple[Array, Array]:
    """Return a basis for features constant within classes, and the classes in it.

    Features that separate classes in the same way share a coordinate; if there are too
    many ways, the shifts span the basis.
    """
    shifts = (means - means[0])[:, features] / units[features]
    each = np.arange(shifts.shape[1])
    sign = np.sign(shifts[(shifts != 0).argmax(axis=0), each])
    ways = (shifts * sign).round(SHIFT_DECIMALS)
    _, first, way, count = np.unique(
        ways, axis=1, return_index=True, return_inverse=True, return_counts=True
    )
    vectors = np.zeros((len(each), len(first)))
    vectors[each, way] = sign / np.sqrt(count)[way]
    centers = (shifts * sign)[:, first] * np.sqrt(count)
    if len(first) > most:
        vectors = np.linalg.svd(shifts, full_matrices=False)[2][: len(means) - 1].T
        centers = shifts @ vectors
    basis = np.zeros((len(units), vectors.shape[1]))
    basis[features] = vectors / units[features][:, None]
    return basis, centers
