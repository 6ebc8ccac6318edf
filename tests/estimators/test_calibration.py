"""Log-odds of rules that agree with rows."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from heterolda.estimators.odds import fitted_log_odds, sided_log_odds


def log_odds_of(scores, second, weight=None):
    weight = np.ones(len(scores)) if weight is None else weight
    odds = fitted_log_odds([(scores, second, weight, np.ones(2))])
    return odds.offset[:, 0], odds.slope[:, 0]


def naive_side(x, right):
    """Offset and slope of the log-odds on one side, with a general optimizer."""

    def best(start, half, through_zero):
        def cost(v):
            z = v[1] * x if through_zero else v[0] + v[1] * x
            wrong = half @ np.logaddexp(0, z)
            return np.logaddexp(0, np.where(right, -z, z)).sum() + wrong

        return minimize(cost, start, bounds=[(0, None)] * 2).x

    slope = best([0.0, 1.0], np.full(len(x), 0.5 / len(x)), True)[1]
    share = 1 / (1 + np.exp(slope * x))
    return best([0.5, slope], 0.5 * share / share.sum(), False)


def test_scores_of_one_size_have_the_odds_of_their_side():
    """As those of a feature with two values; the two terms cannot be told apart."""
    second = np.repeat([False, True, False, True], [30, 10, 5, 45])
    scores = np.where(np.arange(90) < 40, -3, 0.1)
    offset, slope = log_odds_of(scores, second)
    expected = np.log([30 / 10.5, 45 / 5.5])  # half a wrong row is added
    assert_allclose(offset + slope * [3, 0.1], expected, rtol=1e-5)


def test_sides_are_logistic_regressions_in_which_weights_are_copies(rng):
    second = rng.random(300) < 0.4
    scores = rng.normal(np.where(second, 1, -1), 1)
    offset, slope = log_odds_of(scores, second)
    typical = np.median(np.abs(scores))
    for k, side in enumerate((-1, 1)):
        rows = side * scores > 0
        right = second[rows] == (side > 0)
        expected = naive_side(np.abs(scores[rows]), right)
        at = offset[k] + slope[k] * typical
        assert_allclose(at, expected[0] + expected[1] * typical, rtol=0.05)
    copies = rng.integers(1, 4, 300)
    weighted = log_odds_of(scores, second, copies.astype(float))
    repeated = log_odds_of(np.repeat(scores, copies), np.repeat(second, copies))
    assert_allclose(weighted, repeated, rtol=1e-6, atol=1e-9)


def test_sides_are_bounded_whatever_is_held_out():
    x = np.linspace(0.5, 2, 20)
    both = np.arange(20) % 2 == 1
    for scores in (x, -x, np.zeros(20), np.where(both, x, -x), 1e200 * x):
        for second in (both, ~both, np.ones(20, bool)):
            offset, slope = log_odds_of(scores, second)
            assert min(offset.min(), slope.min()) >= 0
            # At most about one error in twice as many rows, at the median distance.
            size = np.median(np.abs(scores))
            assert offset.max() + slope.max() * size < 8 + 1e-4 * size
    # Like `predict`, a score of zero decides for the first class.
    assert log_odds_of(np.zeros(9), np.zeros(9, bool))[0][0] > 1


def test_log_odds_are_a_line_on_each_side_up_to_twenty():
    curve = sided_log_odds(np.array([[0.5], [1.0]]), np.array([[0.1], [5.0]]))
    scores, expected = [[-100.0], [-1.0], [2.0], [3.8]], [[-10.5], [-0.6], [11.0], [20]]
    assert_allclose(curve.log_odds(np.array(scores)), expected)
    # Beyond, by a tenth for each doubling, from a probability next to one.
    curve = sided_log_odds(np.array([[0.0], [19.0]]), np.ones((2, 1)))
    assert_allclose(curve.log_odds(np.array([[2.0**10]])), 21)
