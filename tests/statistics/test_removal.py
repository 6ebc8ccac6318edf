"""Rows taken back from statistics, and rows that count less with time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heterolda import ClassStatistics, GaussianLinearDiscriminant

of = ClassStatistics.from_data


def assert_close(a, b, tolerance):
    """Check that statistics are equal up to a share of the squares in each class."""
    assert_array_equal(a.classes, b.classes)
    assert_allclose(a.weights, b.weights, rtol=1e-12)
    size = np.sqrt(np.einsum("kii->ki", b.scatters))
    assert_allclose(a.means / size, b.means / size, rtol=0, atol=tolerance)
    scale = size[:, :, None] * size[:, None, :]
    assert_allclose(a.scatters / scale, b.scatters / scale, rtol=0, atol=tolerance)


@pytest.mark.parametrize(("share", "offset"), [(0.01, 0), (0.5, 1e6), (0.99, 0)])
def test_what_was_added_can_be_taken_away(make_classes, rng, offset, share):
    X, y = make_classes(n=2500)
    X = X + offset
    weight = rng.uniform(0.5, 2, len(X))
    leaves = (rng.random(len(X)) < share) | (y == 2)
    a, b = (of(X[rows], y[rows], weight[rows]) for rows in (~leaves, leaves))
    # Rounding errors are those of the sums before, and of means far from zero.
    variances = np.einsum("kii->ki", a.covariances())
    far = np.max(1 + np.abs(a.means) / np.sqrt(variances))
    tolerance = 1e-15 * far / (1 - share)
    assert_close((a + b) - b, a, tolerance)
    assert_array_equal(a.classes, [0, 1, 3])
    empty = (a + b).with_classes(np.arange(5)) - b
    assert_array_equal(empty.classes, [0, 1, 3, 4])  # 4 had no rows before
    assert_close(empty.without_empty_classes(), a, tolerance)


def test_rows_leave_one_by_one_until_none_is_left(rng):
    """A dummy, a large offset, two constants and plain features."""
    n = 240
    X = rng.normal(size=(n, 6)) @ rng.normal(size=(6, 6))
    X[:, 0] = rng.random(n) < 0.1
    X[:, 1] += 1e6
    X[:, 2], X[:, 3] = 0.1, 0.0
    y, weight = rng.integers(0, 4, n), rng.uniform(0.1, 3, n)
    stats, order = of(X, y, weight), rng.permutation(n)
    for k, row in enumerate(order):
        if k == 150:
            left = order[k:]
            naive = of(X[left], y[left], weight[left])
            size = np.sqrt(np.einsum("kii->ki", naive.scatters))
            error = np.abs(stats.scatters - naive.scatters)
            assert np.all(error <= 1e-8 * size[:, :, None] * size[:, None])
        stats = stats - of(X[[row]], y[[row]], weight[[row]])
    assert stats.n_classes == 0
    assert_array_equal((stats + of(X, y)).scatters, of(X, y).scatters)


def test_rows_that_cannot_have_been_there_are_rejected(make_classes):
    X, y = make_classes()
    stats = of(X, y)
    for part, message in (
        ((X, y + 1), r"rows of classes \[4\] cannot be removed"),
        ((X, y.astype(str)), "do not mix"),
        ((np.tile(X, (2, 1)), np.tile(y, 2)), "class 0 with a negative weight"),
        ((X[:1] + 99, y[:1]), "or variance: subtract only"),
        ((X[:1] * 1e170, y[:1]), "negative weight or variance"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            stats - of(*part)


def test_decay_is_a_weight_by_age(make_classes):
    X, y = make_classes(n=100)
    stats, age = of(X[:0], y[:0]), np.empty(len(X))
    model = GaussianLinearDiscriminant(choose_on="model")
    for k, rows in enumerate(np.array_split(np.arange(len(X)), 5)):
        stats = stats.decayed(0.8) + of(X[rows], y[rows])
        model.partial_fit(X[rows], y[rows], classes=range(4), decay=0.8)
        age[rows] = 4 - k
    weighted = of(X, y, 0.8**age)
    assert_close(stats, weighted, 1e-12)
    assert_close(model.statistics_, weighted, 1e-12)
    assert_close(stats.decayed(1), stats, 0)
    for factor in (0, -0.1, 1.1, np.nan, "0.9"):
        with pytest.raises(ValueError, match="factor must be a number above 0 and at"):
            stats.decayed(factor)
    for _ in range(800):  # no class is forgotten
        stats = stats.decayed(0.1)
    assert stats.n_classes == 4
    assert np.all(stats.weights > 0)
