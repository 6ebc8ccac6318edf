"""Algorithm 2: local search for the linear rule with the fewest training errors.

A rule is v = (w0, w_1, ..., w_d) with the paper's sign: class 1 if w.x >= w0, so that a
row exactly on the threshold is class 1. The sum w.x is taken from left to right, so
that counts of errors do not depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Count, Mask
from heterolda.kernels.algorithm2 import (
    FEWEST,
    ITERATIONS,
    STALLED,
    Block,
    count_errors,
    make_block,
    move,
)

# Number of values per thread below which more threads do not pay.
_NUMBERS_PER_THREAD = 2**20
# Number of values that the kernel processes before it checks for an interrupt.
_NUMBERS_PER_CALL = 2**26
# Unnecessary rows that iterations may touch before rows are sorted again, as a share of
# all rows: touching these takes about as long as sorting.
_LENIENCY = 4.0
# Smallest weight of a row, as a share of the total weight.
_LEAST_SHARE = 2.0**-40
# Initial capacity of the log, in iterations.
_FIRST_LOG = 1024


@dataclass(frozen=True)
class SearchResult:
    """Result of a search.

    Attributes
    ----------
    v : ndarray of shape (d + 1,)
        Best rule of all iterations, (w0, w_1, ..., w_d).
    errors : float
        Weighted training errors of that rule, counted from scratch.
    errors_start : float
        Weighted training errors of the initial rule.
    history : ndarray of shape (n_iter,)
        Errors of the current rule at each iteration, beginning with the initial rule.
    touched : float
        Share of rows, averaged over the iterations, that neighbors were evaluated on;
        the others could not change sides.
    """

    v: Array
    errors: float
    errors_start: float
    history: Array
    touched: float

    @property
    def n_iter(self) -> int:
        """Number of iterations; evaluating the initial rule is the first."""
        return len(self.history)


def check_range_of_weights(weight: Array) -> None:
    """Refuse weights too small, relative to their sum, for `grid_weights`."""
    total = float(weight.sum())
    least = weight.min(initial=np.inf, where=weight > 0)
    if least < _LEAST_SHARE * total:
        raise ParameterError(
            "sample_weight",
            f"times class_weight is {least:.3g} for some row and {total:.3g} in total, "
            "too unequal to count errors: leave out rows of almost no weight",
        )


def grid_weights(weight: Array) -> tuple[Count, float]:
    """Return weights as multiples of a unit, and the unit, so that sums are exact.

    The unit is a power of two, at most 2**-51 of the sum of the weights, so integers
    are represented exactly, and the sum of the multiples is below 2**53.
    """
    # 2**-1074 is the smallest float.
    digits = min(52 - math.frexp(float(np.sum(weight)))[1], 1074)
    return np.rint(np.ldexp(weight, digits)).astype(np.int64), math.ldexp(1, -digits)


@dataclass(frozen=True)
class PairRows:
    """Rows of two classes, in the form that the kernels need.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Finite data, C-contiguous.
    first : ndarray of shape (n,)
        True for the first class.
    weight : ndarray of shape (n,) or (0,)
        Weights of the errors as multiples of the unit; empty if all are 1.
    unit : float
        Unit of the weights.
    """

    X: Array
    first: Mask
    weight: Count
    unit: float

    @classmethod
    def from_arrays(cls, X: Array, first: Mask, weight: Array | None) -> PairRows:
        """Round the weights to the grid."""
        units, unit = np.empty(0, dtype=np.int64), 1.0
        if weight is not None:
            units, unit = grid_weights(weight)
        return cls(X, first, units, unit)

    def split(self, threads: int) -> list[PairRows]:
        """Split the rows into consecutive groups of equal size, one per thread."""
        n = min(threads, len(self.X), self.X.size // _NUMBERS_PER_THREAD)
        if n <= 1:
            return [self]
        ends = [len(self.X) * k // n for k in range(n + 1)]
        return [
            PairRows(self.X[a:b], self.first[a:b], self.weight[a:b], self.unit)
            for a, b in pairwise(ends)
        ]

    def count(self, v: Array) -> int:
        """Return the errors of v, in units."""
        return count_errors(self.X, self.first, self.weight, v)


def paper_search(
    X: Array,
    first: Mask,
    weight: Array | None,
    v: Array,
    *,
    step: float = 0.1,
    max_iter: int = 1000,
    patience: int = 100,
    threads: int = 1,
) -> SearchResult:
    """Run Algorithm 2 of the paper.

    Each iteration counts the errors of the 2 (d + 1) neighbors v_i +- step |v_i| and
    moves to the best, even if it is no better than the current rule. Ties go to the
    first neighbor, in the order i = 0, ..., d with w0 = v_0 and plus before minus. The
    search stops after `max_iter` iterations, of which evaluating the initial rule v is
    the first, after `patience` iterations without a new lowest count, or as soon as
    there are no errors. It returns the first of the best rules.

    X is finite and C-contiguous; `first` is True for rows of class 1. Errors have the
    non-negative weights `weight`, rounded by `grid_weights`, or are counted if that is
    None. Threads share the rows if there are enough of them; the result does not depend
    on their number.
    """
    rows = PairRows.from_arrays(X, first, weight)
    shares = rows.split(threads)
    blocks = [make_block(share.X, share.first, share.weight) for share in shares]
    now = np.array(v, dtype=np.float64)
    log = np.empty((2, min(max_iter, _FIRST_LOG)), dtype=np.int64)
    threaded = ThreadPoolExecutor(len(shares)) if len(shares) > 1 else nullcontext()
    with threaded as pool:
        start = sum(_at_once(pool, [partial(share.count, now) for share in shares]))
        state = np.array([1, start, start, 0])
        log[:, 0] = start, -1
        while (
            state[ITERATIONS] < max_iter
            and state[STALLED] < patience
            and state[FEWEST] > 0
        ):
            if state[ITERATIONS] == log.shape[1]:
                log = np.hstack([log, np.empty_like(log)])
            more = 1 + _NUMBERS_PER_CALL // math.prod(X.shape)
            until = min(int(state[ITERATIONS]) + more, max_iter, log.shape[1])
            _iterate(blocks, pool, (now, state, log), step, patience, until)
        n_iter = int(state[ITERATIONS])
        best = _best_rule(v, log[:, :n_iter], step)
        errors = sum(_at_once(pool, [partial(share.count, best) for share in shares]))
    touched = sum(block.touched for block in blocks)
    return SearchResult(
        v=best,
        errors=rows.unit * errors,
        errors_start=rows.unit * start,
        history=np.multiply(log[0, :n_iter], rows.unit, dtype=np.float64),
        touched=float(touched / (X.shape[0] * max(n_iter - 1, 1))),
    )


def _at_once(
    pool: ThreadPoolExecutor | None, calls: list[Callable[[], Any]]
) -> list[Any]:
    """Make calls in parallel, the first of them in this thread."""
    futures = [pool.submit(call) for call in calls[1:]] if pool else []
    return [calls[0](), *(future.result() for future in futures)]


def _iterate(
    blocks: list[Block],
    pool: ThreadPoolExecutor | None,
    search: tuple[Array, Count, Count],
    step: float,
    patience: int,
    until: int,
) -> None:
    """Iterate up to iteration `until` on a single block, or once on several blocks."""
    v, state, log = search
    changes = np.zeros((len(blocks), 2 * len(v)), dtype=np.int64)
    settings = step, _LENIENCY, patience, until if len(blocks) == 1 else 0

    calls: list[Callable[[], Any]] = [
        partial(block.run, v, counts, state, log, *settings)
        for block, counts in zip(blocks, changes, strict=True)
    ]
    _at_once(pool, calls)
    if len(blocks) > 1:
        move(v, changes.sum(axis=0), step, state, log)


def _best_rule(v: Array, log: Count, step: float) -> Array:
    """Return the first rule with the lowest count by repeating the logged moves."""
    now = np.array(v, dtype=np.float64).tolist()  # overflow does not warn
    history, moves = log.tolist()
    for winner in moves[1 : history.index(min(history)) + 1]:
        i, back = divmod(winner, 2)
        size = step * abs(now[i])
        now[i] += -size if back else size
    return np.array(now)
