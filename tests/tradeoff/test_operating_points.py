"""Criteria, costs and bounds of the estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from helpers.problems import rates_of_rule
from heterolda import GaussianLinearDiscriminant
from heterolda.exceptions import TrivialRuleWarning
from heterolda.solvers import Global

COSTS = np.array([[0, 1, 2, 9], [3, 0, 1, 1], [1, 1, 0, 0.2], [1, 5, 1, 0]])


@pytest.fixture
def two(make_classes):
    return make_classes(n_classes=2, n=150, d=3, spread=0.8)


@pytest.fixture
def four(make_classes):
    return make_classes(n_classes=4, n=80, d=3)


def rates(model, k=0):
    """Return the error rates of a pair under the model, from their definition."""
    pair, stats = model.pairs_[k], model.statistics_
    moments = stats.means[pair], stats.covariances()[pair]
    return rates_of_rule(model.coef_[k], model.intercept_[k], *moments)


REQUESTS = [
    {"criterion": "minimax"},
    {"criterion": "neyman-pearson", "max_error": {1: 0.02}},
    {"costs": [[0, 5], [1, 0]]},
    {"costs": {0: {1: 0.1}}},
]


@pytest.mark.parametrize("request_", REQUESTS)
def test_fit_operating_point_and_frontier_agree(two, request_):
    X, y = two
    frame = pd.DataFrame(X, columns=list("abc"))
    start = GaussianLinearDiscriminant(
        priors=[0.3, 0.7], shrinkage=0.0, choose_on="model", solver=Global(gap=1e-5)
    ).fit(frame, y)
    model = clone(start).set_params(**request_).fit(frame, y)
    e = rates(model)
    assert_allclose(model.error_rates_, [e], rtol=1e-9)
    assert model.model_error_[0] == pytest.approx([0.3, 0.7] @ e, rel=1e-9)
    assert 0 <= model.gap_[0] <= 1e-3
    if model.criterion == "minimax":
        assert e[0] == pytest.approx(e[1], rel=1e-9)
    if model.max_error is not None:
        assert e[1] == pytest.approx(0.02, rel=1e-9)
    price = np.array([5, 1]) if isinstance(model.costs, list) else np.array([0.1, 1])
    price = np.ones(2) if model.costs is None else price
    assert model.expected_cost_[0] == pytest.approx([0.3, 0.7] * price @ e, rel=1e-9)
    # Another operating point is another fit, and changes nothing of the first.
    before = pickle.dumps(start)
    moved = start.with_operating_point(**request_)
    assert pickle.dumps(start) == before
    for name in (
        "coef_",
        "intercept_",
        "model_error_",
        "expected_cost_",
        "gap_",
        "priors_",
    ):
        assert_array_equal(getattr(moved, name), getattr(model, name))
    assert_array_equal(moved.predict_proba(frame), model.predict_proba(frame))
    assert list(moved.feature_names_in_) == list("abc")
    assert_array_equal(moved.with_operating_point().coef_, start.coef_)
    # The frontier gives the same rule, from moments alone.
    point = start.frontier_[0].at(**request_)
    assert_allclose(point.coef, moved.coef_[0], rtol=1e-9)
    assert point.intercept == pytest.approx(moved.intercept_[0], rel=1e-9)
    assert point.expected_cost == pytest.approx(moved.expected_cost_[0], rel=1e-9)


def test_priors_and_shrinkage_of_another_operating_point(two):
    X, y = two
    start = GaussianLinearDiscriminant(
        choose_on="model", priors=[0.2, 0.8], shrinkage=0.7
    ).fit(X, y)
    point = start.frontier_[0].at(priors={1: 3, 0: 1})
    moved = start.with_operating_point(priors={0: 1, 1: 3})
    assert point.error == pytest.approx(moved.model_error_[0], rel=1e-9)
    assert_allclose(start.with_operating_point(priors=None).priors_, 0.5)
    minimax = start.with_operating_point("minimax")
    assert_allclose(minimax.priors_, [0.2, 0.8])
    for later in (None, "cv"):  # parameters set later belong to the next fit
        start.set_params(shrinkage=later)
        again = start.with_operating_point("minimax")
        assert_array_equal(again.coef_, minimax.coef_)
        assert again.shrinkage == 0.7
    with pytest.raises(NotFittedError):
        GaussianLinearDiscriminant().with_operating_point("minimax")


def test_rows_of_two_classes_choose_another_operating_point(two):
    start = GaussianLinearDiscriminant().fit(*two)
    before = start.left_out_error_rates_[0]
    minimax = start.with_operating_point("minimax")
    assert minimax.left_out_error_rates_.max() < before.max()
    moved = start.with_operating_point("neyman-pearson", max_error={1: 0.02})
    first, second = moved.left_out_error_rates_[0]
    assert second <= 0.02
    assert first >= before[0]
    # The curve is kept, and leads back.
    again = moved.with_operating_point().with_operating_point("minimax")
    assert_array_equal(again.coef_, minimax.coef_)


def test_a_chosen_shrinkage_is_kept_along_the_frontier(rng):
    y = np.arange(24) % 2
    X = rng.normal(size=(24, 8)) + y[:, None]
    model = GaussianLinearDiscriminant(shrinkage="cv").fit(X, y)
    assert model.shrinkage_.to_pooled.any()
    moved = model.with_operating_point("minimax")
    again = GaussianLinearDiscriminant(shrinkage="cv", criterion="minimax").fit(X, y)
    assert_allclose(moved.coef_, again.coef_, rtol=1e-12)
    assert_allclose(moved.coef_[0], model.frontier_[0].at("minimax").coef, rtol=1e-9)


@pytest.mark.parametrize("solver", ["global", "r-hld-2"])
def test_costs_of_four_classes_are_priors_of_pairs(four, solver):
    X, y = four
    priors = np.array([0.1, 0.2, 0.3, 0.4])
    model = GaussianLinearDiscriminant(
        solver=solver, priors=priors, costs=COSTS, random_state=0
    ).fit(X, y)
    for k, (i, j) in enumerate(model.pairs_):
        rows = (y == i) | (y == j)
        p = priors[[i, j]] * [COSTS[i, j], COSTS[j, i]]
        alone = GaussianLinearDiscriminant(
            solver=solver, priors=p / p.sum(), random_state=0
        ).fit(X[rows], y[rows])
        assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-6, atol=1e-9)
        share = priors[[i, j]] / priors[[i, j]].sum()
        risk = alone.model_error_[0] * p.sum() / priors[[i, j]].sum()
        assert model.expected_cost_[k] == pytest.approx(risk, rel=1e-7)
        assert model.model_error_[k] == pytest.approx(share @ rates(model, k), rel=1e-7)
    labels = model.classes_[model.predict_proba(X).argmax(axis=1)]
    assert_array_equal(model.predict(X), labels)


def test_frontiers_of_four_classes_are_those_of_pairs(four):
    X, y = four
    model = GaussianLinearDiscriminant(criterion="minimax", choose_on="model")
    assert len(model.fit(X, y).frontier_) == 6
    for k, frontier in enumerate(model.frontier_):
        assert_array_equal(frontier.classes, model.classes_[model.pairs_[k]])
        assert_allclose(model.error_rates_[k], rates(model, k), rtol=1e-6)
        assert_allclose(model.error_rates_[k], model.model_error_[k], rtol=1e-8)
        assert_allclose(frontier.at("minimax").coef, model.coef_[k], rtol=1e-9)
    assert [f.classes.tolist() for f in model.frontier_[-2:]] == [[1, 3], [2, 3]]
    ovr = GaussianLinearDiscriminant(multiclass="ovr", priors=[0.25] * 4)
    assert not hasattr(ovr.fit(X, y), "frontier_")


def test_equal_costs_change_nothing_and_labels_order_them(four):
    X, y = four
    names = np.array(["a", "b", "c", "d"])
    plain = GaussianLinearDiscriminant().fit(X, names[y])
    huge = 1 - np.eye(4)  # of one pair, which is no floor for the costs of another
    huge[0, 1] = huge[1, 0] = 1e250
    for costs in (3 * (1 - np.eye(4)), {}, {"c": {"a": 1.0}}, huge):
        model = clone(plain).set_params(costs=costs).fit(X, names[y])
        assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
        assert_allclose(model.model_error_, plain.model_error_, rtol=1e-9)
    plain = GaussianLinearDiscriminant(costs=COSTS).fit(X, names[y])
    frame = pd.DataFrame(COSTS, index=names, columns=names)
    mixed, nested = frame.loc[list("dbca"), list("bacd")], frame.T.to_dict()
    for costs in (frame, mixed, nested):
        model = GaussianLinearDiscriminant(costs=costs).fit(X, names[y])
        assert_array_equal(model.coef_, plain.coef_)
    whole = clone(plain).set_params(costs={"a": dict.fromkeys("bcd", 3.0)})
    short = clone(plain).set_params(costs={"a": 3.0})
    assert_array_equal(*(model.fit(X, names[y]).coef_ for model in (whole, short)))
    for bad in (frame.rename({"a": "z"}), {"a": [3.0]}):
        with pytest.raises(ValueError, match="costs"):
            GaussianLinearDiscriminant(costs=bad).fit(X, names[y])


@pytest.mark.parametrize("solver", ["global", "fixed-point", "c-hld", "fisher"])
def test_an_error_that_costs_nothing_may_always_be_made(two, solver):
    X, y = two
    for costs, answer in (([[0, 0], [2, 0]], 1), ([[0, 2], [0, 0]], 0)):
        model = GaussianLinearDiscriminant(solver=solver, costs=costs)
        with pytest.warns(TrivialRuleWarning, match="priors and costs, for: .* costs"):
            model.fit(X, y)
        assert_array_equal(model.error_rates_, [[answer, 1 - answer]])
        assert model.trivial_[0]
        assert set(model.predict(X)) == {answer}
        assert (model.expected_cost_[0], model.model_error_[0]) == (0, 0.5)
        assert np.all(np.isfinite(model.predict_log_proba(X)))
        assert model.gap_[0] == 0 or solver != "global"


def test_extreme_priors_and_costs_make_up_for_each_other(two):
    """Costs were floored at a share of the largest, and a false gap came out."""
    X, y = two
    even = GaussianLinearDiscriminant(priors=[0.5, 0.5]).fit(X, y)
    for priors, costs in (
        ([1e-300, 1], [[0, 1e300], [1, 0]]),
        ([1e-300, 1], [[0, 1], [1e-300, 0]]),
        ([1e-150, 1], [[0, 1e300], [1e150, 0]]),
    ):
        model = GaussianLinearDiscriminant(priors=priors, costs=costs).fit(X, y)
        assert_allclose(model.coef_, even.coef_, rtol=1e-6)
        point = even.frontier_[0].at(priors=priors, costs=costs)
        assert_allclose(point.coef, even.coef_[0], rtol=1e-6)


def test_rows_do_not_choose_where_one_is_all_of_a_class(rng):
    y = np.repeat([0, 1, 2], [40, 40, 1])
    X = rng.normal(size=(81, 12)) + 4 * (y[:, None] == 2)
    model = GaussianLinearDiscriminant().fit(X, y)
    assert_array_equal(np.isnan(model.left_out_error_), [False, True, True])
    assert (model.predict(rng.normal(size=(200, 12)) + 4) == 2).mean() > 0.9
