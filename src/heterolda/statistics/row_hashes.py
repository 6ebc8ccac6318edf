"""A number for each row of data that depends on its values only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from heterolda.foundations.types import Array, Index

Hashes = NDArray[np.uint64]

_FACTORS = np.random.default_rng(1936).integers(2**63, size=4096, dtype=np.uint64)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
# Numbers that are taken at a time.
_BLOCK = 1 << 16


def row_hashes(X: Any) -> Hashes:
    """Evenly spread numbers, equal for equal rows.

    They do not depend on the type of the numbers, nor on whether rows are sparse.
    """
    n, d = X.shape
    factors = np.resize(_FACTORS, d) * np.uint64(2) + np.uint64(1)
    factors += np.arange(d, dtype=np.uint64) // np.uint64(4096) * np.uint64(2)
    if issparse(X):
        X = X.copy()
        X.sum_duplicates()
        bits = _bits(X.data.astype(np.float64, copy=False))  # those of 0.0 are zeros
        return _mixed(csr_array((bits, X.indices, X.indptr), X.shape) @ factors)
    hashes = np.empty(n, np.uint64)
    step = max(1, _BLOCK // max(d, 1))
    for start in range(0, n, step):
        here = slice(start, start + step)
        hashes[here] = _mixed(_bits(X[here].astype(np.float64, copy=False)) @ factors)
    return hashes


def _bits(numbers: Array) -> Hashes:
    """The bits of numbers, spread downwards: the low ones of round numbers are 0."""
    # Adding zero makes one number of 0.0 and -0.0.
    bits = np.add(numbers, 0.0, order="C").view(np.uint64)
    bits ^= bits >> _HALF
    return bits


def _mixed(sums: Hashes) -> Hashes:
    """Numbers that are spread evenly, in place of sums that are not."""
    sums ^= sums >> _HALF
    sums *= _MIX
    sums ^= sums >> _HALF
    return sums


def fold_of(hashes: Hashes, n_folds: int) -> Index:
    """Return a fold for each row, the same for equal rows."""
    return (hashes % np.uint64(n_folds)).astype(np.intp)


def smallest(hashes: Hashes, most: int) -> NDArray[np.bool_]:
    """Which hashes are among so many smallest distinct ones."""
    n = most
    while n < len(hashes):
        low = np.sort(np.partition(hashes, n - 1)[:n])
        distinct = np.append(True, low[1:] != low[:-1])
        if np.count_nonzero(distinct) >= most:
            limit = low[distinct][most - 1]
            return np.asarray(hashes <= limit)
        n *= 4  # there are copies
    low = np.unique(hashes)
    return np.asarray(hashes <= low[min(most, len(low)) - 1 :][:1])
