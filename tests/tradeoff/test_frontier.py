"""The optimal trade-off curve: against simulation, optimisation and closed forms."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from helpers.problems import random_covariance, wide_rows
from heterolda import (
    ClassStatistics,
    Frontier,
    GaussianLinearDiscriminant,
    ParameterError,
)
from heterolda.foundations.wording import percent
from heterolda.tradeoff.operating_points import positions

LEVELS = ndtr(np.linspace(-3, 3, 20))


def make(means, cov, priors=(0.5, 0.5), classes=(0, 1)):
    moments = ClassStatistics.from_moments(classes, [1000, 1000], means, cov)
    return Frontier.from_statistics(moments, priors=priors)


def random_problem(rng, d, condition=100.0):
    means = rng.normal(size=(2, d))
    return means, np.array([random_covariance(rng, d, condition) for _ in range(2)])


def rates(coef, intercept, means, cov):
    """Error rates of a stored rule, from its definition."""
    mean = means @ coef + intercept
    deviation = np.sqrt([coef @ s @ coef for s in cov])
    return norm.cdf([mean[0] / deviation[0], -mean[1] / deviation[1]])


def configurations(rng):
    """Equal, proportional, crossed and ill-conditioned pairs, and the hard case."""
    R = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    shape = random_covariance(rng, 4)
    long, short = np.diag([4.0, 1.0, 0.2, 0.1]), np.diag([0.1, 0.3, 1.0, 5.0])
    shift = np.array([1.0, 0.6, 0.4, 0.2])
    yield 1.5 * shift, shape, shape
    yield shift, shape, 9 * shape
    yield R @ shift, R @ long @ R.T, R @ short @ R.T
    ill = random_covariance(rng, 4, condition=1e6)
    yield np.linalg.cholesky(ill) @ shift, ill, random_covariance(rng, 4, 1e4)
    # No part of the shift lies along the extreme directions: the hard case.
    yield np.array([0.0, 1.0, 0.7, 0.0]), long, short


def test_monte_carlo(rng):
    """Every predicted error rate, within four standard errors of drawn points."""
    n = 100_000
    for shift, S1, S2 in configurations(rng):
        means, cov = np.array([shift, 0 * shift]), np.array([S1, S2])
        frontier = make(means, cov, priors=[0.4, 0.6])
        points = [
            frontier.at("bayes"),
            frontier.at("minimax"),
            frontier.at("neyman-pearson", max_error={0: 0.05}),
            *(frontier.at(costs={0: {1: ratio}}) for ratio in (0.2, 3.0, 20.0)),
        ]
        coef = np.array([point.coef for point in points])
        intercept = np.array([point.intercept for point in points])
        for k in (0, 1):
            X = rng.normal(size=(n, 4)) @ np.linalg.cholesky(cov[k]).T + means[k]
            second = np.mean(X @ coef.T + intercept > 0, axis=0)
            empirical = second if k == 0 else 1 - second
            predicted = np.array([point.error_rates[k] for point in points])
            sd = np.sqrt(predicted * (1 - predicted) / n)
            assert np.all(np.abs(empirical - predicted) <= 4 * sd + 1e-12)
        # Under the priors, the error is what the rates give.
        for point in points:
            error = [0.4, 0.6] @ point.error_rates
            assert point.error == pytest.approx(error, rel=1e-9)
        assert_allclose(*points[1].error_rates, rtol=1e-9)  # minimax


def reach(w, z, S, delta):
    """y2 of the rule along w that has y1 = z, with S1 = S and S2 = I; its gradient."""
    Sw = w @ S
    s1 = np.sqrt(np.sum(w * Sw, axis=-1, keepdims=True))
    s2 = np.sqrt(np.sum(w * w, axis=-1, keepdims=True))
    value = (w @ delta[:, None] - z * s1) / s2
    return value[..., 0], (delta - z / s1 * Sw - value / s2 * w) / s2


def ascend(w, z, S, delta, n_iter=100):
    """Steepest ascent from many starts at once, each with a step of its own."""
    step = np.ones((*w.shape[:-1], 1))
    value, slope = reach(w, z, S, delta)
    for _ in range(n_iter):
        trial = w + step * slope
        trial /= np.linalg.norm(trial, axis=-1, keepdims=True)
        new, gradient = reach(trial, z, S, delta)
        better = (new > value)[..., None]
        np.copyto(w, trial, where=better)
        np.copyto(slope, gradient, where=better)
        np.maximum(value, new, out=value)
        step *= np.where(better, 1.6, 0.4)
    return w, value


def test_no_rule_found_by_optimisation_beats_the_frontier(rng):
    """8 problems, 20 levels, 200 starts, and the best of them polished by BFGS."""
    excess = []
    for problem in range(8):
        d = int(rng.integers(2, 5))
        means, cov = random_problem(rng, d)
        frontier = make(means, cov)
        k = problem % 2  # whose error rate is bounded
        x = positions(frontier.arc, np.zeros(20, int), k, -ndtri(LEVELS))
        least = frontier._rates(x)[1 - k]
        point = frontier.at("neyman-pearson", max_error={k: LEVELS[7]})
        assert_allclose(point.error_rates[k], LEVELS[7], rtol=1e-9)
        assert_allclose(point.error_rates[1 - k], least[7], rtol=1e-9)
        # In the coordinates in which the other covariance is the unit matrix.
        root = np.linalg.inv(np.linalg.cholesky(cov[1 - k]))
        problem = root @ cov[k] @ root.T, root @ (means[k] - means[1 - k])
        starts = rng.normal(size=(20, 200, d))
        z = -ndtri(LEVELS)[:, None, None]
        w, value = ascend(starts, z, *problem)
        for level in range(20):
            polished = minimize(
                lambda v, *args: tuple(-part for part in reach(v, *args)),
                w[level, value[level].argmax()],
                args=(z[level, 0], *problem),
                jac=True,
                method="BFGS",
            )
            found = ndtr(-max(value[level].max(), -polished.fun))
            assert found >= least[level] - 1e-8
            excess.append(found - least[level])
    # The optimisation is a worthy opponent: it nearly always comes as near as that.
    assert np.mean(np.array(excess) < 1e-6) > 0.99


def best_of_scan(q, cov, delta):
    """Least e2 of all rules in the plane that have e1 = q."""
    phi = np.linspace(0, 2 * np.pi, 200_001)
    w = np.column_stack([np.cos(phi), np.sin(phi)])
    s1, s2 = (np.sqrt(np.sum(w @ S * w, axis=1)) for S in cov)
    return ndtr(-np.max((w @ delta + ndtri(q) * s1) / s2))


def test_neyman_pearson_beyond_the_positive_weights():
    """The optimum may have a + b < 0, where no parameter s = a / (a + b) leads."""
    means = np.array([[1.0, 0.5], [0.0, 0.0]])
    cov = np.array([np.diag([4.0, 9.0]), np.eye(2)])
    frontier = make(means, cov)
    for q in (1e-3, 1e-6):
        point = frontier.at("neyman-pearson", max_error={0: q})
        assert np.sin(point.theta) + np.cos(point.theta) < 0
        assert_allclose(
            point.error_rates, rates(point.coef, point.intercept, means, cov)
        )
        best = best_of_scan(q, cov, means[0] - means[1])
        assert point.error_rates[0] == pytest.approx(q, rel=1e-9)
        assert point.error_rates[1] == pytest.approx(best, rel=1e-8)
        assert best > 0.5
    mirrored = make(means, cov[::-1]).at("neyman-pearson", max_error={1: 1e-3})
    assert np.sin(mirrored.theta) + np.cos(mirrored.theta) < 0


def test_the_curve_is_monotone_and_rules_have_the_rates_they_promise(rng):
    for d in (1, 2, 6):
        means, cov = random_problem(rng, d)
        frontier = make(means, cov)
        low, high = frontier.theta_range
        theta = np.linspace(low, high, 301)
        e1, e2 = frontier.error_rates(theta)
        assert (e1[0], e2[0], e1[-1], e2[-1]) == (0, 1, 1, 0)
        assert np.all(np.diff(e1) >= 0)
        assert np.all(np.diff(e2) <= 0)
        coef, intercept = frontier.rule(theta[1:-1])
        assert coef.shape == (299, d)
        for k in range(0, 299, 30):
            expected = rates(coef[k], intercept[k], means, cov)
            assert_allclose([e1[k + 1], e2[k + 1]], expected, rtol=1e-6, atol=1e-12)
        one, offset = frontier.rule(theta[7])
        assert_allclose(one, coef[6], rtol=1e-12)
        assert offset == pytest.approx(intercept[6])
        for n_points in (2, 3, 7, 50):
            fpr, tpr, places = frontier.roc_curve(n_points)
            assert len(fpr) == len(tpr) == len(places) == n_points + 2
            assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
            assert fpr[1] < 1e-6 or tpr[1] < 1e-6
            assert fpr[-2] > 1 - 1e-6 or tpr[-2] > 1 - 1e-6
            for values in (fpr, tpr, places):
                assert np.all(np.diff(values) >= 0)
        inner = slice(10, 42)
        again = frontier.error_rates(places[inner])
        assert_allclose(fpr[inner], again[0], rtol=1e-4, atol=1e-9)


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
    # Otherwise, the trapezoid rule on the curve itself; also in the hard case.
    for shift, S1, S2 in configurations(rng):
        frontier = make([shift, 0 * shift], [S1, S2])
        fpr, tpr, _ = frontier.roc_curve(20_000)
        assert frontier.auc == pytest.approx(np.trapezoid(tpr, fpr), abs=1e-7)


def test_the_hard_case_and_equal_means(rng):
    """The rules beyond the end of the arc are found, to the accuracy of a scan."""
    cov = np.array([np.diag([4.0, 1.0]), np.diag([0.5, 2.0])])
    for delta in (np.array([0.0, 0.8]), np.array([0.9, 0.0]), np.zeros(2)):
        frontier = make([delta, 0 * delta], cov)
        for q in (0.001, 0.2, 0.7, 0.999):
            point = frontier.at("neyman-pearson", max_error={0: q})
            best = best_of_scan(q, cov, delta)
            assert point.error_rates[1] == pytest.approx(best, abs=1e-7)
    assert_allclose(frontier.at("minimax").error_rates, 0.5)


def test_what_must_not_matter(rng):
    """Translation, units and rotation; and with the labels the rates swap places."""
    means, cov = random_problem(rng, 3)
    units = np.array([1e-3, 1.0, 1e4])
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
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
        moved = make(means + 1e3, cov).at(**request)
        scaled = make(means * units, cov * np.outer(units, units)).at(**request)
        turned = make(means @ R.T, R @ cov @ R.T).at(**request)
        for other in (moved, scaled, turned):
            assert_allclose(other.error_rates, point.error_rates, rtol=1e-6)
        assert_allclose(moved.coef, point.coef, rtol=1e-6)
        assert_allclose(scaled.coef * units, point.coef, rtol=1e-6)
        assert_allclose(turned.coef @ R, point.coef, rtol=1e-6, atol=1e-9)
        swapped = make(means[::-1], cov[::-1]).at(**swap)
        assert_allclose(swapped.error_rates[::-1], point.error_rates, rtol=1e-6)
        assert_allclose(-swapped.coef, point.coef, rtol=1e-5)
        assert swapped.theta == pytest.approx(np.pi / 2 - point.theta, abs=1e-6)


def test_bayes_point_is_stationary_under_any_priors(rng):
    means, cov = random_problem(rng, 3)
    frontier = make(means, cov)
    for p in (0.3, 0.5, 0.7):
        point = frontier.at(priors=[p, 1 - p])
        theta = np.linspace(*frontier.theta_range, 20_001)
        e1, e2 = frontier.error_rates(theta)
        assert point.error <= np.min(p * e1 + (1 - p) * e2) + 1e-12
        on_curve = frontier.error_rates(point.theta)
        assert_allclose(on_curve, point.error_rates, rtol=1e-5, atol=1e-9)
        # Costs are priors: the same rule, and the risk is what was minimised.
        costs = frontier.at(priors=[0.5, 0.5], costs=[[0, p], [1 - p, 0]])
        assert_allclose(costs.coef, point.coef, rtol=1e-9)
        assert costs.risk == pytest.approx(0.5 * point.error, rel=1e-9)


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
    assert_allclose(frontier.error_rates(frontier.theta_range), [[0, 1], [1, 0]])
    fpr, tpr, _ = frontier.roc_curve()
    assert np.trapezoid(tpr, fpr) == 1
    coef, intercept = frontier.rule(0.5)
    assert np.array_equal(X @ coef + intercept > 0, y == "b")


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
        assert 0 <= frontier.at("minimax").gap < 1e-9


def test_places_off_the_curve_are_refused(rng):
    frontier = make(*random_problem(rng, 2))
    with pytest.raises(ValueError, match="theta must lie in theta_range"):
        frontier.error_rates(4.0)
    with pytest.raises(ValueError, match="no hyperplane"):
        frontier.rule(frontier.theta_range[0])
    for n_points in (1, 10.0, "many"):
        with pytest.raises(ValueError, match="n_points must be an integer >= 2"):
            frontier.roc_curve(n_points)
    with pytest.raises(ValueError, match="criterion must be one of"):
        frontier.at("best")


def test_pairs_are_labels(make_classes):
    X, y = make_classes(n_classes=4, d=3)
    moments = ClassStatistics.from_data(X, y + 1)  # so that places are other labels
    frontier = Frontier.from_statistics(moments, (4, 2))
    assert frontier.classes.tolist() == [4, 2]
    assert_allclose(frontier.pencil.means[0], moments.means[[3, 1]])
    for pair in ((2, 2), (0, 1), (1,), (1, 2, 0), "ab", 3):
        with pytest.raises(ParameterError, match="pair must be two different labels"):
            Frontier.from_statistics(moments, pair)
    with pytest.raises(ValueError, match="choose two labels of"):
        Frontier.from_statistics(moments)
    with pytest.raises(TypeError, match="must be a ClassStatistics object"):
        Frontier.from_statistics(X, (1, 2))


def test_in_a_notebook(rng):
    S = np.array([[[1.0, 0.2], [0.2, 2]], [[3, 0], [0, 0.5]]])
    frontier = make([[0, 0], [2, 1]], S, classes=["<i>", "b"])
    assert repr(frontier) == "Frontier(classes=['<i>', 'b'], n_features=2)"
    page = frontier._repr_html_()
    assert "<i>" not in page
    assert f"curve of {frontier.auc:.4f}" in page
    point = frontier.at("neyman-pearson", max_error={"<i>": 0.01})
    row = (
        f"1 % of &lt;i&gt; missed</th><td>1.0 %</td><td>{percent(point.error_rates[1])}"
    )
    assert row in page
    apart = make([[0, 0], [2, 1]], 0 * S)  # no variance at all
    assert "least error</th><td>0.0 %" in apart._repr_html_()


@pytest.mark.parametrize("shrinkage", ["auto", (0.5, 0.2)])
@pytest.mark.filterwarnings("ignore:with fewer rows than features")
def test_fewer_rows_than_features(rng, monkeypatch, shrinkage):
    X, y = wide_rows(rng)
    costs = np.array([[0, 3], [1, 0]])

    def everything():
        statistics = ClassStatistics.from_data(X, y)
        given = {"priors": [0.2, 0.3, 0.1, 0.4], "shrinkage": shrinkage}
        frontier = Frontier.from_statistics(statistics, (1, 3), **given)
        theta = np.linspace(*frontier.theta_range, 7)
        points = frontier.at(), frontier.at("minimax"), frontier.at(costs=costs)
        found = [theta, frontier.auc, *frontier.error_rates(theta)]
        rules = [frontier.rule(theta[1:-1])]
        for point in points:
            found += [point.error_rates, point.theta]
            rules.append((point.coef, point.intercept))
        # A model, its frontier and its other points.
        some = y < 2
        model = GaussianLinearDiscriminant(shrinkage=shrinkage, guard=False)
        model.fit(X[some], y[some])
        bound = {"criterion": "neyman-pearson", "max_error": {1: 0.01}}
        other = model.with_operating_point(**bound)
        point = model.frontier_[0].at(**bound)
        assert_allclose(point.error_rates, other.error_rates_[0], atol=1e-12)
        found += [other.error_rates_, model.frontier_[0].auc]
        rules += [(other.coef_, other.intercept_), (point.coef, point.intercept)]
        assert repr(frontier) == "Frontier(classes=[1, 3], n_features=150)"
        # Rules as scores of rows, per rule in units of their size.
        for coef, intercept in rules:
            scores = X @ np.atleast_2d(coef).T + intercept
            found.append(scores / np.abs(scores).max(axis=0))
        return found

    wide = everything()
    monkeypatch.setattr("heterolda.statistics.moments.NARROW", 10**9)
    for one, two in zip(wide, everything(), strict=True):
        assert_allclose(one, two, rtol=1e-6, atol=1e-8)
