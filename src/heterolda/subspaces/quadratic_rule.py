"""The quadratic rule of Gaussian classes in a few components."""

from __future__ import annotations

import numpy as np

from heterolda.foundations.types import Array, Index
from heterolda.subspaces.classes import raised


class QuadraticRule:
    r"""The likeliest of Gaussian classes.

    It has the largest

    .. math:: \ln p_k - \tfrac12 \ln |S_k| - \tfrac12 (x - m_k)' S_k^{-1} (x - m_k).

    Coordinates are components, in which the pooled covariance is the identity;
    vanishing variances are raised.
    """

    def __init__(self, means: Array, covariances: Array, priors: Array):
        roots = np.linalg.cholesky(raised(covariances))
        self._means = means
        self._whiten = np.linalg.inv(roots).mT
        log_det = np.log(np.einsum("kcc->kc", roots)).sum(axis=1)
        self._constants = np.log(priors) - log_det

    def log_densities(self, X: Array) -> Array:
        """Logarithms of priors times densities, up to a constant, by row and class."""
        logs = np.empty((len(X), len(self._means)))
        for k, (mean, whiten) in enumerate(zip(self._means, self._whiten, strict=True)):
            squares = ((X - mean) @ whiten) ** 2
            logs[:, k] = self._constants[k] - 0.5 * squares.sum(axis=1)
        return logs

    def winners(self, X: Array) -> Index:
        """Index of the likeliest class of each row."""
        best: Index = self.log_densities(X).argmax(axis=1)
        return best
