"""Class probabilities from the scores of the rules between all pairs of classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array
from heterolda.kernels.ordered_scores import ordered_scores
from heterolda.kernels.votes import count_votes, incidence, n_classes_of

# Log-odds are kept within these limits, where exp is finite and positive.
MOST_LOG_ODDS = 700.0
# Least log-odds for the second class at a positive score: enough to decide argmax.
# Below twice as many, half of what the curve has is added to them.
LEAST_LOG_ODDS = 1e-9


class Curve(NamedTuple):
    """Log-odds of the second class of each pair as a function of the score s.

    They are ``offset[1] + s (bend s + slope[1])`` if s > 0, and ``s (bend s + slope[0])
    - offset[0]`` if not, after s was clipped to [low, high] and divided by the unit.
    Beyond low they fall by ``step[0]`` each time that the score doubles, beyond high
    they grow by ``step[1]``, linearly in between: so distinct scores stay distinct.

    Attributes
    ----------
    offset, slope : ndarray of shape (2, n_pairs)
        Offsets are not negative.
    bend, low, high, unit : ndarray of shape (n_pairs,)
        The rest; the limits are not zero, and may be infinite.
    step : ndarray of shape (2, n_pairs)
        Not negative.
    """

    offset: Array
    slope: Array
    bend: Array
    low: Array
    high: Array
    unit: Array
    step: Array

    def log_odds(self, scores: Array) -> Array:
        """Log-odds at scores of shape (n_samples, n_pairs); their sign is the score's.

        Zero is not positive, and stays at or below zero.
        """
        with np.errstate(over="ignore", under="ignore"):
            s = np.clip(scores, self.low, self.high)
            if (self.unit != 1).any():
                s /= self.unit
            bent = self.bend * s
            beyond = np.maximum(scores * (1 / self.low), scores * (1 / self.high))
            times = _doublings(beyond)
            yes = s * (bent + self.slope[1]) + self.offset[1] + self.step[1] * times
            no = s * (bent + self.slope[0]) - self.offset[0] - self.step[0] * times
        yes = np.maximum(yes, LEAST_LOG_ODDS + 0.5 * np.maximum(yes, 0.0))
        no = np.clip(no, -MOST_LOG_ODDS, 0.0)
        return np.where(scores > 0, np.minimum(yes, MOST_LOG_ODDS), no)


def _doublings(ratio: Array) -> Array:
    """How often one doubles to reach a ratio, linear between powers of two."""
    mantissa, exponent = np.frexp(np.clip(ratio, 1.0, np.finfo(np.float64).max))
    number: Array = (exponent - 1) + (2 * mantissa - 1)
    return number


def couple(scores: Array, curve: Curve) -> Array:
    """Class probabilities from scores of all pairs, of shape (n_samples, n_pairs).

    p_i is proportional to 1 / (1 + sum over j of p_j / p_i), the odds taken from the
    pairs: exact if the pairs agree with each other (Price, Knerr, Personnaz and
    Dreyfus 1995).
    """
    if kernels.compiled is None:
        return couple_numpy(curve.log_odds(scores))
    p = np.empty((len(scores), n_classes_of(curve.bend)))
    _couple(kernels.ready(scores), None, None, None, None, curve, p, None)
    return p


def couple_rows(
    X: Array, coef: Array, intercept: Array, weight: Array, curve: Curve
) -> tuple[Array, Array]:
    """The same from rows and rules; and the votes of the rules with these weights."""
    if kernels.compiled is None:
        scores = ordered_scores(X, coef, intercept)
        return couple_numpy(curve.log_odds(scores)), count_votes(scores, weight)
    p = np.empty((len(X), n_classes_of(weight)))
    votes = np.empty_like(p)
    _couple(None, kernels.ready(X), coef, intercept, weight, curve, p, votes)
    return p, votes


def couple_numpy(log_odds: Array) -> Array:
    """Class probabilities from the log-odds of the second class of each pair."""
    odds = np.exp(log_odds)
    n_classes = n_classes_of(log_odds)
    against = odds @ incidence(n_classes, 1.0, 0.0)
    against += (1 / odds) @ incidence(n_classes, 0.0, 1.0)
    p: Array = 1 / (1 + np.ascontiguousarray(against))
    p /= p.sum(axis=1, keepdims=True)
    return p


def _couple(scores, X, coef, intercept, weight, curve, p, votes):
    """The compiled form, of scores or of rows; it gives p and perhaps votes."""
    limits = MOST_LOG_ODDS, LEAST_LOG_ODDS
    given = scores, X, coef, intercept, weight
    kernels.compiled.couple(*given, *curve, *limits, p, votes)
