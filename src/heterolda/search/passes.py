"""Algorithm 2 on rows that are not in memory, in few passes over them.

The same walk as that of :mod:`heterolda.search.algorithm2`, to the last count. In the
terms of :mod:`heterolda.kernels.algorithm2`: a pass over all rows measures |M| at a
reference rule, counts the errors of its neighbours, and sets the rows with the smallest
|M| aside. All others have |M| >= H, the horizon. Where D = sum |p_i - 1| and R = max
|r_i|, no neighbour changes their sides as long as D + R, plus the rounding, stays below
H. So the walk goes on with the rows at hand until it comes to the horizon, and the next
pass is due. Each pass is good for one iteration at least, whatever the number of rows
set aside.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.search.algorithm2 import (
    Report,
    SearchResult,
    best_rules,
    check_range_of_weights,
    grid_digits,
    tell,
    with_room,
)

Array = NDArray[np.float64]
Count = NDArray[np.int64]

# Iterations between two reports where the rows are at hand.
_PER_REPORT = 64
_FIRST_LOG = 64


@dataclass(frozen=True)
class Rows:
    """Rows of two classes.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Finite data, C-contiguous.
    first : ndarray of shape (n,)
        True for the first class.
    weight : ndarray of shape (n,) or (0,)
        Weights of the errors in units; empty if all are 1.
    """

    X: Array
    first: NDArray[np.bool_]
    weight: Count

    def take(self, rows: NDArray[Any] | slice) -> Rows:
        """Some of the rows."""
        weight = self.weight[rows] if len(self.weight) else self.weight
        return Rows(self.X[rows], self.first[rows], weight)

    def changes(self, v: Array, step: float) -> Count:
        """How each neighbour of v changes the errors."""
        from heterolda.kernels.algorithm2 import run
        from heterolda.kernels.blocks import make_block

        changes = np.zeros(2 * len(v), dtype=np.int64)
        if len(self.X):
            block = make_block(self.X, self.first, self.weight, False)
            state = np.array([1, 1, 1, 0])
            run(block, v, changes, step, 1.0, 1, 0, state, np.empty((2, 0), np.int64))
        return changes


@dataclass(frozen=True)
class Pairing:
    """How rows of several classes become rows of pairs, with weights in units.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Labels, sorted.
    pairs : ndarray of shape (n_pairs, 2)
        Class indices.
    costs : ndarray of shape (n_classes,) or None
        What an error in each class costs.
    totals : ndarray of shape (n_classes,)
        Weight of all errors that there can be in each class.
    weighted : bool
        Whether rows have weights of their own.
    """

    classes: NDArray[Any]
    pairs: NDArray[np.intp]
    costs: Array | None
    totals: Array
    weighted: bool

    @property
    def counts(self) -> bool:
        """Whether errors are just counted."""
        return self.costs is None and not self.weighted

    def unit(self, k: int) -> float:
        """What the errors of a pair are counted in."""
        return 1.0 if self.counts else math.ldexp(1, -self._digits(k))

    def rows(
        self, wanted: Iterable[int], X: Array, codes: NDArray[Any], weight: Array | None
    ) -> Iterator[tuple[int, Rows]]:
        """The rows of each of some pairs, if there are any.

        Parameters
        ----------
        wanted : iterable of int
            Numbers of the pairs.
        X : ndarray of shape (n, d)
            Data.
        codes : ndarray of shape (n,)
            Class indices.
        weight : ndarray of shape (n,) or None
            Weights of the rows.

        Yields
        ------
        k : int
            Number of the pair.
        rows : Rows
            Its rows, those of the first class first.
        """
        X = np.ascontiguousarray(X)  # whole rows are taken, for each pair anew
        weight = self._error_weights(codes, weight)
        at = [np.flatnonzero(codes == c) for c in range(len(self.classes))]
        if weight is not None:
            at = [rows[weight[rows] > 0] for rows in at]
        for k in wanted:
            i, j = self.pairs[k]
            both = np.concatenate([at[i], at[j]])
            if len(both):
                units = np.empty(0, dtype=np.int64)
                if weight is not None:
                    units = np.rint(np.ldexp(weight[both], self._digits(k)))
                data = np.ascontiguousarray(X[both], dtype=np.float64)
                first = np.arange(len(both)) < len(at[i])
                yield k, Rows(data, first, units.astype(np.int64))

    def _digits(self, k: int) -> int:
        return grid_digits(float(self.totals[self.pairs[k]].sum()))

    def _error_weights(self, codes: NDArray[Any], weight: Array | None) -> Array | None:
        """Weights of the errors; None if they are just counted."""
        if self.counts:
            return None
        if self.costs is not None:
            costs: Array = self.costs[codes]
            weight = costs if weight is None else costs * weight
        if weight is None:
            weight = np.ones(len(codes))
        check_range_of_weights(weight, float(self.totals.sum()))
        return weight


@dataclass(frozen=True)
class Near:
    """The rows that are nearest to the threshold of a reference rule.

    Attributes
    ----------
    rows : Rows
        These rows, the nearest first.
    sizes : ndarray of shape (n,)
        Their |M|, sorted.
    horizon : float
        All other rows are at least as far.
    """

    rows: Rows
    sizes: Array
    horizon: float = math.inf

    @classmethod
    def of(cls, rows: Rows, sizes: Array, room: int, horizon: float) -> Near:
        """Those of some rows that are nearer than a horizon, so many at most."""
        if len(sizes) > room:
            horizon = min(horizon, float(np.partition(sizes, room)[room]))
        near = np.flatnonzero(sizes < horizon)
        near = near[np.argsort(sizes[near])]
        return cls(rows.take(near), sizes[near], horizon)

    def within(self, size: float) -> Rows:
        """Those that are nearer than a size."""
        return self.rows.take(slice(0, int(np.searchsorted(self.sizes, size))))

    @classmethod
    def joined(cls, parts: Sequence[Near], room: int) -> Near:
        """Those of several parts that are within the nearest horizon."""
        X, first, weight = (
            np.concatenate([getattr(part.rows, name) for part in parts])
            for name in ("X", "first", "weight")
        )
        sizes = np.concatenate([part.sizes for part in parts])
        horizon = min(part.horizon for part in parts)
        return cls.of(Rows(X, first, weight), sizes, room, horizon)


@dataclass(frozen=True)
class Look:
    """What a pass over rows finds at a rule.

    Attributes
    ----------
    errors : int
        Errors of the rule, in units.
    changes : ndarray of shape (2 (d + 1),)
        How each neighbour changes them.
    near : Near
        Rows that the next iterations need.
    """

    errors: int
    changes: Count
    near: Near


def look(
    rows: Rows, v: Array, step: float, room: int, horizon: float = math.inf
) -> Look:
    """Look at some rows from a rule.

    Parameters
    ----------
    rows : Rows
        The rows.
    v : ndarray of shape (d + 1,)
        The rule.
    step : float
        Length of a step, relative to the coefficient.
    room : int
        Most rows to set aside.
    horizon : float, default=inf
        Set aside only rows nearer than this.

    Returns
    -------
    Look
        What was found.
    """
    from heterolda.kernels.algorithm2 import measure

    sizes = np.empty(len(rows.X))
    errors = int(measure(rows.X, rows.first, rows.weight, v, sizes))
    # At the reference R is the step itself, and D is zero.
    movable = rows.take(sizes < step + rounding(len(v) - 1, step))
    near = Near.of(rows, sizes, room, horizon)
    return Look(errors, movable.changes(v, step), near)


def rounding(d: int, horizon: float) -> float:
    """Bound on the rounding of |M| and of the canonical sum where D + R < horizon."""
    return 2.0**-51 * (d + 8) * (d + 1 + horizon)


class Walk:
    """The search of one pair of classes, from neighbour to neighbour.

    Parameters
    ----------
    start : ndarray of shape (d + 1,)
        The first rule.
    step, max_iter, patience
        As for :func:`heterolda.search.algorithm2.paper_search`.
    """

    def __init__(self, start: Array, step: float, max_iter: int, patience: int):
        self.start = start
        self.v = self.reference = start.copy()
        self.step, self.max_iter, self.patience = step, max_iter, patience
        self.horizon = 0.0
        self.state = np.array([0, 0, 0, 0])
        self.log = np.empty((2, _FIRST_LOG), dtype=np.int64)

    @property
    def ended(self) -> bool:
        """Whether there is nothing left to do."""
        n_iter, _, fewest, stalled = map(int, self.state)
        if n_iter == 0:
            return False
        return n_iter >= self.max_iter or stalled >= self.patience or fewest == 0

    def arrive(self, errors: int, changes: Count, horizon: float) -> None:
        """Take in the look at the current rule, which becomes the reference, and move.

        Parameters
        ----------
        errors, changes
            Of all rows, as in `Look`.
        horizon : float
            Rows that are not at hand are at least as far.
        """
        if self.state[0] == 0:
            self.state[:] = 1, errors, errors, 0
            self.log[:, 0] = errors, -1
        self.reference, self.horizon = self.v.copy(), horizon
        self.move(changes)

    def move(self, changes: Count) -> None:
        """Go to the best neighbour, unless the search has ended."""
        from heterolda.kernels.algorithm2 import move

        if not self.ended:
            self.log = with_room(self.log, int(self.state[0]))
            move.py_func(self.v, changes, self.step, self.state, self.log)

    @property
    def reach(self) -> float:
        """D + R and the rounding: rows as far as this need not be looked at."""
        away, largest = self._ratios()
        near = away + self.step * largest
        return near + rounding(len(self.v) - 1, near)

    def n_safe(self) -> int:
        """Number of iterations that surely stay within the horizon."""
        if self.ended:
            return 0
        rest = self.max_iter - int(self.state[0])
        if self.horizon == math.inf:
            return rest
        away, largest = self._ratios()
        spare = self.horizon - away - rounding(len(self.v) - 1, self.horizon)
        # After n moves D has grown by |p| ((1 + step)^n - 1) at most, and R is step
        # times what |p| has become; together that is the same with n + 1.
        if not spare > self.step * largest:
            return 0
        n = math.log1p(spare / largest) / math.log1p(self.step)
        return min(rest, int((1 - 1e-12) * n))

    def _ratios(self) -> tuple[float, float]:
        """D and the largest |p_i|, for the coefficients that can move."""
        used = self.reference != 0
        p = self.v[used] / self.reference[used]
        return float(np.abs(p - 1).sum()), float(np.abs(p).max(initial=0.0))

    def go_on(self, near: Near, report: Report, unit: float) -> None:
        """Walk with the rows at hand, as far as the horizon.

        Parameters
        ----------
        near : Near
            The rows.
        report : callable
            Called now and then; a KeyboardInterrupt that it raises ends the search.
        unit : float
            What errors are counted in.
        """
        from heterolda.kernels.algorithm2 import run
        from heterolda.kernels.blocks import make_block

        rows = near.rows
        if not len(rows.X):
            return
        block = make_block(rows.X, rows.first, rows.weight, True)
        changes = np.zeros(2 * len(self.v), dtype=np.int64)
        while n := min(self.n_safe(), _PER_REPORT):
            until = int(self.state[0]) + n
            while self.log.shape[1] < until:
                self.log = with_room(self.log, self.log.shape[1])
            settings = self.step, 2.0, self.patience, until
            run(block, self.v, changes, *settings, self.state, self.log)
            tell(report, self.state, unit)

    def result(self, unit: float) -> SearchResult:
        """What was found."""
        history = self.log[0, : int(self.state[0])]
        return SearchResult(
            path=best_rules(self.start, self.log[:, : len(history)], self.step),
            errors=unit * int(self.state[2]),
            errors_start=unit * int(history[0]),
            history=np.multiply(history, unit, dtype=np.float64),
            touched=math.nan,
            interrupted=False,
        )
