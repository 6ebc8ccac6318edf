"""Probabilities that agree with rows: log-odds of rules, and the temperature."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize, minimize_scalar

from helpers.problems import on_a_line
from heterolda import ClassStatistics, GaussianLinearDiscriminant
from heterolda.estimators.calibration import (
    Evidence,
    best_temperature,
    fitted_log_odds,
    sided_log_odds,
)
from heterolda.estimators.pair_problem import PairProblem
from heterolda.exceptions import TrivialRuleWarning
from heterolda.statistics.rows import Rows

pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.ModelMisfitWarning",
    "ignore::heterolda.exceptions.SmallClassWarning",
)
GLD = GaussianLinearDiscriminant


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


def mislabeled(rng, n=200, d=3, k=3):
    """Classes far apart, of which some rows have a wrong label: nothing is sure."""
    y = np.repeat(np.arange(k), n)
    X = 4.0 * np.eye(k, d)[y] + rng.normal(size=(len(y), d))
    wrong = rng.random(len(y)) < 0.05
    return X, np.where(wrong, rng.integers(k, size=len(y)), y)


def tempered_loss(model, X, y, temperature, weight=None):
    """Log loss at another temperature than the model's."""
    log_p = model.predict_log_proba(X) * (model.temperature_ / temperature)
    log_p -= np.logaddexp.reduce(log_p, axis=1, keepdims=True)
    return -np.average(log_p[np.arange(len(y)), y], weights=weight)


@pytest.mark.parametrize(
    "settings",
    [
        {"multiclass": "ovr"},
        {"priors": [0.6, 0.3, 0.1]},
        {"costs": [[0, 4, 4], [1, 0, 1], [2, 2, 0]]},
    ],
)
def test_the_temperature_maximizes_the_likelihood_of_rows(rng, settings):
    X, y = mislabeled(rng)
    model = GLD(**settings).fit(X, y)
    priors = np.bincount(y)
    if "costs" in settings:  # they multiply the priors
        priors = priors * [4, 1, 2]
    weight = (settings.get("priors", priors) / np.bincount(y))[y]
    best = minimize_scalar(
        lambda log_t: tempered_loss(model, X, y, np.exp(log_t), weight),
        bounds=(0, 5),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert model.temperature_ > 1.05
    assert_allclose(model.temperature_, np.exp(best.x), rtol=1e-5)


def test_few_rows_are_left_out(rng):
    """Rows of their own would say that the model may be as sure as it is."""
    X, y = rng.normal(size=(90, 20)), np.repeat([0, 1, 2], 30)
    X[:, :3] += 0.8 * y[:, None]
    Z, z = rng.normal(size=(3000, 20)), np.repeat([0, 1, 2], 1000)
    Z[:, :3] += 0.8 * z[:, None]
    for settings in ({"shrinkage": 0}, {}):
        model = GLD(**settings).fit(X, y)
        assert model.temperature_ > 1.1
        own = tempered_loss(model, Z, z, 1.0)
        assert tempered_loss(model, Z, z, model.temperature_) < own - 0.02


def test_left_out_rows_replace_those_of_their_class(rng):
    X, y = mislabeled(rng)
    model = GLD().fit(X, y)
    problem = PairProblem.of(model, model.statistics_)
    given = {1: (np.array([1.0, 3.0]), np.ones((2, 3)))}
    rows = Rows(X, y, None, model.classes_)
    evidence = Evidence.of(model._committee.planes, problem, rows, given)
    assert_allclose(evidence.scores[evidence.codes == 1], 1)
    totals = np.bincount(evidence.codes, evidence.weights)
    assert_allclose(totals, model.priors_)
    assert evidence.weights[evidence.codes == 1][1] == pytest.approx(0.75 * totals[1])


def test_the_temperature_lies_between_one_and_a_thousand(rng):
    p = rng.dirichlet(np.full(4, 0.2), 200) + 1e-12
    rows = np.arange(200)
    assert best_temperature(p, p.argmax(axis=1), np.ones(200)) == 1
    assert best_temperature(p, p.argmin(axis=1), np.ones(200)) == 1000
    rare = np.where(rows % 4 == 0, p.argmin(axis=1), p.argmax(axis=1))
    assert 1 < best_temperature(p, rare, np.ones(200)) < 1000


def test_the_temperature_belongs_to_the_rules_in_use(rng):
    """Trivial rules of one against all are replaced before it is fitted."""
    X, y = on_a_line(rng, [0, 2, 4, 6], n=400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrivialRuleWarning)
        model = GLD(multiclass="ovr").fit(X, y)
    assert model.trivial_.any()
    scores = X @ model.coef_.T + model.intercept_
    evidence = model._committee.evidence
    assert np.isin(evidence.scores.round(9), scores.round(9)).all()


def test_models_without_rows_or_guard_have_none_and_others_keep_theirs(rng):
    X, y = mislabeled(rng)
    incomplete = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    for model in (
        GLD(guard=False).fit(X, y),
        GLD(solver="fisher").fit(X, y),
        GLD(missing="em").fit(incomplete, y),
        GLD().fit_statistics(ClassStatistics.from_data(X, y)),
        GLD().partial_fit(X, y, classes=[0, 1, 2]),
    ):
        assert model.temperature_ == 1.0
    model = GLD(missing="em").fit(X, y)
    few = model.for_features([0, 1, 2])
    for other in (few, model.with_operating_point("minimax")):
        assert other.temperature_ == model.temperature_ > 1.05
    for rows in (X, incomplete):
        p = model.predict_proba(rows)
        assert_allclose(few.predict_proba(rows), p, rtol=1e-9)
