"""The smooth refinement: its arrays, its choice, and the estimator that uses it."""

import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime, minimize
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from heterolda import (
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
    SearchInterruptedWarning,
    recommended,
)
from heterolda.estimators import progress, smooth_search
from heterolda.estimators.selection_text import reason
from heterolda.kernels.descent import LOSSES, descend, objective
from heterolda.kernels.lbfgs import minimise
from heterolda.kernels.log_odds import sides_of_log_odds
from heterolda.search.calibration import power_of_probabilities
from heterolda.search.refinement import refine_folds, refine_rows
from heterolda.search.selection import (
    NONE,
    Candidate,
    assign_folds,
    choose,
    estimate_choice,
    list_candidates,
)
from heterolda.search.smooth import Coordinates, median_size
from heterolda.search.training_data import TrainingData

LOSS_NAMES = ["error", "logistic"]


def smooth(start=None, **settings):
    return LocalNeighborhoodSearch(start, strategy="smooth", **settings)


@pytest.fixture
def pair(make_classes):
    """Two classes that are neither normal nor separable."""
    X, y = make_classes(n_classes=2, n=80, d=3, spread=0.7)
    return np.sign(X) * np.abs(X) ** 1.5, y


@pytest.fixture
def four(make_classes):
    X, y = make_classes(n_classes=4, n=50, d=3)
    return np.sign(X) * np.abs(X) ** 1.5, np.array(["a", "b", "c", "dd"])[y]


def naive_loss(m, loss, h):
    """The losses of the module at margins m."""
    return 1 / (1 + np.exp(m / h)) if loss == "error" else np.logaddexp(0, -m / h)


def naive_objective(v, X, sign, weight, start, loss, h, penalty):
    """The formula of the module, for a rule v = (offset, normal) of plain features."""
    m, m0 = (sign * (X @ u[1:] + u[0]) for u in (v, start))
    share = weight / weight.sum()
    return share @ naive_loss(m, loss, h) + penalty * share @ (m - m0) ** 2


def test_derivatives_are_those_of_the_values(rng):
    n, r = 40, 3
    Z, start = rng.normal(size=(n, r)), rng.normal(size=n)
    weight = rng.dirichlet(np.ones(n))
    loss = np.array(["error", "logistic", "error", "logistic"])
    h, penalty = np.array([0.5, 0.3, 1.0, 0.7]), np.array([0.1, 0.0, 0.02, 0.1])
    u = rng.normal(size=(3, r))
    active = np.array([0, 2, 3])
    arrays = Z, start, weight, loss, h, penalty
    values, gradient = objective(*arrays, u, active)
    for k, problem in enumerate(active):
        plain = naive_loss(Z @ u[k] + start, loss[problem], h[problem]) @ weight
        assert_allclose(values[k], plain + penalty[problem] * u[k] @ u[k])
        slope = approx_fprime(
            u[k], lambda x, k=k: objective(*arrays, x[None], active[k : k + 1])[0][0]
        )
        assert_allclose(gradient[k], slope, atol=1e-6)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_losses_at_the_ends_of_the_numbers(loss):
    x = np.array([-1e300, -800.0, -1.0, 0.0, 1.0, 800.0, 1e300])
    value, slope = LOSSES[loss][0](x)
    assert np.isfinite(value).all()
    assert np.isfinite(slope).all()
    assert np.all(np.diff(value) <= 0)
    expected = [1.0, 0.5, 0.0] if loss == "error" else [800.0, np.log(2), 0.0]
    assert_allclose(value[[1, 3, 5]], expected, atol=1e-15)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_curvature_is_bounded_as_stated(loss):
    function, bound, _ = LOSSES[loss]
    x = np.linspace(-10, 10, 100_001)
    bend = np.diff(function(x)[1]) / np.diff(x)
    assert bend.max() <= bound * (1 + 1e-6)
    assert bend.max() >= bound * (1 - 1e-3)


def test_minimise_finds_each_minimum_alone_or_together(rng):
    centre, scale = rng.normal(size=(5, 4)), 10 ** rng.uniform(-1, 1, (5, 4))

    def function(u, active):
        away = u - centre[active]
        value = np.sum(scale[active] * away**2 + away**4, axis=1)
        return value, 2 * scale[active] * away + 4 * away**3

    start, curvature = np.zeros((5, 4)), np.full(5, 20.0)
    found = minimise(function, start, curvature, tol=1e-16, max_iter=500)
    assert_allclose(found, centre, atol=1e-6)
    alone = minimise(
        lambda u, active: function(u, active + 3),
        start[3:4],
        curvature[3:4],
        tol=1e-16,
        max_iter=500,
    )
    assert_allclose(found[3], alone[0], atol=1e-7)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_refinement_is_a_minimum_of_the_plain_formula(rng, pair, loss):
    X, y = pair
    sign = np.where(y == 1, 1.0, -1.0)
    weight = rng.integers(1, 4, len(y)).astype(float)
    start = rng.normal(size=4)
    start /= median_size(X @ start[1:] + start[0], weight)
    h, penalty = 0.5, 0.05
    data = TrainingData.from_arrays(X, y, weight, None, None)
    kappa = penalty * (weight.sum() - 4) / 4
    candidate = Candidate(loss, h, kappa)
    refined = refine_rows(data, start[1:], start[0], candidate, lambda *report: None)
    assert_allclose(refined.unit, 1)
    found = np.append(refined.rule[0], -refined.rule[1:])
    arrays = X, sign, weight, start, loss, h, penalty
    reference = minimize(naive_objective, found, arrays, tol=1e-12)
    assert naive_objective(found, *arrays) < naive_objective(start, *arrays)
    assert_allclose(naive_objective(found, *arrays), reference.fun, atol=1e-9)
    assert_allclose(found, reference.x, atol=1e-3)
    if loss == "logistic":  # convex: there is no other minimum
        other = minimize(naive_objective, rng.normal(size=4), arrays, tol=1e-12)
        assert_allclose(found, other.x, atol=1e-3)


