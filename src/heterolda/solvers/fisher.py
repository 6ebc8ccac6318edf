"""Fisher's linear discriminant, equation (7): the rule for equal covariances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from heterolda.solvers.pencil import Pencil
from heterolda.solvers.rules import Rules, Status, bayes_error


@dataclass(frozen=True)
class Fisher:
    r"""Linear discriminant analysis of each pair, with its pooled covariance.

    .. math::
        w = \Sigma_x^{-1} (m_1 - m_2), \quad
        \Sigma_x = \frac{n_1 S_1 + n_2 S_2}{n_1 + n_2}, \quad
        w_0 = \tfrac12 w \cdot (m_1 + m_2) + \ln \tau

    This is equation (7) of the paper with the normalized form of (8). If
    :math:`\Sigma_x` is singular, its pseudo-inverse is used.

    Examples
    --------
    >>> from heterolda import Fisher, GaussianLinearDiscriminant
    >>> GaussianLinearDiscriminant(solver=Fisher())
    GaussianLinearDiscriminant(solver=Fisher())
    """

    moore_penrose = True
    draws = False

    def solve(self, pencil: Pencil, rng: Generator) -> Rules:
        """Return rules for a batch of pairs; `rng` is not used."""
        u = pencil.fisher_coordinates
        D, sigma1, sigma2 = pencil.project(u)
        t = 0.5 * D + pencil.log_tau  # (7)
        with np.errstate(invalid="ignore", divide="ignore"):
            error = bayes_error(t, D, sigma1, sigma2, *pencil.priors.T)
        return Rules.from_coordinates(
            pencil, u, t, error, status=Status.CLOSED_FORM, n_iter=1
        )
