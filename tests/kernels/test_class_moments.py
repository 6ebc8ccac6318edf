"""Moments of classes: compiled, in NumPy, and by exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import heterolda.kernels as kernels_package
from heterolda.kernels import class_moments as module
from heterolda.kernels.class_moments import class_moments, class_moments_python


def exact(X, codes, weight, n_classes):
    """Weights, means and scatters in rational arithmetic."""
    d = X.shape[1]
    totals, means = np.zeros(n_classes), np.zeros((n_classes, d))
    scatters = np.zeros((n_classes, d, d))
    for k in range(n_classes):
        rows = [[Fraction(float(x)) for x in row] for row in X[codes == k]]
        w = [Fraction(float(x)) for x in weight[codes == k]]
        if not sum(w):
            continue
        mean = [
            sum(a * r[i] for a, r in zip(w, rows, strict=True)) / sum(w)
            for i in range(d)
        ]
        totals[k], means[k] = sum(w), mean
        for i in range(d):
            for j in range(d):
                scatters[k, i, j] = sum(
                    a * (r[i] - mean[i]) * (r[j] - mean[j])
                    for a, r in zip(w, rows, strict=True)
                )
    return totals, means, scatters


def assert_close(found, expected, rtol=1e-13):
    """Equal on the scale of the features' deviations."""
    assert_allclose(found[0], expected[0], rtol=rtol)
    size = np.sqrt(np.einsum("kii->ki", expected[2]))
    size[size == 0] = 1.0
    ulp = np.spacing(np.abs(expected[1])).max()
    assert_allclose(found[1], expected[1], rtol=0, atol=ulp + rtol * size.max())
    scale = size[:, :, None] * size[:, None, :]
    assert_allclose(found[2] / scale, expected[2] / scale, rtol=0, atol=rtol)


@pytest.mark.parametrize("weighted", [False, True])
def test_equals_exact_arithmetic(kernels, rng, weighted):
    for d, offset in ((1, 1e12), (3, 0.0), (9, 1e6)):
        X = rng.normal(size=(60, d)) * 10.0 ** rng.integers(-3, 4, d) + offset
        codes, weight = rng.integers(0, 3, 60), np.ones(60)
        if weighted:
            weight = rng.uniform(0, 2, 60) * rng.integers(0, 2, 60)
        found = class_moments(X, codes, weight if weighted else None, 4)
        assert_close(found, exact(X, codes, weight, 4), rtol=1e-12)
        assert found.lost == -1
        assert not found.weights[3]  # an empty class
        assert not found.means[3].any()


@pytest.mark.parametrize("weighted", [False, True])
def test_equals_exact_arithmetic_on_a_device(device, rng, weighted, monkeypatch):
    monkeypatch.setattr(module, "_TILE", 7)
    codes = rng.integers(0, 3, 60)
    weight = rng.uniform(0, 2, 60) * rng.integers(0, 2, 60) if weighted else np.ones(60)
    for kind, offset in (("f8", 0.0), ("f8", 1e9), ("f4", 1e6), ("f4", -1e9)):
        X = (rng.normal(size=(60, 3)) * [1, 100, 0.1] + offset).astype(kind)
        rows, given = device.put(X), weight if weighted else None
        found = class_moments(rows, device.put(codes), given, 4)
        assert_close(found, exact(X, codes, weight, 4))


def test_both_forms_agree(rng):
    # Rows and features about the sizes in which the loops go.
    for n, d in ((0, 1), (1, 4), (2, 7), (31, 8), (257, 13), (9000, 33), (40_000, 1)):
        X, codes = rng.normal(3, 1, size=(n, d)), rng.integers(0, 5, n)
        for weight in (None, rng.integers(0, 3, n) * 0.7):
            found = class_moments(X, codes, weight, 5)
            assert_close(found, class_moments_python(X, codes, weight, 5))
            if kernels_package.compiled is not None:
                assert_array_equal(found.scatters, found.scatters.mT)


def unaligned(X):
    room = np.empty(X.nbytes + 1, np.uint8)[1:].view(X.dtype).reshape(X.shape)
    room[...] = X
    return room


LAYOUTS = {
    "C": np.copy,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: X[::-1].copy()[::-1],
    "read-only": lambda X: np.frombuffer(X.tobytes(), X.dtype).reshape(X.shape),
    "unaligned": unaligned,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_types_and_layouts(rng, layout, monkeypatch):
    monkeypatch.setattr(module, "_BUFFER_BYTES", 1000)  # several calls of the kernel
    codes, weight = rng.integers(0, 3, 300), rng.uniform(size=300)
    for dtype in ("f8", "f4", "f2", "i4", "?", ">f8"):
        X = rng.integers(-9, 9, size=(300, 5)).astype(dtype)
        expected = class_moments_python(X.astype(float), codes, weight, 3)
        given = LAYOUTS[layout](X)
        assert_close(class_moments(given, codes, weight, 3), expected)
        assert_array_equal(given, X)  # nothing is written


def test_what_leaves_the_range_is_told(kernels, rng):
    X, codes = rng.normal(size=(100, 3)), rng.integers(0, 2, 100)
    X[:, 1] = 7.0  # constant: its squares are rightly zero
    assert class_moments(X, codes, None, 2).lost == -1
    assert not class_moments(X, codes, None, 2).scatters[:, 1].any()
    tiny = class_moments(X * [1, 1, 1e-170], codes, None, 2)
    assert tiny.lost == 2
    huge = class_moments(X * [1, 1, 1e200], codes, None, 2)
    assert not np.isfinite(huge.scatters[:, 2, 2]).any()
    with np.errstate(over="ignore", invalid="ignore"):
        bad = class_moments(
            np.full((9, 2), 1e308) * [[1, -1]] * 1.7, codes[:9], None, 2
        )
    assert bad.weights.sum() == 9


def test_the_kernel_refuses_what_does_not_fit(rng):
    if kernels_package.compiled is None:
        pytest.skip("nothing was compiled")
    kernel = kernels_package.compiled.class_moments
    X, codes = rng.normal(size=(4, 2)), np.zeros(4, np.int64)
    sums = (
        np.zeros(1),
        np.zeros((1, 2)),
        np.zeros((1, 2, 2)),
        0.0,
        np.zeros(1, np.int64),
    )
    for bad in (-1, 1, 2**62):
        with pytest.raises(ValueError, match="codes"):
            kernel(X, None, None, None, codes + bad, None, *sums)
    with pytest.raises(ValueError, match="one of the arrays"):
        kernel(None, None, None, None, codes, None, *sums)
    with pytest.raises(ValueError, match="codes"):
        kernel(X, None, None, None, codes[:3], None, *sums)
    with pytest.raises(ValueError, match="size of the other"):
        kernel(None, X, None, None, codes, None, *sums)
