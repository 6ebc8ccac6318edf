"""Class statistics of rows with missing values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from heterolda import ClassStatistics
from heterolda.statistics import missing
from heterolda.statistics.completion import filled_rows
from heterolda.statistics.incomplete_rows import IncompleteRows
from heterolda.statistics.missing import Likelihood, em_moments, margins_of


def incomplete(seed, n=60, d=3, share=0.3, n_classes=2):
    """Rows of correlated features with values missing at random, and their classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, d)) @ (np.eye(d) + rng.normal(size=(d, d)) / 2)
    X += y[:, None] * rng.normal(size=d)
    X[rng.random(X.shape) < share] = np.nan
    return X, y


def em(X, y, weight=None):
    return ClassStatistics.from_data(X, y, weight, missing="em")


def slope(X, mean, covariance):
    """Derivatives of the log-likelihood by the mean and the covariance."""
    by_mean, by_cov = np.zeros(len(mean)), np.zeros(covariance.shape)
    for x in X:
        o = np.flatnonzero(~np.isnan(x))
        inverse = np.linalg.inv(covariance[np.ix_(o, o)])
        v = inverse @ (x - mean)[o]
        by_mean[o] += v
        by_cov[np.ix_(o, o)] += (np.outer(v, v) - inverse) / 2
    return by_mean, by_cov


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_the_likelihood_is_at_its_maximum(share):
    """Its derivatives are zero, on the scale of those of a wrong mean."""
    X, y = incomplete(1, n=80, share=share)
    stats = em(X, y)
    assert_array_equal(stats.weights, [40, 40])
    for k in range(2):
        rows = X[(y == k) & ~np.isnan(X).all(axis=1)]
        for part in slope(rows, stats.means[k], stats.scatters[k] / 40):
            assert np.abs(part).max() < 1e-4


def test_complete_rows_are_treated_as_ever():
    X, y = incomplete(0, share=0.0)
    plain, same = ClassStatistics.from_data(X, y), em(X, y)
    assert_array_equal(same.means, plain.means)
    assert_array_equal(same.scatters, plain.scatters)
    assert (same + plain).estimated_by is None
    X[0, 0] = np.nan
    near = em(X, y)
    assert near.estimated_by == "EM"
    assert_allclose(near.means, plain.means, atol=0.3)
    for call in (
        lambda: near + near,
        lambda: near - near,
        lambda: near.decayed(0.5),
        lambda: near.copy().update(X[:0], y[:0]),
    ):
        with pytest.raises(ValueError, match=r"estimated by EM.*fit again"):
            call()


def test_what_one_class_lacks_comes_from_the_others():
    X, y = incomplete(4, n=300, d=3, share=0.1)
    X[y == 1, 0] = np.nan
    with pytest.warns(UserWarning, match=r"features \[0\] have no value in .* \[1\]"):
        stats = em(X, y)
    assert np.isfinite(stats.means).all()
    assert stats.means[1, 0] == pytest.approx(np.nanmean(X[:, 0]), abs=0.5)
    assert (stats.squares > 0).all()
    X[y == 1] = np.nan  # nothing but its size is known of the class
    with pytest.warns(UserWarning, match=r"features \[0, 1, 2\] have no value"):
        stats = em(X, y)
    assert stats.weights[1] == 150
    assert_allclose(stats.means[1], np.nanmean(X, axis=0), atol=0.1)
    X[:, 0] = np.nan
    with pytest.raises(ValueError, match="feature 0 are all missing: leave"):
        em(X, y)


def test_features_that_depend_on_each_other_or_do_not_vary():
    X, y = incomplete(5, n=300, d=3, share=0.0)
    X = np.column_stack([X, X[:, 0] - X[:, 1], np.full(300, 1e6 + 0.1), y])
    X[np.random.default_rng(0).random(X.shape) < 0.15] = np.nan
    stats = em(X, y)
    assert_allclose(
        stats.means[:, 4:], [[1e6 + 0.1, 0.0], [1e6 + 0.1, 1.0]], rtol=1e-15
    )
    assert not stats.scatters[:, 4:].any()
    # The dependence survives.
    along = np.array([1.0, -1.0, 0, -1.0, 0, 0])
    assert (along @ stats.covariances() @ along).max() < 1e-4
    assert_allclose(stats.means @ along, 0, atol=1e-3)
    # In each class one feature has one value, far from the values of the others.
    X, y = incomplete(1, n=600, d=4, n_classes=3)
    X[y == 0, 0], X[y == 1, 1], X[y == 2, 2] = 0.0, 0.1, -1e5 / 3
    weight = 0.1 + np.arange(len(y)) % 7
    for stats in em(X, y), em(X, y, weight):
        same = np.einsum("kii->ki", stats.scatters)[:, :3] == 0
        assert_array_equal(same, np.eye(3, dtype=bool))
        assert stats.means[0, 0] == 0
        assert_allclose(np.diag(stats.means), [0.0, 0.1, -1e5 / 3], rtol=1e-14)


