"""Units of the features of pairs, and the directions in which classes vary."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.rounding import (
    BLURRED,
    EPS,
    EQUAL_MEANS,
    NOISE_UNITS,
    NOISE_UNITS_OF_ROWS,
    RANK_TOLERANCE,
    REAL_PART,
    REAL_SEPARATION,
    SAME_CONSTANT,
    UNRESOLVED,
    WEAK_AXIS,
    ZERO_SUM,
)


@dataclass(frozen=True)
class Units:
    """Units of the features of pairs; arrays of shape (n_pairs, n_features)."""

    delta: Array  # difference m1 - m2; zero where it may be rounding
    position: Array  # larger absolute value of the two means
    scale: Array  # deviation of S1 + S2, or for a constant feature |m1 - m2|
    constant: Mask  # features that vary in neither class
    differs: Mask  # constant features whose means differ

    @classmethod
    def of(cls, means: Array, variances: Array) -> Units:
        """Find the units, given the variances of S1 + S2."""
        position = np.abs(means).max(axis=1)
        delta = means[:, 0] - means[:, 1]
        constant = variances == 0
        differs = np.zeros_like(constant)
        scale = np.sqrt(variances)
        if constant.any():
            differs = constant & (np.abs(delta) > SAME_CONSTANT * position)
            delta = np.where(constant & ~differs, 0.0, delta)
            scale[constant] = np.where(differs, np.abs(delta), 1.0)[constant]
        rounding = np.minimum(4 * EPS * position, EQUAL_MEANS * scale)
        rounding += ZERO_SUM * scale
        delta = np.where(np.abs(delta) > rounding, delta, 0.0)
        return cls(delta, position, scale, constant, differs)

    def take(self, pairs: Index | Mask) -> Units:
        """Select pairs."""
        return Units(*(getattr(self, f.name)[pairs] for f in fields(self)))


@dataclass(frozen=True)
class PrincipalAxes:
    """Eigenvectors of S1 + S2, scaled to unit diagonal, and which of them are real.

    With unit diagonal, entries of S1 + S2 have errors of about one EPS, and so has its
    quadratic form along any unit vector: a variance is *real* if it exceeds a dozen
    EPS. LAPACK's eigenvalues do not resolve that, because their errors are relative to
    the largest eigenvalue. But the eigenvectors are orthogonal to working precision, so
    the quadratic form restricted to the weakest of them does.
    """

    units: Units
    variances: Array  # along the axes, in ascending order, (n_pairs, n_features)
    axes: Array  # eigenvectors, as columns, (n_pairs, n_features, n_features)
    real: Mask  # axes whose variance exceeds rounding errors

    @classmethod
    def of(cls, total: Array, units: Units, weights: Array) -> PrincipalAxes:
        """Find the axes of S1 + S2 in these units, for classes of these weights."""
        variances, axes = np.linalg.eigh(total)
        # If both classes are constant, all variances are zero.
        largest = np.where(variances[:, -1:] > 0, variances[:, -1:], 1.0)
        weak = variances < WEAK_AXIS * largest
        if weak.any():
            # Weak axes come first. Strong axes in the block get distinct larger values,
            # so that they stay in place.
            block = slice(0, int(np.count_nonzero(weak, axis=1).max()))
            is_weak, weak_axes = weak[:, block], axes[:, :, block]
            form = weak_axes.mT @ total @ weak_axes / (WEAK_AXIS * largest[:, :, None])
            form *= is_weak[:, :, None] & is_weak[:, None, :]
            diagonal = np.einsum("pii->pi", form)
            diagonal += np.where(is_weak, 0.0, 2.0 + np.arange(is_weak.shape[1]))
            values, rotation = np.linalg.eigh(form)
            axes[:, :, block] = weak_axes @ rotation
            variances[:, block] = np.where(
                is_weak, values * WEAK_AXIS * largest, variances[:, block]
            )
        # The largest eigenvalue of noise in k directions grows as the root of k.
        doubtful = variances <= RANK_TOLERANCE * largest
        k = np.count_nonzero(doubtful, axis=1, keepdims=True)
        k -= np.count_nonzero(np.einsum("pii->pi", total) == 0, axis=1, keepdims=True)
        rows = np.sqrt(weights.sum(axis=1, keepdims=True))
        noise = np.maximum(NOISE_UNITS, NOISE_UNITS_OF_ROWS * rows) * np.sqrt(k)
        limit = np.minimum(EPS * noise, RANK_TOLERANCE * largest)
        # Axes along which the rounding of the means exceeds the deviation are unusable.
        position = units.position / units.scale
        blur = 8 * EPS * (position[:, None, :] @ np.abs(axes))[:, 0]
        blurred = weak & (variances <= blur**2)
        # If all doubtful axes are constant features (k = 0), none of them is real.
        real = ~doubtful | ((variances > limit) & (k > 0))
        return cls(units, variances, axes, real & ~blurred)

    @property
    def rank(self) -> Index:
        """Return the number of real directions of each pair."""
        rank: Index = np.count_nonzero(self.real, axis=1)
        return rank

    def whitening(self) -> Array:
        """Return a basis in which S1 + S2 is the identity along the real axes."""
        inverse_root = np.zeros_like(self.variances)
        inverse_root[self.real] = self.variances[self.real] ** -0.5
        whitening: Array = self.axes * inverse_root[:, None, :]
        return np.where(self.units.constant[:, :, None], 0.0, whitening)

    def separation(self) -> Array:
        """Return the part w of delta along which neither class varies, or zeros.

        It exceeds the noise in the null space of S1 + S2, and w.delta = 2.
        """
        delta = self.units.delta / self.units.scale
        noise = delta.shape[1] * EPS * self.variances[:, -1:]
        deviation = np.sqrt(np.maximum(self.variances, 0) + noise)
        smallest = REAL_PART * np.max(np.abs(delta), axis=1, keepdims=True)
        part = self._part_along_noise(delta)
        part[np.abs(part) <= np.maximum(REAL_SEPARATION * deviation, smallest)] = 0
        square = np.sum(part**2, axis=1, keepdims=True)
        w: Array = (self.axes @ part[:, :, None])[:, :, 0]
        return 2.0 * w / np.where(square > 0, square, 1.0) / self.units.scale

    def dropped(self) -> Array:
        """Return the part of delta along axes that are not real, or zeros.

        It is scaled to a variance of about one, as far as that is known.
        """
        part = self._part_along_noise(self.units.delta / self.units.scale)
        variance = np.maximum(self.variances, 0) + EPS
        size = np.sqrt(np.sum(part**2 * variance, axis=1, keepdims=True))
        w: Array = (self.axes @ part[:, :, None])[:, :, 0]
        return w / np.where(size > 0, size, 1.0) / self.units.scale

    def blurred(self) -> Mask:
        """Return a mask of the pairs whose distance of the means is lost to rounding.

        The squared distance is the sum of ``d_i^2 / v_i`` over the axes, with
        differences d and variances v, each of which rounding may change by EPS.
        """
        part = ((self.units.delta / self.units.scale)[:, None, :] @ self.axes)[:, 0]
        variances = np.maximum(self.variances, EPS)
        distance, change = part**2 / variances, EPS / variances
        blurred: Mask = (distance * change).sum(axis=1) > BLURRED * distance.sum(axis=1)
        return blurred

    def take(self, pairs: Index | Mask) -> PrincipalAxes:
        """Select pairs."""
        units, *arrays = (getattr(self, field.name) for field in fields(self))
        return PrincipalAxes(units.take(pairs), *(array[pairs] for array in arrays))

    def _part_along_noise(self, delta: Array) -> Array:
        """Return coordinates of delta along axes that are not real; zero for others."""
        part = (delta[:, None, :] @ self.axes)[:, 0]
        size = self.units.position / self.units.scale + np.abs(delta)
        rounding = ZERO_SUM * (size[:, None, :] @ np.abs(self.axes))[:, 0]
        part[self.real | (np.abs(part) <= rounding)] = 0.0
        return part


def is_unresolved(covariance: Array) -> bool:
    """Return whether a class has a nonzero variance too small to be resolved."""
    scale = np.sqrt(np.diag(covariance))
    varies = scale > 0
    scaled = (covariance[varies] / scale[varies, None])[:, varies] / scale[varies]
    variances = np.linalg.eigvalsh(scaled)
    unresolved = (variances > 4 * EPS * len(variances)) & (variances < UNRESOLVED)
    return bool(unresolved.any())


def scaled_by(covariances: Array, scale: Array) -> Array:
    """Return S1 and S2 in units of `scale`."""
    inverse = 1 / scale
    scaled: Array = covariances * inverse[:, None, :, None]
    scaled *= inverse[:, None, None, :]
    return scaled
