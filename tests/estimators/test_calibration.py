"""Log-odds on the sides of rules, and the temperature of probabilities."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from heterolda.estimators.calibration import Sides
from heterolda.estimators.temperature import best_temperature


def log_odds_of(scores, second, weight=None):
    weight = np.ones(len(scores)) if weight is None else weight
    found = Sides.stacked([Sides.of(scores, second, weight)]).log_odds()
    return found.offset[:, 0], found.slope[:, 0]


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


def test_sides_are_logistic_regressions(rng):
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
    assert Sides.of(np.zeros(1), np.zeros(1, bool), np.ones(1)).right[0].sum() == 1


def test_weights_are_copies(rng):
    scores, second = rng.normal(size=30), rng.random(30) < 0.5
    copies = rng.integers(1, 4, 30)
    one = log_odds_of(scores, second, copies.astype(float))
    two = log_odds_of(np.repeat(scores, copies), np.repeat(second, copies))
    assert_allclose(one, two, rtol=1e-6, atol=1e-9)


def test_without_errors_the_temperature_stays_above_zero(rng):
    p = rng.dirichlet(np.full(4, 0.2), 200)
    rows = p, p.argmax(axis=1), np.ones(200)
    found = [best_temperature(*rows, 0.1, doubt) for doubt in (0.01, 0.001, 0.0)]
    assert found[0] > found[1] > found[2] == 0.1
