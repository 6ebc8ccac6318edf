"""Whether the error that a model expects of itself is the one at rows held out."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from heterolda.experiments.results import Row

# The line of all sets.
ALL = "all"


class Honesty(NamedTuple):
    """Errors in % on a set, or on all.

    Attributes
    ----------
    n_fits : int
        Number of fits that claim something.
    claimed, error : float
        Mean of what they expected, and of the errors at rows held out.
    difference : float
        The first less the second: below zero it was too good to be true.
    standard_error : float
        That of the difference: over the shuffles of a set, or the folds of a single
        one; for all sets over the sets. NaN if there is only one.
    """

    n_fits: int
    claimed: float
    error: float
    difference: float
    standard_error: float


def claimed_error(model: Any) -> float:
    """Error that a fitted model expects at new rows, a fraction; NaN if it does not."""
    last = model[-1] if hasattr(model, "steps") else model
    return float(getattr(last, "held_out_error_", math.nan))


def honesty(rows: Iterable[Row]) -> dict[str, Honesty]:
    """Compare claims and errors of one method, by set and in all, each set alike.

    Parameters
    ----------
    rows : iterable of Row
        Fits of one method, with what they claimed as their Bayes error. Those that
        claimed nothing are left out.

    Returns
    -------
    dict
        Sets in the order of the rows and then `ALL`; empty if nothing was claimed.
    """
    fits: dict[str, dict[int, list[tuple[float, float]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in rows:
        if math.isfinite(row.bayes_error):
            pair = 100 * row.bayes_error, 100 * (1 - row.n_correct / row.n_test)
            fits[row.dataset][row.trial].append(pair)
    found = {}
    for dataset, trials in fits.items():
        units = [np.mean(folds, axis=0) for folds in trials.values()]
        if len(units) == 1:
            units = list(np.array(*trials.values()))
        found[dataset] = _joined(units, sum(map(len, trials.values())))
    if found:
        means = [np.array([one.claimed, one.error]) for one in found.values()]
        found[ALL] = _joined(means, sum(one.n_fits for one in found.values()))
    return found


def _joined(units: list[Any], n_fits: int) -> Honesty:
    """The mean over units that have a claim and an error each."""
    claimed, error = np.mean(units, axis=0).tolist()
    gaps = [unit[0] - unit[1] for unit in units]
    spread = math.nan
    if len(gaps) > 1:
        spread = float(np.std(gaps, ddof=1) / math.sqrt(len(gaps)))
    return Honesty(n_fits, claimed, error, claimed - error, spread)
