"""Errors of two rules per pair of classes, counted on the rows of each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, Index, Mask, blocks, rows_at
from heterolda.kernels.ordered_scores import linear_scores

# With more products of features and coefficients, BLAS is faster than C loops.
_FEW_PRODUCTS = 1 << 17
# Rows gathered at a time.
_ROWS = 1 << 13

Hyperplanes = tuple[Array, Array]  # coefficients and intercepts


@dataclass(frozen=True)
class RowsOfPairs:
    """Rows of classes, and the pairs of classes to count errors for."""

    X: NDArray[Any]  # rows, (n, n_features)
    weight: Array | None  # weights of the rows
    order: Index  # indices of the rows, sorted by class
    bounds: Index  # class k is order[bounds[k] : bounds[k + 1]], (n_classes + 1,)
    chosen: Mask  # classes whose rows are counted
    classes: Index  # classes of each pair, -1 for none, (n_pairs, 2)
    counted: Mask  # pairs that are counted


def rule_counts(rows: RowsOfPairs, rules: Hyperplanes, others: Hyperplanes) -> Array:
    """Return the weight of rows misclassified by `rules`, by `others`, and by only one.

    Both have one rule per pair. The result has shape (n_pairs, 2, 3), with a row for
    each class of a pair, and zeros where nothing was counted. A positive score votes
    for the second class; a score of zero may be rounded to either sign.
    """
    counts = np.zeros((len(rows.counted), 2, 3))
    n_products = len(rows.order) * 4 * rules[0].size // max(1, len(rows.chosen))
    flags = rows.X.flags
    native = rows.X.dtype == np.float64 and flags.c_contiguous and flags.aligned
    if kernels.compiled is None or n_products > _FEW_PRODUCTS or not native:
        _add_counts(rows, rules, others, counts)
    else:
        selection = rows.order, rows.bounds, rows.chosen, rows.classes, rows.counted
        inputs = rows.X, rows.weight, *selection, *rules, *others
        kernels.compiled.rule_counts(*map(kernels.ready, inputs), counts)
    return counts


def _add_counts(
    rows: RowsOfPairs, rules: Hyperplanes, others: Hyperplanes, counts: Array
) -> None:
    """Add the errors to counts, class by class."""
    classes = np.where(rows.counted[:, None], rows.classes, -1).ravel()
    for k in np.flatnonzero(rows.chosen):
        positions = np.flatnonzero(classes == k)
        pairs, second = positions // 2, positions % 2 == 1
        normals = np.concatenate([rules[0][pairs], others[0][pairs]]).T
        intercept = np.concatenate([rules[1][pairs], others[1][pairs]])
        members = rows.order[rows.bounds[k] : rows.bounds[k + 1]]
        for block in blocks(len(members) * bool(len(pairs)), _ROWS):
            index = members[block]
            X = rows_at(rows.X, index).astype(np.float64, copy=False)
            positive = linear_scores(X, normals, intercept) > 0
            wrong, wrong_others = np.split(positive != np.tile(second, 2), 2, axis=1)
            w = np.ones(len(X)) if rows.weight is None else rows.weight[index]
            sums = w @ wrong, w @ wrong_others, w @ (wrong != wrong_others)
            counts.reshape(-1, 3)[positions] += np.transpose(sums)
