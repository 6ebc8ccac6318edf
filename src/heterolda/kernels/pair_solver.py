"""The certified optimum of pairs of Gaussian classes, one pair after the other.

There is no NumPy form here: it is :class:`heterolda.solvers.global_search.Global` on a
pencil, which solves all pairs at once and is asked for those that are handed over.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

import heterolda.kernels as kernels
from heterolda.foundations.types import Array, Count, Index, Mask

# What became of a pair: solved; not, for S1 + S2 is singular; not, for other reasons.
DONE, SINGULAR, UNSURE = range(3)
# Beyond this number of features the linear algebra of NumPy is faster.
MOST_FEATURES = 128


@dataclass(frozen=True)
class SolvedPairs:
    """The rules of pairs, as in `Hyperplanes`, and Fisher's; garbage where not done."""

    coef: Array
    intercept: Array
    error: Array
    gap: Array
    means: Array
    deviations: Array
    n_iter: Count
    status: Count
    rank: Count
    floored: Mask
    fisher_coef: Array
    fisher_intercept: Array
    outcome: NDArray[np.uint8]

    @classmethod
    def empty(cls, n_pairs: int, d: int) -> SolvedPairs:
        """Room for so many pairs."""

        def numbers(*shape: int) -> Array:
            return np.empty((n_pairs, *shape))

        return cls(
            coef=numbers(d),
            intercept=numbers(),
            error=numbers(),
            gap=numbers(),
            means=numbers(2),
            deviations=numbers(2),
            n_iter=np.empty(n_pairs, np.int64),
            status=np.empty(n_pairs, np.int64),
            rank=np.empty(n_pairs, np.int64),
            floored=np.empty((n_pairs, 2), bool),
            fisher_coef=numbers(d),
            fisher_intercept=numbers(),
            outcome=np.empty(n_pairs, np.uint8),
        )

    @classmethod
    def joined(cls, parts: list[SolvedPairs]) -> SolvedPairs:
        """The rules of consecutive groups of pairs."""
        if len(parts) == 1:
            return parts[0]
        columns = zip(*(part.columns() for part in parts), strict=True)
        return cls(*map(np.concatenate, columns))

    def columns(self) -> list[NDArray]:
        """The arrays, in the order of the fields."""
        return [getattr(self, field.name) for field in fields(self)]


def solve_pairs(
    means: Array,
    covariances: Array,
    weights: Array,
    pairs: Index,
    priors: Array,
    gap: float,
    whitening: Array | None = None,
) -> SolvedPairs:
    """Rules of pairs of classes, by the indices of these and the priors of each pair.

    For pairs whose S1 + S2 is singular a `whitening` in units of its diagonal, zero
    columns included, can be given, as by `PrincipalAxes`.
    """
    solved = SolvedPairs.empty(len(pairs), means.shape[1])
    given = means, covariances, weights, pairs, priors
    kernels.compiled.solve_pairs(
        *map(kernels.ready, given), gap, whitening, *solved.columns()
    )
    return solved
