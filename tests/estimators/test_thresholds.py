"""Few rows: shrinkage, thresholds and errors that left-out rows choose."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

import heterolda
from helpers.problems import arc_score, shrunk_moments
from heterolda import GaussianLinearDiscriminant
from heterolda.estimators.pair_problem import PairProblem
from heterolda.estimators.thresholds import Thresholds
from heterolda.exceptions import (
    ModelMisfitWarning,
    SmallClassWarning,
    TrivialRuleWarning,
)
from heterolda.solvers import Global
from heterolda.solvers.left_out import LeftOut
from heterolda.statistics.rows import Rows
from heterolda.tradeoff.operating_points import Minimax, NeymanPearson

COUNTS = [9, 12, 7]
pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.SmallClassWarning"
)


def make(d, seed=0, counts=COUNTS):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(counts)), counts)
    X = rng.normal(size=(len(y), d)) * (1 + y % 2)[:, None]
    X[:, : d // 4] += 1.5 * rng.normal(size=(len(counts), d // 4))[y]
    return X * np.exp(rng.normal(size=d)) + 10, y


def naive_scores(X, y, i, j, place, share, to_pooled, to_diagonal):
    """Scores of left-out rows of two classes, in units; divisors and place are kept."""
    divisors, ones = np.bincount(y) - 1, np.ones(len(y))
    kept = shrunk_moments(X, y, ones, 0, 0, divisors, ones[:1])[2].diagonal()
    shares, scores = (to_pooled, to_diagonal, divisors, kept), {i: [], j: []}
    for row in np.flatnonzero((y == i) | (y == j)):
        m, S, _ = shrunk_moments(X, y, np.arange(len(y)) != row, *shares)
        mixed = place[0] * S[i] + place[1] * S[j]
        score, distance = arc_score(X[row], m[i], m[j], mixed, share)
        scores[y[row]].append(score / np.sqrt(distance))
    return np.array(scores[i]), np.array(scores[j])


@pytest.mark.parametrize(
    ("d", "counts"),
    [(24, COUNTS), (90, COUNTS), (24, [9, 12, 3])],  # matrices, factors, a small class
)
def test_thresholds_are_those_of_fits_without_each_row(d, counts):
    X, y = make(d, counts=counts)
    with pytest.warns(SmallClassWarning, match="fewer than 8 rows per feature"):
        model = GaussianLinearDiscriminant().fit(X, y)
    assert np.isnan(model.gap_).all()
    # The place on the arc for equal priors, from the model without a guard.
    pure = GaussianLinearDiscriminant(guard=False, priors="equal").fit(X, y)
    assert_allclose(model.coef_, pure.coef_, rtol=1e-6, atol=1e-9)
    for p, (i, j) in enumerate(pure.pairs_):
        w = pure.coef_[p]
        S = pure.covariance_[[i, j]]
        means = pure.means_[[i, j]] @ w + pure.intercept_[p]
        variances = np.einsum("i,kij,j->k", w, S, w)
        place = np.array([-1, 1]) * means / variances
        shrinkage = model.shrinkage_.to_pooled, model.shrinkage_.to_diagonal
        first, second = naive_scores(
            X, y, i, j, place, means[1] / (means[1] - means[0]), *shrinkage
        )
        n = np.array([counts[i], counts[j]])
        p1, p2 = n / n.sum()
        variances = np.array([first.var(ddof=1), second.var(ddof=1)])
        if min(n) < 5:  # too few for a variance of their own
            variances[:] = (n - 1) @ variances / (n - 1).sum()
        cuts = np.linspace(-6, 6, 40001)
        error = p1 * norm.sf(cuts, first.mean(), np.sqrt(variances[0]))
        error += p2 * norm.cdf(cuts, second.mean(), np.sqrt(variances[1]))
        assert_allclose(model.model_error_[p], error.min(), rtol=1e-4)
        unit = np.sqrt(means[1] - means[0])
        moved = (pure.intercept_[p] - model.intercept_[p]) / unit
        assert abs(moved - cuts[error.argmin()]) < 2e-3
    proba = model.predict_proba(X)
    assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])


def test_thresholds_that_no_rows_support():
    model = GaussianLinearDiscriminant().fit(*make(24))
    thresholds = Thresholds(
        model._committee.planes,
        np.array([[0.1, -0.2], [-1.0, 1.0], [-0.1, 0.1]]),
        np.array([[1.0, 1.0], [1.0, 3.0], [0.2, 5.0]]),
        np.ones(3, bool),
    )
    priors = np.array([[0.5, 0.5], [0.6, 0.4], [0.001, 0.999]])
    rules = thresholds.at(Global(), priors)
    assert_allclose(rules.error[0], norm.cdf(-0.025))  # next to chance
    cuts = np.linspace(-5, 5, 2001)
    least = 0.6 * norm.sf(cuts, -1, 1) + 0.4 * norm.cdf(cuts, 1, 3)
    assert_allclose(rules.error[1], least.min(), rtol=1e-5)
    # No threshold between unequal deviations is better than the likelier class.
    assert rules.error[2] <= 0.001
    assert rules.deviations[2, 0] == rules.deviations[2, 1]
    assert np.isfinite(rules.intercept).all()
    level = thresholds.at(Minimax(), priors)
    z = level.means / level.deviations
    assert_allclose(-z[:, 0], z[:, 1])
    bounded = thresholds.at(NeymanPearson(0, 0.2), priors)
    z = bounded.means / bounded.deviations
    assert_allclose(norm.cdf(z[:, 0]), 0.2)


def test_a_class_of_one_row_and_rows_that_do_not_vary():
    model = GaussianLinearDiscriminant().fit(*make(140, seed=4, counts=[8, 3, 1]))
    # Nothing speaks for a rule that separates a single row from others.
    assert np.isnan(model.gap_).all()
    assert_allclose(model.model_error_[1:], [1 / 9, 1 / 4])
    X, y = np.ones((8, 300)), np.arange(8) % 4
    model = GaussianLinearDiscriminant(shrinkage=0.5)
    with pytest.warns(TrivialRuleWarning):
        assert model.fit(X, y).trivial_.all()
    X[:, 3] = y
    assert_array_equal(model.fit(X, y).model_error_, 0.0)
    assert_array_equal(model.predict(X), y)


def test_other_criteria_go_by_left_out_scores(tmp_path):
    rng = np.random.default_rng(1)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 400))
    X[y == 1, :12] += 0.8
    new, label = rng.normal(size=(2000, 400)), np.arange(2000) % 2
    new[label == 1, :12] += 0.8
    model = GaussianLinearDiscriminant().fit(X, y)
    bound = {0: 0.2}
    bounded = model.with_operating_point("neyman-pearson", max_error=bound)
    same = GaussianLinearDiscriminant(criterion="neyman-pearson", max_error=bound)
    assert_allclose(bounded.intercept_, same.fit(X, y).intercept_)
    assert_allclose(bounded.error_rates_[0, 0], 0.2)
    assert abs((bounded.predict(new[label == 0]) == 1).mean() - 0.2) < 0.1
    level = model.with_operating_point("minimax")
    assert_allclose(*level.error_rates_[0])
    with pytest.warns(ModelMisfitWarning, match="under the fitted model"):
        assert model.frontier_[0].auc > 0.99
    heterolda.save(model, tmp_path / "model.json")  # which does not hold the scores
    with pytest.warns(ModelMisfitWarning, match="under the fitted model"):
        heterolda.load(tmp_path / "model.json").with_operating_point("minimax")


def test_left_out_scores_are_in_units_of_the_moved_rules(monkeypatch):
    X, y = make(24)
    model = GaussianLinearDiscriminant().fit(X, y)
    problem = PairProblem.of(model, model.statistics_, model.shrinkage_)
    _, moved, scores = Thresholds.of(problem, Rows(X, y, None, model.classes_))
    for k, (weights, values) in scores.items():
        for pair, place in np.argwhere(model.pairs_ == k):
            mean = np.average(values[:, pair], weights=weights)
            assert_allclose(mean, moved.means[pair, place], rtol=1e-9)
    # One row of each class, which shows no spread, sets no threshold.
    of_arcs = LeftOut.of_arcs

    def of_one_row(self, *args):
        for record in of_arcs(self, *args):
            first = np.arange(record.score.shape[1]) == 0
            yield replace(record, score=np.where(first, record.score, np.nan))

    monkeypatch.setattr(LeftOut, "of_arcs", of_one_row)
    rows = Rows(X, y, None, model.classes_)
    assert not Thresholds.of(problem, rows)[0].estimated.any()
