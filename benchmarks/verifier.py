"""A check of lower bounds that shares no code with the solvers.

Every admissible linear rule of two Gaussians lies on an arc theta_lo < theta < theta_hi
(Anderson and Bahadur 1962), on which the error rate e1 of the first class only grows
and e2 only falls. So on a piece from theta_a to theta_b no rule has an error below

    p1 e1(theta_a) + p2 e2(theta_b)

`verify` cuts the whole arc into pieces until each of them proves a claimed bound, or
some point of the arc refutes it. It evaluates this bound and nothing else: no slopes,
no search, no starting points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import log_ndtr, ndtr

Array = NDArray[np.float64]

ROUNDING = 1e-10  # share of an error that is left to rounding


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claimed bound, undecided if neither proven nor refuted."""

    proven: bool  # by all pieces
    refuted: bool  # by a rule with less error
    n_points: int  # of the arc that were evaluated


def error_of_rule(
    coef: Array, intercept: float, means: Array, covariances: Array, priors: Array
) -> float:
    """Return the error of "second class if coef.x + intercept > 0" by definition."""
    if not np.any(coef):
        return float(priors[0] if intercept > 0 else priors[1])
    deviations = np.sqrt(np.einsum("i,kij,j->k", coef, covariances, coef))
    z = (means @ coef + intercept) / deviations
    return float(priors[0] * ndtr(z[0]) + priors[1] * ndtr(-z[1]))


def verify(
    means: Array,
    covariances: Array,
    priors: Array,
    bound: float,
    *,
    most: int = 10_000_000,
) -> Verdict:
    """Prove that no linear rule has an error below a bound, or refute it.

    The classes have different means, regular covariances, and priors that sum to one.
    At most `most` points are evaluated; claims are taken up to a share of 1e-10.
    """
    claim = np.log(bound) + np.log1p(-ROUNDING) if bound > 0 else -np.inf
    if np.log(priors.min()) < claim:  # the rule that always gives the same answer
        return Verdict(False, True, 0)
    n_points = 0
    for half in _halves(means, covariances, priors):
        a, b = np.zeros(1), np.array([0.5 * half.length])
        at_a, at_b = half.end(), half.errors(b)
        while len(a):
            n_points += len(a)
            if (np.logaddexp(*at_b) < claim).any():
                return Verdict(False, True, n_points)
            # From the end inwards: the rate that grows is least at a.
            still = np.logaddexp(at_a[half.grows], at_b[1 - half.grows]) < claim
            a, b, at_a, at_b = a[still], b[still], at_a[:, still], at_b[:, still]
            # Toward the end of the arc, where a is zero, steps are geometric.
            middle = np.sqrt(np.maximum(a, b / 256) * b)
            middle = np.where(b > 4 * a, middle, 0.5 * (a + b))
            if not ((a < middle) & (middle < b)).all() or n_points > most:
                return Verdict(False, False, n_points)
            at_middle = half.errors(middle)
            a, b = np.append(a, middle), np.append(middle, b)
            at_a, at_b = np.hstack([at_a, at_middle]), np.hstack([at_middle, at_b])
    return Verdict(True, False, n_points)


@dataclass(frozen=True)
class _Half:
    """One half of the arc, as a function of the distance s from its end.

    There g_i = r_i sin(s + beyond_i), without the cancellation of
    alpha_i cos(theta) + beta_i sin(theta) next to an end, and
    theta = end_at + sign s.
    """

    end_at: float
    sign: float
    grows: int  # class whose error rate grows from the end inwards
    length: float
    beyond: Array
    alpha: Array
    beta: Array
    c: Array
    log_priors: Array

    def errors(self, s: Array) -> Array:
        """ln(p1 e1) and ln(p2 e2) at distances s."""
        radius = np.hypot(self.alpha, self.beta)
        square = (self.c / (radius * np.sin(s[:, None] + self.beyond))) ** 2
        theta = self.end_at + self.sign * s
        y1 = np.sqrt(square @ self.alpha) * np.cos(theta)
        y2 = np.sqrt(square @ self.beta) * np.sin(theta)
        return self.log_priors[:, None] + log_ndtr(-np.array([y1, y2]))

    def end(self) -> Array:
        """The limit at the end: one error rate is zero, the other one."""
        log_errors = self.log_priors[:, None].copy()
        log_errors[self.grows] = -np.inf
        return log_errors


def _halves(means: Array, covariances: Array, priors: Array) -> list[_Half]:
    """The arc from both ends."""
    _, V = eigh(covariances[0], covariances.sum(axis=0))
    alpha, beta = np.einsum("ij,kil,lj->kj", V, covariances, V)
    c = V.T @ (means[0] - means[1])
    phi = np.arctan2(beta, alpha)
    low, high = phi.max() - 0.5 * np.pi, phi.min() + 0.5 * np.pi
    common = {"length": high - low, "alpha": alpha, "beta": beta, "c": c}
    common["log_priors"] = np.log(priors)
    return [
        _Half(low, 1.0, 0, beyond=phi.max() - phi, **common),
        _Half(high, -1.0, 1, beyond=phi - phi.min(), **common),
    ]
