"""Both forms of Algorithm 2, against sums in plain Python and the literal search."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import heterolda.kernels as package
from helpers.problems import literal_search, random_problem
from heterolda.kernels import algorithm2 as kernel
from heterolda.search.algorithm2 import grid_weights, paper_search

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


@pytest.mark.usefixtures("kernels")
def test_errors_are_those_of_single_rows(rng):
    for _ in range(40):
        X, first, weight, v = random_problem(rng)
        units = NONE if weight is None else grid_weights(weight)[0]
        if rng.random() < 0.2:
            with np.errstate(over="ignore", under="ignore"):
                v = v * 10.0 ** rng.choice([-300, 300])  # so do products, then
        errors = naive_errors(X, first, units, v)
        assert kernel.count_errors(np.ascontiguousarray(X), first, units, v) == errors


def hard_problems(rng):
    """Yield rows on the threshold, rules with zeros, ends of the range, and steps."""
    first = rng.random(150) < 0.5
    signs = rng.choice([-1.0, 1.0], size=(150, 3))
    yield signs, first, None, np.array([1.0, 0.5, 0.25, 0.25]), 1.0  # w.x = w0
    yield signs, first, None, np.zeros(4), 0.1
    yield signs, first, None, np.array([0.0, 1.0, 0.0, -1.0]), 0.5
    yield np.zeros((150, 3)), first, None, np.ones(4), 0.1
    yield signs[:, :1], first, None, np.array([1.0, 1.0]), 1.0
    yield signs[:1], np.array([True]), None, np.array([3.0, 1.0, 1.0, 0.5]), 0.5
    X = rng.normal(size=(150, 3))
    for scale in (1e308, 1e-308, 5e-324):
        yield X, first, None, scale * np.array([0.1, 1.0, -1.0, 0.5]), 0.25
        rows = scale * np.clip(X, -1.0, 1.0)
        yield rows, first, None, np.array([scale, 1.0, -1.0, 0.5]), 0.25
    mixed = X * np.array([1e-200, 1.0, 1e200])
    yield mixed, first, None, np.array([0.1, 1e200, -1.0, 1e-200]), 0.1
    yield X, first, 2.0 ** rng.integers(-20, 20, 150), np.array([0, 1.0, 1, 1]), 0.1
    yield X, first, np.where(first, 0.0, 1.0), np.array([0.3, 1.0, 1, -1]), 0.1


@pytest.mark.usefixtures("kernels")
def test_searches_take_the_literal_path(rng):
    drawn = [(*random_problem(rng), 0.1) for _ in range(5)]
    for X, first, weight, v, step in (*drawn, *hard_problems(rng)):
        settings = {"step": step, "max_iter": 40, "patience": 40}
        with np.errstate(over="ignore", invalid="ignore"):
            truth = literal_search(X, first, weight, v, **settings)
        result = paper_search(X, first, weight, v, **settings)
        assert_array_equal(result.history, truth.history)
        assert_array_equal(result.v, truth.v)


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
