r"""Log-odds of the two classes of a pair, as functions of the score.

They are those of the Gaussian model along the rule's normal (`gaussian_log_odds`), or a
line on each side of the threshold, fitted to scores of rows by rules without them and
drawn toward the model (`fitted_log_odds`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_ndtr

from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.roots import bracketed_roots
from heterolda.kernels.coupling import MAX_LOG_ODDS, Curve
from heterolda.solvers.rules import Rules

# Squares of numbers beyond this, or below its inverse, may overflow or underflow.
_EXTREME = 1e140
# A curve keeps growing beyond its limits, so that distinct scores have distinct
# probabilities: by this much each time the score doubles, too little to matter.
_GROWTH = 1e-6
# Largest log-odds of a curve, a probability of 2e-9: a Gaussian model means nothing
# beyond, and float64 needs room for more probabilities near 1. From there on, log-odds
# grow by at most _MAX_STEP, at most 2,000 times.
_LARGE = 20.0
_MAX_STEP = 0.1
# Limits are finite, and so are their inverses.
_MIN_LIMIT, _MAX_LIMIT = 1e-307, 1e300

# Relative tolerance of the score at which a curve leaves a parabola.
_TURN = 1e-6

# Number of rows that the model counts for, and by how much more than the lines it must
# raise the log-likelihood of the rows to be kept.
_MODEL_ROWS, _MARGIN = 10.0, 1.0
# Weight of the wrong row that is added on each side of a single rule. The errors of
# several rules of a class add up: for n rules, it is divided by this root of n.
_WRONG, _ROOT = 0.5, 0.25
# Number of bins for distances from a threshold, and distance that counts as infinite.
_N_BINS = 32
_FARTHEST = 1e100
# Signs of the scores in the bins, which begin with those below the threshold.
_SIGNS = np.repeat([-1.0, 1.0], _N_BINS)
# Smallest slope of log-odds, so that scores rank rows even where errors do not fall.
_MIN_SLOPE = 1e-5
# Maximum number of iterations of a regression, and its relative tolerance.
_MAX_ITER, _TOLERANCE = 100, 1e-6
_RIDGE = 1e-12  # added to the curvatures of a regression
_SINGULAR = 1e-9  # smallest determinant, relative to its terms, of two distances
# Maximum of the logarithm of a ratio of effective priors.
_MAX_LOG_RATIO = 20.0
_TINY = float(np.finfo(float).tiny)


def gaussian_log_odds(rules: Rules) -> Curve:
    """Return log-odds of each pair, monotone in the score, under the Gaussian model.

    Along a hyperplane's normal both classes are Gaussian, so the log-odds are a
    parabola through zero at the threshold: ``bend s^2 + slope s``. It turns back in
    the tail of the wider class. From the point where the posterior equals its own
    average over the rest of the tail, that average is used, which is what isotonic
    regression of the posterior on the score gives: the result is calibrated, and
    its sign is that of the score. From there on it grows very slowly, so that distinct
    scores have distinct probabilities; see :func:`growing`.

    The priors are those that make the threshold the Bayes one along w, condition
    (29): the given priors if the rule has the best threshold, and effective ones
    otherwise. Where the tail still contradicts the rule (a local minimum worse
    than the trivial rule), the probability stays next to one half.
    """
    sd = np.where(rules.trivial[:, None], 1.0, rules.deviations)
    unit = np.clip(sd.min(axis=1), 1 / _EXTREME, _EXTREME)
    with np.errstate(over="ignore"):
        ratios = np.array([*rules.means.T, *sd.T]) / unit
    mean1, mean2, sd1, sd2 = np.clip(ratios, -_EXTREME, _EXTREME)
    slope = np.where(rules.trivial, 1.0, mean2 / sd2**2 - mean1 / sd1**2)
    bend = 0.5 * np.abs(1 / sd1**2 - 1 / sd2**2)

    # The log-odds turn back on the side of the narrower class. Mirror that side to
    # positive scores.
    mirrored = sd2 > sd1
    wide, narrow = np.where(mirrored, (-mean2, -mean1), (mean1, mean2))
    sd_wide, sd_narrow = np.where(mirrored, (sd2, sd1), (sd1, sd2))
    # ln of the ratio of the effective priors, narrow to wide, from (29).
    prior = 0.5 * (narrow / sd_narrow) ** 2 + np.log(sd_narrow)
    prior -= 0.5 * (wide / sd_wide) ** 2 + np.log(sd_wide)

    def excess(i: Index, s: Array) -> Array:
        """Return log-odds at s, less those of the average posterior beyond s."""
        tail = prior[i] + log_ndtr((narrow[i] - s) / sd_narrow[i])
        tail -= log_ndtr((wide[i] - s) / sd_wide[i])
        difference: Array = s * (slope[i] - bend[i] * s) - tail
        return difference

    limit, other = _where_large(slope, -bend), _where_large(slope, bend)
    turns = np.flatnonzero((bend > 0) & (slope > 0))
    turn = 0.5 * slope[turns] / bend[turns]
    zero = np.zeros(len(turns))
    with np.errstate(invalid="ignore"):
        ends = excess(turns, zero), excess(turns, turn)
    contradicts = ~(ends[0] < 0)
    turn[contradicts] = np.minimum(turn, _GROWTH / slope[turns])[contradicts]
    # Far out both tails underflow and cannot be compared: the log-odds there are
    # beyond any limit, so the vertex will do.
    k = np.flatnonzero((ends[0] < 0) & (ends[1] > 0))
    turn[k] = bracketed_roots(
        lambda index, s: excess(turns[k[index]], s),
        *(zero[k], turn[k], ends[0][k], ends[1][k]),
        tolerance=_TURN,
    )
    limit[turns] = np.minimum(turn, limit[turns])
    inverted = slope <= 0
    bend[inverted], slope[inverted] = 0.0, _GROWTH
    limit[inverted] = other[inverted] = 1.0
    return growing(
        np.zeros((2, len(slope))),
        np.array([slope, slope]) / unit,
        np.where(mirrored, bend, -bend) / unit**2,
        -unit * np.where(mirrored, limit, other),
        unit * np.where(mirrored, other, limit),
    )


def odds_of(rules: Rules, log_odds: Any) -> Curve:
    """Return log-odds fitted to rows or, if None, those of the Gaussian model.

    They may be given by a function. The score of a trivial rule is the log-odds itself.
    """
    if log_odds is None:
        return gaussian_log_odds(rules)
    curve: Curve = log_odds if isinstance(log_odds, Curve) else log_odds()
    trivial = rules.trivial
    if not trivial.any():
        return curve
    plain = sided_log_odds(*np.array([0.0, 1.0])[:, None, None].repeat(2, 1))
    pairs = zip(plain, curve, strict=True)
    return Curve(*(np.where(trivial, one, column) for one, column in pairs))


def sided_log_odds(offset: Array, slope: Array) -> Curve:
    """Return log-odds that are linear in the score s on each side of zero.

    They are ``offset[1] + slope[1] s`` if s > 0, and ``-offset[0] + slope[0] s``
    otherwise, with offsets and slopes of shape (2, n_pairs) that are not negative.
    """
    with np.errstate(divide="ignore", over="ignore"):
        low, high = np.maximum(_LARGE - offset, _GROWTH) / slope
    return growing(offset, slope, np.zeros(low.shape), -low, high)


def _where_large(slope: Array, bend: Array) -> Array:
    """Return the positive score at which a parabola is large, or infinity."""
    square = slope**2 + 4 * bend * _LARGE
    with np.errstate(divide="ignore", over="ignore"):
        score = 2 * _LARGE / (slope + np.sqrt(np.maximum(square, 0.0)))
    return np.where((square < 0) | (slope <= 0), np.inf, score)


def growing(offset: Array, slope: Array, bend: Array, low: Array, high: Array) -> Curve:
    """Return a curve that grows beyond its limits, by a small step for each doubling.

    Log-odds x are a probability p with dp = p (1 - p) dx = dx / (2 + 2 cosh x).
    """
    low, high = (np.clip(s, _MIN_LIMIT, _MAX_LIMIT) for s in (-low, high))
    s = np.array([-low, high])
    s[np.abs(s) == _MAX_LIMIT] = 0.0
    size = offset + np.abs(s * (bend * s + slope))
    odds = np.cosh(np.minimum(size, MAX_LOG_ODDS))
    step = np.minimum(_GROWTH * (2 + 2 * odds), _MAX_STEP)
    return Curve(offset, slope, bend, -low, high, step)


def fitted_log_odds(
    pairs: Iterable[tuple[Array, Mask, Array, Array]], prior: Curve | None = None
) -> Curve:
    """Return log-odds of all pairs, fitted to the scores of rows.

    Each pair has the scores of its rows, a mask of its second class, frequencies, and
    the factors of both classes by which frequencies give the priors. `prior` are the
    log-odds of a model.
    """
    binned, factors, counts = [], [], []
    for scores, second, frequency, factor in pairs:
        weight = frequency * factor[second.astype(np.intp)]
        classes = (weight * ~second)[None], (weight * second)[None]
        binned.append(_binned(scores[None], *classes))
        factors.append(factor)
        counts.append(np.bincount(second, frequency, 2))
    rows, count = np.concatenate(binned, axis=1), np.array(counts, np.float64)
    return _toward(prior, rows, np.array(factors), count, len(rows[0]))


def log_odds_of_shares(
    scores: Array,
    shares: Array,
    counts: Array,
    priors: Array,
    rules: Rules,
    n_pairs: int,
) -> Curve:
    """Return log-odds of a block of all pairs, fitted to distributions of scores.

    Scores have shape (n_pairs, m), and the shares of both classes with these scores one
    more axis. `counts` (n_pairs, 2) are the numbers of rows behind them. The rules have
    the moments of the Gaussian model.
    """
    factors = priors * counts.sum(axis=1, keepdims=True) / counts
    weights = shares * (factors * counts)[:, :, None]
    rows = _binned(scores, *weights.swapaxes(0, 1))
    return _toward(gaussian_log_odds(rules), rows, factors, counts, n_pairs)


def _toward(
    prior: Curve | None, rows: Array, factors: Array, counts: Array, n_pairs: int
) -> Curve:
    r"""Return lines fitted to rows in bins, drawn toward the log-odds of a model.

    On each side of the threshold the log-odds are a line, whose offset and slope are at
    least zero in size. Among the n rows of a pair the model counts for n0: a row on the
    right side (r = 1) or the wrong one (r = 0) counts as right by

    .. math:: \frac{n\, r + n_0\, p}{n + n_0}, \quad n_0 = 10,

    where p is the model's probability of being right at its score. Lines cannot follow
    the parabolas of classes that are Gaussian: the model is kept if it makes the rows
    likelier than they do by more than a factor e, and where a class has no rows.
    """
    # Below the threshold, rows of the second class are wrong.
    wrong = _WRONG / n_pairs**_ROOT * factors[:, ::-1]
    if prior is None:
        return _lines(rows, wrong)
    x, right, others = rows
    p = expit(_SIGNS * prior.log_odds((_SIGNS * x).T).T)
    n = np.maximum(counts.sum(axis=1, keepdims=True), _TINY)
    pseudo = _MODEL_ROWS * (right + others) / n
    drawn = np.array([x, right + pseudo * p, others + pseudo * (1 - p)])
    lines = _lines(drawn, wrong, (right + others) * (1 - p))
    gain = _log_likelihood(prior, rows) - _log_likelihood(lines, rows)
    kept = (gain > _MARGIN) | (counts == 0).any(axis=1)
    return Curve(*(np.where(kept, *both) for both in zip(prior, lines, strict=True)))


def effective_priors(rules: Rules) -> Array:
    """Return the priors of each pair for which its threshold is optimal, (29)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        size = 0.5 * (rules.means / rules.deviations) ** 2 + np.log(rules.deviations)
        ratio = np.clip(np.diff(size), -_MAX_LOG_RATIO, _MAX_LOG_RATIO)
    ratio = np.where(rules.trivial[:, None], rules.means[:, :1], np.nan_to_num(ratio))
    priors: Array = expit(np.hstack([-ratio, ratio]))
    return priors