def test_coordinates_have_unit_moment_and_lead_back(rng):
    X = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3)) + 5
    # A constant feature, and one that is the sum of others.
    X = np.column_stack([X, np.full(50, 0.1), X[:, 0] + X[:, 1]])
    weight = rng.dirichlet(np.ones(50))
    space = Coordinates.from_rows(X, weight)
    assert space.Z.shape == (50, 4)
    assert_allclose((space.Z.T * weight) @ space.Z, np.eye(4), atol=1e-10)
    u = rng.normal(size=(2, 4))
    normals, offsets = space.rules(u)
    assert_allclose(X @ normals.T + offsets, space.Z @ u.T, atol=1e-10)
    assert np.all(normals[:, 3] == 0)


def test_median_of_weights_is_that_of_copies(rng):
    margins, copies = rng.normal(size=31), rng.integers(1, 4, 31)
    copied = np.repeat(margins, copies)
    assert median_size(margins, copies) == median_size(copied, np.ones(len(copied)))
    assert median_size(np.zeros(3), np.ones(3)) == 1


def test_a_fold_sees_nothing_of_its_rows(rng, pair):
    X, y = pair
    fold = rng.integers(-1, 3, len(y))
    candidates = [NONE, Candidate("error", 0.25, 0.1), Candidate("logistic", 0.5, 0.1)]
    starts = rng.normal(size=(3, 3)), rng.normal(size=3)
    data = TrainingData.from_arrays(X, y, None, None, None)
    found = refine_folds(data, fold, *starts, candidates)
    # Neither labels nor features of the rows of fold 0 change its rules.
    lies = np.where(fold == 0, 1 - y, y)
    moved = np.where(fold[:, None] == 0, 100 * X + 7, X)
    data = TrainingData.from_arrays(moved, lies, None, None, None)
    others = refine_folds(data, fold, *starts, candidates)
    assert_allclose(found.coef[:, 0], others.coef[:, 0], atol=1e-12)
    assert_allclose(found.intercept[:, 0], others.intercept[:, 0], atol=1e-12)
    assert np.all(np.abs(found.coef[1:, 1] - others.coef[1:, 1]).max(axis=1) > 1e-6)
    # Nor does it matter to the start that a fold is judged with how wrong it is there.
    assert_allclose(found.error[0, 0], others.error[0, 0])
    assert np.abs(found.error[0, 1:] - others.error[0, 1:]).max() > 1e-6
    # Errors are those of the rules that did not see the rows, of the other folds.
    held = np.flatnonzero(fold >= 0)
    rules = found.coef[1, fold[held]], found.intercept[1, fold[held]]
    wrong = (np.sum(X[held] * rules[0], axis=1) + rules[1] > 0) != (y[held] == 1)
    for f in range(3):
        assert_allclose(found.error[1, f], np.mean(wrong[fold[held] != f]))
    assert_allclose(found.error[1, 3], np.mean(wrong))


def test_folds_with_and_without_compiled_kernels(rng, pair, monkeypatch):
    X, y = pair
    # In some folds a feature is constant, so that their coordinates are fewer.
    X[:, 2] = np.where(np.arange(len(y)) == 7, X[:, 2], 1.0)
    fold = np.arange(len(y)) % 3
    candidates = [Candidate("logistic", 0.5, 0.1), NONE, Candidate("error", 0.25, 0.1)]
    starts = rng.normal(size=(3, 3)), rng.normal(size=3)
    data = TrainingData.from_arrays(X, y, None, None, None)
    compiled = refine_folds(data, fold, *starts, candidates)
    monkeypatch.setattr("heterolda.kernels.compiled", None)
    plain = refine_folds(data, fold, *starts, candidates)
    for name in ("coef", "intercept", "sides", "error"):
        assert_allclose(getattr(compiled, name), getattr(plain, name), atol=1e-6)


def test_a_pair_with_no_more_rows_than_coefficients_keeps_its_start(rng):
    X, y = rng.normal(size=(12, 20)), np.arange(12) % 2
    data = TrainingData.from_arrays(X, y, None, None, None)
    candidate = Candidate("error", 0.25, 0.003)
    start = rng.normal(size=20)
    rule = refine_rows(data, start, 0.5, candidate, lambda *report: None).rule
    assert_array_equal(rule, np.append(0.5, -start))


