"""Fisher's linear discriminant, equation (7): the rule for equal covariances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from heterolda.foundations.types import Array
from heterolda.solvers.hyperplanes import Hyperplanes, Status
from heterolda.solvers.pencil import Pencil
from heterolda.solvers.threshold import bayes_error


@dataclass(frozen=True)
class Fisher:
    r"""Linear discriminant analysis of each pair, with its pooled covariance.

    .. math::
        w = \Sigma_x^{-1} (m_1 - m_2), \quad
        \Sigma_x = \frac{n_1 S_1 + n_2 S_2}{n_1 + n_2}, \quad
        w_0 = \tfrac12 w \cdot (m_1 + m_2) + \ln \tau

    This is equation (7) of the paper with the normalised form of (8). If
    :math:`\Sigma_x` is singular, its pseudo-inverse is used.

    Examples
    --------
    >>> from heterolda import Fisher, GaussianLinearDiscriminant
    >>> GaussianLinearDiscriminant(solver=Fisher())
    GaussianLinearDiscriminant(solver=Fisher())
    """

    moore_penrose = True
    draws = False

    def solve(self, pencil: Pencil, rng: Generator) -> Hyperplanes:
        """Rules for a batch of pairs; `rng` is not used."""
        u = fisher_direction(pencil)
        D, sigma1, sigma2 = pencil.project(u)
        p1, p2 = pencil.priors.T
        t = 0.5 * D + pencil.log_tau  # (7)
        n = len(t)
        with np.errstate(invalid="ignore", divide="ignore"):
            error = bayes_error(t, D, sigma1, sigma2, p1, p2)
        return Hyperplanes.from_coordinates(
            pencil,
            u,
            t,
            error,
            status=np.full(n, Status.CLOSED_FORM, np.intp),
            n_iter=np.ones(n, np.intp),
        )


def fisher_rules(pencil: Pencil) -> tuple[Array, Array]:
    """Coefficients and intercepts of Fisher's rules, and nothing else."""
    u = fisher_direction(pencil)
    w = (pencil.basis @ u[:, :, None])[:, :, 0]
    middle = np.einsum("pi,pki->p", w, pencil.means) / 2
    return -w, middle + pencil.log_tau


def fisher_direction(pencil: Pencil) -> Array:
    """Coordinates of (a S2 + b S1)^-1 delta with a and b the shares of n2 and n1."""
    share = pencil.weights / pencil.weights.sum(axis=1, keepdims=True)
    g = share[:, :1] * pencil.alpha0 + share[:, 1:] * pencil.beta0
    u: Array = pencil.c / g
    return u