def _lines(rows: Array, wrong_rows: Array, errors: Array | None = None) -> Curve:
    """Return the lines of both sides of all pairs, fitted to rows in bins.

    A part of a wrong row is added on each side, distributed as the given errors or as
    those of a line through zero, so that log-odds stay bounded if no row is wrong.
    """
    half = wrong_rows.reshape(-1, 1)
    x, right, wrong = rows.reshape(3, -1, _N_BINS)
    weight = right + wrong
    total = np.maximum(weight.sum(axis=1, keepdims=True), _TINY)
    unit = (weight * x).sum(axis=1, keepdims=True) / total
    unit[unit == 0] = 1.0
    x = x / unit
    if errors is None:
        spread = wrong + half * weight / total
        slope = _logistic_regressions(x, right, spread, through_zero=True)[1]
        errors = weight * expit(-slope[:, None] * x)
    errors = errors.reshape(x.shape) + _TINY * weight
    wrong = wrong + half * errors / np.maximum(errors.sum(axis=1, keepdims=True), _TINY)
    offset, slope = _logistic_regressions(x, right, wrong)
    slope = np.maximum(slope / unit[:, 0], _MIN_SLOPE)
    return sided_log_odds(offset.reshape(-1, 2).T.copy(), slope.reshape(-1, 2).T.copy())


