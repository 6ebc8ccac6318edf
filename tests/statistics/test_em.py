"""Class statistics of rows with gaps."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from heterolda import ClassStatistics
from heterolda.statistics import em
from heterolda.statistics.em import em_moments, filled
from heterolda.statistics.moments import factor_of
from heterolda.statistics.patterns import GapRows


def with_gaps(seed, n=60, d=3, share=0.3, n_classes=2):
    """Rows of correlated features with gaps at random, and their classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, d)) @ (np.eye(d) + rng.normal(size=(d, d)) / 2)
    X += y[:, None] * rng.normal(size=d)
    X[rng.random(X.shape) < share] = np.nan
    return X, y


def log_likelihood(X, mean, covariance):
    """Of what was observed, row by row."""
    total = 0.0
    for x in X:
        there = ~np.isnan(x)
        r, block = x[there] - mean[there], covariance[np.ix_(there, there)]
        total -= 0.5 * (np.linalg.slogdet(block)[1] + r @ np.linalg.solve(block, r))
        total -= 0.5 * there.sum() * np.log(2 * np.pi)
    return total


def slope(X, mean, covariance):
    """Derivatives of the log-likelihood by the mean and the covariance."""
    by_mean, by_cov = np.zeros(len(mean)), np.zeros(covariance.shape)
    for x in X:
        there = np.flatnonzero(~np.isnan(x))
        inverse = np.linalg.inv(covariance[np.ix_(there, there)])
        v = inverse @ (x - mean)[there]
        by_mean[there] += v
        by_cov[np.ix_(there, there)] += (np.outer(v, v) - inverse) / 2
    return by_mean, by_cov


def largest_likelihood(X):
    """Mean and covariance by direct maximisation over a triangular root."""
    d = X.shape[1]
    lower = np.tril_indices(d)

    def unpacked(p):
        root = np.zeros((d, d))
        root[lower] = p[d:]
        return p[:d], root

    def value_and_slope(p):
        mean, root = unpacked(p)
        by_mean, by_cov = slope(X, mean, root @ root.T)
        by_root = 2 * (by_cov @ root)[lower]
        value = log_likelihood(X, mean, root @ root.T)
        return -value, -np.concatenate([by_mean, by_root])

    start = np.concatenate([np.nanmean(X, 0), np.diag(np.nanstd(X, 0))[lower]])
    for _ in range(3):
        start = minimize(value_and_slope, start, jac=True, options={"gtol": 1e-9}).x
    mean, root = unpacked(start)
    return mean, root @ root.T


@pytest.mark.parametrize("seed", range(4))
def test_moments_are_those_of_largest_likelihood(seed):
    X, y = with_gaps(seed, n=80, d=2 + seed % 3, share=0.1 + 0.1 * seed)
    found = ClassStatistics.from_data(X, y, missing="em")
    np.testing.assert_array_equal(found.weights, [40, 40])
    for k in range(2):
        some = X[(y == k) & ~np.isnan(X).all(axis=1)]
        mean, covariance = largest_likelihood(some)
        sd = np.sqrt(np.diag(covariance))
        assert np.abs((found.means[k] - mean) / sd).max() < 1e-6
        difference = found.scatters[k] / 40 - covariance
        assert np.abs(difference / np.outer(sd, sd)).max() < 1e-6
        best = log_likelihood(some, mean, covariance)
        assert (
            log_likelihood(some, found.means[k], found.scatters[k] / 40) > best - 1e-8
        )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_the_likelihood_never_falls(seed, share):
    X, y = with_gaps(seed, n=90, d=5, share=share)
    rows = GapRows.from_arrays(X, y, None, 2)
    objectives = np.array(em_moments([rows]).objectives)
    assert len(objectives) > 1
    assert np.diff(objectives, axis=0).min() > -1e-9 * np.abs(objectives).max()


