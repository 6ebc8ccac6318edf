"""The rows of each class one after the other."""

from __future__ import annotations

import numpy as np

import heterolda.kernels as kernels
from heterolda.foundations.types import Array, Index


def class_order(
    codes: Index, weight: Array | None, n_classes: int
) -> tuple[Index, Index]:
    """Indices of the rows of all classes, and bounds of those of each class.

    `codes` are the classes of the rows, as int64. Rows of weight zero are left out.
    """
    if kernels.compiled is None:
        return class_order_numpy(codes, weight, n_classes)
    order = np.empty(len(codes), np.int64)
    bounds = np.empty(n_classes + 1, np.int64)
    if weight is not None:
        weight = np.require(weight, None, "CA")
    kernels.compiled.class_order(np.ascontiguousarray(codes), weight, order, bounds)
    return order[: bounds[-1]], bounds


def class_order_numpy(
    codes: Index, weight: Array | None, n_classes: int
) -> tuple[Index, Index]:
    """The same by sorting; codes of one or two bytes sort in linear time."""
    small = codes.astype(np.min_scalar_type(max(n_classes - 1, 0)))
    order = small.argsort(kind="stable")
    if weight is not None:
        order = order[weight[order] > 0]
    counts = np.bincount(codes[order], minlength=n_classes)
    return order, np.append(0, counts.cumsum())
