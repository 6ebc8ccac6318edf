"""A batch of pairs of Gaussian classes, by the moments of the classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from heterolda.foundations.types import Array, Index
from heterolda.solvers.fisher import fisher_rules
from heterolda.solvers.pencil import Pencil


@dataclass(frozen=True)
class PairMoments:
    """What solvers know of a batch of pairs.

    Attributes
    ----------
    means, covariances, weights : ndarray
        Of the classes, of shape (n_classes, d), (n_classes, d, d) and (n_classes,).
    pairs : ndarray of shape (n_pairs, 2)
        Indices of the first and the second class of each pair.
    priors : ndarray of shape (n_pairs, 2)
        Their priors, which sum to one.
    moore_penrose : bool
        How the pencil treats singular matrices.
    """

    means: Array
    covariances: Array
    weights: Array
    pairs: Index
    priors: Array
    moore_penrose: bool = False

    @cached_property
    def pencil(self) -> Pencil:
        """The pairs in diagonal form."""
        return Pencil.from_moments(
            self.means[self.pairs],
            self.covariances[self.pairs],
            self.priors,
            self.weights[self.pairs],
            moore_penrose=self.moore_penrose,
        )

    @cached_property
    def fisher(self) -> tuple[Array, Array]:
        """Coefficients and intercepts of Fisher's rules."""
        return fisher_rules(self.pencil)

    def know(self, fisher: tuple[Array, Array], rank: Index) -> None:
        """Keep what is known without a pencil."""
        vars(self).update(fisher=fisher, rank=rank)

    @cached_property
    def rank(self) -> Index:
        """Number of directions in which either class of each pair varies."""
        rank: Index = np.count_nonzero(self.pencil.basis.any(axis=1), axis=1)
        return rank

    def take(self, some: Index) -> PairMoments:
        """Some of the pairs, with their pencil if that of all is known."""
        taken = replace(self, pairs=self.pairs[some], priors=self.priors[some])
        if "pencil" in vars(self):
            vars(taken)["pencil"] = self.pencil.take(some)
        return taken

    def with_covariances(self, covariances: Array) -> PairMoments:
        """The same pairs with other covariances of the classes."""
        return replace(self, covariances=covariances)
