"""Scores without one row: the closed form against moments computed again."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers.problems import arc_score, lda_score, shrunk_moments
from heterolda import ClassStatistics
from heterolda.foundations.rounding import VARIANCE_FLOOR
from heterolda.solvers import Global, all_pairs, solve
from heterolda.solvers.fisher import PooledLDA
from heterolda.solvers.left_out import LeftOut, arc_weights
from heterolda.solvers.pencil import Moments
from heterolda.statistics.rows import Rows


def rows_of_classes(rng, sizes, d):
    """Gaussian rows with covariances of their own, and their labels."""
    X = [
        rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 2 * rng.normal(size=d)
        for n in sizes
    ]
    return np.vstack(X), np.repeat(np.arange(len(sizes)), sizes)


@pytest.mark.parametrize("frequencies", [False, True])
@pytest.mark.parametrize("shares", [(0.0, 0.0), (0.3, 0.2), (1.0, 0.5)])
def test_scores_are_those_of_moments_without_the_row(rng, shares, frequencies):
    X, y = rows_of_classes(rng, (20, 12, 15), 3)
    weight = rng.choice([0.5, 1.0, 2.0], len(y))
    total = np.bincount(y, weight)
    stats = ClassStatistics.from_data(X, y, weight)
    kept = np.diag(stats.scatters.sum(axis=0)) / (total - 1).sum()
    means, S, _ = shrunk_moments(X, y, weight, *shares, total - 1, kept)
    priors = total / total.sum() if frequencies else np.array([0.5, 0.2, 0.3])
    moments = Moments(means, S, priors, total, all_pairs(3))
    rules = solve(moments, Global())
    rows = Rows(X, y, weight, np.arange(3))
    lda = PooledLDA(stats, to_diagonal=shares[1])
    to_pooled = np.full(3, shares[0])
    left_out = LeftOut(rows, moments, lda, to_pooled, shares[1], frequencies)
    weights = arc_weights(rules)
    assert_allclose(weights.sum(axis=1), 1, rtol=1e-6)
    # From the mean of the second class to the threshold, of the distance of the means.
    share = rules.means[:, 1] / (rules.means[:, 1] - rules.means[:, 0])
    every = np.ones((3, 2), bool)
    for arcs, pooled in zip(
        left_out.of_arcs(rules, every), left_out.of_lda(every), strict=True
    ):
        for p, place in zip(arcs.pairs, arcs.position, strict=True):
            own = moments.pairs[p, place]
            for n, row in enumerate(np.flatnonzero(y == own)):
                less = np.where(np.arange(len(y)) == row, 0.0, weight)
                m, cov, P = shrunk_moments(X, y, less, *shares, total - 1, kept)
                i, j = moments.pairs[p]
                b, a = weights[p]
                cov = cov + VARIANCE_FLOOR * (S[i] + S[j])
                mixed = b * cov[i] + a * cov[j]
                score, distance = arc_score(X[row], m[i], m[j], mixed, share[p])
                k = np.flatnonzero((arcs.pairs == p) & (arcs.position == place))[0]
                assert_allclose(arcs.score[k, n], score, rtol=1e-7, atol=1e-7)
                assert_allclose(arcs.distance[k, n], distance, rtol=1e-7)
                p1, p2 = np.bincount(y, less)[[i, j]] if frequencies else priors[[i, j]]
                score = lda_score(X[row], m[i], m[j], P, p2 / p1)
                assert_allclose(pooled.score[k, n], score, rtol=1e-7, atol=1e-8)


def test_pooled_lda_as_printed(rng):
    X, y = rows_of_classes(rng, (20, 12, 15), 3)
    stats, priors = ClassStatistics.from_data(X, y), np.array([0.98, 0.01, 0.01])
    lda = PooledLDA(stats, priors)
    normals = np.linalg.solve(stats.scatters.sum(axis=0) / (47 - 3), stats.means.T)
    scores = X @ normals - 0.5 * np.sum(stats.means.T * normals, axis=0)
    scores += np.log(priors)
    assert_array_equal(lda.predict(X), scores.argmax(axis=1))
    given = stats.means, stats.covariances(), priors, stats.weights, all_pairs(3)
    coef, intercept = lda.rules(Moments(*given))
    first, second = all_pairs(3).T
    expected = scores[:, second] - scores[:, first]
    assert_allclose(X @ coef.T + intercept, expected, rtol=1e-8, atol=1e-8)
    # Features that depend on others, and more of them than rows, add nothing.
    for wider in (X[:, [0, 1, 2, 0]], X @ rng.normal(size=(3, 150))):
        wide = PooledLDA(ClassStatistics.from_data(wider, y), priors)
        assert_array_equal(wide.predict(wider), lda.predict(X))


def test_of_a_trivial_rule_only_the_priors_change(rng):
    X, y = rows_of_classes(rng, (60, 2), 1)
    X[60:, 0] = X[:60].mean() + np.array([-1, 1]) * X[:60].std(ddof=1) / np.sqrt(2)
    stats = ClassStatistics.from_data(X, y)
    given = stats.means, stats.covariances(), stats.weights, stats.weights
    moments = Moments(*given, all_pairs(2))
    rules = solve(moments, Global())
    assert rules.trivial.all()
    rows = Rows(X, y, None, np.arange(2))
    left_out = LeftOut(rows, moments, PooledLDA(stats), np.zeros(2), 0.0, True)
    (scores,) = left_out.of_arcs(rules, np.array([[True, False]]))
    assert_allclose(scores.score, np.log(2 / 59))
    # A class of one row, whatever its weight, has nothing to leave out.
    heavy = replace(rows, weights=np.append(np.ones(61), 0.0))
    moments = replace(moments, weights=np.array([60.0, 1.0]))
    left_out = LeftOut(heavy, moments, PooledLDA(stats), np.ones(2), 0.0, True)
    (scores,) = left_out.of_lda(np.array([[False, True]]))
    assert scores.score.shape == (1, 0)


def test_a_direction_in_which_only_the_row_varies_has_no_part(rng):
    y = np.repeat([0, 1], (20, 15))
    X = rng.normal(size=(35, 4)) * (1 + 0.5 * y[:, None]) + y[:, None]
    X[:, 3] = 0.0
    X[4, 3] = 5.0
    stats, total = ClassStatistics.from_data(X, y), np.array([20.0, 15.0])
    moments = Moments(stats.means, stats.covariances(), total, total, all_pairs(2))
    rules = solve(moments, Global())
    rows = Rows(X, y, None, np.arange(2))
    left_out = LeftOut(rows, moments, PooledLDA(stats), np.zeros(2), 0.0, False)
    (scores,) = left_out.of_arcs(rules, np.array([[True, False]]))
    # Without the row the last feature is constant, so the rule is that of the others.
    own, others = np.delete(X[:20, :3], 4, axis=0), X[20:, :3]
    b, a = arc_weights(rules)[0]
    M = b * np.cov(own.T) * (18 / 19) + a * np.cov(others.T)
    share = rules.means[0, 1] / np.diff(rules.means)[0, 0]
    score, _ = arc_score(X[4, :3], own.mean(axis=0), others.mean(axis=0), M, share)
    assert_allclose(scores.score[0, 4], score, rtol=1e-4)
