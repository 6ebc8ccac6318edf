"""The optimal trade-off curve, against optimization and closed forms."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from helpers.problems import random_covariance, rates_of_rule, wide_rows
from heterolda import ClassStatistics
from heterolda.exceptions import ParameterError
from heterolda.inspection import Frontier
from heterolda.tradeoff import operating_points


def make(means, cov, priors=(0.5, 0.5), classes=(0, 1)):
    moments = ClassStatistics.from_moments(classes, [1000, 1000], means, cov)
    return Frontier.from_statistics(moments, priors=priors)


def random_problem(rng, d, condition=100.0):
    means = rng.normal(size=(2, d))
    return means, np.array([random_covariance(rng, d, condition) for _ in range(2)])


def best_of_scan(q, cov, delta):
    """Return the least e2 of all rules in the plane that have e1 = q."""
    phi = np.linspace(0, 2 * np.pi, 200_001)
    w = np.column_stack([np.cos(phi), np.sin(phi)])
    s1, s2 = (np.sqrt(np.sum(w @ S * w, axis=1)) for S in cov)
    return ndtr(-np.max((w @ delta + ndtri(q) * s1) / s2))


@pytest.mark.parametrize("delta", [(0.0, 0.8), (0.9, 0.0), (0.0, 0.0), (1.0, 0.5)])
def test_neyman_pearson_in_the_plane(delta):
    """Equal means, rules beyond the end of the arc, and rules with a + b < 0."""
    delta, cov = np.array(delta), np.array([np.diag([4.0, 9.0]), np.diag([0.5, 2.0])])
    frontier = make([delta, 0 * delta], cov)
    for q in (1e-6, 0.001, 0.2, 0.7, 0.999):
        point = frontier.at("neyman-pearson", max_error={0: q})
        best = best_of_scan(q, cov, delta)
        assert point.error_rates[1] == pytest.approx(best, abs=1e-7)
        expected = rates_of_rule(point.coef, point.intercept, [delta, 0 * delta], cov)
        assert_allclose(point.error_rates, expected, atol=1e-12)
    if delta.all():
        theta = frontier.at("neyman-pearson", max_error={0: 1e-3}).theta
        assert np.sin(theta) + np.cos(theta) < 0  # no s = a / (a + b) leads there


def test_the_curve_is_monotone_and_stationary_points_are_the_best(rng):
    for d in (1, 2, 6):
        means, cov = random_problem(rng, d)
        frontier = make(means, cov)
        theta = np.linspace(*frontier.theta_range, 3001)
        e1, e2 = frontier.error_rates(theta)
        assert (e1[0], e2[0], e1[-1], e2[-1]) == (0, 1, 1, 0)
        assert np.all(np.diff(e1) >= 0)
        assert np.all(np.diff(e2) <= 0)
        for n_points in (2, 3, 7, 50):
            fpr, tpr, places = frontier.roc_curve(n_points)
            assert len(fpr) == len(tpr) == len(places) == n_points + 2
            assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
            for values in (fpr, tpr, places):
                assert np.all(np.diff(values) >= 0)
        rules = zip(*frontier._rules(frontier._curve(50)[1:-1]), strict=True)
        by_rule = np.transpose([rates_of_rule(*rule, means, cov) for rule in rules])
        assert_allclose(by_rule, [fpr[1:-1], 1 - tpr[1:-1]], rtol=1e-6, atol=1e-9)
        again = frontier.error_rates(places[10:42])
        assert_allclose([fpr[10:42], 1 - tpr[10:42]], again, rtol=1e-4, atol=1e-9)
        for p in (0.3, 0.7):
            point = frontier.at(priors=[p, 1 - p])
            assert point.error <= np.min(p * e1 + (1 - p) * e2) + 1e-12
            on_curve = frontier.error_rates(point.theta)
            assert_allclose(on_curve, point.error_rates, rtol=1e-5, atol=1e-9)
            if point.coef.any():  # not always the likelier class
                expected = rates_of_rule(point.coef, point.intercept, means, cov)
                assert_allclose(point.error_rates, expected, rtol=1e-7, atol=1e-12)
            # Costs are priors: the same rule, and the risk is what was minimized.
            costs = frontier.at(priors=[0.5, 0.5], costs=[[0, p], [1 - p, 0]])
            assert_allclose(costs.coef, point.coef, rtol=1e-9)
            assert costs.expected_cost == pytest.approx(0.5 * point.error, rel=1e-9)


def test_area_under_the_curve(rng):
    # One feature, or covariances in proportion: one direction, and a closed form.
    for s1, s2, shift in ((1.0, 1.0, 1.5), (3.0, 0.5, 0.7), (1.0, 100.0, 20.0)):
        frontier = make([[shift], [0.0]], [[[s1**2]], [[s2**2]]])
        area = norm.cdf(shift / np.hypot(s1, s2))
        assert frontier.auc == pytest.approx(area, abs=1e-12)
    S, delta = random_covariance(rng, 5), rng.normal(size=5)
    frontier = make([delta, 0 * delta], [S, 7 * S])
    distance = np.sqrt(delta @ np.linalg.solve(S, delta))
    assert frontier.auc == pytest.approx(norm.cdf(distance / np.sqrt(8)), abs=1e-10)
    # Otherwise, the trapezoid rule on the curve; no part of the second shift lies along
    # the extreme directions: the hard case.
    crossed = np.diag([4.0, 1.0, 0.2, 0.1]), np.diag([0.1, 0.3, 1.0, 5.0])
    for shift in ([1.0, 0.6, 0.4, 0.2], [0.0, 1.0, 0.7, 0.0]):
        frontier = make([shift, np.zeros(4)], crossed)
        fpr, tpr, _ = frontier.roc_curve(20_000)
        assert frontier.auc == pytest.approx(np.trapezoid(tpr, fpr), abs=1e-7)


def test_affine_maps_and_swapped_labels(rng):
    means, cov = random_problem(rng, 3)
    A = rng.normal(size=(3, 3)) * [1e-3, 1.0, 1e4]
    plain = make(means, cov)
    bound = {"criterion": "neyman-pearson"}
    requests = (
        ({"criterion": "minimax"}, {"criterion": "minimax"}),
        (bound | {"max_error": {0: 0.03}}, bound | {"max_error": {1: 0.03}}),
        (bound | {"max_error": {1: 0.6}}, bound | {"max_error": {0: 0.6}}),
        ({"costs": {0: {1: 5.0}}}, {"costs": {1: {0: 5.0}}}),
    )
    for request, swap in requests:
        point = plain.at(**request)
        moved = make(means @ A + 9.0, A.T @ cov @ A).at(**request)
        assert_allclose(moved.error_rates, point.error_rates, rtol=1e-6)
        assert_allclose(A @ moved.coef, point.coef, rtol=1e-6, atol=1e-9)
        swapped = make(means[::-1], cov[::-1]).at(**swap)
        assert_allclose(swapped.error_rates[::-1], point.error_rates, rtol=1e-6)
        assert_allclose(-swapped.coef, point.coef, rtol=1e-5)
        assert swapped.theta == pytest.approx(np.pi / 2 - point.theta, abs=1e-6)


def test_separable_classes(rng):
    X = np.column_stack([rng.normal(size=(60, 2)), np.repeat([0.0, 1.0], 30)])
    y = np.repeat(["a", "b"], 30)
    frontier = Frontier.from_statistics(ClassStatistics.from_data(X, y))
    assert frontier.separable
    assert frontier.auc == 1
    for request in (
        {"criterion": "minimax"},
        {"criterion": "neyman-pearson", "max_error": {"b": 0.1}},
    ):
        point = frontier.at(**request)
        assert_allclose(point.error_rates, 0)
        assert np.array_equal(X @ point.coef + point.intercept > 0, y == "b")
    assert_allclose(frontier.error_rates([0.1, 0.5]), 0)
    coef, intercept = frontier._rules(np.array([-1.0, 2.0]))
    scores = X @ coef.T + intercept
    assert np.array_equal(scores > 0, np.column_stack([y == "b"] * 2))
    assert_allclose(frontier.error_rates(frontier.theta_range), [[0, 1], [1, 0]])
    fpr, tpr, _ = frontier.roc_curve()
    assert np.trapezoid(tpr, fpr) == 1


def test_gaps_and_extreme_bounds(rng):
    """What is proven is next to nothing, or nothing where the error rate is zero."""
    S1, S2 = random_covariance(rng, 3), random_covariance(rng, 3)
    for distance in (0.0, 1.0, 1e3, 1e6):
        frontier = make(distance * rng.normal(size=(2, 3)), [S1, S2])
        for k, q in product((0, 1), (1e-200, 1e-9, 0.5, 1 - 1e-9)):
            point = frontier.at("neyman-pearson", max_error={k: q})
            assert 0 <= point.gap < 1e-6
            assert point.error_rates[k] == pytest.approx(q, rel=1e-6)
            assert np.all(np.isfinite(point.coef))
        point = frontier.at("minimax")
        assert 0 <= point.gap < 1e-9


@pytest.mark.parametrize("k", [0, 1])
def test_the_gap_covers_an_imprecise_root(rng, monkeypatch, k):
    """With a root on the safe side of the bound, the proven error is still proven."""
    frontier = make(*random_problem(rng, 3))
    request = {"criterion": "neyman-pearson", "max_error": {k: 0.1}}
    best, exact = frontier.at(**request), operating_points.positions

    def imprecise(*given):
        x = exact(*given)
        return x + (2 * k - 1) * 5e-7 * (1 + np.abs(x))

    monkeypatch.setattr(operating_points, "positions", imprecise)
    point = frontier.at(**request)
    ours, least = point.error_rates[1 - k], best.error_rates[1 - k]
    assert point.error_rates[k] < 0.1
    assert ours * (1 - point.gap) <= least * (1 + 1e-12) < ours
    assert point.gap < 0.01


def test_arguments_are_checked(rng, make_classes):
    frontier = make(*random_problem(rng, 2))
    with pytest.raises(ValueError, match="theta must lie in theta_range"):
        frontier.error_rates(4.0)
    for n_points in (1, 10.0, "many"):
        with pytest.raises(ValueError, match="n_points must be an integer >= 2"):
            frontier.roc_curve(n_points)
    bounded = {"criterion": "neyman-pearson"}
    for request, message in (
        ({"criterion": "best"}, "criterion must be one of"),
        ({"costs": [[1, 2], [1, 0]]}, r"costs of correct predictions .* must be zero"),
        (bounded | {"max_error": {0: 1.0}}, "max_error must be a number strictly"),
        (bounded | {"max_error": {0: True}}, "max_error must be a number strictly"),
    ):
        with pytest.raises(ParameterError, match=message):
            frontier.at(**request)
    X, y = make_classes(n_classes=4, d=3)
    stats = ClassStatistics.from_data(X, y + 1)  # labels are not indices
    frontier = Frontier.from_statistics(stats, (4, 2))
    assert repr(frontier) == "Frontier(classes=[4, 2], n_features=3)"
    assert_allclose(frontier.pencil.means[0], stats.means[[3, 1]])
    for pair in ((2, 2), (0, 1), (1, 2, 0), 3):
        with pytest.raises(ParameterError, match="pair must be two different labels"):
            Frontier.from_statistics(stats, pair)
    with pytest.raises(ValueError, match="choose two labels from"):
        Frontier.from_statistics(stats)
    with pytest.raises(TypeError, match="must be a ClassStatistics object"):
        Frontier.from_statistics(X, (1, 2))


def test_fewer_rows_than_features(rng, monkeypatch):
    X, y = wide_rows(rng)
    costs = np.array([[0, 3], [1, 0]])

    def curve_and_scores():
        stats = ClassStatistics.from_data(X, y)
        given = {"priors": [0.2, 0.3, 0.1, 0.4], "shrinkage": (0.5, 0.2)}
        frontier = Frontier.from_statistics(stats, (1, 3), **given)
        assert repr(frontier).endswith(f"n_features={X.shape[1]})")
        points = frontier.at(), frontier.at("minimax"), frontier.at(costs=costs)
        theta = np.linspace(*frontier.theta_range, 7)
        scores = [X @ point.coef + point.intercept for point in points]
        return [
            *(theta, frontier.auc, *frontier.error_rates(theta)),
            *(np.append(point.error_rates, point.theta) for point in points),
            *(score / np.abs(score).max() for score in scores),
        ]

    wide = curve_and_scores()
    monkeypatch.setattr("heterolda.statistics.moments.NARROW", 10**9)
    for one, two in zip(wide, curve_and_scores(), strict=True):
        assert_allclose(one, two, rtol=1e-6, atol=1e-8)
