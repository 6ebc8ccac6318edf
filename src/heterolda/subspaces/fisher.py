"""Fisher's subspace: the directions in which the means lie furthest apart."""

from __future__ import annotations

import numpy as np

from heterolda.foundations.types import Array
from heterolda.subspaces.classes import WhitenedClasses


def fisher(classes: WhitenedClasses, n_components: int) -> Array:
    r"""Directions of linear discriminant analysis, the best first.

    With the pooled covariance :math:`W` they maximise the variance of the class means,

    .. math::
        \operatorname{tr} (A' W A)^{-1} A' B A, \quad
        B = \sum_k p_k (m_k - m)(m_k - m)', \quad m = \sum_k p_k m_k,

    and are eigenvectors of B in whitened coordinates. No more than K - 1 of them tell
    classes apart.

    References
    ----------
    C. R. Rao (1948), "The utilization of multiple measurements in problems of
    biological classification", Journal of the Royal Statistical Society B 10, 159-203.
    """
    between = (classes.means.T * classes.priors) @ classes.means
    return leading(between, n_components)


def leading(matrix: Array, n: int) -> Array:
    """Eigenvectors of the n largest eigenvalues of a symmetric matrix, as columns."""
    vectors: Array = np.linalg.eigh(matrix)[1]
    return vectors[:, ::-1][:, :n]