def test_the_objective_is_the_log_likelihood():
    X, _ = with_gaps(0, n=30)
    X = X[~np.isnan(X).all(axis=1)]
    rows = GapRows.from_arrays(X, np.zeros(len(X), int), None, 1)
    rng = np.random.default_rng(1)
    values = []
    for _ in range(2):
        mean, root = rng.normal(size=3), rng.normal(size=(3, 3)) + 2 * np.eye(3)
        now = em.Gaussians(mean[None], (root @ root.T)[None])
        none = em.Prior(np.zeros(1), np.zeros((1, 3, 3)), np.ones(1, bool))
        step = em.em_step([rows], np.array([float(len(X))]), now, none)
        values.append([step.objective[0], log_likelihood(X, mean, root @ root.T)])
    difference = np.diff(values, axis=1)  # a constant
    assert difference[0, 0] == pytest.approx(difference[1, 0], abs=1e-6)


def test_without_gaps_nothing_changes():
    X, y = with_gaps(0, share=0.0)
    plain = ClassStatistics.from_data(X, y)
    same = ClassStatistics.from_data(X, y, missing="em")
    np.testing.assert_array_equal(same.means, plain.means)
    np.testing.assert_array_equal(same.scatters, plain.scatters)
    assert (same + plain).estimated_by is None
    # One gap changes little, and is marked.
    X[0, 0] = np.nan
    near = ClassStatistics.from_data(X, y, missing="em")
    assert near.estimated_by == "EM"
    np.testing.assert_allclose(near.means, plain.means, atol=0.3)


def test_translation_scaling_order_and_weights():
    X, y = with_gaps(2, n=120, d=4)
    plain = ClassStatistics.from_data(X, y, missing="em")
    scale, shift = np.array([1e6, 1e-6, 1.0, 7.0]), np.array([1e9, 0.0, 1e6, -5.0])
    moved = ClassStatistics.from_data(X * scale + shift, y, missing="em")
    sd = np.sqrt(plain.squares / 60)
    assert np.abs(((moved.means - shift) / scale - plain.means) / sd).max() < 1e-6
    back = moved.scatters / np.outer(scale, scale)
    assert np.abs(back - plain.scatters).max() < 1e-6 * np.abs(plain.scatters).max()
    order = np.random.default_rng(0).permutation(len(X))
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    some = ClassStatistics.from_data(X[order], y[order], weight[order], missing="em")
    copies = np.repeat(np.arange(len(X)), weight)
    twice = ClassStatistics.from_data(X[copies], y[copies], missing="em")
    np.testing.assert_allclose(some.weights, twice.weights)
    np.testing.assert_allclose(some.means, twice.means, atol=1e-6)
    np.testing.assert_allclose(some.scatters, twice.scatters, atol=1e-4)
    # A row without any value is a row of its class, and tells nothing else.
    blank = np.vstack([X, np.full((2, 4), np.nan)])
    more = ClassStatistics.from_data(blank, np.append(y, [0, 0]), missing="em")
    np.testing.assert_array_equal(more.weights - plain.weights, [2, 0])
    np.testing.assert_allclose(more.means, plain.means, atol=1e-7)
    np.testing.assert_allclose(
        more.scatters[0] / 62, plain.scatters[0] / 60, rtol=1e-6, atol=1e-7
    )


def test_one_class_may_arrive_before_the_others():
    X, y = with_gaps(1)
    X[y == 0] = np.tile([[0.0, 1.0, 2.0], [1.0, 1.0, 0.0], [2.0, 4.0, 1.0]], (10, 1))
    found = ClassStatistics.from_data(X, y, missing="em")
    plain = ClassStatistics.from_data(X[y == 0], y[y == 0])
    np.testing.assert_allclose(found.means[0], plain.means[0])
    np.testing.assert_allclose(found.scatters[0], plain.scatters[0], atol=1e-7)
    here = em.Gaussians(np.zeros((1, 2)), np.eye(2)[None])
    nothing = np.zeros((1, 2)), np.zeros((1, 2, 2))
    same = em._leap(here, nothing, nothing, np.zeros(1))
    np.testing.assert_array_equal(same.covariances, here.covariances)


