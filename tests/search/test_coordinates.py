"""Coordinates of unit second moment."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heterolda.search.smooth import Coordinates


def rows(rng, n, d):
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 5
    return X, rng.dirichlet(np.full(n, 5.0))


def check(X, weight, rank):
    """Unit moment, and the stated form."""
    space = Coordinates.from_rows(X, weight)
    assert space.Z.shape == (len(X), rank + 1)
    assert_array_equal(space.Z[:, 0], 1)
    assert_allclose((space.Z.T * weight) @ space.Z, np.eye(rank + 1), atol=1e-6)
    scaled = (X - space.centre) / space.size - space.mean
    assert_allclose(scaled @ space.basis, space.Z[:, 1:], atol=1e-6)
    normals, offsets = space.rules(np.eye(rank + 1))
    assert_allclose(X @ normals.T + offsets, space.Z, atol=1e-6)


@pytest.mark.parametrize(("n", "d"), [(2, 1), (20, 3), (70, 9), (300, 17), (12, 20)])
def test_moment_is_the_unit_matrix(rng, n, d):
    check(*rows(rng, n, d), min(n - 1, d))


@pytest.mark.parametrize("size", [1e-150, 1.0, 1e150])
def test_features_that_do_not_count(rng, size):
    X, weight = rows(rng, 40, 3)
    X = np.column_stack([np.full(40, 0.1), X, X[:, 0] - X[:, 2], np.zeros(40)])
    check(size * X[:, 1:4], weight, 3)
    check(size * X[:, :4], weight, 3)
    check(size * X, weight, 3)
    check(size * X[:, :1], weight, 0)
    # Directions that are rounding errors.
    X[:, 4] += 1e-7 * rng.normal(size=40)
    check(size * X, weight, 3)
