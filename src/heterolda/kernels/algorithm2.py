"""Loops of Algorithm 2: sides of rows, errors, and iterations of the search.

Conventions. v = (w0, w_1, ..., w_d), and x_0 = -1, so that v.x = w.x - w0. The side of
a row is *defined* by one canonical evaluation, `is_first`: the products w_k x_k are
added from left to right, each operation rounded to double precision, and the sum is
compared with w0. All other code here computes that side faster.

Terms. A block of rows keeps a reference rule ref, and for each row, with y = +-1 for
its class, the scale c = max_i |ref_i x_i| and the terms z_i = y ref_i x_i / c, none of
which exceeds 1. With p_i = v_i / ref_i the signed margin is M = sum_i p_i z_i, and
v_i +- step |v_i| moves it by +- r_i z_i with |r_i| = step |p_i|. (A zero coefficient
never moves: it has p_i = 1 and r_i = 0.) In C the terms are stored in single
precision, in tiles of rows with similar |M|.

Skipping. Let R = max |r_i|, and P the length of the path, the sum of all |changes of
p_i| since the reference. No neighbor changes the side of a row with |M| > R, and while
the path grows by s, |M| falls by at most s. So a tile with smallest |M| = q at
path P' is skipped, neither moved nor evaluated, as long as P + R < P' + q.

Rounding. Let u = 2^-53, e = 2^-24, D = sum |p_i - 1|, and L the number of moves since
the reference. As |z_i| <= 1, sum |p_i z_i| <= S = d + 1 + D, and S + R for neighbors.

* The canonical sum is off by at most 1.01 d u (S + R) (Higham 2002, section 4.2).
* The margin of the reference is off by at most 1.01 (d + 4) u (d + 1). Moves add
  the rounding of the terms, at most 1.01 e times the change of p, and at most
  4 u (S + R) each for the operations: 1.01 e P + (4 L + 1.01 (d + 4)) u (S + R).
  (S may have been larger on the way than now, but by at most P, and L u P is
  negligible compared with e P.)
* In single precision r_i z_i is off by at most 3.1 e R. The margin m is off by e |m|:
  at most 2 e R where |m| <= 2 R, and elsewhere at most 2 e (|m| - |r_i z_i|), which,
  like the rounding of the difference itself, is relative to the bounded quantity.
* The coordinate v_i +- step |v_i| is rounded too: at most 3 u (S + R).
* Products that underflow are off by less than 2^-1074 each, against c >= 2^-900.
  Rows with c out of range get zero margins and terms, and so are always in doubt.

All this is less than the bound 8 e R + 1.2 e P + 4 u (d + L + 8) (S + R) of `advance`.
So where ||m| - |r_i z_i|| exceeds it, the sign of m +- r_i z_i gives the side; all
other rows are evaluated canonically. Tiles are skipped with R plus the bound for R.

In NumPy the terms are in double precision, and every iteration computes the margins
again, for the rows whose |M| at the reference was below the horizon: no neighbor
changes the sides of the others as long as D + R plus the rounding stays below it. The
bound is then `rounding`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, Count, Mask

# The analysis above holds for scales within these limits.
_SMALLEST_SCALE = 2.0**-900
_LARGEST_SCALE = 2.0**900
# Number of steps to the horizon, and how many more at full leniency.
_STEPS = 2.0
_LENIENT_STEPS = 2.0

# Entries of the state of a search.
ITERATIONS, ERRORS, FEWEST, STALLED = range(4)


def is_first(X: Array, v: Array) -> Mask:
    """Return whether w.x >= w0 for each row, summed from left to right."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = v[1] * X[:, 0]
        for k in range(1, X.shape[1]):
            total += v[k + 1] * X[:, k]
    first: Mask = total >= v[0]
    return first


def count_errors(X: Array, first: Mask, weight: Count, v: Array) -> int:
    """Count the errors of v, or add the weights of the rows if there are any."""
    if kernels.compiled is None:
        return count_errors_numpy(X, first, weight, v)
    return int(kernels.compiled.algorithm2_errors(*_ready(X, first, weight, v)))


def count_errors_numpy(X: Array, first: Mask, weight: Count, v: Array) -> int:
    """Count the errors in NumPy."""
    wrong = is_first(X, v) != first
    return int(weight[wrong].sum() if len(weight) else np.count_nonzero(wrong))


def rounding(d: int, reach: float) -> float:
    """Bound the rounding of |M| and of the canonical sum, where D + R = reach."""
    return 2.0**-51 * (d + 8) * (d + 1 + reach)


def move(v: Array, changes: Count, step: float, state: Count, log: Count) -> None:
    """Move to the first neighbor with the fewest errors, and log the move.

    The iteration is counted last, so that an interrupt leaves a complete log.
    """
    winner = int(np.argmin(changes))
    i = winner // 2
    with np.errstate(over="ignore", invalid="ignore"):
        size = step * abs(v[i])
        v[i] = v[i] - size if winner % 2 else v[i] + size
    state[ERRORS] += changes[winner]
    state[STALLED] += 1
    if state[ERRORS] < state[FEWEST]:
        state[FEWEST] = state[ERRORS]
        state[STALLED] = 0
    log[:, state[ITERATIONS]] = state[ERRORS], winner
    state[ITERATIONS] += 1


def make_block(X: Array, first: Mask, weight: Count) -> Block:
    """Return a block of rows to search; the compiled form adds half their memory."""
    if kernels.compiled is None:
        return Block(X, first, weight)
    return _CompiledBlock(X, first, weight)


