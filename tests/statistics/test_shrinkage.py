"""shrinkage="cv": the likelihood of rows that are left out, and what it chooses."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from heterolda import ClassStatistics, GaussianLinearDiscriminant
from heterolda.statistics.rows import validated
from heterolda.statistics.shrinkage import (
    DIAGONALS,
    STRENGTHS,
    left_out_log_likelihood,
)


def draw(rng, counts=(9, 12, 15, 30), d=3):
    """Correlated classes with covariances and offsets of their own."""
    y = np.repeat(np.arange(len(counts)), counts)
    X = np.concatenate(
        [
            rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3 * k
            for k, n in enumerate(counts)
        ]
    )
    return X, y


def scores(X, y, weight=None):
    rows = validated(X, y, weight, sums=True)
    return left_out_log_likelihood(rows, ClassStatistics.from_rows(rows))


def naive_scores(X, y):
    """Moments computed anew without each row; the diagonal is that of all rows."""
    d = X.shape[1]
    all_rows = ClassStatistics.from_data(X, y)
    freedom = len(X) - all_rows.n_classes
    diagonal = np.diag(np.diag(all_rows.scatters.sum(axis=0) / freedom))
    total = np.zeros((len(STRENGTHS), len(DIAGONALS)))
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        rest = ClassStatistics.from_data(X[others], y[others])
        k = y[i]
        pooled = rest.scatters.sum(axis=0) / (freedom - 1)
        for a, strength in enumerate(STRENGTHS):
            for b, r in enumerate(DIAGONALS):
                mixture = (1 - r) * pooled + r * diagonal
                cov = mixture
                if np.isfinite(strength):
                    nu = strength * d
                    cov = (rest.scatters[k] + nu * mixture) / (rest.weights[k] - 1 + nu)
                total[a, b] += multivariate_normal(rest.means[k], cov).logpdf(X[i])
    return total


def test_the_formula_equals_leaving_each_row_out(rng):
    X, y = draw(rng)
    ours, naive = scores(X, y), naive_scores(X, y)
    assert_allclose(ours - ours[0, 0], naive - naive[0, 0], atol=1e-8)


def test_what_is_chosen(rng):
    """Equal covariances are pooled, and independent features take the diagonal."""
    model = GaussianLinearDiscriminant(shrinkage="cv")
    X, y = rng.normal(size=(60, 6)) @ rng.normal(size=(6, 6)), np.repeat(range(4), 15)
    assert model.fit(X, y).shrinkage_.to_pooled.min() > 0.6
    X, y = draw(rng, (2000, 2000, 2000, 2000), 3)
    assert model.fit(X, y).shrinkage_.to_pooled.max() < 0.01
    X, y = rng.normal(size=(40, 20)), np.repeat(range(4), 10)
    assert model.fit(X, y).shrinkage_.to_diagonal >= 0.3
    X = X[:, :4] + 5 * rng.normal(size=(40, 1))  # one common factor
    assert model.fit(X, y).shrinkage_.to_diagonal <= 0.1


@pytest.mark.parametrize("rows", [2, 5])
def test_very_small_classes(rng, rows):
    """Fewer rows than features, down to two: no warning, no failure, some use."""
    y = np.repeat(range(4), rows)
    centres = 6 * rng.normal(size=(4, 10))
    X = centres[y] + rng.normal(size=(len(y), 10))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GaussianLinearDiscriminant(shrinkage="cv").fit(X, y)
    test = centres + rng.normal(size=(50, 4, 10))
    assert np.mean(model.predict(test.reshape(-1, 10)) == np.tile(range(4), 50)) > 0.8
    assert np.all(model.shrinkage_.to_pooled > 0)


def test_singular_candidates_are_no_choice(rng):
    found = scores(rng.normal(size=(12, 20)), np.repeat(range(4), 3))
    assert np.all(found[0] == -np.inf)
    assert np.all(found[:, 0] == -np.inf)
    assert np.isfinite(found[1:, 1:]).all()
    # Constant and dependent features tell nothing.
    X, y = draw(rng, (30, 30, 30, 30), 3)
    more = np.column_stack([X, np.full(len(X), 7.0), X[:, 0] + X[:, 1]])
    found = scores(more, y)
    assert np.isfinite(found[0]).all()  # no shrinkage is still a choice
    constant = np.zeros((8, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianLinearDiscriminant(shrinkage="cv").fit(constant, [0, 1] * 4)
    assert_array_equal(model.shrinkage_.to_pooled, 0)


def test_only_rows_can_be_left_out(rng):
    X, y = draw(rng)
    model = GaussianLinearDiscriminant(shrinkage="cv")
    with pytest.raises(ValueError, match="use fit"):
        model.fit_statistics(ClassStatistics.from_data(X, y))
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        model.partial_fit(X, y, classes=range(4))
    assert "needs all rows at once" in str(caught.value.__cause__)
    assert hasattr(GaussianLinearDiscriminant(), "partial_fit")
    with pytest.raises(ValueError, match="total weight"):
        model.fit(X[:4], [0, 1, 2, 3])
