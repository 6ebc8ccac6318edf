"""Class statistics of rows on a device: weights, labels, layouts, errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heterolda import ClassStatistics

of = ClassStatistics.from_data


def test_constant_features_weights_and_chunks(device, rng):
    """Constants have no scatter; weights are repetitions, and zero leaves out."""
    X, y = rng.normal(size=(900, 4)), rng.integers(0, 3, 900)
    X[:, 1], X[:, 3] = 0.1, -1e7 / 3
    counts = rng.integers(0, 4, 900)
    stats = of(device.put(X), device.put(y))
    assert_array_equal(stats.scatters[:, [1, 3]], 0)
    parts = of(device.put(X[:7]), y[:7]).update(device.put(X[7:]), y[7:])
    assert_allclose(parts.scatters, stats.scatters, atol=1e-10)
    repeated = of(*map(device.put, (X.repeat(counts, axis=0), y.repeat(counts))))
    X[counts == 0] = 1e300  # which does not count
    weighted = of(device.put(X), y, counts)
    assert_array_equal(weighted.weights, repeated.weights)
    assert_allclose(weighted.means, repeated.means, atol=1e-13, rtol=1e-15)
    assert_allclose(weighted.scatters, repeated.scatters, atol=1e-10)


def test_labels_shapes_and_types(device, rng):
    for n, d, labels, kind in (
        (60, 1, np.array([1, -3, 7], np.int8), float),
        (60, 120, np.array([2**62, 2**62 + 1, -(2**62)]), np.float32),
        (60, 3, np.array([True, False]), bool),
        (60, 3, np.array(["b", "a", "ab"]), np.int8),
        (4000, 2, np.arange(300), float),
    ):
        X, y = (10 * rng.normal(size=(n, d)) + 5).astype(kind), np.resize(labels, n)
        expected = of(X, y)
        for target in (y, device.put(y), device.put(y)[:, None]):
            stats = of(device.put(X), target)
            assert stats.classes.dtype == labels.dtype
            assert_array_equal(stats.classes, expected.classes)
            assert_array_equal(stats.weights, expected.weights)
            assert_allclose(stats.means, expected.means, rtol=1e-12, atol=1e-12)
            assert_allclose(stats.scatters, expected.scatters, rtol=1e-12, atol=1e-9)


def test_bad_rows_and_labels_are_rejected(device, rng):
    y, weight = np.arange(30_000) % 2, np.ones(30_000)
    weight[99] = 0  # such rows are checked, too
    for bad, word in ((np.nan, "NaN"), (-np.inf, "infinity")):
        X = np.ones((30_000, 5), np.float32 if bad < 0 else np.float64)
        X[99, 3] = bad
        with pytest.raises(ValueError, match=word):
            of(device.put(X), y, weight)
    for X, labels, word in (
        (np.ones((4, 2, 2)), y[:4], "dim"),
        (np.ones((4, 2)), y[:3], "y.*4|inconsistent"),
        (np.ones((4, 2)), None, "y"),
        (np.ones((4, 2)), np.array([0.5, 1.5, 2.25, 1.0]), "continuous"),
    ):
        with pytest.raises(ValueError, match=word):
            of(device.put(X), labels)
