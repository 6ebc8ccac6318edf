"""The least error of a linear rule by brute force, independent of the library.

Directions and thresholds are scanned, and the best are polished by a simplex search.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr

_DIRECTIONS, _THRESHOLDS = 2000, 200


def moments(X: Any, y: Any) -> tuple[Any, Any, Any]:
    """Means, covariances and relative frequencies of the classes."""
    X = np.asarray(X, dtype=float)
    groups = [X[np.asarray(y) == label] for label in np.unique(y)]
    d = X.shape[1]
    return (
        np.array([g.mean(axis=0) for g in groups]),
        np.array([np.cov(g.T, ddof=1).reshape(d, d) for g in groups]),
        np.array([len(g) / len(X) for g in groups]),
    )


def error_of(coef: Any, intercept: Any, means: Any, cov: Any, priors: Any) -> Any:
    """Error of rules that decide for the second class where the score is positive.

    Parameters
    ----------
    coef : ndarray of shape (..., n_features)
        Normals.
    intercept : ndarray of shape (...)
        Offsets.
    means, cov, priors : ndarray
        Moments of two classes. A class without variance along the normal is a point.

    Returns
    -------
    ndarray of shape (...)
        Errors.
    """
    total = 0.0
    for sign, mean, matrix, prior in zip((1, -1), means, cov, priors, strict=True):
        score = sign * (coef @ mean + intercept)
        variance = np.einsum("...i,ij,...j->...", coef, matrix, coef)
        sd = np.sqrt(np.maximum(variance, 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(sd > 0, score / sd, np.where(score > 0, np.inf, -np.inf))
        total = total + prior * ndtr(z)
    return total


def least_error(means: Any, cov: Any, priors: Any) -> float:
    """Least error of any linear rule for two Gaussian classes of up to 3 features."""
    priors = np.asarray(priors) / np.sum(priors)
    w = _directions(len(means[0]))
    centre, spread = w @ means.T, np.sqrt(np.einsum("ni,kij,nj->nk", w, cov, w))
    low, high = (centre - 6 * spread).min(axis=1), (centre + 6 * spread).max(axis=1)
    place = np.linspace(0, 1, _THRESHOLDS)[:, None]
    t = low + place * (high - low)
    # The opposite of a rule is wrong wherever the rule is right.
    errors = error_of(w, -t, means, cov, priors)
    errors = np.minimum(errors, 1 - errors)
    best = min(float(errors.min()), *priors)
    for flat in np.argsort(errors, axis=None)[:2]:
        i, j = np.unravel_index(flat, errors.shape)

        def error(v: Any) -> float:
            value = float(error_of(v[1:], v[0], means, cov, priors))
            return min(value, 1 - value)

        start = np.append(-t[i, j], w[j])
        options = {"xatol": 1e-8, "fatol": 1e-9, "maxiter": 800}
        end = minimize(error, start, method="Nelder-Mead", options=options)
        best = min(best, end.fun)
    return best


def _directions(d: int) -> Any:
    """Unit vectors all over the half sphere, the axes among them."""
    if d == 1:
        return np.ones((1, 1))
    if d == 2:
        angle = np.linspace(0, np.pi, _DIRECTIONS, endpoint=False)
        some = np.column_stack([np.cos(angle), np.sin(angle)])
    else:
        z = np.linspace(0, 1, _DIRECTIONS)  # Fibonacci's spiral
        angle = np.pi * (3 - np.sqrt(5)) * np.arange(_DIRECTIONS)
        r = np.sqrt(1 - z * z)
        some = np.column_stack([r * np.cos(angle), r * np.sin(angle), z])
    return np.vstack([np.eye(d), some])


def least_errors(X: Any, y: Any) -> int:
    """Fewest errors of any line on rows in the plane, of which few are distinct."""
    points, place = np.unique(X, axis=0, return_inverse=True)
    excess = np.bincount(place, np.where(y == 1, 1, -1))
    fewest = min(np.count_nonzero(y == 1), np.count_nonzero(y == 0))
    for w in _directions(2):
        score = points @ w
        _, level = np.unique(score.round(9), return_inverse=True)
        # Errors of the rule that names class 1 above each level; and of its opposite.
        above = np.cumsum(np.bincount(level, excess)) + np.count_nonzero(y == 0)
        fewest = min(fewest, above.min(), len(y) - above.max())
    return int(fewest)
