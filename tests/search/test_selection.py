"""What a choice among refinements is made from, and by."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from heterolda.search.selection import (
    NONE,
    Candidate,
    assign_folds,
    clearly_fewer,
    list_candidates,
    near_best,
)


def test_folds_keep_copies_together_and_do_not_mind_the_order(rng):
    X = rng.integers(0, 3, (90, 2)).astype(float)
    codes = rng.integers(0, 3, 90)
    fold = assign_folds(X, codes, None, 4, np.random.RandomState(0))
    assert set(fold) == {0, 1, 2, 3}
    for k in range(3):
        for row in np.unique(X, axis=0):
            assert len(set(fold[(codes == k) & np.all(row == X, axis=1)])) <= 1
    order = rng.permutation(90)
    again = assign_folds(X[order], codes[order], None, 4, np.random.RandomState(0))
    assert_array_equal(again, fold[order])


def test_classes_that_cannot_spare_a_row_are_not_held_out(rng):
    X = rng.normal(size=(14, 2))
    codes = np.array([0, 0] + [1] * 3 + [2] * 9)
    fold = assign_folds(X, codes, None, 5, np.random.RandomState(0))
    assert_array_equal(fold[:2], -1)
    assert len(set(fold[2:5])) == 3
    assert len(set(fold[5:])) == 5
    light = assign_folds(X, codes, np.full(14, 0.4), 5, np.random.RandomState(0))
    assert np.all(light[:5] == -1)
    assert np.all(light[5:] >= 0)


def test_candidates():
    everything = list_candidates("auto", "auto", "auto")
    assert everything == [
        NONE,
        *(Candidate("error", 0.25, kappa) for kappa in (0.003, 0.3)),
        *(Candidate("logistic", 0.5, kappa) for kappa in (0.003, 0.3)),
        *(Candidate("ridge", 1.0, kappa) for kappa in (2.0, 20.0, 200.0)),
    ]
    assert list_candidates("error", 0.3, 2) == [Candidate("error", 0.3, 2.0)]
    ridge = list_candidates("ridge", "auto", "auto")
    assert ridge == [NONE, *everything[-3:]]
    assert {c.anchor for c in list_candidates("auto", "auto", 0.1)} == {0.1}
    for settings in [("none", "auto", "auto"), ("auto", 1.0, np.inf)]:
        assert list_candidates(*settings) == [NONE]
    assert [c.moves for c in everything] == [False] + 7 * [True]


def naive_difference(one, other, counts, costs):
    """Errors that the first has more than the second, and the standard error of it.

    Row by row and copy by copy: each that only one has wrong is a step of its cost, up
    or down, and the standard error of such steps that cancel out is the root of the sum
    of their squares.
    """
    steps = []
    for a, b, count, cost in zip(one, other, counts.astype(int), costs, strict=True):
        steps += count * [(float(a) - float(b)) * cost]
    return sum(steps), sum(step**2 for step in steps) ** 0.5


@pytest.mark.parametrize("n", [12, 60])
def test_choices_are_by_standard_errors_of_differences(rng, n):
    seen = set()
    for _ in range(60):
        wrong = rng.uniform(size=(6, n)) < rng.uniform(0.1, 0.5, (6, 1))
        counts, costs = rng.integers(1, 4, n) * 1.0, rng.choice([1.0, 3.0], n)
        error = [sum(row * counts * costs) for row in wrong]
        best = wrong[error.index(min(error))]
        near = near_best(wrong, counts, costs)
        for row, found in zip(wrong, near, strict=True):
            more, deviation = naive_difference(row, best, counts, costs)
            assert found == (more <= deviation + 1e-9)
            fewer = clearly_fewer(best, row, counts, costs)
            assert fewer == (more > 0.5 * deviation + 1e-9)
            assert not clearly_fewer(row, best, counts, costs)
            seen.add((bool(found), fewer))
    assert seen == {(True, False), (True, True), (False, True)}


def test_copies_and_units_of_costs_do_not_matter_to_choices(rng):
    wrong = rng.uniform(size=(8, 100)) < 0.3
    counts, costs = np.arange(100) % 3 + 1.0, rng.choice([1.0, 5.0], 100)
    copies = np.repeat(np.arange(100), counts.astype(int))
    near = near_best(wrong, counts, costs)
    ones = np.ones(len(copies))
    assert_array_equal(near_best(wrong[:, copies], ones, costs[copies]), near)
    for factor in (1e-9, 1e9):
        assert_array_equal(near_best(wrong, counts, factor * costs), near)
    # The best is always near, and so is whatever has the same errors.
    same = np.repeat(wrong[:1], 3, axis=0)
    assert near_best(same, counts, costs).all()
    assert not clearly_fewer(same[0], same[1], counts, costs)
