"""Algorithm 2 on rows that are not in memory, in few passes over them.

It makes the same moves as :mod:`heterolda.search.algorithm2`, to the last count. In the
terms of :mod:`heterolda.kernels.algorithm2`: a pass over all rows measures |M| at a
reference rule, counts the errors of its neighbours, and keeps the rows with the
smallest |M| in memory. All others have |M| >= H, the horizon. Where D = sum |p_i - 1|
and R = max |r_i|, no neighbour changes their sides as long as D + R, plus the rounding,
stays below H. So the search goes on with the rows in memory until it comes to the
horizon, and then needs the next pass. Each pass is good for one iteration at least,
whatever the number of rows kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.types import Array, Count, Index
from heterolda.kernels.algorithm2 import measure, move, rounding
from heterolda.search.algorithm2 import (
    PairRows,
    Reporter,
    SearchResult,
    best_rules,
    check_range_of_weights,
    grid_digits,
    report_progress,
    with_room,
)

# Iterations between two reports where the rows are in memory.
_PER_REPORT = 64
_FIRST_LOG = 64


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
    pairs: Index
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
    ) -> Iterator[tuple[int, PairRows]]:
        """The rows of each of the `wanted` pairs that has any, the first class first.

        The classes of the rows are given by their indices `codes`.
        """
        X = np.ascontiguousarray(X)  # rows are copied for each pair
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
                yield k, PairRows(data, first, units.astype(np.int64), self.unit(k))

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
class NearestRows:
    """The rows that are nearest to the threshold of a reference rule.

    Attributes
    ----------
    rows : PairRows
        These rows, the nearest first.
    sizes : ndarray of shape (n,)
        Their |M|, sorted.
    horizon : float
        All other rows are at least as far.
    """

    rows: PairRows
    sizes: Array
    horizon: float = math.inf

    @classmethod
    def of(cls, rows: PairRows, sizes: Array, room: int, horizon: float) -> NearestRows:
        """Those of some rows that are nearer than a horizon, `room` of them at most."""
        if len(sizes) > room:
            horizon = min(horizon, float(np.partition(sizes, room)[room]))
        near = np.flatnonzero(sizes < horizon)
        near = near[np.argsort(sizes[near])]
        return cls(rows.take(near), sizes[near], horizon)

    def within(self, size: float) -> PairRows:
        """Those that are nearer than a size."""
        return self.rows.take(slice(0, int(np.searchsorted(self.sizes, size))))

    @classmethod
    def joined(cls, records: Sequence[NearestRows], room: int) -> NearestRows:
        """Those of several records that are within the nearest horizon."""
        X, first, weight = (
            np.concatenate([getattr(one.rows, name) for one in records])
            for name in ("X", "first", "weight")
        )
        sizes = np.concatenate([one.sizes for one in records])
        horizon = min(one.horizon for one in records)
        rows = PairRows(X, first, weight, records[0].rows.unit)
        return cls.of(rows, sizes, room, horizon)


@dataclass(frozen=True)
class RuleEvaluation:
    """What a pass over some rows finds at a rule.

    Attributes
    ----------
    errors : int
        Errors of the rule, in units.
    changes : ndarray of shape (2 (d + 1),)
        How each neighbour changes them.
    near : NearestRows
        Rows that the next iterations need.
    """

    errors: int
    changes: Count
    near: NearestRows


def evaluate_rule(
    rows: PairRows, v: Array, step: float, room: int, horizon: float = math.inf
) -> RuleEvaluation:
    """Evaluate the rule v on some rows, and keep the nearest of them.

    At most `room` rows are kept, and only such that are nearer than the horizon.
    """
    errors, sizes = measure(rows.X, rows.first, rows.weight, v)
    # At the reference R is the step itself, and D is zero.
    movable = rows.take(sizes < step + rounding(len(v) - 1, step))
    near = NearestRows.of(rows, sizes, room, horizon)
    return RuleEvaluation(errors, movable.changes(v, step), near)


class Walk:
    """The search of one pair of classes, from neighbour to neighbour of a rule.

    The arguments are those of :func:`heterolda.search.algorithm2.paper_search`.
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

    def apply_pass(self, errors: int, changes: Count, horizon: float) -> None:
        """Make the current rule the reference, and move to its best neighbour.

        A pass over all rows has found its errors, how each neighbour changes them, and
        the horizon: rows that are not in memory are at least as far.
        """
        if self.state[0] == 0:
            self.state[:] = 1, errors, errors, 0
            self.log[:, 0] = errors, -1
        self.reference, self.horizon = self.v.copy(), horizon
        self.move(changes)

    def move(self, changes: Count) -> None:
        """Go to the best neighbour, unless the search has ended."""
        if not self.ended:
            self.log = with_room(self.log, int(self.state[0]))
            move(self.v, changes, self.step, self.state, self.log)

    @property
    def reach(self) -> float:
        """D + R and the rounding: rows as far as this need not be evaluated."""
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

    def move_in_memory(self, near: NearestRows, report: Reporter) -> None:
        """Move with the rows in memory, as far as the horizon."""
        rows = near.rows
        if not len(rows.X):
            return
        block = rows.block(True)
        changes = np.zeros(2 * len(self.v), dtype=np.int64)
        while n := min(self.n_safe(), _PER_REPORT):
            until = int(self.state[0]) + n
            while self.log.shape[1] < until:
                self.log = with_room(self.log, self.log.shape[1])
            settings = self.step, 2.0, self.patience, until
            block.run(self.v, changes, self.state, self.log, *settings)
            report_progress(report, self.state, rows.unit)

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
