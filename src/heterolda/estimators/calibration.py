r"""Class probabilities, calibrated on labeled rows.

Along a rule's normal, the log-odds of the two classes of a pair are a function of the
score: that of the Gaussian model (`gaussian_log_odds`), or a line on each side of the
threshold, fitted to held-out rows (`fitted_log_odds`).

All log probabilities are divided by a temperature (`Evidence`, `best_temperature`),

.. math::
    q_k = \frac{p_k^{1/T}}{\sum_j p_j^{1/T}},

which keeps the order of the classes, and one half at a threshold. An overconfident
model has a temperature above one. It maximizes the likelihood of rows; rows of small
classes are scored by rules fitted without them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr

from heterolda.estimators.pair_problem import PairProblem
from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.draws import sample_of
from heterolda.foundations.roots import bracketed_roots
from heterolda.kernels.coupling import MAX_LOG_ODDS, Curve
from heterolda.kernels.ordered_scores import linear_scores
from heterolda.solvers import Global
from heterolda.solvers.rules import Rules
from heterolda.statistics.rows import Rows

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

# Weight of the wrong row that is added on each side of a rule.
_WRONG = 0.5
# Number of bins for distances from a threshold, and distance that counts as infinite.
_N_BINS = 32
_FARTHEST = 1e100
# Smallest slope of log-odds, so that scores rank rows even where errors do not fall.
_MIN_SLOPE = 1e-5
# Maximum number of iterations of a regression, and its relative tolerance.
_MAX_ITER, _TOLERANCE = 100, 1e-6
_RIDGE = 1e-12  # added to the curvatures of a regression
_SINGULAR = 1e-9  # smallest determinant, relative to its terms, of two distances

HIGHEST_TEMPERATURE = 1000.0
# Maximum number of rows for a temperature: more change the loss by less than 0.0005.
# With many classes, maximum number of scores, and minimum number of rows of a class.
_MAX_ROWS = 1000
_MAX_SCORES = 1 << 20
_MIN_ROWS = 20
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
    scores have distinct probabilities; see :func:`_growing`.

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
    )
    limit[turns] = np.minimum(turn, limit[turns])
    inverted = slope <= 0
    bend[inverted], slope[inverted] = 0.0, _GROWTH
    limit[inverted] = other[inverted] = 1.0
    return _growing(
        np.zeros((2, len(slope))),
        np.array([slope, slope]) / unit,
        np.where(mirrored, bend, -bend) / unit**2,
        -unit * np.where(mirrored, limit, other),
        unit * np.where(mirrored, other, limit),
    )


def sided_log_odds(offset: Array, slope: Array) -> Curve:
    """Return log-odds that are linear in the score s on each side of zero.

    They are ``offset[1] + slope[1] s`` if s > 0, and ``-offset[0] + slope[0] s``
    otherwise, with offsets and slopes of shape (2, n_pairs) that are not negative.
    """
    with np.errstate(divide="ignore", over="ignore"):
        low, high = np.maximum(_LARGE - offset, _GROWTH) / slope
    return _growing(offset, slope, np.zeros(low.shape), -low, high)


def _where_large(slope: Array, bend: Array) -> Array:
    """Return the positive score at which a parabola is large, or infinity."""
    square = slope**2 + 4 * bend * _LARGE
    with np.errstate(divide="ignore", over="ignore"):
        score = 2 * _LARGE / (slope + np.sqrt(np.maximum(square, 0.0)))
    return np.where((square < 0) | (slope <= 0), np.inf, score)


def _growing(
    offset: Array, slope: Array, bend: Array, low: Array, high: Array
) -> Curve:
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


def fitted_log_odds(pairs: Iterable[tuple[Array, Mask, Array, Array]]) -> Curve:
    """Return log-odds of all pairs, fitted to rows.

    Each pair has the scores of its rows, a mask of its second class, frequencies, and
    the factors of both classes by which frequencies give the priors. Half a wrong row
    is added on each side, distributed as the errors of a line through zero, so that
    log-odds stay bounded if no row is wrong. Offsets and slopes are not negative.
    """
    binned, costs = [], []
    for scores, second, frequency, factors in pairs:
        weight = frequency * factors[second.astype(np.intp)]
        binned.append(_binned(scores, second, weight))
        costs.append(factors[::-1])  # below zero, rows of the second class are wrong
    bins, half = np.stack(binned, axis=1), _WRONG * np.ravel(costs)[:, None]
    x, right, wrong = bins.reshape(3, -1, _N_BINS)
    weight = right + wrong
    total = np.maximum(weight.sum(axis=1, keepdims=True), _TINY)
    unit = (weight * x).sum(axis=1, keepdims=True) / total
    unit[unit == 0] = 1.0
    x = x / unit
    spread = half * weight / total
    slope = _logistic_regressions(x, right, wrong + spread, through_zero=True)[1]
    share = weight * expit(-slope[:, None] * x)
    wrong = wrong + half * share / np.maximum(share.sum(axis=1, keepdims=True), _TINY)
    offset, slope = _logistic_regressions(x, right, wrong)
    slope = np.maximum(slope / unit[:, 0], _MIN_SLOPE)
    return sided_log_odds(offset.reshape(-1, 2).T.copy(), slope.reshape(-1, 2).T.copy())


def _binned(scores: Array, second: Mask, weight: Array) -> Array:
    """Return mean distances and weights of right and wrong rows, by side and distance.

    With bins, all pairs are fitted at once, at a negligible loss: bins are narrow near
    the threshold, where width matters, and extend to infinity.
    """
    distance = np.minimum(np.abs(scores), _FARTHEST)
    # The mean of square roots is less sensitive to a few distant rows.
    unit = (np.sqrt(distance) @ weight / max(weight.sum(), _TINY)) ** 2
    position = distance / (distance + (unit if unit > 0 else 1.0))
    cell = np.minimum((_N_BINS * position).astype(np.intp), _N_BINS - 1)
    cell += _N_BINS * (scores > 0)
    right = (scores > 0) == second
    x, right, wrong = (
        np.bincount(cell, values, minlength=2 * _N_BINS)
        for values in (weight * distance, weight * right, weight * ~right)
    )
    return np.array([x / np.maximum(right + wrong, _TINY), right, wrong])


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


@dataclass(frozen=True)
class Evidence:
    """Scores of rows by the rules of a model, for its temperature."""

    scores: Array  # (n, n_pairs)
    codes: Index  # classes of the rows
    weights: Array  # of the rows, in proportion to the priors of their classes

    @classmethod
    def of(
        cls,
        rules: Rules,
        problem: PairProblem,
        rows: Rows,
        left_out: dict[int, tuple[Array, Array]],
    ) -> Evidence:
        """Gather scores of a sample of rows.

        In classes with left-out rows, their weights and scores replace the sample.
        """
        priors = _effective_priors(rules, problem)
        others = np.ones(len(priors), bool)
        others[list(left_out)] = False
        max_rows = min(_MAX_ROWS, _MAX_SCORES // len(rules.coef))
        sample = _subsample(rows, others, max_rows)
        scores = [linear_scores(sample.X, rules.coef.T, rules.intercept)]
        codes, weights = [sample.codes], [sample.frequencies]
        for k, (weight, score) in left_out.items():
            scores.append(score)
            codes.append(np.full(len(weight), k))
            weights.append(weight)
        code, weight = np.concatenate(codes), np.concatenate(weights)
        totals = np.maximum(np.bincount(code, weight, len(priors)), _TINY)
        return cls(np.concatenate(scores), code, weight * (priors / totals)[code])


def best_temperature(
    probabilities: Array,
    codes: Index,
    weights: Array,
) -> float:
    """Return the temperature of positive probabilities under which rows are likeliest.

    It lies between 1, as lower ones are worse for small data sets, and
    `HIGHEST_TEMPERATURE`. The derivative of the log likelihood by the inverse
    temperature b is the mean of ``log p_y - E log p``, with the expectation under the
    probabilities at b, and falls with b.
    """
    log_p = np.log(probabilities)
    true = log_p[np.arange(len(log_p)), codes]

    def slope(b: float) -> float:
        q = np.exp(b * (log_p - log_p.max(axis=1, keepdims=True)))
        expected = (q * log_p).sum(axis=1) / q.sum(axis=1)
        return float(weights @ (true - expected))

    low = 1 / HIGHEST_TEMPERATURE
    if slope(1.0) >= 0:
        return 1.0
    return 1 / float(brentq(slope, low, 1.0)) if slope(low) > 0 else 1 / low


def _subsample(rows: Rows, classes: Mask, max_rows: int) -> Rows:
    """Draw about `max_rows` rows of the classes of a mask, all in proportion."""
    codes = np.where(classes[rows.codes], rows.drawn_codes, -1)
    counts = np.bincount(codes[codes >= 0], minlength=len(classes))
    shares = counts * (max_rows / max(counts.sum(), 1))
    return rows.take(sample_of(codes, np.maximum(shares, _MIN_ROWS).astype(int)))


def _effective_priors(rules: Rules, problem: PairProblem) -> Array:
    """Return the class priors to which probabilities refer.

    Costs multiply the priors of pairs; for other criteria, they are the priors that
    make the thresholds optimal, (29). Ratios of several pairs are averaged.
    """
    criterion, n = problem.criterion, len(problem.priors)
    if criterion.costs is not None and not problem.one_vs_rest:
        log_ratio = np.diff(np.log(problem.moments.pair_priors), axis=1)[:, 0]
    elif isinstance(criterion.solver, Global):
        given: Array = problem.priors
        return given
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            z = rules.means / rules.deviations
            log_ratio = np.diff(0.5 * z**2 + np.log(rules.deviations), axis=1)[:, 0]
    log_ratio = np.nan_to_num(np.clip(log_ratio, -_MAX_LOG_RATIO, _MAX_LOG_RATIO))
    first, second = problem.pairs.T
    logs = np.bincount(second, log_ratio, n) - np.bincount(first, log_ratio, n)
    priors: Array = np.exp((logs - logs.max()) / n)
    priors /= priors.sum()
    return priors
