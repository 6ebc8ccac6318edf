"""R-HLD-1 and R-HLD-2: random combinations of the two covariances, (11) and (10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from numpy.random import Generator

from heterolda.exceptions import ParameterError
from heterolda.foundations.validation import check_number
from heterolda.solvers._best_trial import best_trial
from heterolda.solvers.hyperplanes import Hyperplanes
from heterolda.solvers.pencil import Pencil


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
    >>> from heterolda import GaussianLinearDiscriminant, RandomSearch
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

    def solve(self, pencil: Pencil, rng: Generator) -> Hyperplanes:
        """Rules for a batch of pairs, with draws from `rng`."""
        draws = rng.uniform(self.low, self.high, (self.parameters, self.n_trials))
        a = draws[0]
        b = 1 - a if self.parameters == 1 else draws[1]
        return best_trial(pencil, a=a, b=b, extra=[])