def _log_likelihood(curve: Curve, rows: Array) -> Array:
    """Return the log-likelihood of the rows of each pair, in bins."""
    x, right, wrong = rows
    odds = _SIGNS * curve.log_odds((_SIGNS * x).T).T
    total: Array = (right * log_expit(odds) + wrong * log_expit(-odds)).sum(axis=1)
    return total


def _binned(scores: Array, first: Array, second: Array) -> Array:
    """Return mean distances and weights of right and wrong rows, by side and distance.

    Scores and weights of both classes have shape (n_pairs, m). With bins, all pairs are
    fitted at once, at a negligible loss: bins are narrow near the threshold, where
    width matters, and extend to infinity.
    """
    weight, distance = first + second, np.minimum(np.abs(scores), _FARTHEST)
    total = np.maximum(weight.sum(axis=1), _TINY)
    # The mean of square roots is less sensitive to a few distant rows.
    unit = (np.einsum("pm,pm->p", np.sqrt(distance), weight) / total) ** 2
    position = distance / (distance + np.where(unit > 0, unit, 1.0)[:, None])
    cell = np.minimum((_N_BINS * position).astype(np.intp), _N_BINS - 1)
    positive = scores > 0
    cell += _N_BINS * (2 * np.arange(len(scores))[:, None] + positive)
    right, wrong = np.where(positive, (second, first), (first, second))
    size = 2 * _N_BINS * len(scores)
    x, right, wrong = (
        np.bincount(cell.ravel(), values.ravel(), minlength=size)
        for values in (weight * distance, right, wrong)
    )
    bins = np.array([x / np.maximum(right + wrong, _TINY), right, wrong])
    return bins.reshape(3, len(scores), -1)


