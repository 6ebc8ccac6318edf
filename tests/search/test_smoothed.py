"""Rules of pairs in one fit, and their scores of left-out rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr
from sklearn.linear_model import LogisticRegression

from heterolda.search import smoothed
from heterolda.search.algorithm2 import paper_search
from heterolda.search.smoothed import (
    RIDGE,
    ClassRows,
    crowding,
    ridge_weights_of,
    widths_of,
)
from heterolda.solvers import Global, all_pairs, solve
from heterolda.solvers.directions import lost_by
from heterolda.solvers.pencil import Moments
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.rows import Rows


def classes_of(X, y, weights=None):
    rows = Rows(X, np.asarray(y, np.int64), weights, np.unique(y))
    stats = ClassStatistics.from_rows(rows)
    priors, pairs = stats.weights / stats.weights.sum(), all_pairs(stats.n_classes)
    covariances = stats.covariances(0.1)
    moments = Moments(stats.means, covariances, priors, stats.weights, pairs)
    optimum, lost = solve(moments, Global()), lost_by(moments, *stats.amounts(0.1))
    return ClassRows.of(rows, moments, optimum, X.std(axis=0), lost)


def fit(X, y, width, ridge=0.0, crowd=0.0, *, pair=0, weights=None):
    return classes_of(X, y, weights).fit(pair, width, ridge, crowd)


def unit(plane):
    return plane / np.linalg.norm(plane[:-1])


def two_classes(rng, n, d, apart=1.0):
    y = np.arange(n) % 2
    return rng.standard_t(3, size=(n, d)) + apart * y[:, None], y


def test_small_widths_have_no_more_training_errors_than_algorithm_2(rng):
    # 28 to 30 of 30 in trials, mostly fewer errors.
    wins = 0
    for k in range(30):
        d, y = int(rng.integers(2, 8)), np.arange(200) % 3 // 2
        draw = rng.normal if k % 2 else lambda size: rng.standard_t(2, size=size)
        X = draw(size=(200, d)) * rng.uniform(0.3, 2, (2, d))[y]
        X += y[:, None] * rng.normal(0.5, 0.5, d)
        planes = [fit(X, y, h).plane for h in (1.0, 0.1, 0.03, 0.002)]
        wrong = [np.sum((X @ v[:-1] + v[-1] > 0) != (y == 1)) for v in planes]
        start = np.append(planes[0][-1], -planes[0][:-1])
        wins += min(wrong) <= paper_search(X, y == 0, None, start).errors
    assert wins >= 25


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_width_1_is_the_optimum_and_errors_are_the_formula(make_classes, ridge):
    X, y = make_classes(n_classes=4, n=40, d=3)
    X, y = np.concatenate([X, X[y == 3] + 1]), np.append(y, [3] * 40)
    rows = classes_of(X, y)
    moments, optimum = rows.moments, rows.optimum
    for pair, (i, j) in enumerate(moments.pairs):
        one = rows.fit(pair, 1.0, 0.0, 0.0)
        best = np.append(optimum.coef[pair], optimum.intercept[pair])
        assert_allclose(unit(one.plane), unit(best))
        assert_allclose((one.error, one.n_iter), (optimum.error[pair], 0))
        for h in (0.6, 0.1):
            result = rows.fit(pair, h, ridge, 0.0)
            w, w0, total = -result.plane[:-1], result.plane[-1], 0.0
            p, q = moments.pair_priors[pair]
            for k, side, prior in ((i, 1, p), (j, -1, q)):
                m, sigma = moments.means[k], np.sqrt(w @ moments.covariances[k] @ w)
                s = m @ w + np.sqrt(1 - h * h) * (X[y == k] - m) @ w
                total += ndtr(side * (w0 - s) / (h * sigma)).mean() * prior
            assert_allclose(result.error, total, rtol=1e-5)
            if ridge:  # rows are left out of it
                continue
            # Scores, which begin with the first class, have a mean size of one.
            both = np.concatenate([X[y == i], X[y == j]])
            assert_allclose(result.scores, w0 - both @ w)
            first, second = np.split(np.abs(result.scores), [np.sum(y == i)])
            assert p * first.mean() + q * second.mean() == pytest.approx(1)


def test_affine_maps_change_nothing_and_copies_are_weights(rng, make_classes):
    X, y = make_classes(n_classes=4, n=50, d=3, spread=0.8)
    A, shift = rng.normal(size=(3, 3)) + 2 * np.eye(3), rng.normal(size=3)
    weights = rng.integers(1, 4, len(y))
    copies = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    for pair, h in ((0, 0.7), (4, 0.25)):
        one, two = (fit(Z, y, h, pair=pair) for Z in (X, X @ A + shift))
        back = np.append(A @ two.plane[:-1], two.plane[-1] + shift @ two.plane[:-1])
        assert_allclose(back, one.plane, atol=1e-6)
        assert_allclose(two.error, one.error, rtol=1e-6)
        weighted = fit(X, y, h, pair=pair, weights=weights.astype(float))
        assert_allclose(weighted.plane, fit(*copies, h, pair=pair).plane, atol=1e-6)


def test_pairs_without_a_start_or_without_variance_keep_their_rule(rng):
    # No difference at all; a feature that separates them without any variance.
    X, y = rng.normal(size=(40, 2)), np.repeat([0, 1], 40)
    assert np.isfinite(fit(np.concatenate([X, X]), y, 0.3).plane).all()
    apart = np.column_stack([rng.normal(size=80), 1.0 * y])
    plane = fit(apart, y, 0.3).plane
    assert_allclose(plane[:-1] / plane[1], [0, 1], atol=0)


def test_a_trivial_optimum_is_left_for_a_rule(rng):
    # Gaussians whose best rule is always the likelier class; the rows know better.
    y = np.repeat([0, 1], [190, 10])
    X = np.where(y == 0, rng.normal(0, 1, 200), 0.0)[:, None]
    X[y == 1, 0] = rng.choice([2.4, 2.5, -6.0], 10, p=[0.45, 0.45, 0.1])
    assert fit(X, y, 0.5).plane[:-1].any()


def test_ridge_rules_are_logistic_regression_and_left_out_rows_are_left_out(
    rng, monkeypatch
):
    monkeypatch.setattr(smoothed, "_MAX_ITER_RIDGE", 1000)
    path, exact = smoothed.smoothed_path, {"tol": 1e-12}
    monkeypatch.setattr(
        smoothed, "smoothed_path", lambda *rows, **most: path(*rows, **most | exact)
    )
    X, y = two_classes(rng, 60, 6)
    X, order = X * [1, 10, 0.1, 1, 1, 1], np.argsort(y, kind="stable")
    rows, units = classes_of(X, y), X.std(axis=0)
    plane, left_out = rows._ridge(np.array([0, 1]), 30, np.full(60, 1 / 60))
    trained = X[order] @ plane[:-1] + plane[-1]

    def scores(keep, at):
        # Its penalty is half a square, and its losses are summed.
        model = LogisticRegression(C=len(y) / 2 / RIDGE / len(y), tol=1e-12)
        return model.fit(X[keep] / units, y[keep]).decision_function(X[at] / units)

    every = np.arange(len(y))
    expected = scores(every, order)
    size = np.abs(expected).mean()
    assert_allclose(trained, expected / size, atol=1e-4)
    expected = [scores(np.delete(every, k), [k])[0] for k in order]
    assert_allclose(left_out, np.array(expected) / size, rtol=0.05, atol=0.05)


@pytest.mark.parametrize(("d", "most"), [(8, 0.75), (12, 0.6), (12, 0.4)])
def test_left_out_scores_of_smoothed_rules_are_about_those_of_refits(rng, d, most):
    X, y = two_classes(rng, 80, d)
    order, crowd = np.argsort(y, kind="stable"), (d + 1) / 80
    h = 1.0 if most == 0.4 else float(widths_of(np.array([crowd]))[0])
    approximate = fit(X, y, h, crowd=crowd).scores
    trained = fit(X, y, h).scores
    size = 1 / np.linalg.norm(fit(X, y, h).plane)
    exact = []
    for k in order:
        plane = fit(np.delete(X, k, axis=0), np.delete(y, k), h).plane
        exact.append((X[k] @ plane[:-1] + plane[-1]) / np.linalg.norm(plane) / size)
    exact = np.array(exact)
    wrong = [np.mean((s > 0) != y[order]) for s in (trained, approximate, exact)]
    off = [np.abs(scores - exact).mean() for scores in (trained, approximate)]
    assert off[1] < most * off[0]
    assert wrong[0] <= wrong[1] <= wrong[2] + 0.05


def test_widths_and_weights_follow_the_number_of_rows_per_coefficient(rng):
    X, y = two_classes(rng, 100, 3)
    crowd = crowding(classes_of(X, y).moments, 3)
    assert_allclose(crowd, 4 / (4 * 50 * 50 / 100))
    assert_allclose(widths_of(crowd), 1.75 * np.sqrt(0.04))
    assert_allclose(widths_of(np.array([1e-9, 9.0])), [0.03, 0.85])
    weights = ridge_weights_of(np.array([0.03, 0.0401, 0.06, 0.1225, 7]))
    assert_allclose(weights, [0, 0.05358, 0.11995, 0.5, 0.5], atol=1e-4)


def test_likelihoods_are_those_of_logistic_regressions_of_scores(rng):
    X, y = two_classes(rng, 200, 3)
    for weights in (None, rng.integers(1, 4, 200).astype(float)):
        result = fit(X, y, 0.3, weights=weights, crowd=0.02)
        line = LogisticRegression(C=np.inf).fit(
            result.scores[:, None], result.second, sample_weight=result.weight
        )
        log_p = line.predict_log_proba(result.scores[:, None])
        expected = result.weight @ np.where(result.second, log_p[:, 1], log_p[:, 0])
        assert_allclose(result.log_likelihood, expected, rtol=0.02)
    separated = fit(X + 1e3 * y[:, None], y, 0.3)
    assert -20 < separated.log_likelihood < 0
