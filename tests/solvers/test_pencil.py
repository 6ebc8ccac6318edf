"""The diagonal form, against naive formulas, and what rounding leaves of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from helpers.problems import random_pairs
from heterolda import ClassStatistics
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
