"""Both forms of Algorithm 2 against sums in plain Python; tests/search has searches."""

import threading

import numpy as np
import pytest

import heterolda.kernels as package
from helpers.problems import random_problem
from heterolda.kernels import algorithm2 as kernel
from heterolda.search.algorithm2 import grid_weights

NONE = np.empty(0, np.int64)


def naive_errors(X, first, units, v):
    """Count the errors of v, each sum from left to right in Python."""
    errors = 0
    for j, row in enumerate(X.tolist()):
        total = v[1].item() * row[0]
        for k in range(1, len(row)):
            total += v[k + 1].item() * row[k]
        if (total >= v[0]) != first[j]:
            errors += int(units[j]) if len(units) else 1
    return errors


def test_errors_are_those_of_single_rows(rng):
    for _ in range(40):
        X, first, weight, v = random_problem(rng)
        units = NONE if weight is None else grid_weights(weight)[0]
        if rng.random() < 0.2:
            with np.errstate(over="ignore", under="ignore"):
                v = v * 10.0 ** rng.choice([-300, 300])  # so do products, then
        errors = naive_errors(X, first, units, v)
        assert kernel.count_errors(np.ascontiguousarray(X), first, units, v) == errors


def search_arrays(d, n_iter):
    """Return v, changes, state and log of a search."""
    log = np.zeros((2, n_iter), np.int64)
    state = np.array([0, 10**6, 10**6, 0])
    return np.linspace(1, 2, d + 1), np.zeros(2 * (d + 1), np.int64), state, log


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_rules_that_are_not_finite_come_to_an_end(rng, value):
    """Infinity times one tenth from infinity is no number, and equal to none."""
    X, first = rng.normal(size=(300, 3)), rng.random(300) < 0.5
    v, changes, state, log = search_arrays(3, 20)
    v[1] = value
    kernel.make_block(X, first, NONE).run(v, changes, state, log, 0.1, 4.0, 50, 20)
    assert state[0] == 20


@pytest.mark.skipif(package.compiled is None, reason="nothing was compiled")
def test_a_block_takes_one_call_at_a_time(rng):
    X, first = rng.normal(size=(50_000, 10)), rng.random(50_000) < 0.5
    block = kernel.make_block(X, first, NONE)
    outcomes = []

    def call():
        try:
            block.run(*search_arrays(10, 100), 0.1, 0.0, 100, 100)
            outcomes.append("done")
        except ValueError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "done" in outcomes
    assert set(outcomes) <= {"done", "a block takes one call at a time"}
