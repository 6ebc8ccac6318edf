"""Rules on the arc that are optimal for criteria other than the error.

The arc of admissible rules is the optimal trade-off between the two error rates of a
pair of classes: along it e1 = Phi(-y1) increases, and e2 = Phi(-y2) decreases. So

- costs multiply the priors: least risk is least error with the products as priors;
- the minimax rule is the only root of y1 = y2, where both error rates are equal;
- the Neyman-Pearson rule for "e1 <= q" is the only root of y1 = Phi^-1(1 - q), and
  for "e2 <= q" that of y2 = Phi^-1(1 - q).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import log_ndtr, ndtri

from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.roots import bracketed_roots
from heterolda.foundations.rounding import FARTHEST_POSITION
from heterolda.solvers.arc import Arc
from heterolda.solvers.pencil import Pencil
from heterolda.solvers.rules import Rules, Status

# A point this far (relatively) beyond a Neyman-Pearson rule bounds its gap.
_BEYOND = 1e-13


@dataclass(frozen=True, eq=False)
class OperatingPoint:
    """One rule of a frontier.

    Attributes
    ----------
    criterion : str
        Criterion that the rule is optimal for.
    theta : float
        Position on the arc. At its ends, rules always predict the same class. If the
        difference of the means has no component along an extreme direction of the
        covariances, part of the curve corresponds to an end; there, `coef` and
        `intercept` determine the rule, but theta does not.
    coef : ndarray of shape (n_features,)
        Normal of the hyperplane; a positive score ``coef @ x + intercept`` means the
        second class.
    intercept : float
        Offset of the hyperplane.
    error_rates : ndarray of shape (2,)
        Error rates of the two classes under the Gaussian model, not on data.
    error : float
        Error under the priors.
    expected_cost : float
        Expected cost; equal to the error if there are no costs.
    gap : float
        Proven relative gap of the quantity that the criterion minimizes.

    Examples
    --------
    >>> from heterolda import ClassStatistics
    >>> from heterolda.inspection import Frontier
    >>> moments = ClassStatistics.from_moments(
    ...     ["sick", "well"], [50, 50], [[0], [3]], [[[1.0]], [[2.0]]]
    ... )
    >>> point = Frontier.from_statistics(moments).at("minimax")
    >>> point.error_rates.round(3)
    array([0.107, 0.107])
    """

    criterion: str
    theta: float
    coef: Array
    intercept: float
    error_rates: Array
    error: float
    expected_cost: float
    gap: float


@dataclass(frozen=True)
class Minimax:
    """Rule that minimizes the larger error rate, which makes both equal.

    Its gap is that of the larger error rate. Each point of the arc proves that no rule
    brings it below that point's min(e1, e2): from there, one of the two increases in
    either direction.
    """

    moore_penrose = False
    draws = False

    def solve(self, pencil: Pencil, rng: Generator) -> Rules:
        """Return rules for a batch of pairs; `rng` is not used."""
        arc = Arc.from_pencil(pencil)

        def difference(pair: Index, x: Array) -> Array:
            points = arc.evaluate(pair, x)
            with np.errstate(invalid="ignore"):
                return points.y1 - points.y2

        x = _roots(difference, np.arange(len(pencil.c)))
        points = arc.evaluate(np.arange(len(x)), x)
        log_e = log_ndtr(-np.sort([points.y1, points.y2], axis=0))
        return _rules_at(pencil, arc, x, log_e[0], log_e[1])


@dataclass(frozen=True)
class NeymanPearson:
    """Rule of least error in one class, given a bound on that of the other.

    Its gap is that of the other error rate: no rule within the bound has a lower one
    than a point of the arc where the bound is exceeded.
    """

    k: int  # class of the pair whose error rate is bounded
    q: float  # bound on its error rate

    moore_penrose = False
    draws = False

    def solve(self, pencil: Pencil, rng: Generator) -> Rules:
        """Return rules for a batch of pairs; `rng` is not used."""
        arc = Arc.from_pencil(pencil)
        pair = np.arange(len(pencil.c))
        y = np.full(len(pair), -ndtri(self.q))
        x = positions(arc, pair, self.k, y)
        sign = 1.0 if self.k == 0 else -1.0
        other = 5 - self.k
        log_e = log_ndtr(-arc.evaluate(pair, x).table[other])
        lower = np.full(len(x), -np.inf)
        for power in range(8):
            step = sign * _BEYOND * 10.0**power * (1 + np.abs(x))
            beyond = arc.evaluate(pair, x + step).table
            proven = (beyond[4 + self.k] <= y) & np.isneginf(lower)
            lower = np.where(proven, log_ndtr(-beyond[other]), lower)
        return _rules_at(pencil, arc, x, log_e, lower)


def positions(arc: Arc, pair: Index, k: int, y: Array) -> Array:
    """Return positions on arcs `pair` where the error rate of class k is Phi(-y)."""

    def excess(index: Index, x: Array) -> Array:
        table = arc.evaluate(pair[index], x).table
        difference: Array = table[4 + k] - y[index]
        return difference

    return _roots(excess, np.arange(len(pair)))


def _roots(function: Any, index: Index) -> Array:
    """Return roots of functions that are monotone along whole arcs."""
    a = np.full(len(index), -FARTHEST_POSITION)
    return bracketed_roots(function, a, -a, function(index, a), function(index, -a))


def _rules_at(pencil: Pencil, arc: Arc, x: Array, log_e: Array, lower: Array) -> Rules:
    """Return rules at positions x that minimize `log_e`, proven to be above `lower`."""
    gap = 0.0 - np.expm1(np.minimum(lower - log_e, 0.0))
    gap[np.exp(log_e) == 0] = 0.0  # an error rate of zero needs no proof
    pairs = np.arange(len(x))
    u, t = arc.rules(pairs, x)
    error = np.exp(arc.evaluate(pairs, x).log_error)
    return Rules.from_coordinates(
        pencil, u, t, error, status=Status.CERTIFIED, n_iter=1, gap=gap
    )
