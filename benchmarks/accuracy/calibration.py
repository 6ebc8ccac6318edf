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
        probability and the share of hits. Rows of equal probability, which may fall
        into several bins, count with their common share of hits: in which order they
        stand says nothing.
    """
    values, places, counts = np.unique(top, return_inverse=True, return_counts=True)
    return _error(values, counts, np.bincount(places, hits))


def perfect_error(top: Any) -> float:
    """What `calibration_error` is on average if the probabilities are true."""
    values, counts = np.unique(top, return_counts=True)
    random = np.random.default_rng(0)
    draws = [
        _error(values, counts, random.binomial(counts, values)) for _ in range(DRAWS)
    ]
    return float(np.mean(draws))


def _error(values: Any, counts: Any, hits: Any) -> float:
    """For sorted distinct probabilities, how many rows have each, and their hits."""
    n = int(counts.sum())
    starts = np.unique(np.arange(BINS) * n // BINS)
    excess = np.repeat(values - hits / counts, counts)
    return float(np.abs(np.add.reduceat(excess, starts)).sum() / n)
