"""The paper's methods against a literal transcription with explicit inverses."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from helpers.problems import random_covariance, random_pairs
from heterolda import ClassStatistics, GaussianLinearDiscriminant
from heterolda.solvers import (
    SOLVERS,
    Fisher,
    FixedPoint,
    Global,
    Grid,
    RandomSearch,
    resolve_solver,
)
from heterolda.solvers import solve as solve_moments
from heterolda.solvers.pencil import Moments
from heterolda.solvers.rules import Rules, Status

PAIR = np.array([[0, 1]])


class Pair:
    """Two classes in the paper's notation."""

    def __init__(self, means, cov, priors, weights):
        self.m1, self.m2 = means
        self.S1, self.S2 = cov
        self.p1, self.p2 = priors
        self.n1, self.n2 = weights
        self.tau = self.p2 / self.p1

    def projected(self, w):
        """Equation (16)."""
        s1, s2 = np.sqrt(w @ self.S1 @ w), np.sqrt(w @ self.S2 @ w)
        return w @ self.m1, w @ self.m2, s1, s2

    def error(self, w, w0):
        """Equations (9), (17), (18), (19)."""
        mu1, mu2, s1, s2 = self.projected(w)
        return self.p1 * norm.cdf((w0 - mu1) / s1) + self.p2 * norm.sf((w0 - mu2) / s2)


def lda(pair):
    """Equation (7) with the pooled covariance of (8), normalized."""
    pooled = (pair.n1 * pair.S1 + pair.n2 * pair.S2) / (pair.n1 + pair.n2)
    inverse = np.linalg.pinv(pooled)
    w = inverse @ (pair.m1 - pair.m2)
    w0 = np.log(pair.tau) + 0.5 * (pair.m1 @ inverse @ pair.m1)
    return w, w0 - 0.5 * (pair.m2 @ inverse @ pair.m2)


def algorithm_1(pair, max_iter=20, tol=1e-6, keep="best"):
    """Algorithm 1, line by line; stops on the gradient (24), (27)."""
    total = pair.S1 + pair.S2
    w = np.linalg.inv(pair.n1 * pair.S1 + pair.n2 * pair.S2) @ (pair.m1 - pair.m2)
    iterates = []
    for _ in range(max_iter):
        mu1, mu2, s1, s2 = pair.projected(w)
        inside = (mu1 - mu2) ** 2 + 2 * (s1**2 - s2**2) * np.log(pair.tau * s1 / s2)
        if inside < 0:
            break
        w0 = mu2 * s1**2 - mu1 * s2**2 + s1 * s2 * np.sqrt(inside)
        w0 /= s1**2 - s2**2  # (39)
        z1, z2 = (w0 - mu1) / s1, (w0 - mu2) / s2
        iterates.append((pair.error(w, w0), w, w0))
        density1 = pair.p1 * np.exp(-(z1**2) / 2) / np.sqrt(2 * np.pi)
        density2 = pair.p2 * np.exp(-(z2**2) / 2) / np.sqrt(2 * np.pi)
        gradient = -density1 * (s1 * pair.m1 + z1 * pair.S1 @ w) / s1**2  # (24)
        gradient += density2 * (s2 * pair.m2 + z2 * pair.S2 @ w) / s2**2
        size = np.sqrt(gradient @ np.linalg.solve(total, gradient))
        if size * np.sqrt(w @ total @ w) <= tol:
            break
        w = np.linalg.inv(z2 / s2 * pair.S2 - z1 / s1 * pair.S1) @ (pair.m1 - pair.m2)
    if not iterates:
        return None
    chosen = iterates[-1] if keep == "last" else min(iterates, key=lambda it: it[0])
    return chosen[1], chosen[2]


def c_hld(pair, step=0.001):
    """Equations (12) and (13)."""
    trials = []
    for s in np.linspace(0, 1, round(1 / step) + 1):
        w = np.linalg.pinv(s * pair.S1 + (1 - s) * pair.S2) @ (pair.m1 - pair.m2)
        mu1, mu2, s1, s2 = pair.projected(w)
        w0 = s * mu2 * s1**2 + (1 - s) * mu1 * s2**2
        w0 /= s * s1**2 + (1 - s) * s2**2
        trials.append((pair.error(w, w0), w, w0))
    return min(trials, key=lambda trial: trial[0])[1:]


def r_hld(pair, weights):
    """Equation (10); (11) has weights that sum to one."""
    trials = []
    for s1, s2 in weights:
        w = np.linalg.inv(s1 * pair.S1 + s2 * pair.S2) @ (pair.m1 - pair.m2)
        w0 = w @ pair.m1 - s1 * (w @ pair.S1 @ w)
        trials.append((pair.error(w, w0), w, w0))
    return min(trials, key=lambda trial: trial[0])[1:]


def assert_same_rule(planes, k, rule, pair):
    """Equal up to the length of w, and with the error that the rule has."""
    w, w0 = rule
    size, expected = np.linalg.norm(planes.coef[k]), np.linalg.norm(w)
    assert_allclose(-planes.coef[k] / size, w / expected, atol=1e-8)
    assert_allclose(planes.intercept[k] / size, w0 / expected, atol=1e-8)
    assert_allclose(planes.error[k], pair.error(w, w0), rtol=1e-8)


