"""Votes of pairs of classes, against exact sums of the votes of all rules."""

from itertools import combinations, product

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import heterolda.kernels as package
from helpers.problems import votes_of
from heterolda.estimators.votes import vote_weights
from heterolda.kernels.ordered_scores import ordered_scores
from heterolda.kernels.votes import Ballot, count_votes, leaders, vote_winners


def make_rules(rng, n_classes, d, kind="weighted"):
    """Draw rules that agree with each other more or less, and their votes."""
    pairs = np.array(list(combinations(range(n_classes), 2)))
    centers = 2 * rng.normal(size=(n_classes, d))
    coef = centers[pairs[:, 1]] - centers[pairs[:, 0]]
    middle = centers[pairs].mean(axis=1)
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


def exact_leaders(scores, weight, n_classes):
    """Return the leaders by sums of fractions."""
    winners = []
    for votes, _ in votes_of(scores, weight, n_classes):
        best = [k for k in range(n_classes) if votes[k] == max(votes)]
        winners.append(best[0] if len(best) == 1 else -1)
    return np.array(winners)


@pytest.mark.parametrize("kind", ["weighted", "coarse", "majority"])
def test_winners_equal_those_of_all_rules_in_fractions(rng, kind):
    sizes = (2, 3, 4, 5, 6, 9, 60), ((0, 2), (1, 2), (9, 3), (100, 2))
    for n_classes, (n, d) in product(*sizes):
        coef, intercept, ballot = make_rules(rng, n_classes, d, kind)
        X = 2 * rng.normal(size=(n, d))
        X[: n // 2] = np.round(X[: n // 2])
        scores = ordered_scores(X, coef, intercept)
        expected = exact_leaders(scores, ballot.weight, n_classes)
        assert_array_equal(leaders(count_votes(scores, ballot.weight)), expected)
        if package.compiled is not None:
            for guess in (ballot.guess_coef, np.nan * ballot.guess_coef):
                ballot = ballot._replace(guess_coef=guess)  # which is for speed only
                assert_array_equal(vote_winners(X, coef, intercept, ballot), expected)


@pytest.mark.skipif(package.compiled is None, reason="nothing was compiled")
def test_winners_of_strange_numbers(rng):
    coef, intercept, ballot = make_rules(rng, 6, 3)
    X = rng.normal(size=(500, 3)) * 10.0 ** rng.uniform(-320, 308, size=(500, 1))
    X[::7] = 0.0
    for factor in (1e-300, 1.0, 1e200):
        rules = factor * coef, factor * intercept
        expected = leaders(count_votes(ordered_scores(X, *rules), ballot.weight))
        assert_array_equal(vote_winners(X, *rules, ballot), expected)
    winners = vote_winners(np.full((9, 3), np.nan), coef, intercept, ballot)
    expected = leaders(count_votes(np.full((9, 15), np.nan), ballot.weight))
    assert_array_equal(winners, expected)
    bad = ballot._replace(weight=np.full(15, np.nan), total=np.full(6, np.nan))
    assert_array_equal(vote_winners(X[:9], coef, intercept, bad), [-1] * 9)
