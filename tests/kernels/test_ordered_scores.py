"""Scores by linear rules: a fixed order of summation, and no overflow."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from heterolda.kernels.ordered_scores import ordered_scores


def naive(X, coef, intercept):
    """Compute the scores in plain loops."""
    scores = np.empty((len(X), len(coef)))
    for r, row in enumerate(X.tolist()):
        for p, rule in enumerate(coef.tolist()):
            total = 0.0
            for x, w in zip(row, rule, strict=True):
                total += x * w
            scores[r, p] = total + intercept[p]
    return scores


@pytest.mark.usefixtures("kernels")
def test_scores_are_summed_from_left_to_right(rng):
    """So a row has the same scores alone and among others, and in both forms."""
    sizes = product((0, 1, 7, 8, 33), (1, 2, 9), (1, 2, 3, 4, 5, 10))
    for n, d, p in (*sizes, (1, 70_000, 2), (100, 40, 91)):
        X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-9, 9, size=d)
        coef, intercept = rng.normal(size=(p, d)), rng.normal(size=p)
        expected = naive(X, coef, intercept)
        assert_array_equal(ordered_scores(X, coef, intercept), expected)
        strange = np.asfortranarray(X)[::-1], np.asfortranarray(coef), intercept
        assert_array_equal(ordered_scores(*strange), expected[::-1])


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("p", [1, 6])
def test_huge_scores_are_finite_and_have_the_right_sign(rng, p):
    X = rng.normal(size=(40, 3)) * 10.0 ** rng.uniform(290, 308, size=(40, 1))
    X[0], X[1] = 0.0, np.finfo(float).max
    coef = rng.normal(size=(p, 3)) * 10.0 ** rng.uniform(0, 250, size=(p, 1))
    intercept = rng.normal(size=p) * 1e100
    scores = ordered_scores(X, coef, intercept)
    assert np.abs(scores).max() <= 2e300
    for k in (0, 20, 39):
        alone = ordered_scores(X[[k]], coef, intercept)
        assert_array_equal(alone[0], scores[k])
    fraction = np.vectorize(Fraction, otypes=[object])
    exact = fraction(X) @ fraction(coef).T + fraction(intercept)
    assert_array_equal(scores > 0, exact > 0)