class Block:
    """Rows, and which of them are near the threshold of a reference rule; in NumPy.

    `near` has the indices of the rows whose |M| is below the horizon, in the order of
    |M|; `sizes` has their |M|, and `terms` of shape (d + 1, n) their terms.
    """

    touched = 0

    def __init__(self, X: Array, first: Mask, weight: Count):
        self.X, self.first = X, first
        # Their sum is less than 2**53, so float is exact.
        self.weight = weight.astype(float) if len(weight) else np.ones(len(X))
        self.horizon = -np.inf

    def run(
        self,
        v: Array,
        changes: Count,
        state: Count,
        log: Count,
        step: float,
        leniency: float,
        patience: int,
        until: int,
    ) -> None:
        """Iterate on this block alone, up to iteration `until`.

        With `until` zero, only compute the changes of the errors: a caller with several
        blocks adds them and moves. `leniency` is the share of unnecessary rows that may
        be touched before the rows are sorted again.
        """
        with np.errstate(all="ignore"):
            while state[FEWEST] > 0 and state[STALLED] < patience:
                self._find_changes(v, step, leniency, changes)
                if until > 0:
                    move(v, changes, step, state, log)
                if state[ITERATIONS] >= until:
                    break

    def _find_changes(
        self, v: Array, step: float, leniency: float, changes: Count
    ) -> None:
        """Compute the change of the errors for each neighbor."""
        if self.horizon < 0 or not self._ratios(v, step)[2] < self.horizon:
            self._refresh(v, (_STEPS + _LENIENT_STEPS * leniency) * step)
        p, r, reach = self._ratios(v, step)
        n = (
            int(np.searchsorted(self.sizes, reach))
            if reach < np.inf
            else len(self.near)
        )
        margins = p @ self.terms[:, :n]
        R = np.abs(r).max()
        bound = rounding(len(v) - 1, np.abs(p - 1).sum() + R)
        close = np.flatnonzero(~(np.abs(margins) > R + bound))
        self.touched += len(close)
        m, rows = margins[close], self.near[close]
        a = r[:, None] * self.terms[:, close]
        now, plus, minus = m < 0, m + a < 0, m - a < 0
        in_doubt = ~(np.abs(np.abs(m) - np.abs(a)) > bound)
        now = self._settle(now, rows, ~(np.abs(m) > bound), v)
        for i in np.flatnonzero(in_doubt.any(axis=1)):
            for wrong, sign in ((plus, 1), (minus, -1)):
                trial = v.copy()
                trial[i] += sign * (step * abs(v[i]))
                wrong[i] = self._settle(wrong[i], rows, in_doubt[i], trial)
        weight = self.weight[rows]
        changes[0::2] = plus @ weight - now @ weight
        changes[1::2] = minus @ weight - now @ weight

    def _settle(self, wrong: Mask, rows: Count, in_doubt: Mask, v: Array) -> Mask:
        """Replace the sides of the rows in doubt by canonical ones."""
        if in_doubt.any():
            rows = rows[in_doubt]
            wrong[in_doubt] = is_first(self.X[rows], v) != self.first[rows]
        return wrong

    def _ratios(self, v: Array, step: float) -> tuple[Array, Array, float]:
        """Return p, r, and the |M| from which on rows need no evaluation."""
        used = self.reference != 0
        p, r = np.ones(len(v)), np.zeros(len(v))
        np.divide(v, self.reference, out=p, where=used)
        np.divide(step * np.abs(v), self.reference, out=r, where=used)
        reach = float(np.abs(p - 1).sum() + np.abs(r).max())
        return p, r, reach + rounding(len(v) - 1, reach)

    def _refresh(self, v: Array, horizon: float) -> None:
        """Make v the reference, and keep the rows below the horizon."""
        sizes, scales = _sizes_and_scales(self.X, v)
        near = np.flatnonzero(sizes < horizon)
        self.near = near[np.argsort(sizes[near])]
        self.horizon = np.inf if len(near) == len(sizes) else horizon
        self.sizes, scales = sizes[self.near], scales[self.near]
        scales = np.where(self.first[self.near], scales, -scales)
        self.terms = np.empty((len(v), len(near)))
        self.terms[0] = -v[0] * scales
        np.multiply(v[1:, None] * self.X[self.near].T, scales, out=self.terms[1:])
        self.terms[:, scales == 0] = 0.0
        self.reference = v.copy()


def _sizes_and_scales(X: Array, v: Array) -> tuple[Array, Array]:
    """Return |M| and 1 / c of each row at v, both zero where c is out of range."""
    total, c = np.full(len(X), -v[0]), np.full(len(X), np.abs(v[0]))
    with np.errstate(all="ignore"):
        for k in range(X.shape[1]):
            term = v[k + 1] * X[:, k]
            total += term
            np.maximum(c, np.abs(term), out=c)
        in_range = (c >= _SMALLEST_SCALE) & (c <= _LARGEST_SCALE)
        in_range &= np.abs(v).sum() < np.inf
        scales = np.where(in_range, 1 / c, 0.0)
        return np.where(in_range, np.abs(total) / c, 0.0), scales


class _CompiledBlock(Block):
    """Rows in C; see algorithm2.c."""

    def __init__(self, X: Array, first: Mask, weight: Count):
        self._block = kernels.compiled.algorithm2_block(*_ready(X, first, weight))

    def run(self, *arguments: Any) -> None:
        """Iterate, as in `Block.run`."""
        self.touched += kernels.compiled.algorithm2_run(self._block, *arguments)


def _ready(X: Array, first: Mask, weight: Count, *others: Array) -> list[Any]:
    """Return arrays as the compiled kernels need them; None for empty weights."""
    arrays = X, first, weight if len(weight) else None, *others
    return [kernels.ready(array) for array in arrays]
