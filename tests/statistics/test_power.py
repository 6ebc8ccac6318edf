"""The power transformation of features."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.optimize import minimize_scalar
from sklearn.preprocessing import StandardScaler

from heterolda.foundations.draws import sample_of
from heterolda.statistics import power
from heterolda.statistics.power import PowerTransformation

TWO_DIGITS = 0.0081  # half of the last digit, and half of the last interval


@pytest.fixture
def classes(rng):
    """Features of different skewness and units, and the classes that move them."""
    d = 24
    X = rng.gamma(np.geomspace(0.5, 400, d), size=(300, d))
    X *= rng.choice([-1, 1], d) * 10 ** rng.uniform(-3, 3, d)
    codes = rng.integers(0, 3, len(X))
    center, size = rng.normal(size=(3, d)), rng.uniform(0.5, 2, (3, d))
    return X * size[codes] + X.std(axis=0) * center[codes], codes


def likelihood(power, z, codes):
    """Return twice the log-likelihood of Gaussian classes of the transformed z."""
    t = stats.yeojohnson(z, power)
    stretch = (power - 1) * np.sum(np.sign(z) * np.log1p(np.abs(z)))
    parts = [t[codes == k] for k in np.unique(codes)]
    return 2 * stretch - sum(len(part) * np.log(part.var()) for part in parts)


def test_the_power_is_that_of_the_largest_likelihood_of_classes(classes):
    X, codes = classes
    Z = StandardScaler().fit_transform(X)
    model = PowerTransformation.fit(X, codes)
    gains = []
    for z, chosen in zip(Z.T, model.lambdas, strict=True):
        best = minimize_scalar(
            lambda x, z=z: -likelihood(x, z, codes), bounds=(-2, 4), method="bounded"
        )
        gains.append(-best.fun - likelihood(1, z, codes))
        if chosen != 1:
            assert_allclose(chosen, best.x, atol=TWO_DIGITS)
        # The Bayesian information criterion, but for what the digits cost.
        above = gains[-1] - np.log(len(z))
        assert (chosen != 1) == (above > 0) or abs(above) < 0.1
    assert max(gains) > 2 * np.log(len(X))
    expected = [stats.yeojohnson(z, p) for z, p in zip(Z.T, model.lambdas, strict=True)]
    assert_allclose(model.apply(X), np.transpose(expected), atol=1e-10)


def test_weights_are_copies_and_order_does_not_matter(rng, classes, monkeypatch):
    X, codes = classes
    counts = rng.integers(1, 4, size=len(X))
    rows = rng.permutation(np.repeat(np.arange(len(X)), counts))
    model = PowerTransformation.fit(X, codes, counts.astype(float))
    other = PowerTransformation.fit(X[rows], codes[rows])
    assert np.any(model.lambdas != 1)
    assert_array_equal(model.lambdas, other.lambdas)
    assert_allclose(model.center, other.center, rtol=1e-12)
    assert_allclose(model.scale, other.scale, rtol=1e-12)
    # Of many rows, some of each class decide: others may trade places.
    monkeypatch.setattr(power, "_MAX_ROWS", 30)
    drawn = 30 * len(np.unique(codes)) * np.bincount(codes) // len(X) + 1
    model = PowerTransformation.fit(X, codes)
    others = np.ones(len(X), bool)
    others[sample_of(codes, drawn)] = False
    assert others.sum() > 190
    X[others] = rng.permuted(X[others], axis=0)
    other = PowerTransformation.fit(X, codes)
    assert_allclose(model.lambdas, other.lambdas, atol=TWO_DIGITS)


def test_any_finite_number_stays_finite_and_in_order(rng):
    n, largest = 60, np.finfo(float).max
    noise = rng.normal(size=n)
    features = [
        noise,
        np.exp(5 * noise),
        np.where(np.arange(n) == 7, 1e300, noise),
        np.sign(noise) * largest,
        1e16 + 2 * rng.integers(5, size=n),
        5e-324 * rng.integers(3, size=n),
        np.round(np.exp(noise)),
        np.full(n, 1e9),
        rng.random(n) < 0.1,
    ]
    X = np.column_stack(features)
    model = PowerTransformation.fit(X, np.arange(len(X)) % 2)
    assert np.all((model.lambdas >= -2) & (model.lambdas <= 4) & (model.scale > 0))
    assert_array_equal(model.lambdas[-2:], 1)  # features of one or two values
    assert_allclose(model.apply(X)[:, -1], stats.zscore(X[:, -1]), rtol=1e-13)
    far = np.array([largest, 1e200, 1e7, 100, 1, 1e-5, 5e-324])
    every = np.concatenate([-far, [0], far[::-1]])[:, None] + np.zeros(X.shape[1])
    with np.errstate(over="ignore"):
        near = model.center + model.scale * np.linspace(-9, 9, 999)[:, None]
    rows = np.sort(np.concatenate([every, X, np.clip(near, -largest, largest)]), axis=0)
    values = model.apply(rows)
    assert np.isfinite(values).all()
    assert (np.diff(values, axis=0) >= -1e-15 * np.abs(values[1:])).all()


def test_outliers_are_clipped_until_no_more_are_left(rng):
    X = 3 * rng.normal(size=(500, 2)) - 5
    X[:2, 0] = 300, -100
    x = X[:, 0]
    for _ in range(99):
        mean, reach = x.mean(), 10 * x.std()
        x = np.clip(x, mean - reach, mean + reach)
    model = PowerTransformation.fit(X, np.arange(500) % 2)
    assert_allclose(model.center, [x.mean(), X[:, 1].mean()], rtol=1e-6)
    assert_allclose(model.scale, [x.std(), X[:, 1].std()], rtol=1e-6)
    assert model.has_outliers(X)
    assert not model.has_outliers(np.clip(X, -40, 30))
    z = np.clip((X - model.center) / model.scale, -10, 10)
    assert_allclose(
        replace(model, lambdas=model.lambdas * 0 + 1).apply(X), z, rtol=1e-12
    )


def test_classes_that_are_constant_or_one_row_have_no_say(classes):
    for place in (-3.0, 3.0):
        x = np.append(stats.norm.ppf((np.arange(100) + 0.5) / 100), [place] * 100)
        assert PowerTransformation.fit(x[:, None], np.repeat([0, 1], 100)).lambdas == 1
    X, codes = classes
    model = PowerTransformation.fit(X, codes)
    same = PowerTransformation.fit(np.vstack([X, X.mean(axis=0)]), np.append(codes, 7))
    assert_allclose(same.lambdas, model.lambdas, atol=0.02)
    assert np.all(PowerTransformation.fit(X[:4], np.arange(4)).lambdas == 1)
