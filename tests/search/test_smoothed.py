"""The path from the Gaussian optimum to the fewest training errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr
from sklearn.linear_model import LogisticRegression

from heterolda.search import smoothed
from heterolda.search.algorithm2 import paper_search
from heterolda.search.smoothed import WIDTHS, Path, ridge_rules, smoothed_rules
from heterolda.solvers import Global, Moments, all_pairs, solve
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.rows import Rows

ALL = np.array(WIDTHS)


def rows_of(X, y, weights=None):
    return Rows(X, np.asarray(y, np.int64), weights, np.unique(y))


def moments_of(rows):
    stats = ClassStatistics.from_rows(rows)
    priors = stats.weights / stats.weights.sum()
    pairs = all_pairs(stats.n_classes)
    covariances = stats.covariances(0.1)
    return Moments(stats.means, covariances, priors, stats.weights, pairs)


def path_of(X, y, weights=None, widths=ALL):
    rows = rows_of(X, y, weights)
    moments = moments_of(rows)
    return smoothed_rules(rows, moments, solve(moments, Global()), widths)


def unit(path):
    """Return rules whose normals have length one."""
    size = np.linalg.norm(path.coef, axis=2)
    return path.coef / size[..., None], path.intercept / size


def test_small_widths_have_no_more_training_errors_than_algorithm_2(rng):
    # 28 to 30 of 30 in trials, mostly fewer errors.
    wins = 0
    for k in range(30):
        d, y = int(rng.integers(2, 8)), np.arange(200) % 3 // 2
        draw = rng.normal if k % 2 else lambda size: rng.standard_t(2, size=size)
        X = draw(size=(200, d)) * rng.uniform(0.3, 2, (2, d))[y]
        X += y[:, None] * rng.normal(0.5, 0.5, d)
        path = path_of(X, y)
        scores = X @ path.coef[:, 0].T + path.intercept[:, 0]
        fewest = np.sum((scores > 0) != (y == 1)[:, None], axis=0).min()
        start = np.append(path.intercept[0, 0], -path.coef[0, 0])
        wins += fewest <= paper_search(X, y == 0, None, start).errors
    assert wins >= 25


def test_the_first_rule_is_the_optimum_and_errors_are_the_formula(rng, make_classes):
    X, y = make_classes(n_classes=4, n=40, d=3)
    X, y = np.concatenate([X, X[y == 3] + 1]), np.append(y, [3] * 40)
    rows = rows_of(X, y)
    moments = moments_of(rows)
    optimum = solve(moments, Global())
    path = smoothed_rules(rows, moments, optimum, ALL)
    assert_allclose(path.error[0], optimum.error)
    pair = (y == 1) | (y == 3)  # scores have a mean size of one
    sizes = np.abs(X[pair] @ path.coef[:, 4].T + path.intercept[:, 4])
    assert_allclose(sizes.mean(axis=0), 1)
    one = Path(optimum.coef[None], optimum.intercept[None], optimum.error[None])
    for actual, expected in zip(unit(path), unit(one), strict=True):
        assert_allclose(actual[0], expected[0], atol=1e-12)
    for pair, (i, j) in enumerate(moments.pairs):
        for h, coef, w0, error in zip(
            *(ALL, path.coef[:, pair], path.intercept[:, pair], path.error[:, pair]),
            strict=True,
        ):
            total, w = 0.0, -coef
            p, q = moments.pair_priors[pair]
            for k, side, prior in ((i, 1, p), (j, -1, q)):
                m, sigma = moments.means[k], np.sqrt(w @ moments.covariances[k] @ w)
                s = m @ w + np.sqrt(1 - h * h) * (X[y == k] - m) @ w
                total += ndtr(side * (w0 - s) / (h * sigma)).mean() * prior
            assert_allclose(total, error, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_affine_maps_change_nothing(rng, make_classes, n_classes):
    X, y = make_classes(n_classes=n_classes, n=50, d=3, spread=0.8)
    A, shift = rng.normal(size=(3, 3)) + 2 * np.eye(3), rng.normal(size=3)
    widths = ALL[:6]
    one, two = path_of(X, y, widths=widths), path_of(X @ A + shift, y, widths=widths)
    back = Path(two.coef @ A.T, two.intercept + two.coef @ shift, two.error)
    for actual, expected in zip(unit(back), unit(one), strict=True):
        assert_allclose(actual, expected, atol=1e-6)
    assert_allclose(two.error, one.error, rtol=1e-6)


def test_pairs_without_a_start_or_without_variance_keep_their_rule(rng):
    # No difference at all; a feature that separates them without any variance.
    X = rng.normal(size=(40, 2))
    same = path_of(np.concatenate([X, X]), np.repeat([0, 1], 40))
    assert np.isfinite(same.coef).all()
    apart = np.column_stack([rng.normal(size=80), np.repeat([0.0, 1.0], 40)])
    path = path_of(apart, np.repeat([0, 1], 40))
    assert_allclose(path.coef[:, 0] / path.coef[0, 0, 1], [[0, 1]] * len(ALL), atol=0)


def test_a_trivial_optimum_is_left_for_a_rule(rng):
    # Gaussians whose best rule is always the likelier class; the rows know better.
    y = np.repeat([0, 1], [190, 10])
    X = np.where(y == 0, rng.normal(0, 1, 200), 0.0)[:, None]
    X[y == 1, 0] = rng.choice([2.4, 2.5, -6.0], 10, p=[0.45, 0.45, 0.1])
    assert path_of(X, y).coef[1:].any(axis=2).all()


@pytest.mark.parametrize("ridge", [5.0, 20.0])
def test_ridge_rules_are_logistic_regression(rng, make_classes, monkeypatch, ridge):
    monkeypatch.setattr(smoothed, "_SETTINGS", {"tol": 1e-12, "max_iter": 1000})
    X, y = make_classes(n_classes=4, n=40, d=3, spread=0.8)
    rows = rows_of(X * [1, 10, 0.1], y)
    units = rows.X.std(axis=0)
    path = ridge_rules(rows, moments_of(rows), units, np.array([100.0, ridge]))
    # Its penalty is half a square, and its losses are summed.
    two, labels = rows.X[(y == 1) | (y == 3)] / units, y[(y == 1) | (y == 3)]
    other = LogisticRegression(C=1 / (2 * ridge), tol=1e-12).fit(two, labels)
    actual = np.append(path.coef[1, 4], path.intercept[1, 4])
    expected = np.append(other.coef_[0] / units, other.intercept_)
    size = np.linalg.norm(actual), np.linalg.norm(expected)
    assert_allclose(actual / size[0], expected / size[1], atol=1e-4)
    wrong = np.mean(other.predict(two) != labels)
    assert_allclose(path.error[1, 4], wrong, atol=0.015)
