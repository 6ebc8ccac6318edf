"""Rows of classes, and random samples of them."""

from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import heterolda.statistics.samples as samples
from heterolda import ClassStatistics, GaussianLinearDiscriminant
from heterolda.foundations.draws import RowDraws
from heterolda.statistics.rows import Rows, check_frequencies, coded_labels, validated
from heterolda.statistics.samples import RowSample, sampled

LABELS = [
    np.array(["b", "aa", "", "é", "日本", "a" * 50]),
    np.array(["b", "aa", "", "a\0b", "a\0"], dtype=object),
    np.array([2**64 - 1, 0, 2**63], np.uint64),
    np.arange(300, dtype=np.int16) * 20,
    np.array([1, 256, 3], ">i4"),
    np.array([0.0, -0.0, 1.0, -3.0, 1e300]),
]


@pytest.mark.parametrize("values", LABELS, ids=lambda values: values.dtype.str)
def test_codes_are_those_of_sorting(rng, values):
    y = values[rng.integers(0, len(values), 300)]
    for labels in (y, y[::-1], y[:1]):
        classes, codes = coded_labels(labels, warn=False)
        expected, places = np.unique(labels, return_inverse=True)
        assert_array_equal(classes, expected)
        assert classes.dtype == expected.dtype
        assert_array_equal(codes, places)


def test_weights_below_a_mean_of_one_are_scaled():
    assert check_frequencies(None, 3) is None
    assert_array_equal(check_frequencies([0, 1, 3], 3), [0, 1, 3])
    assert_array_equal(check_frequencies([0, 0, 0], 3), [0, 0, 0])
    assert_allclose(check_frequencies([0, 5e-324, 5e-324], 3), [0, 1, 1])
    assert_array_equal(check_frequencies([1 / 3] * 120, 120), 1)  # exactly
    assert_allclose(check_frequencies([1e-300, 3e-300], 2), [0.5, 1.5])
    assert_allclose(check_frequencies([0.6, 1.0], 2), [0.75, 1.25])


def test_rows_class_by_class_and_in_pairs(rng):
    X, codes = rng.normal(size=(200, 2)), rng.integers(5, size=200)
    codes[codes == 3] = 0  # a class without rows
    for weight in (None, rng.integers(2, size=200).astype(float)):
        rows = Rows(X, codes, weight, np.array(list("abcde")))
        assert rows.totals.sum() == rows.frequencies.sum()
        for k in range(5):
            mask = (codes == k) & (rows.frequencies > 0)
            assert_array_equal(rows.of_class(k).X, X[mask])
        two, mask = rows.pair(1, 4), (codes == 1) | (codes == 4)
        assert two.classes.tolist() == ["b", "e"]
        assert_array_equal(two.labels, rows.labels[mask])
        assert_array_equal(two.X, X[mask])
    assert rows.take(slice(0)).by_class[1].tolist() == [0] * 6


def test_validation_for_a_fit_and_for_sums():
    """A fit wants frequencies and classes with weight; sums take what there is."""
    X = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": [0, 1, 0, 1]})
    y, weight = ["x", "y", "z", "x"], [0.1, 0.0, 0.2, 0.3]
    model = GaussianLinearDiscriminant()
    fit = validated(X, y, weight, estimator=model)
    assert fit.classes.tolist() == ["x", "z"]
    assert fit.labels.tolist() == ["x", "z", "x"]
    assert fit.weights == pytest.approx([0.5, 1.0, 1.5])
    assert model.feature_names_in_.tolist() == ["a", "b"]
    sums = validated(X, y, weight, sums=True)
    assert sums.classes.tolist() == ["x", "y", "z"]
    assert_array_equal(sums.weights, weight)
    assert len(validated(X[:0], y[:0], sums=True).codes) == 0
    lacking = X.replace(1.0, np.nan)
    assert np.isnan(validated(lacking, y, missing="em").X).sum() == 3
    for bad, message in ((X[:0], "0 sample"), (lacking, "contains NaN.*missing='em'")):
        with pytest.raises(ValueError, match=message):
            validated(bad, y[: len(bad)], estimator=model)
    with pytest.raises(ValueError, match="feature names"):
        validated(X[["b", "a"]], y, estimator=model, first=False, sums=True)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        validated(sp.csr_array(X), y, sparse=False)


@pytest.fixture
def small(monkeypatch):
    """Samples of 20 rows of each class, and of 100 of all."""
    monkeypatch.setattr(samples, "MAX_ROWS", 20)
    monkeypatch.setattr(samples, "MAX_SAMPLE_ROWS", 100)


def test_the_smallest_keys_of_each_class_and_of_all(rng, small):
    X, y = rng.normal(size=(400, 2)), rng.integers(3, size=400)
    weight, keys = rng.integers(4, size=400).astype(float), rng.random(400)
    folds = rng.integers(5, size=400)
    sample = RowSample.from_arrays(X, y, weight, keys, folds)
    order = [k for k in keys.argsort() if weight[k] > 0]
    kept = set(order[:100])
    for label in range(3):
        kept |= set([k for k in order if y[k] == label][:20])
    kept = sorted(kept)
    assert_array_equal(sample.X, X[kept])
    for name, values in (("y", y), ("weight", weight), ("keys", keys)):
        assert_array_equal(getattr(sample, name), values[kept])
    assert_array_equal(sample.folds, folds[kept])
    assert_array_equal(sample.in_proportion().X, X[sorted(order[:100])])
    # Weights that sum to less than the number of rows are scaled to that.
    stats, n_rows = ClassStatistics.from_data(X, y, weight), sample.n_rows
    assert samples.as_frequencies(stats, sample) == (stats, sample)
    factor = 0.25 * n_rows / weight.sum()
    few = RowSample.from_arrays(X, y, factor * weight, keys)
    scaled, same = samples.as_frequencies(stats.scaled(factor), few)
    assert_allclose(scaled.weights, stats.weights * n_rows / weight.sum())
    assert_allclose(same.weight, sample.weight * n_rows / weight.sum())
    # Chunks and the form of the numbers do not matter.
    parts = [
        RowSample.from_arrays(X[rows], y[rows], weight[rows], keys[rows], folds[rows])
        for rows in np.array_split(np.arange(400), 7)
    ]
    sparse = RowSample.from_arrays(sp.csr_array(X), y, weight, keys, folds)
    for same in (reduce(add, parts), sparse):
        assert_array_equal(same.keys, sample.keys)
        assert_array_equal(same.X, sample.X)


def test_rows_in_memory_have_the_sample_of_a_file(rng, small):
    X, y, weight = rng.normal(size=(400, 2)), np.arange(400) % 4, np.arange(400) % 3.0
    keys = RowDraws(7).keys(np.where(weight > 0, y, -1))
    of_file = RowSample.from_arrays(X, y, weight, keys)
    for form in (X, sp.csr_array(X)):
        memory = sampled(Rows(form, y, weight, np.arange(4)), 7)
        for k in range(4):
            drawn = of_file.rows(np.arange(4)).of_class(k)
            assert_array_equal(memory.of_class(k).X, drawn.X)
            assert len(drawn.X) == 20