@pytest.mark.parametrize("distance", [0.0, 0.4])
@pytest.mark.filterwarnings("ignore::heterolda.SmallClassWarning")
def test_the_estimate_is_the_truth_where_rows_are_few_for_the_features(rng, distance):
    # Whitened with the rows held out, the votes knew their classes: 30 % instead of
    # 75 %, for rules that were worse than their starts by 20 points.
    gap, loss = [], []
    y = np.repeat(np.arange(6), 212)
    new = np.arange(len(y)) % 212 >= 12
    for _ in range(3):
        X = rng.normal(size=(len(y), 24)) + distance * rng.normal(size=(6, 24))[y]
        search = recommended(estimator__shrinkage=0.9).fit(X[~new], y[~new])
        truth = 1 - search.score(X[new], y[new])
        gap.append(search.selection_["error"] - truth)
        loss.append(truth - (1 - search.estimator_.score(X[new], y[new])))
    assert -0.15 < np.mean(gap) < 0.2
    assert np.mean(loss) < 0.05


def test_folds_keep_copies_together_and_do_not_mind_the_order(rng):
    X = rng.integers(0, 3, (90, 2)).astype(float)
    codes = rng.integers(0, 3, 90)
    fold = assign_folds(X, codes, None, 4, np.random.RandomState(0))
    assert set(fold) == {0, 1, 2, 3}
    for k in range(3):
        for row in np.unique(X, axis=0):
            assert len(set(fold[(codes == k) & np.all(row == X, axis=1)])) <= 1
    order = rng.permutation(90)
    again = assign_folds(X[order], codes[order], None, 4, np.random.RandomState(0))
    assert_array_equal(again, fold[order])


def test_classes_that_cannot_spare_a_row_are_not_held_out(rng):
    X = rng.normal(size=(14, 2))
    codes = np.array([0, 0] + [1] * 3 + [2] * 9)
    fold = assign_folds(X, codes, None, 5, np.random.RandomState(0))
    assert_array_equal(fold[:2], -1)
    assert len(set(fold[2:5])) == 3
    assert len(set(fold[5:])) == 5
    light = assign_folds(X, codes, np.full(14, 0.4), 5, np.random.RandomState(0))
    assert np.all(light[:5] == -1)
    assert np.all(light[5:] >= 0)


def test_candidates():
    everything = list_candidates("auto", "auto", "auto")
    assert everything[0] == NONE
    assert {c.loss for c in everything} == {"none", "error", "logistic"}
    assert len(everything) == 9
    assert list_candidates("error", 0.3, 2) == [Candidate("error", 0.3, 2.0)]
    for settings in [("none", "auto", "auto"), ("auto", 1.0, np.inf)]:
        assert list_candidates(*settings) == [NONE]


def test_of_nearly_equal_candidates_the_strongest_anchor_is_taken():
    ones, anchors = np.ones(100), np.array([np.inf, 3.0, 0.3, 0.03])
    wrong = np.zeros((4, 100), dtype=bool)
    wrong[0, :30] = wrong[1, :11] = wrong[2, 20:30] = wrong[3, 20:30] = True
    # One error more is less than half a standard error of 21 rows that differ.
    best, error = choose(wrong, ones, ones, anchors)
    assert best == 1
    assert_allclose(error, [0.3, 0.11, 0.1, 0.1])
    wrong[1, :20] = True
    assert choose(wrong, ones, ones, anchors)[0] == 2
    # Costs count, and weights are copies.
    costs = np.where(np.arange(100) < 20, 1.0, 5.0)
    assert choose(wrong, ones, costs, anchors)[0] == 1
    counts = np.arange(100) % 3 + 1
    copies = np.repeat(np.arange(100), counts)
    one = choose(wrong, counts, costs, anchors)
    two = choose(wrong[:, copies], np.ones(len(copies)), costs[copies], anchors)
    assert one[0] == two[0]
    assert_allclose(one[1], two[1])


def test_the_estimate_of_a_choice_is_by_rows_it_was_not_made_with(rng):
    wrong = rng.uniform(size=(6, 60)) < 0.4
    counts, costs = rng.integers(1, 4, 60) * 1.0, rng.choice([1.0, 3.0], 60)
    anchors, fold = np.array([np.inf, np.inf, 3.0, 3.0, 0.3, 0.3]), np.arange(60) % 3
    lost = 0.0
    for j in range(60):
        rest = fold != fold[j]
        best, _ = choose(wrong[:, rest], counts[rest], costs[rest], anchors)
        lost += wrong[best, j] * counts[j] * costs[j]
    arrays = wrong, counts, costs, anchors
    assert_allclose(estimate_choice(*arrays, fold), lost / (counts @ costs))
    # Of one fold only there is nothing else to choose by.
    best, errors = choose(*arrays)
    assert_allclose(estimate_choice(*arrays, np.zeros(60, dtype=int)), errors[best])


def test_the_estimate_of_a_choice_among_noise_is_not_the_fewest(rng):
    found, fewest = [], []
    for _ in range(20):
        arrays = rng.uniform(size=(18, 100)) < 0.3, np.ones(100), np.ones(100)
        anchors = np.repeat([np.inf, 3.0], 9)
        fewest.append(choose(*arrays, anchors)[1].min())
        found.append(estimate_choice(*arrays, anchors, np.arange(100) % 5))
    assert np.mean(fewest) < 0.25
    assert abs(np.mean(found) - 0.3) < 0.04


