"""Coupled probabilities: compiled and in NumPy, against their formula."""

import warnings
from itertools import combinations, permutations, product

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
    pair_winners,
)
from heterolda.kernels.ordered_scores import ordered_scores


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
    """Loops over the formula, in long double precision."""
    x = np.zeros((len(log_odds), n_classes, n_classes), np.longdouble)
    for p, (i, j) in enumerate(combinations(range(n_classes), 2)):
        x[:, j, i], x[:, i, j] = log_odds[:, p], -log_odds[:, p]
    x[:, np.arange(n_classes), np.arange(n_classes)] = 0
    q = 1 / np.exp(-x).sum(axis=2)
    q /= q.sum(axis=1, keepdims=True)
    p = np.zeros_like(q)
    for i, j in permutations(range(n_classes), 2):
        p[:, i] += (q[:, i] + q[:, j]) / (1 + np.exp(-x[:, i, j]))
    return np.asarray(p / p.sum(axis=1, keepdims=True), float)


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
            assert_allclose(couple(scores, curve).sum(axis=1), 1, rtol=1e-12)


@pytest.mark.usefixtures("kernels")
def test_extreme_odds_have_finite_probabilities(rng):
    """Log-odds of 700, consistent or in a circle, equal classes and infinite scores."""
    for k in (2, 3, 4, 100):
        pairs = np.array(list(combinations(range(k), 2)))
        one, zero = np.ones((2, len(pairs))), np.zeros(len(pairs))
        limits = zero - 1e300, zero + 1e300
        curve = Curve(0 * one, one, zero, *limits, 0 * one)
        circle = np.where((pairs[:, 1] - pairs[:, 0]) % 2, 1e9, -1e9)
        signs = np.sign(rng.normal(size=len(pairs)))
        scores = [circle, 1e300 + zero, zero - np.inf, zero, np.inf * signs]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            p = couple(np.array(scores), curve)
        assert np.all(p > 0)
        assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
        assert_array_equal(p[1:3].argmax(axis=1), [k - 1, 0])
        assert_allclose(p[3], 1 / k, rtol=1e-12)
        if k == 3:
            assert_allclose(p[0], 1 / 3, rtol=1e-12)


compiled = pytest.mark.skipif(package.compiled is None, reason="nothing was compiled")


@compiled
def test_rows_and_their_scores_have_the_same_probabilities(rng):
    for n_pairs in (1, 3, 15):
        curve = make_curve(rng, n_pairs)
        coef, intercept = rng.normal(size=(n_pairs, 4)), rng.normal(size=n_pairs)
        X = rng.normal(size=(30, 4))
        X[:3] *= 1e307
        p = couple_rows(X, coef, intercept, curve)
        assert_array_equal(p, couple(ordered_scores(X, coef, intercept), curve))
        for r in (0, 7, 29):  # alone as among others
            assert_array_equal(couple_rows(X[[r]], coef, intercept, curve)[0], p[r])


def make_rules(rng, n_classes, d, sided=False):
    """Draw rules that agree with each other more or less."""
    pairs = np.array(list(combinations(range(n_classes), 2)))
    centers = 2 * rng.normal(size=(n_classes, d))
    coef = centers[pairs[:, 1]] - centers[pairs[:, 0]]
    intercept = -np.sum(coef * centers[pairs].mean(axis=1), axis=1)
    coef += 0.5 * rng.normal(size=coef.shape)
    return coef, intercept, make_curve(rng, len(pairs), sided)


def check_winners(rng, X, coef, intercept, curve, margin):
    """Winners have the largest probability; others are within the margin."""
    p = couple_rows(X, coef, intercept, curve)
    guess = rng.normal(size=(X.shape[1] + 1, p.shape[1]))  # which is for speed only
    winner = pair_winners(X, coef, intercept, curve, guess, margin)
    known = winner >= 0
    assert_array_equal(winner[known], p[known].argmax(axis=1))
    second, first = np.sort(p, axis=1)[:, -2:].T
    is_large = np.abs(X).max(axis=1, initial=0) > 1e280
    close = first <= margin * (1 + 1e-9) * second
    assert np.all(known | close | is_large)
    return known | (first == second)


@compiled
@pytest.mark.parametrize("sided", [False, True])
def test_rules_that_are_left_out_do_not_change_the_winner(rng, sided):
    sizes = (2, 3, 4, 5, 9, 26, 60), ((0, 2), (1, 2), (9, 3), (300, 2), (300, 20))
    for k, (n, d) in product(*sizes):
        rules = make_rules(rng, k, d, sided)
        X = 2 * rng.normal(size=(n, d))
        X[: n // 2] = np.round(X[: n // 2])
        for margin in (1 + 1e-9, 1.01, 2.0, np.inf):
            known = check_winners(rng, X, *rules, margin)
            assert known.all() or n == 1 or margin > 1.001
    X = rng.normal(size=(500, d)) * 10.0 ** rng.uniform(-320, 308, size=(500, 1))
    check_winners(rng, X, *rules, 1 + 1e-9)
    guess = np.zeros((d + 1, k))
    undefined = pair_winners(np.nan * X[:9], *rules, guess, 1.0)
    assert np.all((undefined >= -1) & (undefined < k))


@compiled
def test_winners_next_to_boundaries(rng):
    """Rows between two classes, found by bisection: nearly equal probabilities."""
    rules = make_rules(rng, 12, 4)
    low, high = 2 * rng.normal(size=(2, 2000, 4))
    at_low = couple_rows(low, *rules).argmax(axis=1)
    for step in range(50):
        middle = (low + high) / 2
        same = couple_rows(middle, *rules).argmax(axis=1) == at_low
        low, high = (
            np.where(same[:, None], middle, low),
            np.where(same[:, None], high, middle),
        )
        if step % 7 == 0:
            check_winners(rng, low, *rules, 1 + 1e-9)
    known = check_winners(rng, low, *rules, 1 + 1e-9)
    assert not known.all()


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
