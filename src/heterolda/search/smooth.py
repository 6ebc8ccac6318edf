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

In coordinates in which the rows (1, x) have the unit matrix as their second moment, the
anchor is lambda times the squared distance from the start. So everything is invariant
to linear maps of the features, and the problems are well conditioned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heterolda.foundations.types import Array
from heterolda.kernels.whitening import whiten


@dataclass(frozen=True)
class Coordinates:
    """Rows in coordinates of unit second moment: (1, ((x - centre) / size - mean) B).

    Attributes
    ----------
    Z : ndarray of shape (n, r + 1)
        The rows; the first column is one.
    centre, size, mean : ndarray of shape (d,)
        Middle and half of the range of each feature, and mean of the features so
        scaled. The size of a constant feature is infinite.
    basis : ndarray of shape (d, r)
        B.
    """

    Z: Array
    centre: Array
    size: Array
    mean: Array
    basis: Array

    @classmethod
    def from_rows(cls, X: Array, weight: Array) -> Coordinates:
        """Whiten rows with weights that sum to one."""
        return cls(*whiten(X, weight))

    def rules(self, u: Array) -> tuple[Array, Array]:
        """Normals (n_rules, d) and offsets (n_rules,) from coordinates of rules."""
        normals = u[:, 1:] @ self.basis.T
        offsets = u[:, 0] - normals @ self.mean
        normals /= self.size
        return normals, offsets - normals @ self.centre


def median_size(margins: Array, weight: Array) -> float:
    """Weighted median of the sizes of margins; 1 if that is zero."""
    sizes = np.abs(margins)
    order = np.argsort(sizes)
    total = np.cumsum(weight[order])
    median = sizes[order[np.searchsorted(total, 0.5 * total[-1] * (1 - 1e-12))]]
    return float(median) if median > 0 else 1.0