def test_weights_and_copies_are_no_more_rows():
    """Three whole rows do not determine a covariance, however much they weigh."""
    X, y = with_gaps(7, n=80, d=3, share=0.6)
    X[y == 1] = np.where(np.isnan(X[y == 1]).any(axis=1)[:, None], X[y == 1], np.nan)
    whole = np.flatnonzero(y == 1)[:3]
    X[whole] = np.random.default_rng(0).normal(size=(3, 3))
    weight = np.ones(80, int)
    weight[whole] = 30
    copies = np.repeat(np.arange(80), weight)
    some = ClassStatistics.from_data(X, y, weight, missing="em")
    same = ClassStatistics.from_data(X[copies], y[copies], missing="em")
    for found in (some, same):
        covariance = found.covariances()[1]
        sd = np.sqrt(np.diag(covariance))
        assert np.linalg.eigvalsh(covariance / np.outer(sd, sd))[0] > 1e-4
    np.testing.assert_allclose(some.scatters, same.scatters, rtol=1e-3, atol=1e-2)


def test_features_that_are_never_seen_together():
    X, y = with_gaps(3, n=400, d=3, share=0.0)
    X[::2, 0] = np.nan
    X[1::2, 1] = np.nan
    X[:, 2] = np.where(np.isnan(X[:, 0]), X[:, 1], X[:, 0]) / 2 + X[:, 2]
    y = np.arange(400) // 200
    found = ClassStatistics.from_data(X, y, missing="em")
    for covariance in found.covariances():
        sd = np.sqrt(np.diag(covariance))
        assert np.linalg.eigvalsh(covariance / np.outer(sd, sd))[0] > 0.01
    np.testing.assert_allclose(found.means[:, 2], [X[y == k, 2].mean() for k in (0, 1)])


def test_what_one_class_lacks_comes_from_the_others():
    X, y = with_gaps(4, n=300, d=3, share=0.1)
    X[y == 1, 0] = np.nan
    with pytest.warns(UserWarning, match=r"features \[0\] have no value in .* \[1\]"):
        found = ClassStatistics.from_data(X, y, missing="em")
    assert np.isfinite(found.means).all()
    assert found.means[1, 0] == pytest.approx(np.nanmean(X[:, 0]), abs=0.5)
    assert (found.squares > 0).all()
    X[y == 1] = np.nan  # nothing but its size is known of the class
    with pytest.warns(UserWarning, match=r"features \[0, 1, 2\] have no value"):
        found = ClassStatistics.from_data(X, y, missing="em")
    assert found.weights[1] == 150
    np.testing.assert_allclose(found.means[1], np.nanmean(X, axis=0), atol=0.1)
    X[:, 0] = np.nan
    with pytest.raises(ValueError, match="feature 0 are all missing: leave"):
        ClassStatistics.from_data(X, y, missing="em")


def test_features_that_depend_on_each_other_or_do_not_vary():
    X, y = with_gaps(5, n=300, d=3, share=0.0)
    X = np.column_stack([X, X[:, 0] - X[:, 1], np.full(300, 7.0), y])
    X[np.random.default_rng(0).random(X.shape) < 0.15] = np.nan
    found = ClassStatistics.from_data(X, y, missing="em")
    np.testing.assert_allclose(found.means[:, 4:], [[7.0, 0.0], [7.0, 1.0]], atol=1e-15)
    assert not found.scatters[:, 4:].any()
    # The dependence survives.
    along = np.array([1.0, -1.0, 0, -1.0, 0, 0])
    assert (along @ found.covariances() @ along).max() < 1e-4
    np.testing.assert_allclose(found.means @ along, 0, atol=1e-3)


