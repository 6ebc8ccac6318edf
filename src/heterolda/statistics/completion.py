r"""Incomplete rows, completed by their expectations given the observed values.

With the probability of each class given the observed values,

.. math::
    \operatorname{E}[x_m \mid x_o] = \sum_k P(k \mid x_o)
        \operatorname{E}_k[x_m \mid x_o],

without the label, so that rows of a fit and new ones are completed alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.arrays import Array
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.incomplete_rows import IncompleteRows, group_by_pattern
from heterolda.statistics.missing import completed

# Share of the variances that is added to them.
_MIN_VARIANCE = 1e-9


@dataclass(frozen=True)
class Completion:
    """Moments of the classes, in units of their features."""

    log_priors: Array
    means: Array
    precisions: Array
    log_dets: Array  # of the precisions
    origin: Array
    scale: Array

    @classmethod
    def of(cls, stats: ClassStatistics) -> Completion:
        """Prepare the moments of classes; those of few rows borrow from the others."""
        share, covariances = stats.weights / stats.weights.sum(), stats.covariances()
        origin = share @ stats.means
        variances = share @ (
            np.einsum("kii->ki", covariances) + (stats.means - origin) ** 2
        )
        scale = np.sqrt(np.where(variances > 0, variances, 1.0))
        ridge = _MIN_VARIANCE * np.eye(len(scale))
        precisions = np.linalg.inv(covariances / np.outer(scale, scale) + ridge)
        log_dets = np.linalg.slogdet(precisions)[1]
        means = (stats.means - origin) / scale
        return cls(np.log(share), means, precisions, log_dets, origin, scale)

    def fill(self, X: NDArray[np.floating]) -> Array:
        """Return rows with expectations in place of missing values."""
        result = X.astype(np.float64)
        incomplete = np.flatnonzero(np.isnan(X).any(axis=1))
        codes = np.zeros(len(incomplete), np.intp)
        order = incomplete[group_by_pattern(~np.isnan(X[incomplete]), codes)[0]]
        rows = IncompleteRows.from_arrays(X[order], codes, None, 1)
        has_values = rows.observed.any(axis=1)
        top, total = np.full(len(order), -np.inf), np.zeros(len(order))
        sums = np.zeros((len(order), X.shape[1]))
        classes = zip(
            self.log_priors, self.means, self.precisions, self.log_dets, strict=True
        )
        for log_prior, mean, precision, log_det in classes:
            moments = mean[None], precision[None], self.origin, self.scale
            deviation, _, log_likelihood = completed(rows, *moments)
            logs = log_prior + np.where(has_values, log_likelihood + log_det / 2, 0.0)
            new = np.maximum(top, logs)
            old, share = np.exp(top - new), np.exp(logs - new)
            sums = old[:, None] * sums + share[:, None] * (deviation + mean)
            top, total = new, old * total + share
        expected = self.origin + self.scale * sums / total[:, None]
        result[order] = np.where(rows.observed, X[order], expected)
        return result


def filled_rows(X: NDArray[np.floating], stats: ClassStatistics) -> Array:
    """Complete rows by the moments of the classes."""
    return Completion.of(stats).fill(X)
