"""A few rows of each class, chosen where the rows are by their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from heterolda.foundations.devices import Device, blocks, to_host
from heterolda.foundations.types import Array, Index

# Rows of which the values of a feature are compared, and the share that must differ if
# the feature alone is to tell rows apart.
_ROWS, _DISTINCT = 129, 0.98
# An odd number to multiply bits with, and the lower half of them.
_FACTOR = 0x1E3779B97F4A7C15
_HALF = 0xFFFFFFFF
# Rows that are looked at at a time, so that no copy of X is made.
_BLOCK = 1 << 23
# How often the share of rows is corrected, where there are copies.
_TRIALS = 6


def class_counts(device: Device, codes: Any, weight: Any, n_classes: int) -> Index:
    """Number of rows of each class, in NumPy; those of weight zero do not count."""
    xp = device.xp
    if weight is not None:
        codes = xp.where(weight > 0, codes, n_classes)
    kind = xp.uint8 if n_classes < 255 else xp.int32
    ends = xp.arange(n_classes, dtype=kind, device=device.device)
    ordered = xp.sort(device.astype(codes, kind))
    last = to_host(xp.searchsorted(ordered, ends, side="right"))
    return np.diff(last, prepend=0)


def sample_rows(
    device: Device, X: Any, codes: Any, weight: Any, counts: Index, most: int
) -> tuple[Index, Index]:
    """Indices of about so many rows of each class, class by class, and their classes.

    `codes` and `weight` are on the device; `counts` has the rows of each class, in
    NumPy. Rows of weight zero are not chosen. What counts are the hashes of the values
    of one feature, or of a sum of all if no feature has a value of its own in nearly
    every row: so the rows do not depend on their order, but they are not those of
    `row_hashes`. Copies are chosen together, and may make a sample large.
    """
    share = np.where(counts > most, most / np.maximum(counts, 1), 1.0)
    feature = _telling_feature(device, X)
    for _ in range(_TRIALS):
        rows, own = _candidates(device, X, codes, weight, share, feature)
        found = np.bincount(own, minlength=len(counts))
        few, many = found < most / 2, found > 2 * most
        off = (share < 1) & (few | many)
        if not off.any():
            break
        # There are copies: the share that was found says how to go on.
        factor = np.clip(most / np.maximum(found, 1), 1 / 16, 16)
        share = np.where(off, np.minimum(share * factor, 1.0), share)
    order = np.argsort(own.astype(np.uint16), kind="stable")
    return rows[order], own[order]


def _candidates(
    device: Device, X: Any, codes: Any, weight: Any, share: Array, feature: int | None
) -> tuple[Index, Index]:
    """Rows whose hashes are among this share of all of their class, and the classes."""
    xp, found = device.xp, []
    lowest, highest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    limits = [lowest + int(2.0**64 * part) if part < 1 else highest for part in share]
    limit = device.put(np.array(limits, np.int64))
    for here in blocks(X.shape[0], _BLOCK):
        own = device.astype(codes[here], xp.int64)
        hashes = _hashes(device, _key(device, X[here, :], feature))
        mask = hashes <= xp.take(limit, own)
        if weight is not None:
            mask = mask & (weight[here] > 0)
        rows = xp.nonzero(mask)[0]
        found.append([to_host(rows) + here.start, to_host(xp.take(own, rows))])
    rows, own = map(np.concatenate, zip(*found, strict=True))
    return rows, own


def _telling_feature(device: Device, X: Any) -> int | None:
    """A feature that has a value of its own in nearly every row, if there is one."""
    n = X.shape[0]
    places = np.unique(np.linspace(0, n - 1, min(_ROWS, n)).astype(np.int64))
    some = to_host(device.xp.take(X, device.put(places), axis=0))
    distinct = np.count_nonzero(np.diff(np.sort(some, axis=0), axis=0), axis=0) + 1
    best = int(np.argmax(distinct))
    return best if distinct[best] >= _DISTINCT * len(places) else None


def _key(device: Device, X: Any, feature: int | None) -> Any:
    """A number for each row, the same for equal rows and for few others."""
    if feature is not None:
        return device.astype(X[:, feature], device.floats)
    factors = device.put(np.random.default_rng(1936).uniform(1, 2, X.shape[1]))
    return device.xp.matmul(device.astype(X, device.floats), factors)


def _hashes(device: Device, key: Any) -> Any:
    """Evenly spread numbers of 64 bits, with a sign, equal for equal keys."""
    bits = device.bits(key + 0.0)  # which makes one number of 0.0 and -0.0
    if bits is None:  # by way of NumPy
        return device.put(
            _mixed((to_host(key).astype(np.float64) + 0.0).view(np.int64))
        )
    return _mixed(bits)


def _mixed(bits: Any) -> Any:
    """Bits of which the first depend on all; products overflow, as they should."""
    return (bits ^ ((bits >> 32) & _HALF)) * _FACTOR
