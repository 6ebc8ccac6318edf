"""Votes of the rules between all pairs of classes.

The pairs (i, j), i < j, come in the order (0, 1), (0, 2), ..., (1, 2), ... A positive
score is a vote for j, any other one for i. The weights of the votes must be such that
sums of them are exact, so that it does not matter how they are added.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import heterolda.kernels as kernels
from heterolda.foundations.arrays import (
    Array,
    Index,
    put_like,
    xp_of,
)

# Up to this many classes, sums over pairs are products with a matrix.
_FEW_CLASSES = 50


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
        """Return a guess by the sum of a class's scores, each divided by its scale."""
        with np.errstate(all="ignore"):
            share = np.where(scale > 0, 1 / scale, 0.0)
            scores = np.column_stack([coef * share[:, None], intercept * share])
            guess = np.nan_to_num(pair_sums(scores.T)).T
        total: Array = pair_sums(weight[None], weight[None])[0]
        return cls(weight, total, guess[:, :-1].copy(), guess[:, -1].copy())


def vote_winners(X: Array, coef: Array, intercept: Array, ballot: Ballot) -> Index:
    """Return the class of most votes for each row, and -1 where several have most.

    Compiled only: few rules are evaluated, all those of one class, then of the class
    that can still get most votes, until one whose votes are known exceeds what all
    others can get. Scores are those of `ordered_scores`, so the winners are those of
    all rules.
    """
    winners = np.empty(len(X), np.int64)
    kernels.compiled.vote_winners(kernels.ready(X), coef, intercept, *ballot, winners)
    return winners


def count_votes(scores: Any, weight: Array) -> Any:
    """Return sums of votes, of shape (n_samples, n_classes).

    Each rule has a weight, or each rule in each row.
    """
    wins = xp_of(scores).where(scores > 0, put_like(weight, scores), 0.0)
    weight = np.atleast_2d(weight)
    # The votes if no score is positive, and what positive ones move.
    return put_like(pair_sums(0.0 * weight, weight), scores) + pair_sums(wins)


def winners_of_votes(votes: Any, scores: Any) -> Any:
    """Return the class of most votes; exact ties go to the larger sum of scores.

    Of classes that are tied in their scores, too, the first wins.
    """
    xp = xp_of(votes)
    leads = votes == xp.max(votes, axis=1, keepdims=True)
    if int(xp.count_nonzero(leads)) == votes.shape[0]:
        return xp.argmax(votes, axis=1)
    confidence = pair_sums(scores, in_order=True)
    return xp.argmax(xp.where(leads, confidence, -xp.inf), axis=1)


def pair_sums(second: Any, first: Any = None, *, in_order: bool = False) -> Any:
    """Return sums over the pairs of each class, of shape (n_samples, n_classes).

    Columns of `second` are added to the second class of each pair, those of `first` to
    the first; without the latter, those of `second` are subtracted there. In order, a
    sum depends only on its row, and not in its last bit on the neighboring rows.
    """
    xp, n_classes = xp_of(second), n_classes_of(second)
    if n_classes <= _FEW_CLASSES and not in_order:
        to_first, to_second = (put_like(one, second) for one in _ends(n_classes))
        if first is None:
            return second @ (to_second - to_first)
        return second @ to_second + first @ to_first
    sums, start = (
        xp.zeros_like(second[:, :1]) + put_like(np.zeros(n_classes), second),
        0,
    )
    for i in range(n_classes - 1):
        pairs = slice(start, start := start + n_classes - 1 - i)
        sums[:, i + 1 :] += second[:, pairs]
        to_first = -second[:, pairs] if first is None else first[:, pairs]
        sums[:, i] += xp.sum(to_first, axis=1)
    return sums


def n_classes_of(scores: Any) -> int:
    """Return the number of classes whose pairs are the columns."""
    return (1 + int(np.sqrt(1 + 8 * scores.shape[-1]))) // 2


@lru_cache(maxsize=8)
def _ends(n_classes: int) -> list[Array]:
    """Return matrices of ones where a class is the first, or the second, of a pair."""
    return [
        (one[:, None] == np.arange(n_classes)).astype(np.float64)
        for one in np.triu_indices(n_classes, 1)
    ]


def leaders(votes: Array) -> Index:
    """Return the class of most votes in each row, and -1 for an exact tie."""
    winner: Index = votes.argmax(axis=1)
    last = votes.shape[1] - 1 - votes[:, ::-1].argmax(axis=1)
    winner[winner != last] = -1
    return winner
