"""How many rows of each class two rules of a pair get wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.kernels.ordered_scores import linear_scores

# Rows that are gathered at a time where they cannot be used as they are.
_ROWS = 1 << 13


@dataclass(frozen=True)
class RowsOfPairs:
    """Rows of classes, and the pairs that the classes are in.

    Attributes
    ----------
    X : ndarray of shape (n, n_features)
        Rows.
    weight : ndarray of shape (n,) or None
        Their weights.
    order : ndarray of int64
        Indices of the rows of each class, one class after the other.
    bounds : ndarray of int64 of shape (n_classes + 1,)
        Where each class begins in `order`, and where the last ends.
    chosen : ndarray of bool of shape (n_classes,)
        Classes whose rows count.
    classes : ndarray of int64 of shape (n_pairs, 2)
        Classes of each pair; -1 for none.
    judged : ndarray of bool of shape (n_pairs,)
        Pairs that count.
    """

    X: NDArray[Any]
    weight: Array | None
    order: Index
    bounds: Index
    chosen: Mask
    classes: Index
    judged: Mask

    def members(self, k: int) -> Index:
        """Where class k is in ``classes.ravel()``, in pairs that count."""
        return np.flatnonzero((self.classes == k).ravel() & self.judged.repeat(2))

    def arguments(self) -> tuple[Any, ...]:
        """What the compiled kernels take first."""
        weight = self.weight
        if weight is not None:
            weight = kernels.ready(weight)
        where = self.order, self.bounds, self.chosen
        return self.X, weight, *where, kernels.ready(self.classes), self.judged

    def of_class(self, k: int, rows: Index) -> RowsOfPairs:
        """Some rows of class k, gathered in float64."""
        return replace(
            self,
            X=self.X.take(rows, axis=0).astype(np.float64, order="C", copy=False),
            weight=None if self.weight is None else self.weight[rows],
            order=np.arange(len(rows)),
            bounds=np.where(np.arange(len(self.bounds)) > k, len(rows), 0),
            chosen=np.arange(len(self.chosen)) == k,
        )

    @property
    def ready(self) -> bool:
        """Whether the compiled kernels can use the rows as they are."""
        flags = self.X.flags
        return self.X.dtype == np.float64 and flags.c_contiguous and flags.aligned


def rule_counts(
    rows: RowsOfPairs, rules: tuple[Array, Array], others: tuple[Array, Array]
) -> Array:
    """Weights of the rows that either rule of a pair, and that only one, gets wrong.

    `rules` are coefficients and intercepts of one rule of each pair, `others` those of
    another. The result is of shape (n_pairs, 2, 3), for both classes of each pair, and
    zero where nothing was counted. A positive score is for the second class; one that
    rounding cannot tell from zero may have either sign.
    """
    counts = np.zeros((len(rows.judged), 2, 3))
    if kernels.compiled is not None and rows.ready:
        _add_compiled(rows, rules, others, counts)
        return counts
    add = rule_counts_numpy if kernels.compiled is None else _add_compiled
    for k in np.flatnonzero(rows.chosen):
        for start in range(rows.bounds[k], rows.bounds[k + 1], _ROWS):
            here = rows.order[start : min(start + _ROWS, rows.bounds[k + 1])]
            part = np.zeros_like(counts)
            add(rows.of_class(k, here), rules, others, part)
            counts += part
    return counts


def _add_compiled(rows, rules, others, counts):
    """Set the counts of classes that have rows."""
    known = map(kernels.ready, (*rules, *others))
    kernels.compiled.rule_counts(*rows.arguments(), *known, counts)


def rule_counts_numpy(rows, rules, others, counts):
    """The same for a single class that has all rows."""
    k = int(np.flatnonzero(rows.chosen)[0])
    members = rows.members(k)
    pairs, second = members // 2, members % 2 == 1
    w = np.ones(len(rows.X)) if rows.weight is None else rows.weight
    one, two = (
        (linear_scores(rows.X, coef[pairs].T, intercept[pairs]) > 0) != second
        for coef, intercept in (rules, others)
    )
    sums = w @ one, w @ two, w @ (one != two)
    counts.reshape(-1, 3)[members] = np.transpose(sums)
