"""Algorithm 2 where the rows are; its twin in NumPy and C has the conventions.

For each row the block keeps t = w.x - w0 at the rule that the search is at, and the
scale c = max_i |ref_i x_i| at a reference rule, but no terms: a move v_i -> v_i + delta
adds delta x_i to all t, a pass over one column.

Close rows. Let s_i = step |v_i| and R = max_i |s_i / ref_i|. A neighbour adds +-s_i x_i
to t, at most R c. So only rows with |t| <= R c can change sides, up to rounding; these
are gathered, and s_i x_i is compared with t for all i. R c is not the largest |s_i x_i|
after some moves, and too many rows are gathered. Once the rows in excess add up to a
share of all, the rule becomes the reference.

Rounding, in units of c, with u = 2^-53, S = d + 1 + sum |p_i - 1| the largest so far,
and L moves since the reference. The canonical sum is off by at most 1.01 d u (S + R),
and t by at most 1.01 (d + 2) u (S + R) at the reference, in any order of summation and
with fused operations or without; each move adds at most 4 u (S + R). The coordinate
v_i +- s_i, the product s_i x_i, c, R, and the sums of |t| and the bound are off by less
than 16 u (S + R) together. All this is less than the bound 4 u (d + L + 8) (S + R).
Where |t| and |s_i x_i| differ by less, the row is in doubt, and so are rows with c out
of range: all their neighbours are evaluated canonically. Products and sums are separate
operations there, so that no compiler fuses them.

All rows are read in double precision; those in single precision are converted as they
are read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heterolda.foundations.devices import Device, blocks, to_host
from heterolda.foundations.types import Array, Count, Mask
from heterolda.kernels.algorithm2 import LARGEST_SCALE, SMALLEST_SCALE, Block

# Numbers of an array of intermediate results.
_NUMBERS_AT_A_TIME = 2**24
# Rows that may be gathered in excess, as a share of all, until c is found anew: that
# reads all rows about as often as half of them are read once they are gathered.
_EXCESS = 0.5


def signed_weights(device: Device, first: Mask, weight: Count) -> Any:
    """Weights on the device, negative for rows that are not `first`.

    They may be none. Their sum is less than 2**53, so that doubles are exact.
    """
    xp, there = device.xp, device.put(first)
    ones = xp.ones(there.shape, dtype=xp.float64, device=device.device)
    sizes = device.put(weight, xp.float64) if len(weight) else ones
    return xp.where(there, sizes, -sizes)


def count_errors(device: Device, X: Any, weight: Any, v: Array) -> int:
    """Errors of v, from scratch, in units of the signed weights."""
    with np.errstate(all="ignore"):  # some devices are NumPy in disguise
        return int(_canonical_errors(device, X, weight, v[None])[0])


def scores(device: Device, X: Any, v: Array) -> Any:
    """w.x - w0 of each row."""
    with np.errstate(all="ignore"):
        return _scores_and_scales(device, X, v)[0]


class DeviceBlock(Block):
    """Rows on a device, all of them in one block."""

    def __init__(self, device: Device, X: Any, weight: Any):
        self.device, self.X, self.weight = device, X, weight
        self._is_stale = True

    def _find_changes(
        self, v: Array, step: float, leniency: float, changes: Count
    ) -> None:
        """How each neighbour changes the errors."""
        xp, n = self.device.xp, self.X.shape[0]
        sizes = step * np.abs(v)
        self._go_to(v)
        R, bound = self._reach(v, sizes)
        close = xp.nonzero(~(xp.abs(self.t) > self.c * (R + bound)))[0]
        k = int(close.shape[0])
        self.touched += k
        self._count_excess(k, n)
        parts = [close[some] for some in _slices(k, len(v))]
        found = [self._changes(rows, sizes, bound) for rows in parts]
        total = np.zeros(2 * len(v) + 1)
        if found:
            stacked = xp.stack([xp.concat(numbers) for numbers, _ in found])
            total += to_host(xp.sum(stacked, axis=0))
        plus, minus = total[:-1].reshape(2, -1)
        changes[0::2], changes[1::2] = plus, minus
        if total[-1] > 0:
            for rows, (_, in_doubt) in zip(parts, found, strict=True):
                doubtful = xp.take(rows, xp.nonzero(in_doubt)[0])
                changes += self._canonical_changes(doubtful, v, sizes)

    def _go_to(self, v: Array) -> None:
        """Move t to the rule v; make that the reference if c is stale."""
        moved = [] if self._is_stale else np.flatnonzero(v != self.at).tolist()
        if self._is_stale or len(moved) > 1 or not np.isfinite(v).all():
            self.t, self.c = _scores_and_scales(self.device, self.X, v)
            self.reference, self.at = v.copy(), v.copy()
            self._is_stale, self.moves, self.largest = False, 0, 0.0
            self.at_first, self.excess = -1, 0
        for i in moved[:1]:
            delta = float(v[i] - self.at[i])
            if i == 0:
                self.t -= delta
            elif self.device.is_torch and self.X.dtype == self.t.dtype:  # in one pass
                self.t.add_(self.X[:, i - 1], alpha=delta)
            else:
                self.t += self.device.as_doubles(self.X[:, i - 1]) * delta
            self.at[i] = v[i]
            self.moves += 1

    def _reach(self, v: Array, sizes: Array) -> tuple[float, float]:
        """R and the bound on the rounding, both in units of c."""
        used = self.reference != 0
        reference = np.abs(self.reference[used])
        R = float((sizes[used] / reference).max(initial=0.0))
        D = float((np.abs(v[used] - self.reference[used]) / reference).sum())
        self.largest = max(self.largest, len(v) + D + R)
        return R, 2.0**-51 * (len(v) + self.moves + 8) * self.largest

    def _count_excess(self, k: int, n: int) -> None:
        """Add up the close rows beyond those that the reference had itself."""
        if self.at_first < 0:
            self.at_first = k
        self.excess += max(0, k - self.at_first)
        self._is_stale = self.excess > _EXCESS * n

    def _changes(self, rows: Any, sizes: Array, bound: float) -> tuple[list[Any], Any]:
        """Changes by close rows, first plus, then minus, and the number in doubt.

        Rows in doubt, the second result, have no part in the changes.
        """
        xp, zero = self.device.xp, 0.0
        t, doubt = xp.take(self.t, rows), xp.take(self.c, rows) * bound
        size = xp.abs(t)
        low, high, sign = size - doubt, size + doubt, xp.sign(t)
        # How far a neighbour moves a row away from the threshold.
        away = self.device.as_doubles(xp.take(self.X, rows, axis=0))
        away = away * self.device.put(sizes[1:])
        away *= sign[:, None]
        toward, beyond = away < -high[:, None], away > high[:, None]
        in_doubt = (toward != (away <= -low[:, None])) | (
            beyond != (away >= low[:, None])
        )
        offset = float(sizes[0])
        crosses = high < offset
        certain = (size > doubt) & (crosses == (low <= offset))
        in_doubt = xp.any(in_doubt, axis=1) | ~certain
        # What a row adds to the errors if it changes sides.
        gain = xp.take(self.weight, rows) * sign
        gain = xp.where(in_doubt, xp.zeros_like(gain), gain)
        none = xp.zeros_like(gain)
        of_offset = xp.where(crosses, gain, none)
        above = xp.where(sign > zero, of_offset, none)
        plus = xp.sum(xp.where(toward, gain[:, None], none[:, None]), axis=0)
        minus = xp.sum(xp.where(beyond, gain[:, None], none[:, None]), axis=0)
        plus_offset, both = xp.sum(above), xp.sum(of_offset)
        n_in_doubt = xp.sum(xp.astype(in_doubt, gain.dtype))
        one = (1,)
        return [
            xp.reshape(plus_offset, one),
            plus,
            xp.reshape(both - plus_offset, one),
            minus,
            xp.reshape(n_in_doubt, one),
        ], in_doubt

    def _canonical_changes(self, rows: Any, v: Array, sizes: Array) -> Count:
        """Changes by rows in doubt."""
        rules = np.repeat(v[None], 2 * len(v) + 1, axis=0)
        for i, size in enumerate(sizes):
            rules[2 * i + 1, i] += size
            rules[2 * i + 2, i] -= size
        take = self.device.xp.take
        errors = np.zeros(len(rules), dtype=np.int64)
        for some in _slices(int(rows.shape[0]), self.X.shape[1]):
            X = take(self.X, rows[some], axis=0)
            weight = take(self.weight, rows[some])
            errors += _canonical_errors(self.device, X, weight, rules)
        return errors[1:] - errors[0]


def _canonical_errors(device: Device, X: Any, weight: Any, rules: Array) -> Count:
    """Errors of each rule, on sides by sums from left to right."""
    xp = device.xp
    offsets, *coefficients = (device.put(one) for one in rules.T)
    total = np.zeros(len(rules), dtype=np.int64)
    for some in _slices(X.shape[0], len(rules)):
        rows, own = X[some, :], weight[some]
        sums = device.as_doubles(rows[:, :1]) * coefficients[0]
        for k in range(1, X.shape[1]):
            product = device.as_doubles(rows[:, k : k + 1]) * coefficients[k]
            sums += product
        wrong = (sums >= offsets) != (own > 0.0)[:, None]
        cost = xp.abs(own)[:, None]
        errors = xp.sum(xp.where(wrong, cost, xp.zeros_like(cost)), axis=0)
        total += to_host(errors).astype(np.int64)
    return total


def _scores_and_scales(device: Device, X: Any, v: Array) -> tuple[Any, Any]:
    """Scores t and scales c at the reference v; c is infinite if out of range."""
    xp, finite = device.xp, bool(np.isfinite(v).all())
    normal, offset = device.put(v[1:]), float(v[0])
    t, c = (xp.empty(X.shape[0], dtype=xp.float64, device=device.device) for _ in "tc")
    for some in _slices(X.shape[0], X.shape[1]):
        terms = device.as_doubles(X[some, :]) * normal
        t[some] = xp.sum(terms, axis=1) - offset
        scales = xp.max(xp.abs(terms), axis=1)
        scales = xp.where(
            scales > abs(offset), scales, xp.full_like(scales, abs(offset))
        )
        in_range = (scales >= SMALLEST_SCALE) & (scales <= LARGEST_SCALE) & finite
        c[some] = xp.where(in_range, scales, xp.full_like(scales, np.inf))
    return t, c


def _slices(n: int, width: int) -> list[slice]:
    """Rows, so many at a time that intermediate results stay small."""
    return blocks(n, max(1, _NUMBERS_AT_A_TIME // width))
