"""shrinkage="cv": the likelihood of rows that are left out, and what it chooses."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from heterolda import ClassStatistics, GaussianLinearDiscriminant
from heterolda.statistics.rows import validated
from heterolda.statistics.shrinkage import DIAGONALS, STRENGTHS, left_out_log_likelihood


def draw(rng, counts=(9, 12, 15, 30), d=3):
    """Draw correlated classes with covariances and offsets of their own."""
    y = np.repeat(np.arange(len(counts)), counts)
    roots = rng.normal(size=(len(counts), d, d))
    return (rng.normal(size=(len(y), 1, d)) @ roots[y])[:, 0] + 3 * y[:, None], y


def scores(X, y, weight=None):
    rows = validated(X, y, weight, sums=True)
    return left_out_log_likelihood(rows, ClassStatistics.from_rows(rows))


def naive_scores(X, y):
    """Compute the moments again without each row; the diagonal is that of all rows."""
    d = X.shape[1]
    all_rows = ClassStatistics.from_data(X, y)
    freedom = len(X) - all_rows.n_classes
    diagonal = np.diag(np.diag(all_rows.scatters.sum(axis=0) / freedom))
    total = np.zeros((len(STRENGTHS), len(DIAGONALS)))
    for i, k in enumerate(y):
        others = np.arange(len(X)) != i
        stats = ClassStatistics.from_data(X[others], y[others])
        pooled = stats.scatters.sum(axis=0) / (freedom - 1)
        for a, strength in enumerate(STRENGTHS):
            for b, r in enumerate(DIAGONALS):
                cov = mixture = (1 - r) * pooled + r * diagonal
                if np.isfinite(strength):
                    nu = strength * d
                    cov = stats.scatters[k] + nu * mixture
                    cov /= stats.weights[k] - 1 + nu
                total[a, b] += multivariate_normal(stats.means[k], cov).logpdf(X[i])
    return total


def test_the_formula_equals_leaving_each_row_out(rng):
    X, y = draw(rng)
    ours, naive = scores(X, y), naive_scores(X, y)
    assert_allclose(ours - ours[0, 0], naive - naive[0, 0], atol=1e-8)
    counts = rng.integers(1, 4, len(y))
    copies = scores(np.repeat(X, counts, 0), np.repeat(y, counts))
    assert_allclose(scores(X, y, counts), copies, rtol=1e-10)


def test_what_is_chosen(rng):
    """Equal covariances are pooled, and independent features take the diagonal."""
    model = GaussianLinearDiscriminant(shrinkage="cv")
    X, y = rng.normal(size=(60, 6)) @ rng.normal(size=(6, 6)), np.repeat(range(4), 15)
    assert model.fit(X, y).shrinkage_.to_pooled.min() > 0.6
    # Its strength is a candidate, and the same for classes of any size.
    X, y = draw(rng)
    share = model.fit(X, y).shrinkage_.to_pooled
    strength = share * (np.bincount(y) - 1) / (1 - share) / 3
    best = STRENGTHS[scores(X, y).max(axis=1).argmax()]
    assert_allclose(strength, best)
    X, y = draw(rng, (2000, 2000, 2000, 2000), 3)
    assert model.fit(X, y).shrinkage_.to_pooled.max() < 0.01
    X, y = rng.normal(size=(40, 20)), np.repeat(range(4), 10)
    assert model.fit(X, y).shrinkage_.to_diagonal >= 0.3
    X = X[:, :4] + 5 * rng.normal(size=(40, 1))  # one common factor
    assert model.fit(X, y).shrinkage_.to_diagonal <= 0.1


def test_the_default_is_cv_below_eight_degrees_of_freedom_per_feature(rng):
    X, y = np.column_stack([rng.normal(size=(28, 3)), np.ones(28)]), np.arange(28) % 4
    default, cv = (GaussianLinearDiscriminant(shrinkage=s) for s in ("auto", "cv"))
    assert default.fit(X, y).shrinkage_ is None
    chosen, expected = (one.fit(X[1:], y[1:]).shrinkage_ for one in (default, cv))
    assert_allclose(chosen.to_pooled, expected.to_pooled)
    assert chosen.to_diagonal == expected.to_diagonal


def test_singular_candidates_are_no_choice(rng):
    values = scores(rng.normal(size=(12, 20)), np.repeat(range(4), 3))
    assert np.all(values[0] == -np.inf)
    assert np.all(values[:, 0] == -np.inf)
    assert np.isfinite(values[1:, 1:]).all()
    # Constant and dependent features tell nothing.
    X, y = draw(rng, (30, 30, 30, 30), 3)
    more = np.column_stack([X, np.full(len(X), 7.0), X[:, 0] + X[:, 1]])
    assert np.isfinite(scores(more, y)[0]).all()  # no shrinkage is still a choice


def test_missing_values_and_rows_too_few_to_leave_one_out(rng):
    X, y = draw(rng)
    X[::9, 0] = np.nan
    model = GaussianLinearDiscriminant(shrinkage="cv", missing="em").fit(X, y)
    assert model.shrinkage_.to_pooled.any()
    few = GaussianLinearDiscriminant(shrinkage="cv", choose_on="model")
    few.fit([[0.0], [1.0], [5.0]], [0, 0, 1])
    assert not few.shrinkage_.to_pooled.any()
