"""Class probabilities from the scores of the rules between all pairs of classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, clip, is_numpy, put_like, xp_of
from heterolda.kernels.votes import n_classes_of, pair_sums

# Log-odds are clipped to this size, where exp is finite and positive.
MAX_LOG_ODDS = 700.0
# Log-odds at a positive score are at least this plus half of the curve's value, so
# that argmax agrees with the sign of the score.
MIN_LOG_ODDS = 1e-9
_LARGEST_RATIO = 1e307


class Curve(NamedTuple):
    """Log-odds of the second class of each pair as a function of the score s.

    They are ``offset[1] + s (bend s + slope[1])`` if s > 0, and ``s (bend s + slope[0])
    - offset[0]`` otherwise, where s is the score clipped to [low, high]. Each doubling
    of the score below low subtracts ``step[0]``, and above high adds ``step[1]``,
    linearly in between, so that distinct scores stay distinct.

    Offsets and steps are not negative; low and high are not zero. In NumPy, each row
    may have its own curve, with one more axis before that of the pairs.
    """

    offset: Array  # terms on the negative and the positive side, (2, n_pairs)
    slope: Array
    bend: Array  # terms of both sides, (n_pairs,)
    low: Array  # may be infinite, like high
    high: Array
    step: Array  # change per doubling of the score on each side, (2, n_pairs)

    def log_odds(self, scores: Any) -> Any:
        """Return log-odds at scores of shape (n_samples, n_pairs), with equal signs.

        A score of zero has log-odds of at most zero.
        """
        xp, positive = xp_of(scores), scores > 0

        def put(values: Array) -> Any:
            return put_like(values, scores)

        def by_sign(below: Array, above: Array) -> Any:
            """Return `above` for positive scores and `below` for others."""
            equal = (below == above).all()
            return put(above) if equal else xp.where(positive, put(above), put(below))

        with np.errstate(all="ignore"):
            s = clip(scores, put(self.low), put(self.high))
            beyond = xp.where(s == scores, 1.0, scores / s)
            x = s * (put(self.bend) * s + by_sign(*self.slope))
            x += by_sign(-self.step[0], self.step[1]) * _doublings(beyond)
            if self.offset.any():
                x += by_sign(-self.offset[0], self.offset[1])
        above = xp.maximum(x, MIN_LOG_ODDS + 0.5 * clip(x, 0.0, None))
        x = xp.where(positive, above, clip(x, None, 0.0))
        return clip(x, -MAX_LOG_ODDS, MAX_LOG_ODDS)


def _doublings(ratio: Any) -> Any:
    """Return log2 of a ratio, interpolated linearly between powers of two."""
    xp = xp_of(ratio)
    ratio = clip(ratio, None, _LARGEST_RATIO)
    if xp is np:  # frexp is five times as fast
        mantissa, exponent = np.frexp(ratio)
        return (exponent - 1) + (2 * mantissa - 1)
    exponent = xp.floor(xp.log2(ratio))
    return exponent - 1 + ratio / 2.0**exponent


def couple(scores: Any, curve: Curve) -> Any:
    """Return class probabilities from the scores of all pairs.

    p_i is proportional to 1 / (1 + sum over j of p_j / p_i), with the odds of the
    pairs. This is exact if the pairs are consistent (Price, Knerr, Personnaz and
    Dreyfus 1995).
    """
    compiled = kernels.compiled is not None and is_numpy(scores)
    if not compiled or curve.bend.ndim > 1:
        return couple_log_odds(curve.log_odds(scores))
    p = np.empty((len(scores), n_classes_of(scores)))
    inputs = kernels.ready(scores), None, None, None, None
    kernels.compiled.couple(*inputs, *curve, MAX_LOG_ODDS, MIN_LOG_ODDS, p, None)
    return p


def couple_log_odds(log_odds: Any) -> Any:
    """Return class probabilities from the log-odds of the second class of each pair."""
    odds = xp_of(log_odds).exp(log_odds)
    p = 1 / (1 + pair_sums(1 / odds, odds))
    return p / xp_of(p).sum(p, axis=1, keepdims=True)


def couple_rows(
    X: Array, coef: Array, intercept: Array, weight: Array, curve: Curve
) -> tuple[Array, Array]:
    """Return class probabilities and votes of rows; needs the compiled kernels."""
    p = np.empty((len(X), n_classes_of(weight)))
    votes = np.empty_like(p)
    inputs = None, kernels.ready(X), coef, intercept, weight
    kernels.compiled.couple(*inputs, *curve, MAX_LOG_ODDS, MIN_LOG_ODDS, p, votes)
    return p, votes
