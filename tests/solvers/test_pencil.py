"""The diagonal form, against naive formulas, and what rounding leaves of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from helpers.problems import random_covariance, random_pairs
from heterolda import ClassStatistics
from heterolda.foundations.rounding import VARIANCE_FLOOR
from heterolda.solvers import all_pairs
from heterolda.solvers.pencil import Pencil


@pytest.mark.parametrize("d", [1, 6])
def test_basis_diagonalises_both_covariances(rng, d):
    means, cov, priors, weights = random_pairs(rng, 6, d)
    pencil = Pencil.from_moments(means, cov, priors, weights)
    V = pencil.basis
    eye = np.broadcast_to(np.eye(d), V.shape)
    assert_allclose(V.mT @ cov.sum(axis=1) @ V, eye, atol=1e-10)
    assert_allclose(V.mT @ cov[:, 0] @ V, pencil.alpha[:, None] * eye, atol=1e-10)
    assert_allclose(V.mT @ cov[:, 1] @ V, pencil.beta[:, None] * eye, atol=1e-10)
    assert_allclose(pencil.alpha + pencil.beta, 1, rtol=1e-14)
    delta = means[:, 0] - means[:, 1]
    assert_allclose(pencil.c, (V.mT @ delta[:, :, None])[:, :, 0], atol=1e-10)
    assert not pencil.separation.any()


def test_moore_penrose_form_is_the_pseudo_inverse(rng):
    """Where S1 + S2 is singular, interior trials equal pinv, in the data's units."""
    d, r = 6, 4
    means, cov, priors, weights = random_pairs(rng, 5, r, condition=10.0)
    embed = np.linalg.qr(rng.normal(size=(d, r)))[0] * 3.0
    means = means @ embed.T
    cov = embed @ cov @ embed.T
    pencil = Pencil.from_moments(means, cov, priors, weights, moore_penrose=True)
    for s in (0.1, 0.5, 0.9):
        u = pencil.c / (s * pencil.alpha0 + (1 - s) * pencil.beta0)
        for k in range(5):
            pinv = np.linalg.pinv(s * cov[k, 0] + (1 - s) * cov[k, 1], rcond=1e-12)
            expected = pinv @ (means[k, 0] - means[k, 1])
            assert_allclose(pencil.basis[k] @ u[k], expected, rtol=1e-8, atol=1e-10)


def test_small_alpha_keeps_its_relative_precision(rng):
    """Variances that differ by 1e-12 are resolved, not raised to the floor."""
    d = 4
    diagonal = np.array([1e-12, 1e-9, 1.0, 3.0])
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    cov = np.stack([np.diag(diagonal), np.eye(d)])[None]
    for R, rtol in ((np.eye(d), 1e-12), (rotation, 2e-2)):
        means = rng.normal(size=(1, 2, d))
        pencil = Pencil.from_moments(
            means, R @ cov @ R.T, np.array([[0.5, 0.5]]), np.ones((1, 2))
        )
        assert_allclose(pencil.alpha[0], diagonal / (1 + diagonal), rtol=rtol)


@pytest.mark.parametrize("swap", [False, True])
def test_vanishing_variance_is_raised_to_the_floor(rng, swap):
    S = random_covariance(rng, 4)
    flat = S.copy()
    axis = np.linalg.qr(rng.normal(size=(4, 4)))[0][:, 0]
    project = np.eye(4) - np.outer(axis, axis)
    flat = project @ S @ project
    cov = np.stack([S, flat] if swap else [flat, S])[None]
    pencil = Pencil.from_moments(
        rng.normal(size=(1, 2, 4)), cov, np.array([[0.5, 0.5]]), np.ones((1, 2))
    )
    small, raw = (pencil.beta, pencil.beta0) if swap else (pencil.alpha, pencil.alpha0)
    assert np.sort(small[0])[0] == VARIANCE_FLOOR
    assert np.sort(raw[0])[0] == 0
    assert np.sort(small[0])[1] > 1e-6
    assert_allclose(pencil.alpha + pencil.beta, 1, rtol=1e-14)


def test_a_real_difference_without_variance_separates(rng):
    cov = np.stack([random_covariance(rng, 3) for _ in range(2)])
    embed = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    means = rng.normal(size=(2, 5))
    pencil = Pencil.from_moments(
        means[None],
        (embed[:, :3] @ cov @ embed[:, :3].T)[None],
        np.array([[0.5, 0.5]]),
        np.ones((1, 2)),
    )
    w = pencil.separation[0]
    assert_allclose(w @ (means[0] - means[1]), 2.0, rtol=1e-8)
    assert_allclose(embed[:, :3].T @ w, 0, atol=1e-6 * np.linalg.norm(w))


