"""The paper's methods transcribed literally, with an inverse for every trial.

Peers for our solvers, which need no inverse. Each takes a `Pair` and returns the least
Bayes error it finds. `ndtr` is the fast form of the normal distribution function:
the peers are not slower than the text makes them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from scipy.special import ndtr
from sklearn.utils import check_random_state


class Pair:
    """Two classes in the paper's notation."""

    def __init__(self, means, covariances, weights):
        self.m1, self.m2 = means
        self.S1, self.S2 = covariances
        self.n1, self.n2 = weights
        self.p1, self.p2 = np.array(weights) / np.sum(weights)
        self.delta = self.m1 - self.m2

    def projected(self, w):
        """Equation (16)."""
        s1, s2 = np.sqrt(w @ self.S1 @ w), np.sqrt(w @ self.S2 @ w)
        return w @ self.m1, w @ self.m2, s1, s2

    def error(self, w, w0):
        """Equations (9), (17), (18), (19)."""
        mu1, mu2, s1, s2 = self.projected(w)
        return self.p1 * ndtr((w0 - mu1) / s1) + self.p2 * ndtr((mu2 - w0) / s2)


def inverse(matrix):
    """The inverse or, as the paper says for singular matrices, the pseudo-inverse."""
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(matrix)


def algorithm_1(pair: Pair, max_iter: int = 20, tol: float = 1e-6) -> float:
    """Algorithm 1; keeps the best iterate and stops on the gradient (24)."""
    w = inverse(pair.n1 * pair.S1 + pair.n2 * pair.S2) @ pair.delta
    total = pair.S1 + pair.S2
    least = np.inf
    for _ in range(max_iter):
        mu1, mu2, s1, s2 = pair.projected(w)
        inside = (mu1 - mu2) ** 2
        inside += 2 * (s1**2 - s2**2) * np.log(pair.p2 * s1 / (pair.p1 * s2))
        if not inside >= 0:
            break
        w0 = mu2 * s1**2 - mu1 * s2**2 + s1 * s2 * np.sqrt(inside)
        w0 /= s1**2 - s2**2  # (39)
        z1, z2 = (w0 - mu1) / s1, (w0 - mu2) / s2
        least = min(least, pair.error(w, w0))
        density1 = pair.p1 * np.exp(-(z1**2) / 2) / np.sqrt(2 * np.pi)
        density2 = pair.p2 * np.exp(-(z2**2) / 2) / np.sqrt(2 * np.pi)
        gradient = -density1 * (s1 * pair.m1 + z1 * pair.S1 @ w) / s1**2  # (24)
        gradient += density2 * (s2 * pair.m2 + z2 * pair.S2 @ w) / s2**2
        size = np.sqrt(gradient @ inverse(total) @ gradient)
        if size * np.sqrt(w @ total @ w) <= tol:
            break
        w = inverse(z2 / s2 * pair.S2 - z1 / s1 * pair.S1) @ pair.delta  # (31)
    return min(pair.p1, pair.p2) if least == np.inf else least


def c_hld(pair: Pair, step: float = 0.001) -> float:
    """Equations (12) and (13) for s = 0, step, ..., 1."""
    least = np.inf
    for s in np.linspace(0, 1, round(1 / step) + 1):
        w = inverse(s * pair.S1 + (1 - s) * pair.S2) @ pair.delta
        mu1, mu2, s1, s2 = pair.projected(w)
        w0 = s * mu2 * s1**2 + (1 - s) * mu1 * s2**2
        w0 /= s * s1**2 + (1 - s) * s2**2
        least = min(least, pair.error(w, w0))
    return least


def r_hld(pair: Pair, parameters: int, n_trials: int = 1000) -> float:
    """Equation (10), or (11) with weights that sum to one, with our draws."""
    seed = check_random_state(0).randint(2**31 - 1)
    draws = np.random.default_rng(seed).uniform(-1, 2, (parameters, n_trials))
    partners = 1 - draws[0] if parameters == 1 else draws[1]
    least = np.inf
    for s2, s1 in zip(draws[0], partners, strict=True):
        w = inverse(s1 * pair.S1 + s2 * pair.S2) @ pair.delta
        w0 = w @ pair.m1 - s1 * (w @ pair.S1 @ w)
        least = min(least, pair.error(w, w0))
    return least


def fit_pairs(X, y, method: Callable[[Pair], float]) -> np.ndarray:
    """Least errors of all pairs of classes.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    y : ndarray of shape (n,)
        Labels.
    method : callable
        One of the above.

    Returns
    -------
    ndarray of shape (n_pairs,)
        In the order of our `bayes_error_`.
    """
    parts = [X[y == label] for label in np.unique(y)]
    means = [part.mean(axis=0) for part in parts]
    covariances = [np.atleast_2d(np.cov(part, rowvar=False)) for part in parts]
    return np.array(
        [
            method(
                Pair(
                    (means[i], means[j]),
                    (covariances[i], covariances[j]),
                    (len(parts[i]), len(parts[j])),
                )
            )
            for i, j in combinations(range(len(parts)), 2)
        ]
    )
