"""Operating points of the estimator: criteria, costs, bounds, and their refusals."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from heterolda import (
    Frontier,
    GaussianLinearDiscriminant,
    Global,
    TrivialRuleWarning,
)

COSTS = np.array([[0, 1, 2, 9], [3, 0, 1, 1], [1, 1, 0, 0.2], [1, 5, 1, 0]])


@pytest.fixture
def two(make_classes):
    return make_classes(n_classes=2, n=150, d=3, spread=0.8)


@pytest.fixture
def four(make_classes):
    return make_classes(n_classes=4, n=80, d=3)


def rates(model, k=0):
    """Error rates of a pair under the model, from their definition."""
    i, j = model.pairs_[k]
    coef, intercept = model.coef_[k], model.intercept_[k]
    means, cov = model.statistics_.means, model.statistics_.covariances()
    scores = means[[i, j]] @ coef + intercept
    return ndtr([1, -1] * scores / np.sqrt(coef @ cov[[i, j]] @ coef))


REQUESTS = [
    {"criterion": "minimax"},
    {"criterion": "neyman-pearson", "max_error": {1: 0.02}},
    {"costs": [[0, 5], [1, 0]]},
    {"costs": {0: {1: 0.1}}},
]


@pytest.mark.parametrize("request_", REQUESTS)
def test_two_classes(two, request_):
    X, y = two
    model = GaussianLinearDiscriminant(priors=[0.3, 0.7], **request_).fit(X, y)
    e = rates(model)
    assert model.bayes_error_[0] == pytest.approx([0.3, 0.7] @ e, rel=1e-9)
    assert 0 <= model.gap_[0] <= 1e-3
    if model.criterion == "minimax":
        assert e[0] == pytest.approx(e[1], rel=1e-9)
    if model.max_error is not None:
        ((k, q),) = model.max_error.items()
        assert e[k] == pytest.approx(q, rel=1e-9)
    if isinstance(model.costs, list):
        assert model.risk_[0] == pytest.approx([0.3 * 5, 0.7] @ e, rel=1e-9)
    elif model.costs is None:
        assert_array_equal(model.risk_, model.bayes_error_)
    far = np.concatenate([X, 1e3 * X, -1e3 * X])
    labels = model.predict(far)
    assert_array_equal(labels, model.classes_[model.predict_proba(far).argmax(axis=1)])
    assert_array_equal(labels, (model.decision_function(far) > 0).astype(int))
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X), model.predict(X))
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("request_", REQUESTS)
def test_another_operating_point_equals_another_fit(two, request_):
    X, y = two
    frame = pd.DataFrame(X, columns=list("abc"))
    start = GaussianLinearDiscriminant(shrinkage=0.1, solver=Global(gap=1e-5))
    start.fit(frame, y)
    before = pickle.dumps(start)
    moved = start.with_operating_point(**request_)
    assert pickle.dumps(start) == before
    refit = clone(start).set_params(guard=False, **request_).fit(frame, y)
    for name in ("coef_", "intercept_", "bayes_error_", "risk_", "gap_", "priors_"):
        assert_array_equal(getattr(moved, name), getattr(refit, name))
    assert_array_equal(moved.predict_proba(frame), refit.predict_proba(frame))
    assert moved.n_features_in_ == 3
    assert list(moved.feature_names_in_) == list("abc")
    assert moved.statistics_ is not start.statistics_
    # The frontier gives the same rule, from moments alone.
    (frontier,) = start.frontier_
    point = frontier.at(**request_)
    assert_allclose(point.coef, moved.coef_[0], rtol=1e-9)
    assert point.intercept == pytest.approx(moved.intercept_[0], rel=1e-9)
    assert point.risk == pytest.approx(moved.risk_[0], rel=1e-9)
    back = moved.with_operating_point()
    assert_array_equal(back.coef_, start.coef_)


def test_priors_of_another_operating_point(two):
    X, y = two
    start = GaussianLinearDiscriminant(priors=[0.2, 0.8]).fit(X, y)
    assert_allclose(start.with_operating_point("minimax").priors_, [0.2, 0.8])
    assert_allclose(start.with_operating_point(priors=None).priors_, 0.5)
    even = start.with_operating_point(priors="equal")
    assert_allclose(even.priors_, 0.5)
    label = start.classes_.tolist()[1]
    point = start.frontier_[0].at(priors={label: 3, start.classes_[0]: 1})
    moved = start.with_operating_point(priors={start.classes_[0]: 1, label: 3})
    assert point.error == pytest.approx(moved.bayes_error_[0], rel=1e-9)
    assert even.bayes_error_[0] <= 0.5 * rates(start).sum() + 1e-12


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
        risk = alone.bayes_error_[0] * p.sum() / priors[[i, j]].sum()
        assert model.risk_[k] == pytest.approx(risk, rel=1e-7)
        assert model.bayes_error_[k] == pytest.approx(share @ rates(model, k), rel=1e-7)
        assert_allclose(model.gap_[k], alone.gap_[0], atol=1e-6)
    labels = model.classes_[model.predict_proba(X).argmax(axis=1)]
    assert_array_equal(model.predict(X), labels)


def test_minimax_of_four_classes_is_that_of_pairs(four):
    X, y = four
    model = GaussianLinearDiscriminant(criterion="minimax").fit(X, y)
    assert len(model.frontier_) == 6
    for k, frontier in enumerate(model.frontier_):
        assert isinstance(frontier, Frontier)
        assert_array_equal(frontier.classes, model.classes_[model.pairs_[k]])
        e = rates(model, k)
        assert e[0] == pytest.approx(e[1], rel=1e-8)
        assert model.bayes_error_[k] == pytest.approx(e[0], rel=1e-8)
        assert_allclose(frontier.at("minimax").coef, model.coef_[k], rtol=1e-9)
    assert [f.classes.tolist() for f in model.frontier_[-2:]] == [[1, 3], [2, 3]]
    assert_array_equal(model.frontier_[-1].classes, [2, 3])
    assert "6 pairs" in repr(model.frontier_)
    with pytest.raises(IndexError):
        model.frontier_[6]


def test_equal_costs_change_nothing(four):
    X, y = four
    plain = GaussianLinearDiscriminant().fit(X, y)
    huge = 1 - np.eye(4)  # of one pair, which is no floor for the costs of another
    huge[0, 1] = huge[1, 0] = 1e250
    for costs in (3 * (1 - np.eye(4)), {}, {2: {0: 1.0}}, huge):
        model = clone(plain).set_params(costs=costs).fit(X, y)
        assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
        assert_allclose(model.bayes_error_, plain.bayes_error_, rtol=1e-9)
        assert_array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize("solver", ["global", "fixed-point", "c-hld", "fisher"])
def test_an_error_that_costs_nothing_may_always_be_made(two, solver):
    X, y = two
    for costs, answer in (([[0, 0], [2, 0]], 1), ([[0, 2], [0, 0]], 0)):
        model = GaussianLinearDiscriminant(solver=solver, costs=costs)
        names_costs = "priors and costs, for: .* costs"
        with pytest.warns(TrivialRuleWarning, match=names_costs):
            model.fit(X, y)
        assert_array_equal(model.error_rates_, [[answer, 1 - answer]])
        assert model.trivial_[0]
        assert set(model.predict(X)) == {answer}
        assert model.risk_[0] == 0
        assert model.bayes_error_[0] == 0.5
        assert np.all(np.isfinite(model.predict_log_proba(X)))
        assert model.gap_[0] == 0 or solver != "global"


def test_what_needs_a_fit_says_so(four):
    model = GaussianLinearDiscriminant()
    assert not hasattr(model, "frontier_")
    with pytest.raises(NotFittedError):
        model.with_operating_point("minimax")
    X, y = four
    ova = GaussianLinearDiscriminant(multiclass="ova", priors=[0.25] * 4)
    assert not hasattr(ova.fit(X, y), "frontier_")


def test_warnings_point_at_the_call(rng):
    X = np.concatenate([rng.normal(size=(300, 2)), 4 * rng.normal(size=(300, 2))])
    model = GaussianLinearDiscriminant().fit(X, np.repeat([0, 1], 300))
    with pytest.warns(TrivialRuleWarning) as caught:
        model.with_operating_point(priors=[0.01, 0.99])
    assert [w.filename for w in caught] == [__file__]


def test_a_chosen_shrinkage_is_kept_along_the_frontier(rng):
    y = np.arange(24) % 2
    X = rng.normal(size=(24, 8)) + y[:, None]
    model = GaussianLinearDiscriminant(shrinkage="cv").fit(X, y)
    assert model.shrinkage_.to_pooled.any()
    moved = model.with_operating_point("minimax")
    again = GaussianLinearDiscriminant(shrinkage="cv", criterion="minimax").fit(X, y)
    assert_allclose(moved.coef_, again.coef_, rtol=1e-12)
    point = model.frontier_[0].at("minimax")
    assert_allclose(moved.coef_[0], point.coef, rtol=1e-9)


def test_data_frames_and_dictionaries_of_costs_are_read_by_label(four):
    X, y = four
    names = np.array(["a", "b", "c", "d"])
    plain = GaussianLinearDiscriminant(costs=COSTS).fit(X, names[y])
    frame = pd.DataFrame(COSTS, index=names, columns=names)
    mixed, nested = frame.loc[list("dbca"), list("bacd")], frame.T.to_dict()
    for costs in (frame, mixed, nested, pd.DataFrame(COSTS)):
        model = GaussianLinearDiscriminant(costs=costs).fit(X, names[y])
        assert_array_equal(model.coef_, plain.coef_)
    # Numbers that are labels are labels, in any order.
    by_number = pd.DataFrame(COSTS).loc[[2, 0, 1, 3], [3, 2, 1, 0]]
    model = GaussianLinearDiscriminant(costs=by_number).fit(X, y)
    assert_array_equal(model.coef_, plain.coef_)
    for wrong in (
        frame.rename(index={"a": "z"}),
        frame.rename(columns={"a": "b"}),
        pd.DataFrame(COSTS, index=names),
        frame.iloc[:3],
    ):
        with pytest.raises(ValueError, match="costs as a data frame must have"):
            GaussianLinearDiscriminant(costs=wrong).fit(X, names[y])


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
    beyond = GaussianLinearDiscriminant(priors=[1e-200, 1], costs={0: {1: 1e-200}})
    with pytest.raises(ValueError, match="costs times priors of classes 0 and 1"):
        beyond.fit(X, y)


def test_the_frontier_is_that_of_the_fit(two):
    X, y = two
    model = GaussianLinearDiscriminant(shrinkage=0.7).fit(X, y)
    area = model.frontier_[0].auc
    coef = model.with_operating_point("minimax").coef_
    for later in (None, "auto", "cv"):
        model.set_params(shrinkage=later)
        assert model.frontier_[0].auc == area
        moved = model.with_operating_point("minimax")
        assert_array_equal(moved.coef_, coef)
        assert moved.shrinkage == 0.7


def test_error_rates_of_each_pair(four):
    X, y = four
    for parameters in ({}, {"criterion": "minimax"}, {"costs": COSTS}):
        model = GaussianLinearDiscriminant(**parameters).fit(X, y)
        assert model.error_rates_.shape == (6, 2)
        for k in range(6):
            assert_allclose(model.error_rates_[k], rates(model, k), rtol=1e-6)
        assert_allclose(model.error_rates_ @ [0.5, 0.5], model.bayes_error_, rtol=1e-6)
