"""ClassStatistics against naive formulas, and under everything that must not matter."""

import itertools
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from heterolda import ClassStatistics
from heterolda.exceptions import ParameterError
from heterolda.kernels import class_moments as kernel
from heterolda.statistics import moments
from heterolda.statistics.rows import Rows

of = ClassStatistics.from_data


def naive(X, y, weight, n_classes):
    """Return weights, means and scatters in extended precision, by the definitions."""
    result = []
    for k in range(n_classes):
        w, rows = weight[y == k], X[y == k].astype(np.longdouble)
        origin = rows[:1].sum(axis=0)  # so that rounding makes no constant vary
        shift = w @ (rows - origin) / max(w.sum(), 1e-300)
        z = rows - origin - shift
        result.append((w.sum(), origin + shift, (w * z.T) @ z))
    return [np.array(part, float) for part in zip(*result, strict=True)]


def assert_same(a, b, rtol=1e-10):
    """Check that statistics are equal on the scale of their variances."""
    assert_array_equal(a.classes, b.classes)
    assert_allclose(a.weights, b.weights, rtol=rtol)
    size = np.sqrt(np.einsum("kii->ki", b.scatters)) + 1e-100
    assert_allclose(a.means / size, b.means / size, rtol=rtol, atol=rtol)
    scale = size[:, :, None] * size[:, None, :]
    assert_allclose(a.scatters / scale, b.scatters / scale, rtol=0, atol=rtol)


def columns_of_all_kinds(rng, n=400):
    """Draw columns of all densities, some of them far from zero, one constant."""
    shares = np.array([0.0, 0.005, 0.05, 0.09, 0.11, 0.4, 0.6, 0.95, 1, 1, 1, 1])
    X = rng.normal(1, 2, size=(n, 12)) * (rng.random((n, 12)) < shares)
    X[:, 8] += 1e6
    X[:, [7, 10]] *= 1e6
    X[:, 9] = 7.3
    X[[0, 5]] = 0
    return X, rng.integers(4, size=n)


@pytest.mark.parametrize("weights", [None, "whole", "spread"])
def test_dense_and_sparse_rows_equal_the_definitions(rng, weights):
    X, codes = columns_of_all_kinds(rng)
    weight = None
    if weights == "whole":
        weight = rng.integers(0, 4, len(X)).astype(float)
    elif weights == "spread":
        weight = 10 ** rng.uniform(-9, -1, len(X))
    ones = np.ones(len(X)) if weight is None else weight
    totals, means, scatters = naive(X, codes, ones, 5)  # one class has no rows
    size = np.sqrt(np.einsum("kii->ki", scatters))
    scale = size[:, :, None] * size[:, None, :]
    for rows in (sp.csr_array(X), X):
        stats = ClassStatistics.from_rows(Rows(rows, codes, weight, np.arange(5)))
        assert_allclose(stats.weights, totals, rtol=1e-14)
        # On the scale of the variances; constant columns have none at all.
        error = np.abs(stats.means - means) / np.where(size > 0, size, 1)
        assert (error <= 1e-12 + 1e-15 * np.abs(means)).all()
        assert (np.abs(stats.scatters - scatters) <= 1e-13 * scale).all()
        assert_array_equal(stats.scatters, stats.scatters.mT)


def test_any_sparse_form_of_the_same_numbers(rng):
    X, codes = columns_of_all_kinds(rng)
    X, plain = np.round(X[:, :8]), sp.csr_array(np.round(X[:, :8]))
    halves = [np.repeat(part, 2) for part in (plain.data / 2, plain.indices)]
    duplicates = sp.csr_array((*halves, plain.indptr * 2), X.shape)
    for form in (duplicates, sp.csc_array(X), plain.astype("i8")):
        before = form.data.copy()
        assert_same(of(form, codes), of(X, codes), rtol=1e-9)
        assert_array_equal(form.data, before)


def test_chunks_of_any_size_in_any_order_equal_the_whole(make_classes, rng):
    X, y = make_classes(n=100)
    X[:, 1] = 0.1
    w = rng.uniform(0, 2, len(y))
    whole = of(X, y, w)
    edges = np.sort(rng.integers(0, len(X), 30))  # some chunks are empty
    stats, parts = of(X[:0], y[:0]), []
    for a, b in itertools.pairwise([0, *edges, len(X)]):
        before = stats.copy()
        assert stats.update(X[a:b], y[a:b], w[a:b]) is stats
        assert before.weights.sum() == pytest.approx(w[:a].sum())
        parts.append(of(X[a:b], y[a:b], w[a:b]))
    assert_same(stats, whole)
    assert not stats.scatters[:, 1].any()  # exactly
    assert_array_equal(stats.means[:, 1], 0.1)
    for _ in range(5):
        assert_same(sum(parts[i] for i in rng.permutation(len(parts))), whole)


