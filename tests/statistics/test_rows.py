"""Samples of rows that depend on the values of the rows only."""

from functools import reduce
from operator import add

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import heterolda.statistics.samples as samples
from heterolda.kernels.device.row_sample import sample_rows
from heterolda.statistics.rows import Rows
from heterolda.statistics.samples import RowSample, row_hashes, sampled


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
        assert memory.weights.sum() == kept.weights.sum()


def test_order_chunks_and_copies_do_not_matter(rng, small):
    X, y, weight = draw(rng)
    whole = listed(RowSample.from_arrays(X, y, weight))
    order = rng.permutation(len(X))
    parts = [
        RowSample.from_arrays(X[rows], y[rows], weight[rows])
        for rows in np.array_split(order, 7)
    ]
    assert listed(reduce(add, parts)) == whole
    copies = np.repeat(np.arange(len(X)), weight.astype(int))
    assert listed(RowSample.from_arrays(X[copies], y[copies])) == whole


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
    twice = sp.csr_array(X)
    twice.data[0] = -0.0  # an explicit zero
    X[np.nonzero(X)[0][0], np.nonzero(X)[1][0]] = 0.0
    halves = [np.repeat(part, 2) for part in (twice.data / 2, twice.indices)]
    for form in (twice, sp.csr_array((*halves, 2 * twice.indptr), X.shape)):
        assert_array_equal(row_hashes(form), row_hashes(X))
        samples = [RowSample.from_arrays(rows, y, weight) for rows in (form, X)]
        assert listed(samples[0]) == listed(samples[1])
        sparse, memory = (
            sampled(Rows(rows, y, weight, np.arange(4))) for rows in (form, X)
        )
        assert len(sparse.X) < len(X)
        assert_array_equal(sparse.totals, memory.totals)
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


@pytest.mark.parametrize("kind", ["real", "many whole numbers", "few", "constant"])
def test_rows_on_a_device_are_sampled_without_clusters(device, rng, kind):
    n, most = 30_000, 500
    X = {
        "real": rng.normal(size=(n, 4)),
        "many whole numbers": rng.integers(0, 50, (n, 6)) * 1.0,
        "few": np.rint(20 * rng.normal(size=(n, 1))),
        "constant": np.ones((n, 2)),
    }[kind]
    codes = np.where(np.arange(n) < 200, 2, rng.integers(0, 2, n))
    weight = np.where(np.arange(n) % 7 == 3, 0.0, 1.0)
    counts = np.bincount(codes[weight > 0])

    def sampled(order):
        there = map(device.put, (X[order], codes[order], weight[order]))
        rows, own = sample_rows(device, *there, counts, most)
        assert_array_equal(codes[order][rows], own)
        return order[rows], own

    rows, own = sampled(np.arange(n))
    assert (weight[rows] > 0).all()
    assert (np.diff(own) >= 0).all()
    found = np.bincount(own)
    assert found[2] == counts[2]
    assert (np.abs(found[:2] - most) < 6 * np.sqrt(most)).all()
    # As many values as so many rows have that are drawn at random.
    drawn = X[rng.choice(n, len(rows), replace=False)]
    assert len(np.unique(X[rows], axis=0)) > 0.7 * len(np.unique(drawn, axis=0))
    if kind in ("real", "many whole numbers"):
        assert_array_equal(np.sort(sampled(rng.permutation(n))[0]), np.sort(rows))
