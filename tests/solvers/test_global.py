"""The certified optimum: never beaten, never violated, in every special case."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from helpers.problems import error_of_rule, random_covariance, random_pairs
from heterolda.solvers import SOLVERS, Global
from heterolda.solvers import solve as solve_moments
from heterolda.solvers.arc import Arc
from heterolda.solvers.global_search import branch_and_bound, proven_bound
from heterolda.solvers.pencil import Moments, Pencil
from heterolda.solvers.rules import Status

PAIR = np.array([[0, 1]])


def solve(means, cov, priors, solver="global", weights=(50.0, 70.0)):
    solver = SOLVERS[solver] if isinstance(solver, str) else solver
    moments = Moments(means, cov, np.asarray(priors), np.array(weights), PAIR)
    return solve_moments(moments, solver)


def test_a_minimum_that_hides_within_the_gap_is_found(rng):
    """A piece closed by the gap alone once hid a rule better than the trivial one."""
    missed = 0
    for _ in range(50):
        means, cov, priors, weights = random_pairs(rng, 20, 3, condition=1e3)
        means *= 0.15
        pencil = Pencil.from_moments(means, cov, priors, weights)
        loose = Global(gap=1e-2).solve(pencil, np.random.default_rng())
        tight = Global(gap=1e-8).solve(pencil, np.random.default_rng())
        missed += np.sum(loose.error > tight.error + 1e-12)
    assert missed == 0


def test_a_missing_piece_rejects_the_certificate(rng):
    pencil = Pencil.from_moments(*random_pairs(rng, 3, 4))
    pieces, _, _ = branch_and_bound(Arc.from_pencil(pencil), 1e-3)
    assert np.all(np.isfinite(proven_bound(pieces, 3)))
    for missing in range(len(pieces.pair)):
        fewer = pieces.take(np.arange(len(pieces.pair)) != missing)
        with pytest.raises(ValueError, match="do not cover the arc of pair"):
            proven_bound(fewer, 3)
    with pytest.raises(ValueError, match="do not cover"):
        proven_bound(pieces.take(pieces.pair != 1), 3)
    with pytest.raises(ValueError, match="do not cover"):
        proven_bound(pieces.take(np.zeros(0, int)), 3)


@pytest.mark.parametrize("rounds", [0, 2])
def test_a_search_cut_short_claims_no_more_than_it_proved(rng, monkeypatch, rounds):
    monkeypatch.setattr("heterolda.solvers.global_search._MAX_ROUNDS", rounds)
    pencil = Pencil.from_moments(*random_pairs(rng, 60, 4, condition=1e4))
    cut = Global(gap=1e-6).solve(pencil, np.random.default_rng())
    monkeypatch.undo()
    best = Global(gap=1e-8).solve(pencil, np.random.default_rng())
    assert np.any(cut.gap > 1e-6)
    assert_array_equal((cut.status == Status.MAX_ITER) & ~cut.trivial, cut.gap > 1e-6)
    assert np.all(cut.error * (1 - cut.gap) <= best.error * (1 + 1e-12))
    assert np.all(cut.error >= best.error * (1 - 1e-12))


@pytest.mark.parametrize("name", SOLVERS)
def test_extreme_distances_and_priors(rng, name):
    """Where squares of the distance overflow, the classes are simply separated."""
    cov = np.array([np.eye(2), np.diag([4.0, 1.0])])
    flat = np.array([np.diag([1.0, 0.0]), np.diag([2.0, 0.0])])
    deep = np.array([np.diag([1e300, 1e-300]), np.diag([2e300, 3e-300])])
    for S, delta in (
        (cov, [1e77, 0]),
        (cov, [1e200, 0]),
        (flat, [3, 1]),
        (deep, [1, 1]),
    ):
        means = np.array([[0.0, 0.0], delta])
        planes = solve(means, S, [0.5, 0.5], name)
        assert planes.error[0] == 0
        scores = means @ planes.coef[0] + planes.intercept[0]
        assert scores[0] < 0 < scores[1]
        assert planes.gap[0] == 0 if name == "global" else np.isnan(planes.gap[0])
    means = np.array([[0.0, 0.0], [1e-200, 0.0]])
    planes = solve(means, np.array([np.eye(2), np.eye(2)]), [0.4, 0.6], name)
    assert planes.error[0] == pytest.approx(0.4)
    assert np.all(np.isfinite(planes.coef))
    means, cov, _, _ = (part[0] for part in random_pairs(rng, 1, 3))
    for priors in ([1e-320, 1.0], [1.0, 1e-320], [1e-300, 1.0]):
        planes = solve(means, cov, priors, name)
        assert np.all(np.isfinite(planes.coef))
        assert np.isfinite(planes.intercept[0])
        assert 0 <= planes.error[0] <= 1


@pytest.mark.parametrize("gap", [1e-3, 1e-8])
@pytest.mark.parametrize("shift", [0.0, 1e-9, 1e-3])
def test_classes_that_are_alike(rng, gap, shift):
    # Along the whole arc the error is the same, or next to it.
    for d, ratio in ((1, 1.0), (3, 1.0), (3, 1 + shift)):
        cov = random_covariance(rng, d)
        means = np.array([np.zeros(d), shift * rng.normal(size=d)])
        both = np.array([cov, ratio * cov])
        for p1 in (0.5, 0.5 + 1e-9, 0.3):
            priors = np.array([p1, 1 - p1])
            planes = solve(means, both, priors, Global(gap=gap))
            rule = planes.coef[0], planes.intercept[0]
            error = error_of_rule(*rule, means, both, priors)
            assert planes.error[0] == pytest.approx(error, rel=1e-9)
            assert error <= min(priors) * (1 + 1e-9)
            # A proof is not always within reach where all rules are alike.
            assert planes.gap[0] <= max(gap, 1e-3)
            assert planes.n_iter[0] < 100_000