def sides_of_all(margins, sign, weight):
    """Log-odds that fit all rows."""
    fold = np.arange(len(sign)) % 2
    return sides_of_log_odds(margins, sign, weight, fold, 2)[..., -1]


def test_sides_are_logistic_regressions_that_agree_with_the_rule(rng):
    x = rng.exponential(size=20_000)
    side = rng.choice([-1.0, 1.0], len(x))
    for offset, slope in [(0.5, 1.0), (0.7, 0.0), (0.0, 2.0)]:
        # The other side has half of the slope; the second rule has another unit.
        z = offset + slope * x * np.where(side > 0, 1.0, 0.5)
        right = rng.uniform(size=len(x)) < 1 / (1 + np.exp(-z))
        margins = np.where(right, x, -x) * [[1.0], [50.0]]
        sign = np.where(right, side, -side)
        found = sides_of_all(margins, sign, np.ones(len(x)))
        assert_allclose(found[0], np.full((2, 2), offset), atol=0.15)
        assert_allclose(found[1, 0], slope / 2 / np.array([1, 50]), rtol=0.2, atol=0.1)
        assert_allclose(found[1, 1], slope / np.array([1, 50]), rtol=0.2, atol=0.1)


def naive_side(x, right):
    """Offset and slope of the log-odds on one side, with a general optimiser."""

    def best(start, half, through_zero):
        def cost(v):
            z = v[1] * x if through_zero else v[0] + v[1] * x
            wrong = half @ np.logaddexp(0, z)
            return np.logaddexp(0, np.where(right, -z, z)).sum() + wrong

        return minimize(cost, start, bounds=[(0, None)] * 2).x

    slope = best([0.0, 1.0], np.full(len(x), 0.5 / len(x)), True)[1]
    share = 1 / (1 + np.exp(slope * x))
    return best([0.5, slope], 0.5 * share / share.sum(), False)


def test_sides_of_each_fold_are_those_of_the_other_rows(rng):
    sign, fold = rng.choice([-1.0, 1.0], 300), rng.integers(0, 2, 300)
    margins = rng.normal(1, 1, 300)
    found = sides_of_log_odds(margins[None], sign, np.ones(300), fold, 2)
    typical = np.median(np.abs(margins))
    for f in range(3):
        for k, side in enumerate((-1, 1)):
            rows = (fold != f) & (side * sign * margins > 0)
            offset, slope = naive_side(np.abs(margins[rows]), margins[rows] > 0)
            at = found[0, k, 0, f] + found[1, k, 0, f] * typical
            assert_allclose(at, offset + slope * typical, rtol=0.05)


def test_weights_of_sides_are_repetitions(rng):
    margins, sign = rng.normal(0.5, 1, (3, 60)), rng.choice([-1.0, 1.0], 60)
    copies, fold = rng.integers(0, 4, 60), rng.integers(0, 3, 60)
    one = sides_of_log_odds(margins, sign, copies.astype(float), fold, 3)
    rows = np.repeat(np.arange(60), copies)
    ones = np.ones(len(rows))
    two = sides_of_log_odds(margins[:, rows], sign[rows], ones, fold[rows], 3)
    assert_allclose(one, two, rtol=1e-3, atol=1e-4)


def test_sides_are_bounded_whatever_is_held_out(rng):
    x = np.linspace(0.5, 2, 20)
    both = np.where(np.arange(20) % 2, 1.0, -1.0)
    for margins in (x, -x, np.zeros(20), x * both, np.append(x[:-1], 1e-6)):
        for sign in (both, np.ones(20), -both):
            found = sides_of_all(margins[None], sign, np.ones(20))
            assert found.shape == (2, 2, 1)
            assert found.min() >= 0
            # At most about one error in twice as many rows, at the median distance.
            assert found[0].max() + found[1].max() * np.median(x) < 8


def test_sides_of_one_class_are_one_line_through_zero(rng):
    # Without fold 0 only the first class is left.
    margins, sign = rng.normal(1, 1, (2, 40)), np.where(np.arange(40) < 10, 1.0, -1.0)
    fold = np.where(sign > 0, 0, 1)
    found = sides_of_log_odds(margins, sign, np.ones(40), fold, 2)
    assert np.all(found[0, :, :, 0] == 0)
    assert_array_equal(found[1, 0, :, 0], found[1, 1, :, 0])
    assert np.all(found[1, :, :, 0] > 0)
    assert np.all(found[1, 0, :, 2] != found[1, 1, :, 2])
    # Without the only fold nothing is left.
    alone = sides_of_log_odds(margins, sign, np.ones(40), 0 * fold, 1)
    assert_array_equal(alone[..., 0], 1)
    assert_allclose(alone[..., 1], found[..., 2], rtol=1e-4, atol=1e-6)
    empty = sides_of_log_odds(margins[:, :0], sign[:0], sign[:0], fold[:0], 2)
    assert_array_equal(empty, np.ones((2, 2, 2, 3)))


