"""A few rows of each class, chosen where the rows are by their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from heterolda.foundations.arrays import Array, Count, Device, Index, blocks, to_host

# Rows that are looked at for features that tell them apart, the share of these in which
# a feature must differ, and how many such features are taken.
_ROWS, _TELLING, _FEATURES = 129, 0.97, 3
# Share of the rows of a sample that must differ.
_DISTINCT = 0.9
# An odd number to multiply bits with, and the lower half of them.
_FACTOR = 0x1E3779B97F4A7C15
_HALF = 0xFFFFFFFF
# Rows that are looked at at a time, so that no copy of X is made.
_BLOCK = 1 << 23


def sample_rows(
    device: Device, X: Any, codes: Any, weight: Any, counts: Index, most: int
) -> tuple[Index, Index]:
    """Indices of about so many rows of each class, class by class, and their classes.

    `codes` and `weight` are on the device; `counts` has the rows of each class, in
    NumPy. Rows of weight zero are not chosen. What counts are hashes of the values of
    some features, or of all if these do not tell rows apart: so the rows do not depend
    on their order, but they are not those of `row_hashes`. Where there are many copies
    of rows, these would be chosen together, and rows are chosen by their places.
    """
    share = np.where(counts > most, most / np.maximum(counts, 1), 1.0)
    for features in (_telling_features(device, X), range(X.shape[1]), None):
        if features is not None and not len(features):
            continue
        rows, own, hashes = _candidates(device, X, codes, weight, share, features)
        ordered = np.sort(hashes)
        distinct = np.count_nonzero(ordered[1:] != ordered[:-1]) + 1
        if distinct >= _DISTINCT * len(rows) or (share == 1).all():
            break
    order = np.argsort(own.astype(np.min_scalar_type(len(counts))), kind="stable")
    return rows[order], own[order]


def _candidates(
    device: Device, X: Any, codes: Any, weight: Any, share: Array, features: Any
) -> tuple[Index, Index, Count]:
    """Rows whose hashes are among this share of all, with their classes and hashes."""
    xp, found = device.xp, []
    lowest, highest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    limits = [lowest + int(2.0**64 * part) if part < 1 else highest for part in share]
    limit = device.put(np.array(limits, np.int64))
    for here in blocks(X.shape[0], _BLOCK):
        own = device.astype(codes[here], xp.int64)
        hashes = _hashes(device, _key(device, X, here, features))
        mask = hashes <= xp.take(limit, own)
        if weight is not None:
            mask = mask & (weight[here] > 0)
        rows = xp.nonzero(mask)[0]
        known = rows, xp.take(own, rows), xp.take(hashes, rows)
        found.append([to_host(one) for one in known])
        found[-1][0] = found[-1][0] + here.start
    rows, own, hashes = map(np.concatenate, zip(*found, strict=True))
    return rows, own, hashes


def _telling_features(device: Device, X: Any) -> list[int]:
    """Features that have a value of their own in nearly each of some rows."""
    n = X.shape[0]
    places = np.unique(np.linspace(0, n - 1, min(_ROWS, n)).astype(np.int64))
    some, n_rows = to_host(device.xp.take(X, device.put(places), axis=0)), len(places)
    changes = np.count_nonzero(np.diff(np.sort(some, axis=0), axis=0), axis=0)
    found: list[int] = np.flatnonzero(changes >= _TELLING * n_rows)[:_FEATURES].tolist()
    return found


def _key(device: Device, X: Any, here: slice, features: Any) -> Any:
    """A number for each row: a sum of features, or its place if there are none."""
    xp = device.xp
    if features is None:
        places = xp.arange(here.start, here.stop, device=device.device)
        return device.astype(places, device.floats)
    factors = np.random.default_rng(1936).uniform(1, 2, X.shape[1])
    if len(features) == X.shape[1]:
        rows = device.astype(X[here, :], device.floats)
        return xp.matmul(rows, device.put(factors))
    return sum(
        device.astype(X[here, j], device.floats) * float(factors[j]) for j in features
    )


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
