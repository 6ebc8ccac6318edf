r"""Anchored refinement of a linear rule by a smooth count of its errors.

Pure functions on arrays, for one pair of classes. Row j has the margin m_j, positive on
the right side of the rule, in units of the median of \|m_j\| at the start. The
refinement moves from the start to a minimum of

    mean_j loss(m_j / h) + lambda mean_j (m_j - start_j)^2,
    lambda = kappa (r + 1) / (n - r - 1),

where r is the rank of the data and all means are weighted. A rule with r + 1
coefficients moves the margins of new rows more than those of the n rows that it was
fitted to, by n / (n - r - 1) in the mean of squares. So the anchor says how far those
of new rows may move, and with n <= r + 1 the rule stays where it starts.

The loss "ridge" is the logistic loss with another anchor, at zero: kappa / n times the
sum of squares of the coefficients of features in units of their deviations. It needs no
start and few rows.

In coordinates in which the rows (1, x) have the unit matrix as their second moment, the
anchor is lambda times the squared distance from the start. So everything but
"ridge" is invariant to linear maps of the features, and the problems are well
conditioned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heterolda.foundations.arrays import Array

# Directions with less than this share of the variance, all features being scaled to
# variance one, are rounding errors.
_NO_VARIANCE = 1e-10
# A feature that varies less than this, relative to its size, is constant.
_CONSTANT = 1e-14


@dataclass(frozen=True)
class Coordinates:
    """Rows in coordinates (z0, ((x - centre) / size - mean) B).

    Attributes
    ----------
    Z : ndarray of shape (n, r + 1)
        The rows; the first column is a constant z0.
    centre, size, mean : ndarray of shape (d,)
        Middle and half of the range of each feature, and mean of the features so
        scaled. The size of a constant feature is infinite.
    basis : ndarray of shape (d, r) or (d,)
        B, or its diagonal.
    """

    Z: Array
    centre: Array
    size: Array
    mean: Array
    basis: Array

    @classmethod
    def from_rows(cls, X: Array, weight: Array) -> Coordinates:
        """Coordinates of unit second moment, for weights that sum to one; z0 is one.

        They are unique up to a rotation of all but the first.
        """
        low, high = X.min(axis=0) / 2, X.max(axis=0) / 2
        centre, size = low + high, high - low
        size[size <= _CONSTANT * np.abs(centre)] = np.inf
        A = (X - centre) / size
        mean = weight @ A
        A -= mean
        deviation = np.sqrt(weight @ (A * A))
        deviation[deviation == 0] = 1.0
        A /= deviation
        n, d = X.shape
        if n <= d:  # the eigenvectors of the products of rows are smaller
            rooted = np.sqrt(weight)[:, None] * A
            values, vectors = np.linalg.eigh(rooted @ rooted.T)
        else:
            values, vectors = np.linalg.eigh((A.T * weight) @ A)
        kept = values > _NO_VARIANCE * max(values[-1], _NO_VARIANCE)
        values, vectors = values[kept], vectors[:, kept]
        if n <= d:
            vectors = rooted.T @ vectors / np.sqrt(values)
        basis = vectors / np.sqrt(values)
        Z = np.empty((basis.shape[1] + 1, n))
        Z[0] = 1.0
        np.matmul(basis.T, A.T, out=Z[1:])
        return cls(Z.T, centre, size, mean, basis / deviation[:, None])

    @classmethod
    def standardised(cls, X: Array, weight: Array) -> Coordinates:
        """Features in units of their deviations; z0 is 10.

        So a penalty of all coordinates hardly touches the offset of a rule.
        """
        low, high = X.min(axis=0) / 2, X.max(axis=0) / 2
        centre, size = low + high, high - low
        size[size == 0] = np.inf
        scaled = (X - centre) / size
        mean = weight @ scaled
        scaled -= mean
        deviation = np.sqrt(weight @ scaled**2)
        scale = np.divide(1, deviation, out=np.zeros_like(mean), where=deviation > 0)
        Z = np.empty((X.shape[1] + 1, len(X)))
        Z[0] = 10.0
        np.multiply(scaled.T, scale[:, None], out=Z[1:])
        return cls(Z.T, centre, size, mean, scale)

    def rules(self, u: Array) -> tuple[Array, Array]:
        """Normals (n_rules, d) and offsets (n_rules,) from coordinates of rules."""
        diagonal = self.basis.ndim == 1
        normals = u[:, 1:] * self.basis if diagonal else u[:, 1:] @ self.basis.T
        offsets = u[:, 0] * self.Z[0, 0] - normals @ self.mean
        normals /= self.size
        return normals, offsets - normals @ self.centre


def median_size(margins: Array, weight: Array) -> float:
    """Weighted median of the sizes of margins; 1 if that is zero."""
    sizes = np.abs(margins)
    order = np.argsort(sizes)
    total = np.cumsum(weight[order])
    median = sizes[order[np.searchsorted(total, 0.5 * total[-1] * (1 - 1e-12))]]
    return float(median) if median > 0 else 1.0
