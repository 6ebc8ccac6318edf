"""Factors of the scatters of few rows and many features."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

from heterolda import ClassStatistics
from heterolda.exceptions import ParameterError
from heterolda.statistics import moments
from heterolda.statistics.moments import compressed

D = 130


def naive_scatters(X, y, weight=None):
    """Scatters about the means, in units of the features' deviations."""
    weight = np.ones(len(y)) if weight is None else weight
    found = []
    for label in np.unique(y):
        rows, w = X[y == label].astype(np.longdouble), weight[y == label]
        z = (rows - w @ rows / w.sum()).astype(float)
        found.append((z * w[:, None]).T @ z)
    return np.array(found)


def in_units(scatters, units):
    return scatters / units / units[:, None]


def units_of(X):
    """Root sums of squares of the features."""
    return np.maximum(np.linalg.norm(X - X.mean(axis=0), axis=0), 1e-300)


def draw(rng, n=40, n_classes=3):
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, D)) + 0.5 * rng.normal(size=(n_classes, D))[y], y


@pytest.mark.parametrize(
    "kind", ["plain", "weights", "offset", "scales", "constant", "float32", "fortran"]
)
def test_factors_make_the_scatters(rng, kind):
    X, y = draw(rng)
    weight, tolerance = None, 1e-13
    if kind == "weights":
        weight = rng.choice([0.0, 3.0, 0.25, 1.7], size=len(y))
        weight[:3] = 1.0
    elif kind == "offset":
        X, tolerance = X + 1e8, 1e-8
    elif kind == "scales":
        X *= 10.0 ** rng.uniform(-100, 100, D)
    elif kind == "constant":
        X[:, :7] = 0.1
    elif kind == "float32":
        X = X.astype(np.float32)
    elif kind == "fortran":
        X = np.asfortranarray(X)
    before = X.copy()
    stats = ClassStatistics.from_data(X, y, weight)
    units = units_of(X)
    expected = in_units(naive_scatters(X, y, weight), units)
    assert np.array_equal(X, before)
    assert [len(factor) for factor in stats.factors] == [
        np.count_nonzero(y == k if weight is None else (y == k) & (weight > 0)) - 1
        for k in range(3)
    ]
    made = in_units(np.array([f.T @ f for f in stats.factors]), units)
    np.testing.assert_allclose(made, expected, atol=tolerance)
    np.testing.assert_allclose(in_units(stats.scatters, units), made, atol=1e-14)
    diagonals = np.einsum("kjj->kj", stats.scatters)
    np.testing.assert_allclose(stats.squares, diagonals, rtol=1e-13)
    if kind == "constant":
        assert not stats.squares[:, :7].any()
        assert np.all(stats.means[:, :7] == 0.1)


def test_sparse_rows_and_classes_without_rows(rng):
    X, y = draw(rng)
    X[rng.random(X.shape) < 0.8] = 0.0
    sparse = ClassStatistics.from_data(csr_array(X), y)
    filled = ClassStatistics.from_data(X, y)
    for one, other in zip(sparse.factors, filled.factors, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-13)
    weight = np.where(y == 1, 0.0, 1.0)
    empty = ClassStatistics.from_data(X, y, weight)
    assert empty.factors[1].shape == (0, D)
    assert not empty.squares[1].any()
    both = empty + ClassStatistics.from_data(X, y, 1.0 - weight)
    np.testing.assert_allclose(both.scatters, filled.scatters, atol=1e-13)


@pytest.mark.parametrize("factor", [1e160, 1e300, 1e-170])
def test_squares_out_of_range_are_refused(rng, factor):
    X, y = draw(rng)
    X[:, 3] *= factor
    with pytest.raises(ParameterError, match=r"feature 3 .*flow float64"):
        ClassStatistics.from_data(X, y)


def test_compressed_factors_are_determined_by_the_scatter(rng):
    factor = rng.normal(size=(12, D)) * 10.0 ** rng.uniform(-100, 100, D)
    factor[:, :5] = 0.0  # constant features first
    factor[:, 7] = factor[:, 6]
    units = np.maximum(np.linalg.norm(factor, axis=0), 1e-300)
    turn = np.linalg.qr(rng.normal(size=(30, 12)))[0]
    few, same = compressed(factor) / units, compressed(turn @ factor) / units
    assert few.shape == same.shape == (12, D)
    np.testing.assert_allclose(few, same, atol=1e-11)
    once = compressed(factor)
    np.testing.assert_array_equal(compressed(once), once)  # so files stay the same
    expected = (factor / units).T @ (factor / units)
    np.testing.assert_allclose(few.T @ few, expected, atol=1e-13)
    np.testing.assert_allclose(same.T @ same, expected, atol=1e-13)


@pytest.mark.parametrize("n", [3, 50, 400])
def test_compressed_factors_have_no_more_rows_than_the_rank(rng, n):
    factor = rng.normal(size=(n, 3)) @ rng.normal(size=(3, D))
    factor[:, 1] = factor[:, 0]
    few = compressed(factor)
    assert few.shape == (3, D)
    np.testing.assert_allclose(
        in_units(few.T @ few, np.linalg.norm(factor, axis=0)),
        in_units(factor.T @ factor, np.linalg.norm(factor, axis=0)),
        atol=1e-13,
    )
    assert compressed(np.zeros((n, D))).shape == (0, D)
    assert compressed(np.zeros((0, D))).shape == (0, D)


