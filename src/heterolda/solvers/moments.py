"""Moments of Gaussian classes, and the pairs of classes to separate."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from heterolda.foundations.arrays import Array, Index
from heterolda.solvers.axes import PrincipalAxes, Units, scaled_by
from heterolda.solvers.pencil import Pencil


@dataclass(frozen=True)
class Moments:
    """Moments of Gaussian classes, and the pairs of classes to separate."""

    means: Array  # (n_classes, d)
    covariances: Array  # (n_classes, d, d)
    priors: Array  # (n_classes,)
    weights: Array  # (n_classes,)
    pairs: Index  # indices of the first and the second class, (n_pairs, 2)
    shares: Array | None = None  # priors times costs, replacing the priors of pairs

    @property
    def pair_priors(self) -> Array:
        """Priors of each pair, summing to one, of shape (n_pairs, 2)."""
        shares = self.priors[self.pairs] if self.shares is None else self.shares
        priors: Array = shares / shares.sum(axis=1, keepdims=True)
        return priors

    def take(self, index: Index | slice) -> Moments:
        """Select pairs."""
        shares = None if self.shares is None else self.shares[index]
        return replace(self, pairs=self.pairs[index], shares=shares)

    def axes(self) -> PrincipalAxes:
        """Return the principal axes of the pairs."""
        covariances = self.covariances[self.pairs]
        units = Units.of(self.means[self.pairs], np.einsum("pkii->pi", covariances))
        total = scaled_by(covariances, units.scale).sum(axis=1)
        return PrincipalAxes.of(total, units, self.weights[self.pairs])

    def pencil(
        self, *, moore_penrose: bool = False, axes: PrincipalAxes | None = None
    ) -> Pencil:
        """Diagonalize the pairs, using their principal axes if given."""
        return Pencil.from_moments(
            self.means[self.pairs],
            self.covariances[self.pairs],
            self.pair_priors,
            self.weights[self.pairs],
            moore_penrose=moore_penrose,
            axes=axes,
        )
