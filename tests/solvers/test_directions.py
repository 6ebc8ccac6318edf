"""Directions along arcs: scores of left-out rows against moments computed again."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers.problems import error_of_rule, shrunk_moments
from heterolda import kernels
from heterolda.kernels.score_distributions import RowsByClass, left_out_scores
from heterolda.solvers import Global, all_pairs, solve
from heterolda.solvers.directions import (
    POSITIONS,
    arc_weights,
    curve_directions,
    lost_by,
    rules_at,
    single_directions,
)
from heterolda.solvers.pencil import Moments
from heterolda.solvers.rules import Status

SIZES = 20, 12, 15, 1


def drawn(rng, shares, weighted=True):
    """Moments of four classes, their rows, and a function that refits without one."""
    to_pooled, to_diagonal = np.append(np.full(3, shares[0]), 1.0), shares[1]
    X = [
        rng.normal(size=(n, 3)) @ rng.normal(size=(3, 3)) + 2 * rng.normal(size=3)
        for n in SIZES
    ]
    X, y = np.vstack(X), np.repeat(np.arange(4), SIZES)
    weight = rng.choice([0.5, 1.0, 2.0], len(y)) if weighted else np.ones(len(y))
    weight[-1] = 1.0
    total = np.bincount(y, weight)
    divisors = np.maximum(total - 1, 1e-300)
    first = shrunk_moments(X, y, weight, to_pooled, 0.0, divisors, np.zeros(3))
    kept = first[2].diagonal()

    def refit(less):
        given = np.maximum(less, 1e-300 * (y == 3))
        return shrunk_moments(X, y, given, to_pooled, to_diagonal, divisors, kept)[:2]

    moments = Moments(*refit(weight), total / total.sum(), total, all_pairs(4))
    bounds = np.append(0, np.cumsum(SIZES))
    rows = RowsByClass(X - moments.means[y], weight, bounds, total)
    return moments, X, rows, refit, lost_by(moments, to_pooled, to_diagonal)


def naive_score(x, m, M, unit):
    """Distance along a normal from the middle of the means, in units of before."""
    w = np.linalg.solve(M, m[0] - m[1])
    before = np.linalg.solve(unit[1], unit[0][0] - unit[0][1])
    scale = np.sqrt(before @ (unit[0][0] - unit[0][1]) / (w @ (m[0] - m[1])))
    sigma = np.sqrt(before @ unit[2] @ before)
    return w @ (x - m.mean(axis=0)) * scale / sigma


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shares", [(0.0, 0.0), (0.3, 0.2), (1.0, 0.5)])
def test_scores_are_those_of_moments_without_the_row(rng, shares, weighted):
    """Divisors and angles are kept; a weighted row is left out as a whole."""
    moments, X, rows, refit, lost = drawn(rng, shares, weighted)
    if shares == (0.0, 0.0):  # the single row would have no covariance
        moments = moments.take(np.flatnonzero((moments.pairs < 3).all(axis=1)))
    rules = solve(moments, Global())
    whole = curve_directions(moments, rules, lost)
    single = single_directions(moments, arc_weights(rules), lost)
    y = np.repeat(np.arange(4), SIZES)
    for arcs, places, rtol in ((whole, (0, 4, 9, 15), 1e-9), (single, (0,), 1e-6)):
        for p, position in np.ndindex(moments.pairs.shape):
            pair = moments.pairs[p]
            own = np.flatnonzero(y == pair[position])
            scores, weights = left_out_scores(rows, arcs.directions, p, position)
            if len(own) == 1:
                assert not scores.size
                continue
            assert_allclose(weights, rows.weight[own])
            for g in places:
                b, a = arcs.weights[p, :, g]
                S, m = moments.covariances[pair], moments.means[pair]
                sigma = np.einsum("k,kij->ij", moments.pair_priors[p], S)
                for score, row in list(zip(scores[:, g], own, strict=True))[::4]:
                    less = np.where(np.arange(len(y)) == row, 0.0, rows.weight)
                    means, C = refit(less)
                    M = b * C[pair[0]] + a * C[pair[1]]
                    if np.linalg.eigvalsh(M)[0] <= 0:
                        assert np.isinf(score)
                        assert (score < 0) == (position == 0)
                        continue
                    unit = m, b * S[0] + a * S[1], sigma
                    expected = naive_score(X[row], means[pair], M, unit)
                    assert_allclose(score, expected, rtol=rtol, atol=rtol)


def test_a_curve_holds_the_optimum_among_ordered_positions(rng):
    moments, *_, lost = drawn(rng, (0.3, 0.2))
    rules = solve(moments, Global())
    arcs = curve_directions(moments, rules, lost)
    pairs = np.arange(len(rules.coef))
    angle = np.arctan2(arcs.weights[:, 1], arcs.weights[:, 0])
    assert angle.shape[1] == len(POSITIONS) + 1
    assert (np.diff(angle) >= 0).all()
    coef, intercept, unit = arcs.rules(moments)
    at = pairs, arcs.optimum
    t = arcs.thresholds(rules)
    found = np.column_stack([coef[at], intercept[at] + unit[at] * t])
    plane = np.column_stack([rules.coef, rules.intercept])
    size = (found * plane).sum(axis=1) / (plane**2).sum(axis=1)
    assert (size > 0).all()
    assert_allclose(found, size[:, None] * plane, rtol=1e-5, atol=1e-7)
    # All are rules of the arc: normals of M, which the weights describe.
    S = moments.covariances[moments.pairs]
    M = np.einsum("pkg,pkij->pgij", arcs.weights, S)
    delta = np.diff(moments.means[moments.pairs], axis=1)[:, 0]
    w = np.einsum("pgij,pgj->pgi", M, coef)
    cosine = np.einsum("pgi,pi->pg", w, delta)
    cosine /= np.linalg.norm(w, axis=2) * np.linalg.norm(delta, axis=1)[:, None]
    assert_allclose(cosine, 1, rtol=1e-6)
    # Scores are distances from the middle of the means in pooled deviations.
    middle = moments.means[moments.pairs].mean(axis=1)
    projected = np.einsum("pgi,pi->pg", coef, middle)
    assert_allclose(projected + intercept, 0, atol=1e-8 * np.abs(intercept).max())
    pooled = np.einsum("pk,pkij->pij", moments.pair_priors, S)
    variance = np.einsum("pgi,pij,pgj->pg", coef, pooled, coef)
    assert_allclose(unit, np.sqrt(variance), rtol=1e-6)


def test_rules_at_positions_have_the_best_threshold(rng):
    moments, *_ = drawn(rng, (0.3, 0.2))
    rules = solve(moments, Global())
    log_tau = np.diff(np.log(moments.pair_priors))[:, 0]
    coef, intercept = rules_at(moments, arc_weights(rules), log_tau)
    for p, pair in enumerate(moments.pairs):
        given = moments.means[pair], moments.covariances[pair], moments.pair_priors[p]
        error = error_of_rule(coef[p], intercept[p], *given)
        assert_allclose(error, rules.error[p], rtol=1e-6)
    # If the likelier class is always best, the threshold is between the means.
    coef, intercept = rules_at(moments, arc_weights(rules), np.full(6, 1e9))
    assert np.isfinite(intercept).all()


def test_compiled_code_agrees(rng, monkeypatch):
    """On pairs that are regular, with constant features, or with dependent ones."""
    if kernels.compiled is None:
        pytest.skip("nothing was compiled")
    for kind, d in itertools.product(("regular", "constant", "dependent"), (1, 4, 30)):
        X = rng.normal(size=(4, 3 * d + 9, d)) @ rng.normal(size=(4, d, d))
        if kind == "constant":
            X[:, :, 0] *= [[0], [0], [1], [2]]
        X += rng.normal(size=(4, 1, d)) * X.any(axis=1, keepdims=True)
        if kind == "dependent":
            X[:, :, -1] = X[:, :, 0]
        S = np.array([np.atleast_2d(np.cov(one.T)) for one in X])
        weights = np.full(4, X.shape[1], float)
        moments = Moments(X.mean(axis=1), S, weights / 4, weights, all_pairs(4))
        rules, lost = solve(moments, Global()), lost_by(moments, np.full(4, 0.3), 0.2)
        pairs = np.flatnonzero(rules.status < Status.TRIVIAL)
        if not len(pairs):
            continue
        given = moments.take(pairs), rules.take(pairs), lost
        both = []
        for compiled in kernels.compiled, None:
            with monkeypatch.context() as patch:
                patch.setattr(kernels, "compiled", compiled)
                both.append(curve_directions(*given))
                plain = curve_directions(*given, leaves_out=False)
                assert not plain.directions.basis.size
        fast, slow = both
        assert_array_equal(fast.optimum, slow.optimum)
        assert_allclose(fast.weights, slow.weights, atol=1e-6)
        Z = (X - moments.means[:, None]).reshape(-1, d)
        rows = RowsByClass(Z, None, np.arange(5) * X.shape[1], weights)
        for p in range(len(pairs)):
            a, b = (left_out_scores(rows, arcs.directions, p, 0)[0] for arcs in both)
            assert_allclose(a, b, rtol=1e-4, atol=1e-5)
