"""Votes without asking every rule, against the votes of all."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import heterolda.kernels as package
from heterolda.estimators.votes import vote_weights
from heterolda.kernels.ordered_scores import ordered_scores
from heterolda.kernels.votes import (
    Ballot,
    count_votes,
    leaders,
    pair_sums,
    vote_winners,
    winners_of_votes,
)

needs_compiler = pytest.mark.skipif(
    package.compiled is None, reason="nothing was compiled"
)


def make_rules(rng, n_classes, d, kind="weighted"):
    """Rules that agree with each other more or less, and their votes."""
    pairs = np.array(list(combinations(range(n_classes), 2)))
    centres = 2 * rng.normal(size=(n_classes, d))
    coef = centres[pairs[:, 1]] - centres[pairs[:, 0]]
    middle = centres[pairs].mean(axis=1)
    coef += 0.5 * rng.normal(size=coef.shape)
    intercept = -np.sum(coef * middle, axis=1)
    error = {
        "weighted": rng.uniform(0, 0.5, len(pairs)),
        "coarse": rng.integers(0, 5, len(pairs)) / 8,  # exact ties of unequal weights
        "majority": np.zeros(len(pairs)),
    }[kind]
    weight = vote_weights(error, n_classes, "weighted")
    ballot = Ballot.of_rules(weight, coef, intercept, np.ones(len(pairs)))
    return coef, intercept, ballot


def leaders_of_all(X, coef, intercept, weight):
    """By the votes of all rules."""
    return leaders(count_votes(ordered_scores(X, coef, intercept), weight))


def exact_leaders(scores, weight, n_classes):
    """In fractions."""
    pairs = list(combinations(range(n_classes), 2))
    found = []
    for row in scores.tolist():
        votes = [Fraction(0)] * n_classes
        for s, w, (i, j) in zip(row, weight.tolist(), pairs, strict=True):
            votes[j if s > 0 else i] += Fraction(w)
        best = [k for k in range(n_classes) if votes[k] == max(votes)]
        found.append(best[0] if len(best) == 1 else -1)
    return np.array(found)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("kind", ["weighted", "coarse", "majority"])
def test_winners_equal_those_of_all_rules_in_fractions(rng, kind):
    sizes = (2, 3, 4, 5, 6, 9, 26), ((0, 2), (1, 2), (9, 3), (100, 2))
    for n_classes, (n, d) in product(*sizes):
        coef, intercept, ballot = make_rules(rng, n_classes, d, kind)
        X = 2 * rng.normal(size=(n, d))
        X[: n // 2] = np.round(X[: n // 2])
        scores = ordered_scores(X, coef, intercept)
        expected = exact_leaders(scores, ballot.weight, n_classes)
        assert_array_equal(leaders(count_votes(scores, ballot.weight)), expected)
        if package.compiled is not None:
            assert_array_equal(vote_winners(X, coef, intercept, ballot), expected)


@needs_compiler
def test_a_bad_guess_changes_no_winner(rng):
    coef, intercept, ballot = make_rules(rng, 8, 3)
    X = 2 * rng.normal(size=(3000, 3))
    expected = leaders_of_all(X, coef, intercept, ballot.weight)
    shape = ballot.guess_coef.shape
    for guess in (np.zeros(shape), np.full(shape, np.nan), -ballot.guess_coef):
        bad = ballot._replace(guess_coef=guess)
        assert_array_equal(vote_winners(X, coef, intercept, bad), expected)


@needs_compiler
def test_winners_of_strange_numbers(rng):
    coef, intercept, ballot = make_rules(rng, 6, 3)
    X = rng.normal(size=(500, 3)) * 10.0 ** rng.uniform(-320, 308, size=(500, 1))
    X[::7] = 0.0
    for factor in (1e-300, 1.0, 1e200):
        rules = factor * coef, factor * intercept
        found = vote_winners(X, *rules, ballot)
        assert_array_equal(found, leaders_of_all(X, *rules, ballot.weight))
    found = vote_winners(np.full((9, 3), np.nan), coef, intercept, ballot)
    expected = leaders(count_votes(np.full((9, 15), np.nan), ballot.weight))
    assert_array_equal(found, expected)
    bad = ballot._replace(weight=np.full(15, np.nan), total=np.full(6, np.nan))
    assert_array_equal(vote_winners(X[:9], coef, intercept, bad), [-1] * 9)


def test_sums_over_pairs_are_those_of_loops(rng):
    for n_classes in (2, 3, 6, 60):
        pairs = list(combinations(range(n_classes), 2))
        first, second = rng.integers(-9, 9, size=(2, 5, len(pairs))).astype(float)
        both, apart = np.zeros((2, 5, n_classes))
        for p, (i, j) in enumerate(pairs):
            both[:, i] += first[:, p]
            both[:, j] += second[:, p]
            apart[:, i] -= second[:, p]
            apart[:, j] += second[:, p]
        for in_order in (False, True):
            found = pair_sums(second, first, in_order=in_order)
            assert_array_equal(found, both)
            assert_array_equal(pair_sums(second, in_order=in_order), apart)


def test_ties_go_to_the_larger_sum_of_scores_then_to_the_first():
    votes, scores = np.array([[1.0, 1.0, 1.0]] * 3), np.zeros((3, 3))
    scores[0], scores[1] = [2.0, -1.0, -2.0], [1.0, 3.0, 1.0]
    assert_array_equal(winners_of_votes(votes, scores), [1, 2, 0])
    votes[1, 2] = 0.0  # which is not tied any more
    assert_array_equal(winners_of_votes(votes, scores), [1, 1, 0])


@needs_compiler
def test_numbers_of_pairs_and_classes_that_do_not_fit_are_refused():
    X, coef = np.ones((2, 3)), np.ones((4, 3))
    four, three, winners = np.ones(4), np.ones(3), np.zeros(2, np.int64)
    with pytest.raises(ValueError, match="each pair"):
        package.compiled.vote_winners(
            X, coef, four, four, three, np.ones((3, 3)), three, winners
        )
