"""Rows that rules get wrong: compiled and in NumPy, against exact signs."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heterolda.kernels.rule_counts import RowsOfPairs, rule_counts
from heterolda.solvers import all_pairs
from heterolda.statistics.rows import Rows


def draw(rng, n, d, n_classes, weighted=False):
    codes = rng.integers(n_classes, size=n)
    weight = rng.integers(0, 3, size=n) / 2 if weighted else None
    X = rng.normal(size=(n, d)) + codes[:, None]
    pairs = all_pairs(n_classes)
    rules, others = (
        (rng.normal(size=(len(pairs), d)), rng.normal(size=len(pairs)))
        for _ in range(2)
    )
    order, bounds = Rows(X, codes, weight, np.arange(n_classes)).by_class
    chosen, counted = np.ones(n_classes, bool), np.ones(len(pairs), bool)
    return (
        RowsOfPairs(X, weight, order, bounds, chosen, pairs, counted),
        rules,
        others,
    )


def naive(rows, rules, others):
    """Count by exact signs, one row and one rule at a time."""
    counts = np.zeros((len(rows.counted), 2, 3))
    for pair, place in np.ndindex(counts.shape[:2]):
        k = rows.classes[pair, place]
        if k < 0 or not rows.chosen[k] or not rows.counted[pair]:
            continue
        for row in rows.order[rows.bounds[k] : rows.bounds[k + 1]]:
            x = [int(v * 2**30) for v in np.append(rows.X[row], 1.0)]
            wrong = []
            for coef, intercept in (rules, others):
                w = [int(v * 2**30) for v in [*coef[pair], intercept[pair]]]
                score = sum(a * b for a, b in zip(w, x, strict=True))
                wrong.append((score > 0) != place)
            weight = 1.0 if rows.weight is None else rows.weight[row]
            counts[pair, place] += weight * np.array([*wrong, wrong[0] != wrong[1]])
    return counts


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_are_those_of_single_rows(rng, weighted):
    for shape in ((60, 1, 2), (61, 9, 2), (70, 4, 3), (90, 11, 7), (5, 3, 6)):
        rows, *rules = draw(rng, *shape, weighted)
        assert_allclose(rule_counts(rows, *rules), naive(rows, *rules), rtol=1e-12)
        rows.chosen[0] = rows.counted[-1] = False
        rows.classes[0, 1] = -1
        assert_allclose(rule_counts(rows, *rules), naive(rows, *rules), rtol=1e-12)
    empty = replace(rows, order=rows.order[:0], bounds=0 * rows.bounds)
    assert not rule_counts(empty, *rules).any()


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("n_classes", [2, 4])
def test_layouts_types_and_huge_numbers(rng, n_classes):
    rows, *rules = draw(rng, 50, 3, n_classes, weighted=True)
    X = np.round(rows.X * 1024) / 1024  # the same in single precision
    expected = rule_counts(replace(rows, X=X), *rules)
    for other in (np.asfortranarray(X), X.astype("f4"), np.repeat(X, 2, 1)[:, ::2]):
        assert_array_equal(rule_counts(replace(rows, X=other), *rules), expected)
    # Products overflow, but scores keep their signs: those without the intercepts.
    zeros = [(coef, 0 * intercept) for coef, intercept in rules]
    expected = rule_counts(replace(rows, X=X), *zeros)
    huge = [(1e10 * coef, intercept) for coef, intercept in rules]
    assert_array_equal(rule_counts(replace(rows, X=1e300 * X), *huge), expected)
