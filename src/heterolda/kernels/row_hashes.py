"""A number for each row of data that depends on its values only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import heterolda.kernels as kernels
from heterolda.foundations.types import Array, Index

Hashes = NDArray[np.uint64]

_FACTORS = np.random.default_rng(1936).integers(2**63, size=4096, dtype=np.uint64)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


# Numbers that are taken at a time where rows are not as the kernel needs them.
_BLOCK = 1 << 16


def row_hashes(X: NDArray[Any], rows: Index | None = None) -> Hashes:
    """Evenly spread numbers, equal for equal rows, of all rows or of some.

    They do not depend on the type of the numbers.
    """
    n, d = X.shape if rows is None else (len(rows), X.shape[1])
    factors = np.resize(_FACTORS, d) * np.uint64(2) + np.uint64(1)
    factors += np.arange(d, dtype=np.uint64) // np.uint64(4096) * np.uint64(2)
    hashes = np.empty(n, np.uint64)
    compiled = kernels.compiled
    ready = X.dtype == np.float64 and X.flags.c_contiguous and X.flags.aligned
    if compiled is not None and ready:
        some = (
            None if rows is None else kernels.ready(rows.astype(np.int64, copy=False))
        )
        compiled.row_hashes(X, some, factors, hashes)
        return hashes
    step = max(1, _BLOCK // max(d, 1))
    for start in range(0, n, step):
        here = slice(start, start + step)
        block = X[here] if rows is None else X[rows[here]]
        block = np.require(block, np.float64, "CA")
        if compiled is None:
            hashes[here] = row_hashes_numpy(block, factors)
        else:
            compiled.row_hashes(block, None, factors, hashes[here])
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
