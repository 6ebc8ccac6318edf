"""Compare methods over data sets by their ranks.

Friedman's test asks whether any methods differ, and Nemenyi's critical difference which
ones; see J. Demsar (2006), "Statistical comparisons of classifiers over multiple data
sets", Journal of Machine Learning Research 7, 1-30.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from heterolda.foundations.arrays import Array


@dataclass(frozen=True)
class Comparison:
    """Average ranks of methods, and which of them differ."""

    methods: list[str]  # from the best average rank to the worst
    ranks: Array  # the average ranks in the same order; 1 is the best
    chi_square: float  # Friedman's, corrected for ties; NaN for two methods
    p_value: float  # NaN for two methods
    critical_difference: float  # methods this far apart in average rank differ
    cliques: list[tuple[int, int]]  # first and last index of methods that do not differ


def critical_difference(n_methods: int, n_datasets: int, alpha: float = 0.05) -> float:
    """Return Nemenyi's critical difference of average ranks, q sqrt(k (k + 1) / (6 N)).

    Here q is the upper quantile of the studentized range of k values with infinitely
    many degrees of freedom, divided by sqrt(2).
    """
    k = n_methods
    q = studentized_range.ppf(1 - alpha, k, np.inf) / math.sqrt(2)
    return float(q * math.sqrt(k * (k + 1) / (6 * n_datasets)))


def compare_ranks(methods: list[str], scores: Array, alpha: float = 0.05) -> Comparison:
    """Compare methods by scores of shape (n_datasets, n_methods); larger is better.

    Equal scores share their average rank. It takes at least two data sets and methods.
    """
    n, k = scores.shape
    ranks = rankdata(-scores, axis=1).mean(axis=0)
    order = np.argsort(ranks, kind="stable")
    if k == 2:
        chi_square, p_value = math.nan, math.nan
    elif np.all(scores == scores[:, :1]):  # all tied: the correction is 0 / 0
        chi_square, p_value = 0.0, 1.0
    else:
        chi_square, p_value = map(float, friedmanchisquare(*scores.T))
    distance = critical_difference(k, n, alpha)
    return Comparison(
        methods=[methods[i] for i in order],
        ranks=ranks[order],
        chi_square=chi_square,
        p_value=p_value,
        critical_difference=distance,
        cliques=_cliques(ranks[order], distance),
    )


def _cliques(ranks: Array, distance: float) -> list[tuple[int, int]]:
    """Return the maximal runs of sorted ranks that span less than the distance."""
    last = np.searchsorted(ranks, ranks + distance, side="left") - 1
    groups: list[tuple[int, int]] = []
    for first, end in enumerate(last.tolist()):
        if end > first and (not groups or end > groups[-1][1]):
            groups.append((first, end))
    return groups
