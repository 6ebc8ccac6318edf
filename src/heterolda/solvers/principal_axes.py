"""Which directions of S1 + S2 are real, and what is lost with those that are not.

S1 + S2 has unit diagonal here, so that its entries are wrong by about one unit in the
last place, and so is its quadratic form along any unit vector: an eigenvalue is real
if it exceeds a dozen of these. Eigenvectors from LAPACK do not resolve that, because
their errors go with the largest eigenvalue. But as they are orthogonal to working
precision, the quadratic form restricted to the weakest of them does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heterolda.foundations.types import Array, Index, Mask

EPS = float(np.finfo(float).eps)
# Conditions up to 1e12 stay untouched, whatever the rounding errors may be.
RANK_TOLERANCE = 1e-13
# Eigenvalues below this share of the largest are computed again among themselves.
_WEAK = 1e-8
# The variance that rounding leaves in a direction without any, in units of EPS, is
# below this (float32 data that is linearly dependent leaves four), or below a share of
# the root of the number of rows, should every row have been merged on its own.
_LEAST_VARIANCE = 12.0
_LEAST_SHARE = 1 / 32
# Means that differ by this many standard deviations, where the deviation is itself
# rounding noise, differ for real; Phi(-20) is below any error of interest.
_REAL_SEPARATION = 40.0


@dataclass(frozen=True)
class PrincipalAxes:
    """Eigenvectors of S1 + S2, in units in which its diagonal is one.

    Attributes
    ----------
    eigenvalues : ndarray of shape (n_pairs, n_features)
        Variances along the axes.
    axes : ndarray of shape (n_pairs, n_features, n_features)
        The eigenvectors, as columns.
    real : ndarray of bool of shape (n_pairs, n_features)
        Whether the variance stands clear of rounding errors.
    resolution : ndarray of shape (n_pairs, 1)
        The variance along a unit vector that rounding may leave.
    """

    eigenvalues: Array
    axes: Array
    real: Mask
    resolution: Array

    @classmethod
    def from_covariance(
        cls, total: Array, position: Array, weights: Array
    ) -> PrincipalAxes:
        """Axes of matrices with unit diagonal.

        `position` has the sizes of the means in the same units, `weights` those of the
        two classes.
        """
        eigenvalues, axes = np.linalg.eigh(total)
        # Classes that are both constant have no axes: all eigenvalues are zero.
        largest = np.where(eigenvalues[:, -1:] > 0, eigenvalues[:, -1:], 1.0)
        weak = eigenvalues < _WEAK * largest
        if weak.any():
            # Eigenvalues ascend: weak ones come first. Others in the block get values
            # that keep them apart and where they are.
            block = slice(0, int(np.count_nonzero(weak, axis=1).max()))
            some, among = weak[:, block], axes[:, :, block]
            form = (among.mT @ total @ among) / (_WEAK * largest[:, :, None])
            form *= some[:, :, None] & some[:, None, :]
            diagonal = np.einsum("pii->pi", form)
            diagonal += np.where(some, 0.0, 2.0 + np.arange(some.shape[1]))
            values, turn = np.linalg.eigh(form)
            axes[:, :, block] = among @ turn
            eigenvalues[:, block] = np.where(
                some, values * _WEAK * largest, eigenvalues[:, block]
            )
        # Of noise in k directions, the largest eigenvalue grows as the root of k.
        doubtful = eigenvalues <= RANK_TOLERANCE * largest
        k = np.count_nonzero(doubtful, axis=1, keepdims=True)
        k -= np.count_nonzero(np.einsum("pii->pi", total) == 0, axis=1, keepdims=True)
        rows = np.sqrt(weights.sum(axis=1, keepdims=True))
        units = np.maximum(_LEAST_VARIANCE, _LEAST_SHARE * rows) * np.sqrt(k)
        resolution: Array = np.minimum(EPS * units, RANK_TOLERANCE * largest)
        # Where means are rounded by as much as the rows vary, they tell nothing.
        blur = 8 * EPS * (position[:, None, :] @ np.abs(axes))[:, 0]
        blurred = weak & (eigenvalues <= blur**2)
        # Constant features are not real, whatever rounding makes of their zeros.
        real = ~doubtful | ((eigenvalues > resolution) & (k > 0))
        return cls(eigenvalues, axes, real & ~blurred, resolution)

    @property
    def rank(self) -> Index:
        """Number of real directions of each pair."""
        rank: Index = np.count_nonzero(self.real, axis=1)
        return rank

    def whitening(self) -> Array:
        """Basis in which S1 + S2 is the identity; zero columns where it is noise."""
        inverse_root = np.zeros_like(self.eigenvalues)
        inverse_root[self.real] = self.eigenvalues[self.real] ** -0.5
        whitening: Array = self.axes * inverse_root[:, None, :]
        return whitening

    def separation(self, delta: Array, position: Array) -> Array:
        """The component of delta along which neither class varies, if it is real.

        It counts if it stands clear of the rounding of the means and of the noise that
        passes for variance in the null space of S1 + S2. The length of the result makes
        its product with delta 2; zeros stand for none.
        """
        d = delta.shape[1]
        noise = d * EPS * self.eigenvalues[:, -1:]
        deviation = np.sqrt(np.maximum(self.eigenvalues, 0) + noise)
        least = 1e-8 * np.max(np.abs(delta), axis=1, keepdims=True)
        component = self._unreal_component(delta, position)
        component[
            np.abs(component) <= np.maximum(_REAL_SEPARATION * deviation, least)
        ] = 0
        square = np.sum(component**2, axis=1, keepdims=True)
        w: Array = (self.axes @ component[:, :, None])[:, :, 0]
        return 2.0 * w / np.where(square > 0, square, 1.0)

    def dropped(self, delta: Array, position: Array) -> Array:
        """The component of delta along directions that are not real, or zeros.

        It is zero unless it stands clear of the rounding of the means. Its length makes
        the variance along it one, as far as rounding lets that be known: so its product
        with delta is the distance of the means in deviations.
        """
        component = self._unreal_component(delta, position)
        variance = np.maximum(self.eigenvalues, 0) + EPS
        size = np.sqrt(np.sum(component**2 * variance, axis=1, keepdims=True))
        w: Array = (self.axes @ component[:, :, None])[:, :, 0]
        return w / np.where(size > 0, size, 1.0)

    def _unreal_component(self, delta: Array, position: Array) -> Array:
        """Coordinates of delta along directions that are not real, beyond rounding."""
        component = (delta[:, None, :] @ self.axes)[:, 0]
        size = position + np.abs(delta)
        rounding = 64 * EPS * (size[:, None, :] @ np.abs(self.axes))[:, 0]
        component[self.real | (np.abs(component) <= rounding)] = 0.0
        return component
