"""Codes of labels against NumPy's sorting."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from heterolda.kernels.label_codes import label_codes, label_codes_numpy

LABELS = {
    "text": np.array(["b", "aa", "", "a", "é", "日本", "a" * 50]),
    "swapped text": np.array(["b", "aa", "", "a"]).astype(">U7"),
    "objects": np.array(["b", "aa", "", "a\0b", "a\0"], dtype=object),
    "integers": np.array([5, -3, 0, 2**62, -(2**63)]),
    "large": np.array([2**64 - 1, 0, 2**63], np.uint64),
    "small": np.array([200, 0, 3], np.uint8),
    "swapped": np.array([1, 256, 3], ">i4"),
    "booleans": np.array([True, False]),
    "numbers": np.array([0.0, -0.0, 1.0, -3.0, 1e300]),
    "single": np.array([0.0, -0.0, 7.0], np.float32),
    "one": np.array(["x"]),
    "no text": np.array(["", ""]),
}


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("n", [1, 2, 300])
def test_equals_sorting(kernels, rng, name, n):
    y = LABELS[name][rng.integers(0, len(LABELS[name]), n)]
    for labels in (y, np.repeat(y, 2)[::2], y[::-1]):
        classes, codes = label_codes(labels)
        expected, places = np.unique(labels, return_inverse=True)
        assert_array_equal(classes, expected)
        assert classes.dtype == expected.dtype
        assert_array_equal(codes, places)
        assert codes.dtype == np.int64


def test_the_table_grows(rng):
    y = rng.integers(-(2**40), 2**40, 5_000) << 20
    for labels in (y, y.astype(str), np.sort(y), y.astype(np.float64)):
        for found, expected in zip(
            label_codes(labels), label_codes_numpy(labels), strict=True
        ):
            assert_array_equal(found, expected)


def test_there_may_be_no_labels(kernels):
    for dtype in ("U3", "i8", object, "f4", "?"):
        classes, codes = label_codes(np.empty(0, dtype))
        assert len(classes) == len(codes) == 0
        assert classes.dtype == dtype
