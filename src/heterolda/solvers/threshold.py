"""The threshold of least error along a given direction, and the error of a rule.

With the means and deviations of the two classes along w, a threshold w0 is measured
from the mean of class 2: t = w0 - w.m2. D is w.(m1 - m2).
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from heterolda.foundations.types import Array


def best_threshold(D: Array, sigma1: Array, sigma2: Array, log_tau: Array) -> Array:
    """Threshold t of least error along w; log_tau is ln(p2 / p1).

    For D > 0 this is (39), rationalised so that it needs no case split:

        t = sigma2^2 (D^2 + 2 sigma1^2 L) / (D sigma2^2 + sigma1 sigma2 root)
        root = sqrt(D^2 + 2 (sigma1^2 - sigma2^2) L),  L = ln(tau sigma1 / sigma2)

    For D <= 0 it is (39) as printed, less mu2. It is NaN where no threshold is
    stationary, so that the error is monotone in t and the likelier class is the best
    answer along w.
    """
    size = np.hypot(sigma1, sigma2)  # w may have any length: work at unit length
    D, s1, s2 = D / size, sigma1 / size, sigma2 / size
    L = log_tau + np.log(sigma1 / sigma2)
    difference = (s1 - s2) * (s1 + s2)
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(D**2 + 2 * difference * L)
        t = np.where(  # (39)
            D > 0,
            s2**2 * (D**2 + 2 * s1**2 * L) / (D * s2**2 + s1 * s2 * root),
            (s1 * s2 * root - D * s2**2) / difference,
        )
        return np.where(np.isfinite(t), t * size, np.nan)


def class_errors(
    t: Array, D: Array, sigma1: Array, sigma2: Array, p1: Array, p2: Array
) -> tuple[Array, Array]:
    """Errors p1 e1 and p2 e2 of a rule in the two classes, (19) and (20).

    They are p1 Phi(z1) and p2 Phi(-z2), z1 = (t - D) / sigma1 and z2 = t / sigma2.
    """
    return p1 * ndtr((t - D) / sigma1), p2 * ndtr(-t / sigma2)


def bayes_error(
    t: Array, D: Array, sigma1: Array, sigma2: Array, p1: Array, p2: Array
) -> Array:
    """Error p_e of a rule, (9)."""
    error1, error2 = class_errors(t, D, sigma1, sigma2, p1, p2)
    return error1 + error2
