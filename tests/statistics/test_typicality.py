"""Test distances of left-out rows, and what they say of new ones."""

import numpy as np
import pytest
from scipy.stats import f

from heterolda import GaussianLinearDiscriminant
from heterolda.estimators.gathering import training_rows
from heterolda.estimators.gaussians import gaussians
from heterolda.estimators.in_use import distances_of
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.typicality import FarRows, far_rows, tail

NO_WARNINGS = pytest.mark.filterwarnings("ignore::UserWarning")


def problem(n, d, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * (1 + y[:, None]) + 5, y


def distances(X, y, weight=None, **parameters):
    """Return distances from the classes, and the rows of a fit in coordinates."""
    model = GaussianLinearDiscriminant(**parameters)
    stats, rows = training_rows(model, X, y, weight)
    found, rows = gaussians(model, stats, rows)
    return distances_of(found), rows


@pytest.mark.parametrize("weighted", [False, True])
def test_left_out_distances_are_those_of_refits(weighted):
    X, y = problem(60, 4)
    weight = np.where(np.arange(60) < 20, 3.0, 1.0) if weighted else np.ones(60)
    of, rows = distances(X, y, weight, shrinkage=None)
    order = np.argsort(y, kind="stable")
    found = of.left_out(X[order], y[order], weight[order])
    expected = []
    for j in order:
        others = (np.arange(60) != j) & (y == y[j])
        mean = np.average(X[others], axis=0, weights=weight[others])
        cov = np.cov(X[others].T, fweights=weight[others].astype(int))
        expected.append((X[j] - mean) @ np.linalg.solve(cov, X[j] - mean))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(
        of.squares(X)[np.arange(60), y],
        [
            (X[j] - of.statistics.means[k])
            @ np.linalg.solve(of.covariances[k], X[j] - of.statistics.means[k])
            for j, k in enumerate(y)
        ],
        rtol=1e-6,
    )
    for k, far in enumerate(far_rows(of, rows)):
        np.testing.assert_allclose(far.squares, np.sort(found[y[order] == k]))


@NO_WARNINGS
@pytest.mark.parametrize("shrinkage", [0.5, (0.5, 0.5), (1.0, 0.3)])
def test_left_out_distances_of_shrunk_classes_are_close_to_those_of_refits(shrinkage):
    X, y = problem(90, 5)
    of, _ = distances(X, y, shrinkage=shrinkage)
    order = np.argsort(y, kind="stable")
    found = of.left_out(X[order], y[order], np.ones(90))
    expected = []
    for j in order:
        rest = np.arange(90) != j
        stats = ClassStatistics.from_data(X[rest], y[rest])
        u = X[j] - stats.means[y[j]]
        expected.append(u @ np.linalg.solve(stats.covariances(shrinkage)[y[j]], u))
    np.testing.assert_allclose(found, expected, rtol=0.06)


@NO_WARNINGS
def test_rows_of_a_span_have_the_distances_of_all_features():
    X, y = problem(30, 110)
    of, _ = distances(X, y, shrinkage=(0.5, 0.5))
    assert of.span is not None
    covariances = ClassStatistics.from_data(X, y).covariances((0.5, 0.5))
    new = np.vstack([X[:3], problem(30, 110, 1)[0][:5]])
    for k in range(3):
        u = new - X[y == k].mean(axis=0)
        expected = np.einsum("nd,dn->n", u, np.linalg.solve(covariances[k], u.T))
        np.testing.assert_allclose(of.squares(new)[:, k], expected, rtol=1e-6)


def test_shares_count_the_rows_beyond_and_follow_the_tail():
    rng = np.random.default_rng(0)
    for n in (50, 5000):
        left_out = rng.chisquare(4, size=n)
        far, new = FarRows.of(left_out), np.append(left_out[:40], 2 * left_out.max())
        shares = far.shares(new, 100.0, 4)
        exact = (1 + (left_out >= new[:, None]).sum(axis=1)) / (n + 1)
        assert np.abs(shares - exact)[:-1].max() <= (0 if n == 50 else 0.011)
        assert 0 < shares[-1] < 1 / (n + 1)
        farthest = np.sort(left_out)[-100:]
        ranks = (1 + np.arange(len(farthest), 0, -1)) / (n + 1)
        np.testing.assert_allclose(far.shares(farthest, 100.0, 4), ranks)
    # Hotelling: D^2 (f - d + 1) / (f d) has an F distribution.
    squares = np.array([1.0, 10.0, 100.0])
    expected = f.sf(squares * 97 / (100 * 4), 4, 97)
    np.testing.assert_allclose(tail(squares, 100.0, 4), expected, rtol=1e-9)


@NO_WARNINGS
@pytest.mark.parametrize(
    "law", ["normal", "heavy", "skewed", "discrete", "constant", "few", "wide"]
)
def test_new_rows_are_unlike_with_the_promised_frequency(law):
    """At a fixed n, with the default seed, over many draws."""
    n, d = {"few": (40, 8), "wide": (30, 120)}.get(law, (150, 5))
    shares = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        mix = np.eye(d) + 0.5
        draw = {
            "heavy": lambda m, rng=rng: rng.standard_t(4, size=(m, d)),
            "skewed": lambda m, rng=rng: rng.exponential(size=(m, d)),
            "discrete": lambda m, rng=rng: rng.poisson(0.5, size=(m, d)),
        }.get(law, lambda m, rng=rng: rng.normal(size=(m, d)))
        y, new = np.arange(n) % 2, np.arange(100) % 2
        X, Z = draw(n) @ mix + y[:, None], draw(100) @ mix + new[:, None]
        if law == "constant":
            X[:, 0] = Z[:, 0] = 7.0
        model = GaussianLinearDiscriminant(choose_on="model").fit(X, y)
        typical = model.typicality(Z)
        assert ((typical > 0) & (typical <= 1)).all()
        shares.append([(typical < level).mean() for level in (0.05, 0.2)])
        Z[:, -1] += 1000
        assert model.typicality(Z).max() < 2 / (n / 2)
    mean = np.mean(shares, axis=0)
    assert mean[0] <= 0.055
    assert 0.05 <= mean[1] <= 0.205
