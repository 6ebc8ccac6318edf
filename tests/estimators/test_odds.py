"""Log-odds of scores agree with rows: those of the model, and lines."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

from heterolda.estimators.odds import (
    effective_priors,
    fitted_log_odds,
    gaussian_log_odds,
    sided_log_odds,
)
from heterolda.solvers.rules import Rules, Status

MODEL_ROWS = 10


def log_odds_of(scores, second, weight=None):
    weight = np.ones(len(scores)) if weight is None else weight
    odds = fitted_log_odds([(scores, second, weight, np.ones(2))])
    return odds.offset[:, 0], odds.slope[:, 0]


def rules_of(means, deviations, status=Status.CERTIFIED):
    """Rules with these moments of scores, of shape (n_pairs, 2)."""
    n = len(means)
    error, none = np.full(n, 0.1), np.zeros(n, int)
    status = np.broadcast_to(status, n)
    moments = np.array(means, float), np.array(deviations, float)
    return Rules(np.ones((n, 1)), np.zeros(n), error, error, none, status, *moments)


def naive_side(x, right, weight, n_wrong=0.5):
    """Offset and slope of the log-odds on one side, with a general optimizer.

    `right` is the share of each row that counts as right.
    """

    def best(start, extra, through_zero):
        def cost(v):
            z = v[1] * x if through_zero else v[0] + v[1] * x
            wrong = weight * (1 - right) + n_wrong * extra / extra.sum()
            right_cost = (weight * right) @ np.logaddexp(0, -z)
            return right_cost + wrong @ np.logaddexp(0, z)

        return minimize(cost, start, bounds=[(0, None)] * 2).x

    slope = best([0.0, 1.0], weight, True)[1]
    return best([0.5, slope], weight / (1 + np.exp(slope * x)), False)


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
        size = np.abs(scores[rows])
        expected = naive_side(size, right, np.ones(len(size)))
        at = offset[k] + slope[k] * typical
        assert_allclose(at, expected[0] + expected[1] * typical, rtol=0.05)
    copies = rng.integers(1, 4, 300)
    weighted = log_odds_of(scores, second, copies.astype(float))
    repeated = log_odds_of(np.repeat(scores, copies), np.repeat(second, copies))
    assert_allclose(weighted, repeated, rtol=1e-6, atol=1e-9)


def test_rows_are_drawn_toward_the_model_and_pairs_share_a_wrong_row(rng):
    """Equation by equation, on rows that are not in bins; a model far from the rows."""
    prior = gaussian_log_odds(rules_of(np.tile([-4.0, 5.0], (6, 1)), np.ones((6, 2))))
    factors, pairs = np.array([0.5, 1.6]), []
    for _ in range(6):
        second = rng.random(60) < 0.4
        scores = np.round(rng.normal(np.where(second, 1, -1), 1.5) * 2) / 2 + 0.25
        pairs.append((scores, second, rng.integers(1, 3, 60).astype(float), factors))
    curve = fitted_log_odds(pairs, prior)
    for pair, (scores, second, frequency, _) in enumerate(pairs):
        p = expit(np.abs(prior.log_odds(np.tile(scores, (6, 1)).T)[:, pair]))
        n = frequency.sum()
        for k, side in enumerate((-1, 1)):
            rows = side * scores > 0
            right = (second == (side > 0))[rows]
            label = (n * right + MODEL_ROWS * p[rows]) / (n + MODEL_ROWS)
            weight = (frequency * factors[second.astype(int)])[rows]
            size = np.abs(scores[rows])
            n_wrong = 0.5 * factors[1 - k] / 6**0.25
            weight = weight * (n + MODEL_ROWS) / n
            expected = naive_side(size, label, weight, n_wrong)
            typical = np.median(size)
            at = curve.offset[k, pair] + curve.slope[k, pair] * typical
            assert_allclose(at, expected[0] + expected[1] * typical, rtol=0.1)


def test_the_model_is_kept_where_it_is_better_than_lines(rng):
    """A parabola of Gaussian classes; not if the rows contradict it; nor with none."""
    rules = rules_of([[-1.0, 2.0], [-1.0, 2.0]], [[0.7, 3.0], [0.7, 3.0]])
    prior, priors = gaussian_log_odds(rules), effective_priors(rules)[0]
    n = np.round(20_000 * priors).astype(int)
    second = np.repeat([False, True], n)
    gaussian = rng.normal(np.where(second, 2, -1), np.where(second, 3, 0.7))
    others = rng.laplace(np.where(second, 0.3, -0.3), 1)
    pairs = [
        (scores, second, np.ones(len(scores)), np.ones(2))
        for scores in (gaussian, others)
    ]
    curve = fitted_log_odds(pairs, prior)
    s = np.linspace(-9, 9, 50)[:, None] * [1, 1]
    same = np.isclose(curve.log_odds(s), prior.log_odds(s)).all(axis=0)
    assert_array_equal(same, [True, False])
    assert (curve.bend == 0)[1]
    empty = np.zeros(0), np.zeros(0, bool), np.zeros(0), np.ones(2)
    one_class = np.ones(9), np.ones(9, bool), np.ones(9), np.ones(2)
    kept = fitted_log_odds([empty, one_class], prior)
    assert_array_equal(kept.log_odds(s), prior.log_odds(s))


def test_effective_priors_make_thresholds_optimal(rng):
    means = rng.uniform([-3, 0.5], [-0.5, 3], (8, 2))
    deviations = rng.uniform(0.5, 2, (8, 2))
    p1, p2 = effective_priors(rules_of(means, deviations)).T
    first, second = norm.pdf(0, means, deviations).T
    assert_allclose(p1 * first, p2 * second)
    trivial = rules_of([[-1.0, -1.0]], np.zeros((1, 2)), Status.TRIVIAL)
    assert_allclose(effective_priors(trivial), [[expit(1.0), expit(-1.0)]])


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
