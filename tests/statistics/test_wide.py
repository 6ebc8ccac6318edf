"""Few rows and many features: factors of scatters, and coordinates in their span."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from heterolda import ClassStatistics
from heterolda.statistics.moments import compressed
from heterolda.statistics.wide import Span

D = 130
of = ClassStatistics.from_data


def in_units(scatters, units):
    return scatters / units / units[:, None]


def units_of(X):
    """Return root sums of squares of the features."""
    return np.maximum(np.linalg.norm(X - X.mean(axis=0), axis=0), 1e-300)


def draw(rng, n=40, n_classes=3):
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, D)) + 0.5 * rng.normal(size=(n_classes, D))[y], y


@pytest.mark.parametrize("kind", ["plain", "weights", "scales", "constant", "sparse"])
def test_factors_make_the_scatters(rng, kind):
    X, y = draw(rng)
    weight = np.ones(len(y))
    if kind == "weights":
        weight = rng.choice([0.0, 3.0, 0.25, 1.7], size=len(y))
        weight[:3] = 1.0
    elif kind == "scales":
        X = np.asfortranarray(X * 10.0 ** rng.uniform(-100, 100, D))
    elif kind == "constant":
        X[:, :7] = 0.1
    elif kind == "sparse":
        X[rng.random(X.shape) < 0.8] = 0.0
    before, units = X.copy(), units_of(X)
    stats = of(csr_array(X) if kind == "sparse" else X, y, weight)
    assert_array_equal(X, before)
    counts = np.bincount(y, weight > 0)
    assert [len(factor) for factor in stats.factors] == counts.tolist()
    for k in range(3):
        z = X[y == k] - np.average(X[y == k], axis=0, weights=weight[y == k])
        expected = in_units((z * weight[y == k, None]).T @ z, units)
        assert_allclose(in_units(stats.scatters[k], units), expected, atol=1e-13)
        assert_allclose(stats.squares[k], np.diag(stats.scatters[k]), rtol=1e-13)
    if kind == "constant":
        assert not stats.squares[:, :7].any()
        assert np.all(stats.means[:, :7] == 0.1)


@pytest.mark.parametrize("n", [3, 12, 400])
def test_compressed_factors_are_determined_by_the_scatter(rng, n):
    rank = min(n, 12)
    factor = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, D))
    factor *= 10.0 ** rng.uniform(-100, 100, D)
    factor[:, :5] = 0.0  # constant features first
    factor[:, 7] = factor[:, 6]
    units = np.maximum(np.linalg.norm(factor, axis=0), 1e-300)
    turn = np.linalg.qr(rng.normal(size=(n + 9, n)))[0]
    few, same = compressed(factor) / units, compressed(turn @ factor) / units
    assert few.shape == same.shape == (rank, D)
    assert_allclose(few, same, atol=1e-10)
    assert_array_equal(compressed(few * units), few * units)  # files stay the same
    assert_allclose(few.T @ few, (factor / units).T @ (factor / units), atol=1e-12)
    assert compressed(np.zeros((n, D))).shape == (0, D)


def test_any_order_and_any_chunks_add_up_to_the_same(rng):
    """Chunks of one row too, and across as many rows as features."""
    X, y = draw(rng, 150)
    X = X * 10.0 ** rng.uniform(-50, 50, D)
    weight, units = rng.choice([1.0, 2.0, 0.5], size=150), units_of(X)
    for m in (60, 150):
        whole = of(X[:m], y[:m], weight[:m])
        bounds = np.sort(rng.choice(np.arange(1, m), size=25, replace=False))
        chunks = [
            of(X[rows], y[rows], weight[rows])
            for rows in np.split(rng.permutation(m), bounds)
        ]
        for merged in (sum(chunks), sum(chunks[::-1])):
            assert (merged.factors is None) == (m == 150)
            assert_allclose(merged.weights, whole.weights, rtol=1e-14)
            assert_allclose((merged.means - whole.means) / units, 0.0, atol=1e-13)
            both = in_units(merged.scatters, units), in_units(whole.scatters, units)
            assert_allclose(*both, atol=1e-13)


def test_factors_and_matrices_mix(rng):
    X, y = draw(rng, 200)
    few, many, whole = of(X[:40], y[:40]), of(X[40:], y[40:]), of(X, y)
    for merged in (few + many, many + few):
        assert_allclose(merged.scatters, whole.scatters, atol=1e-11)
    left = whole - few
    assert_allclose(left.scatters, many.scatters, atol=1e-10)
    assert_allclose(left.means, many.means, atol=1e-12)
    with pytest.raises(ValueError, match=r"cannot be removed .* fewer rows"):
        few - few


def test_decay_copies_and_files(rng, tmp_path):
    X, y = draw(rng)
    stats = of(X, y)
    expected = stats.scatters
    assert_allclose(stats.decayed(0.25).scatters, expected / 4, atol=1e-14)
    stats.save(tmp_path / "few.npz")
    loaded = ClassStatistics.load(tmp_path / "few.npz")
    for same in (loaded, stats.copy().update(X, y)):
        factor = same.weights[0] / stats.weights[0]
        assert same.factors is not None
        assert_allclose(same.scatters, factor * expected, atol=1e-12)
        assert_allclose(same.means, stats.means, rtol=1e-13)
    few = stats.with_entries(np.array([2, 0]), np.array([0, 2]))
    assert_array_equal(few.scatters, expected[[2, 0]])


@pytest.mark.parametrize("shrinkage", ["auto", 0])
def test_rounding_is_no_direction(rng, shrinkage):
    """Rows that depend on each other, in any order, leave one direction outside."""
    X, y = draw(rng, 40, 2)
    X = X[rng.integers(6, size=40)] + np.where(y[:, None], X[7], 0.0)
    span = Span.of(of(X, y), shrinkage)
    stats, r = span.statistics, span.statistics.n_features
    if shrinkage == 0:  # without a target, noise is no variance
        assert r <= 7  # five within classes, one between them, one outside
        squares = stats.squares.sum(axis=0)
        assert np.all((squares == 0) | (squares > 1.0))
    assert stats.coordinates.n_outside == D - r
    assert_array_equal(stats.coordinates.target, np.ones(r))
    empty = ~stats.squares.any(axis=0) & ~stats.means.any(axis=0)
    assert np.count_nonzero(empty) == 1
    scores = (X - X.mean(axis=0)) @ span.basis[:, empty]
    assert_allclose(scores, 0.0, atol=1e-12)


def test_rules_go_to_coordinates_and_back(rng):
    X, y = draw(rng)
    X *= 10.0 ** rng.uniform(-30, 30, D)
    span = Span.of(of(X, y))
    rules = rng.normal(size=(4, span.basis.shape[1])), rng.normal(size=4)
    coef, intercept = span.rules(*rules)
    inside = span.rules_inside(coef, intercept)
    assert_allclose(inside[0], rules[0], atol=1e-9)
    assert_allclose(inside[1], rules[1], atol=1e-6)
    scores = span.coordinates(X) @ rules[0].T + rules[1]
    assert_allclose(X @ coef.T + intercept, scores, atol=1e-6)
