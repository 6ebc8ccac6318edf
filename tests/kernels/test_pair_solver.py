"""The compiled solver of pairs against the NumPy solver, which is its reference."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import heterolda.kernels
from heterolda.foundations import rounding
from heterolda.kernels.pair_solver import DONE, SINGULAR, UNSOLVED, solve_pairs
from heterolda.solvers import Global
from heterolda.solvers.compiled import solve_compiled
from heterolda.solvers.pencil import Moments

pytestmark = pytest.mark.skipif(
    heterolda.kernels.compiled is None, reason="the kernels are not compiled"
)


def covariance(rng, kind, d):
    A = rng.normal(size=(d, d))
    if kind == "round":
        return np.eye(d) + A @ A.T / d
    if kind == "flat":
        return A @ A.T / d
    if kind == "graded":
        Q = np.linalg.qr(A)[0]
        return Q * 10.0 ** rng.uniform(-7, 0, d) @ Q.T
    if kind == "low rank":
        A[:, : rng.integers(d + 1)] = 0.0
        return A @ A.T
    if kind == "constant":
        A[rng.random(d) < 0.3] = 0.0
        return A @ A.T
    A[-1] = A[0]  # equal features
    return A @ A.T


KINDS = "round", "flat", "graded", "low rank", "constant", "equal"


def problem(rng, d, kinds):
    """Two classes of any kind, far from zero or not, with equal means or not."""
    S = np.array([covariance(rng, kind, d) for kind in kinds])
    S = (S + S.mT) / 2
    means = rng.normal(size=(2, d)) * 10.0 ** rng.uniform(-4, 1)
    draw = rng.random(5)
    if draw[0] < 0.1:
        means[1] = means[0]
    if draw[1] < 0.2:
        means += 10.0 ** rng.uniform(0, 7)
    if draw[2] < 0.1:
        S[1] = S[0] * 10.0 ** rng.uniform(-9, 9)
    if draw[3] < 0.2:
        units = 10.0 ** rng.uniform(-30, 30, d)
        means, S = means * units, S * units * units[:, None]
    p = 0.5 if draw[4] < 0.3 else 10.0 ** rng.uniform(-6, -0.3)
    weights = rng.integers(2, 3000, 2).astype(float)
    priors = np.array([p, 1 - p])
    return Moments(means, S, priors, weights, np.array([[0, 1]]))


def assert_same(moments, gap=1e-3):
    """The compiled solver says what the reference says."""
    ours = solve_compiled(moments, Global(gap))
    reference = Global(gap).solve(moments.pencil(), None)
    assert_allclose(ours.error, reference.error, rtol=1e-8, atol=1e-300)
    assert_array_equal(ours.floored, reference.floored)
    assert_array_equal(ours.rank, reference.rank)
    assert (ours.gap <= gap).tolist() == (reference.gap <= gap).tolist()
    # Next to a singular sum, Fisher's rule is a matter of rounding.
    given = moments.means, moments.covariances, moments.weights
    outcome = solve_pairs(*given, moments.pairs, moments.pair_priors, gap)[1]
    fisher = reference.fisher_coef[outcome == DONE]
    size = np.abs(fisher).max(axis=1, keepdims=True) + 1e-300
    ours_fisher = ours.fisher_coef[outcome == DONE]
    assert_allclose(ours_fisher / size, fisher / size, atol=1e-5)
    size = np.abs(reference.dropped).max(axis=1, keepdims=True) + 1e-300
    # Its length is a matter of rounding, too.
    assert_allclose(ours.dropped / size, reference.dropped / size, atol=0.01)
    return ours, reference


@pytest.mark.parametrize("gap", [1e-8, 1e-3, 0.3])
def test_all_kinds_of_covariances_have_the_answers_of_the_reference(rng, gap):
    for d in (1, 2, 3, 5, 8, 13, 30):
        for first in KINDS:
            second = KINDS[rng.integers(len(KINDS))]
            assert_same(problem(rng, d, (first, second)), gap)


def test_what_is_not_beyond_doubt_is_handed_over():
    eye, pair, priors = np.eye(2), np.array([[0, 1]]), np.full((1, 2), 0.5)
    weights = np.array([9.0, 9.0])

    def outcome(means, covariances, **given):
        args = np.array(means, float), np.array(covariances), weights, pair, priors
        return solve_pairs(*args, 1e-3, **given)[1].tolist()

    assert outcome([[0, 0], [1, 1]], [eye, 2 * eye]) == [DONE]
    assert outcome([[0, 0], [1, 1]], [np.ones((2, 2)), np.ones((2, 2))]) == [SINGULAR]
    assert outcome([[0, 0], [1, 0]], [np.diag([0, 1.0])] * 2) == [SINGULAR]
    assert outcome([[0, 0], [1e60, 0]], [eye, 2 * eye]) != [DONE]
    assert outcome([[0, 0], [np.nan, 0]], [eye, 2 * eye]) != [DONE]
    infinite = np.where(eye > 0, np.inf, 0.0)
    assert outcome([[0, 0], [1, 0]], [eye, infinite]) != [DONE]
    nothing = np.zeros((1, 2, 2))
    assert outcome([[0, 0], [1, 1]], [eye, eye], whitening=nothing) == [UNSOLVED]


def test_constants_in_c_are_those_of_rounding():
    """Else both solvers would differ where rounding decides."""
    folder = Path(__file__).parents[2] / "src/heterolda/kernels/c"
    for file, names in {
        "pair_algebra.c": {
            "FLOOR": rounding.VARIANCE_FLOOR,
            "NO_DIFFERENCE": rounding.EQUAL_MEANS,
            "FARTHEST": rounding.FARTHEST_MEANS,
            "REGULAR": rounding.REGULAR,
        },
        "pair_solver.c": {
            "NO_GAIN": rounding.NO_GAIN,
            "REGULAR": rounding.REGULAR,
        },
        "arc.c": {
            "LIFT": rounding.LIFTED_COMPONENT,
            "FLAT": rounding.ZERO_SLOPE,
            "ROUNDING": rounding.LOG_ERROR_ROUNDING,
            "FARTHEST": rounding.FARTHEST_POSITION,
        },
    }.items():
        text = (folder / file).read_text(encoding="utf-8")
        for name, value in names.items():
            assert float(re.search(rf"\b{name} = ([\d.e-]+)", text)[1]) == value, name
