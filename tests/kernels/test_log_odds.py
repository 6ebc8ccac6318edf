"""Log-odds on the sides of rules, compiled and in NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heterolda import kernels
from heterolda.kernels.log_odds import sides_of_log_odds, sides_of_log_odds_numpy


def rows(rng, n, n_rules=3, n_folds=4):
    margins = rng.normal(0.7, 1, (n_rules, n))
    sign, weight = rng.choice([-1.0, 1.0], n), rng.integers(1, 4, n) * 1.0
    return margins, sign, weight, rng.integers(0, n_folds, n), n_folds


def both(*arrays):
    one, two = sides_of_log_odds(*arrays), sides_of_log_odds_numpy(*arrays)
    assert_allclose(one, two, rtol=1e-4, atol=1e-6)
    return one


@pytest.mark.parametrize("n", [0, 1, 2, 5, 40, 400])
def test_compiled_lines_are_those_in_numpy(rng, n):
    arrays = rows(rng, n)
    found = both(*arrays)
    assert found.shape == (2, 2, 3, 5)
    assert found.min() >= 0


def test_awkward_margins(rng):
    margins, sign, weight, *folds = rows(rng, 60)
    for change in (
        np.zeros_like(margins),
        np.abs(margins),
        -np.abs(margins),
        np.round(margins),
        margins * 1e-120,
        margins * 1e120,
        np.where(margins > 2, np.inf, margins),
        np.where(rng.uniform(size=60) < 0.1, 1e9, margins),
    ):
        with np.errstate(all="ignore"):
            assert np.isfinite(both(change, sign, weight, *folds)).all()
    both(margins, np.ones(60), weight, *folds)
    both(margins, sign, 0 * weight, *folds)
    both(margins, sign, 1e-3 * weight, *folds)


def test_order_of_rules_and_arrays_does_not_matter(rng):
    margins, sign, weight, *folds = rows(rng, 80, n_rules=4)
    expected = both(margins, sign, weight, *folds)
    order = [2, 0, 2, 3, 1, 0]
    found = sides_of_log_odds(margins[order], sign, weight, *folds)
    assert_array_equal(found, expected[:, :, order])
    turned = sides_of_log_odds(np.asfortranarray(margins), sign, weight, *folds)
    assert_array_equal(turned, expected)


@pytest.mark.skipif(kernels.compiled is None, reason="there are no compiled kernels")
def test_folds_are_checked(rng):
    margins, sign, weight, fold, n_folds = rows(rng, 20)
    for wrong in (-1, n_folds, 2**62):
        fold[7] = wrong
        with pytest.raises(ValueError, match="numbers of folds"):
            sides_of_log_odds(margins, sign, weight, fold, n_folds)
