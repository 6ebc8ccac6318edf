"""Box's M test of equal covariances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from heterolda.foundations.arrays import Array, Mask
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


def box_test(covariances: Array, weights: Array, d: int) -> BoxTest:
    r"""Return Box's M test with the chi-squared approximation.

    .. math::
        M = (N - g) \ln |S| - \sum_k (n_k - 1) \ln |S_k|, \quad
        C = \frac{2 d^2 + 3 d - 1}{6 (d + 1) (g - 1)}
            \Bigl(\sum_k \frac1{n_k - 1} - \frac1{N - g}\Bigr)

    for g covariances S_k of d features, S being the pooled one; M (1 - C) has about a
    chi-squared distribution with d (d + 1) (g - 1) / 2 degrees of freedom.

    References
    ----------
    G. E. P. Box (1949), "A general distribution theory for a class of likelihood
    criteria", Biometrika 36, 317-346.
    """
    g = len(covariances)
    df = d * (d + 1) * (g - 1) // 2
    if is_singular(covariances, weights, d).any():
        return BoxTest(np.nan, np.nan, df, np.nan)
    freedom = weights - 1
    total = freedom.sum()
    pooled = np.tensordot(freedom / total, covariances, axes=1)
    logs = np.array([_log_determinant(cov) for cov in covariances])
    m = total * _log_determinant(pooled) - freedom @ logs
    c = (np.sum(1 / freedom) - 1 / total) * (2 * d * d + 3 * d - 1)
    statistic = m * (1 - c / (6 * (d + 1) * (g - 1)))
    return BoxTest(float(m), float(statistic), df, float(chi2.sf(statistic, df)))


def is_singular(covariances: Array, weights: Array, d: int) -> Mask:
    """Return a mask of the classes with singular covariances, in any units.

    Covariances may be in fewer than d coordinates if no class has more than d rows.
    """
    singular = [np.isnan(_log_determinant(cov)) for cov in covariances]
    return np.asarray((weights <= d) | singular)


def _log_determinant(cov: Array) -> float:
    """Return the logarithm of a determinant; NaN if the covariance is singular."""
    scale = np.sqrt(np.diag(cov))
    if np.any(scale == 0):
        return np.nan
    spectrum = np.linalg.eigvalsh(cov / np.outer(scale, scale))
    if spectrum[0] <= RANK_TOLERANCE * spectrum[-1]:
        return np.nan
    return float(np.log(spectrum).sum() + 2 * np.log(scale).sum())
