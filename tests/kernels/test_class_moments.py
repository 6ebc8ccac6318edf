"""Moments of classes, in NumPy and on devices, against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heterolda.kernels import class_moments as module
from heterolda.kernels.class_moments import class_moments


def exact(X, codes, weight, n_classes):
    """Return weights, means and scatters in rational arithmetic."""
    d = X.shape[1]
    totals, means = np.zeros(n_classes), np.zeros((n_classes, d))
    scatters = np.zeros((n_classes, d, d))
    for k in range(n_classes):
        w = np.array([Fraction(float(x)) for x in weight[codes == k]], object)
        Z = np.vectorize(lambda x: Fraction(float(x)), otypes=[object])(X)[codes == k]
        if w.sum():
            mean = w @ Z / w.sum()
            totals[k], means[k] = w.sum(), mean
            scatters[k] = ((Z - mean) * w[:, None]).T @ (Z - mean)
    return totals, means, scatters


def assert_close(moments, expected, rtol=1e-13):
    """Check that moments are equal on the scale of the features' deviations."""
    assert_allclose(moments[0], expected[0], rtol=rtol)
    size = np.sqrt(np.einsum("kii->ki", expected[2]))
    size[size == 0] = 1.0
    ulp = np.spacing(np.abs(expected[1])).max()
    assert_allclose(moments[1], expected[1], rtol=0, atol=ulp + rtol * size.max())
    scale = size[:, :, None] * size[:, None, :]
    assert_allclose(moments[2] / scale, expected[2] / scale, rtol=0, atol=rtol)


@pytest.mark.parametrize("weighted", [False, True])
def test_equals_exact_arithmetic(rng, weighted):
    for d, offset in ((1, 1e12), (3, 0.0), (9, 1e6)):
        X = rng.normal(size=(60, d)) * 10.0 ** rng.integers(-3, 4, d) + offset
        codes, weight = rng.integers(0, 3, 60), np.ones(60)
        if weighted:
            weight = rng.uniform(0, 2, 60) * rng.integers(0, 2, 60)
            weight[codes == 2] = 0.0
        moments = class_moments(X, codes, weight if weighted else None, 4)
        assert_close(moments, exact(X, codes, weight, 4), rtol=1e-12)
        assert moments.lost == -1
        assert not moments.weights[3]  # an empty class
        assert not moments.means[3].any()


def test_equals_exact_arithmetic_on_a_device(device, rng, monkeypatch):
    monkeypatch.setattr(module, "_TILE", 7)
    codes, ones = rng.integers(0, 3, 60), np.ones(60)
    weights = rng.uniform(0, 2, 60) * rng.integers(0, 2, 60)
    for kind, offset in (("f8", 0.0), ("f8", 1e9), ("f4", 1e6)):
        X = (rng.normal(size=(60, 3)) * [1, 100, 0.1] + offset).astype(kind)
        for weight in (None, weights):
            moments = class_moments(device.put(X), device.put(codes), weight, 4)
            expected = exact(X, codes, ones if weight is None else weight, 4)
            assert_close(moments, expected)


def unaligned(X):
    room = np.empty(X.nbytes + 1, np.uint8)[1:].view(X.dtype).reshape(X.shape)
    room[...] = X
    return room


LAYOUTS = {
    "C": np.copy,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "read-only": lambda X: np.frombuffer(X.tobytes(), X.dtype).reshape(X.shape),
    "unaligned": unaligned,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_types_and_layouts(rng, layout, monkeypatch):
    monkeypatch.setattr(module, "_BUFFER_BYTES", 1000)  # several blocks
    codes, weight = rng.integers(0, 3, 300), rng.uniform(size=300)
    for dtype in ("f8", "f4", "f2", "i4", "?", ">f8"):
        X = rng.integers(-9, 9, size=(300, 5)).astype(dtype)
        expected = class_moments(X.astype(float), codes, weight, 3)
        rows = LAYOUTS[layout](X)
        assert_close(class_moments(rows, codes, weight, 3), expected)
        assert_array_equal(rows, X)  # nothing is written


def test_features_out_of_range_are_reported(rng):
    X, codes = rng.normal(size=(100, 3)), rng.integers(0, 2, 100)
    X[:, 1] = 7.0  # constant: its squares are rightly zero
    assert class_moments(X, codes, None, 2).lost == -1
    assert not class_moments(X, codes, None, 2).scatters[:, 1].any()
    assert class_moments(X * [1, 1, 1e-170], codes, None, 2).lost == 2
    huge = class_moments(X * [1, 1, 1e200], codes, None, 2)
    assert not np.isfinite(huge.scatters[:, 2, 2]).any()
