"""Box's M test of equal covariances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from heterolda.foundations.arrays import Array
from heterolda.foundations.rounding import RANK_TOLERANCE


@dataclass(frozen=True)
class BoxTest:
    """Box's M test of equal covariances.

    Attributes
    ----------
    m : float
        The statistic M.
    chi2 : float
        M (1 - C), approximately chi-squared if the covariances are equal and the data
        normal.
    df : int
        Degrees of freedom.
    p_value : float
        Probability of a larger value; NaN if some covariance is singular.

    Examples
    --------
    >>> from heterolda import ClassStatistics, heteroscedasticity_report
    >>> two = ClassStatistics.from_moments([0, 1], [40, 60], [[0], [1]], [[[1]], [[2]]])
    >>> test = heteroscedasticity_report(two).box
    >>> test.df, round(test.p_value, 3)
    (1, 0.022)
    """

    m: float
    chi2: float
    df: int
    p_value: float

    def __str__(self) -> str:
        if np.isnan(self.p_value):
            return "-"
        return "p < 1e-16" if self.p_value < 1e-16 else f"p = {self.p_value:.2g}"


def box_test(covariances: Array, logs: Array, weights: Array, d: int) -> BoxTest:
    """Return Box's M test with the chi-squared approximation (Box 1949)."""
    g = len(covariances)
    df = d * (d + 1) * (g - 1) // 2
    if np.isnan(logs).any():
        return BoxTest(np.nan, np.nan, df, np.nan)
    freedom = weights - 1
    total = freedom.sum()
    pooled = np.tensordot(freedom / total, covariances, axes=1)
    m = total * _log_determinant(pooled) - freedom @ logs
    c = (np.sum(1 / freedom) - 1 / total) * (2 * d * d + 3 * d - 1)
    statistic = m * (1 - c / (6 * (d + 1) * (g - 1)))
    return BoxTest(float(m), float(statistic), df, float(chi2.sf(statistic, df)))


def log_determinants(covariances: Array, weights: Array, d: int) -> Array:
    """Return log determinants; NaN if singular in any units or by the weight."""
    logs = [_log_determinant(cov) for cov in covariances]
    return np.where(weights > d, logs, np.nan)


def _log_determinant(cov: Array) -> float:
    """Return the logarithm of a determinant; NaN if the covariance is singular."""
    scale = np.sqrt(np.diag(cov))
    if np.any(scale == 0):
        return np.nan
    spectrum = np.linalg.eigvalsh(cov / np.outer(scale, scale))
    if spectrum[0] <= RANK_TOLERANCE * spectrum[-1]:
        return np.nan
    return float(np.log(spectrum).sum() + 2 * np.log(scale).sum())
