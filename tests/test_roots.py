"""Bracketed roots against SciPy's brentq."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from heterolda.roots import bracketed_roots


def find(functions, a, b, **options):
    """Roots of a list of scalar functions."""

    def evaluate(index, x):
        return np.array([functions[i](xi) for i, xi in zip(index, x, strict=True)])

    every = np.arange(len(functions))
    a, b = np.array(a, float), np.array(b, float)
    return bracketed_roots(
        evaluate, a, b, evaluate(every, a), evaluate(every, b), **options
    )


def test_roots_equal_brentq(rng):
    centres = rng.normal(size=50) * 10.0 ** rng.uniform(-3, 6, 50)
    functions = [
        lambda x, c=c, k=k: [
            np.tanh(x - c),
            (x - c) ** 3,
            np.expm1(np.clip((x - c) / (1 + abs(c)), -600, 600)),
            (x - c) * (1 + (x - c) ** 2),
        ][k % 4]
        for k, c in enumerate(centres)
    ]
    a, b = centres - rng.uniform(0.1, 9, 50), centres + rng.uniform(0.1, 9, 50)
    expected = [
        brentq(f, *ends, maxiter=10_000)
        for f, *ends in zip(functions, a, b, strict=True)
    ]
    assert_allclose(find(functions, a, b), expected, rtol=1e-9, atol=2e-5)


def test_brackets_may_be_given_either_way_round_and_end_at_a_root():

    def line(x):
        return x - 2.0

    assert_allclose(find([line, line, line], [5, -1, 2], [-3, 8, 7]), 2.0, rtol=1e-15)


def test_steps_are_bisected(rng):
    """Nothing to interpolate: the jump is found to the last digit."""
    jump = float(rng.normal())
    root = find([lambda x: 1.0 if x > jump else -1.0], [-50.0], [50.0])
    assert_allclose(root, jump, rtol=1e-14, atol=1e-14)


def test_few_evaluations_suffice():
    calls = []

    def smooth(x):
        calls.append(x)
        return np.exp(x) - 3.0

    assert_allclose(find([smooth], [-10.0], [10.0]), np.log(3.0), rtol=1e-14)
    assert len(calls) < 20


@pytest.mark.parametrize("most", [1, 5])
def test_max_iter_limits_the_work(most):
    calls = []

    def smooth(x):
        calls.append(x)
        return np.tanh(x - 0.3)

    find([smooth], [-5.0], [5.0], max_iter=most)
    assert len(calls) == most + 2  # and the two ends


def test_no_functions():
    assert find([], [], []).shape == (0,)