@pytest.mark.usefixtures("kernels")
def test_outliers_and_drift_cost_no_digits(rng, monkeypatch):
    """A far row comes first or last; means move away by many deviations."""
    monkeypatch.setattr(kernel, "_BUFFER_BYTES", 1)
    outlier, drift = rng.normal(size=(400, 2)), rng.normal(size=(2000, 3))
    outlier[0] = 1e9
    drift += 1e4 * np.arange(2000)[:, None] + [0, 0, 1e9]
    for X in (outlier, outlier[::-1], drift):
        z = X - X.mean(axis=0)
        scatters = of(X, np.zeros(len(X), int)).scatters
        assert_allclose(scatters[0], z.T @ z, rtol=1e-11)


def test_no_copy_of_the_data_is_made(rng):
    X, y = rng.normal(size=(100_000, 50)), rng.integers(0, 5, 100_000)
    places = rng.integers(20_000, size=20_000), rng.integers(200, size=20_000)
    sparse = sp.csr_array((rng.normal(size=20_000), places), (20_000, 200))
    for rows in (X, np.asfortranarray(X), X[::2], sparse):
        tracemalloc.start()
        of(rows, y[: rows.shape[0]])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.25 * 8 * np.prod(rows.shape)


def test_bad_moments_are_rejected():
    good = {
        "classes": [0, 1],
        "counts": [10, 20],
        "means": [[0.0, 1], [2, 3]],
        "covariances": [np.eye(2), [[2.0, 0.5], [0.5, 1]]],
    }
    for name, value, message in (
        ("classes", [0, 0], "classes must be"),
        ("counts", [10, 1], "counts must exceed 1"),
        ("counts", [10, np.nan], "counts contains NaN"),
        ("covariances", [np.eye(2) * np.nan] * 2, "covariances contains NaN"),
        ("counts", [10, 20, 30], r"must have shapes \(2,\), .* got \(\(3,\)"),
        ("means", ["a", "b"], "means must be real numbers"),
        ("means", [[0.0, 1], [1e200, 3]], "means: the values of feature 0 .* overfl"),
        ("covariances", [np.eye(2), [[1, 0.5], [0.1, 1]]], "not symmetric"),
        ("covariances", [np.eye(2), [[1, 2], [2, 1]]], "indefinite"),
        ("covariances", [1e-310 * np.eye(2)] * 2, "^covariances: .* underflow"),
        ("covariances", [1e308 * np.eye(2)] * 2, "^covariances: .* overflow"),
    ):
        with pytest.raises(ValueError, match=message):
            ClassStatistics.from_moments(**(good | {name: value}))


