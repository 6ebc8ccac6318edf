"""Votes of the rules between all pairs of classes.

The pairs (i, j), i < j, are in the order (0, 1), (0, 2), ..., (1, 2), ... A positive
score is a vote for j, any other a vote for i. Sums of the weights of votes must be
exact in floating point, so that their order does not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heterolda.foundations.arrays import Array, put_like, xp_of


def count_votes(scores: Any, weight: Array) -> Any:
    """Return sums of votes, of shape (n_samples, n_classes).

    `weight` has one entry per rule, or one per row and rule.
    """
    weights = put_like(weight, scores)
    wins = xp_of(scores).where(scores > 0, weights, 0.0)
    return pair_sums(wins, weights - wins)


def winners_of_votes(votes: Any, scores: Any) -> Any:
    """Return the class with the most votes in each row.

    Ties go to the largest sum of scores, and then to the first class.
    """
    xp = xp_of(votes)
    leads = votes == xp.max(votes, axis=1, keepdims=True)
    return xp.argmax(xp.where(leads, pair_sums(scores, -scores), -xp.inf), axis=1)


def pair_sums(second: Any, first: Any) -> Any:
    """Return sums over the pairs of each class, of shape (n_samples, n_classes).

    Columns of `second` are added to the second class of each pair, and those of `first`
    to the first class. A sum depends only on its row, down to the last bit.
    """
    xp, n_classes = xp_of(second), n_classes_of(second)
    sums = xp.zeros_like(second[:, :1]) + put_like(np.zeros(n_classes), second)
    start = 0
    for i in range(n_classes - 1):
        pairs = slice(start, start := start + n_classes - 1 - i)
        sums[:, i + 1 :] += second[:, pairs]
        sums[:, i] += xp.sum(first[:, pairs], axis=1)
    return sums


def n_classes_of(scores: Any) -> int:
    """Return the number of classes, given scores with a column for each pair."""
    return (1 + int(np.sqrt(1 + 8 * scores.shape[-1]))) // 2
