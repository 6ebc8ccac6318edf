"""Coupled probabilities: compiled and in NumPy, against their formula."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import heterolda.kernels as package
from heterolda.kernels.coupling import (
    MAX_LOG_ODDS,
    MIN_LOG_ODDS,
    Curve,
    couple,
    couple_log_odds,
    couple_rows,
)
from heterolda.kernels.ordered_scores import ordered_scores
from heterolda.kernels.votes import count_votes


def make_curve(rng, n_pairs, sided=False):
    """Draw a curve with all its terms."""
    if sided:
        offset, slope = rng.uniform(0, 2, size=(2, 2, n_pairs))
        zero = np.zeros(n_pairs)
        limits = zero - np.inf, zero + np.inf, np.zeros((2, n_pairs))
        return Curve(offset, slope, zero, *limits)
    slope = rng.uniform(0.1, 3, size=n_pairs)
    low, high = -rng.uniform(0.1, 2, n_pairs), rng.uniform(0.1, 2, n_pairs)
    low[::3], high[::4] = -np.inf, np.inf
    bend = 0.3 * rng.normal(size=n_pairs)
    step, sides = rng.uniform(0, 0.1, (2, n_pairs)), np.array([slope] * 2)
    return Curve(0 * sides, sides, bend, low, high, step)


def naive_log_odds(curve, scores):
    result = np.empty_like(scores)
    for r, row in enumerate(scores):
        for p, score in enumerate(row):
            s = min(max(score, curve.low[p]), curve.high[p])
            side = int(score > 0)
            odds = s * (curve.bend[p] * s + curve.slope[side, p])
            odds += curve.offset[1, p] if side else -curve.offset[0, p]
            bound = curve.high[p] if side else curve.low[p]
            times, bound = 0.0, abs(bound)
            while abs(score) >= 2 * bound:
                times, bound = times + 1, 2 * bound
            times += max(abs(score) / bound - 1, 0)
            odds += curve.step[side, p] * (times if side else -times)
            least = max(odds, 0) / 2 + MIN_LOG_ODDS if side else -MAX_LOG_ODDS
            result[r, p] = min(max(odds, least), MAX_LOG_ODDS if side else 0.0)
    return result


def naive_probabilities(log_odds, n_classes):
    odds, p = np.ones((len(log_odds), n_classes, n_classes)), 0
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            odds[:, i, j], odds[:, j, i] = (
                np.exp(log_odds[:, p]),
                np.exp(-log_odds[:, p]),
            )
            p += 1
    shares = 1 / odds.sum(axis=2)
    return shares / shares.sum(axis=1, keepdims=True)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("sided", [False, True])
def test_probabilities_are_those_of_the_formula(rng, sided):
    for k, n in product((2, 3, 5, 26), (0, 1, 8, 13)):
        n_pairs = k * (k - 1) // 2
        curve = make_curve(rng, n_pairs, sided)
        scores = 10.0 ** rng.uniform(-3, 3, size=(n, n_pairs))
        scores *= rng.choice([-1, 0, 1], size=scores.shape)
        log_odds = naive_log_odds(curve, scores)
        expected = naive_probabilities(log_odds, k)
        assert_allclose(couple(scores, curve), expected, rtol=1e-12)
        if n:
            assert_allclose(curve.log_odds(scores), log_odds, rtol=1e-13)
            assert_allclose(couple_log_odds(log_odds), expected, rtol=1e-12)
        for extreme in (1e300, -1e300, 0.0):
            p = couple(np.full((2, n_pairs), extreme), curve)
            assert np.all(p > 0)
            assert_allclose(p.sum(axis=1), 1)


@pytest.mark.skipif(package.compiled is None, reason="nothing was compiled")
def test_rows_and_their_scores_have_the_same_probabilities(rng):
    for n_pairs in (1, 3, 15):
        curve, weight = make_curve(rng, n_pairs), rng.integers(1, 8, n_pairs) / 8
        coef, intercept = rng.normal(size=(n_pairs, 4)), rng.normal(size=n_pairs)
        X = rng.normal(size=(30, 4))
        X[:3] *= 1e307
        p, votes = couple_rows(X, coef, intercept, weight, curve)
        scores = ordered_scores(X, coef, intercept)
        assert_array_equal(p, couple(scores, curve))
        assert_array_equal(votes, count_votes(scores, weight))
        for r in (0, 7, 29):  # alone as among others
            assert_array_equal(couple(scores[[r]], curve)[0], p[r])


@pytest.mark.usefixtures("kernels")
def test_the_exponential_is_right_to_the_last_bits():
    line = np.concatenate([np.linspace(-700, 700, 100_001), np.linspace(-1, 1, 9999)])
    zero = np.zeros(1)
    two, infinity = np.ones((2, 1)), np.full(1, np.inf)
    curve = Curve(0 * two, two, zero, -infinity, infinity, 0 * two)
    p = couple(line[:, None], curve)
    ratio = np.exp(np.longdouble(curve.log_odds(line[:, None])[:, 0]))
    assert_allclose(p[:, 1], np.asarray(ratio / (1 + ratio), float), rtol=2e-15)
    assert_allclose(p[:, 0], np.asarray(1 / (1 + ratio), float), rtol=2e-15)
