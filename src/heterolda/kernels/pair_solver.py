"""Certified optimum and other rules of pairs of Gaussian classes, in C, pair by pair.

The NumPy forms are :class:`heterolda.solvers.global_search.Global` and
:func:`heterolda.solvers.directions.curve_directions`, which solve many pairs at once,
including those that these kernels leave unsolved.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, Index

# Outcomes of a pair: solved; S1 + S2 is singular; not solved for another reason.
DONE, SINGULAR, UNSOLVED = range(3)
_OF_BASIS = "basis", "inverse", "ratio"


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


class Fan(NamedTuple):
    """Rules at positions of the arcs of pairs, in ascending order of theta.

    The rules w = V u solve M w = delta for M = b S1 + a S2 = V^-T L diag(g) L' V^-1,
    where the bidiagonal L has ones, and ratios below them.
    """

    optimum: Index  # index of the rule of the optimum, (n_pairs,)
    weights: Array  # b = cos(theta) and a = sin(theta), (n_pairs, 2, G)
    w: Array  # (n_pairs, G, d)
    basis: Array  # V, (n_pairs, d, r); r may be 0 if it is not needed
    inverse: Array  # 1 / g, (n_pairs, G, d)
    ratio: Array  # (n_pairs, G, d)
    variances: Array  # of both classes along w, (n_pairs, 2, G)
    distance: Array  # w.delta, (n_pairs, G)

    def without_basis(self) -> Fan:
        """Return the rules alone."""
        none = {name: getattr(self, name)[:, :, :0] for name in _OF_BASIS}
        return self._replace(**none)

    def replaced(self, pairs: Index, other: Fan) -> None:
        """Replace the rules of the pairs with these indices, in place."""
        for mine, new in zip(self, other, strict=True):
            mine[pairs] = new


def arc_directions(
    means: Array,
    covariances: Array,
    pairs: Index,
    optima: Array,
    positions: Array,
    with_basis: bool,
    whitening: Array | None = None,
) -> tuple[Fan, NDArray[np.uint8]]:
    """Return rules at these positions and at the optima, given by cosine and sine.

    Also return outcomes; rules of pairs that are not solved are undefined.
    """
    n, d, G = len(pairs), means.shape[1], len(positions) + 1
    fan = Fan(
        np.zeros(n, np.int64),
        np.empty((n, 2, G)),
        np.empty((n, G, d)),
        np.empty((n, d, d if with_basis else 0)),
        np.empty((n, G, d)),
        np.empty((n, G, d)),
        np.empty((n, 2, G)),
        np.empty((n, G)),
    )
    outcome = np.empty(n, np.uint8)
    inputs = map(kernels.ready, (means, covariances, pairs, optima, positions))
    kernels.compiled.arc_directions(*inputs, whitening, *fan, outcome)
    return fan, outcome
