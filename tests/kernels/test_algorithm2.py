"""Compiled and NumPy form of Algorithm 2 agree, and with sums in plain Python."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import heterolda.kernels as kernels
from helpers.problems import literal_search, random_problem
from heterolda.kernels import algorithm2 as kernel
from heterolda.search.algorithm2 import grid_weights, paper_search

needs_compiled = pytest.mark.skipif(
    kernels.compiled is None, reason="there are no compiled kernels"
)
NONE = np.empty(0, np.int64)


def arrays(problem):
    """A problem with weights in units, as the kernels take it."""
    X, first, weight, v = problem
    units = NONE if weight is None else grid_weights(weight)[0]
    return np.ascontiguousarray(X), first, units, v


def naive_errors(X, first, units, v):
    """Errors of v, each sum from left to right in Python."""
    errors = 0
    for j, row in enumerate(X.tolist()):
        total = v[1].item() * row[0]
        for k in range(1, len(row)):
            total += v[k + 1].item() * row[k]
        if (total >= v[0]) != first[j]:
            errors += int(units[j]) if len(units) else 1
    return errors


def test_errors_are_the_same_in_all_forms(rng):
    for _ in range(40):
        X, first, units, v = arrays(random_problem(rng))
        if rng.random() < 0.2:
            with np.errstate(over="ignore", under="ignore"):
                v = v * 10.0 ** rng.choice([-300, 300])  # so do products, then
        errors = naive_errors(X, first, units, v)
        assert kernel.count_errors(X, first, units, v) == errors
        assert kernel.count_errors_numpy(X, first, units, v) == errors


def hard_problems(rng):
    """Rows on the threshold, rules with zeros, ends of the range, one row, one column.

    Each with the step of its search.
    """
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
def test_hard_problems_take_the_literal_path(rng):
    for X, first, weight, v, step in hard_problems(rng):
        settings = {"step": step, "max_iter": 40, "patience": 40}
        with np.errstate(over="ignore", invalid="ignore"):
            truth = literal_search(X, first, weight, v, **settings)
        found = paper_search(X, first, weight, v, **settings)
        assert_array_equal(found.history, truth.history)
        assert_array_equal(found.v, truth.v)


def search_arrays(d, n_iter):
    """v, changes, state and log of a search."""
    v = np.linspace(1, 2, d + 1)
    log = np.zeros((2, n_iter), np.int64)
    return v, np.zeros(2 * (d + 1), np.int64), np.array([1, 9, 9, 0]), log


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_rules_that_are_not_finite_come_to_an_end(rng, value):
    """Infinity times one tenth from infinity is no number, and equal to none."""
    X, first = rng.normal(size=(300, 3)), rng.random(300) < 0.5
    block = kernel.make_block(X, first, NONE)
    v, changes, state, log = search_arrays(3, 20)
    v[1], state[1:3] = value, 10**6
    block.run(v, changes, state, log, 0.1, 4.0, 50, 20)
    assert state[0] == 20


@needs_compiled
def test_what_does_not_fit_is_refused(rng):
    X, first = rng.normal(size=(50, 3)), rng.random(50) < 0.5
    block, run = kernels.compiled.algorithm2_block, kernels.compiled.algorithm2_run
    for bad in (
        (X[:0], first[:0], None),
        (X[:, :0].copy(), first, None),
        (X, first[:-1], None),
        (X.astype(np.float32), first, None),
        (X, first, np.ones(50)),
    ):
        with pytest.raises(ValueError, match=r"X|first|weight"):
            block(*bad)
    good = block(X, first, None)
    settings = 0.1, 4.0, 10, 5
    run(good, *search_arrays(3, 9), *settings)
    with pytest.raises(TypeError, match="a block is needed"):
        run("block", *search_arrays(3, 9), *settings)
    for d, n_iter, how in (
        (4, 9, settings),
        (3, 4, settings),  # more iterations than the log has room for
        (3, 9, (0.0, 4.0, 10, 5)),
        (3, 9, (np.nan, 4.0, 10, 5)),
        (3, 9, (-1.0, 4.0, 10, 5)),
        (3, 9, (np.inf, 4.0, 10, 5)),
    ):
        with pytest.raises(ValueError, match=r"v must|log must|step must"):
            run(good, *search_arrays(d, n_iter), *how)
    for state in ([-1, 9, 9, 0], [9, 9, 9, 0], [1, 9, 9, -1]):
        v, changes, _, log = search_arrays(3, 9)
        with pytest.raises(ValueError, match="log must"):
            run(good, v, changes, np.array(state), log, *settings)
    with pytest.raises(ValueError, match="v must"):
        kernels.compiled.algorithm2_errors(X, first, None, np.ones(3))


@needs_compiled
def test_a_block_takes_one_call_at_a_time(rng):
    X, first = rng.normal(size=(50_000, 10)), rng.random(50_000) < 0.5
    block = kernel.make_block(X, first, NONE)
    outcomes = []

    def call():
        v, changes, state, log = search_arrays(10, 100)
        state[1:3] = 10**6
        try:
            block.run(v, changes, state, log, 0.1, 0.0, 100, 100)
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
