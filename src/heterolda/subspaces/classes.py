"""Gaussian classes in coordinates with the identity as pooled covariance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.rounding import NO_VARIATION, SINGULAR, VARIANCE_FLOOR
from heterolda.solvers import all_pairs


@dataclass(frozen=True, eq=False)
class WhitenedClasses:
    """Classes whose pooled covariance is the identity."""

    basis: Array  # coordinates are (features - mean) @ basis, (n_features, rank)
    priors: Array
    weights: Array
    means: Array  # with an average, by the priors, of zero, (n_classes, rank)
    covariances: Array  # with vanishing variances raised to `VARIANCE_FLOOR`

    @classmethod
    def from_moments(
        cls, means: Array, covariances: Array, priors: Array, weights: Array
    ) -> Self:
        """Whiten classes, and leave out directions without variation."""
        shifts = means - priors @ means
        freedom = np.maximum(weights - 1, 0.0)
        pooled = np.tensordot(freedom / freedom.sum(), covariances, axes=1)
        deviations = np.sqrt(np.diag(pooled) + priors @ shifts**2)
        rounding = NO_VARIATION * np.abs(means).max(axis=0)
        scale = np.where(deviations > rounding, deviations, np.inf)
        shifts = shifts / scale
        within = pooled / scale / scale[:, None]
        # First find all variation, within or between classes: a feature may be constant
        # in each class.
        spread, axes = np.linalg.eigh(within + (shifts.T * priors) @ shifts)
        varies = spread > SINGULAR * max(spread[-1], SINGULAR)
        axes = axes[:, varies] / np.sqrt(spread[varies])
        spread, rotation = np.linalg.eigh(axes.T @ within @ axes)
        lifted = np.maximum(spread, VARIANCE_FLOOR)
        axes = axes @ (rotation / np.sqrt(lifted))
        basis = axes / scale[:, None]
        whitened = basis.T @ covariances @ basis + np.diag(1 - spread / lifted)
        return cls(basis, priors, weights, shifts @ axes, raised(whitened))

    def shrunk(self, to_pooled: float) -> WhitenedClasses:
        """Return classes with covariances shrunk toward the pooled one."""
        pooled = to_pooled * np.eye(self.rank)
        return replace(self, covariances=(1 - to_pooled) * self.covariances + pooled)

    def within(self, A: Array) -> WhitenedClasses:
        """Return the classes in coordinates along the columns of A."""
        moments = self.means @ A, A.T @ self.covariances @ A
        return WhitenedClasses(self.basis @ A, self.priors, self.weights, *moments)

    @property
    def rank(self) -> int:
        """Return the number of coordinates: directions in which rows vary."""
        return int(self.means.shape[1])

    @cached_property
    def pairs(self) -> Index:
        """Return the indices (i, j), i < j, of the classes of each pair."""
        return all_pairs(len(self.priors))

    @cached_property
    def logarithms(self) -> Array:
        """Return the matrix logarithms of the covariances."""
        values, vectors = np.linalg.eigh(self.covariances)
        logs: Array = (vectors * np.log(values)[:, None, :]) @ vectors.mT
        return logs


def raised(covariances: Array) -> Array:
    """Raise eigenvalues of covariances to `VARIANCE_FLOOR`."""
    covariances = 0.5 * (covariances + covariances.mT)
    values, vectors = np.linalg.eigh(covariances)
    low = values.min(axis=1, initial=1.0) < VARIANCE_FLOOR
    if low.any():
        lifted = np.maximum(values[low], VARIANCE_FLOOR)
        covariances[low] = (vectors[low] * lifted[:, None, :]) @ vectors[low].mT
    return covariances


class QuadraticRule:
    """Rule that chooses the most probable of Gaussian classes, given components."""

    def __init__(self, means: Array, covariances: Array, priors: Array):
        roots = np.linalg.cholesky(raised(covariances))
        self._means = means
        self._whiten = np.linalg.inv(roots).mT
        log_det = np.log(np.einsum("kcc->kc", roots)).sum(axis=1)
        self._constants = np.log(priors) - log_det

    def log_densities(self, X: Array) -> Array:
        """Return log priors plus log densities of rows by class, up to a constant."""
        logs = np.empty((len(X), len(self._means)))
        for k, (mean, whiten) in enumerate(zip(self._means, self._whiten, strict=True)):
            squares = ((X - mean) @ whiten) ** 2
            logs[:, k] = self._constants[k] - 0.5 * squares.sum(axis=1)
        return logs

    def winners(self, X: Array) -> Index:
        """Return the index of the most probable class of each row."""
        best: Index = self.log_densities(X).argmax(axis=1)
        return best
