"""Probabilities of all pairs together, and votes, against naive loops."""

import pickle
import warnings
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from scipy.stats import norm
from sklearn.isotonic import isotonic_regression

from helpers.problems import on_a_line, votes_of, winners_of
from heterolda import GaussianLinearDiscriminant
from heterolda.estimators.odds import gaussian_log_odds
from heterolda.estimators.votes import (
    Binary,
    OneVsOne,
    committee_of,
    rounded,
)
from heterolda.exceptions import TrivialRuleWarning
from heterolda.kernels.coupling import couple
from heterolda.solvers.rules import Rules, Status


def make_planes(error, means=None, deviations=None, status=None):
    """Rules with the parts that votes and probabilities look at."""
    n = len(error)
    means = np.tile([-1.0, 1.0], (n, 1)) if means is None else means
    deviations = np.ones((n, 2)) if deviations is None else deviations
    return Rules(
        coef=np.ones((n, 1)),
        intercept=np.zeros(n),
        error=np.asarray(error, float),
        gap=np.zeros(n),
        n_iter=np.ones(n, int),
        status=np.full(n, Status.CERTIFIED) if status is None else np.array(status),
        means=np.array(means, float),
        deviations=np.array(deviations, float),
    )


@pytest.mark.usefixtures("kernels")
def test_all_pairs_together_give_probabilities(rng):
    """Equation by equation, for scores, for rows and in both precisions."""
    y = np.arange(600) % 12
    X = rng.normal(size=(600, 3)) * (1 + y[:, None] / 6) + rng.normal(size=(12, 3))[y]
    model = GaussianLinearDiscriminant(choose_on="model").fit(X, y)
    committee = model._committee
    x = np.zeros((600, 12, 12))
    log_odds = committee.curve.log_odds(X @ model.coef_.T + model.intercept_)
    for (i, j), values in zip(model.pairs_, log_odds.T, strict=True):
        x[:, i, j], x[:, j, i] = -values, values
    q = 1 / np.exp(-x).sum(axis=2)  # exp(0) of the class itself is the one
    q /= q.sum(axis=1, keepdims=True)
    p = (q[:, :, None] + q[:, None]) * expit(x) * (1 - np.eye(12))
    expected = p.sum(axis=2)
    expected /= expected.sum(axis=1, keepdims=True)
    p = model.predict_proba(X)
    assert_allclose(p, expected, rtol=1e-9)
    assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert_array_equal(model.predict(X), p.argmax(axis=1))
    assert_array_equal(model.decision_function(X), np.log(p))
    single = X.astype(np.float32)
    answers = model.predict_proba(single)
    assert_allclose(answers, model.predict_proba(single.astype(float)), rtol=1e-6)
    assert_array_equal(model.predict(single), answers.argmax(axis=1))


