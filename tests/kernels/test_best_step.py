"""Compiled and NumPy form find the same step along a coordinate, and the best."""

import numpy as np
import pytest

import heterolda.kernels as kernels
from helpers.problems import is_first, random_problem
from heterolda.kernels.best_step import best_step, best_step_numpy
from heterolda.search.algorithm2 import PairRows
from heterolda.search.exact import _Lines, exact_search


def test_both_forms_take_the_same_step(rng):
    n_found = 0
    for _ in range(150):
        X, first, weight, v = random_problem(rng)
        rows = PairRows.from_arrays(np.ascontiguousarray(X), first, weight)
        v = v + 0.3 * rng.normal(size=len(v)) * np.abs(v)
        margins, errors = _Lines(rows, rng)._margins(v), rows.count(v)
        for i in range(len(v)):
            arrays = rows.X, rows.first, rows.weight, margins, i, errors
            found = best_step(*arrays)
            assert found == best_step_numpy(*arrays)
            n_found += found is not None
    assert n_found > 50


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_steps_at_the_ends_of_the_range(rng, scale):
    X = rng.normal(size=(60, 2))
    first = is_first(X, np.array([0.2, 1.0, -1.0]))
    X[:10, 0] = 0.0  # which stay where they are
    margins = np.clip(scale * (X[:, 0] + 0.3), -1e308, 1e308)
    none = np.empty(0, np.int64)
    for x in (X, np.clip(X / scale, -1e300, 1e300), np.round(X)):
        for i in range(3):
            arrays = np.ascontiguousarray(x), first, none, margins, i, 60
            assert best_step(*arrays) == best_step_numpy(*arrays)


def test_no_step_without_rows_that_move():
    X, first = np.zeros((3, 1)), np.array([True, False, True])
    none, margins = np.empty(0, np.int64), np.array([1.0, 1.0, -1.0])
    for form in (best_step, best_step_numpy):
        assert form(X, first, none, margins, 1, 3) is None
        assert form(X, first, none, margins, 0, 0) is None  # nowhere fewer than none
        assert form(X, first, np.zeros(3, np.int64), margins, 0, 3) is None


@pytest.mark.skipif(kernels.compiled is None, reason="there are no compiled kernels")
def test_columns_that_are_not_there_are_refused():
    X, first = np.ones((3, 2)), np.array([True, False, True])
    for i in (-1, 3):
        with pytest.raises(ValueError, match="i must be a column"):
            kernels.compiled.best_step(X, first, None, np.ones(3), i, 3)


def test_the_exact_search_is_the_same_without_the_compiled_kernels(monkeypatch):
    problem = random_problem(np.random.default_rng(4))
    results = []
    for compiled in (kernels.compiled, None):
        monkeypatch.setattr(kernels, "compiled", compiled)
        options = {"max_iter": 30, "n_restarts": 3, "rng": np.random.default_rng(0)}
        results.append(exact_search(*problem, **options))
    np.testing.assert_array_equal(results[0].history, results[1].history)
    np.testing.assert_array_equal(results[0].path, results[1].path)
