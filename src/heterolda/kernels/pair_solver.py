"""Certified optimum of pairs of Gaussian classes, in C, pair by pair.

The NumPy form is :class:`heterolda.solvers.global_search.Global`, which solves many
pairs at once, including those that this kernel leaves unsolved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, Index

# Outcomes of a pair: solved; S1 + S2 is singular; not solved for another reason.
DONE, SINGULAR, UNSOLVED = range(3)
# With more features, NumPy's linear algebra is faster.
MAX_FEATURES = 128


def solve_pairs(
    means: Array,
    covariances: Array,
    weights: Array,
    pairs: Index,
    priors: Array,
    gap: float,
    whitening: Array | None = None,
) -> tuple[dict[str, NDArray[Any]], NDArray[np.uint8]]:
    """Solve pairs of class indices; return the attributes of `Rules`, and outcomes.

    `priors` are those of each pair. Pairs with singular S1 + S2 need the `whitening` of
    `PrincipalAxes`, scaled to unit diagonal and with zero columns. Attributes of pairs
    that are not solved are undefined.
    """
    n, d = len(pairs), means.shape[1]
    # In the order of the arguments of the compiled function.
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
    inputs = map(kernels.ready, (means, covariances, weights, pairs, priors))
    kernels.compiled.solve_pairs(*inputs, gap, whitening, *columns.values(), outcome)
    return columns, outcome
