"""Random problems and an independent evaluation of rules, for several test files."""

import mpmath as mp
import numpy as np
from scipy.special import ndtr


def random_covariance(rng, d, condition=100.0):
    """A rotated covariance with eigenvalues between 1 / condition and 1."""
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    cov = (rotation * condition ** -rng.uniform(0, 1, d)) @ rotation.T
    return 0.5 * (cov + cov.T)


def random_pairs(rng, n, d, condition=100.0):
    """Means, covariances, priors and weights of n pairs of classes."""
    means = rng.normal(size=(n, 2, d))
    cov = np.array(
        [[random_covariance(rng, d, condition) for _ in range(2)] for _ in range(n)]
    )
    p1 = rng.uniform(0.05, 0.95, n)
    weights = rng.integers(10, 1000, (n, 2)).astype(float)
    return means, cov, np.column_stack([p1, 1 - p1]), weights


def error_of_rule(coef, intercept, means, cov, priors):
    """Equation (9) for a stored rule; coef = 0 is a constant answer."""
    if not np.any(coef):
        return priors[0] if intercept > 0 else priors[1]
    mean = means @ coef + intercept
    deviation = np.sqrt([coef @ cov[0] @ coef, coef @ cov[1] @ coef])
    e1, e2 = ndtr(mean[0] / deviation[0]), ndtr(-mean[1] / deviation[1])
    return priors[0] * e1 + priors[1] * e2


def exact_error_of_rule(coef, intercept, means, cov, priors):
    """`error_of_rule` with 60 digits, for ill-conditioned covariances."""
    if not np.any(coef):
        return priors[0] if intercept > 0 else priors[1]
    with mp.workdps(60):
        w = [mp.mpf(x) for x in coef.tolist()]
        errors = []
        for mean, matrix, sign in zip(means, cov, (1, -1), strict=True):
            shift = mp.fdot(w, mean.tolist()) + mp.mpf(float(intercept))
            rows = [mp.fdot(row, w) for row in matrix.tolist()]
            errors.append(mp.ncdf(sign * shift / mp.sqrt(mp.fdot(rows, w))))
        return float(priors[0] * errors[0] + priors[1] * errors[1])