@pytest.mark.check
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predictions_next_to_boundaries_have_the_largest_probability(rng, dtype):
    y = np.arange(900) % 9
    X = rng.normal(size=(900, 4)) + 2 * rng.normal(size=(9, 4))[y]
    model = GaussianLinearDiscriminant().fit(X, y)
    low, high = X[rng.integers(900, size=(2, 200_000))].astype(dtype)
    at_low = model.predict(low)
    for _ in range(12):
        middle = (low + high) / 2
        same = (model.predict(middle) == at_low)[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    assert_array_equal(model.predict(low), model.predict_proba(low).argmax(axis=1))
    scores, rows = model.decision_function(low), np.arange(len(low))
    assert_array_equal(scores[rows, model.predict(low)], scores.max(axis=1))


def test_equal_classes_go_to_the_first():
    rng = np.random.default_rng(0)
    X, y = np.tile(rng.normal(size=(50, 3)), (4, 1)), np.repeat(np.arange(4), 50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrivialRuleWarning)
        model = GaussianLinearDiscriminant().fit(X, y)
    assert_allclose(model.predict_proba(X), 0.25, rtol=1e-12)
    assert not model.predict(X).any()


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("voting", ["weighted", "majority"])
def test_votes_equal_exact_arithmetic(rng, voting):
    def weights_of(error):
        return 1 - error if voting == "weighted" else np.ones(len(error))

    for k, equal in product((3, 4, 9), (False, True)):
        n_pairs = k * (k - 1) // 2
        error = np.full(n_pairs, 0.25) if equal else rng.uniform(0, 0.5, n_pairs)
        scores = rng.normal(size=(120, n_pairs))
        scores[:60] = np.sign(scores[:60])  # many exact ties
        planes = make_planes(error)
        committee = OneVsOne(planes, gaussian_log_odds(planes), k, voting)
        expected = winners_of(scores, weights_of(error), k)
        winners = committee.winners(scores, scores)
        assert_array_equal(winners, expected)
        values = committee.decisions(scores, scores)
        largest = values.max(axis=1)
        assert_allclose(values[np.arange(120), winners], largest, rtol=1e-15)
        exact = [row for row, _ in votes_of(scores, committee.vote_weights, k)]
        unit = 1 if voting == "majority" else 2.0**-26
        assert np.abs(values - np.array(exact, float)).max() <= unit / 3
    y = np.arange(600) % 6
    X = rng.normal(size=(600, 3)) * (1 + y[:, None]) + y[:, None]
    model = GaussianLinearDiscriminant(voting=voting, choose_on="model").fit(X, y)
    scores = X @ model.coef_.T + model.intercept_
    expected = winners_of(scores, weights_of(model.model_error_), 6)
    assert_array_equal(model.predict(X), expected)
    assert_array_equal(model.decision_function(X).argmax(axis=1), expected)
    assert_allclose(vote_weights_of(model), weights_of(model.model_error_), atol=1e-8)


def vote_weights_of(model):
    return model._committee.vote_weights


def test_votes_have_no_probabilities_except_of_two_classes(make_classes):
    for k in (2, 4):
        model = GaussianLinearDiscriminant(voting="majority").fit(*make_classes(k))
        for method in ("predict_proba", "predict_log_proba"):
            assert hasattr(model, method) == (k == 2)
    with pytest.raises(AttributeError) as error:
        _ = model.predict_proba
    assert "voting='probability', the default" in str(error.value.__cause__)


def test_committees_of_one_rule_and_of_one_against_all(rng):
    means = rng.uniform([-3, 0.1], [-0.1, 3], (3, 2))
    planes = make_planes([0.1, 0.2, 0.3], means, rng.uniform(0.5, 2, (3, 2)))
    scores = rng.normal(size=(50, 3))
    odds = gaussian_log_odds(planes).log_odds(scores)
    curve = gaussian_log_odds(planes)
    all_others = np.column_stack([np.full(3, -1), np.arange(3)])
    committee = pickle.loads(pickle.dumps(committee_of(planes, all_others, "", curve)))
    expected = expit(odds)
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(committee.probabilities(scores, scores), expected, rtol=1e-12)
    assert_array_equal(committee.winners(scores, scores), odds.argmax(axis=1))
    first = planes.take([0])
    one, scores = (
        committee_of(first, np.array([[0, 1]]), "", gaussian_log_odds(first)),
        scores[:, :1],
    )
    p = one.probabilities(scores, scores)
    assert_allclose(p[:, 1], expit(odds[:, 0]), rtol=1e-12)
    assert_array_equal(one.winners(scores, scores), scores[:, 0] > 0)
    assert_array_equal(one.decisions(scores, scores), scores[:, 0])
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    assert committee_of(planes, pairs, "", curve).n_classes == 3


def test_probabilities_equal_isotonic_regression():
    """The monotone posterior is the isotonic regression of the posterior."""
    s, cuts = np.linspace(-40, 40, 100_001), np.linspace(-8, 8, 160_001)
    for p1, means, deviations in [
        (0.5, [-1.0, 2.0], [1.0, 1.0]),
        (0.3, [-1.5, 0.4], [2.0, 0.5]),
        (0.35, [-1.5, 2.0], [1.0, 4.0]),
        (0.7, [-0.2, 3.0], [0.1, 2.0]),
    ]:
        errors = p1 * norm.sf(cuts, means[0], deviations[0])
        errors += (1 - p1) * norm.cdf(cuts, means[1], deviations[1])
        means = np.array(means) - cuts[errors.argmin()]  # the best threshold is zero
        curve = gaussian_log_odds(make_planes([errors.min()], [means], [deviations]))
        d1 = p1 * norm.pdf(s, means[0], deviations[0])
        d2 = (1 - p1) * norm.pdf(s, means[1], deviations[1])
        density = d1 + d2
        posterior = np.divide(d2, density, out=np.full_like(s, 0.5), where=density > 0)
        expected = isotonic_regression(posterior, sample_weight=density + 1e-300)
        p = expit(curve.log_odds(s[:, None]))[:, 0]
        heavy = density > 1e-6
        assert_allclose(p[heavy], expected[heavy], atol=2e-3)
        assert np.all((np.diff(p) > 0) | (p[1:] > 1 - 1e-12))
        assert_array_equal(p > 0.5, s > 0)
    # A trivial rule predicts its prior.
    prior = np.log(0.2 / 0.8)
    planes = make_planes([0.2], [[prior, prior]], [[0.0, 0.0]], [Status.TRIVIAL])
    odds = gaussian_log_odds(planes).log_odds(np.array([[prior]]))
    assert_allclose(expit(odds), 0.2)


@pytest.mark.usefixtures("kernels")
def test_scores_of_all_sizes_have_distinct_probabilities():
    """From next to none to 1e300, below, at and beyond all limits of the curves."""
    sizes = np.concatenate([10.0 ** np.arange(-13, 301), [1 + 1e-7]])
    s = np.sort(np.concatenate([-sizes, [0.0], sizes]))[:, None]
    for means, deviations in [
        ([-1.0, 2.0], [1.0, 1.0]),
        ([-1.0, 1.0], [1.0, 3.0]),
        ([-1.5, 0.4], [2.0, 1e-3]),
        ([1.0, -1.0], [1.0, 1.0]),  # the wrong way round
        ([0.1, 0.2], [1.0, 30.0]),  # not worth its threshold
    ]:
        planes = make_planes([0.3], [means], [deviations])
        committee = Binary(planes, gaussian_log_odds(planes))
        p = committee.probabilities(s, s)
        assert np.all(np.diff(p[:, 0]) <= 0)
        rises = np.diff(p[:, 1]) > 0
        assert np.all(rises | (p[1:, 1] > 1 - 1e-15) | (np.abs(s[1:, 0]) < 1e-9))
        assert_array_equal(p[:, 1] > p[:, 0], s[:, 0] > 0)
        # The same curve in the kernel that couples pairs.
        assert_allclose(couple(s, committee.curve), p, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::heterolda.exceptions.TrivialRuleWarning")
def test_one_vs_rest_finds_the_inner_classes(rng):
    X, y = on_a_line(rng, [0, 2, 4, 6], n=400)
    model = GaussianLinearDiscriminant(multiclass="ovr").fit(X, y)
    assert_array_equal(model.trivial_, [False, True, True, False])
    assert_array_equal(np.unique(model.predict(X)), [0, 1, 2, 3])
    fisher = GaussianLinearDiscriminant(multiclass="ovr", solver="fisher").fit(X, y)
    assert_allclose(model.coef_[1:3], fisher.coef_[1:3])
    assert_allclose(model.intercept_[1:3], fisher.intercept_[1:3])


def test_single_precision(rng):
    p = rng.dirichlet(np.ones(4), size=300)
    single = np.ones((1, 2), np.float32)
    assert rounded(p, np.ones((1, 2))) is p
    answers = rounded(1e-60 * p, single)
    assert answers.dtype == np.float32
    assert (answers > 0).all()
    scores = np.array([1e300, -1e300, 1e-60, -1e-60, 0.0, 1.5, -1.5])
    answers, limits = rounded(scores, single), np.finfo(np.float32)
    least = limits.smallest_normal
    assert_array_equal(answers, [limits.max, limits.min, least, 0, 0, 1.5, -1.5])
    # A positive score of two classes has the larger probability.
    s = np.array([[-1e-30], [0.0], [1e-30], [1e-3]])
    planes = make_planes([0.3])
    p = Binary(planes, gaussian_log_odds(planes)).probabilities(s, single)
    assert_array_equal(p.argmax(axis=1), [0, 0, 1, 1])