def two_features(cov, delta):
    """The pencil of two classes with equal priors, given S1, S2 and m2 - m1."""
    means = np.array([[0.0, 0.0], delta])[None]
    even = np.array([[0.5, 0.5]])
    return Pencil.from_moments(means, np.array(cov)[None], even, 100 * even)


@pytest.mark.parametrize("size", [1e-5, 1e-7])
def test_the_difference_of_nearly_equal_features_is_resolved(rng, size):
    """Features a and a + e are the same as a and e, which are of condition one.

    Their variance along e is off by the rounding of one, relative to size**2.
    """
    ratio, apart = rng.uniform(0.5, 2), rng.uniform(1, 4)
    own = [np.diag([1.0, size**2]), np.diag([2.0, ratio * size**2])]
    turn = np.array([[1.0, 0.0], [1.0, 1.0]])
    delta = np.array([0.1, apart * size])
    benign = two_features(own, delta)
    hard = two_features([turn @ S @ turn.T for S in own], turn @ delta)
    rtol = 10 * np.finfo(float).eps / size**2
    assert_allclose(np.sort(hard.alpha), np.sort(benign.alpha), rtol=rtol)
    squares = [np.sum(pencil.c**2, axis=1) for pencil in (hard, benign)]
    assert_allclose(squares[0], squares[1], rtol=rtol)
    assert not hard.dropped.any()


def test_a_difference_below_rounding_is_dropped_and_told(rng):
    """Its w has variance one and the distance of the means, as far as is known."""
    e = 2e-8
    cov = np.ones((2, 2)) + np.diag([0.0, e**2])
    pencil = two_features([cov, cov], [0.3, 0.3 + 9 * e])
    w = pencil.dropped[0]
    assert np.count_nonzero(pencil.basis.any(axis=1)) == 1
    assert_allclose(w[0], -w[1], rtol=1e-6)
    assert 3 < abs(w[1]) * 9 * e < 9  # 9 / sqrt(2) deviations of both together
    for delta in ([0.3, 0.3], [0.0, 0.0], [1e3, 1e3]):
        assert not two_features([cov, cov], delta).dropped.any()


def test_constant_features_are_no_directions_beside_a_singular_pair():
    # A pair whose sum cannot be factorised sends the whole batch the careful way.
    statistics = ClassStatistics.from_data(*load_digits(return_X_y=True))
    pairs = all_pairs(10)
    means, cov = statistics.means[pairs], statistics.covariances()[pairs]
    priors, weights = np.full((45, 2), 0.5), statistics.weights[pairs]
    rank = (
        Pencil.from_moments(means, cov, priors, weights).basis.any(axis=1).sum(axis=1)
    )
    varies = np.count_nonzero(np.einsum("pkii->pi", cov), axis=1)
    alone = [
        Pencil.from_moments(*(x[k : k + 1] for x in (means, cov, priors, weights)))
        .basis.any(axis=1)
        .sum()
        for k in (1, 2, 3)
    ]
    assert (rank <= varies).all()
    assert_array_equal(rank[1:4], alone)


@pytest.mark.parametrize(
    ("kind", "offset"),
    [
        ("float32", 0.0),
        ("sum", 1e10),
        ("copies", 1e3),
        ("mixtures", 0),
        ("mixtures", 1e10),
    ],
)
def test_rounding_is_no_direction(rng, kind, offset):
    """Features that depend on others add nothing but rounding errors."""
    n, r = 400, 4
    X = rng.normal(size=(2, n, r)) * [[[1.0]], [[2.0]]]
    if kind == "float32":
        X = X.astype(np.float32)
    X = X.astype(float) + offset
    more = {
        "sum": X[..., :1] + X[..., 1:2],
        "float32": (X[..., :1] + X[..., 1:2]).astype(np.float32),
        "copies": X[..., [0, 1, 1]],
        "mixtures": X @ rng.normal(size=(r, 30)),
    }[kind]
    X = np.concatenate([X, more], axis=2)
    cov = np.stack([np.cov(x, rowvar=False) for x in X])[None]
    even, weights = np.full((1, 2), 0.5), np.full((1, 2), float(n))
    means = X.mean(axis=1)
    pencil = Pencil.from_moments(means[None], cov, even, weights)
    assert np.count_nonzero(pencil.basis.any(axis=1)) == r
    assert abs(pencil.dropped[0] @ (means[0] - means[1])) < 1
    assert not pencil.separation.any()


def test_raised_variances_are_told_by_class():
    flat, full = np.diag([1.0, 0.0]), np.eye(2)
    for cov, expected in (
        ([full, full], [False, False]),
        ([flat, full], [True, False]),
        ([full, flat], [False, True]),
        ([flat, np.diag([0.0, 1.0])], [True, True]),
        ([flat, flat], [False, False]),
    ):
        pencil = two_features(cov, [1.0, 0.0])
        assert pencil.floored.tolist() == [expected]
