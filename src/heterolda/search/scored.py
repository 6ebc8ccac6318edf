"""Rules of pairs of classes, with the moments of their scores on rows."""

from __future__ import annotations

import numpy as np

from heterolda.foundations.arrays import Array, Index
from heterolda.kernels.ordered_scores import linear_scores
from heterolda.solvers import all_pairs
from heterolda.solvers.rules import Rules
from heterolda.statistics.rows import Rows


def scored_rules(
    rows: Rows, coef: Array, intercept: Array, error: Array, n_iter: Index
) -> Rules:
    """Return rules with mean and deviation of their scores in both classes.

    The divisor of a variance is the total weight minus one, but at least half of the
    total weight.
    """
    pairs = all_pairs(len(rows.classes))
    means, deviations = np.empty((2, len(pairs), 2))
    for k in range(len(rows.classes)):
        part = rows.take(np.flatnonzero(rows.codes == k))
        own, place = np.nonzero(pairs == k)
        scores = linear_scores(part.X, coef[own].T, intercept[own])
        weight = part.frequencies
        total = weight.sum()
        means[own, place] = mean = weight @ scores / total
        with np.errstate(over="ignore"):
            squares = weight @ (scores - mean) ** 2 / max(total - 1, total / 2)
        deviations[own, place] = np.sqrt(squares)
    return Rules.from_projections(
        coef, intercept, error, n_iter=n_iter, means=means, deviations=deviations
    )
