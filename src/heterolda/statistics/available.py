"""What rows with gaps say of single features, one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from heterolda.exceptions import ParameterError
from heterolda.foundations.types import Array
from heterolda.statistics.moments import (
    RangeError,
    check_range,
    check_room,
    is_wide,
)
from heterolda.statistics.patterns import GapRows

_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Available:
    """What classes say of single features.

    Attributes
    ----------
    weights : ndarray of shape (n_classes,)
        Total weight of each class, rows without any value included.
    blank : ndarray of shape (n_classes,)
        Weight of the latter.
    complete : ndarray of shape (n_classes,)
        Weight of the rows without gaps; or their number, where few of them differ.
    n_values : ndarray of shape (n_classes, d)
        Weight of the rows that have a feature.
    sums, squares : ndarray of shape (n_classes, d)
        Of what was observed, less the origin.
    low, high : ndarray of shape (n_classes, d)
        The smallest and the largest value, less the origin; or they are infinite where
        values vary.
    origin : ndarray of shape (d,)
        About the mean of all values.
    """

    weights: Array
    blank: Array
    complete: Array
    n_values: Array
    sums: Array
    squares: Array
    low: Array
    high: Array
    origin: Array

    @classmethod
    def from_rows(cls, parts: Iterable[GapRows]) -> Available:
        """Gather it in one pass."""
        total: Available | None = None
        for rows in parts:
            part = cls._of_part(rows, None if total is None else total.origin)
            total = part if total is None else total._with(part)
        if total is None:
            raise ValueError("there are no rows")
        return total

    @classmethod
    def _of_part(cls, rows: GapRows, origin: Array | None) -> Available:
        k, d = len(rows.blank), rows.X.shape[1]
        there, w = rows.row_observed, rows.weight[:, None]
        located = rows.located[:, None]
        once, at = w * located, located > 0
        if origin is None:
            n = np.maximum((once * there).sum(axis=0), _TINY)
            origin = (once * rows.X).sum(axis=0) / n
        z = np.where(there, rows.X - located * origin, 0.0)
        # Where a factor is not zero, values vary.
        told = there & (at | (z != 0))
        apart = np.where(at, 0.0, np.inf)
        n_values, sums, squares = np.zeros((3, k, d))
        low, high = np.full((k, d), np.inf), np.full((k, d), -np.inf)
        for i, one in enumerate(rows.classes()):
            n_values[i] = once[one, 0] @ there[one]
            sums[i] = once[one, 0] @ z[one]
            with np.errstate(over="ignore"):
                squares[i] = (w[one] * z[one] ** 2).sum(axis=0)
            mask, ends = told[one], (z[one] - apart[one], z[one] + apart[one])
            low[i] = ends[0].min(axis=0, initial=np.inf, where=mask)
            high[i] = ends[1].max(axis=0, initial=-np.inf, where=mask)
        totals = rows.blank + np.bincount(rows.codes, rows.totals, k)
        complete = np.zeros(k)
        for i in np.flatnonzero(rows.observed.all(axis=1)).tolist():
            complete[rows.codes[i]] = min(rows.totals[i], _n_distinct(rows, i))
        known = totals, rows.blank, complete, n_values, sums, squares
        return cls(*known, low, high, origin)

    def _with(self, other: Available) -> Available:
        return Available(
            self.weights + other.weights,
            self.blank + other.blank,
            self.complete + other.complete,
            self.n_values + other.n_values,
            self.sums + other.sums,
            self.squares + other.squares,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.origin,
        )

    def means(self) -> Array:
        """Means of each feature, less the origin; without values, that of all."""
        n = self.n_values
        overall = self.sums.sum(axis=0) / n.sum(axis=0)
        return np.where(n > 0, self.sums / np.maximum(n, _TINY), overall)

    def variances(self) -> Array:
        """Variances of each feature with the divisor of largest likelihood."""
        n = np.maximum(self.n_values, _TINY)
        found = np.where(self.low < self.high, self.squares / n - self.means() ** 2, 0)
        return np.maximum(found, 0.0)

    def check(self) -> None:
        """Refuse too few rows, features without values, and squares at limits."""
        n_rows, (k, d) = int(self.weights.sum()), self.sums.shape
        if not self.weights.any():
            raise ParameterError(
                "sample_weight",
                "is zero for every row: give some rows a positive weight",
            )
        if is_wide(n_rows, d):
            raise ValueError(
                f"there are missing values and fewer rows ({n_rows}) than features "
                f"({d}), too few to estimate what is missing: choose fewer features, "
                "or fill the values in"
            )
        check_room(k, d)
        n = self.n_values.sum(axis=0)
        if not n.all():
            lost = int(np.argmin(n))
            raise RangeError.of_feature(
                "X", lost, "are all missing: leave the feature out"
            )
        varies = self.low.min(axis=0) < self.high.max(axis=0)
        check_range(self.squares.sum(axis=0), varies)


def _n_distinct(rows: GapRows, pattern: int) -> float:
    """How many rows of a pattern differ, if they are no more than it has features.

    More of them count as any number.
    """
    some = slice(rows.bounds[pattern], rows.bounds[pattern + 1])
    X, few = rows.X[some], 2 * (rows.X.shape[1] + 1)
    if len(X) > few or not rows.located[some].all():
        return np.inf
    return len(np.unique(X, axis=0))
