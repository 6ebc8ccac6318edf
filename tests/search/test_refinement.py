"""Refinement of the rule of a pair, against plain formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from heterolda.search.pair_search import score_moments
from heterolda.search.refinement import refine_folds, refine_rows
from heterolda.search.selection import NONE, Candidate
from heterolda.search.smooth import Coordinates, median_size
from heterolda.search.training_data import TrainingData
from heterolda.statistics.rows import validated

LOSS_NAMES = ["error", "logistic"]
MIXED = [
    Candidate("logistic", 0.5, 0.1),
    NONE,
    Candidate("ridge", 1.0, 2.0),
    Candidate("error", 0.25, 0.1),
]


@pytest.fixture
def pair(make_classes):
    """Two classes that are neither normal nor separable."""
    X, y = make_classes(n_classes=2, n=80, d=3, spread=0.7)
    return np.sign(X) * np.abs(X) ** 1.5, y


def as_data(X, y, weight=None, class_weight=None):
    return TrainingData.from_rows(validated(X, y, weight, sums=True), class_weight)


def refined(data, start, *candidates, factors=None, report=lambda *_: None):
    """The rule (offset, normal) that candidates lead to from a start."""
    factors = np.ones(1) if factors is None else factors
    found = refine_rows(data, start[1:], start[0], candidates, factors, report)
    return np.append(found.rule[0], -found.rule[1:]), found


def naive_loss(m, loss, h):
    """The losses of the module at margins m."""
    return 1 / (1 + np.exp(m / h)) if loss == "error" else np.logaddexp(0, -m / h)


def naive_objective(v, X, sign, weight, start, loss, h, penalty):
    """The formula of the module, for a rule v = (offset, normal) of plain features."""
    m, m0 = (sign * (X @ u[1:] + u[0]) for u in (v, start))
    share = weight / weight.sum()
    return share @ naive_loss(m, loss, h) + penalty * share @ (m - m0) ** 2


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_refinement_is_a_minimum_of_the_plain_formula(rng, pair, loss):
    X, y = pair
    sign = np.where(y == 1, 1.0, -1.0)
    weight = rng.integers(1, 4, len(y)).astype(float)
    start = rng.normal(size=4)
    start /= median_size(X @ start[1:] + start[0], weight)
    h, penalty = 0.5, 0.05
    kappa = penalty * (weight.sum() - 4) / 4
    candidate = Candidate(loss, h, kappa)
    found, result = refined(as_data(X, y, weight), start, candidate)
    assert_allclose(result.unit, 1)
    arrays = X, sign, weight, start, loss, h, penalty
    reference = minimize(naive_objective, found, arrays, tol=1e-12)
    assert naive_objective(found, *arrays) < naive_objective(start, *arrays)
    assert_allclose(naive_objective(found, *arrays), reference.fun, atol=1e-9)
    assert_allclose(found, reference.x, atol=1e-3)
    if loss == "logistic":  # convex: there is no other minimum
        other = minimize(naive_objective, rng.normal(size=4), arrays, tol=1e-12)
        assert_allclose(found, other.x, atol=1e-3)


def test_median_of_weights_is_that_of_copies(rng):
    margins, copies = rng.normal(size=31), rng.integers(1, 4, 31)
    copied = np.repeat(margins, copies)
    assert median_size(margins, copies) == median_size(copied, np.ones(len(copied)))
    assert median_size(np.zeros(3), np.ones(3)) == 1


def test_a_fold_sees_nothing_of_its_rows(rng, pair):
    X, y = pair
    fold = rng.integers(-1, 3, len(y))
    candidates = [NONE, *(it for it in MIXED if it.moves)]
    starts = rng.normal(size=(3, 3)), rng.normal(size=3)
    found = refine_folds(as_data(X, y), 3 * [X], fold, *starts, candidates)
    # Neither labels nor features of the rows of fold 0 change its rules.
    lies = np.where(fold == 0, 1 - y, y)
    moved = np.where(fold[:, None] == 0, 100 * X + 7, X)
    others = refine_folds(as_data(moved, lies), 3 * [moved], fold, *starts, candidates)
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
    starts = rng.normal(size=(3, 3)), rng.normal(size=3)
    arrays = as_data(X, y), 3 * [X], fold, *starts, MIXED
    compiled = refine_folds(*arrays)
    monkeypatch.setattr("heterolda.kernels.compiled", None)
    plain = refine_folds(*arrays)
    assert_array_equal(compiled.moved, [True, False, True, True])
    for name in ("coef", "intercept", "sides", "error"):
        assert_allclose(getattr(compiled, name), getattr(plain, name), atol=1e-4)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_a_pair_with_no_more_rows_than_coefficients_keeps_its_start(rng, loss):
    X, y = rng.normal(size=(12, 20)), np.arange(12) % 2
    start = rng.normal(size=21)
    rule, _ = refined(as_data(X, y), start, Candidate(loss, 0.25, 0.003))
    assert_array_equal(rule, start)
    # A weight of two is two rows, but 24 rows of rank 11 are enough.
    twice, _ = refined(as_data(X, y, np.full(12, 2.0)), start, MIXED[0])
    rows = np.repeat(np.arange(12), 2)
    copies, _ = refined(as_data(X[rows], y[rows]), start, MIXED[0])
    assert_allclose(twice, copies, rtol=1e-4, atol=1e-6)
    assert np.abs(twice - start).max() > 1e-3


@pytest.mark.parametrize("d", [3, 30])
@pytest.mark.parametrize("kappa", [0.5, 20.0])
def test_ridge_is_logistic_regression_on_standardised_features(rng, d, kappa):
    # Few rows will do, and neither start nor units have a part in it.
    X, y = (
        rng.normal(size=(24, d)) + 0.5 * (np.arange(24) % 2)[:, None],
        np.arange(24) % 2,
    )
    X = X * 10 ** rng.uniform(-3, 3, d) + rng.normal(size=d)
    weight = rng.integers(1, 4, len(y)).astype(float)
    data, candidate = as_data(X, y, weight), Candidate("ridge", 1.0, kappa)
    (one, first), (two, second) = (
        refined(data, rng.normal(size=d + 1), candidate) for _ in range(2)
    )
    assert_allclose(one / first.unit, two / second.unit, rtol=1e-3, atol=1e-6)
    margins = (X @ one[1:] + one[0]) / first.unit
    Z = StandardScaler().fit_transform(X, sample_weight=weight)
    # The offset is a coordinate of 10 with the same penalty as all others.
    Z = np.column_stack([np.full(len(y), 10.0), Z])
    theirs = LogisticRegression(
        C=1 / (2 * kappa), fit_intercept=False, tol=1e-10, max_iter=10_000
    )
    theirs.fit(Z, y, sample_weight=weight)
    assert_allclose(margins, theirs.decision_function(Z), atol=2e-3)
    free = LogisticRegression(C=1 / (2 * kappa), tol=1e-10, max_iter=10_000)
    free.fit(Z[:, 1:], y, sample_weight=weight)
    assert_allclose(margins, free.decision_function(Z[:, 1:]), atol=0.05)


def test_ridge_coordinates_lead_back(rng):
    X = rng.normal(size=(20, 4)) * [1, 1e-9, 1e12, 0] + [0, 5, -1e12, 3]
    weight = rng.dirichlet(np.ones(20))
    space = Coordinates.standardised(X, weight)
    assert_array_equal(space.Z[:, 0], 10)
    assert_allclose(weight @ space.Z[:, 1:], 0, atol=1e-6)
    assert_allclose(weight @ space.Z[:, 1:] ** 2, [1, 1, 1, 0], atol=1e-6)
    u = rng.normal(size=(2, 5))
    normals, offsets = space.rules(u)
    assert_allclose(X @ normals.T + offsets, space.Z @ u.T, atol=1e-5)
    assert np.all(normals[:, 3] == 0)


def naive_size(margins, weight):
    """The median size of margins, of as many copies as the weights say."""
    sizes = np.sort(np.repeat(np.abs(margins), weight.astype(int)))
    return sizes[(len(sizes) - 1) // 2]


def test_the_mean_of_candidates_is_that_of_rules_of_one_size(rng, pair):
    X, y = pair
    fold, weight = rng.integers(-1, 3, len(y)), rng.integers(1, 4, len(y)) * 1.0
    starts = rng.normal(size=(3, 3)), rng.normal(size=3)
    found = refine_folds(as_data(X, y, weight), 3 * [X], fold, *starts, MIXED)
    chosen = np.array([0, 2, 3])
    mean = found.mean(chosen)
    held = np.flatnonzero(fold >= 0)
    sizes = [naive_size(found.margins[c], weight[held]) for c in chosen]
    factors = found.factors(chosen)
    # All have the same part in the mean, and the mean is as large as they are.
    assert_allclose(factors * sizes, np.full(3, np.mean(sizes) / 3), rtol=1e-9)
    for k, j in enumerate(held):
        margin = 0.0
        for c, size in zip(chosen, sizes, strict=True):
            f = fold[j]
            score = X[j] @ found.coef[c, f] + found.intercept[c, f]
            margin += np.mean(sizes) / size / 3 * score * (1 if y[j] else -1)
        assert_allclose(mean.margins[0, k], margin, rtol=1e-9, atol=1e-9)
        score = X[j] @ mean.coef[0, fold[j]] + mean.intercept[0, fold[j]]
        assert_allclose(mean.margins[0, k], score * (1 if y[j] else -1), atol=1e-9)
    # What is calibrated and counted is the mean.
    assert mean.sides.shape == (2, 2, 1, 4)
    wrong = weight[held] @ (mean.margins[0] <= 0) / weight[held].sum()
    assert_allclose(mean.error[0, -1], wrong)
    # One candidate alone, or copies of one, are left as they are.
    assert_array_equal(found.factors(np.array([2])), [1])
    twice = found.mean(np.array([2, 2]))
    assert_allclose(twice.coef[0], found.coef[2], rtol=1e-12)
    assert_array_equal(found.some(chosen).coef, found.coef[chosen])


def test_the_final_rule_is_the_sum_of_single_ones(rng, pair):
    X, y = pair
    data, start, factors = as_data(X, y), rng.normal(size=4), np.array([0.2, 0.5, 0.1])
    chosen = MIXED[0], MIXED[2], NONE
    mean, result = refined(data, start, *chosen, factors=factors)
    single = [refined(data, start, candidate)[0] for candidate in chosen]
    assert_array_equal(single[2], start)
    assert_allclose(mean, factors @ single, rtol=1e-9)
    sides = (X @ mean[1:] + mean[0] > 0) != (y == 1)
    assert result.errors == sides.sum()
    assert result.errors_start == np.sum((X @ start[1:] + start[0] > 0) != (y == 1))
    assert result.history[0] == result.errors_start


@pytest.mark.parametrize("compiled", [True, False])
def test_an_interrupt_keeps_what_was_reached(rng, pair, monkeypatch, compiled):
    if not compiled:
        monkeypatch.setattr("heterolda.kernels.compiled", None)
    X, y = pair
    data, start, factors = as_data(X, y), rng.normal(size=4), np.array([0.5, 0.5])
    ridge, logistic = MIXED[2], MIXED[0]
    singles = [refined(data, start, it)[0] for it in (ridge, logistic)]
    n_iter = len(refined(data, start, ridge)[1].history)

    def stopped(after):
        def report(number, *_):
            if number == after:
                raise KeyboardInterrupt

        return refined(data, start, ridge, logistic, factors=factors, report=report)[0]

    # At once: the start, not a rule of zeros.
    assert_allclose(stopped(1), start, rtol=1e-12)
    for after in (2, n_iter // 2):
        rule = stopped(after)
        assert np.isfinite(rule).all()
        assert np.abs(rule).max() > 0
    assert_allclose(stopped(10**6), factors @ singles, rtol=1e-9)
    # Between two candidates: the first is there, the second still at the start.
    assert_allclose(stopped(n_iter + 1), factors @ [singles[0], start], rtol=1e-6)


def test_an_interrupt_is_never_worse_than_the_start(pair):
    X, y = pair
    data = as_data(X, y)
    start = refined(data, np.array([1.0, 0, 0, 0]), MIXED[0])[0]

    def stop(number, *_):
        if number == 2:
            raise KeyboardInterrupt

    heavy = Candidate("ridge", 1.0, 1e6)
    rule, result = refined(data, start, heavy, report=stop)
    whole = refined(data, start, heavy)[1]
    assert result.errors <= result.errors_start < whole.errors
    assert_allclose(rule, start, rtol=1e-12)


def test_moments_of_scores_are_those_of_copies_of_rows(rng):
    first, copies = np.arange(60) % 3 == 0, rng.integers(1, 4, 60)
    rows = np.repeat(np.arange(60), copies)
    scores = rng.normal(size=60)
    expected = [
        (s.mean(), s.std(ddof=1))
        for s in (scores[rows][c[rows]] for c in (first, ~first))
    ]
    for scale in (1e-200, 1.0, 1e200):  # squares stay in the range
        found = score_moments(scale * scores, first, copies.astype(float))
        assert_allclose(found / scale, expected, 1e-12)
        assert_allclose(score_moments(scale * scores[rows], first[rows], None), found)
    alone = score_moments(np.array([3.0, 4.0]), np.array([True, False]), None)
    assert_array_equal(alone, [[3.0, 0.0], [4.0, 0.0]])
