"""Rules of pairs of classes, with the moments of their scores."""

from __future__ import annotations

import numpy as np

from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.rounding import NO_SPREAD
from heterolda.kernels.ordered_scores import linear_scores
from heterolda.solvers import all_pairs
from heterolda.solvers.rules import Rules, Status
from heterolda.statistics.rows import Rows


def scored_rules(
    rows: Rows, coef: Array, intercept: Array, error: Array, n_iter: Index
) -> Rules:
    """Return rules with the means and deviations of their scores in both classes.

    The divisor of a variance is the total weight minus one, but at least half of the
    total weight.
    """
    pairs = all_pairs(len(rows.classes))
    means, deviations = np.empty((2, len(pairs), 2))
    for k in range(len(rows.classes)):
        part = rows.take(np.flatnonzero(rows.codes == k))
        index, place = np.nonzero(pairs == k)
        scores = linear_scores(part.X, coef[index].T, intercept[index])
        weight = part.frequencies
        total = weight.sum()
        means[index, place] = mean = weight @ scores / total
        with np.errstate(over="ignore"):
            squares = weight @ (scores - mean) ** 2 / max(total - 1, total / 2)
        deviations[index, place] = np.sqrt(squares)
    distance = np.abs(means[:, 1] - means[:, 0])[:, None]
    deviations = np.maximum(deviations, NO_SPREAD * distance)
    trivial = ~np.any(coef, axis=1) | np.any(deviations == 0, axis=1)
    return Rules(
        coef=coef,
        intercept=intercept,
        error=error,
        gap=np.full(len(coef), np.nan),
        n_iter=n_iter,
        status=np.where(trivial, Status.TRIVIAL, Status.BEST_TRIAL),
        means=means,
        deviations=deviations,
    )
