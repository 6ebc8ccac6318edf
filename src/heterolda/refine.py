"""Local search for the linear rule with the fewest training errors.

Pure functions on arrays. A rule is v = (w0, w_1, ..., w_d) in the paper's sign: class 1
when w.x >= w0, so that a row exactly on the threshold is class 1. The sum w.x is taken
from left to right; that makes every count of errors one definite number, which does
not depend on the number of threads or on how the search is organised.

`paper_search` is Algorithm 2 of the paper; `exact_search` looks at all real steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Count = NDArray[np.int64]
OnIteration = Callable[[int, float, float], object]

# Numbers that a thread must have to itself before a second one pays.
_NUMBERS_PER_THREAD = 2**20
# Numbers that the kernel may go through before it returns to look for an interrupt.
_NUMBERS_PER_CALL = 2**26
# Rows that iterations may touch in excess, as a share of all, until rows are sorted
# again: about as many as sorting them takes as long to touch.
_LENIENCY = 2.0
# Lengths of the perturbations that restarts take in turn, in units of the natural
# scale of each coefficient.
_PERTURBATIONS = (0.1, 0.3, 1.0)


@dataclass(frozen=True)
class SearchResult:
    """What a search found.

    Attributes
    ----------
    v : ndarray of shape (d + 1,)
        The best rule ever seen, (w0, w_1, ..., w_d).
    errors : float
        Its weighted training errors, counted from scratch.
    errors_start : float
        Those of the start.
    history : ndarray of shape (n_iter,)
        Errors of the current rule at each iteration, that of the start first.
    n_iter : int
        Number of iterations; evaluating the start is the first.
    touched : float
        Share of rows, averaged over the iterations of the paper's search, whose
        neighbours were evaluated; the others could not change sides.
    interrupted : bool
        Whether a KeyboardInterrupt ended the search.
    """

    v: Array
    errors: float
    errors_start: float
    history: Array
    n_iter: int
    touched: float
    interrupted: bool


def grid_weights(weight: Array) -> tuple[Count, float]:
    """Round weights to a binary grid on which all sums are exact, in any order.

    Parameters
    ----------
    weight : ndarray of shape (n,)
        Non-negative weights.

    Returns
    -------
    multiples : ndarray of shape (n,)
        The weights as multiples of the unit; their sum is below 2**53.
    unit : float
        A power of two, at most 2**-51 of the sum of the weights; so integers up to
        that sum stay what they are.
    """
    exponent = math.frexp(float(np.sum(weight)))[1]
    digits = min(52 - exponent, 1000)
    return np.rint(np.ldexp(weight, digits)).astype(np.int64), math.ldexp(1, -digits)


@dataclass(frozen=True)
class _Problem:
    """Data in the form that the compiled loops take."""

    X: Array
    first: NDArray[np.bool_]
    weight: Count
    unit: float

    @classmethod
    def from_arrays(
        cls, X: Array, first: NDArray[np.bool_], weight: Array | None
    ) -> _Problem:
        """Round the weights; no weights at all become an empty array."""
        if weight is None:
            return cls(X, first, np.empty(0, dtype=np.int64), 1.0)
        return cls(X, first, *grid_weights(weight))

    def parts(self, n_parts: int) -> list[_Problem]:
        """Cut the rows into consecutive parts of about the same size."""
        ends = [len(self.X) * k // n_parts for k in range(n_parts + 1)]
        return [
            _Problem(self.X[a:b], self.first[a:b], self.weight[a:b], self.unit)
            for a, b in pairwise(ends)
        ]

    def count(self, v: Array) -> int:
        """Errors of v, from scratch, in units."""
        from heterolda._kernels import count_errors

        return int(count_errors(self.X, self.first, self.weight, v))


def paper_search(
    X: Array,
    first: NDArray[np.bool_],
    weight: Array | None,
    v: Array,
    *,
    step: float = 0.1,
    max_iter: int = 1000,
    patience: int = 100,
    threads: int = 1,
    on_iteration: OnIteration | None = None,
    copy: bool = True,
) -> SearchResult:
    """Algorithm 2 of the paper: from neighbour to neighbour, whatever its errors.

    Each iteration counts the errors of the 2 (d + 1) neighbours v_i +- step |v_i| and
    moves to the best, even if it is no better than the current rule. Of equals the
    first wins, in the order i = 0, ..., d with w0 = v_0 and plus before minus. The
    search stops after `max_iter` iterations, after `patience` iterations without
    a new lowest count, or as soon as there are no errors.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Finite data, C-contiguous.
    first : ndarray of shape (n,)
        True for rows of class 1.
    weight : ndarray of shape (n,) or None
        Non-negative weights of the errors, rounded as by `grid_weights`; None counts
        errors.
    v : ndarray of shape (d + 1,)
        The start (w0, w_1, ..., w_d).
    step : float, default=0.1
        Length of a step, relative to the coefficient.
    max_iter : int, default=1000
        Most iterations; evaluating the start is the first.
    patience : int, default=100
        Most iterations without a new lowest count.
    threads : int, default=1
        Most threads. They share the rows if there are enough to be worth it; the
        result is the same for any number.
    on_iteration : callable or None, default=None
        Called after each iteration with its number (the start is 1), the errors of
        the current rule and the fewest so far. With None, the compiled loop makes
        many iterations at a time.
    copy : bool, default=True
        Whether to keep a scaled copy of the rows in single precision, half the size
        of the data. Without it the search is slower.

    Returns
    -------
    SearchResult
        The best rule ever seen, the first of equals. After a KeyboardInterrupt it is
        the best so far.
    """
    from heterolda._kernels import FEWEST, ITERATIONS, STALLED, TOUCHED, make_block

    problem = _Problem.from_arrays(X, first, weight)
    parts = problem.parts(max(1, min(threads, X.size // _NUMBERS_PER_THREAD)))
    blocks = [make_block(p.X, p.first, p.weight, copy) for p in parts]
    v = np.array(v, dtype=np.float64)
    best = v.copy()
    history = np.empty(max_iter, dtype=np.int64)
    interrupted = False
    with ThreadPoolExecutor(len(parts)) as pool:
        start = sum(_at_once(pool, [partial(p.count, v) for p in parts]))
        state = np.array([1, start, start, 0])
        history[0] = start
        try:
            _report(on_iteration, state, problem.unit)
            while (
                state[ITERATIONS] < max_iter
                and state[STALLED] < patience
                and state[FEWEST] > 0
            ):
                n_steps = 1 if on_iteration else 1 + _NUMBERS_PER_CALL // X.size
                until = min(int(state[ITERATIONS]) + n_steps, max_iter)
                _iterate(blocks, pool, (v, best, state, history), step, patience, until)
                _report(on_iteration, state, problem.unit)
        except KeyboardInterrupt:
            interrupted = True
        errors = sum(_at_once(pool, [partial(p.count, best) for p in parts]))
    n_iter = int(state[ITERATIONS])
    touched = sum(block.book[TOUCHED] for block in blocks)
    return SearchResult(
        v=best,
        errors=problem.unit * errors,
        errors_start=problem.unit * start,
        history=np.multiply(history[:n_iter], problem.unit, dtype=np.float64),
        n_iter=n_iter,
        touched=float(touched / (len(X) * max(n_iter - 1, 1))),
        interrupted=interrupted,
    )


def _at_once(pool: ThreadPoolExecutor, calls: list[Callable[[], Any]]) -> list[Any]:
    """Make calls at the same time, the first of them in this thread."""
    others = [pool.submit(call) for call in calls[1:]]
    return [calls[0](), *(other.result() for other in others)]


def _iterate(
    blocks: list[Any],
    pool: ThreadPoolExecutor,
    books: tuple[Array, Array, Count, Count],
    step: float,
    patience: int,
    until: int,
) -> None:
    """Make iterations: until a number of them on a single block, one on several."""
    from heterolda._kernels import move, refresh, run

    v, best, state, history = books
    changes = np.zeros((len(blocks), 2 * len(v)), dtype=np.int64)
    settings = step, _LENIENCY, patience, until if len(blocks) == 1 else 0

    def work(k: int) -> None:
        while run(blocks[k], v, best, changes[k], *settings, state, history):
            refresh(blocks[k], v, step)

    _at_once(pool, [partial(work, k) for k in range(len(blocks))])
    if len(blocks) > 1:
        # Not compiled, it can be interrupted: the best rule is then all old or all new.
        new_best = best.copy()
        move.py_func(v, new_best, changes.sum(axis=0), step, state, history)
        best[:] = new_best


def _report(on_iteration: OnIteration | None, state: Count, unit: float) -> None:
    """Call the callback with the number of the iteration and its counts."""
    if on_iteration is not None:
        n_iter, errors, fewest = state[:3].tolist()
        on_iteration(n_iter, unit * errors, unit * fewest)


def _margins(X: Array, v: Array) -> Array:
    """w.x - w0, added up so that equal rows have equal margins wherever they stand."""
    margins: Array = v[1] * X[:, 0]
    for k in range(1, X.shape[1]):
        margins += v[k + 1] * X[:, k]
    margins -= v[0]
    return margins


def _try_coordinate(
    problem: _Problem, v: Array, margins: Array, i: int, errors: int
) -> tuple[float, int]:
    """Best step of coordinate i and the errors after it; zero if none is better.

    It leads to the middle of the best interval between steps at which rows change
    sides; of equals to the widest, then the nearest, then the first.
    """
    x = problem.X[:, i - 1] if i > 0 else np.full(len(margins), -1.0)
    w = problem.weight if len(problem.weight) else np.ones(len(x), dtype=np.int64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        points = -margins / x
    # Other rows stay where they are at all finite steps, or do not count.
    moving = np.isfinite(points) & (w > 0)
    if not moving.any():
        return 0.0, errors
    staying = ((margins >= 0) != problem.first) & ~moving
    wrong_at_left = ((x < 0) != problem.first) & moving
    order = np.argsort(points[moving])
    gains = np.where(wrong_at_left, -w, w)[moving][order]
    step, change = _best_interval(points[moving][order], gains)
    if w[staying].sum() + w[wrong_at_left].sum() + change < errors:
        # Breakpoints are rounded, so a promise counts only once it is kept.
        trial = v.copy()
        trial[i] += step
        kept = problem.count(trial)
        if kept < errors:
            return step, kept
    return 0.0, errors


def _best_interval(points: Array, gains: Count) -> tuple[float, int]:
    """Middle of the best interval between breakpoints, and its gains so far.

    The two unbounded intervals are entered as far as their end is from zero, or else
    by the span of the breakpoints.
    """
    low, high = points[0], points[-1]
    span = (high - low) or 1.0
    left, right = low - 2 * (abs(low) or span), high + 2 * (abs(high) or span)
    ends = np.concatenate([[left], points, [right]])
    widths = np.diff(ends)
    middles = ends[:-1] + widths / 2
    changes = np.append(0, np.cumsum(gains))
    # Intervals that rounding may have made do not count.
    real = widths > 2.0**-40 * np.maximum(np.abs(ends[:-1]), np.abs(ends[1:]))
    best = np.flatnonzero(real & (changes == changes[real].min()))
    best = best[widths[best] == widths[best].max()]
    k = best[np.argmin(np.abs(middles[best]))]
    return float(middles[k]), int(changes[k])


def exact_search(
    X: Array,
    first: NDArray[np.bool_],
    weight: Array | None,
    v: Array,
    *,
    step: float = 0.1,
    max_iter: int = 1000,
    patience: int = 100,
    n_restarts: int = 10,
    rng: np.random.Generator,
    threads: int = 1,
    on_iteration: OnIteration | None = None,
    copy: bool = True,
) -> SearchResult:
    """Coordinate search over all real steps, with restarts.

    First `paper_search` runs. Then the coordinates are moved one after the other, each
    to the middle of the interval with the fewest errors if they are fewer than now, in
    sweeps until none improves: from the start, from the best rule of the paper's
    search, and from `n_restarts` perturbations of the best rule so far. So there are
    never more errors than with the paper's search, nor than at the start.

    Parameters
    ----------
    X, first, weight, v, copy
        As for `paper_search`.
    step, patience : float, int
        Of the paper's search.
    max_iter : int, default=1000
        Most iterations of the paper's search.
    n_restarts : int, default=10
        Number of perturbed starts.
    rng : Generator
        Source of the perturbations.
    threads : int, default=1
        Most threads of the paper's search. The sweeps take one.
    on_iteration : callable or None, default=None
        As for `paper_search`; each sweep is an iteration.

    Returns
    -------
    SearchResult
        The best rule ever seen, the first of equals. The history is that of the
        paper's search and then the errors after each sweep.
    """
    options: dict[str, Any] = {"step": step, "patience": patience, "threads": threads}
    options |= {"max_iter": max_iter, "on_iteration": on_iteration, "copy": copy}
    paper = paper_search(X, first, weight, v, **options)
    problem = _Problem.from_arrays(X, first, weight)
    best, fewest = paper.v, problem.count(paper.v)
    sweeps: list[int] = []
    interrupted = paper.interrupted
    try:
        for restart in range(-2, n_restarts):
            if interrupted or fewest == 0:
                break
            start, order = (v, best)[min(restart, -1)], np.arange(len(v))
            if restart >= 0:
                length = _PERTURBATIONS[restart % len(_PERTURBATIONS)]
                shift = length * rng.normal(size=len(v))
                start = best + shift * _natural_scales(X, best)
                order = rng.permutation(len(v))
            for rule, errors in _descend(problem, start, order):
                sweeps.append(errors)
                if errors < fewest:
                    best, fewest = rule, errors
                state = np.array([paper.n_iter + len(sweeps), errors, fewest])
                _report(on_iteration, state, problem.unit)
    except KeyboardInterrupt:
        interrupted = True
    return replace(
        paper,
        v=best,
        errors=problem.unit * problem.count(best),
        history=np.append(paper.history, problem.unit * np.array(sweeps)),
        n_iter=paper.n_iter + len(sweeps),
        interrupted=interrupted,
    )


def _descend(problem: _Problem, v: Array, order: Count) -> Iterator[tuple[Array, int]]:
    """Sweeps over the coordinates until none improves; a rule and its errors each."""
    v = v.copy()
    before, errors = None, problem.count(v)
    while errors != before:
        before = errors
        margins = _margins(problem.X, v)
        for i in order.tolist():
            step, errors = _try_coordinate(problem, v, margins, i, errors)
            if step != 0:
                v[i] += step
                margins += step * (problem.X[:, i - 1] if i > 0 else -1.0)
        yield v.copy(), errors


def _natural_scales(X: Array, v: Array) -> Array:
    """Changes of each coefficient that shift margins by about their own spread."""
    margins = _margins(X, v)
    spread = float(np.std(margins)) or float(np.max(np.abs(margins))) or 1.0
    # Column by column, because the deviation of all at once takes a copy of the data.
    deviations = [float(np.std(x)) for x in X.T]
    # A constant feature is a second threshold: it needs no perturbation.
    return np.array([spread, *(spread / s if s > 0 else 0.0 for s in deviations)])