def solve(problem, solver, seed=0):
    parts = [  # one call each, because priors and weights of the pairs are their own
        solve_moments(Moments(*arguments, PAIR), solver, seed)
        for arguments in zip(*problem, strict=True)
    ]
    return Rules.concatenate(parts)


@pytest.fixture(params=[1, 5])
def problem(request, rng):
    return random_pairs(rng, 12, request.param, condition=30.0)


def pairs_of(problem):
    return [Pair(*parts) for parts in zip(*problem, strict=True)]


def test_fisher(problem):
    planes = solve(problem, Fisher())
    assert_array_equal(planes.status, Status.CLOSED_FORM)
    assert_array_equal(planes.n_iter, 1)
    for k, pair in enumerate(pairs_of(problem)):
        assert_same_rule(planes, k, lda(pair), pair)


@pytest.mark.parametrize(("keep", "max_iter"), [("best", 1), ("best", 8), ("last", 3)])
def test_algorithm_1(problem, keep, max_iter):
    planes = solve(problem, FixedPoint(max_iter=max_iter, keep=keep))
    for k, pair in enumerate(pairs_of(problem)):
        rule = algorithm_1(pair, max_iter=max_iter, keep=keep)
        if rule is None:
            assert planes.trivial[k]
            assert planes.error[k] == min(pair.p1, pair.p2)
        else:
            assert_same_rule(planes, k, rule, pair)


def test_c_hld(problem):
    planes = solve(problem, Grid(step=0.01))
    assert_array_equal(planes.n_iter, 101)
    for k, pair in enumerate(pairs_of(problem)):
        assert_same_rule(planes, k, c_hld(pair, step=0.01), pair)


@pytest.mark.parametrize("parameters", [1, 2])
def test_r_hld(problem, parameters):
    solver = RandomSearch(parameters, n_trials=60, low=-1, high=2)
    planes = solve(problem, solver, seed=7)
    s2, *rest = np.random.default_rng(7).uniform(-1, 2, (parameters, 60))
    s1 = 1 - s2 if parameters == 1 else rest[0]
    for k, pair in enumerate(pairs_of(problem)):
        rule = r_hld(pair, zip(s1, s2, strict=True))
        assert_same_rule(planes, k, rule, pair)


@pytest.mark.parametrize("name", SOLVERS)
def test_pairs_are_solved_independently_in_batches_of_any_size(rng, monkeypatch, name):
    """Classes of all ranks, far apart and with equal means, in unequal units."""
    d, scale = 4, np.array([1.0, 1e-3, 1e4, 1.0])
    means, cov = rng.normal(size=(8, d)), np.zeros((8, d, d))
    for k, rank in enumerate([4, 4, 4, 2, 2, 1, 0, 4]):
        root = rng.normal(size=(d, rank))
        cov[k] = root @ root.T
    means[1], means[3] = means[0], means[2]
    means[5] += 50
    cov[7] = cov[0]
    pairs = np.column_stack(np.triu_indices(8, 1))
    moments = (means * scale, cov * scale * scale[:, None], np.full(8, 0.125))
    moments = Moments(*moments, np.full(8, 50.0), pairs)
    whole, told = solve_moments(moments, SOLVERS[name], seed=3), []
    monkeypatch.setattr("heterolda.solvers._BATCH_BYTES", 5 * 16 * d * d)
    monkeypatch.setattr("heterolda.solvers._PAIR_SECONDS", 1.0)
    monkeypatch.setattr("heterolda.solvers.compiled._WORTH_A_THREAD", 1)
    monkeypatch.setattr("heterolda.foundations.threads.n_threads", lambda: 3)
    monkeypatch.setattr("heterolda.solvers.paper._BATCH_SIZE", 100 * d)
    monkeypatch.setattr(
        "heterolda.solvers.progress_of", lambda *work: told.append(work) or told.append
    )
    parts = solve_moments(moments, SOLVERS[name], seed=3)
    assert told[0] == ("solving 28 pairs of classes with 4 features", 28 * d**3)
    assert told[1:] == [5 / 28, 10 / 28, 15 / 28, 20 / 28, 25 / 28, 1]
    for k, pair in enumerate(pairs):
        alone = moments.take(slice(k, k + 1))
        shared = replace(alone, shares=np.array([[0.3, 0.3]]))  # only ratios matter
        for rules, at in (
            *((parts, k), (solve_moments(alone, SOLVERS[name], seed=3), 0)),
            (solve_moments(shared, SOLVERS[name], seed=3), 0),
        ):
            assert rules.status[at] == whole.status[k]
            assert_allclose(rules.error[at], whole.error[k], rtol=1e-9, atol=1e-12)
            if np.array_equal(*means[pair]):  # several rules are the best
                continue
            # The length of w is free where a class is a point.
            a, b = (
                np.append(one.coef[i] * scale, one.intercept[i])
                for one, i in ((rules, at), (whole, k))
            )
            a, b = (rule / max(np.linalg.norm(rule), 1e-300) for rule in (a, b))
            assert_allclose(a, b, atol=1e-9, err_msg=f"rule of {pair}")
    assert told[-2:] == [("solving one pair of classes with 4 features", d**3), 1]


