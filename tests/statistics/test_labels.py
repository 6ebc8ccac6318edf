"""Places of labels among the distinct ones, and of rows among those of a class."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from heterolda.statistics.rows import class_order, coded_labels

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
def test_codes_are_those_of_sorting(rng, name, n):
    y = LABELS[name][rng.integers(0, len(LABELS[name]), n)]
    for labels in (y, np.repeat(y, 2)[::2], y[::-1]):
        classes, codes = coded_labels(labels, warn=False)
        expected, places = np.unique(labels, return_inverse=True)
        assert_array_equal(classes, expected)
        assert classes.dtype == expected.dtype
        assert_array_equal(codes, places)
        assert codes.dtype == np.int64


def test_rows_class_by_class(rng):
    codes = rng.integers(5, size=200)
    codes[codes == 3] = 0  # a class without rows
    weight = rng.integers(2, size=200).astype(float)
    for w in (None, weight, np.repeat(weight, 2)[::2]):
        order, bounds = class_order(codes, w, 5)
        for k in range(5):
            here = (codes == k) & (True if w is None else w > 0)
            assert_array_equal(order[bounds[k] : bounds[k + 1]], np.flatnonzero(here))
    order, bounds = class_order(codes[:0], None, 2)
    assert len(order) == 0
    assert bounds.tolist() == [0, 0, 0]