def test_log_odds_without_errors_grow_with_the_distance():
    x = np.tile(np.linspace(0.5, 2, 20), 2)
    found = sides_of_all(x[None], np.repeat([-1.0, 1.0], 20), np.ones(40))
    assert np.all(found[1] > 1)


def test_power_undoes_a_power(rng):
    p = rng.dirichlet(np.ones(4), 20_000)
    truth = np.array([rng.choice(4, p=row) for row in p])
    blunt = p**0.5 / np.sum(p**0.5, axis=1, keepdims=True)
    power = power_of_probabilities(blunt, truth, np.ones(len(p)))
    assert_allclose(power, 2, rtol=0.1)


@pytest.mark.parametrize("voting", ["weighted", "majority", "coupled"])
@pytest.mark.parametrize("strategy", ["paper", "smooth"])
def test_predictions_scores_and_probabilities_agree(four, strategy, voting):
    X, y = four
    search = LocalNeighborhoodSearch(strategy=strategy, voting=voting).fit(X, y)
    grid = np.concatenate([X, 10 * X, 1e6 * X])
    labels = search.predict(grid)
    p = search.predict_proba(grid)
    assert_allclose(p.sum(axis=1), 1)
    assert np.all(p > 0)
    assert np.isfinite(search.predict_log_proba(grid)).all()
    assert_array_equal(search.classes_[p.argmax(axis=1)], labels)
    scores = search.decision_function(grid)
    assert_array_equal(search.classes_[scores.argmax(axis=1)], labels)


def test_two_classes_agree_and_count_as_they_predict(pair):
    X, y = pair
    search = smooth(loss="error", anchor=0.01).fit(X, y)
    labels = search.predict(X)
    assert search.n_errors_ == np.count_nonzero(labels != y)
    assert search.n_errors_start_ == np.count_nonzero(search.estimator_.predict(X) != y)
    assert_array_equal(search.predict_proba(X).argmax(axis=1), labels)
    assert_array_equal((search.decision_function(X) > 0).astype(int), labels)
    assert search.history_[0][0] == search.n_errors_start_
    assert search.history_[0][-1] == search.n_errors_
    assert search.n_iter_ == len(search.history_[0]) > 2


def test_the_choice_is_explained(four):
    X, y = four
    search = smooth().fit(X, y)
    selection = search.selection_
    table = selection["candidates"]
    assert len(table) == 18
    keys = ["loss", "bandwidth", "anchor", "voting"]
    chosen = [str([row[k] for k in keys]) for row in table]
    own = table[chosen.index(str([selection[k] for k in keys]))]["error"]
    fewest = min(row["error"] for row in table)
    assert fewest <= own <= fewest + 0.05
    assert selection["reason"] == reason(table, selection)
    # The estimate is that of choosing, not the least of all.
    assert own - 0.02 < selection["error"] < 0.5
    fixed = smooth(loss="logistic", bandwidth=1, anchor=2.0, voting="coupled")
    selection = fixed.fit(X, y).selection_
    assert len(selection["candidates"]) == 1
    assert selection["error"] == selection["candidates"][0]["error"]
    assert [selection[k] for k in keys] == ["logistic", 1.0, 2.0, "coupled"]
    assert not hasattr(search.set_params(strategy="paper").fit(X, y), "selection_")


def test_the_reason_is_what_was_compared():
    def row(loss, anchor, error, voting="weighted", **more):
        row = {"loss": loss, "bandwidth": np.nan, "anchor": anchor, "voting": voting}
        return row | {"error": error} | more

    start, error = row("none", np.inf, 0.042), row("error", 0.3, 0.045)
    logistic = row("logistic", 0.03, 0.0421)
    three = [start, error, logistic]
    assert reason(three, start | {"error": 0.05}) == (
        "Of 3 candidates the start itself had the fewest errors at rows held out, "
        "4.2 %; the best refinement had nearly as many."
    )
    assert reason(three, error) == (
        "Of 3 candidates the refinement with loss 'error' and anchor 0.3 was taken, "
        "with 4.5 % errors at rows held out: the start itself had the fewest, 4.2 %, "
        "but not clearly fewer."
    )
    moved = row("error", 3.0, 0.01, "coupled", transformation="auto")
    assert reason([*three, moved], moved) == (
        "Of 4 candidates the refinement with loss 'error' and anchor 3 of transformed "
        "features (voting 'coupled') had the fewest errors at rows held out, 1.0 %; "
        "the start itself had 4.2 %."
    )
    weighted = [start | {"weight": 0.5}, error | {"weight": 0.0}]
    assert reason([*weighted, logistic | {"weight": 0.5}], start) == (
        "The rules of 2 of 3 candidates were averaged, all with few errors at rows "
        "held out; the start itself had the fewest, 4.2 %; the best refinement had "
        "nearly as many."
    )
    same = [start, error | {"error": 0.042}]
    assert reason(same, start) == (
        "All 2 candidates had 4.2 % errors at rows held out: the start itself was "
        "taken."
    )
    assert reason([*same, logistic], start).endswith("the best refinement had as many.")
    assert reason([error], error) == (
        "The only candidate, the refinement with loss 'error' and anchor 0.3, had "
        "4.5 % errors at rows held out."
    )
    assert reason([], start) == (
        "Nothing was compared at rows held out: the start itself was taken."
    )


