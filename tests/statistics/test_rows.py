"""Rows of classes, and samples of them that depend on the values of the rows only."""

from functools import reduce
from itertools import product
from operator import add

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import heterolda.statistics.samples as samples
from heterolda import GaussianLinearDiscriminant
from heterolda.statistics.rows import Rows, check_frequencies, coded_labels, validated
from heterolda.statistics.samples import RowSample, row_hashes, sampled

LABELS = {
    "text": np.array(["b", "aa", "", "a", "é", "日本", "a" * 50]),
    "swapped text": np.array(["b", "aa", "", "a"]).astype(">U7"),
    "objects": np.array(["b", "aa", "", "a\0b", "a\0"], dtype=object),
    "integers": np.array([5, -3, 0, 2**62, -(2**63)]),
    "large": np.array([2**64 - 1, 0, 2**63], np.uint64),
    "near each other": np.array([2**63, 2**63 + 5, 2**63 + 9], np.uint64),
    "far apart": np.array([-(2**63), -(2**63) + 70, 2**63 - 1]),
    "just too far apart": np.array([7, 7 + 2**16 - 1, 7 + 2**16]),
    "small": np.array([255, 0, 3], np.uint8),
    "of both signs": np.array([-128, 127, 3], np.int8),
    "many": np.arange(300, dtype=np.int16) * 200 - 30000,
    "swapped": np.array([1, 256, 3], ">i4"),
    "booleans": np.array([True, False]),
    "numbers": np.array([0.0, -0.0, 1.0, -3.0, 1e300]),
    "single": np.array([0.0, -0.0, 7.0], np.float32),
    "one": np.array(["x"]),
    "no text": np.array(["", ""]),
}


def test_codes_are_those_of_sorting(rng):
    for (name, values), n in product(LABELS.items(), (1, 2, 300)):
        y = values[rng.integers(0, len(values), n)]
        for labels in (y, np.repeat(y, 2)[::2], y[::-1]):
            classes, codes = coded_labels(labels, warn=False)
            expected, places = np.unique(labels, return_inverse=True)
            assert_array_equal(classes, expected, err_msg=name)
            assert classes.dtype == expected.dtype
            assert_array_equal(codes, places, err_msg=name)
            assert codes.dtype == np.int64


def test_weights_below_a_mean_of_one_are_scaled():
    assert check_frequencies(None, 3) is None
    assert_array_equal(check_frequencies([0, 1, 3], 3), [0, 1, 3])
    assert_array_equal(check_frequencies([0, 0, 0], 3), [0, 0, 0])
    assert_allclose(check_frequencies([0, 5e-324, 5e-324], 3), [0, 1, 1])
    assert_allclose(check_frequencies([1e-300, 3e-300], 2), [0.5, 1.5])


def test_rows_class_by_class_and_in_pairs(rng):
    X, codes = rng.normal(size=(200, 2)), rng.integers(5, size=200)
    codes[codes == 3] = 0  # a class without rows
    weight = rng.integers(2, size=200).astype(float)
    for w in (None, weight, np.repeat(weight, 2)[::2]):
        rows = Rows(X, codes, w, np.array(list("abcde")))
        total = rows.frequencies.sum()
        assert rows.totals.sum() == total
        for k in range(5):
            own = (codes == k) & (True if w is None else w > 0)
            assert_array_equal(rows.of_class(k).X, X[own])
            assert_array_equal(rows.of_class(k).codes, k)
        two = rows.pair(1, 4)
        assert two.classes.tolist() == ["b", "e"]
        assert_array_equal(two.labels, rows.labels[(codes == 1) | (codes == 4)])
        assert_array_equal(two.X, X[(codes == 1) | (codes == 4)])
    order, bounds = rows.take(slice(0)).by_class
    assert len(order) == 0
    assert bounds.tolist() == [0] * 6


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
    with pytest.raises(ValueError, match="feature names"):
        validated(X[["b", "a"]], y, estimator=model, first=False, sums=True)
    for bad, message in (
        (X[:0], "0 sample"),
        (X.replace(1.0, np.nan), "contains NaN.*use missing='em'"),
    ):
        with pytest.raises(ValueError, match=message):
            validated(bad, y[: len(bad)], estimator=model)
    gaps = validated(X.replace(1.0, np.nan), y, missing="em")
    assert np.isnan(gaps.X).sum() == 3
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        validated(sp.csr_array(X), y, sparse=False)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(samples, "_NUMBERS", 20 * 2 * 2)
    monkeypatch.setattr(samples, "_LEAST", 1)
    monkeypatch.setattr(samples, "IN_ALL", 100)


