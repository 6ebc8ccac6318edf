"""Linear discriminant analysis of rows that are left out, in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.rounding import SINGULAR
from heterolda.foundations.types import Array, Index
from heterolda.statistics.class_statistics import ClassStatistics

_BLOCK_SIZE = 1 << 18


def lda_winners(
    X: NDArray[Any],
    codes: Index,
    weight: Array,
    statistics: ClassStatistics,
    priors: Array | None,
) -> Index:
    """Classes that scikit-learn's LDA, fitted without each of the rows, predicts.

    Its covariance is sum_k p_k T_k / W_k, with the relative frequencies p_k if no
    priors are given. Without a row this is a matrix that all rows of a class have in
    common, less a multiple of z z'.
    """
    winners = np.empty(len(X), np.intp)
    left = np.minimum(weight, 1.0)
    for k in range(statistics.n_classes):
        for amount in np.unique(left[codes == k]):
            mine = np.flatnonzero((codes == k) & (left == amount))
            judge = _Judge(statistics, priors, k, amount)
            step = max(1, _BLOCK_SIZE // (X.shape[1] + statistics.n_classes))
            for start in range(0, len(mine), step):
                block = mine[start : start + step]
                winners[block] = judge.winners(X[block].astype(np.float64))
    return winners


class _Judge:
    """Decides rows of class k, of each of which the weight `left` is left out."""

    def __init__(
        self, statistics: ClassStatistics, priors: Array | None, k: int, left: float
    ) -> None:
        weights = statistics.weights.copy()
        self.k, total = k, weights[k]
        weights[k] -= left
        p = weights / weights.sum() if priors is None else priors
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(weights > 0, p / weights, 0.0)
            self.taken = share[k] * left * total / (total - left)
            self.log_priors = np.log(p)
            self.shift = -left / (total - left)
        self.base = np.tensordot(share, statistics.scatters, axes=1)
        self.means = statistics.means
        # Features of unit variance, so that units do not decide what is singular.
        scale = np.sqrt(np.where(np.diag(self.base) > 0, np.diag(self.base), 1.0))
        values, vectors = np.linalg.eigh(self.base / scale / scale[:, None])
        kept = values > SINGULAR * values[-1]
        self.whiten = vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None]

    def winners(self, rows: Array) -> Index:
        """Winning classes of some rows."""
        if not np.isfinite(self.shift):  # nothing is left of the class
            self.taken = 0.0
        z = (rows - self.means[self.k]) @ self.whiten
        centres = (self.means - self.means[self.k]) @ self.whiten
        square = (z * z).sum(axis=1)[:, None]
        along = z @ centres.T
        size = np.broadcast_to((centres**2).sum(axis=1), along.shape).copy()
        if np.isfinite(self.shift):
            along[:, self.k] = self.shift * square[:, 0]
            size[:, self.k] = self.shift**2 * square[:, 0]
        # Sherman and Morrison: z'A y = z.y / rest, y'A y = y.y + taken (z.y)^2 / rest.
        rest = 1 - self.taken * square
        with np.errstate(divide="ignore", invalid="ignore"):  # by hand, below
            scores = along / rest - 0.5 * (size + self.taken * along**2 / rest)
        scores += self.log_priors
        winner: Index = scores.argmax(axis=1)
        for n in np.flatnonzero(rest[:, 0] <= SINGULAR):
            winner[n] = self._by_hand(rows[n])
        return winner

    def _by_hand(self, row: Array) -> int:
        """The winner for a row that alone spans a direction."""
        z = row - self.means[self.k]
        centres = self.means - self.means[self.k]
        centres[self.k] = self.shift * z
        covariance = self.base - self.taken * np.outer(z, z)
        y = np.linalg.lstsq(covariance, centres.T, rcond=SINGULAR)[0]
        scores = z @ y - 0.5 * (centres.T * y).sum(axis=0) + self.log_priors
        return int(scores.argmax())
