"""Methods of the paper: Algorithm 1, C-HLD and R-HLD.

Algorithm 1 is a fixed-point iteration. C-HLD and R-HLD choose the best of many trial
rules (a S2 + b S1)^-1 delta.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from numpy.random import Generator

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, blocks
from heterolda.foundations.rounding import RANK_TOLERANCE
from heterolda.foundations.validation import check_number
from heterolda.solvers.pencil import Pencil
from heterolda.solvers.rules import Rules, Status, bayes_error, best_threshold

_BATCH_SIZE = 1 << 17  # number of values in the trials compared at a time


@dataclass(frozen=True)
class FixedPoint:
    r"""Algorithm 1: fixed-point iteration on the optimality condition (31).

    Starting from Fisher's w, each step takes the best threshold (39) and then

    .. math::
        w \leftarrow \Bigl(\frac{z_2}{\sigma_2} S_2 - \frac{z_1}{\sigma_1} S_1
        \Bigr)^{-1} (m_1 - m_2).

    This is a scalar iteration on the ratio of the two weights. It finds a local optimum
    and converges only where the map is a contraction; `Global` has no such limits. It
    stops when (39) has no real root; a pair for which it has none from the start gets
    the trivial rule.

    Parameters
    ----------
    max_iter : int, default=20
        Maximum number of steps (the paper's fourth stopping criterion).
    tol : float or None, default=1e-6
        Third criterion: norm of the gradient of the error with respect to w, times
        the norm of w, both measured by S1 + S2, so that units do not matter. If None,
        take all `max_iter` steps.
    keep : {"best", "last"}, default="best"
        Whether to return the iterate with the smallest error or the last one.

    Examples
    --------
    >>> from heterolda import GaussianLinearDiscriminant
    >>> from heterolda.solvers import FixedPoint
    >>> GaussianLinearDiscriminant(solver=FixedPoint(max_iter=50, keep="last"))
    GaussianLinearDiscriminant(solver=FixedPoint(max_iter=50, ...keep='last'))
    """

    max_iter: int = 20
    tol: float | None = 1e-6
    keep: Literal["best", "last"] = "best"

    moore_penrose = True
    draws = False

    def __post_init__(self) -> None:
        check_number("max_iter", self.max_iter, 1, 10**9, integer=True)
        if self.tol is not None:
            check_number("tol", self.tol, 0, 1e9)
        if self.keep not in ("best", "last"):
            raise ParameterError("keep", f"must be 'best' or 'last', got {self.keep!r}")

    def solve(self, pencil: Pencil, rng: Generator) -> Rules:
        """Return rules for a batch of pairs; `rng` is not used."""
        p1, p2 = pencil.priors.T
        n = len(p1)
        u = pencil.fisher_coordinates
        result = u.copy()
        threshold = np.full(n, np.nan)
        result_error = np.full(n, np.inf)
        status = np.full(n, Status.MAX_ITER, np.intp)
        n_iter = np.zeros(n, np.intp)
        active = np.any(u != 0, axis=1)
        tol = -1.0 if self.tol is None else self.tol
        for _ in range(self.max_iter):
            if not active.any():
                break
            n_iter += active
            with np.errstate(all="ignore"):  # overflow is detected as not finite
                D, sigma1, sigma2 = pencil.project(u)
                t = best_threshold(D, sigma1, sigma2, pencil.log_tau)
                z1, z2 = (t - D) / sigma1, t / sigma2
                error = bayes_error(t, D, sigma1, sigma2, p1, p2)
                # Equation (31). By (29) the gradient (24) is density times
                # (z2/sigma2 S2 - z1/sigma1 S1) w - delta, that is g u - c.
                g = (z2 / sigma2)[:, None] * pencil.beta0
                g -= (z1 / sigma1)[:, None] * pencil.alpha0
                density = p1 / sigma1 * np.exp(-0.5 * z1**2) / np.sqrt(2 * np.pi)
                gradient = density * np.linalg.norm(g * u - pencil.c, axis=1)
                gradient *= np.linalg.norm(u, axis=1)
                next_u = pencil.c / g
            has_root = np.isfinite(error)
            better = active & has_root
            if self.keep == "best":
                better &= error < result_error
            result[better], threshold[better] = u[better], t[better]
            result_error[better] = error[better]
            converged = has_root & (gradient <= tol)
            failed = ~has_root | ~np.isfinite(next_u).all(axis=1)
            status[active & failed] = Status.NO_ROOT
            status[active & converged] = Status.CONVERGED
            active &= ~(converged | failed)
            u = next_u
        return Rules.from_coordinates(
            pencil, result, threshold, result_error, status=status, n_iter=n_iter
        )


@dataclass(frozen=True)
class Grid:
    r"""C-HLD of Peterson and Mattson, and Fukunaga.

    The best of

    .. math::
        w = (s S_1 + (1 - s) S_2)^{-1} (m_1 - m_2), \quad
        w_0 = \frac{s \mu_2 \sigma_1^2 + (1 - s) \mu_1 \sigma_2^2}
                   {s \sigma_1^2 + (1 - s) \sigma_2^2}

    for :math:`s = 0, \Delta s, 2 \Delta s, \dots, 1`: equations (12) and (13).

    Parameters
    ----------
    step : float, default=0.001
        :math:`\Delta s`, rounded so that a whole number of steps leads from 0 to 1.

    Examples
    --------
    >>> from heterolda import GaussianLinearDiscriminant
    >>> from heterolda.solvers import Grid
    >>> GaussianLinearDiscriminant(solver=Grid(step=0.01))
    GaussianLinearDiscriminant(solver=Grid(step=0.01))
    """

    step: float = 0.001

    moore_penrose = True
    draws = False

    def __post_init__(self) -> None:
        check_number("step", self.step, 1e-6, 1)

    def solve(self, pencil: Pencil, rng: Generator) -> Rules:
        """Return rules for a batch of pairs; `rng` is not used."""
        s = np.linspace(0.0, 1.0, round(1 / self.step) + 1)
        # At s = 0 and s = 1 a single covariance is inverted. If it is singular, the
        # pencil has no finite answer, and its pseudo-inverse is used.
        ends = [
            _pseudo_inverse(pencil, 1, pencil.beta0),
            _pseudo_inverse(pencil, 0, pencil.alpha0),
        ]
        s = np.concatenate([[0.0, 1.0], s[1:-1]])
        return _best_trial(pencil, a=1 - s, b=s, ends=ends)


def _pseudo_inverse(pencil: Pencil, k: int, diagonal: Array) -> Array:
    """Return coordinates of pinv(S_k) delta, given the diagonal form of S_k."""
    singular = np.any(diagonal == 0, axis=1)
    u = pencil.c / np.where(diagonal == 0, 1.0, diagonal)
    if singular.any():
        cov = pencil.covariances[singular]
        delta = pencil.means[singular, 0] - pencil.means[singular, 1]
        # If the scales of classes differ by 1e200 or so, this overflows and cannot win.
        with np.errstate(over="ignore", invalid="ignore"):
            w = (
                np.linalg.pinv(cov[:, k], rcond=RANK_TOLERANCE, hermitian=True)
                @ delta[:, :, None]
            )
            u[singular] = (pencil.basis[singular].mT @ cov.sum(axis=1) @ w)[:, :, 0]
    return u


@dataclass(frozen=True)
class RandomSearch:
    r"""R-HLD-1 of Anderson and Bahadur and R-HLD-2 of Marks and Dunn.

    The best of many

    .. math::
        w = (s_2 S_2 + s_1 S_1)^{-1} (m_1 - m_2), \quad w_0 = \mu_1 - s_1 \sigma_1^2

    with random weights: :math:`s_2 = s, s_1 = 1 - s` in R-HLD-1, equation (11), and
    independent :math:`s_1, s_2` in R-HLD-2, equation (10). The paper does not state
    the range; here the weights are uniform between `low` and `high`. All pairs use the
    same draws, seeded by the `random_state` of the estimator.

    Parameters
    ----------
    parameters : {1, 2}, default=1
        Number of random weights: 1 for R-HLD-1, 2 for R-HLD-2.
    n_trials : int, default=1000
        Number of draws.
    low, high : float, default=-1.0 and 2.0
        Range of the weights.

    Examples
    --------
    >>> from heterolda import GaussianLinearDiscriminant
    >>> from heterolda.solvers import RandomSearch
    >>> GaussianLinearDiscriminant(solver=RandomSearch(2, low=0, high=1))
    GaussianLinearDiscriminant(solver=RandomSearch(parameters=2, n_trials=1000,
                                                   low=0, high=1))
    """

    parameters: Literal[1, 2] = 1
    n_trials: int = 1000
    low: float = -1.0
    high: float = 2.0

    moore_penrose = True
    draws = True

    def __post_init__(self) -> None:
        if self.parameters not in (1, 2):
            raise ParameterError(
                "parameters",
                f"must be 1 (R-HLD-1) or 2 (R-HLD-2), got {self.parameters!r}",
            )
        check_number("n_trials", self.n_trials, 1, 10**7, integer=True)
        check_number("low", self.low, -1e6, 1e6)
        check_number("high", self.high, -1e6, 1e6)
        if self.low >= self.high:
            raise ParameterError(
                "low", f"must be less than high, got {self.low} and {self.high}"
            )

    def solve(self, pencil: Pencil, rng: Generator) -> Rules:
        """Return rules for a batch of pairs, with draws from `rng`."""
        draws = rng.uniform(self.low, self.high, (self.parameters, self.n_trials))
        a = draws[0]
        b = 1 - a if self.parameters == 1 else draws[1]
        return _best_trial(pencil, a=a, b=b, ends=[])


def _best_trial(pencil: Pencil, a: Array, b: Array, ends: list[Array]) -> Rules:
    """Choose, for each pair, the first trial (a, b) of least error.

    All of (10), (11) and (12) are w = (a S2 + b S1)^-1 delta with the threshold that
    divides D in the ratio of a sigma2^2 to b sigma1^2 (13); for a regular matrix
    D = a sigma2^2 + b sigma1^2, which makes it w.m1 - b sigma1^2 as in (10), (11).

    `ends` are the coordinates of the first trials, if given. The weights a and b of the
    returned rules sum to one.
    """
    n_pairs, d = pencil.c.shape
    error, t, u = np.full(n_pairs, np.inf), np.full(n_pairs, np.nan), 0 * pencil.c
    size = np.where(a + b > 0, a + b, np.abs(a) + np.abs(b))
    weights = np.array([b, a])
    # S1 and S2 of each pair; directions use those without raised variances.
    unraised = np.stack([pencil.alpha0, pencil.beta0], axis=2)
    S = np.stack([pencil.alpha, pencil.beta], axis=1)
    steps = blocks(len(a), max(2, _BATCH_SIZE // max(1, d)))
    for p, block in product(range(n_pairs), steps):
        # A trial whose matrix happens to be singular is infinite, and cannot win.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            trials = unraised[p] @ weights[:, block]
            np.divide(pencil.c[p, :, None], trials, out=trials)
            if ends and not block.start:
                trials[:, : len(ends)] = np.transpose([end[p] for end in ends])
            D, variances = pencil.c[p] @ trials, S[p] @ (trials * trials)
            shares = weights[:, block] * variances
            threshold = D * (shares[1] / shares.sum(axis=0))  # (13)
            deviations = np.sqrt(variances)
            errors = bayes_error(threshold, D, *deviations, *pencil.priors[p])
        best = int(np.where(np.isnan(errors), np.inf, errors).argmin())
        if errors[best] < error[p]:
            error[p], scale = errors[best], size[block][best]
            u[p], t[p] = trials[:, best] * scale, threshold[best] * scale
    return Rules.from_coordinates(
        pencil, u, t, error, status=Status.BEST_TRIAL, n_iter=len(a)
    )