def naive(X, y, weight, per_class=20, in_all=100):
    """Distinct rows as a dictionary of weights, sorted by their hashes."""
    totals = {}
    columns = X.tolist(), y.tolist(), weight, row_hashes(X).tolist()
    for x, label, w, h in zip(*columns, strict=True):
        key = h, label, tuple(x)
        totals[key] = totals.get(key, 0) + w
    rows = sorted(key for key, w in totals.items() if w > 0)
    few = sorted({h for h, _, _ in rows})[:in_all]
    kept = {key for key in rows if key[0] in few}
    for label in set(y.tolist()):
        kept |= set([key for key in rows if key[1] == label][:per_class])
    return [(*key, totals[key]) for key in sorted(kept)]


def listed(sample):
    columns = sample.hashes, sample.y, map(tuple, sample.X), sample.weight
    return [(int(h), y, x, w) for h, y, x, w in zip(*columns, strict=True)]


def draw(rng, n=400):
    X = np.round(rng.normal(size=(n, 2)), 1)  # with copies
    return X, rng.integers(3, size=n), rng.integers(4, size=n).astype(float)


def test_the_smallest_hashes_of_each_class_and_of_all(rng, small):
    X, y, weight = draw(rng)
    found = RowSample.from_arrays(X, y, weight)
    assert listed(found) == naive(X, y, weight)
    assert len(found.in_proportion()[0]) == 100
    # Without merging copies, the same rows of arrays in memory.
    both = sampled(found.rows(np.arange(3))), sampled(Rows(X, y, weight, np.arange(3)))
    for k in range(3):
        kept, memory = (rows.of_class(k) for rows in both)
        assert len(kept.X) == 20
        distinct = np.unique(memory.X, axis=0)
        assert sorted(map(tuple, distinct)) == sorted(map(tuple, kept.X))
        assert memory.totals.sum() == kept.totals.sum()
    # Order, chunks and copies do not matter.
    order = np.array_split(rng.permutation(len(X)), 7)
    parts = [RowSample.from_arrays(X[rows], y[rows], weight[rows]) for rows in order]
    assert listed(reduce(add, parts)) == listed(found)
    copies = np.repeat(np.arange(len(X)), weight.astype(int))
    assert listed(RowSample.from_arrays(X[copies], y[copies])) == listed(found)


def test_hashes_depend_on_values_only_and_are_even(rng):
    X = rng.normal(size=(5000, 3)).astype(np.float32)
    hashes = row_hashes(X)
    some = rng.integers(5000, size=100)
    assert_array_equal(row_hashes(X[some]), hashes[some])
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


def test_sparse_rows_give_the_sample_of_dense_ones(rng, small):
    X, y, weight = draw(rng)
    X[rng.random(X.shape) < 0.5] = 0.0
    y = rng.integers(4, size=len(X))
    plain = sp.csr_array(X)
    plain.data[0] = -0.0  # an explicit zero
    X[np.nonzero(X)[0][0], np.nonzero(X)[1][0]] = 0.0
    halves = [np.repeat(part, 2) for part in (plain.data / 2, plain.indices)]
    for form in (plain, sp.csr_array((*halves, 2 * plain.indptr), X.shape)):
        assert_array_equal(row_hashes(form), row_hashes(X))
        sums = [RowSample.from_arrays(rows, y, weight) for rows in (form, X)]
        assert listed(sums[0]) == listed(sums[1])
        sparse, memory = (
            sampled(Rows(rows, y, weight, np.arange(4))) for rows in (form, X)
        )
        assert len(sparse.X) < len(X)
        for k in range(4):
            one, other = sparse.of_class(k), memory.of_class(k)
            assert_array_equal(one.X, other.X)
            assert_array_equal(one.weights, other.weights)


def test_many_copies_of_few_rows(rng, small):
    X, y = rng.integers(2, size=(3000, 2)).astype(float), np.zeros(3000)
    found = RowSample.from_arrays(X, y)
    assert len(found.X) == 4
    assert found.weight.sum() == 3000
    assert len(RowSample.from_arrays(X[:0], y[:0]).X) == 0
