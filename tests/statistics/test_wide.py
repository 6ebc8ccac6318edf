"""Few rows and many features: factors of scatters, and coordinates in their span."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from heterolda import ClassStatistics
from heterolda.exceptions import ParameterError
from heterolda.solvers import Fisher, Moments, all_pairs, solve
from heterolda.statistics import moments
from heterolda.statistics.moments import compressed
from heterolda.statistics.wide import Span

D = 130
of = ClassStatistics.from_data


def naive_scatters(X, y, weight=None):
    """Scatters about the means, in extended precision."""
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
    stats = of(X, y, weight)
    units = units_of(X)
    expected = in_units(naive_scatters(X, y, weight), units)
    assert np.array_equal(X, before)
    counts = np.bincount(y, None if weight is None else weight > 0)
    assert [len(factor) + 1 for factor in stats.factors] == counts.tolist()
    made = in_units(np.array([f.T @ f for f in stats.factors]), units)
    assert_allclose(made, expected, atol=tolerance)
    assert_allclose(in_units(stats.scatters, units), made, atol=1e-14)
    assert_allclose(stats.squares, np.einsum("kjj->kj", stats.scatters), rtol=1e-13)
    if kind == "constant":
        assert not stats.squares[:, :7].any()
        assert np.all(stats.means[:, :7] == 0.1)


def test_sparse_rows_and_classes_without_rows(rng):
    X, y = draw(rng)
    X[rng.random(X.shape) < 0.8] = 0.0
    sparse, filled = of(csr_array(X), y), of(X, y)
    for one, other in zip(sparse.factors, filled.factors, strict=True):
        assert_allclose(one, other, atol=1e-13)
    weight = np.where(y == 1, 0.0, 1.0)
    empty = of(X, y, weight)
    assert empty.factors[1].shape == (0, D)
    assert not empty.squares[1].any()
    both = empty + of(X, y, 1.0 - weight)
    assert_allclose(both.scatters, filled.scatters, atol=1e-13)


def test_squares_out_of_range_are_refused(rng):
    X, y = draw(rng)
    for factor in (1e160, 1e300, 1e-170):
        with pytest.raises(ParameterError, match=r"feature 3 .*flow float64"):
            of(X * np.where(np.arange(D) == 3, factor, 1.0), y)


def test_compressed_factors_are_determined_by_the_scatter(rng):
    factor = rng.normal(size=(12, D)) * 10.0 ** rng.uniform(-100, 100, D)
    factor[:, :5] = 0.0  # constant features first
    factor[:, 7] = factor[:, 6]
    units = np.maximum(np.linalg.norm(factor, axis=0), 1e-300)
    turn = np.linalg.qr(rng.normal(size=(30, 12)))[0]
    few, same = compressed(factor) / units, compressed(turn @ factor) / units
    assert few.shape == same.shape == (12, D)
    assert_allclose(few, same, atol=1e-11)
    once = compressed(factor)
    assert_array_equal(compressed(once), once)  # so files stay the same
    expected = (factor / units).T @ (factor / units)
    assert_allclose(few.T @ few, expected, atol=1e-13)
    assert_allclose(same.T @ same, expected, atol=1e-13)


@pytest.mark.parametrize("n", [3, 400])
def test_compressed_factors_have_no_more_rows_than_the_rank(rng, n):
    factor = rng.normal(size=(n, 3)) @ rng.normal(size=(3, D))
    factor[:, 1] = factor[:, 0]
    few, units = compressed(factor), np.linalg.norm(factor, axis=0)
    assert few.shape == (3, D)
    made, expected = (in_units(one.T @ one, units) for one in (few, factor))
    assert_allclose(made, expected, atol=1e-13)
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
        whole = of(X[:m], y[:m], weight[:m])
        bounds = np.sort(rng.choice(np.arange(1, m), size=25, replace=False))
        chunks = [
            of(X[rows], y[rows], weight[rows])
            for rows in np.split(rng.permutation(m), bounds)
        ]
        left, right = sum(chunks), chunks[-1]
        for chunk in chunks[-2::-1]:
            right = chunk + right
        for merged in (whole, left, right):
            assert (merged.factors is None) == (m == n)
            assert_allclose(merged.weights, whole.weights, rtol=1e-14)
            assert_allclose((merged.means - whole.means) / units, 0.0, atol=1e-13)
            both = in_units(merged.scatters, units), in_units(whole.scatters, units)
            assert_allclose(*both, atol=1e-13)


def test_factors_and_matrices_mix(rng):
    X, y = draw(rng, 200)
    few, many, whole = of(X[:40], y[:40]), of(X[40:], y[40:]), of(X, y)
    assert few.factors is not None
    assert many.factors is None
    for merged in (few + many, many + few):
        assert merged.factors is None
        assert_allclose(merged.scatters, whole.scatters, atol=1e-11)
    rest = whole - few
    assert_allclose(rest.scatters, many.scatters, atol=1e-10)
    assert_allclose(rest.means, many.means, atol=1e-12)
    for other in (few, many):
        with pytest.raises(ValueError, match=r"cannot be removed .* fewer rows"):
            few - other


def test_what_else_is_done_with_statistics(rng, tmp_path):
    X, y = draw(rng)
    stats = of(X, y)
    kept, expected, aged = stats.copy(), stats.scatters, stats.decayed(0.25)
    assert_allclose(aged.scatters, expected / 4, atol=1e-14)
    assert_allclose(aged.weights, stats.weights / 4)
    tripled, again = stats.scaled(3.0), of(X, y, np.full(len(y), 3.0))
    assert_allclose(tripled.scatters, again.scatters, atol=1e-12)
    stats.save(tmp_path / "few.npz")
    for same in (
        pickle.loads(pickle.dumps(stats)),
        ClassStatistics.load(tmp_path / "few.npz"),
    ):
        assert same.factors is not None
        assert_allclose(same.scatters, expected, atol=1e-12)
        assert_array_equal(same.means, stats.means)
    few = stats.with_entries(np.array([2, 0]), np.array([0, 2]))
    assert_array_equal(few.scatters, expected[[2, 0]])
    assert stats.update(X, y) is stats
    assert_allclose(stats.scatters, 2 * expected, atol=1e-12)
    for left, right in zip(kept.factors, aged.factors, strict=True):
        assert_allclose(left / 2, right, atol=1e-15)  # kept is a copy
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
    stats = of(X, y)
    monkeypatch.setattr(moments, "_SMALL", 0)
    monkeypatch.setattr(moments, "available_memory", lambda: 4096)
    with pytest.raises(ValueError, match=r"130 features take 0\.0 GB"):
        stats.scatters  # noqa: B018
    with pytest.raises(ValueError, match="use fewer features"):
        of(np.tile(X, (5, 1)), np.tile(y, 5))


# Coordinates in the span of the rows


@pytest.mark.parametrize("kind", ["plain", "dependent", "constant", "weights"])
def test_covariances_are_those_of_the_features(rng, monkeypatch, kind):
    """In the coordinates, and outside, where one number a class is all there is."""
    X, y = draw(rng, 30)
    weight = None
    if kind == "dependent":
        X = rng.normal(size=(30, 5)) @ X[:5]
        X[1::2] = X[::2]
    elif kind == "constant":
        X[:, :9] = 0.1
        X[:, 9:14] = np.array([0.0, 1.0, 1.0])[y][:, None] * rng.normal(size=5)
    elif kind == "weights":
        weight = rng.choice([1.0, 5.0, 9.0], size=len(y))
    X *= 10.0 ** rng.uniform(-30, 30, D)
    wide = of(X, y, weight)
    monkeypatch.setattr(moments, "NARROW", D)
    full = of(X, y, weight)
    assert full.factors is None
    for shrinkage in (None, "auto", 0.3, 1.0, (0.5, 0.2), (0.4, 0), 0):
        check_span(rng, wide, full, shrinkage)


def check_span(rng, wide, full, shrinkage):
    span = Span.of(wide, shrinkage)
    assert span.statistics.rank == full.rank
    cov = span.statistics.covariances(shrinkage)
    expected = in_units(full.covariances(shrinkage), span.units)
    basis = span.basis * span.units[:, None]
    inside = basis.T @ expected @ basis
    assert_allclose(cov, inside, atol=1e-12 * np.abs(inside).max())
    away = np.where(wide.squares.any(axis=0), rng.normal(size=D), 0.0)
    for _ in range(2):
        away -= basis @ (basis.T @ away)
    empty = ~span.statistics.squares.any(axis=0) & ~span.statistics.means.any(axis=0)
    (outside,) = np.flatnonzero(empty)
    assert outside == np.flatnonzero(span.statistics.coordinates.target)[-1]
    for class_cov, matrix in zip(cov, expected, strict=True):
        alone = class_cov[outside, outside] * away
        assert_allclose(matrix @ away, alone, atol=1e-11)
    # So are the differences of means.
    assert_allclose(span.coordinates(wide.means) - span.statistics.means, 0, atol=1e-11)


def test_coordinates_of_rows_and_rules_of_features(rng):
    X, y = draw(rng, 30)
    X[:, 3:6] = np.array([0.0, 2.0, -1.0])[y][:, None] * [1.0, 3.0, -2.0]
    X = X * 10.0 ** rng.uniform(-3, 3, D) + rng.normal(size=D)
    span = Span.of(of(X, y))
    known, inside = span.statistics, of(span.coordinates(X), y)
    assert_allclose(inside.means, known.means, atol=1e-11)
    assert_allclose(inside.scatters, known.scatters, atol=1e-9)
    given = known.means, known.covariances(), np.ones(3) / 3, known.weights
    planes = solve(Moments(*given, all_pairs(3)), Fisher())
    rules = span.in_features(planes)
    expected = span.coordinates(X) @ planes.coef.T + planes.intercept
    assert_allclose(X @ rules.coef.T + rules.intercept, expected, atol=1e-7)


@pytest.mark.parametrize("shrinkage", [None, 0])
def test_rounding_is_no_direction(rng, shrinkage):
    """Rows that depend on each other, in any order, leave one direction outside."""
    X, y = draw(rng, 40, 2)
    X = X[rng.integers(6, size=40)] + np.where(y[:, None], X[7], 0.0)
    span = Span.of(of(X, y), shrinkage)
    known, r = span.statistics, span.statistics.n_features
    if shrinkage == 0:  # without a target, noise is no variance
        assert r <= 7  # five within classes, one between them, one outside
        squares = known.squares.sum(axis=0)
        assert np.all((squares == 0) | (squares > 1.0))
    assert known.coordinates.n_outside == D - r
    assert_array_equal(known.coordinates.target, np.ones(r))
    empty = ~known.squares.any(axis=0) & ~known.means.any(axis=0)
    assert np.count_nonzero(empty) == 1
    scores = (X - X.mean(axis=0)) @ span.basis[:, empty]
    assert_allclose(scores, 0.0, atol=1e-12)


@pytest.mark.parametrize("n_ways", [2, 100])
def test_constant_features_that_tell_classes_apart_in_the_same_way(rng, n_ways):
    """They share a coordinate, in units of their distance; many span their shifts."""
    X, y = draw(rng, 12, 3)
    ways = rng.normal(size=(3, n_ways))[:, np.arange(100) % n_ways]
    X[:, :100] = ways[y] * rng.uniform(1, 9, 100) * rng.choice([-1, 1], 100) + 5.0
    X[:, 100] = 7.1  # the mean of three means is another number
    span = Span.of(of(X, y))
    known = span.statistics
    alone = known.coordinates.target == 0
    assert np.count_nonzero(alone) == 2
    assert not known.squares[:, alone].any()
    assert not span.basis[100].any()
    found = span.coordinates(X)[:, alone]
    assert_allclose(found, known.means[y][:, alone], atol=1e-12)
    again = Span.of(of(X * np.linspace(0.1, 9, D), y)).statistics
    assert_allclose(np.abs(again.means[:, alone]), np.abs(known.means[:, alone]))
