"""Class statistics of rows on a device: digits, weights, labels, layouts, refusals."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heterolda import ClassStatistics, GaussianLinearDiscriminant
from heterolda.foundations.arrays import device_of, to_host


def statistics_of(device, X, y, weight=None):
    """Statistics of rows on a device, in NumPy."""
    found = ClassStatistics.from_data(device.put(X), y, weight)
    assert type(found.means) is type(found.classes) is np.ndarray
    return found


def exact(X, weight):
    """Total weight, mean and scatter of rows by fractions."""
    rows = np.vectorize(Fraction, otypes=[object])(X.astype(float))
    weight = np.vectorize(Fraction, otypes=[object])(weight.astype(float))
    total = weight.sum()
    mean = weight @ rows / total
    scatter = (rows - mean).T @ (weight[:, None] * (rows - mean))
    return float(total), mean.astype(float), scatter.astype(float)


@pytest.mark.parametrize("weighted", [False, True])
def test_no_digits_are_lost_far_from_zero(device, rng, weighted):
    y = np.arange(60) % 2
    weight = rng.integers(0, 5, 60) * 0.7 if weighted else np.ones(60)
    for kind, offset, digits in (
        (np.float64, 0, 1e-14),
        (np.float64, 1e9, 1e-14),
        (np.float32, 1e6, 1e-6),
        (np.float32, -1e9, 1e-6),
    ):
        X = rng.normal(size=(60, 3)) * [1.0, 100.0, 0.1]
        X = (X + offset * np.array([1, -1, 1])).astype(kind)
        found = statistics_of(device, X, y, weight if weighted else None)
        for k in (0, 1):
            total, mean, scatter = exact(X[y == k], weight[y == k])
            unit = np.sqrt(np.diag(scatter))
            unit[unit == 0] = 1.0
            assert_allclose(found.weights[k], total, rtol=1e-15)
            assert_allclose((found.means[k] - mean) / unit, 0, atol=digits)
            apart = (found.scatters[k] - scatter) / np.outer(unit, unit)
            assert_allclose(apart, 0, atol=digits)


def test_numbers_that_single_precision_cannot_square(device, rng):
    y = np.arange(400) % 2
    for factor in (1e-30, 1e30):
        for share in (0.1, 1.0):  # of a few a sample says nothing
            X = rng.normal(size=(400, 3)).astype(np.float32)
            X[:, 1] *= np.where(rng.random(400) < share, np.float32(factor), 0)
            found, true = statistics_of(device, X, y), ClassStatistics.from_data(X, y)
            unit = np.sqrt(true.squares[:, :, None] * true.squares[:, None])
            assert_allclose(found.scatters / unit, true.scatters / unit, atol=1e-6)


def test_constant_features_and_weights(device, rng):
    """Constants have no scatter; weights are repetitions, and zero leaves out."""
    X, y = rng.normal(size=(900, 4)), rng.integers(0, 3, 900)
    X[:, 1], X[:, 3] = 0.1, -1e7 / 3
    counts = rng.integers(0, 4, 900)
    for kind in (np.float32, np.float64):
        for weight in (None, counts):
            found = statistics_of(device, X.astype(kind), y, weight)
            assert_array_equal(found.scatters[:, [1, 3]], 0)
            assert_array_equal(found.scatters[:, :, [1, 3]], 0)
            assert (found.squares[:, [0, 2]] > 0).all()
    repeated = statistics_of(device, X.repeat(counts, axis=0), y.repeat(counts))
    X[counts == 0] = 1e300  # which does not count
    weighted = statistics_of(device, X, y, counts)
    assert_array_equal(weighted.weights, repeated.weights)
    assert_allclose(weighted.means, repeated.means, atol=1e-13, rtol=1e-15)
    assert_allclose(weighted.scatters, repeated.scatters, atol=1e-10)


def test_order_and_chunks_change_nothing(device, rng):
    X = rng.normal(size=(500, 3))
    y = rng.choice([-3, 0, 9], 500, p=[0.9, 0.08, 0.02])
    y[0] = 9
    whole = statistics_of(device, X, y)
    for order in (np.argsort(y, kind="stable"), rng.permutation(500)):
        part = ClassStatistics.from_data(device.put(X[order[:7]]), y[order[:7]])
        part.update(device.put(X[order[7:300]]), device.put(y[order[7:300]]))
        rest = ClassStatistics.from_data(X[order[300:]], y[order[300:]])
        for found in (part + rest, rest + part, sum([part, rest])):
            assert_allclose(found.scatters, whole.scatters, atol=1e-10)
            assert_allclose(found.means, whole.means, atol=1e-13)
            assert_array_equal(found.weights, whole.weights)


def test_labels_of_all_kinds(device, rng):
    for labels in (
        np.array([1, -3, 7], np.int8),
        np.array([-128, 127, 0], np.int8),
        np.array([2**62, 2**62 + 1, -(2**62)]),
        np.array([0.0, -2.0, 1e6]),
        np.array([True, False, True]),
        np.array(["b", "a", "ab"]),
    ):
        for n in (60, 20_000):  # few labels are looked at on the host
            X, y = rng.normal(size=(n, 1)), labels[rng.integers(0, 3, n)]
            y[:3] = labels
            expected = ClassStatistics.from_data(X, y)
            for given in (y, device.put(y)):
                found = ClassStatistics.from_data(device.put(X), given)
                assert found.classes.dtype == labels.dtype
                assert_array_equal(found.classes, expected.classes)
                assert_array_equal(found.weights, expected.weights)
                assert_allclose(found.means, expected.means, atol=1e-12)


def test_shapes_and_whole_numbers(device, rng):
    for n, d, n_classes, kind in (
        (2, 1, 2, float),
        (2, 3, 1, float),
        (5, 100, 2, float),
        (20, 120, 2, float),
        (4000, 2, 300, np.int8),
        (300, 3, 2, bool),
    ):
        X, y = (10 * rng.normal(size=(n, d)) + 5).astype(kind), np.arange(n) % n_classes
        found, expected = statistics_of(device, X, y), ClassStatistics.from_data(X, y)
        assert_array_equal(found.weights, expected.weights)
        assert_allclose(found.means, expected.means, rtol=1e-12, atol=1e-12)
        assert_allclose(found.scatters, expected.scatters, rtol=1e-12, atol=1e-9)


@pytest.mark.check
def test_layouts_of_tensors(dispatch, rng):
    torch = pytest.importorskip("torch")
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 3, 300)
    big = torch.zeros(600, 8, dtype=torch.float64)
    big[::2, ::2] = torch.asarray(X)
    for rows in (
        torch.asarray(X.T.copy()).T,
        big[::2, ::2],
        torch.asarray(X[::-1].copy()).flip(0),
        torch.asarray(X).requires_grad_(),
        torch.asarray(X[:1]).expand(300, 4),
    ):
        expected = ClassStatistics.from_data(to_host(rows), y)
        found = ClassStatistics.from_data(rows, torch.asarray(y))
        assert_allclose(found.scatters, expected.scatters, atol=1e-12)
    model = GaussianLinearDiscriminant().fit(torch.asarray(X).requires_grad_(), y)
    assert not model.coef_.requires_grad


@pytest.mark.parametrize("n", [50, 30_000])
def test_rows_that_are_not_finite_are_refused(device, n):
    y = np.arange(n) % 2
    for bad, kind, word in (
        (np.nan, np.float32, "NaN"),
        (-np.inf, np.float32, "infinity"),
        (np.nan, np.float64, "NaN"),
        (np.inf, np.float64, "infinity"),
    ):
        X = np.ones((n, 5), kind)
        X[n // 3, 3] = bad
        for fit in (
            ClassStatistics.from_data,
            GaussianLinearDiscriminant().fit,
            lambda X, y: GaussianLinearDiscriminant().partial_fit(X, y, [0, 1]),
        ):
            with pytest.raises(ValueError, match=word):
                fit(device.put(X), y)
        weight = np.ones(n)
        weight[n // 3] = 0  # such rows are looked at, too
        with pytest.raises(ValueError, match=word):
            ClassStatistics.from_data(device.put(X), y, weight)


def test_what_is_no_matrix_of_numbers_is_refused(device):
    y = np.arange(4) % 2
    for X, y_, word in (
        (np.ones(4), y, "2D|two dimensions"),
        (np.ones((4, 2, 2)), y, "dim"),
        (np.ones((4, 0)), y, "0 feature"),
        (np.ones((4, 2)), y[:3], "y.*4|inconsistent"),
        (np.ones((4, 2)), np.array([0.5, 1.5, 2.25, 1.0]), "continuous"),
        (np.ones((4, 2)), np.array([0, np.nan, 1, 1]), "missing labels"),
    ):
        with pytest.raises(ValueError, match=word):
            ClassStatistics.from_data(device.put(X), y_)
    for weight in (np.ones(3), -np.ones(4), np.full(4, np.nan)):
        with pytest.raises(ValueError, match="sample_weight"):
            ClassStatistics.from_data(device.put(np.ones((4, 2))), y, weight)


def test_an_empty_chunk_changes_nothing(device, rng):
    X, y = rng.normal(size=(80, 2)), np.arange(80) % 4
    model = GaussianLinearDiscriminant().partial_fit(device.put(X), y, range(4))
    before = to_host(model.coef_)
    model.partial_fit(device.put(X[:0]), device.put(y[:0]))
    assert_array_equal(to_host(model.coef_), before)
    assert device_of(model.coef_) == device
    assert_array_equal(model.statistics_.weights, 20)


def test_fits_leave_classes_without_weight_out_and_need_no_guard(device, rng):
    y = np.arange(60_000) % 3
    X = rng.normal(size=(60_000, 3)) + y[:, None]
    weight = np.where(y == 1, 0.0, 1.0)
    here = GaussianLinearDiscriminant().fit(X, y, weight)
    there = GaussianLinearDiscriminant().fit(device.put(X), device.put(y), weight)
    assert to_host(there.classes_).tolist() == here.classes_.tolist() == [0, 2]
    assert_allclose(to_host(there.coef_), here.coef_, rtol=1e-9)
    plain = GaussianLinearDiscriminant(guard=False).fit(device.put(X), y)
    again = GaussianLinearDiscriminant(guard=False).fit(X, y)
    assert_allclose(to_host(plain.coef_), again.coef_, rtol=1e-9)


def test_single_precision_is_left_where_it_lacks_digits(device, rng):
    n = 60_000
    y, x = rng.integers(0, 2, n), rng.normal(size=n)
    both = [x, x + 1e-4 * (rng.normal(size=n) + y), rng.normal(size=n) * (1 + y)]
    X = np.stack(both, axis=1).astype(np.float32)
    there = GaussianLinearDiscriminant().fit(device.put(X), device.put(y))
    here = GaussianLinearDiscriminant().fit(X, y)
    assert_allclose(to_host(there.bayes_error_), here.bayes_error_, rtol=1e-6)
    assert_allclose(there.statistics_.scatters, here.statistics_.scatters)


@pytest.mark.check
def test_shorter_products_are_not_taken_for_single_precision(dispatch, rng):
    torch = pytest.importorskip("torch")
    X = torch.asarray(rng.normal(size=(50_000, 3)), dtype=torch.float32)
    y = torch.asarray(rng.integers(0, 2, 50_000))
    exact = ClassStatistics.from_data(X.numpy(), y.numpy()).scatters
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = ClassStatistics.from_data(X, y).scatters
    assert_allclose(found, exact, rtol=1e-10, atol=1e-8)
