"""Coordinates of unit second moment, compiled and in NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heterolda import kernels
from heterolda.kernels.whitening import (
    independent,
    independent_numpy,
    whiten,
    whiten_numpy,
)


def rows(rng, n, d):
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 5
    return X, rng.dirichlet(np.full(n, 5.0))


def check(X, weight, rank):
    """Unit moment, the stated form, and agreement up to a rotation."""
    Z, centre, size, mean, basis = whiten(X, weight)
    assert Z.shape == (len(X), rank + 1)
    assert_array_equal(Z[:, 0], 1)
    assert_allclose((Z.T * weight) @ Z, np.eye(rank + 1), atol=1e-6)
    assert_allclose(((X - centre) / size - mean) @ basis, Z[:, 1:], atol=1e-6)
    plain = whiten_numpy(X, weight)[0]
    assert_allclose(Z @ Z.T, plain @ plain.T, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("n", "d"), [(2, 1), (20, 3), (70, 9), (300, 17), (12, 20)])
def test_moment_is_the_unit_matrix(rng, kernels, n, d):
    check(*rows(rng, n, d), min(n - 1, d))


@pytest.mark.parametrize("size", [1e-150, 1.0, 1e150])
def test_features_that_do_not_count(rng, kernels, size):
    X, weight = rows(rng, 40, 3)
    X = np.column_stack([np.full(40, 0.1), X, X[:, 0] - X[:, 2], np.zeros(40)])
    check(size * X[:, 1:4], weight, 3)
    check(size * X[:, :4], weight, 3)
    check(size * X, weight, 3)
    check(size * X[:, :1], weight, 0)
    # Directions that are rounding errors.
    X[:, 4] += 1e-7 * rng.normal(size=40)
    check(size * X, weight, 3)


def test_independence_is_proven_only_where_it_holds(rng, kernels):
    X, weight = rows(rng, 12, 20)
    assert independent(X, weight)
    assert independent(1e-100 * X, weight)
    assert independent(X[:, :11], weight)
    assert not independent(X[:, :10], weight)
    X[3] = 0.3 * X[5] + 0.7 * X[7]
    assert not independent(X, weight)
    X[3] += 1e-9 * rng.normal(size=20)
    assert not independent(X, weight)
    assert not independent(np.ones((3, 4)), np.full(3, 1 / 3))
    assert not independent(X, np.where(np.arange(12) == 3, 0.0, weight))


@pytest.mark.skipif(kernels.compiled is None, reason="there are no compiled kernels")
def test_arguments_are_checked(rng):
    X, weight = rows(rng, 9, 3)
    rank = np.empty(1, np.int64)
    flat, square = np.empty((3, 3)), np.empty((3, 3))
    with pytest.raises(ValueError, match="columns for all features"):
        kernels.compiled.whiten(X, weight, *flat, square, np.empty((3, 9)), rank)
    with pytest.raises(ValueError, match="must be"):
        kernels.compiled.independent(X, weight[:4], rank)
    kernels.compiled.independent(X[:0], weight[:0], rank)
    assert rank[0] == 0
    # Numbers that are not finite prove nothing.
    X[2, 1] = np.nan
    kernels.compiled.independent(X[:3], weight[:3], rank)
    assert rank[0] == 0


def test_the_two_forms_agree_where_they_say_yes(rng):
    for _ in range(50):
        n, d = rng.integers(2, 12), rng.integers(2, 12)
        X, weight = rows(rng, n, d)
        X = np.round(X) if rng.uniform() < 0.5 else X
        one, two = independent(X, weight), n <= d + 1 and independent_numpy(X, weight)
        assert not one or two
        if one:
            assert whiten_numpy(X, weight)[0].shape[1] == n
