"""Linear discriminant analysis from class statistics, to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.arrays import Priors, dense
from heterolda.foundations.validation import check_priors
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.wide import in_span

# Directions in which features, in units of their deviations, vary less are left out; it
# is the square of scikit-learn's `tol`.
_LEAST_VARIANCE = 1e-8


class PooledLDA:
    r"""Linear discriminant analysis as in scikit-learn, from class statistics.

    A row goes to the class with the largest
    :math:`x' S^+ m_k - m_k' S^+ m_k / 2 + \ln p_k`, where S is the pooled covariance of
    all classes (divisor n - K).
    """

    def __init__(self, statistics: ClassStatistics, priors: Priors = None) -> None:
        self._classes = statistics.classes
        known, span = in_span(statistics)
        weights, means = known.weights, known.means
        cov = known.scatters.sum(axis=0) / (weights.sum() - len(weights))
        scale = np.sqrt(np.diag(cov)) if span is None else np.ones(len(cov))
        scale[scale == 0] = 1.0
        variances, axes = np.linalg.eigh(cov / np.outer(scale, scale))
        used = variances > _LEAST_VARIANCE * variances[-1]
        whiten = axes[:, used] / np.sqrt(variances[used]) / scale[:, None]
        centre = np.average(means, axis=0, weights=weights)
        centres = (means - centre) @ whiten
        self._normals = whiten @ centres.T
        self._centre = np.average(statistics.means, axis=0, weights=weights)
        if span is not None:
            self._normals = span.basis @ self._normals
        offsets = -0.5 * np.einsum("kj,kj->k", centres, centres)
        self._offsets = offsets + np.log(
            check_priors(priors, statistics.classes, weights)
        )

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels of rows, which may be sparse."""
        scores = (dense(X) - self._centre) @ self._normals + self._offsets
        labels: NDArray[Any] = self._classes[scores.argmax(axis=1)]
        return labels
