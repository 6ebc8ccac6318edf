"""Algorithm 2: local search for the linear rule with the fewest training errors.

Pure functions on arrays. A rule is v = (w0, w_1, ..., w_d) in the paper's sign: class 1
when w.x >= w0, so that a row exactly on the threshold is class 1. The sum w.x is taken
from left to right; that makes every count of errors one definite number, which does
not depend on the number of threads or on how the search is organised.

:mod:`heterolda.search.exact` has a relative that considers all real steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.exceptions import ParameterError, Setting
from heterolda.foundations.devices import Device, device_of
from heterolda.foundations.types import Array, Count, Mask
from heterolda.kernels import algorithm2 as kernel
from heterolda.kernels.algorithm2 import (
    FEWEST,
    ITERATIONS,
    STALLED,
    Block,
    make_block,
    move,
)
from heterolda.kernels.device import algorithm2 as device_kernel

# Called with the number of iterations so far, the errors now and the fewest so far.
Reporter = Callable[[int, float, float], object]

# Numbers that a thread must have to itself before a second one pays.
_NUMBERS_PER_THREAD = 2**20
# Numbers that the kernel may go through before it returns to look for an interrupt.
_NUMBERS_PER_CALL = 2**26
# Rows that iterations may touch in excess, as a share of all, until rows are sorted
# again: about as many as sorting them takes as long to touch.
_LENIENCY = 4.0
# Smallest share of the sum of all weights that a row may have.
_LEAST_SHARE = 2.0**-40
# Iterations that the log has room for at first.
_FIRST_LOG = 1024


@dataclass(frozen=True)
class SearchResult:
    """What a search found.

    Attributes
    ----------
    path : ndarray of shape (n_rules, d + 1)
        The rules that were the best so far when they were found, in that order: the
        start first, the best ever seen last.
    errors : float
        Weighted training errors of the last of them, counted from scratch.
    errors_start : float
        Those of the start.
    history : ndarray of shape (n_iter,)
        Errors of the current rule at each iteration, that of the start first.
    touched : float
        Share of rows, averaged over the iterations of the paper's search, whose
        neighbours were evaluated; the others could not change sides.
    interrupted : bool
        Whether a KeyboardInterrupt ended the search.
    """

    path: Array
    errors: float
    errors_start: float
    history: Array
    touched: float
    interrupted: bool

    @property
    def v(self) -> Array:
        """The best rule ever seen, (w0, w_1, ..., w_d)."""
        best: Array = self.path[-1]
        return best

    @property
    def n_iter(self) -> int:
        """Number of iterations; evaluating the start is the first."""
        return len(self.history)


def grid_digits(total: float) -> int:
    """Binary digits after the point that leave room for sums up to a total weight."""
    # Two to the power of -1074 is the least float.
    return min(52 - math.frexp(total)[1], 1074)


def check_range_of_weights(weight: Array, total: float) -> None:
    """Refuse weights that are too small a share of a total to be counted on a grid."""
    least = weight.min(initial=np.inf, where=weight > 0)
    if least < _LEAST_SHARE * total:
        raise ParameterError(
            Setting("sample_weight"),
            " times ",
            Setting("class_weight"),
            f" is {least:.3g} for some row and {total:.3g} in all, too unequal to "
            "count errors: leave out rows of almost no weight",
        )


def grid_weights(weight: Array) -> tuple[Count, float]:
    """Weights as multiples of a unit, so that all sums are exact in any order.

    The unit is a power of two, at most 2**-51 of the sum of the weights; so integers up
    to that sum stay what they are, and the sum of the multiples is below 2**53.
    """
    digits = grid_digits(float(np.sum(weight)))
    return np.rint(np.ldexp(weight, digits)).astype(np.int64), math.ldexp(1, -digits)


@dataclass(frozen=True)
class PairRows:
    """Rows of two classes, in the form that the kernels take.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Finite data, C-contiguous.
    first : ndarray of shape (n,)
        True for the first class.
    weight : ndarray of shape (n,) or (0,)
        Weights of the errors in units; empty if all are 1.
    unit : float
        What the errors are counted in.
    """

    X: Array
    first: Mask
    weight: Count
    unit: float

    @classmethod
    def from_arrays(cls, X: Array, first: Mask, weight: Array | None) -> PairRows:
        """Round the weights; no weights at all become an empty array."""
        units, unit = np.empty(0, dtype=np.int64), 1.0
        if weight is not None:
            units, unit = grid_weights(weight)
        device = device_of(X, always=True)
        if device is None:
            return cls(X, first, units, unit)
        return _RowsOnDevice(X, first, units, unit, device)

    def take(self, rows: NDArray[Any] | slice) -> PairRows:
        """Some of the rows."""
        weight = self.weight[rows] if len(self.weight) else self.weight
        return PairRows(self.X[rows], self.first[rows], weight, self.unit)

    def split(self, threads: int) -> list[PairRows]:
        """Consecutive rows in groups of about the same size, some for each thread."""
        n = min(threads, len(self.X), self.X.size // _NUMBERS_PER_THREAD)
        if n <= 1:
            return [self]
        ends = [len(self.X) * k // n for k in range(n + 1)]
        return [self.take(slice(a, b)) for a, b in pairwise(ends)]

    def count(self, v: Array) -> int:
        """Errors of v, from scratch, in units."""
        return kernel.count_errors(self.X, self.first, self.weight, v)

    def block(self, keep: bool) -> Block:
        """The block that the kernel works on; it may keep a copy of the rows."""
        return make_block(self.X, self.first, self.weight, keep)

    def changes(self, v: Array, step: float) -> Count:
        """How each neighbour of v changes the errors, in units."""
        changes = np.zeros(2 * len(v), dtype=np.int64)
        if len(self.X):
            log, state = np.empty((2, 0), np.int64), np.array([1, 1, 1, 0])
            self.block(False).run(np.array(v), changes, state, log, step, 1.0, 1, 0)
        return changes


@dataclass(frozen=True)
class _RowsOnDevice(PairRows):
    """The same for rows on a device, which all stay together.

    Attributes
    ----------
    device : Device
        Where the rows are.
    """

    device: Device

    @cached_property
    def _signed(self) -> Any:
        """Weights there, negative for the second class."""
        return device_kernel.signed_weights(self.device, self.first, self.weight)

    def split(self, threads: int) -> list[PairRows]:
        """All rows: a device needs no threads."""
        return [self]

    def count(self, v: Array) -> int:
        """Errors of v, from scratch, in units."""
        return device_kernel.count_errors(self.device, self.X, self._signed, v)

    def block(self, keep: bool) -> Block:
        """The block that the kernel works on."""
        return device_kernel.DeviceBlock(self.device, self.X, self._signed)


def count_errors(X: Array, first: Mask, weight: Array | None, v: Array) -> float:
    """Weighted errors of the rule v, from scratch, on data as for `paper_search`."""
    rows = PairRows.from_arrays(X, first, weight)
    return rows.unit * rows.count(v)


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
    report: Reporter | None = None,
    copy: bool = True,
) -> SearchResult:
    """Algorithm 2 of the paper: from neighbour to neighbour, whatever its errors.

    Each iteration counts the errors of the 2 (d + 1) neighbours v_i +- step |v_i| and
    moves to the best, even if it is no better than the current rule. Of equals the
    first wins, in the order i = 0, ..., d with w0 = v_0 and plus before minus. The
    search stops after `max_iter` iterations, of which evaluating the start v is the
    first, after `patience` iterations without a new lowest count, or as soon as there
    are no errors. It returns the best rule ever seen, the first of equals; after a
    KeyboardInterrupt, also one that `report` raises, the best so far.

    The rows X are finite and C-contiguous, or on a device; `first` is True for those of
    class 1. Errors have the non-negative weights `weight`, rounded as by
    `grid_weights`, or are counted. Threads share the rows if there are enough to be
    worth it; the result is the same for any number of them. `report` is called
    several times a second. `copy` keeps a scaled copy of the rows in single precision,
    half the size of the data, without which the search is slower.
    """
    rows = PairRows.from_arrays(X, first, weight)
    shares = rows.split(threads)
    blocks = [share.block(copy) for share in shares]
    now = np.array(v, dtype=np.float64)
    log = np.empty((2, min(max_iter, _FIRST_LOG)), dtype=np.int64)
    interrupted = False
    several = ThreadPoolExecutor(len(shares)) if len(shares) > 1 else nullcontext()
    with several as pool:
        start = sum(_at_once(pool, [partial(share.count, now) for share in shares]))
        state = np.array([1, start, start, 0])
        log[:, 0] = start, -1
        try:
            report_progress(report, state, rows.unit)
            while (
                state[ITERATIONS] < max_iter
                and state[STALLED] < patience
                and state[FEWEST] > 0
            ):
                log = with_room(log, int(state[ITERATIONS]))
                more = 1 + _NUMBERS_PER_CALL // math.prod(X.shape)
                until = min(int(state[ITERATIONS]) + more, max_iter, log.shape[1])
                _iterate(blocks, pool, (now, state, log), step, patience, until)
                report_progress(report, state, rows.unit)
        except KeyboardInterrupt:
            interrupted = True
        n_iter = int(state[ITERATIONS])
        path = best_rules(v, log[:, :n_iter], step)
        errors = sum(
            _at_once(pool, [partial(share.count, path[-1]) for share in shares])
        )
    touched = sum(block.touched for block in blocks)
    return SearchResult(
        path=path,
        errors=rows.unit * errors,
        errors_start=rows.unit * start,
        history=np.multiply(log[0, :n_iter], rows.unit, dtype=np.float64),
        touched=float(touched / (X.shape[0] * max(n_iter - 1, 1))),
        interrupted=interrupted,
    )


def _at_once(
    pool: ThreadPoolExecutor | None, calls: list[Callable[[], Any]]
) -> list[Any]:
    """Make calls at the same time, the first of them in this thread."""
    others = [pool.submit(call) for call in calls[1:]] if pool else []
    return [calls[0](), *(other.result() for other in others)]


def _iterate(
    blocks: list[Block],
    pool: ThreadPoolExecutor | None,
    search: tuple[Array, Count, Count],
    step: float,
    patience: int,
    until: int,
) -> None:
    """Make iterations: until a number of them on a single block, one on several."""
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


def with_room(log: Count, n_iter: int) -> Count:
    """The log, twice as long if it is full."""
    return log if n_iter < log.shape[1] else np.hstack([log, np.empty_like(log)])


def best_rules(v: Array, log: Count, step: float) -> Array:
    """Rules with a new lowest count, from repeating the moves in the log."""
    now = np.array(v, dtype=np.float64).tolist()  # whose products may overflow
    history, moves = log.tolist()
    fewest, path = history[0], [now.copy()]
    for k in range(1, history.index(min(history)) + 1):
        i, back = divmod(moves[k], 2)
        size = step * abs(now[i])
        now[i] += -size if back else size
        if history[k] < fewest:
            fewest = history[k]
            path.append(now.copy())
    return np.array(path)


def report_progress(report: Reporter | None, state: Count, unit: float) -> None:
    """Report the number of iterations, the errors and the fewest of `state`."""
    if report is not None:
        n_iter, errors, fewest = state[:3].tolist()
        report(n_iter, unit * errors, unit * fewest)
