"""Ways of removing values, made from a seed: the same gaps for every method."""

from __future__ import annotations

import zlib

import numpy as np

# Shares of values that are removed at random.
RANDOM = {"random-5": 0.05, "random-20": 0.2, "random-40": 0.4}
# Gaps that depend on a partner, a column without gaps: shares where the partner is
# above its median, and elsewhere.
DEPENDENT, ABOVE, ELSEWHERE = "dependent", 0.4, 0.05
REGIMES = (*RANDOM, DEPENDENT)


def gaps(X: np.ndarray, name: str, regime: str, seed: int) -> np.ndarray:
    """Where values of a set are removed: of shape (n_rows, n_features)."""
    place = REGIMES.index(regime)
    rng = np.random.default_rng([seed, place, zlib.crc32(name.encode())])
    if regime in RANDOM:
        return rng.random(X.shape) < RANDOM[regime]
    order = rng.permutation(X.shape[1])
    partners, others = np.split(order, [len(order) // 2])
    # In turns, so that with an odd number of columns one partner has two.
    chosen = np.resize(partners, len(others))
    above = X[:, chosen] > np.median(X[:, chosen], axis=0)
    removed = np.zeros(X.shape, dtype=bool)
    shares = np.where(above, ABOVE, ELSEWHERE)
    removed[:, others] = rng.random(shares.shape) < shares
    return removed