@pytest.mark.parametrize("jointly", [False, True])
def test_singular_covariances_are_inverted_as_in_the_paper(rng, jointly):
    """By the Moore-Penrose inverse, in the given units."""
    d, units = 5, 10.0 ** np.arange(-1, 4)  # with scaled features it is another inverse
    span = d - 1 if jointly else d
    for _ in range(10):
        basis = np.linalg.qr(rng.normal(size=(d, d)))[0][:, :span]
        S1 = basis[:, :3] @ random_covariance(rng, 3, 5.0) @ basis[:, :3].T
        S2 = basis @ random_covariance(rng, span, 5.0) @ basis.T
        # No difference where neither class varies.
        means = rng.normal(size=(2, d)) @ basis @ basis.T * units
        cov = np.stack([S1, S2]) * units * units[:, None]
        moments = Moments(means, cov, np.array([0.4, 0.6]), np.array([40.0, 60]), PAIR)
        fisher, grid = (solve_moments(moments, s) for s in (Fisher(), Grid(step=0.5)))

        def inverted(s, cov=cov, delta=means[0] - means[1]):
            mixed = s * cov[0] + (1 - s) * cov[1]
            return np.linalg.pinv(mixed, rcond=1e-11, hermitian=True) @ delta * units

        assert_allclose(-fisher.coef[0] * units, inverted(0.4), rtol=1e-5, atol=1e-6)
        trials = np.array([inverted(s) for s in (0.0, 0.5, 1.0)])
        distance = np.linalg.norm(trials + grid.coef[0] * units, axis=1)
        assert (distance / np.linalg.norm(trials, axis=1)).min() < 1e-5


def test_algorithm_1_converges_or_ends_in_the_trivial_rule(rng):
    means, cov, _, weights = random_pairs(rng, 20, 4, condition=10.0)
    cov[:, 1] = cov[:, 0] + 0.1 * cov[:, 1]  # where the map contracts
    problem = means, cov, np.full((20, 2), 0.5), weights
    best = solve(problem, FixedPoint(tol=1e-13, max_iter=1000))
    close = solve(problem, FixedPoint(tol=1e-9, max_iter=500))
    assert np.all(close.status == Status.CONVERGED)
    assert_allclose(close.error, best.error, rtol=1e-7)
    never = solve(problem, FixedPoint(tol=None, max_iter=60))
    assert np.all(never.n_iter == 60)
    assert np.all(never.status == Status.MAX_ITER)
    # A wide, likely class around a narrow, rare one: no threshold is stationary.
    means, cov = np.array([[[0.1], [0.0]]]), np.array([[[[1.0]], [[4.0]]]])
    problem = means, cov, np.array([[0.02, 0.98]]), np.ones((1, 2))
    planes = solve(problem, FixedPoint())
    assert planes.trivial[0]
    assert planes.error[0] == 0.02
    assert not planes.coef.any()
    assert planes.intercept[0] > 0  # always the second, likelier class


def test_solvers_of_your_own_may_draw():
    drawn = []

    def solve(pencil, rng):
        drawn.append(rng.random())
        return Global().solve(pencil, rng)

    own = SimpleNamespace(solve=solve, moore_penrose=False)
    assert resolve_solver(own) is own
    two = ClassStatistics.from_moments([0, 1], [9, 9], [[0], [1]], [[[1]], [[2]]])
    for seed in (0, 1):
        model = GaussianLinearDiscriminant(solver=own, random_state=seed)
        model.fit_statistics(two)
    assert len(set(drawn)) == 2
    assert [name for name in SOLVERS if SOLVERS[name].draws] == ["r-hld-1", "r-hld-2"]


def test_bad_settings_are_rejected():
    for solver, settings, message in (
        (FixedPoint, {"tol": np.nan}, "tol must be a number"),
        (FixedPoint, {"keep": "first"}, "keep must be 'best' or 'last'"),
        (
            FixedPoint,
            {"max_iter": 1.5},
            r"max_iter must be an integer from 1 to 1e\+09",
        ),
        (RandomSearch, {"n_trials": 1.5}, "n_trials must be an integer from 1 to 1e"),
        (RandomSearch, {"high": 2e6}, r"high must be a number from -1e\+06 to 1e\+06"),
        (Grid, {"step": 0}, "step must be a number from 1e-06 to 1"),
        (RandomSearch, {"parameters": 3}, r"parameters must be 1 .* or 2 .*, got 3$"),
        (RandomSearch, {"low": 1, "high": 1}, "low must be less than high"),
        (Global, {"gap": 1e-9}, "gap must be a number from 1e-08 to 0.5"),
        *(
            (resolve_solver, {"solver": wrong}, r"solver must be one of \['global'")
            for wrong in (3, Global, SimpleNamespace(solve=None))
        ),
    ):
        with pytest.raises(ValueError, match=message):
            solver(**settings)
