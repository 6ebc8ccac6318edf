"""Bracketed roots against SciPy's brentq."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from heterolda.foundations.roots import bracketed_roots


def find(functions, a, b):
    """Return roots of a list of scalar functions."""

    def evaluate(index, x):
        return np.array([functions[i](xi) for i, xi in zip(index, x, strict=True)])

    every = np.arange(len(functions))
    a, b = np.array(a, float), np.array(b, float)
    return bracketed_roots(evaluate, a, b, evaluate(every, a), evaluate(every, b))


def test_roots_equal_brentq(rng):
    centers = rng.normal(size=50) * 10.0 ** rng.uniform(-3, 6, 50)
    functions = [
        lambda x, c=c, k=k: [
            np.tanh(x - c),
            (x - c) ** 3,
            np.expm1(np.clip((x - c) / (1 + abs(c)), -600, 600)),
            1.0 if x > c else -1.0,  # nothing to interpolate
        ][k % 4]
        for k, c in enumerate(centers)
    ]
    a, b = centers - rng.uniform(0.1, 9, 50), centers + rng.uniform(0.1, 9, 50)
    expected = [
        brentq(f, *ends, maxiter=10_000)
        for f, *ends in zip(functions, a, b, strict=True)
    ]
    for ends in ((a, b), (b, a)):
        assert_allclose(find(functions, *ends), expected, rtol=1e-9, atol=2e-5)
    lines = [lambda x: x - 2.0] * 3  # an end is the root
    assert_allclose(find(lines, [5, -1, 2], [-3, 8, 7]), 2.0, rtol=1e-15)
