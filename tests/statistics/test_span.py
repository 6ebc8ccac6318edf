"""Coordinates in the space that few rows span, against matrices of all features."""

import numpy as np
import pytest

from heterolda import ClassStatistics
from heterolda.solvers import Fisher, Moments, all_pairs, solve
from heterolda.statistics import factors
from heterolda.statistics.span import Span

D = 120


def draw(rng, n=30, n_classes=3):
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, D)) + 0.5 * rng.normal(size=(n_classes, D))[y], y


def both(monkeypatch, X, y, weight=None):
    """Statistics with factors, and with matrices."""
    wide = ClassStatistics.from_data(X, y, weight)
    with monkeypatch.context() as patch:
        patch.setattr(factors, "NARROW", len(X.T))
        full = ClassStatistics.from_data(X, y, weight)
    assert wide.factors is not None
    assert full.factors is None
    return wide, full


@pytest.mark.parametrize("shrinkage", [None, "auto", 0.3, 1.0, (0.5, 0.2), (0.4, 0), 0])
@pytest.mark.parametrize("kind", ["plain", "dependent", "constant", "weights"])
def test_covariances_are_those_of_the_features(rng, monkeypatch, kind, shrinkage):
    """In the coordinates, and outside, where one number a class is all there is."""
    X, y = draw(rng)
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
    wide, full = both(monkeypatch, X, y, weight)
    span = Span.of(wide, shrinkage)
    assert span.statistics.rank == full.rank
    cov = span.statistics.covariances(shrinkage)
    expected = full.covariances(shrinkage) / span.units / span.units[:, None]
    basis = span.basis * span.units[:, None]
    inside = basis.T @ expected @ basis
    np.testing.assert_allclose(cov, inside, atol=1e-12 * np.abs(inside).max())
    away = np.where(wide.squares.any(axis=0), rng.normal(size=D), 0.0)
    for _ in range(2):
        away -= basis @ (basis.T @ away)
    empty = ~span.statistics.squares.any(axis=0) & ~span.statistics.means.any(axis=0)
    (outside,) = np.flatnonzero(empty)
    assert outside == np.flatnonzero(span.statistics.coordinates.target)[-1]
    for class_cov, matrix in zip(cov, expected, strict=True):
        alone = class_cov[outside, outside] * away
        np.testing.assert_allclose(matrix @ away, alone, atol=1e-11)
    # So are the differences of means.
    shifts = span.coordinates(wide.means) - span.statistics.means
    np.testing.assert_allclose(shifts, 0.0, atol=1e-11)


def test_coordinates_of_rows_and_rules_of_features(rng):
    X, y = draw(rng)
    X[:, 3:6] = np.array([0.0, 2.0, -1.0])[y][:, None] * [1.0, 3.0, -2.0]
    X = X * 10.0 ** rng.uniform(-3, 3, D) + rng.normal(size=D)
    wide = ClassStatistics.from_data(X, y)
    span = Span.of(wide)
    known = span.statistics
    inside = ClassStatistics.from_data(span.coordinates(X), y)
    np.testing.assert_allclose(inside.means, known.means, atol=1e-11)
    np.testing.assert_allclose(inside.scatters, known.scatters, atol=1e-9)
    moments = known.means, known.covariances(), np.ones(3) / 3, known.weights
    planes = solve(Moments(*moments, all_pairs(3)), Fisher())
    rules = span.in_features(planes)
    expected = span.coordinates(X) @ planes.coef.T + planes.intercept
    np.testing.assert_allclose(X @ rules.coef.T + rules.intercept, expected, atol=1e-7)


@pytest.mark.parametrize("shrinkage", [None, 0])
def test_rounding_is_no_direction(rng, shrinkage):
    """Rows that depend on each other, in any order, leave one direction outside."""
    X, y = draw(rng, 40, 2)
    X = X[rng.integers(6, size=40)] + np.where(y[:, None], X[7], 0.0)
    span = Span.of(ClassStatistics.from_data(X, y), shrinkage)
    known, r = span.statistics, span.statistics.n_features
    if shrinkage == 0:  # without a target, noise is no variance
        assert r <= 7  # five within classes, one between them, one outside
        squares = known.squares.sum(axis=0)
        assert np.all((squares == 0) | (squares > 1.0))
    assert known.coordinates.n_outside == D - r
    np.testing.assert_array_equal(known.coordinates.target, np.ones(r))
    empty = ~known.squares.any(axis=0) & ~known.means.any(axis=0)
    assert np.count_nonzero(empty) == 1
    scores = (X - X.mean(axis=0)) @ span.basis[:, empty]
    np.testing.assert_allclose(scores, 0.0, atol=1e-12)


@pytest.mark.parametrize("n_ways", [2, 100])
def test_constant_features_that_tell_classes_apart_in_the_same_way(rng, n_ways):
    """They share a coordinate, in units of their distance; many span their shifts."""
    X, y = draw(rng, 12, 3)
    ways = rng.normal(size=(3, n_ways))
    X[:, :100] = ways[:, np.arange(100) % n_ways][y] * rng.uniform(-9, 9, 100) + 5.0
    X[:, 100] = 7.1  # the mean of three means is another number
    span = Span.of(ClassStatistics.from_data(X, y))
    known = span.statistics
    alone = known.coordinates.target == 0
    assert np.count_nonzero(alone) == 2
    assert not known.squares[:, alone].any()
    assert not span.basis[100].any()
    np.testing.assert_allclose(
        span.coordinates(X)[:, alone], known.means[y][:, alone], atol=1e-12
    )
    again = Span.of(ClassStatistics.from_data(X * np.linspace(0.1, 9, D), y))
    np.testing.assert_allclose(
        np.abs(again.statistics.means[:, alone]), np.abs(known.means[:, alone])
    )
