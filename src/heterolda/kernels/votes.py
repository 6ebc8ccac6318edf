"""Votes of the rules between all pairs of classes.

The pairs (i, j), i < j, come in the order (0, 1), (0, 2), ..., (1, 2), ... A positive
score is a vote for j, any other one for i. The weights of the votes must be such that
sums of them are exact, so that it does not matter how they are added.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, Index
from heterolda.kernels.ordered_scores import ordered_scores_numpy


class Ballot(NamedTuple):
    """How the rules vote, and whom to ask first.

    Attributes
    ----------
    weight : ndarray of shape (n_pairs,)
        Weight of each vote.
    total : ndarray of shape (n_classes,)
        Votes of a class that wins all its pairs.
    guess_coef, guess_intercept : ndarray of shape (n_classes, n_features), (n_classes,)
        Linear functions, largest for a class that is likely to win. They change no
        winner.
    """

    weight: Array
    total: Array
    guess_coef: Array
    guess_intercept: Array

    @classmethod
    def of_rules(
        cls, weight: Array, coef: Array, intercept: Array, scale: Array
    ) -> Ballot:
        """The guess is the sum of a class's scores, each divided by its scale."""
        marks = incidence(n_classes_of(weight)).T
        with np.errstate(all="ignore"):
            share = np.where(scale > 0, 1 / scale, 0.0)
            guess = marks @ np.column_stack([coef * share[:, None], intercept * share])
        guess = np.nan_to_num(guess)
        total: Array = np.abs(marks) @ weight
        return cls(weight, total, guess[:, :-1].copy(), guess[:, -1].copy())


def vote_winners(X: Array, coef: Array, intercept: Array, ballot: Ballot) -> Index:
    """The class of most votes for each row, and -1 where several have most votes.

    Few rules are evaluated: all those of one class, then of the class that can still
    get most votes, until one whose votes are known exceeds what all others can get.
    Scores are those of `ordered_scores`, so the winners are those of all rules.
    """
    if kernels.compiled is None:
        return vote_winners_numpy(X, coef, intercept, ballot)
    winners = np.empty(len(X), np.int64)
    kernels.compiled.vote_winners(kernels.ready(X), coef, intercept, *ballot, winners)
    return winners


def vote_winners_numpy(
    X: Array, coef: Array, intercept: Array, ballot: Ballot
) -> Index:
    """The same by the votes of all rules."""
    scores = ordered_scores_numpy(X, coef, intercept)
    return leaders(count_votes_numpy(scores, ballot.weight))


def count_votes(scores: Array, weight: Array) -> Array:
    """Sums of votes, of shape (n_samples, n_classes).

    Each rule has a weight, or each rule in each row.
    """
    if kernels.compiled is None or weight.ndim == 2:
        return count_votes_numpy(scores, weight)
    votes = np.empty((len(scores), n_classes_of(weight)))
    kernels.compiled.count_votes(kernels.ready(scores), weight, votes)
    return votes


def count_votes_numpy(scores: Array, weight: Array) -> Array:
    """The votes if no score is positive, and what positive ones move."""
    n_classes = n_classes_of(weight)
    moved = np.where(scores > 0, weight, 0.0)
    votes: Array = np.ascontiguousarray(moved @ incidence(n_classes))
    votes += weight @ incidence(n_classes, 1.0, 0.0)
    return votes


def leaders(votes: Array) -> Index:
    """The class of most votes in each row, and -1 for an exact tie."""
    winner: Index = votes.argmax(axis=1)
    last = votes.shape[1] - 1 - votes[:, ::-1].argmax(axis=1)
    winner[winner != last] = -1
    return winner


def n_classes_of(weight: Array) -> int:
    """Number of classes with so many pairs."""
    return (1 + int(np.sqrt(1 + 8 * weight.shape[-1]))) // 2


@lru_cache(maxsize=8)
def incidence(n_classes: int, first: float = -1.0, second: float = 1.0) -> Any:
    """Sparse matrix of shape (n_pairs, n_classes) that marks the classes of each pair.

    A product with it adds in the order of the pairs, however many rows there are.
    """
    pairs = np.column_stack(np.triu_indices(n_classes, 1))
    rows = np.repeat(np.arange(len(pairs)), 2)
    marks = np.tile([first, second], len(pairs))
    return csr_array((marks, (rows, pairs.ravel())), shape=(len(pairs), n_classes))
