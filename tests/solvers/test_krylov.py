"""Pairs in few directions: the same rules, errors and certificates as in all."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from helpers.problems import random_covariance
from heterolda import GaussianLinearDiscriminant
from heterolda.exceptions import SmallClassWarning
from heterolda.solvers import SOLVERS, Moments, all_pairs, krylov, solve

D = 30


@pytest.fixture(autouse=True)
def few_features(monkeypatch):
    """So that the problems may be small."""
    monkeypatch.setattr("heterolda.solvers.LEAST_FEATURES", 2)


@pytest.fixture
def n_spaces(monkeypatch):
    """How many pairs were solved in a space, one number for each batch."""
    found, spaces = [], krylov.KrylovSpaces._spaces

    def counted(self, moments):
        known = spaces(self, moments)
        found.append(len(known))
        return known

    monkeypatch.setattr(krylov.KrylovSpaces, "_spaces", counted)
    return found


def classes(rng, case):
    """Four classes, far enough apart for errors below half of a prior."""
    cov = np.array([random_covariance(rng, D, 20.0) for _ in range(4)])
    means = rng.normal(size=(4, D))
    if case == "equal":
        cov[:] = cov[0]
    elif case == "repeated":  # alpha has few values
        root = np.linalg.cholesky(cov[0])
        cov = np.array([root * rng.choice([1.0, 2, 3], D) @ root.T for _ in range(4)])
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


def naive_error(means, cov, p1, p2):
    """Least error of (b S1 + a S2)^-1 delta for a, b >= 0, by all eigenvectors."""
    some = cov.sum(axis=0).diagonal() > 0
    unit = np.sqrt(cov.sum(axis=0).diagonal()[some])
    S1, S2 = (S[np.ix_(some, some)] / unit / unit[:, None] for S in cov)
    alpha, V = eigh(S1, S1 + S2)
    c = V.T @ ((means[0] - means[1])[some] / unit)

    def error(theta):
        a, b = np.sin(theta), np.cos(theta)
        u = c / (b * alpha + a * (1 - alpha))
        y1, y2 = b * np.sqrt(u**2 @ alpha), a * np.sqrt(u**2 @ (1 - alpha))
        return p1 * ndtr(-y1) + p2 * ndtr(-y2)

    grid = np.linspace(0, np.pi / 2, 201)
    near = np.clip(np.argmin([error(theta) for theta in grid]), 1, 199)
    tight = {"bounds": grid[[near - 1, near + 1]], "options": {"xatol": 1e-13}}
    return minimize_scalar(error, method="bounded", **tight).fun


@pytest.mark.parametrize(
    "case", ["general", "equal", "repeated", "zeros", "constant", "units"]
)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_rules_are_those_of_all_directions(rng, monkeypatch, n_spaces, case, n_classes):
    means, cov = (each[:n_classes] for each in classes(rng, case))
    priors = np.arange(1.0, n_classes + 1)
    weights, pairs = 50 * priors, all_pairs(n_classes)
    moments = Moments(means, cov, priors, weights, pairs)
    ours = solve(moments, SOLVERS["global"])
    fisher = solve(moments, SOLVERS["fisher"])
    assert n_spaces == [len(pairs)] * 2
    for k, pair in enumerate(pairs):
        p = priors[pair] / priors[pair].sum()
        least = naive_error(means[pair], cov[pair], *p)
        assert least < 0.5 * p.min()
        assert_allclose(ours.error[k], least, rtol=1e-10)
    assert (ours.gap <= 1e-3).all()

    monkeypatch.setattr("heterolda.solvers.LEAST_FEATURES", 1000)
    every = solve(moments, SOLVERS["global"])
    for few, all_ in ((ours, every), (fisher, solve(moments, SOLVERS["fisher"]))):
        for name in ("error", "means", "deviations", "dropped", "floored"):
            assert_allclose(getattr(few, name), getattr(all_, name), rtol=1e-9)
        unit = np.sqrt(cov.sum(axis=0).diagonal())
        scale = np.abs(all_.coef * unit).max()
        assert_allclose(few.coef * unit, all_.coef * unit, rtol=0, atol=1e-9 * scale)
        assert_allclose(few.intercept, all_.intercept, rtol=1e-8, atol=1e-8)
    for name in ("fisher_coef", "fisher_intercept", "rank"):
        few, all_ = getattr(ours, name), getattr(every, name)
        assert_allclose(few, all_, rtol=1e-7, atol=1e-9 * np.abs(all_).max())


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
    monkeypatch.setattr("heterolda.solvers.LEAST_FEATURES", 1000)
    every = solve(moments, SOLVERS["global"])
    names = "error", "gap", "status", "coef", "dropped", "floored"
    for name in (*names, "fisher_coef", "fisher_intercept", "rank"):
        one, other = getattr(ours, name), getattr(every, name)
        assert_allclose(one, other, rtol=1e-7, atol=1e-8, err_msg=name)


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


def test_too_many_steps_are_not_made(rng, monkeypatch):
    d = 200
    root = rng.normal(size=(d, d)) / np.sqrt(d)
    S1 = root @ root.T + 1e-6 * np.eye(d)
    factor = np.asfortranarray(np.linalg.cholesky(S1 + np.eye(d)))
    given = S1, factor, rng.normal(size=d), np.ones(d)
    assert krylov._krylov_space(*given) is None
    monkeypatch.setattr(krylov, "_PROMISING", np.inf)
    assert krylov._krylov_space(*given) is None
    assert krylov._krylov_space(*given[:2], np.zeros(d), np.ones(d)) is None


def test_fit_with_features_constant_in_some_classes(rng, monkeypatch, n_spaces):
    """Each class has fewer rows than features, and borrows."""
    n, d, K = 600, 165, 4
    y = np.arange(n) % K
    X = rng.normal(size=(n, d)) + 0.3 * rng.normal(size=(K, d))[y]
    for k in range(K):
        X[np.ix_(y == k, rng.choice(d, 16, replace=False))] = 0.0
    X[:, 7] = 3.0
    with pytest.warns(SmallClassWarning):
        few = GaussianLinearDiscriminant().fit(X, y)
    assert sum(n_spaces) == 6
    monkeypatch.setattr("heterolda.solvers.LEAST_FEATURES", 1000)
    with pytest.warns(SmallClassWarning):
        every = GaussianLinearDiscriminant().fit(X, y)
    assert_allclose(few.bayes_error_, every.bayes_error_, rtol=1e-10)
    assert_allclose(few.decision_function(X), every.decision_function(X), rtol=1e-7)