@pytest.mark.parametrize("settings", [{"loss": "none"}, {"anchor": np.inf}])
def test_no_refinement_is_the_start(four, settings):
    X, y = four
    search = smooth(voting="weighted", **settings).fit(X, y)
    start = GaussianLinearDiscriminant().fit(X, y)
    assert_array_equal(search.coef_, start.coef_)
    assert_array_equal(search.intercept_, start.intercept_)
    assert_array_equal(search.predict(X), start.predict(X))


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_a_strong_anchor_holds(four, loss):
    X, y = four
    start = GaussianLinearDiscriminant().fit(X, y)
    far, near = (smooth(loss=loss, anchor=k).fit(X, y) for k in (1e-3, 1e6))
    assert_allclose(near.coef_, start.coef_, rtol=1e-3, atol=1e-5)
    assert np.abs(far.coef_ - start.coef_).max() > 0.01


STARTS = [
    GaussianLinearDiscriminant(voting="majority"),
    LinearDiscriminantAnalysis(),
    LogisticRegression(),
    LinearSVC(),
]


@pytest.mark.parametrize("start", STARTS, ids=lambda start: type(start).__name__)
def test_any_linear_classifier_is_a_start(four, start):
    X, y = four
    search = smooth(start).fit(X, y)
    assert search.score(X, y) > 0.5
    votings = [row["voting"] for row in search.selection_["candidates"][:2]]
    assert votings == [getattr(start, "voting", "weighted"), "coupled"]
    frozen = FrozenEstimator(clone(start).fit(X, y))
    assert smooth(frozen).fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_linear_maps_of_the_features_do_not_matter(rng, four, loss):
    X, y = four
    A = np.linalg.qr(rng.normal(size=(3, 3)))[0] * [1.0, 30.0, 0.02]
    settings = {"loss": loss, "anchor": 0.1, "voting": "weighted"}
    one = smooth(**settings).fit(X, y)
    two = smooth(**settings).fit(X @ A + [5.0, -100.0, 1e3], y)
    # Each start is a minimum up to the solver's tolerance, and has any length.
    moved = two.coef_ @ A.T
    scale = np.linalg.norm(one.coef_, axis=1) / np.linalg.norm(moved, axis=1)
    assert_allclose(moved * scale[:, None], one.coef_, rtol=0.02, atol=0.02)


def test_units_and_origins_do_not_matter(rng, four):
    X, y = four
    size, shift = 10 ** rng.uniform(-3, 3, 3), rng.normal(size=3)
    one, two = smooth().fit(X, y), smooth().fit((X + shift) * size, y)
    assert str(one.selection_) == str(two.selection_)
    agree = one.predict(X) == two.predict((X + shift) * size)
    assert agree.mean() > 0.99


def test_weights_are_repetitions(rng, four):
    X, y = four
    copies = rng.integers(0, 3, len(y))
    # Rows of a class all of weight zero would be refused.
    rows = rng.permutation(np.repeat(np.arange(len(y)), copies))
    one = smooth().fit(X, y, sample_weight=copies)
    two = smooth().fit(X[rows], y[rows])
    for key in ("loss", "anchor", "voting"):
        assert one.selection_[key] == two.selection_[key]
    assert_allclose(one.selection_["error"], two.selection_["error"])
    assert_allclose(one.coef_, two.coef_, rtol=1e-4, atol=1e-6)
    assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-3)
    assert_allclose(one.n_errors_, two.n_errors_)


def test_classes_may_change_places(pair):
    X, y = pair
    for settings in ({"loss": "error"}, {"loss": "logistic"}):
        one = smooth(anchor=0.1, **settings).fit(X, y)
        two = smooth(anchor=0.1, **settings).fit(X, 1 - y)
        length = np.linalg.norm(one.coef_) / np.linalg.norm(two.coef_)
        assert_allclose(-two.coef_ * length, one.coef_, rtol=0.02, atol=0.02)


