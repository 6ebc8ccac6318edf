"""Local search: the same as a literal transcription, and never worse than its start."""

import itertools
from functools import partial

import numpy as np
import pytest

from helpers.problems import (
    count_errors,
    is_first,
    literal_search,
    random_problem,
    random_settings,
)
from heterolda.search import algorithm2, exact
from heterolda.search.algorithm2 import grid_weights, paper_search
from heterolda.search.exact import exact_search


def assert_same(result, truth):
    np.testing.assert_array_equal(result.history, truth.history)
    assert result.history.dtype == np.float64
    np.testing.assert_array_equal(result.v, truth.v)
    assert result.n_iter == len(truth.history)
    assert result.errors == truth.errors
    assert result.errors_start == truth.history[0]
    assert result.interrupted is False


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("leniency", [0.0, 2.0, np.inf])
def test_paper_search_is_the_literal_algorithm(rng, monkeypatch, threads, leniency):
    # Zero leniency sorts the rows into tiles at almost every iteration, infinite
    # leniency never again.
    monkeypatch.setattr(algorithm2, "_LENIENCY", leniency)
    monkeypatch.setattr(algorithm2, "_NUMBERS_PER_THREAD", 1)
    for _ in range(40):
        problem, settings = random_problem(rng), random_settings(rng)
        copy = bool(rng.integers(2))
        result = paper_search(*problem, **settings, threads=threads, copy=copy)
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
@pytest.mark.parametrize("n", [1, 127, 128, 129, 256])
def test_full_tiles_are_the_literal_algorithm(rng, n):
    first = rng.random(n) < 0.5
    X = rng.normal(size=(n, 3)) + 0.5 * first[:, None]
    settings = {"step": 0.1, "max_iter": 60, "patience": 60}
    v = np.array([0.1, 1.0, -1.0, 0.3])
    for weight in (None, rng.random(n)):
        truth = literal_search(X, first, weight, v, **settings)
        assert_same(paper_search(X, first, weight, v, **settings), truth)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("threads", [1, 3])
def test_threads_and_calls_do_not_matter(rng, monkeypatch, threads):
    monkeypatch.setattr(algorithm2, "_NUMBERS_PER_THREAD", 1)
    monkeypatch.setattr(algorithm2, "_NUMBERS_PER_CALL", 1000)
    for _ in range(15):
        problem, settings = random_problem(rng), random_settings(rng)
        result = paper_search(*problem, **settings, threads=threads)
        assert_same(result, literal_search(*problem, **settings))
        assert 0 <= result.touched <= 1


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
    for search in (paper_search, lambda *args: exact_search(*args, rng=rng)):
        result = search(X, first, None, v)
        assert result.n_iter == 1
        assert result.errors == 0
        np.testing.assert_array_equal(result.v, v)


def test_weights_are_repetitions(rng):
    for _ in range(20):
        X, first, _, v = random_problem(rng)
        times = rng.integers(0, 4, len(X))
        weighted = paper_search(X, first, times.astype(float), v, max_iter=50)
        repeated = paper_search(
            np.repeat(X, times, axis=0), np.repeat(first, times), None, v, max_iter=50
        )
        np.testing.assert_array_equal(weighted.history, repeated.history)
        np.testing.assert_array_equal(weighted.v, repeated.v)
        options = {"max_iter": 50, "n_restarts": 0, "rng": rng}
        one = exact_search(X, first, times.astype(float), v, **options)
        two = exact_search(
            np.repeat(X, times, axis=0), np.repeat(first, times), None, v, **options
        )
        assert one.errors == two.errors


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


@pytest.mark.no_cover  # the reference takes most of the time
def test_exact_is_never_worse_than_paper_nor_its_start(rng):
    for _ in range(40):
        problem = random_problem(rng)
        with np.errstate(over="ignore"):
            exact = exact_search(*problem, max_iter=50, n_restarts=2, rng=rng)
        paper = paper_search(*problem, max_iter=50)
        assert exact.errors <= paper.errors <= paper.errors_start
        X, first, weight, _ = problem
        if weight is not None:
            weight = np.multiply(*grid_weights(weight))
        assert exact.errors == count_errors(X, first, weight, exact.v)
        assert exact.n_iter == len(exact.history)