def test_rejected_data_leave_the_statistics_unchanged(make_classes):
    X, y = make_classes()
    stats = of(X, y)
    before = {k: np.copy(v) for k, v in vars(stats).items() if v is not None}
    ones = np.ones(len(y))
    large = of(np.eye(2), np.array([2**60, 2**60 + 1]))
    named, other = (of(pd.DataFrame(X, columns=list(n)), y) for n in ("abc", "acb"))
    for change, message in (
        (lambda: stats.update(X[:, :2], y), "same columns"),
        (lambda: stats.update(np.where(X > 1, np.nan, X), y), "X contains NaN"),
        (lambda: stats.update(X * [1, 1e200, 1], y), r"feature 1 .* overflow"),
        (lambda: stats.update(X * [1, 1, 1e-200], y), r"feature 2 .* underflow"),
        (lambda: stats.update(sp.csr_array(X * [1, 1, 1e-170]), y), "2 .* underflow"),
        (lambda: stats.update(X, y.astype(str)), "do not mix"),
        (lambda: stats.update(X, y[:-1]), "inconsistent numbers"),
        (lambda: stats.update(X, y, -ones), "sample_weight has negative values"),
        (lambda: stats.update(X, y, np.nan * ones), "must be finite numbers.*NaN"),
        (lambda: stats.update(X, y, 1e300 * ones), "has values above"),
        (lambda: stats.update(X, y, ones[1:]), "sample_weight must have one entry"),
        # As floating point numbers, these labels would be equal.
        (lambda: large + of(np.eye(2), np.array([2**60 + 1, 2], "u8")), "do not mix"),
        (lambda: of([[0.0]] * 2, [0, 0]) + of([[1e200]] * 2, [0, 0]), "^other: .* 0 "),
        (lambda: of([[0.0]], [0]) + of([[1e160]], [1]), "^means: .* 0 .* overflow"),
        (lambda: named + other, "^statistics of different features cannot"),
        (lambda: stats + 1, "unsupported operand"),
        (lambda: stats - 1, "unsupported operand"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            change()
    for name, value in before.items():
        assert_array_equal(getattr(stats, name), value)
    assert (
        repr(stats)
        == "ClassStatistics(n_classes=4, n_features=3, weights=[60. 60. 60. 60.])"
    )
    error = moments.RangeError("X", 3, "overflow")
    copied = pickle.loads(pickle.dumps(error))  # from worker processes
    assert (str(copied), copied.feature) == (str(error), 3)
    for both in (stats + named, named + stats):
        assert both.feature_names.tolist() == ["a", "b", "c"]


def test_covariances_larger_than_memory_are_rejected(monkeypatch):
    assert moments.available_memory() > 1e6
    with monkeypatch.context() as patch:
        patch.delattr(moments.os, "sysconf")  # as on Windows
        assert moments.available_memory() == np.inf
    monkeypatch.setattr(moments, "available_memory", lambda: 1e9)
    moments.check_memory(100, 100)
    with pytest.raises(ValueError, match=r"a fit needs 3.2 GB, but .* only 1.0 GB"):
        moments.check_memory(2, 5000)


def naive_shrinkage(stats, rho):
    """Shrink as the documentation says."""
    weights, covariances = stats.weights, stats.scatters.copy()
    covariances /= (weights - 1)[:, None, None]
    d, dof = stats.n_features, weights.sum() - len(weights)
    pooled = stats.scatters.sum(axis=0) / dof
    gamma = d / (dof + d) if np.linalg.matrix_rank(pooled) < d else 0.0
    if isinstance(rho, tuple):
        rho, gamma = rho
    pooled = (1 - gamma) * pooled + gamma * np.diag(np.diag(pooled))
    shares = np.full(len(weights), rho or 0.0)
    if rho == "auto":
        shares = np.where(weights > d + 1, 0.0, d / (weights + d))
    return [(1 - r) * c + r * pooled for r, c in zip(shares, covariances, strict=True)]


@pytest.mark.parametrize("n", [60, 3])  # with 3 rows the pooled one is singular
def test_shrinkage_equals_its_definition(make_classes, n):
    stats = of(*make_classes(n=n, d=9))
    for rho in (0.0, None, 0.3, 1.0, "auto", (0.3, 0.1), (0.3, 0.0), (1, 1), (0, 0.5)):
        expected = naive_shrinkage(stats, rho)
        assert_allclose(stats.covariances(rho), expected, rtol=1e-10, atol=1e-11)


def test_classes_borrow_up_to_a_weight_of_their_rank_and_one(rng):
    y = np.repeat([0, 1, 2], [4, 5, 40])
    X = rng.normal(size=(49, 3))
    stats = of(np.column_stack([X, X[:, :1], np.ones(49)]), y)  # of rank 3
    plain = stats.covariances(0)
    borrows = np.abs(stats.covariances() - plain).max(axis=(1, 2)) > 0.01
    assert borrows.tolist() == [True, False, False]


def test_a_class_of_weight_one_has_no_covariance():
    stats = of([[1.0], [2.0], [3.0]], ["a", "a", "b"])
    for borrows in ("auto", (0.2, 0.5)):
        assert_allclose(stats.covariances(borrows)[1], stats.scatters[0])
    for none in (0, None):
        with pytest.raises(ValueError, match=r"^classes \['b'\] have a total weight"):
            stats.covariances(none)
    with pytest.raises(ValueError, match=r"less \(every sample_weight is zero\), "):
        of(np.eye(2), [0, 1], [0.0, 0.0]).covariances()
    for wrong in ("much", 1.5, (0.5, 1.5), [0.5], ("a", 0)):
        with pytest.raises(ParameterError, match="shrinkage must be"):
            of(np.eye(4), [0, 0, 1, 1]).covariances(wrong)


def test_given_moments_that_have_decayed_borrow():
    """Below a weight of one their variances were negative."""
    given = [0, 1], [2, 100], [[0.0], [1.0]], [[[1.0]], [[2.0]]]
    few = ClassStatistics.from_moments(*given).decayed(0.4)
    assert_allclose(few.covariances().ravel(), [79.6 / 39, 79.2 / 39])
    exact = ClassStatistics.from_moments(*given).decayed(0.6)
    assert_allclose(exact.covariances().ravel(), [0.6 / 0.2, 2 * 0.6 * 99 / 59])
