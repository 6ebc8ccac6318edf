"""Sparse rows: in one form, and made dense a block at a time."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from scipy.sparse import issparse


def dense(rows: Any) -> NDArray[Any]:
    """An array of rows that may be sparse."""
    array: NDArray[Any] = rows.toarray() if issparse(rows) else rows
    return array


def without_duplicates(X: Any) -> Any:
    """Rows; if they are sparse, with one entry for each place and sorted indices."""
    if issparse(X) and not X.has_canonical_format:
        X = X.copy()  # not to change what belongs to the caller
        X.sum_duplicates()
    return X