def test_errors_of_a_rule_are_counted_from_scratch(rng):
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    first = np.array([True, False, True, False])
    v = np.array([3.0, 1.0])  # class 1 from 3 on: the first and the last are wrong
    assert algorithm2.count_errors(X, first, None, v) == 2
    assert algorithm2.count_errors(X, first, np.array([0.5, 8.0, 8.0, 0.25]), v) == 0.75
    for _ in range(20):
        problem = random_problem(rng)
        X, first, weight, v = problem
        if weight is not None:
            weight = np.multiply(*grid_weights(weight))
        assert algorithm2.count_errors(*problem) == count_errors(X, first, weight, v)


def test_weights_too_unequal_to_be_counted_are_refused():
    weight = np.array([1.0, 0.0, 2.0**-39, 3.0])
    algorithm2.check_range_of_weights(weight, weight.sum() / 8)
    algorithm2.check_range_of_weights(weight, 2.0)  # exactly the least share
    algorithm2.check_range_of_weights(np.zeros(3), 0.0)
    message = r"^sample_weight times .* 1\.82e-12 for some row .* almost no weight$"
    with pytest.raises(ValueError, match=message):
        algorithm2.check_range_of_weights(weight, 4.0)


def test_exact_is_deterministic(rng):
    X, first, weight, v = random_problem(rng)
    one, two = (
        exact_search(X, first, weight, v, rng=np.random.default_rng(1), threads=t)
        for t in (1, 2)
    )
    np.testing.assert_array_equal(one.v, two.v)
    np.testing.assert_array_equal(one.history, two.history)


def fewest_errors_in_the_plane(X, first):
    """Minimum of the 0-1 loss over all lines: those through pairs, shifted and turned.

    Any line can be moved, without passing a point, until it touches two of them.
    """
    best = min(np.count_nonzero(first), np.count_nonzero(~first))
    for a, b in itertools.combinations(X, 2):
        along = b - a
        normal = np.array([-along[1], along[0]])
        side = (X - a) @ normal
        near = np.isclose(side, 0, atol=1e-9)
        # The points on the line go to either side; they are ordered along it, and a
        # small turn about any place between them cuts that order in two.
        on_line, places = first[near], np.round((X[near] - a) @ along, 9)
        cuts = [places < p for p in [*np.unique(places), np.inf]]
        for above, cut, flip in itertools.product((True, False), cuts, (True, False)):
            rest = np.count_nonzero(((side > 0) == above)[~near] != first[~near])
            best = min(best, rest + np.count_nonzero((cut == flip) != on_line))
    return best


@pytest.mark.check
@pytest.mark.no_cover  # the reference takes most of the time
def test_exact_finds_the_minimum_in_the_plane(rng):
    for _ in range(20):
        n = rng.integers(10, 41)
        first = rng.permutation(n) < n // 2
        X = rng.normal(size=(n, 2)) + rng.uniform(0, 2) * first[:, None]
        if rng.random() < 0.7:
            X = np.round(3 * X)  # many rows on one line, or at the same place
        w = X[first].mean(axis=0) - X[~first].mean(axis=0)
        v = np.append(w @ X.mean(axis=0), w)
        # With the default of 10, one in some hundred problems ends an error above it.
        result = exact_search(X, first, None, v, n_restarts=30, rng=rng)
        assert result.errors == fewest_errors_in_the_plane(X, first)


