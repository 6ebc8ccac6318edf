"""Scores by linear rules: a fixed order of summation, and no overflow."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import heterolda.kernels as package
from heterolda.kernels.ordered_scores import ordered_scores


def naive(X, coef, intercept):
    """Plain loops."""
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
    for n, d, p in product((0, 1, 7, 8, 33), (1, 2, 9), (1, 2, 3, 4, 5, 10)):
        X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-9, 9, size=d)
        coef, intercept = rng.normal(size=(p, d)), rng.normal(size=p)
        expected = naive(X, coef, intercept)
        assert_array_equal(ordered_scores(X, coef, intercept), expected)
        strange = np.asfortranarray(X)[::-1]
        found = ordered_scores(strange, np.asfortranarray(coef), intercept)
        assert_array_equal(found, expected[::-1])


@pytest.mark.usefixtures("kernels")
def test_a_row_has_the_same_scores_alone_and_among_others(rng):
    X = rng.normal(size=(50, 300))
    X[::5] *= 1e307
    coef, intercept = rng.normal(size=(21, 300)), rng.normal(size=21)
    together = ordered_scores(X, coef, intercept)
    for step in (1, 3, 16):
        parts = [
            ordered_scores(X[k : k + step], coef, intercept) for k in range(0, 50, step)
        ]
        assert_array_equal(np.vstack(parts), together)
    for p in (0, 20):
        alone = ordered_scores(X, coef[[p]], intercept[[p]])
        assert_array_equal(alone[:, 0], together[:, p])


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("p", [1, 6])
def test_huge_scores_are_finite_and_have_the_right_sign(rng, p):
    X = rng.normal(size=(40, 3)) * 10.0 ** rng.uniform(290, 308, size=(40, 1))
    X[0], X[1] = 0.0, np.finfo(float).max
    coef = rng.normal(size=(p, 3)) * 10.0 ** rng.uniform(0, 250, size=(p, 1))
    intercept = rng.normal(size=p) * 1e100
    scores = ordered_scores(X, coef, intercept)
    assert np.abs(scores).max() <= 2e300
    exact = [
        [
            sum(Fraction(a) * Fraction(b) for a, b in zip(x, w, strict=True))
            + Fraction(c)
            for w, c in zip(coef.tolist(), intercept.tolist(), strict=True)
        ]
        for x in X.tolist()
    ]
    assert_array_equal(scores > 0, np.array(exact) > 0)


def test_both_forms_give_the_same_numbers(rng, monkeypatch):
    for n, d, p in [(100, 40, 91), (1, 70_000, 2), (40, 5, 1)]:
        X, coef = rng.normal(size=(n, d)), rng.normal(size=(p, d))
        X[rng.random(X.shape) < 0.3] *= 1e305
        X[rng.random(X.shape) < 0.2] = 0.0
        intercept = rng.normal(size=p)
        fast = ordered_scores(X, coef, intercept)
        with monkeypatch.context() as without:
            without.setattr(package, "compiled", None)
            assert_array_equal(ordered_scores(X, coef, intercept), fast)


@pytest.mark.skipif(package.compiled is None, reason="nothing was compiled")
def test_wrong_shapes_are_refused():
    X, coef, intercept = np.ones((4, 3)), np.ones((2, 3)), np.ones(2)
    for bad in (
        (X[:, :2].copy(), coef, intercept, np.ones((4, 2))),
        (X, coef, intercept[:1], np.ones((4, 2))),
        (X, coef, intercept, np.ones((3, 2))),
    ):
        with pytest.raises(ValueError, match="must be"):
            package.compiled.ordered_scores(*bad)
