"""Algorithm 2: local search for the linear rule with the fewest training errors.

A rule is v = (w0, w_1, ..., w_d) with the paper's sign: class 1 if w.x >= w0, so that a
row exactly on the threshold is class 1. The sum w.x is taken from left to right, so
that counts of errors do not depend on the number of threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from heterolda.foundations.arrays import Array, Count, Mask
from heterolda.kernels.algorithm2 import (
    FEWEST,
    ITERATIONS,
    STALLED,
    count_errors,
    make_block,
)

# Maximum number of values, and of iterations, between checks for interrupts.
_NUMBERS_PER_CALL, _ITERATIONS_PER_CALL = 2**26, 1024
# Unnecessary rows that iterations may touch before rows are sorted again, as a share of
# all rows: touching these takes about as long as sorting.
_LENIENCY = 4.0


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
    """

    v: Array
    errors: float
    errors_start: float
    history: Array

    @property
    def n_iter(self) -> int:
        """Return the number of iterations; evaluating the initial rule is the first."""
        return len(self.history)


def grid_weights(weight: Array) -> tuple[Count, float]:
    """Return weights as multiples of a unit, and the unit, so that sums are exact.

    The unit is a power of two, at most 2**-51 of the sum of the weights, so integers
    are represented exactly, and the sum of the multiples is below 2**53.
    """
    # 2**-1074 is the smallest float.
    digits = min(52 - math.frexp(float(np.sum(weight)))[1], 1074)
    return np.rint(np.ldexp(weight, digits)).astype(np.int64), math.ldexp(1, -digits)


def paper_search(
    X: Array,
    first: Mask,
    weight: Array | None,
    v: Array,
    *,
    step: float = 0.1,
    max_iter: int = 1000,
    patience: int = 100,
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
    None.
    """
    units, unit = np.empty(0, dtype=np.int64), 1.0
    if weight is not None:
        units, unit = grid_weights(weight)
    block = make_block(X, first, units)
    current = np.array(v, dtype=np.float64)
    start = count_errors(X, first, units, current)
    state = np.array([1, start, start, 0])
    changes = np.zeros(2 * len(current), dtype=np.int64)
    patience = min(patience, np.iinfo(np.int64).max)
    n_per_call = min(1 + _NUMBERS_PER_CALL // X.size, _ITERATIONS_PER_CALL)
    logs = [np.array([[start], [-1]])]
    while (
        state[ITERATIONS] < max_iter and state[STALLED] < patience and state[FEWEST] > 0
    ):
        n_done = int(state[ITERATIONS])
        until = min(n_done + n_per_call, max_iter)
        log = np.empty((2, until), dtype=np.int64)
        block.run(current, changes, state, log, step, _LENIENCY, patience, until)
        logs.append(log[:, n_done : state[ITERATIONS]])
    log = np.hstack(logs)
    best = _best_rule(v, log, step)
    return SearchResult(
        v=best,
        errors=unit * count_errors(X, first, units, best),
        errors_start=unit * start,
        history=np.multiply(log[0], unit, dtype=np.float64),
    )


def _best_rule(v: Array, log: Count, step: float) -> Array:
    """Return the first rule with the lowest count by repeating the logged moves."""
    current = np.array(v, dtype=np.float64).tolist()  # overflow does not warn
    history, moves = log.tolist()
    for winner in moves[1 : history.index(min(history)) + 1]:
        i, is_minus = divmod(winner, 2)
        size = step * abs(current[i])
        current[i] += -size if is_minus else size
    return np.array(current)
