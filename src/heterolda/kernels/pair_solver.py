"""The certified optimum of pairs of Gaussian classes, one pair after the other.

There is no NumPy form here: it is :class:`heterolda.solvers.global_search.Global` on a
pencil, which solves all pairs at once and is asked for those that are handed over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, Index

# What became of a pair: solved; not, for S1 + S2 is singular; not, for other reasons.
DONE, SINGULAR, UNSURE = range(3)
# Beyond this number of features the linear algebra of NumPy is faster.
MOST_FEATURES = 128


def solve_pairs(
    means: Array,
    covariances: Array,
    weights: Array,
    pairs: Index,
    priors: Array,
    gap: float,
    whitening: Array | None = None,
) -> tuple[dict[str, NDArray[Any]], NDArray[np.uint8]]:
    """Solve pairs of classes, given by their indices, with the priors of each pair.

    For pairs whose S1 + S2 is singular a `whitening` in units of its diagonal, zero
    columns included, can be given, as by `PrincipalAxes`. Return attributes of `Rules`,
    which are garbage where a pair is not done, and what became of each pair.
    """
    n, d = len(pairs), means.shape[1]
    # In the order of the compiled function.
    columns: dict[str, NDArray[Any]] = {
        "coef": np.empty((n, d)),
        "intercept": np.empty(n),
        "error": np.empty(n),
        "gap": np.empty(n),
        "means": np.empty((n, 2)),
        "deviations": np.empty((n, 2)),
        "n_iter": np.empty(n, np.int64),
        "status": np.empty(n, np.int64),
        "rank": np.empty(n, np.int64),
        "floored": np.empty((n, 2), bool),
        "fisher_coef": np.empty((n, d)),
        "fisher_intercept": np.empty(n),
    }
    outcome = np.empty(n, np.uint8)
    given = means, covariances, weights, pairs, priors
    kernels.compiled.solve_pairs(
        *map(kernels.ready, given), gap, whitening, *columns.values(), outcome
    )
    return columns, outcome
