"""A number for each row of data that depends on its values only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import heterolda.kernels as kernels
from heterolda.foundations.types import Array

Hashes = NDArray[np.uint64]

_FACTORS = np.random.default_rng(1936).integers(2**63, size=4096, dtype=np.uint64)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def row_hashes(X: Array) -> Hashes:
    """Evenly spread numbers, equal for equal rows."""
    d = X.shape[1]
    factors = np.resize(_FACTORS, d) * np.uint64(2) + np.uint64(1)
    factors += np.arange(d, dtype=np.uint64) // np.uint64(4096) * np.uint64(2)
    if kernels.compiled is None:
        return row_hashes_numpy(X, factors)
    hashes = np.empty(len(X), np.uint64)
    kernels.compiled.row_hashes(kernels.ready(X), factors, hashes)
    return hashes


def row_hashes_numpy(X: Array, factors: Hashes) -> Hashes:
    """The sum of factors times bits, mixed."""
    # Adding zero makes one number of 0.0 and -0.0.
    bits = np.add(X, 0.0, order="C").view(np.uint64)
    bits ^= bits >> _HALF  # the low bits of round numbers are all zeros
    hashes: Hashes = bits @ factors
    hashes ^= hashes >> _HALF
    hashes *= _MIX
    hashes ^= hashes >> _HALF
    return hashes
