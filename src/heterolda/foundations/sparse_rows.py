"""Rows that may be sparse."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from scipy.sparse import issparse


def dense(rows: Any) -> NDArray[Any]:
    """An array of rows that may be sparse."""
    array: NDArray[Any] = rows.toarray() if issparse(rows) else rows
    return array
