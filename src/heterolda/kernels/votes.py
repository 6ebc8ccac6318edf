"""Votes of the rules between all pairs of classes.

The pairs (i, j), i < j, are in the order (0, 1), (0, 2), ..., (1, 2), ... A positive
score is a vote for j, any other a vote for i. Sums of the weights of votes must be
exact in floating point, so that their order does not matter.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, Index, put_like, xp_of

# Up to this many classes, sums over pairs are products with a matrix.
_FEW_CLASSES = 50


class Ballot(NamedTuple):
    """Weights of the votes, and linear functions that guess the winner, for speed."""

    weight: Array  # of each vote, (n_pairs,)
    total: Array  # votes of a class that wins all its pairs, (n_classes,)
    guess_coef: Array  # largest for a class that is likely to win
    guess_intercept: Array

    @classmethod
    def of_rules(
        cls, weight: Array, coef: Array, intercept: Array, scale: Array
    ) -> Ballot:
        """Return a ballot that guesses by sums of scores, each divided by its scale."""
        with np.errstate(all="ignore"):
            share = np.where(scale > 0, 1 / scale, 0.0)
            scores = np.column_stack([coef * share[:, None], intercept * share])
            guess = np.nan_to_num(pair_sums(scores.T)).T
        total: Array = pair_sums(weight[None], weight[None])[0]
        return cls(weight, total, guess[:, :-1].copy(), guess[:, -1].copy())


def vote_winners(X: Array, coef: Array, intercept: Array, ballot: Ballot) -> Index:
    """Return the class with the most votes for each row, or -1 for a tie, in C.

    Rules are evaluated class by class, starting with the class that can still get the
    most votes, until no other class can catch up with the leader. Scores are those of
    `ordered_scores`, so evaluating all rules would not change the winners.
    """
    winners = np.empty(len(X), np.int64)
    kernels.compiled.vote_winners(kernels.ready(X), coef, intercept, *ballot, winners)
    return winners


def count_votes(scores: Any, weight: Array) -> Any:
    """Return sums of votes, of shape (n_samples, n_classes).

    `weight` has one entry per rule, or one per row and rule.
    """
    wins = xp_of(scores).where(scores > 0, put_like(weight, scores), 0.0)
    weight = np.atleast_2d(weight)
    # Votes if no score is positive, plus the votes that positive scores move.
    return put_like(pair_sums(0.0 * weight, weight), scores) + pair_sums(wins)


def winners_of_votes(votes: Any, scores: Any) -> Any:
    """Return the class with the most votes in each row.

    Ties go to the largest sum of scores, and then to the first class.
    """
    xp = xp_of(votes)
    leads = votes == xp.max(votes, axis=1, keepdims=True)
    if int(xp.count_nonzero(leads)) == votes.shape[0]:
        return xp.argmax(votes, axis=1)
    confidence = pair_sums(scores, in_order=True)
    return xp.argmax(xp.where(leads, confidence, -xp.inf), axis=1)


def pair_sums(second: Any, first: Any = None, *, in_order: bool = False) -> Any:
    """Return sums over the pairs of each class, of shape (n_samples, n_classes).

    Columns of `second` are added to the second class of each pair, and those of `first`
    to the first class; without `first`, those of `second` are subtracted there. With
    `in_order`, a sum depends only on its row, down to the last bit.
    """
    xp, n_classes = xp_of(second), n_classes_of(second)
    if n_classes <= _FEW_CLASSES and not in_order:
        to_first, to_second = (put_like(ends, second) for ends in _ends(n_classes))
        if first is None:
            return second @ (to_second - to_first)
        return second @ to_second + first @ to_first
    sums = xp.zeros_like(second[:, :1]) + put_like(np.zeros(n_classes), second)
    start = 0
    for i in range(n_classes - 1):
        pairs = slice(start, start := start + n_classes - 1 - i)
        sums[:, i + 1 :] += second[:, pairs]
        to_first = -second[:, pairs] if first is None else first[:, pairs]
        sums[:, i] += xp.sum(to_first, axis=1)
    return sums


def n_classes_of(scores: Any) -> int:
    """Return the number of classes, given scores with a column for each pair."""
    return (1 + int(np.sqrt(1 + 8 * scores.shape[-1]))) // 2


@lru_cache(maxsize=8)
def _ends(n_classes: int) -> list[Array]:
    """Return indicator matrices of the first and of the second class of each pair."""
    return [
        (classes[:, None] == np.arange(n_classes)).astype(np.float64)
        for classes in np.triu_indices(n_classes, 1)
    ]


def leaders(votes: Array) -> Index:
    """Return the class with the most votes in each row, or -1 for an exact tie."""
    winner: Index = votes.argmax(axis=1)
    last = votes.shape[1] - 1 - votes[:, ::-1].argmax(axis=1)
    winner[winner != last] = -1
    return winner
