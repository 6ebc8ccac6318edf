"""Algorithm 1 of the paper, the Gaussian linear discriminant by fixed-point steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from heterolda.exceptions import ParameterError
from heterolda.foundations.validation import check_number
from heterolda.solvers.fisher import fisher_direction
from heterolda.solvers.hyperplanes import Hyperplanes, Status
from heterolda.solvers.pencil import Pencil
from heterolda.solvers.threshold import bayes_error, best_threshold


@dataclass(frozen=True)
class FixedPoint:
    r"""Algorithm 1: fixed-point iteration on the optimality condition (31).

    Starting from Fisher's w, each step takes the best threshold (39) and then

    .. math::
        w \leftarrow \Bigl(\frac{z_2}{\sigma_2} S_2 - \frac{z_1}{\sigma_1} S_1
        \Bigr)^{-1} (m_1 - m_2).

    This is a scalar iteration on the ratio of the two weights. It finds a local optimum
    and converges only where the map is a contraction; `Global` has no such limits. It
    stops where (39) has no real root; a pair for which it never has one gets the
    trivial rule.

    Parameters
    ----------
    max_iter : int, default=20
        Maximum number of steps (the paper's fourth stopping criterion).
    tol : float or None, default=1e-6
        Third criterion: norm of the gradient of the error with respect to w, times
        the norm of w, both measured by S1 + S2, so that units do not matter. If None,
        this criterion is not used; the same holds for the next two.
    tol_error : float or None, default=None
        First criterion: absolute change of the error.
    tol_norm : float or None, default=None
        Second criterion: relative change of the norm of w, measured by S1 + S2.
    patience : int, default=1
        Number of consecutive steps for which one of these three criteria must hold.
    keep : {"best", "last"}, default="best"
        Whether to return the iterate with the smallest error or the last one.

    Examples
    --------
    >>> from heterolda import FixedPoint, GaussianLinearDiscriminant
    >>> GaussianLinearDiscriminant(solver=FixedPoint(max_iter=50, keep="last"))
    GaussianLinearDiscriminant(solver=FixedPoint(max_iter=50, ...keep='last'))
    """

    max_iter: int = 20
    tol: float | None = 1e-6
    tol_error: float | None = None
    tol_norm: float | None = None
    patience: int = 1
    keep: Literal["best", "last"] = "best"

    moore_penrose = True
    draws = False

    def __post_init__(self) -> None:
        for name in ("max_iter", "patience"):
            check_number(name, getattr(self, name), 1, 10**9, integer=True)
        for name in ("tol", "tol_error", "tol_norm"):
            if getattr(self, name) is not None:  # None switches a criterion off
                check_number(name, getattr(self, name), 0, 1e9)
        if self.keep not in ("best", "last"):
            raise ParameterError("keep", f"must be 'best' or 'last', got {self.keep!r}")

    def solve(self, pencil: Pencil, rng: Generator) -> Hyperplanes:
        """Rules for a batch of pairs; `rng` is not used."""
        p1, p2 = pencil.priors.T
        n = len(p1)
        u = fisher_direction(pencil)
        kept = u.copy()
        threshold = np.full(n, np.nan)
        kept_error = np.full(n, np.inf)
        error, norm = np.full(n, np.nan), np.full(n, np.nan)
        calm = np.zeros((n, 3), np.intp)  # consecutive steps of each criterion
        status = np.full(n, Status.MAX_ITER, np.intp)
        n_iter = np.zeros(n, np.intp)
        active = np.any(u != 0, axis=1)
        for _ in range(self.max_iter):
            if not active.any():
                break
            n_iter += active
            previous_error, previous_norm = error, norm
            with np.errstate(all="ignore"):  # what overflows is caught as not finite
                D, sigma1, sigma2 = pencil.project(u)
                t = best_threshold(D, sigma1, sigma2, pencil.log_tau)
                z1, z2 = (t - D) / sigma1, t / sigma2
                error = bayes_error(t, D, sigma1, sigma2, p1, p2)
                lost = active & ~np.isfinite(error)
                status[lost] = Status.NO_ROOT
                active &= ~lost

                better = active & ((error < kept_error) | (self.keep == "last"))
                kept[better], threshold[better] = u[better], t[better]
                kept_error[better] = error[better]

                # Equation (31). By (29) the gradient (24) is density times
                # (z2/sigma2 S2 - z1/sigma1 S1) w - delta, that is g u - c.
                g = (z2 / sigma2)[:, None] * pencil.beta0
                g -= (z1 / sigma1)[:, None] * pencil.alpha0
                density = p1 / sigma1 * np.exp(-0.5 * z1**2) / np.sqrt(2 * np.pi)
                norm = np.linalg.norm(u, axis=1)
                gradient = density * np.linalg.norm(g * u - pencil.c, axis=1) * norm
                changes = (
                    (np.abs(error - previous_error), self.tol_error),
                    (np.abs(norm - previous_norm) / norm, self.tol_norm),
                    (gradient, self.tol),
                )
                for k, (change, tolerance) in enumerate(changes):
                    if tolerance is not None:
                        calm[:, k] = np.where(change <= tolerance, calm[:, k] + 1, 0)
                u = pencil.c / g
            done = active & (calm.max(axis=1) >= self.patience)
            status[done] = Status.CONVERGED
            active &= ~done
            broken = active & ~np.all(np.isfinite(u), axis=1)
            status[broken] = Status.NO_ROOT
            active &= ~broken
        return Hyperplanes.from_coordinates(
            pencil, kept, threshold, kept_error, status=status, n_iter=n_iter
        )
