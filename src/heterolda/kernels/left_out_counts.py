"""What two rules of a pair say of rows that they were not fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import heterolda.kernels as kernels
from heterolda.foundations.types import Array, Index, Mask


def left_out_counts(
    X: NDArray[Any],
    weight: Array | None,
    order: Index,
    bounds: Index,
    moments: tuple[Array, Array, Array],
    classes: Index,
    log_odds: Array,
    planes: tuple[Array, Array, Mask, Array],
    fisher: Array,
    pairs: Index,
    starts: Index,
    *,
    frequencies: bool,
) -> tuple[Array, Mask]:
    """Counts as of `rule_counts`, by rules without the row in question.

    Rows and pairs of each class are given as there. `moments` are means, covariances
    and weights of the classes, `classes` and `log_odds` those of the pairs and of their
    first class, `planes` are weights on the arc (of S1, then of S2), deviations,
    trivial and the coefficients of the rules, `fisher` those of Fisher's. Also returned
    is where nothing was counted: where covariances are next to singular, and
    everywhere without the compiled kernel. `left_out_scores` will do for these.
    """
    counts, handed = np.zeros((len(pairs), 3)), np.ones(len(pairs), bool)
    if kernels.compiled is None:
        return counts, handed
    if X.dtype != np.float64 or not X.flags.c_contiguous:
        some = [order[bounds[k] : bounds[k + 1]] for k in range(len(bounds) - 1)]
        some = [
            rows[: len(rows) * (starts[k + 1] > starts[k])]
            for k, rows in enumerate(some)
        ]
        order = np.concatenate(some)
        bounds = np.append(0, np.cumsum([len(rows) for rows in some]))
        X = X.take(order, axis=0).astype(np.float64, order="C")
        weight = None if weight is None else weight[order]
        order = np.arange(len(order))
    arrays = (weight, *moments, classes, log_odds, *planes, fisher)
    weight, *arrays = (a if a is None else np.ascontiguousarray(a) for a in arrays)
    kernels.compiled.left_out_counts(
        *(X, weight, order, bounds), *arrays, pairs, starts, frequencies, counts, handed
    )
    return counts, handed
