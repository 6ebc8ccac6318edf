"""Loops of Algorithm 2: sides of rows, errors, and iterations of the search.

Conventions. v = (w0, w_1, ..., w_d), and x_0 = -1, so that v.x = w.x - w0. The side of
a row is *defined* by one canonical evaluation, `is_first`: the products w_k x_k are
added from left to right, each operation rounded to double precision, and the sum is
compared with w0. All other code here computes that side faster.

In NumPy, |v|.|x| bounds the terms of each row. A neighbor moves v.x by at most step
times that, and its computed value is off by at most a few roundings per feature. So
only rows near the threshold are evaluated for neighbors, and only rows so near that
rounding decides are evaluated canonically. The C form, see algorithm2.c, skips most
rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, Count, Index, Mask

# Rounding errors are relative to the terms if these are within these limits.
_SMALLEST_SIZE = 2.0**-900
_LARGEST_SIZE = 2.0**900

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
    wrong = is_first(X, v) != first
    return int(weight[wrong].sum() if len(weight) else np.count_nonzero(wrong))


def move(v: Array, changes: Count, step: float, state: Count, log: Count) -> None:
    """Move to the first neighbor with the fewest errors, and log the move."""
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
    state[ITERATIONS] += 1  # last, so that an interrupt leaves a complete log


def make_block(X: Array, first: Mask, weight: Count) -> Block:
    """Return a block of rows to search; the compiled form adds half their memory."""
    if kernels.compiled is None:
        return Block(X, first, weight)
    return _CompiledBlock(X, first, weight)


class Block:
    """Rows in NumPy."""

    def __init__(self, X: Array, first: Mask, weight: Count):
        self.X, self.first, self.sizes = X, first, np.abs(X)
        # Their sum is less than 2**53, so float is exact.
        self.weight = weight.astype(float) if len(weight) else np.ones(len(X))

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
        """Iterate up to iteration `until`.

        `leniency` is the share of unnecessary rows that the C form may touch before it
        sorts the rows again.
        """
        with np.errstate(all="ignore"):
            while state[FEWEST] > 0 and state[STALLED] < patience:
                self._find_changes(v, step, changes)
                move(v, changes, step, state, log)
                if state[ITERATIONS] >= until:
                    break

    def _find_changes(self, v: Array, step: float, changes: Count) -> None:
        """Compute the change of the errors for each neighbor."""
        margins = self.X @ v[1:] - v[0]
        sizes = self.sizes @ np.abs(v[1:]) + abs(v[0])
        error = 2.0**-50 * (len(v) + 8) * (1 + step)
        in_range = (sizes > _SMALLEST_SIZE) & (sizes < _LARGEST_SIZE)
        error = np.where(in_range, error, np.inf) * sizes
        # Written so that NaN counts as close.
        close = np.flatnonzero(~(np.abs(margins) > step * sizes + error))
        X, m, error = self.X[close], margins[close], error[close]
        a = step * np.abs(v) * np.insert(X, 0, -1.0, axis=1)
        a[:, v == 0] = 0.0
        wrong = self._wrong(m, close, error, v)
        before = wrong @ self.weight[close]
        for i, shift in enumerate(a.T):
            for k, sign in enumerate((1, -1)):
                trial = v.copy()
                trial[i] += sign * (step * abs(v[i]))
                wrong = self._wrong(m + sign * shift, close, error, trial)
                changes[2 * i + k] = wrong @ self.weight[close] - before

    def _wrong(self, margins: Array, rows: Index, error: Array, v: Array) -> Mask:
        """Return a mask of the rows that v misclassifies, given approximate margins."""
        first = margins >= 0
        in_doubt = np.flatnonzero(~(np.abs(margins) > error))
        first[in_doubt] = is_first(self.X[rows[in_doubt]], v)
        return np.asarray(first != self.first[rows])


class _CompiledBlock(Block):
    """Rows in C; see algorithm2.c."""

    def __init__(self, X: Array, first: Mask, weight: Count):
        arrays = X, first, weight if len(weight) else None
        self._block = kernels.compiled.algorithm2_block(*map(kernels.ready, arrays))

    def run(self, *arguments: Any) -> None:
        """Iterate, as in `Block.run`."""
        kernels.compiled.algorithm2_run(self._block, *arguments)
