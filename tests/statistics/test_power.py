"""The power transformation of features."""

import numpy as np
import pytest
from scipy import stats
from sklearn.preprocessing import PowerTransformer, StandardScaler

from heterolda.statistics import power
from heterolda.statistics.power import PowerTransformation

TWO_DIGITS = 0.0081  # half of the last digit, and half of the last interval


@pytest.fixture
def skewed(rng):
    """Features of different skewness, some of them mirrored, with other units."""
    X = rng.gamma(rng.uniform(0.5, 4, size=8), size=(300, 8))
    return X * rng.choice([-1, 1], 8) * 10 ** rng.uniform(-3, 3, 8)


def test_the_power_is_that_of_the_largest_likelihood(skewed):
    Z = StandardScaler().fit_transform(skewed)
    model = PowerTransformation.fit(skewed, np.zeros(300, int))
    theirs = PowerTransformer(standardize=False).fit(Z)
    np.testing.assert_allclose(model.lambdas, theirs.lambdas_, atol=TWO_DIGITS)
    single = PowerTransformation.fit(skewed.astype(np.float32), np.zeros(300, int))
    np.testing.assert_allclose(single.lambdas, model.lambdas, atol=2 * TWO_DIGITS)
    expected = [stats.yeojohnson(z, p) for z, p in zip(Z.T, model.lambdas, strict=True)]
    np.testing.assert_allclose(model.apply(skewed), np.transpose(expected), atol=1e-10)


def test_exponents_of_zero_are_logarithms():
    model = PowerTransformation(np.zeros(3), np.ones(3), np.array([0.0, 1.0, 2.0]))
    x = np.array([-5.0, -0.1, 0, 0.1, 5])
    expected = np.column_stack([stats.yeojohnson(x, p) for p in (0.0, 1.0, 2.0)])
    found = model.apply(np.column_stack([x, x, x]))
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_units_offsets_and_mirrors_do_not_matter(rng, skewed):
    # t of a mirrored feature with the power 2 - lambda is -t.
    factor, offset = rng.choice([-1e-200, -3.0, 7e150], 8), rng.normal(size=8) * 1e3
    moved = (skewed / skewed.std(axis=0) + offset) * factor
    model, other = PowerTransformation.fit(skewed), PowerTransformation.fit(moved)
    mirrored = np.where(factor < 0, 2 - model.lambdas, model.lambdas)
    np.testing.assert_allclose(other.lambdas, mirrored, atol=1e-12)
    expected = np.sign(factor) * model.apply(skewed)
    np.testing.assert_allclose(other.apply(moved), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("most", [10**6, 100])
def test_weights_are_copies_and_order_does_not_matter(rng, skewed, monkeypatch, most):
    monkeypatch.setattr(power, "_MOST_ROWS", most)
    counts = rng.integers(1, 4, size=len(skewed))
    copies = rng.permutation(np.repeat(skewed, counts, axis=0))
    model = PowerTransformation.fit(skewed, counts.astype(float))
    other = PowerTransformation.fit(copies)
    np.testing.assert_array_equal(model.lambdas, other.lambdas)
    np.testing.assert_allclose(model.centre, other.centre, rtol=1e-12)
    np.testing.assert_allclose(model.scale, other.scale, rtol=1e-12)


def test_features_of_one_or_two_values_keep_their_shape(rng):
    X = np.column_stack(
        [np.full(50, 1e9), rng.integers(2, size=50), rng.normal(size=50)]
    )
    model = PowerTransformation.fit(X)
    np.testing.assert_array_equal(model.lambdas[:2], 1)
    found = model.apply(X)
    np.testing.assert_array_equal(found[:, 0], 0)
    np.testing.assert_allclose(found[:, 1], stats.zscore(X[:, 1]), rtol=1e-14)


def test_any_finite_number_stays_finite_and_in_order(rng):
    n, largest = 60, np.finfo(float).max
    noise = rng.normal(size=n)
    features = [
        noise,
        np.exp(5 * noise),
        np.where(np.arange(n) == 7, 1e300, noise),
        np.sign(noise) * largest,
        rng.uniform(-1, 1, n) * largest,
        1e16 + 2 * rng.integers(5, size=n),
        1e-310 * noise,
        5e-324 * rng.integers(3, size=n),
        np.round(np.exp(noise)),
    ]
    X = np.column_stack(features)
    model = PowerTransformation.fit(X)
    assert np.all((model.lambdas >= -2) & (model.lambdas <= 4) & (model.scale > 0))
    far = np.array([largest, 1e200, 1e7, 100, 1, 1e-5, 5e-324])
    every = np.concatenate([-far, [0], far[::-1]])[:, None] + np.zeros(X.shape[1])
    with np.errstate(over="ignore"):
        near = model.centre + model.scale * np.linspace(-9, 9, 999)[:, None]
    rows = np.sort(np.concatenate([every, X, np.clip(near, -largest, largest)]), axis=0)
    found = model.apply(rows)
    assert np.isfinite(found).all()
    rises = np.diff(found, axis=0) >= -1e-15 * np.abs(found[1:])
    assert rises.all()
