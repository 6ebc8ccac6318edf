"""Local search: the same as a literal transcription, and never worse than its start."""

import itertools

import numpy as np
import pytest

from helpers.problems import (
    is_first,
    literal_search,
    random_problem,
    random_settings,
)
from heterolda.search import algorithm2
from heterolda.search.algorithm2 import grid_weights, paper_search


def assert_same(result, truth):
    np.testing.assert_array_equal(result.history, truth.history)
    assert result.history.dtype == np.float64
    np.testing.assert_array_equal(result.v, truth.v)
    assert result.n_iter == len(truth.history)
    assert result.errors == truth.errors
    assert result.errors_start == truth.history[0]


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    ("threads", "leniency"), [(1, 0.0), (2, 0.0), (2, 2.0), (1, np.inf)]
)
def test_paper_search_is_the_literal_algorithm(rng, monkeypatch, threads, leniency):
    # Zero leniency sorts the rows into tiles at almost every iteration, infinite
    # leniency never again.
    monkeypatch.setattr(algorithm2, "_LENIENCY", leniency)
    monkeypatch.setattr(algorithm2, "_NUMBERS_PER_THREAD", 1)
    for _ in range(25):
        problem, settings = random_problem(rng), random_settings(rng)
        result = paper_search(*problem, **settings, threads=threads)
        assert_same(result, literal_search(*problem, **settings))
        assert result.touched >= 0


@pytest.mark.usefixtures("kernels")
def test_long_searches_on_many_rows_are_the_literal_algorithm(rng):
    # Enough rows for most to be skipped, enough iterations for margins to be renewed.
    first = rng.random(3000) < 0.5
    X = rng.normal(size=(3000, 4)) + 0.8 * first[:, None]
    X[:, 0] = np.round(X[:, 0])
    v = np.array([1.0, 0.3, 1.0, 2.0, 0.5])
    settings = {"step": 0.1, "max_iter": 400, "patience": 400}
    result = paper_search(X, first, None, v, **settings)
    assert_same(result, literal_search(X, first, None, v, **settings))
    assert result.n_iter == 400
    assert result.touched < 0.7


@pytest.mark.usefixtures("kernels")
def test_full_tiles_are_the_literal_algorithm(rng):
    settings = {"step": 0.1, "max_iter": 60, "patience": 60}
    v = np.array([0.1, 1.0, -1.0, 0.3])
    for n, weighted in itertools.product((1, 127, 128, 129, 256), (False, True)):
        first = rng.random(n) < 0.5
        X = rng.normal(size=(n, 3)) + 0.5 * first[:, None]
        weight = rng.random(n) if weighted else None
        truth = literal_search(X, first, weight, v, **settings)
        assert_same(paper_search(X, first, weight, v, **settings), truth)


def test_defaults_are_the_papers(rng):
    first = rng.random(80) < 0.5
    X = rng.normal(size=(80, 3)) + 0.5 * first[:, None]
    v = np.array([1, 2, -1, 1])  # of integers
    truth = literal_search(
        X, first, None, v.astype(float), step=0.1, max_iter=1000, patience=100
    )
    assert 100 < len(truth.history) < 1000
    assert_same(paper_search(X, first, None, v), truth)


def test_a_search_ends_without_errors_and_not_before():
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    first = np.array([False, False, True, True])
    result = paper_search(X, first, None, np.array([1.5, 1.0]))  # 2 is wrong
    assert result.errors_start == 1
    assert result.errors == 0
    assert result.history[-1] == 0


@pytest.mark.usefixtures("kernels")
def test_extreme_scales_are_done_canonically(rng):
    X = rng.normal(size=(50, 3))
    first = rng.random(50) < 0.5
    for scale, step in itertools.product((1e-290, 1e290, 1e306), (0.1, 10.0)):
        v = scale * np.array([0.1, 1.0, -1.0, 0.5])
        settings = {"step": step, "max_iter": 30, "patience": 30}
        with np.errstate(over="ignore", invalid="ignore"):
            truth = literal_search(10 * X, first, None, v, **settings)
        assert_same(paper_search(10 * X, first, None, v, **settings), truth)


def test_separable_start_stops_at_once(rng):
    X = rng.normal(size=(40, 3))
    v = np.array([0.1, 1.0, 2.0, 3.0])
    first = is_first(X, v)
    result = paper_search(X, first, None, v)
    assert result.n_iter == 1
    assert result.errors == 0
    np.testing.assert_array_equal(result.v, v)


def test_sums_of_grid_weights_are_exact_in_any_order(rng):
    weight = rng.random(1000) * 10.0 ** rng.integers(-3, 3, 1000)
    multiples, unit = grid_weights(weight)
    rounded = unit * multiples
    assert rounded.sum() == rounded[rng.permutation(1000)].sum() == sum(rounded)
    np.testing.assert_allclose(rounded, weight, atol=1e-15 * weight.sum())
    integers = rng.integers(0, 1000, 1000).astype(float)
    multiples, unit = grid_weights(integers)
    np.testing.assert_array_equal(unit * multiples, integers)
    assert grid_weights(np.zeros(3))[0].sum() == 0


def test_weights_too_unequal_to_be_counted_are_refused():
    weight = np.array([1.0, 0.0, 2.0**-39, 3.0])
    algorithm2.check_range_of_weights(np.append(weight[:3], 1.0 - 2.0**-39))  # exactly
    algorithm2.check_range_of_weights(np.zeros(3))
    message = r"^sample_weight times .* 1\.82e-12 for some row .* almost no weight$"
    with pytest.raises(ValueError, match=message):
        algorithm2.check_range_of_weights(weight)


def test_the_log_grows(rng, monkeypatch):
    monkeypatch.setattr(algorithm2, "_FIRST_LOG", 2)
    first = rng.random(300) < 0.5
    X = rng.normal(size=(300, 3)) + 1.5 * first[:, None]
    v = np.array([0.1, 1.0, -1.0, 0.3])
    truth = literal_search(X, first, None, v, step=0.1, max_iter=1000, patience=100)
    assert_same(paper_search(X, first, None, v), truth)


def test_inputs_are_left_alone(rng):
    X, first, weight, v = random_problem(rng)
    copies = X.copy(), first.copy(), v.copy()
    paper_search(X, first, weight, v, max_iter=20)
    for array, kept in zip((X, first, v), copies, strict=True):
        np.testing.assert_array_equal(array, kept)
