"""Pairs in few directions: the same rules, errors and certificates as in all."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigh

from helpers.problems import random_covariance
from heterolda.solvers import SOLVERS, all_pairs, krylov, solve
from heterolda.solvers.pencil import Moments

D = 30


@pytest.fixture(autouse=True)
def few_features(monkeypatch):
    """Use subspaces for small problems, too."""
    monkeypatch.setattr("heterolda.solvers.MIN_FEATURES", 2)


@pytest.fixture
def n_spaces(monkeypatch):
    """Return a list of the number of pairs solved in subspaces, batch by batch."""
    counts, spaces = [], krylov.KrylovSpaces._spaces

    def counted(self, moments):
        records = spaces(self, moments)
        counts.append(len(records))
        return records

    monkeypatch.setattr(krylov.KrylovSpaces, "_spaces", counted)
    return counts


def classes(rng, case):
    """Four classes, far enough apart for errors below half of a prior."""
    cov = np.array([random_covariance(rng, D, 20.0) for _ in range(4)])
    means = rng.normal(size=(4, D))
    if case == "equal":
        cov[:] = cov[0]
    elif case == "zeros":  # means differ in a few directions of unequal features
        cov[:] = [np.diag(rng.uniform(1, 5, D)) for _ in range(4)]
        means[:, 3:] = 7.0
    elif case == "constant":
        cov[:, [4, 9]] = cov[:, :, [4, 9]] = 0.0
        means[:, [4, 9]] = 5.0
    elif case == "units":
        units = 10.0 ** rng.uniform(-40, 40, D)
        means, cov = (means + 1e3) * units, cov * units * units[:, None]
    return 3 * means if case != "zeros" else 10 * means, cov


SAME = "error", "means", "deviations", "dropped", "floored", "rank"


def assert_same(few, every, unit=1.0):
    """Rules found in few directions are those found in all."""
    for name in SAME:
        one, other = getattr(few, name), getattr(every, name)
        assert_allclose(one, other, rtol=1e-7, atol=1e-8, err_msg=name)
    assert_allclose(few.error, every.error, rtol=1e-9)
    for name in ("", "fisher_"):
        one, other = (getattr(rules, name + "coef") * unit for rules in (few, every))
        assert_allclose(one, other, rtol=0, atol=1e-9 * np.abs(other).max())
        one, other = (getattr(rules, name + "intercept") for rules in (few, every))
        assert_allclose(one, other, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("case", ["general", "equal", "zeros", "constant", "units"])
def test_rules_are_those_of_all_directions(rng, monkeypatch, n_spaces, case):
    means, cov = classes(rng, case)
    priors, pairs = np.arange(1.0, 5), all_pairs(4)
    moments = Moments(means, cov, priors, 50 * priors, pairs)
    solvers = SOLVERS["global"], SOLVERS["fisher"]
    few = [solve(moments, solver) for solver in solvers]
    assert n_spaces == [len(pairs)] * 2
    assert (few[0].error < 0.5 * moments.pair_priors.min(axis=1)).all()
    assert (few[0].gap <= 1e-3).all()
    monkeypatch.setattr("heterolda.solvers.MIN_FEATURES", 1000)
    unit = np.sqrt(cov.sum(axis=0).diagonal())
    for rules, solver in zip(few, solvers, strict=True):
        assert_same(rules, solve(moments, solver), unit)


def test_pairs_that_need_all_directions_keep_their_place(rng, monkeypatch, n_spaces):
    """A class with a constant feature, means alike or the same, and one far off."""
    means, cov = (np.concatenate([one, one]) for one in classes(rng, "general"))
    cov[1] = np.diag(cov[1].diagonal())
    cov[1, 5] = cov[1, :, 5] = 0.0
    means[:, 5] = 2.0  # Lanczos's method does not see the direction without variance
    means[3] = means[2] + 0.01
    means[5] = 1e200
    pairs = all_pairs(8)
    moments = Moments(means, cov, np.full(8, 0.125), np.full(8, 90.0), pairs)
    ours = solve(moments, SOLVERS["global"])
    assert 0 < n_spaces[0] < len(pairs)
    monkeypatch.setattr("heterolda.solvers.MIN_FEATURES", 1000)
    every = solve(moments, SOLVERS["global"])
    assert_same(ours, every)
    assert_array_equal(ours.status, every.status)
    assert_allclose(ours.gap, every.gap, atol=1e-8)


@pytest.mark.parametrize("obstacle", ["_FIRST_LOOK", "_MAX_STEPS", "condition"])
def test_few_directions_that_do_not_suffice_are_given_up(
    rng, monkeypatch, n_spaces, obstacle
):
    means, cov = classes(rng, "general")
    if obstacle == "condition":  # nearly equal features
        copied = np.eye(D)
        copied[0, 1] = 1.0
        cov[:, 0], cov[:, :, 0] = 0.0, 0.0
        cov[:, 0, 0] = 1e-10
        means[:, 0] = 0.0
        means, cov = means @ copied.T, copied @ cov @ copied.T
    else:
        monkeypatch.setattr(krylov, obstacle, 1)
    moments = Moments(means, cov, np.full(4, 0.25), np.full(4, 90.0), all_pairs(4))
    ours = solve(moments, SOLVERS["global"])
    assert n_spaces == [0]
    monkeypatch.setattr("heterolda.solvers.MIN_FEATURES", 1000)
    assert_array_equal(ours.coef, solve(moments, SOLVERS["global"]).coef)


@pytest.mark.parametrize(("asked", "ratio"), [(0.1, 1), (1e-3, 0.03), (1e-3, 30)])
def test_what_a_space_lacks_is_bounded(rng, monkeypatch, asked, ratio):
    """F is too small by a share of rho^2 / mu at most, wherever a, b >= 0."""
    monkeypatch.setattr(krylov, "_CONVERGED", asked)
    delta, inverse = rng.normal(size=D), np.ones(D)
    S1, S2 = (random_covariance(rng, D, 30.0) for _ in range(2))
    S1 *= ratio
    factor = np.asfortranarray(np.linalg.cholesky(S1 + S2))
    space = krylov._krylov_space(S1, factor, delta, inverse)
    T, P = space.covariance, space.basis
    m = len(P)
    assert 1 < m < D
    assert_allclose(P @ (S1 + S2) @ P.T, np.eye(m), atol=1e-12)
    assert_allclose(P @ S1 @ P.T, T, atol=1e-12)
    assert_allclose(P @ delta, space.distance * np.eye(m)[0], atol=1e-12)
    alpha = eigh(S1, S1 + S2, eigvals_only=True)
    mu = min(alpha[0], 1 - alpha[-1])
    for theta in np.linspace(0, np.pi / 2, 50):
        a, b = np.sin(theta), np.cos(theta)
        F = delta @ np.linalg.solve(b * S1 + a * S2, delta)
        inner = b * T + a * (np.eye(m) - T)
        lacking = 1 - space.distance**2 * np.linalg.inv(inner)[0, 0] / F
        assert -1e-12 < lacking < asked**2 / mu + 1e-12