@pytest.mark.no_cover  # the reference takes most of the time
def test_best_step_is_the_best_of_all_midpoints(rng):
    for _ in range(100):
        n, d = rng.integers(2, 40), rng.integers(1, 4)
        X = rng.normal(size=(n, d))
        first = rng.random(n) < 0.5
        v = rng.normal(size=d + 1)
        if rng.random() < 0.5:
            X, v = np.round(2 * X), np.round(2 * v)
        i, u = rng.integers(d + 1), None
        if rng.random() < 0.5:
            u = rng.normal(size=d + 1)
        along = np.eye(d + 1)[i] if u is None else u
        x = X @ along[1:] - along[0]
        moving = x != 0
        ends = np.unique(-(X @ v[1:] - v[0])[moving] / x[moving])
        ends = np.concatenate([[-1e3], ends, [1e3]])
        trials = np.append(0, (ends[1:] + ends[:-1]) / 2)
        errors = [count_errors(X, first, None, v + t * along) for t in trials]
        lines = exact._Lines(algorithm2.PairRows.from_arrays(X, first, None), rng)
        margins = lines._margins(v)
        moved, after, fewest = lines._move(v, margins, errors[0], i, u)
        assert fewest == min(errors) == count_errors(X, first, None, moved)
        np.testing.assert_allclose(after, X @ moved[1:] - moved[0], atol=1e-9)
        assert np.array_equal(moved, v) == (fewest == errors[0])


@pytest.mark.parametrize("search", [paper_search, exact_search])
def test_interrupt_returns_the_best_so_far(rng, search, monkeypatch):
    monkeypatch.setattr(algorithm2, "_NUMBERS_PER_CALL", 0)
    first = rng.random(200) < 0.5
    X = rng.normal(size=(200, 3)) + 0.5 * first[:, None]
    v = np.array([0.1, 1.0, -1.0, 0.3])
    calls = []

    def stop_at(last):
        def report(iteration, current, fewest):
            calls.append((iteration, current, fewest))
            if iteration == last:
                raise KeyboardInterrupt

        return report

    options = {"rng": rng} if search is exact_search else {}
    for last in (1, 7):
        calls.clear()
        result = search(X, first, None, v, report=stop_at(last), **options)
        assert result.interrupted
        assert result.n_iter == last == len(result.history)
        assert [c[0] for c in calls] == list(range(1, last + 1))
        assert [c[1] for c in calls] == result.history.tolist()
        assert result.errors == min(result.history) == calls[-1][2]
        assert result.errors == count_errors(X, first, None, result.v)


def test_interrupt_of_a_sweep_keeps_the_best(rng):
    first = rng.random(200) < 0.5
    X = rng.normal(size=(200, 3)) + 0.5 * first[:, None]
    v = np.array([0.1, 1.0, -1.0, 0.3])

    def report(iteration, current, fewest):
        if iteration == 12:
            raise KeyboardInterrupt

    options = {"max_iter": 10, "rng": rng, "report": report}
    result = exact_search(X, first, None, v, **options)
    assert result.interrupted
    assert result.n_iter == 12
    assert result.errors == min(result.history)


def test_path_holds_each_new_best(rng, monkeypatch):
    monkeypatch.setattr(algorithm2, "_FIRST_LOG", 2)  # so that it has to grow
    for search in (paper_search, partial(exact_search, rng=rng, n_restarts=2)):
        first = rng.random(300) < 0.5
        X = rng.normal(size=(300, 3)) + 1.5 * first[:, None]
        v = np.array([0.1, 1.0, -1.0, 0.3])
        result = search(X, first, None, v)
        errors = [count_errors(X, first, None, u) for u in result.path]
        lows = np.minimum.accumulate(result.history)
        assert errors == list(dict.fromkeys(lows))
        assert len(errors) > 2
        np.testing.assert_array_equal(result.path[0], v)
        np.testing.assert_array_equal(result.path[-1], result.v)


def test_inputs_are_left_alone(rng):
    X, first, weight, v = random_problem(rng)
    copies = X.copy(), first.copy(), v.copy()
    paper_search(X, first, weight, v, max_iter=20)
    exact_search(X, first, weight, v, max_iter=20, rng=rng)
    for array, kept in zip((X, first, v), copies, strict=True):
        np.testing.assert_array_equal(array, kept)