def test_result_does_not_depend_on_the_jobs(four):
    X, y = four
    one, two = (smooth(n_jobs=n).fit(X, y) for n in (1, 3))
    assert_array_equal(one.coef_, two.coef_)
    assert str(one.selection_) == str(two.selection_)
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_arrays_need_not_be_aligned(pair):
    def unaligned(a):
        moved = np.empty(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
        moved[:] = a
        return moved

    X, y = pair
    weight = np.arange(len(y)) % 3 + 1.0
    one = smooth(loss="error").fit(X, y, weight)
    two = smooth(loss="error").fit(unaligned(X), y, unaligned(weight))
    assert_array_equal(one.coef_, two.coef_)


def test_class_weight_moves_the_rule(pair):
    X, y = pair
    first, second = (smooth(class_weight={k: 20}).fit(X, y) for k in (0, 1))
    for k, model in enumerate((first, second)):
        missed = [np.sum(m.predict(X[y == k]) != k) for m in (first, second)]
        assert missed[k] == min(missed)
        assert np.mean(model.predict(X) == k) > 0.5
    assert np.any(first.predict(X) != second.predict(X))


@pytest.mark.filterwarnings("ignore::heterolda.SmallClassWarning")
@pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning")
@pytest.mark.parametrize(
    "change",
    [
        lambda X: np.column_stack([X, np.full(len(X), 0.1)]),
        lambda X: np.column_stack([X, X]),
        lambda X: X + 1e9,
        lambda X: X * 1e-100,
        lambda X: X * 1e100,
        lambda X: X[:, :1] * 0 + 3.0,
        lambda X: np.round(X),
        lambda X: X.astype(np.float32),
    ],
    ids=["constant", "twice", "far", "small", "large", "same", "lattice", "single"],
)
def test_awkward_features(four, change):
    X, y = four
    X = change(X)
    search = recommended().fit(X, y)
    assert np.isfinite(search.coef_).all()
    p = search.predict_proba(X)
    assert np.isfinite(p).all()
    assert_array_equal(search.classes_[p.argmax(axis=1)], search.predict(X))
    if X.shape[1] > 1:
        assert search.score(X, y) > 0.5


@pytest.mark.filterwarnings("ignore::heterolda.SmallClassWarning")
def test_fewer_rows_than_features(rng):
    y = np.repeat(np.arange(4), 5)
    X = rng.normal(size=(20, 40))
    X[np.arange(20), y] += 8
    for settings in ({}, {"loss": "error", "anchor": 0.01}):
        search = recommended(**settings).fit(X, y)
        assert np.isfinite(search.coef_).all()
        assert search.score(X, y) > 0.9


def test_separable_classes(rng):
    y = np.repeat(np.arange(4), 40)
    X = rng.normal(size=(160, 3)) + 30 * np.eye(4)[y][:, :3]
    for settings in ({}, {"loss": "logistic", "anchor": 1e-3}):
        search = smooth(**settings).fit(X, y)
        assert search.score(X, y) == 1
        assert search.predict_proba(X).max(axis=1).min() > 0.9


def test_an_outlier_does_not_break_the_fit(rng, pair):
    X, y = pair
    X = np.concatenate([X, [[1e6, -1e6, 1e6]]])
    y = np.append(y, 0)
    search = smooth(LogisticRegression(max_iter=5000), loss="logistic", anchor=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    assert np.isfinite(search.coef_).all()


def test_classes_too_small_to_hold_out_keep_their_start(rng):
    X = np.array([[0.0, 0.0], [1.0, 0.3], [5.0, 5.0], [6.0, 5.5]])
    y = np.array([0, 0, 1, 1])
    search = smooth(LogisticRegression()).fit(X, y)
    assert search.selection_["loss"] == "none"
    assert_array_equal(search.coef_, search.estimator_.coef_)
    assert np.isfinite(search.predict_proba(X)).all()
    with pytest.raises(ValueError, match="1 or less"):
        smooth().fit(X[1:3], y[1:3])


@pytest.mark.parametrize("stage", [1, 2])
def test_interrupt_leaves_usable_rules(four, monkeypatch, stage):
    X, y = four
    calls = []

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == stage:
            raise KeyboardInterrupt
        return wait(*args, **kwargs)

    wait = progress.wait
    monkeypatch.setattr(progress, "wait", interrupted)
    search = smooth(loss="error", anchor=0.1, n_jobs=2)
    with pytest.warns(SearchInterruptedWarning):
        search.fit(X, y)
    assert search.score(X, y) > 0.5
    assert search.selection_["loss"] == ("none" if stage == 1 else "error")
    if stage == 1:
        assert_array_equal(search.coef_, search.estimator_.coef_)


@pytest.mark.parametrize(
    ("place", "n_classes"),
    [("starts", 2), ("starts", 4), ("choose", 2), ("power_of_probabilities", 4)],
)
def test_interrupt_of_the_choice_leaves_the_start(four, monkeypatch, place, n_classes):
    X, y = (part[: 50 * n_classes] for part in four)

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    class Start(GaussianLinearDiscriminant):
        n_fits = 0

        def fit(self, *args, **kwargs):
            Start.n_fits += 1
            if place == "starts" and Start.n_fits == 3:
                raise KeyboardInterrupt
            return super().fit(*args, **kwargs)

    if place != "starts":
        monkeypatch.setattr(smooth_search, place, interrupted)
    search = smooth(Start())
    with pytest.warns(SearchInterruptedWarning, match="after 0 of"):
        search.fit(X, y)
    assert_array_equal(search.coef_, search.estimator_.coef_)
    assert_array_equal(search.predict(X), search.estimator_.predict(X))
    assert search.selection_["loss"] == "none"
    assert search.selection_["candidates"] == []
    assert np.isnan(search.selection_["error"])
    expected = search.estimator_.predict_proba(X)
    assert_allclose(search.predict_proba(X), expected, atol=0.2)


def test_interrupt_of_the_start_escapes(four):
    class Start(GaussianLinearDiscriminant):
        def fit(self, *args, **kwargs):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        smooth(Start()).fit(*four)


def test_verbose_tells_the_course(four, capsys):
    smooth(verbose=2, loss="error", anchor=0.1).fit(*four)
    told = capsys.readouterr().out
    assert "iteration 1, " in told
    assert "[6/6]" in told
    smooth(verbose=1).fit(*four)
    told = capsys.readouterr().out.splitlines()
    assert re.match(r"Of 18 candidates the .* %.*\. Expected error: 0\.\d{4}$", told[0])
    assert len(told) == 7


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "hinge"}, "'loss' parameter"),
        ({"bandwidth": 0}, "'bandwidth' parameter"),
        ({"bandwidth": "wide"}, "'bandwidth' parameter"),
        ({"bandwidth": 1e-7}, "'bandwidth' parameter"),
        ({"bandwidth": 1e7}, "'bandwidth' parameter"),
        ({"bandwidth": np.inf}, "'bandwidth' parameter"),
        ({"bandwidth": True}, "'bandwidth' parameter"),
        ({"bandwidth": True, "loss": "none"}, "'bandwidth' parameter"),
        ({"anchor": True}, "'anchor' parameter"),
        ({"anchor": 1e7}, "'anchor' parameter"),
        ({"anchor": np.nan}, "'anchor' parameter"),
        ({"anchor": 0}, "'anchor' parameter"),
        ({"anchor": -1.0}, "'anchor' parameter"),
        ({"voting": "accuracy"}, "'voting' parameter"),
        ({"early_stopping": True}, "early_stopping is for the strategies"),
    ],
)
def test_bad_settings_are_named(four, settings, message):
    with pytest.raises(ValueError, match=message):
        smooth(**settings).fit(*four)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("bandwidth", [1e-6, 1e6])
