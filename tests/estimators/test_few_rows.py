"""Fewer rows than features: what left-out rows choose."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from heterolda import (
    GaussianLinearDiscriminant,
    ModelMisfitWarning,
    TrivialRuleWarning,
)
from heterolda.estimators import few_rows
from heterolda.estimators.few_rows import LeftOutScores
from heterolda.solvers import all_pairs

COUNTS = [9, 12, 7]


def make(d, seed=0, counts=COUNTS):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(counts)), counts)
    X = rng.normal(size=(len(y), d)) * (1 + y % 2)[:, None]
    X[:, : d // 4] += 1.5 * rng.normal(size=(len(counts), d // 4))[y]
    return X * np.exp(rng.normal(size=d)) + 10, y


def naive_scores(X, y, amount):
    """Scores of each row by a rule fitted without it; units of all rows are kept."""
    labels, freedom = np.unique(y), len(y) - len(np.unique(y))
    means = np.array([X[y == k].mean(axis=0) for k in labels])
    Z = X / np.sqrt(((X - means[y]) ** 2).sum(axis=0) / freedom)
    scores = np.zeros((len(y), len(labels)))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        m = np.array([Z[rest & (y == k)].mean(axis=0) for k in labels])
        W = (Z - m[y])[rest]
        P = (1 - amount) * W.T @ W / (freedom - 1) + amount * np.eye(Z.shape[1])
        for k in set(labels) - {y[i]}:
            v = m[y[i]] - m[k]
            w = np.linalg.solve(P, v)
            scores[i, k] = (Z[i] - (m[y[i]] + m[k]) / 2) @ w / np.sqrt(v @ w)
    return scores


def naive_error(first, second, p1, p2):
    """Least error of a threshold between Gaussian scores of two classes."""
    (m1, s1), (m2, s2) = ((one.mean(), one.std(ddof=1)) for one in (first, second))

    def error(cut):
        return p1 * norm.sf(cut, m1, s1) + p2 * norm.cdf(cut, m2, s2)

    if m2 <= m1:
        return 0.5, None
    cuts = np.linspace(m1 - 5 * s1, m2 + 5 * s2, 1001)
    near = cuts[error(cuts).argmin()] + [-0.1, 0.1]
    found = minimize_scalar(error, bounds=near, method="bounded")
    return found.fun, found.x


@pytest.mark.parametrize("d", [40, 130])  # matrices, and factors
def test_scores_choice_and_thresholds_are_those_of_fits_without_each_row(
    d, monkeypatch
):
    monkeypatch.setattr(few_rows, "STRENGTHS", (0.01, 0.1, 1.0, 30.0))
    X, y = make(d)
    model = GaussianLinearDiscriminant().fit(X, y)
    pairs, errors = all_pairs(3), {}
    for strength in few_rows.STRENGTHS:
        amount = strength * d / (len(y) - 3 + strength * d)
        scores = naive_scores(X, y, amount)
        errors[amount] = [
            naive_error(
                -scores[y == i, j],
                scores[y == j, i],
                COUNTS[i] / (COUNTS[i] + COUNTS[j]),
                COUNTS[j] / (COUNTS[i] + COUNTS[j]),
            )
            for i, j in pairs
        ]
    best = min(errors, key=lambda amount: np.mean([one[0] for one in errors[amount]]))
    assert_allclose(model.shrinkage_.to_diagonal, best)
    assert_array_equal(model.shrinkage_.to_pooled, 1.0)
    assert_allclose(model.bayes_error_, [one[0] for one in errors[best]], rtol=1e-5)
    assert np.isnan(model.gap_).all()
    # The rule: scores of rows, in the same units, beyond the cut.
    pure = GaussianLinearDiscriminant(guard=False).fit(X, y)
    assert_allclose(model.coef_, pure.coef_)
    for p, (i, j) in enumerate(pairs):
        centre = (pure.means_[i] + pure.means_[j]) / 2
        unit = np.sqrt(pure.coef_[p] @ pure.covariance_[0] @ pure.coef_[p])
        cut = errors[best][p][1]
        at_cut = model.intercept_[p] + pure.coef_[p] @ centre + unit * cut
        assert abs(at_cut) < 1e-4 * unit
    proba = model.predict_proba(X)
    assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])


def test_thresholds_that_no_rows_support():
    scores = LeftOutScores(
        np.array([[0.1, -0.2], [-1.0, 1.0], [-0.1, 0.1]]),
        np.array([[1.0, 1.0], [1.0, 3.0], [0.2, 5.0]]),
        np.ones(3, bool),
    )
    priors = np.array([[0.5, 0.5], [0.6, 0.4], [0.001, 0.999]])
    t, deviations, error = scores.rules(priors)
    assert_allclose(error[0], norm.cdf(-0.025))  # next to chance
    cuts = np.linspace(-5, 5, 2001)
    least = 0.6 * norm.sf(cuts, -1, 1) + 0.4 * norm.cdf(cuts, 1, 3)
    assert_allclose(error[1], least.min(), rtol=1e-5)
    assert_array_equal(deviations[1], [1.0, 3.0])
    # No threshold between unequal deviations is better than the likelier class.
    assert error[2] <= 0.001
    assert deviations[2, 0] == deviations[2, 1]
    assert np.isfinite(t).all()


def test_weights_are_copies_and_order_does_not_matter():
    X, y = make(150, seed=1)
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    weighted = GaussianLinearDiscriminant().fit(X, y, weight)
    rows = np.random.default_rng(1).permutation(
        np.repeat(np.arange(len(y)), weight.astype(int))
    )
    copies = GaussianLinearDiscriminant().fit(X[rows], y[rows])
    assert_allclose(weighted.coef_, copies.coef_, rtol=1e-8)
    assert_allclose(weighted.intercept_, copies.intercept_, rtol=1e-8)
    assert_allclose(weighted.bayes_error_, copies.bayes_error_, rtol=1e-8)


def test_a_class_of_one_row_and_classes_of_few():
    X, y = make(140, seed=4, counts=[8, 3, 1])
    model = GaussianLinearDiscriminant().fit(X, y)
    # Nothing speaks for a rule that tells a single row from others.
    assert np.isnan(model.gap_).all()
    assert_allclose(model.bayes_error_[1:], [1 / 9, 1 / 4])


def test_rows_that_do_not_vary():
    y = np.arange(8) % 4
    with pytest.warns(TrivialRuleWarning):
        model = GaussianLinearDiscriminant(shrinkage=0.5).fit(np.ones((8, 300)), y)
    assert model.trivial_.all()
    apart = np.ones((8, 300))
    apart[:, 3] = y
    model = GaussianLinearDiscriminant(shrinkage=0.5).fit(apart, y)
    assert_array_equal(model.bayes_error_, 0.0)
    assert_array_equal(model.predict(apart), y)


@pytest.mark.parametrize("n", [120, 150, 180])
def test_nothing_jumps_where_rows_become_as_many_as_features(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 1, 150))
    y = np.arange(n + 1) % 2
    X[y == 1, :15] += 0.5
    one, more = (GaussianLinearDiscriminant().fit(X[:m], y[:m]) for m in (n, n + 1))
    assert_allclose(one.bayes_error_, more.bayes_error_, atol=0.03)
    assert abs(one.shrinkage_.to_diagonal - more.shrinkage_.to_diagonal) < 0.5


def test_other_criteria_go_by_left_out_scores():
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
