"""The diagonal form and thresholds, against naive formulas; what rounding leaves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from heterolda.solvers.pencil import Pencil
from heterolda.solvers.rules import best_threshold


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
    """Its w has variance one, as far as that is resolved."""
    e = 2e-8
    cov = np.ones((2, 2)) + np.diag([0.0, e**2])
    pencil = two_features([cov, cov], [0.3, 0.3 + 9 * e])
    w = pencil.dropped[0]
    assert np.count_nonzero(pencil.basis.any(axis=1)) == 1
    assert_allclose(w[0], -w[1], rtol=1e-6)
    assert 3 < abs(w[1]) * 9 * e < 9  # 9 / sqrt(2) deviations of both together
    for delta in ([0.3, 0.3], [0.0, 0.0], [1e3, 1e3]):
        assert not two_features([cov, cov], delta).dropped.any()


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


@pytest.mark.parametrize("factor", [1e-140, 1.0, 1e140])
def test_best_threshold_as_printed(rng, factor):
    """Equation (39) itself, for both signs of D, and at any length of w."""
    for _ in range(100):
        mu1, mu2 = rng.normal(size=2)
        s1, s2 = np.exp(rng.normal(size=2))
        tau = rng.uniform(0.2, 5)
        inside = (mu1 - mu2) ** 2 + 2 * (s1**2 - s2**2) * np.log(tau * s1 / s2)
        scaled = factor * np.array([[mu1 - mu2], [s1], [s2]])
        t = best_threshold(*scaled, np.log([tau]))[0] / factor
        if inside < 0:
            assert np.isnan(t)
            continue
        w0 = mu2 * s1**2 - mu1 * s2**2 + s1 * s2 * np.sqrt(inside)
        w0 /= s1**2 - s2**2
        assert_allclose(t, w0 - mu2, rtol=1e-6, atol=1e-8)