def test_bad_input_is_rejected(monkeypatch):
    X, y = incomplete(0)
    with pytest.raises(ValueError, match=r"X contains NaN.*missing='em'"):
        ClassStatistics.from_data(X, y)
    with pytest.raises(ValueError, match=r"missing must be one of.*'drop'"):
        ClassStatistics.from_data(X, y, missing="drop")
    for bad, message in ((np.inf, "infinity"), (1e200, "feature 1 are so large")):
        worse = X.copy()
        worse[3, 1] = bad
        with pytest.raises(ValueError, match=message):
            em(worse, y)
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        em(X, y, np.zeros(len(y)))
    wide = np.where(np.arange(200) % 7 == 0, np.nan, np.ones((10, 200)))
    with pytest.raises(ValueError, match=r"missing values and fewer rows \(10\)"):
        em(wide, y[:10])
    monkeypatch.setattr(missing, "MAX_STEPS", 3)
    with pytest.warns(ConvergenceWarning, match="not converge in 3 steps"):
        em(X, y)


def test_missing_values_are_filled_in_by_their_expectations(rng):
    X = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3))
    stats = ClassStatistics.from_data(X, np.arange(50) % 5 > 0)
    X[rng.random(X.shape) < 0.3] = np.nan
    X[0] = np.nan
    shares = stats.weights / 50
    for x, complete in zip(X, filled_rows(X, stats), strict=True):
        o = ~np.isnan(x)
        chances, values = shares.copy(), []
        for k, S in enumerate(stats.covariances()):
            slopes = np.linalg.solve(S[np.ix_(o, o)], S[o])
            values.append(stats.means[k] + (x - stats.means[k])[o] @ slopes)
            if o.any():
                density = multivariate_normal(stats.means[k, o], S[np.ix_(o, o)])
                chances[k] *= density.pdf(x[o])
        expected = chances @ values / chances.sum()
        assert_allclose(complete, np.where(o, x, expected), rtol=1e-4, atol=1e-5)


class Anew:
    """Rows in parts that are made again each time, as those of a file are read."""

    def __init__(self, parts):
        self.parts = parts

    def __iter__(self):
        return iter(list(self.parts))


def test_parts_factors_and_moments_stand_for_the_same_rows(monkeypatch):
    monkeypatch.setattr(missing, "_DISTANCE", 1e-11)
    X, y = incomplete(0, n=300)
    X = X + 1e4
    X[y == 1, 2] = np.where(np.isnan(X[y == 1, 2]), np.nan, 7.0)
    weight = np.random.default_rng(0).integers(1, 4, 300).astype(float)
    rows = IncompleteRows.from_arrays(X, y, weight, 2)
    few = rows.compacted()
    assert len(few.Z) < 64 < len(rows.Z)
    parts = [
        IncompleteRows.from_arrays(X[i::3], y[i::3], weight[i::3], 2).compacted()
        for i in range(3)
    ]
    merged = IncompleteRows.merged(
        [IncompleteRows.merged(parts[:2]).compacted(), parts[2]]
    )
    whole = ~np.isnan(X).any(axis=1)
    sums = ClassStatistics.from_data(X[whole], y[whole], weight[whole])
    moments = IncompleteRows.from_statistics(sums, 2)
    others = IncompleteRows.from_arrays(X[~whole], y[~whole], weight[~whole], 2)
    expected = em_moments(Anew([rows]), np.arange(2))
    for passes in (
        [few],
        Anew(parts),
        Anew([merged.compacted()]),
        Anew([moments, others]),
        [IncompleteRows.merged([others, moments])],
        [rows.scaled(2.0)],
    ):
        weights, means, scatters = em_moments(passes, np.arange(2))
        factor = weights / expected[0]
        assert_allclose(factor, factor[0])
        assert_allclose(means, expected[1], rtol=1e-10)
        assert_allclose(scatters / factor[0], expected[2], atol=1e-5)
        assert means[1, 2] == pytest.approx(7.0, rel=1e-15)


def likelihood_of(X, y, k, n_added=0.0, **more):
    passes = [IncompleteRows.from_arrays(X, y, None, k)]
    d = X.shape[1]
    seen = margins_of(passes).seen
    added = np.full(k, n_added), n_added * np.tile(np.eye(d), (k, 1, 1))
    return Likelihood(passes, seen, np.zeros(d), np.ones(d), *added, **more)


@pytest.mark.parametrize("share", [0.1, 0.5])
@pytest.mark.parametrize("shared", [False, True])
def test_the_likelihood_never_falls(share, shared):
    X, y = incomplete(0, n=90, d=5, share=share)
    start = np.tile(np.vstack([np.zeros(5), np.eye(5)]), (2, 1, 1))
    likelihood = likelihood_of(X, y, 2, n_added=5.0, shared=shared)
    _, _, values, _ = likelihood.climb(start)
    assert len(values) >= 4
    assert np.diff(values, axis=0).min() > -1e-9 * np.abs(values).max()
