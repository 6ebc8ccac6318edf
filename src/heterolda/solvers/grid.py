"""C-HLD: a grid of convex combinations of the two covariances, (12) and (13)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from heterolda.foundations.types import Array
from heterolda.foundations.validation import check_number
from heterolda.solvers._best_trial import best_trial
from heterolda.solvers.hyperplanes import Hyperplanes
from heterolda.solvers.pencil import Pencil
from heterolda.solvers.principal_axes import RANK_TOLERANCE


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
    >>> from heterolda import GaussianLinearDiscriminant, Grid
    >>> GaussianLinearDiscriminant(solver=Grid(step=0.01))
    GaussianLinearDiscriminant(solver=Grid(step=0.01))
    """

    step: float = 0.001

    moore_penrose = True
    draws = False

    def __post_init__(self) -> None:
        check_number("step", self.step, 1e-6, 1)

    def solve(self, pencil: Pencil, rng: Generator) -> Hyperplanes:
        """Rules for a batch of pairs; `rng` is not used."""
        s = np.linspace(0.0, 1.0, round(1 / self.step) + 1)
        # At s = 0 and s = 1 a single covariance is inverted. Where it is singular the
        # pencil has no finite answer and the pseudo-inverse is another direction.
        extra = [
            (_pseudo_inverse(pencil, 1, pencil.beta0), 1.0, 0.0),
            (_pseudo_inverse(pencil, 0, pencil.alpha0), 0.0, 1.0),
        ]
        return best_trial(pencil, a=1 - s[1:-1], b=s[1:-1], extra=extra)


def _pseudo_inverse(pencil: Pencil, k: int, diagonal: Array) -> Array:
    """Coordinates of pinv(S_k) delta, given the diagonal form of S_k."""
    singular = np.any(diagonal == 0, axis=1)
    u = pencil.c / np.where(diagonal == 0, 1.0, diagonal)
    if singular.any():
        cov = pencil.covariances[singular]
        delta = pencil.means[singular, 0] - pencil.means[singular, 1]
        # Of classes whose scales differ by 1e200 or so this overflows, and cannot win.
        with np.errstate(over="ignore", invalid="ignore"):
            w = (
                np.linalg.pinv(cov[:, k], rcond=RANK_TOLERANCE, hermitian=True)
                @ delta[:, :, None]
            )
            u[singular] = (pencil.basis[singular].mT @ cov.sum(axis=1) @ w)[:, :, 0]
    return u