@pytest.mark.parametrize("anchor", [1e-300, 1e-6, 1e6])
def test_extreme_settings_give_no_warning(four, loss, bandwidth, anchor):
    X, y = four
    search = smooth(loss=loss, bandwidth=bandwidth, anchor=anchor).fit(X, y)
    assert np.isfinite(search.coef_).all()
    assert np.isfinite(search.predict_proba(X)).all()


def test_recommended_takes_overrides(four):
    X, y = four
    search = recommended(n_jobs=2, estimator__shrinkage=0.5, loss="logistic")
    assert not hasattr(search, "coef_")
    assert search.estimator.shrinkage == 0.5
    assert search.fit(X, y).selection_["loss"] in ("logistic", "none")
    with pytest.raises(ValueError, match="Invalid parameter 'shrinkage'"):
        recommended(shrinkage=0.5)


def test_probabilities_of_a_refined_rule_are_calibrated(rng):
    # Classes that are far from normal: the Gaussian posterior along the normal is not.
    def draw(n):
        y = rng.integers(0, 2, n)
        X = rng.exponential(size=(n, 2)) * (1 + 2 * y[:, None])
        return X, y

    search = recommended().fit(*draw(4000))
    X, y = draw(20_000)
    p = search.predict_proba(X)[:, 1]
    bins = np.digitize(p, np.quantile(p, np.linspace(0, 1, 11)[1:-1]))
    gaps = [abs(p[bins == b].mean() - y[bins == b].mean()) for b in np.unique(bins)]
    assert np.mean(gaps) < 0.05


@pytest.mark.check
def test_probabilities_from_few_rows_are_not_reckless():
    # A side without errors held out once had a slope of hundreds.
    losses = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        y = np.arange(1040) % 2
        X = rng.normal(size=(1040, 2)) + 2 * y[:, None]
        p = recommended().fit(X[:40], y[:40]).predict_proba(X[40:])
        losses.append(-np.log(p[np.arange(1000), y[40:]]).mean())
    assert np.mean(losses) < 0.3
    assert max(losses) < 0.5


def draw_four(rng, n):
    """Four classes of different covariances that overlap."""
    y = rng.integers(0, 4, n)
    spread = np.array([[0.5, 2.0], [2.0, 0.5], [1.0, 1.0], [2.0, 2.0]])
    centre = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0], [3.0, 3.0]])
    return rng.normal(size=(n, 2)) * spread[y] + centre[y], y


@pytest.mark.parametrize("class_weight", [None, {0: 20.0}, {0: 0.05}])
@pytest.mark.parametrize("voting", ["weighted", "coupled"])
def test_probabilities_of_four_classes_are_calibrated(rng, class_weight, voting):
    # Costs are as good as frequencies: the probabilities are those of the costs.
    search = recommended(class_weight=class_weight, voting=voting, loss="none")
    search.fit(*draw_four(rng, 2000))
    X, y = draw_four(rng, 20_000)
    p = search.predict_proba(X)
    cost = np.array([(class_weight or {}).get(k, 1.0) for k in y])
    top, hit = p.max(axis=1), search.predict(X) == y
    bins = np.minimum((10 * top).astype(int), 9)
    assert np.abs(np.bincount(bins, cost * (top - hit))).sum() / cost.sum() < 0.05


def test_refine_stops_where_the_anchor_wins(rng):
    Z = np.column_stack([np.ones(30), rng.normal(size=(30, 2))])
    start, weight = rng.normal(size=30), np.full(30, 1 / 30)
    loss, penalty = np.array(["error"]), np.array([1e9])
    u = descend(Z, start, weight, loss, np.ones(1), penalty)
    assert np.abs(u).max() < 1e-8
