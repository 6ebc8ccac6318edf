"""Algorithm 2: the same counts, path and rule as a literal transcription."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers.problems import literal_search, random_problem, random_settings
from heterolda.search import algorithm2
from heterolda.search.algorithm2 import grid_weights, paper_search
from heterolda.search.scored import scored_rules
from heterolda.statistics.rows import Rows

PAPER = {"step": 0.1, "max_iter": 1000, "patience": 100}


def assert_literal(X, first, weight, v, **settings):
    """Compare a search with the transcription, to the last count; return it."""
    with np.errstate(over="ignore", invalid="ignore"):
        truth = literal_search(X, first, weight, v.astype(float), **settings)
    copies = [np.copy(part) for part in (X, first, v)]
    result = paper_search(X, first, weight, v, **settings)
    assert_array_equal(result.history, truth.history)
    assert_array_equal(result.v, truth.v)
    assert result.n_iter == len(truth.history)
    assert (result.errors, result.errors_start) == (truth.errors, truth.history[0])
    for array, copy in zip((X, first, v), copies, strict=True):
        assert_array_equal(array, copy)
    return result


def two_classes(rng, n, d=3, shift=0.5):
    """Return overlapping rows, which of them are of class 1, and a rule."""
    first = rng.random(n) < 0.5
    return (
        rng.normal(size=(n, d)) + shift * first[:, None],
        first,
        rng.normal(size=d + 1),
    )


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("leniency", [0.0, 2.0, np.inf])
def test_random_problems(rng, monkeypatch, leniency):
    # Zero leniency sorts the rows at almost every iteration, infinite leniency never.
    monkeypatch.setattr(algorithm2, "_LENIENCY", leniency)
    for _ in range(40):
        assert_literal(*random_problem(rng), **random_settings(rng))


@pytest.mark.usefixtures("kernels")
def test_long_searches_on_many_rows(rng, monkeypatch):
    # Enough rows for most to be skipped, enough iterations for margins to be renewed.
    X, first, _ = two_classes(rng, 3000, 4, 0.8)
    X[:, 0] = np.round(X[:, 0])
    v = np.array([1.0, 0.3, 1.0, 2.0, 0.5])
    monkeypatch.setattr(algorithm2, "_ITERATIONS_PER_CALL", 150)
    result = assert_literal(X, first, None, v, step=0.1, max_iter=400, patience=400)
    assert result.n_iter == 400


@pytest.mark.usefixtures("kernels")
def test_full_and_nearly_full_tiles(rng):
    for n, weighted in itertools.product((1, 127, 128, 129, 256), (False, True)):
        X, first, v = two_classes(rng, n)
        weight = rng.random(n) if weighted else None
        assert_literal(X, first, weight, v, step=0.1, max_iter=60, patience=60)


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
def test_hard_problems(rng):
    for X, first, weight, v, step in hard_problems(rng):
        assert_literal(X, first, weight, v, step=step, max_iter=40, patience=40)


def test_defaults_are_those_of_the_paper(rng):
    X, first, _ = two_classes(rng, 80)
    v = np.array([1, 2, -1, 1])  # integers
    truth = literal_search(X, first, None, v.astype(float), **PAPER)
    assert_array_equal(paper_search(X, first, None, v).history, truth.history)
    # A rule without errors ends the search, at the start or later.
    X, first = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 0, 1, 1]) > 0
    for w0, errors in ((1.5, 1), (2.5, 0)):
        result = assert_literal(X, first, None, np.array([w0, 1.0]), **PAPER)
        assert (result.errors_start, result.errors) == (errors, 0)
        assert (result.n_iter == 1) == (errors == 0)


def test_sums_of_grid_weights_are_exact_in_any_order(rng):
    weight = rng.random(1000) * 10.0 ** rng.integers(-3, 3, 1000)
    multiples, unit = grid_weights(weight)
    rounded = unit * multiples
    assert rounded.sum() == rounded[rng.permutation(1000)].sum() == sum(rounded)
    assert_allclose(rounded, weight, atol=1e-15 * weight.sum())
    integers = rng.integers(0, 1000, 1000).astype(float)
    multiples, unit = grid_weights(integers)
    assert_array_equal(unit * multiples, integers)


def test_moments_of_scores_are_those_of_repeated_rows(rng):
    y, copies = np.arange(60) % 4, rng.integers(1, 4, 60)
    X, coef, intercept = (rng.normal(size=size) for size in ((60, 2), (6, 2), 6))
    rows = Rows(X, y, copies.astype(float), np.arange(4))
    rules = scored_rules(rows, coef, intercept, np.zeros(6), np.zeros(6, int))
    for pair, classes in enumerate(itertools.combinations(range(4), 2)):
        for place, k in enumerate(classes):
            scores = np.repeat(X @ coef[pair] + intercept[pair], copies)
            own = scores[np.repeat(y, copies) == k]
            moments = rules.means[pair, place], rules.deviations[pair, place]
            assert_allclose(moments, (own.mean(), own.std(ddof=1)))