def _logistic_regressions(
    x: Array, right: Array, wrong: Array, *, through_zero: bool = False
) -> tuple[Array, Array]:
    """Return offsets and slopes, not negative, of the log-odds of being right at x.

    This is Newton's method, projected onto the quadrant; steps that would raise the
    cost are shortened.
    """
    weight = right + wrong

    def cost(theta: Array) -> Array:
        z = theta[0][:, None] + theta[1][:, None] * x
        total: Array = (weight * np.logaddexp(0, -z) + wrong * z).sum(axis=1)
        return total

    theta = np.zeros((2, len(x)))
    best, length = cost(theta), np.ones(len(x))
    for _ in range(_MAX_ITER):
        p = expit(theta[0][:, None] + theta[1][:, None] * x)
        gradient, bend = weight * p - right, weight * p * (1 - p)
        g = np.array([gradient.sum(axis=1), (gradient * x).sum(axis=1)])
        free = (theta > 0) | (g < 0)
        free[0] &= not through_zero
        a, c = bend.sum(axis=1) + _RIDGE, (bend * x**2).sum(axis=1) + _RIDGE
        b = np.where(free.all(axis=0), (bend * x).sum(axis=1), 0.0)
        g *= free
        # With one distance for all rows, half of the step is taken by each term.
        single = a * c - b * b < _SINGULAR * a * c
        b = np.where(single, 0.0, b)
        determinant = np.where(single, 2 * a * c, a * c - b * b)
        step = np.array([c * g[0] - b * g[1], a * g[1] - b * g[0]]) / determinant
        trial = np.maximum(theta - length * step, 0.0)
        change = np.abs(trial - theta).max(axis=0)
        value = cost(trial)
        better = value <= best
        theta, best = (
            np.where(better, trial, theta),
            np.where(better, value, best),
        )
        length = np.where(better, 1.0, length / 4)
        if (change <= _TOLERANCE * (1 + theta.max(axis=0))).all():
            break
    return theta[0], theta[1]
