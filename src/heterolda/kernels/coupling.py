"""Class probabilities from the scores of the rules between all pairs of classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, Index, clip, is_numpy, put_like, xp_of
from heterolda.kernels.votes import n_classes_of, pair_sums

# Log-odds are clipped to this size, where exp is finite and positive.
MAX_LOG_ODDS = 700.0
# Log-odds at a positive score are at least this plus half of the curve's value, so
# that argmax agrees with the sign of the score, in single precision, too.
MIN_LOG_ODDS = 1e-6
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
    r"""Return class probabilities from the scores of all pairs.

    With the log-odds :math:`x_{ij}` of class i over class j and the logistic function
    :math:`\sigma`,

    .. math::
        q_i \propto \frac{1}{1 + \sum_{j \ne i} e^{-x_{ij}}}, \qquad
        p_i \propto \sum_{j \ne i} (q_i + q_j)\, \sigma(x_{ij}),

    where q sums to one, and is exact if the pairs are consistent (Price, Knerr,
    Personnaz and Dreyfus 1995). A pair counts as much as its classes are plausible.
    """
    compiled = kernels.compiled is not None and is_numpy(scores)
    if not compiled or curve.bend.ndim > 1:
        return couple_log_odds(curve.log_odds(scores))
    p = np.empty((len(scores), n_classes_of(scores)))
    _call(curve, scores=scores, probabilities=p)
    return p


def couple_log_odds(log_odds: Any) -> Any:
    """Return class probabilities from the log-odds of the second class of each pair."""
    xp = xp_of(log_odds)
    odds = xp.exp(log_odds)
    q = 1 / (1 + pair_sums(1 / odds, odds))
    q = q / xp.sum(q, axis=1, keepdims=True)
    first, second = np.triu_indices(q.shape[1], 1)
    both = xp.take(q, put_like(first, q), axis=1)
    both = both + xp.take(q, put_like(second, q), axis=1)
    share = 1 / (1 + odds)
    p = pair_sums(both * (odds * share), both * share)
    return p / xp.sum(p, axis=1, keepdims=True)


def couple_rows(X: Array, coef: Array, intercept: Array, curve: Curve) -> Array:
    """Return class probabilities of rows; needs the compiled kernels."""
    p = np.empty((len(X), n_classes_of(intercept)))
    _call(curve, coef, intercept, X=X, probabilities=p)
    return p


def pair_winners(
    X: Array, coef: Array, intercept: Array, curve: Curve, guess: Array, margin: float
) -> Index:
    """Return the class of largest probability for each row, in C.

    It is -1 where the next is within a factor `margin`, and where products of features
    may overflow. Rules are evaluated class by class, until bounds for all classes tell
    the winner; first for the largest linear function among `guess`, which has a line
    for each feature, and one of intercepts.
    """
    winners = np.empty(len(X), int)
    _call(curve, coef, intercept, margin, X=X, guess=guess, winners=winners)
    return winners


def _call(
    curve: Curve,
    coef: Array | None = None,
    intercept: Array | None = None,
    margin: float = 1.0,
    **arrays: Array,
) -> None:
    """Call the kernel with arrays by the names of its arguments."""
    names = "scores", "X", "probabilities", "guess", "winners"
    *given, winners = (kernels.ready(arrays.get(name)) for name in names)
    limits = 1 / np.array([curve.low, curve.high]), MAX_LOG_ODDS, MIN_LOG_ODDS
    kernels.compiled.couple(coef, intercept, *curve, *limits, *given, margin, winners)
