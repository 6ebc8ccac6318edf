"""Distinct labels, and the place of each label among them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import heterolda.kernels as kernels
from heterolda.foundations.types import Index


def label_codes(y: NDArray[Any]) -> tuple[NDArray[Any], Index]:
    """The distinct labels of y, sorted, and the index of each label there.

    Labels are numbers that are not NaN, or text; objects are of type str.
    """
    if y.dtype.kind == "O":
        return _objects(y)
    if kernels.compiled is None or y.dtype.kind not in "iufbU" or not y.itemsize:
        return label_codes_numpy(y)
    bits = kernels.ready(y)
    if y.dtype.kind == "f":
        bits = bits + 0.0  # makes one number of 0.0 and -0.0
    elif y.dtype.kind != "U" and y.itemsize < 8:
        bits = bits.astype(np.int64)  # for which there is a faster loop
    codes, firsts = np.empty(len(y), np.int64), np.empty(len(y), np.int64)
    found = np.zeros(1, np.int64)
    rows = bits.view(np.uint8).reshape(len(y), bits.itemsize)
    kernels.compiled.label_codes(rows, codes, firsts, found)
    labels = y[firsts[: int(found[0])]]
    del firsts, bits, rows  # as large as the codes
    return _sorted(labels, codes)


def label_codes_numpy(y: NDArray[Any]) -> tuple[NDArray[Any], Index]:
    """The same by sorting."""
    labels, codes = np.unique(y, return_inverse=True)
    return labels, codes.astype(np.int64, copy=False)


def _objects(y: NDArray[Any]) -> tuple[NDArray[Any], Index]:
    """Text has its hashes already."""
    items = y.tolist()
    place = {label: k for k, label in enumerate(dict.fromkeys(items))}
    codes = np.fromiter(map(place.__getitem__, items), np.int64, len(items))
    labels = np.empty(len(place), object)
    labels[:] = list(place)
    return _sorted(labels, codes)


def _sorted(labels: NDArray[Any], codes: Index) -> tuple[NDArray[Any], Index]:
    """Distinct labels in order, and codes that go with them, written over the old."""
    order = labels.argsort()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    rank.take(codes, out=codes, mode="clip")  # the mode needs no copy
    return labels[order], codes
