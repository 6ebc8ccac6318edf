"""The calibration error of forecasts, and that of perfectly calibrated ones."""

from __future__ import annotations

from typing import Any

import numpy as np

BINS, DRAWS = 10, 50


def calibration_error(top: Any, hits: Any) -> float:
    """Expected calibration error of largest probabilities, in bins of equal count.

    Parameters
    ----------
    top : ndarray of shape (n_rows,)
        Largest probability of each row.
    hits : ndarray of shape (n_rows,)
        Whether its class was right.

    Returns
    -------
    float
        Mean over the rows of the distance, in the bin of a row, between the mean
        probability and the share of hits.
    """
    order = np.argsort(top, kind="stable")
    return _error(top[order], hits[order])


def perfect_error(top: Any) -> float:
    """What `calibration_error` is on average if the probabilities are true."""
    top = np.sort(top)
    random = np.random.default_rng(0)
    draws = [_error(top, random.random(len(top)) < top) for _ in range(DRAWS)]
    return float(np.mean(draws))


def _error(top: Any, hits: Any) -> float:
    """For sorted probabilities."""
    starts = np.unique(np.arange(BINS) * len(top) // BINS)
    return float(np.abs(np.add.reduceat(top - hits, starts)).sum() / len(top))
