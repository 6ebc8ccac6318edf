"""Moments of classes from sparse rows, at the cost of products of their nonzeros."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from heterolda.foundations.types import Array, Index, Mask
from heterolda.kernels.class_moments import SMALLEST_SQUARE, ClassMoments
from heterolda.statistics.labels import class_order

# A column is dense in a class if more than this share of the weight is on its nonzeros.
# Beyond it, products of dense blocks are also faster than those of sparse ones.
_DENSE = 0.1
# Numbers of a dense block.
_BLOCK = 1 << 20


def sparse_moments(
    X: Any, codes: Index, weight: Array | None, n_classes: int
) -> ClassMoments:
    r"""What `class_moments` returns, for rows in CSR format.

    The scatter of a class of weight W and mean m is :math:`\sum w x x' - W m m'`. If a
    share p of the weight is on the nonzeros of a column, then
    :math:`W m^2 \leq p \sum w x^2` (Cauchy and Schwarz): where p is small, the
    difference loses no digits. Columns with larger p are centred, block by block, into
    z: their scatter is :math:`\sum w z z'`, and :math:`\sum w z x'` with the others,
    because z sums to zero.
    """
    d, lost = X.shape[1], -1
    totals, means = np.zeros(n_classes), np.zeros((n_classes, d))
    scatters = np.zeros((n_classes, d, d))
    order, bounds = class_order(codes, weight, n_classes)
    for k, (low, high) in enumerate(pairwise(bounds.tolist())):
        if low == high:
            continue
        rows = order[low:high]
        w = np.ones(len(rows)) if weight is None else weight[rows]
        totals[k] = w.sum()
        part = X[rows]
        part.sum_duplicates()
        part = part.astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            varies = _moments(part, w, means[k], scatters[k])
        vanished = varies & (scatters[k].diagonal() < SMALLEST_SQUARE)
        if lost < 0 and vanished.any():
            lost = int(vanished.argmax())
    return ClassMoments(totals, means, scatters, lost)


def _moments(X: Any, w: Array, mean: Array, scatter: Array) -> Mask:
    """Write the moments of one class; return which features vary.

    The rows X are overwritten.
    """
    X.eliminate_zeros()
    sizes, total = np.diff(X.indptr), w.sum()
    filled = np.bincount(X.indices, np.repeat(w, sizes), X.shape[1])
    is_dense = filled > _DENSE * total
    few, many = np.flatnonzero(~is_dense), np.flatnonzero(is_dense)
    mean[few] = (X.T @ w)[few] / total
    columns, root = X[:, many], np.sqrt(w)
    X.data *= np.repeat(root, sizes)
    X = X[:, few]
    # Centring on a row first makes the scatter of a constant column exactly zero.
    origin = columns[[0]].toarray()[0]
    shift = sum(w[at] @ z for at, z in _blocks(columns, origin)) / total
    within, across = np.zeros((len(many),) * 2), np.zeros((len(few), len(many)))
    rest, varies = np.zeros(len(many)), filled > 0
    varies[many] = False
    for at, z in _blocks(columns, origin):
        z -= shift
        rest += w[at] @ z
        varies[many] |= z.any(axis=0)
        z *= root[at, None]
        within += z.T @ z
        across += X[at].T @ z
    # The sum of z is zero but for rounding.
    scatter[np.ix_(many, many)] = within - np.outer(rest, rest) / total
    across -= np.outer(mean[few], rest)
    scatter[np.ix_(few, many)], scatter[np.ix_(many, few)] = across, across.T
    mean[many] = origin + (shift + rest / total)
    transposed, step = X.T.tocsr(), _step(len(few))
    for start in range(0, len(few), step):
        here = slice(start, start + step)
        product = (transposed[here] @ X).toarray()
        product -= np.outer(mean[few[here]], mean[few]) * total
        scatter[np.ix_(few[here], few)] = product
    return varies


def _blocks(X: Any, origin: Array) -> Iterator[tuple[slice, Array]]:
    """Rows less an origin, made dense a block at a time."""
    step = _step(X.shape[1])
    for start in range(0, X.shape[0], step):
        at = slice(start, start + step)
        yield at, X[at].toarray() - origin


def _step(width: int) -> int:
    """Number of rows of so many numbers in a block."""
    return max(1, _BLOCK // max(1, width))
