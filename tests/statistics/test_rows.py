"""Rows of classes, and samples of them that depend on the values of the rows only."""

from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import heterolda.statistics.samples as samples
from heterolda import ClassStatistics, GaussianLinearDiscriminant
from heterolda.statistics.rows import Rows, check_frequencies, coded_labels, validated
from heterolda.statistics.samples import RowSample, row_hashes, sampled

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
    monkeypatch.setattr(samples, "_MAX_VALUES", 20 * 2 * 2)
    monkeypatch.setattr(samples, "_MIN_ROWS", 1)
    monkeypatch.setattr(samples, "MAX_SAMPLE_ROWS", 100)


def naive(X, y, weight):
    """Return distinct rows with their weights, sorted by their hashes."""
    totals = {}
    columns = X.tolist(), y.tolist(), weight, row_hashes(X).tolist()
    for x, label, w, h in zip(*columns, strict=True):
        key = h, label, tuple(x)
        totals[key] = totals.get(key, 0) + w
    rows = sorted(key for key, w in totals.items() if w > 0)
    few = sorted({h for h, _, _ in rows})[:100]
    kept = {key for key in rows if key[0] in few}
    for label in set(y.tolist()):
        kept |= set([key for key in rows if key[1] == label][:20])
    return [(*key, totals[key]) for key in sorted(kept)]


def listed(sample):
    columns = sample.hashes, sample.y, map(tuple, sample.X), sample.weight
    return [(int(h), y, x, w) for h, y, x, w in zip(*columns, strict=True)]


def test_the_smallest_hashes_of_each_class_and_of_all(rng, small):
    X = np.round(rng.normal(size=(400, 2)), 1)  # with copies
    X[rng.random(X.shape) < 0.3] = 0.0
    y, weight = rng.integers(3, size=400), rng.integers(4, size=400).astype(float)
    sample = RowSample.from_arrays(X, y, weight)
    assert listed(sample) == naive(X, y, weight)
    assert len(sample.in_proportion()[0]) == 100
    # Weights that sum to less than the number of rows are scaled to that.
    stats, n_rows = ClassStatistics.from_data(X, y, weight), sample.n_rows
    assert samples.as_frequencies(stats, sample) == (stats, sample)
    factor = 0.25 * n_rows / weight.sum()
    few = RowSample.from_arrays(X, y, factor * weight)
    scaled, same = samples.as_frequencies(stats.scaled(factor), few)
    assert_allclose(scaled.weights, stats.weights * n_rows / weight.sum())
    assert_allclose(same.weight, sample.weight * n_rows / weight.sum())
    # Order, chunks, copies and the form of the numbers do not matter.
    order = np.array_split(rng.permutation(len(X)), 7)
    parts = [RowSample.from_arrays(X[rows], y[rows], weight[rows]) for rows in order]
    copies = np.repeat(np.arange(len(X)), weight.astype(int))
    for same in (
        reduce(add, parts),
        RowSample.from_arrays(X[copies], y[copies]),
        RowSample.from_arrays(sp.csr_array(X), y, weight),
    ):
        assert listed(same) == listed(sample)
    # The same rows of arrays in memory, without merging copies.
    kept = sampled(sample.rows(np.arange(3)))
    for form in (X, sp.csr_array(X)):
        memory = sampled(Rows(form, y, weight, np.arange(3)))
        assert_allclose(memory.totals, kept.totals, equal_nan=False)
        for k in range(3):
            rows = kept.of_class(k).X
            assert len(rows) == 20
            distinct = np.unique(memory.of_class(k).X, axis=0)
            assert sorted(map(tuple, distinct)) == sorted(map(tuple, rows))


def test_hashes_depend_on_values_only_and_are_even(rng):
    X = rng.normal(size=(5000, 3)).astype(np.float32)
    hashes, rows = row_hashes(X), rng.integers(5000, size=100)
    assert_array_equal(row_hashes(X[rows]), hashes[rows])
    assert_array_equal(row_hashes(np.asfortranarray(X.astype(float))), hashes)
    assert_array_equal(row_hashes(-0.0 * X), row_hashes(0.0 * X))
    assert len(np.unique(hashes)) == 5000
    assert np.ptp(np.bincount((hashes >> np.uint64(61)).astype(int))) < 200
    # Whole numbers, whose low bits are zero, in more columns than factors.
    X = np.zeros((4, 10_000))
    X[[1, 2, 3], [4096, 8192, 0]] = 1.0
    assert len(np.unique(row_hashes(X))) == 4
    X = np.indices((40, 40)).reshape(2, -1).T
    assert len(np.unique(row_hashes(X))) == 1600
