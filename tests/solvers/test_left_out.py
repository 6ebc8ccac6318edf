"""Rules without one row: the closed form against moments computed again."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from heterolda import ClassStatistics, Fisher, Global
from heterolda.solvers import Moments, solve
from heterolda.solvers.left_out import arc_weights, left_out_scores


def rows_of_classes(rng, sizes, d):
    """Gaussian rows with covariances of their own, and their labels."""
    X = [
        rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 2 * rng.normal(size=d)
        for n in sizes
    ]
    return np.vstack(X), np.repeat(np.arange(len(sizes)), sizes)


def moments(X, y, weight):
    statistics = ClassStatistics.from_data(X, y, weight)
    return statistics.means, statistics.covariances(), statistics.weights


def left_out_weight(weight, row):
    """The weights without one copy of a row."""
    weight = weight.copy()
    weight[row] -= min(weight[row], 1)
    return weight


def naive_scores(x, means, cov, weights, priors, b, a):
    """Scores of the arc's rule at (b, a) and of Fisher's, by explicit inverses."""
    delta = means[0] - means[1]
    w = np.linalg.solve(b * cov[0] + a * cov[1], delta)
    arc = w @ means[1] + a * (w @ cov[1] @ w) - w @ x
    share = weights / weights.sum()
    w = np.linalg.solve(share[0] * cov[0] + share[1] * cov[1], delta)
    middle = w @ (means[0] + means[1]) / 2 + np.log(priors[1] / priors[0])
    return arc, middle - w @ x


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("frequencies", [False, True])
def test_scores_with_the_place_kept_equal_the_definition(rng, weighted, frequencies):
    """All pairs of the second of three classes, as second and as first class."""
    X, y = rows_of_classes(rng, (40, 30, 25), 3)
    weight = rng.choice([0.5, 1.0, 2.0], len(y)) if weighted else np.ones(len(y))
    means, cov, weights = moments(X, y, weight)
    priors = weights / weights.sum() if frequencies else np.array([0.5, 0.2, 0.3])
    pairs = np.array([[0, 1], [1, 2]])
    place = np.array([1, 0])
    known = Moments(means, cov, priors, weights, pairs)
    planes = solve(known, Global())
    mine = np.flatnonzero(y == 1)
    arc, fisher = left_out_scores(
        known, planes, place, X[mine], weight[mine], frequencies=frequencies
    )
    b, a = arc_weights(planes)
    assert_allclose(a + b, 1, rtol=1e-6)
    for n, row in enumerate(mine):
        means, cov, weights = moments(X, y, left_out_weight(weight, row))
        now = weights if frequencies else priors
        for p, two in enumerate(pairs):
            expected = naive_scores(
                X[row], means[two], cov[two], weights[two], now[two], b[p], a[p]
            )
            assert_allclose([arc[p, n], fisher[p, n]], expected, rtol=1e-7, atol=1e-9)


def test_of_a_trivial_rule_only_the_priors_change(rng):
    X, y = rows_of_classes(rng, (60, 2), 1)
    X[60:, 0] = X[:60].mean() + np.array([-1, 1]) * X[:60].std(ddof=1) / np.sqrt(2)
    means, cov, weights = moments(X, y, None)
    pairs = np.array([[0, 1]])
    known = Moments(means, cov, weights, weights, pairs)
    planes = solve(known, Global())
    assert planes.trivial.all()
    arc, _ = left_out_scores(known, planes, np.zeros(1, int), X[:60])
    assert_allclose(arc, np.log(2 / 59))


def test_a_class_of_which_nothing_is_left_has_no_score(rng):
    """Two rows: without one of them there is no covariance."""
    X, y = rows_of_classes(rng, (20, 2), 1)
    means, cov, weights = moments(X, y, None)
    pairs = np.array([[0, 1]])
    known = Moments(means, cov, np.ones(2), weights, pairs)
    planes = solve(known, Fisher())
    for scores in left_out_scores(known, planes, np.ones(1, int), X[20:]):
        assert np.isnan(scores).all()