def test_an_indicator_of_gaps_beside_them():
    # It does not vary where the value is there, so that nothing tells how the two go
    # together: the likelihood is flat, and steps once went on without end.
    rng, y = np.random.default_rng(0), np.arange(500) % 2
    X = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], size=500) + y[:, None]
    lost = X[:, 0] > 2.2
    X[lost, 1] = np.nan
    found = em_moments([GapRows.from_arrays(np.c_[X, lost], y, None, 2)])
    assert found.converged
    assert len(found.objectives) < 20


def test_they_do_not_add():
    X, y = with_gaps(0)
    found = ClassStatistics.from_data(X, y, missing="em")
    for call in (
        lambda: found + found,
        lambda: found - found,
        lambda: found.decayed(0.5),
        lambda: found.copy().update(X[:0], y[:0]),
    ):
        with pytest.raises(ValueError, match=r"estimated by EM.*fit again"):
            call()


def test_bad_input_is_refused(monkeypatch):
    X, y = with_gaps(0)
    with pytest.raises(ValueError, match=r"X contains NaN.*missing='em'"):
        ClassStatistics.from_data(X, y)
    with pytest.raises(ValueError, match=r"missing must be one of.*'drop'"):
        ClassStatistics.from_data(X, y, missing="drop")
    for bad in (np.inf, -np.inf):
        worse = X.copy()
        worse[3, 1] = bad
        with pytest.raises(ValueError, match="infinity"):
            ClassStatistics.from_data(worse, y, missing="em")
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        ClassStatistics.from_data(X, y, np.zeros(len(y)), missing="em")
    wide = np.where(np.arange(200) % 7 == 0, np.nan, np.ones((10, 200)))
    with pytest.raises(ValueError, match=r"missing values and fewer rows \(10\)"):
        ClassStatistics.from_data(wide, y[:10], missing="em")
    monkeypatch.setattr(em, "MAX_STEPS", 3)
    with pytest.warns(ConvergenceWarning, match="not converge in 3 steps"):
        ClassStatistics.from_data(X, y, missing="em")


def test_gaps_are_filled_by_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3))
    mean, covariance = X.mean(axis=0), np.cov(X.T)
    X[rng.random(X.shape) < 0.3] = np.nan
    X[0] = np.nan
    found = filled(X, mean, covariance)
    for x, complete in zip(X, found, strict=True):
        o = ~np.isnan(x)
        slopes = np.linalg.solve(covariance[np.ix_(o, o)], covariance[o])
        expected = mean + (x[o] - mean[o]) @ slopes
        np.testing.assert_allclose(complete, np.where(o, x, expected), rtol=1e-7)


class Anew:
    """Rows in parts that are made anew each time, as those of a file are read."""

    def __init__(self, parts):
        self.parts = parts

    def __iter__(self):
        return iter(list(self.parts))


def test_parts_of_rows_are_the_same_rows():
    X, y = with_gaps(0, n=120)
    expected = em_moments([GapRows.from_arrays(X, y, None, 2)])
    parts = [GapRows.from_arrays(X[i::3], y[i::3], None, 2) for i in range(3)]
    whole = ~np.isnan(X).any(axis=1)
    sums = ClassStatistics.from_data(X[whole], y[whole])
    factors = [factor_of(scatter) for scatter in sums.scatters]
    others = GapRows.from_arrays(X[~whole], y[~whole], None, 2)
    moments = GapRows.from_moments(sums.weights, sums.means, factors, 2)
    for passes in (
        Anew(parts),
        [GapRows.merged(parts)],
        [GapRows.merged([others, moments])],
        [GapRows.merged(parts).scaled(2.0)],
    ):
        found = em_moments(passes)
        factor = found.weights / expected.weights
        np.testing.assert_allclose(factor, factor[0])
        np.testing.assert_allclose(found.means, expected.means, atol=1e-5)
        scatters = found.scatters / factor[:, None, None]
        np.testing.assert_allclose(scatters, expected.scatters, atol=1e-3)
