"""Covariances of classes without one row of one of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from heterolda.foundations.rounding import EPS
from heterolda.foundations.types import Array, Index, Mask
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.covariances import blend, pooled_freedom, two_amounts
from heterolda.statistics.shrinkage import class_covariances, shares_of_pooled

# What is left of a variance is rounding error below this share.
VANISHED = 64 * EPS


@dataclass(frozen=True)
class Covariances:
    """Covariances of classes and how they came about.

    Attributes
    ----------
    statistics : ClassStatistics
        Weights, means and scatters with all rows.
    shrinkage : float, two of them, str or None
        The parameter.
    borrowed : ndarray of shape (n_classes,)
        The share of the pooled covariance in that of each class.
    matrices : ndarray of shape (n_classes, d, d)
        The covariances with all rows.
    """

    statistics: ClassStatistics
    shrinkage: Any
    borrowed: Array
    matrices: Array

    @classmethod
    def of(
        cls, statistics: ClassStatistics, shrinkage: Any, chosen: Any
    ) -> Covariances:
        """By the parameter of a discriminant, or as "cv" has chosen."""
        borrowed = shares_of_pooled(statistics, shrinkage, chosen)
        matrices = class_covariances(statistics, shrinkage, chosen)
        return cls(statistics, shrinkage, borrowed, matrices)

    def without(self, k: int, others: Index, z: Array, left: Array) -> Array:
        """Those of class k without a row and of another class, (n, 2, d, d).

        The rows have the deviations z from the mean of class k; the weights `left` of
        them are left out. What the class borrowed counts for as many rows as before. If
        it only begins to borrow, that is the pooled covariance with all rows.
        """
        total = self.statistics.weights[k]
        taken = (left * total / (total - left))[:, None, None]
        taken = taken * (z[:, :, None] * z[:, None, :])
        if self.mixed:
            return self._mixtures(k, taken, left)
        freedom, own = total - 1, 1 - self.borrowed[k]
        cov = _cleaned(self.matrices[k] - own / freedom * taken, self.matrices[k])
        with np.errstate(divide="ignore"):
            cov *= (freedom / (freedom - own * left))[:, None, None]
        begun = self.shares_without(k, left)[:, k, None, None]
        if own == 1 and begun.any():
            scatters, weights = self.statistics.scatters, self.statistics.weights
            pooled = scatters.sum(axis=0) / pooled_freedom(weights)
            cov = np.where(begun < 1, cov, 0.0)
            cov += begun * (pooled - cov)
        return np.stack([cov, self.matrices[others]], axis=1)

    def _mixtures(self, k: int, taken: Array, left: Array) -> Array:
        """Both covariances, class k first, if `taken` is taken from its scatter."""
        weights, shares = self._weights_without(k, left), self.shares_without(k, left)
        scatters = np.repeat(self.statistics.scatters[None], len(taken), axis=0)
        scatters[:, k] = _cleaned(scatters[:, k] - taken, self.statistics.scatters[k])
        both = [
            blend(*moments, self.to_diagonal)
            for moments in zip(scatters, weights, shares, strict=True)
        ]
        return np.array(both)[:, [k, 1 - k]]

    @property
    def to_diagonal(self) -> float:
        """Share of its diagonal in the pooled covariance, as far as it was given."""
        return two_amounts(self.shrinkage)[1] or 0.0

    @cached_property
    def mixed(self) -> bool:
        """Whether these are mixtures of two scatters, or become so without a row.

        Then the pooled covariance changes with the row, too.
        """
        weights = self.statistics.weights
        if len(weights) != 2 or not self._shares(weights[None] - 1).any():
            return False
        shares = self._shares(weights[None])[0]
        same = self.statistics.mixed(shares, self.to_diagonal)
        return bool(np.allclose(same, self.matrices, rtol=1e-12, atol=0))

    def begins_to_borrow(self, k: int) -> bool:
        """Whether class k borrows without a row, but not with all."""
        share = self.shares_without(k, np.ones(1))[0, k]
        return bool(self.borrowed[k] == 0 and share > 0)

    def is_gone(self, k: int, left: Array) -> Mask:
        """Whether class k has no covariance without some rows."""
        rest = self.statistics.weights[k] - left
        gone: Mask = rest <= 1
        if gone.any():  # what borrows all needs one row for its mean
            gone &= (self.shares_without(k, left)[:, k] < 1) | (rest <= 0)
        return gone

    def shares_without(self, k: int, left: Array) -> Array:
        """What classes borrow without some rows of class k, (n, n_classes)."""
        return self._shares(self._weights_without(k, left))

    def _weights_without(self, k: int, left: Array) -> Array:
        """Weights of the classes without some rows of class k, (n, n_classes)."""
        weights = np.repeat(self.statistics.weights[None], len(left), axis=0)
        weights[:, k] -= left
        return weights

    def _shares(self, weights: Array) -> Array:
        """Shares of the pooled covariance for weights of the classes.

        An amount that was chosen counts for as many rows as before.
        """
        if self.shrinkage == "cv" and self.borrowed.any():
            with np.errstate(divide="ignore"):
                freedom = self.statistics.weights - 1
                rows = self.borrowed * freedom / (1 - self.borrowed)
                share: Array = 1 / (1 + np.maximum(weights - 1, 0.0) / rows)
            return share
        share = np.broadcast_to(self.borrowed, weights.shape)
        if self.shrinkage in (None, "auto", "cv") and not self.statistics.given:
            share = self.rank / (weights + self.rank)
            if self.shrinkage != "auto":
                share = np.where(weights <= self.rank + 1, share, 0.0)
        return np.where((weights <= 1) & (share > 0), 1.0, share)

    @cached_property
    def rank(self) -> int:
        """The number of features, less those that depend on others."""
        return self.statistics.rank


def _cleaned(matrices: Array, before: Array) -> Array:
    """Matrices less a row: a feature of which rounding errors are left is constant."""
    vanished = np.einsum("mii->mi", matrices) <= VANISHED * np.diag(before)
    matrices[vanished] = 0.0
    matrices.mT[vanished] = 0.0
    return matrices