@pytest.mark.parametrize("scaled", [False, True])
def test_any_order_and_any_chunks_add_up_to_the_same(rng, scaled):
    """Chunks of one row too, and across as many rows as features."""
    n = 150
    X, y = draw(rng, n)
    weight = rng.choice([1.0, 2.0, 0.5], size=n)
    if scaled:
        X = X * 10.0 ** rng.uniform(-50, 50, D)
    units = units_of(X)
    for m in (60, n):
        whole = ClassStatistics.from_data(X[:m], y[:m], weight[:m])
        assert (whole.factors is None) == (m == n)
        order = rng.permutation(m)
        bounds = np.sort(rng.choice(np.arange(1, m), size=25, replace=False))
        chunks = [
            ClassStatistics.from_data(X[rows], y[rows], weight[rows])
            for rows in np.split(order, bounds)
        ]
        left, right = sum(chunks), chunks[-1]
        for chunk in chunks[-2::-1]:
            right = chunk + right
        for merged in (left, right):
            assert (merged.factors is None) == (m == n)
            np.testing.assert_allclose(merged.weights, whole.weights, rtol=1e-14)
            means = (merged.means - whole.means) / units
            np.testing.assert_allclose(means, 0.0, atol=1e-13)
            np.testing.assert_allclose(
                in_units(merged.scatters, units),
                in_units(whole.scatters, units),
                atol=1e-13,
            )


def test_many_rows_of_low_rank_stay_factors(rng):
    """Rows that depend on each other are compressed; others become matrices."""
    space = rng.normal(size=(4, D))
    y = np.arange(40) % 2
    chunks = [rng.normal(size=(40, 4)) @ space + y[:, None] for _ in range(12)]
    merged = sum(ClassStatistics.from_data(X, y) for X in chunks)
    assert sum(map(len, merged.factors)) < D
    units = units_of(np.concatenate(chunks))
    expected = naive_scatters(np.concatenate(chunks), np.tile(y, 12))
    np.testing.assert_allclose(
        in_units(merged.scatters, units), in_units(expected, units), atol=1e-13
    )


def test_factors_and_matrices_mix(rng):
    X, y = draw(rng, 200)
    few, many = (
        ClassStatistics.from_data(X[rows], y[rows])
        for rows in np.split(np.arange(200), [40])
    )
    assert few.factors is not None
    assert many.factors is None
    whole = ClassStatistics.from_data(X, y)
    for merged in (few + many, many + few):
        assert merged.factors is None
        np.testing.assert_allclose(merged.scatters, whole.scatters, atol=1e-11)
    rest = whole - few
    np.testing.assert_allclose(rest.scatters, many.scatters, atol=1e-10)
    np.testing.assert_allclose(rest.means, many.means, atol=1e-12)
    for other in (few, many):
        with pytest.raises(ValueError, match=r"cannot be removed .* fewer rows"):
            few - other


def test_what_else_is_done_with_statistics(rng, tmp_path):
    X, y = draw(rng)
    stats = ClassStatistics.from_data(X, y)
    expected = stats.scatters
    kept = stats.copy()
    aged = stats.decayed(0.25)
    np.testing.assert_allclose(aged.scatters, expected / 4, atol=1e-14)
    np.testing.assert_allclose(aged.weights, stats.weights / 4)
    tripled = stats.scaled(3.0)
    again = ClassStatistics.from_data(X, y, np.full(len(y), 3.0))
    np.testing.assert_allclose(tripled.scatters, again.scatters, atol=1e-12)
    stats.save(tmp_path / "few.npz")
    for same in (
        pickle.loads(pickle.dumps(stats)),
        ClassStatistics.load(tmp_path / "few.npz"),
    ):
        assert same.factors is not None
        np.testing.assert_allclose(same.scatters, expected, atol=1e-12)
        np.testing.assert_array_equal(same.means, stats.means)
    few = stats.with_entries(np.array([2, 0]), np.array([0, 2]))
    np.testing.assert_array_equal(few.scatters, expected[[2, 0]])
    assert stats.update(X, y) is stats
    np.testing.assert_allclose(stats.scatters, 2 * expected, atol=1e-12)
    for left, right in zip(kept.factors, aged.factors, strict=True):
        np.testing.assert_allclose(left / 2, right, atol=1e-15)  # kept is a copy


def test_update_that_is_refused_changes_nothing(rng):
    X, y = draw(rng)
    stats = ClassStatistics.from_data(X, y)
    before = pickle.dumps(stats)
    chunks = {
        "features": X[:, :-1],
        "NaN": np.where(X > 2, np.nan, X),
        "over": X * 1e200,
    }
    for why, bad in chunks.items():
        with pytest.raises(ValueError, match=why):
            stats.update(bad, y)
        assert pickle.dumps(stats) == before


def test_matrices_that_do_not_fit_in_memory_are_refused(rng, monkeypatch):
    X, y = draw(rng)
    stats = ClassStatistics.from_data(X, y)
    monkeypatch.setattr("heterolda.statistics.moments._SMALL", 0)
    monkeypatch.setattr("heterolda.statistics.moments.available_memory", lambda: 4096)
    with pytest.raises(ValueError, match=r"130 features take 0\.0 GB"):
        stats.scatters  # noqa: B018
    with pytest.raises(ValueError, match="use fewer features"):
        ClassStatistics.from_data(np.tile(X, (5, 1)), np.tile(y, 5))
    many = moments.compact([rng.normal(size=(20, D))])
    assert len(many) == 1
