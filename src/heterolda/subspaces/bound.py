"""Bhattacharyya bound on the errors of all pairs of classes in a subspace."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from heterolda.foundations.arrays import Array, blocks
from heterolda.subspaces.classes import WhitenedClasses

# Matrices of pairs are processed in batches of about this many values.
BATCH_SIZE = 1 << 22


class BhattacharyyaBound:
    r"""Bound on the errors of all pairs, as a function of a subspace.

    In the span of the columns of A, classes i and j are confused with a probability of
    at most :math:`\sqrt{p_i p_j} \exp(-B_{ij})` (Fukunaga 1990, section 3.4),

    .. math::
        B_{ij} = \tfrac18 (A'\delta)' S^{-1} A'\delta + \tfrac12 \ln |S|
            - \tfrac14 \ln |A' S_i A| - \tfrac14 \ln |A' S_j A|,

    with :math:`S = A' \Sigma A`, :math:`\Sigma = (S_i + S_j) / 2` and
    :math:`\delta = m_i - m_j`. Methods return logarithms, because the bound underflows
    where classes are far apart.
    """

    def __init__(self, classes: WhitenedClasses):
        self.classes = classes
        i, j = classes.pairs.T
        self._delta = classes.means[i] - classes.means[j]
        self._log_priors = 0.5 * np.log(classes.priors[classes.pairs]).sum(axis=1)
        # Whether a class (row) belongs to a pair (column).
        self._members = np.zeros((len(classes.priors), len(i)))
        self._members[i, np.arange(len(i))] = 1.0
        self._members[j, np.arange(len(i))] = 1.0

    def pair_terms(self, A: Array) -> Array:
        """Return logarithms of the terms of pairs, (n_pairs, 1 + n_components).

        Column c is for the first c columns of A: the Cholesky factor of a matrix
        contains those of its leading blocks.
        """
        roots = np.linalg.cholesky(A.T @ self.classes.covariances @ A)
        i, j = self.classes.pairs.T
        distances = np.zeros((len(i), 1 + A.shape[1]))
        for rows in self._batches(A.shape[1]):
            a, b = roots[i[rows]], roots[j[rows]]
            factor = np.linalg.cholesky(0.5 * (a @ a.mT + b @ b.mT))
            shift = np.linalg.solve(factor, (self._delta[rows] @ A)[:, :, None])
            logs = [np.log(np.einsum("pcc->pc", root)) for root in (factor, a, b)]
            steps = shift[:, :, 0] ** 2 / 8 + logs[0] - 0.5 * (logs[1] + logs[2])
            distances[rows, 1:] = steps.cumsum(axis=1)
        terms: Array = self._log_priors[:, None] - distances
        return terms

    def logs(self, A: Array) -> Array:
        """Return logarithms of the bound in the first 0, 1, 2, ... columns of A."""
        bounds: Array = logsumexp(self.pair_terms(A), axis=0)
        return bounds

    def log_and_gradient(self, A: Array) -> tuple[float, Array]:
        r"""Return the logarithm of the bound in the span of A, and its gradient.

        .. math::
            \frac{dB_{ij}}{dA} = \tfrac14 (\delta u' - \Sigma A u u') + \Sigma A S^{-1}
            - \tfrac12 S_i A (A' S_i A)^{-1} - \tfrac12 S_j A (A' S_j A)^{-1},
            \quad u = S^{-1} A' \delta
        """
        i, j = self.classes.pairs.T
        along = self.classes.covariances @ A
        S, delta = A.T @ along, self._delta @ A
        log_det = np.linalg.slogdet(S)[1]
        batches = self._batches(A.shape[1])

        def solve(rows: slice) -> tuple[Array, Array]:
            inverse = np.linalg.inv(0.5 * (S[i[rows]] + S[j[rows]]))
            return inverse, (inverse @ delta[rows, :, None])[:, :, 0]

        logs = self._log_priors + 0.25 * (log_det[i] + log_det[j])
        for rows in batches:
            inverse, u = solve(rows)
            logs[rows] -= (delta[rows] * u).sum(axis=1) / 8
            logs[rows] += 0.5 * np.linalg.slogdet(inverse)[1]
        largest = logs.max()
        weight = np.exp(logs - largest)
        total = weight.sum()
        weight /= total
        # Sum of all factors of S_k A, for each class.
        factors = -0.5 * (self._members @ weight)[:, None, None] * np.linalg.inv(S)
        slope = np.zeros_like(A)
        for rows in batches:
            if len(batches) > 1:  # a single batch is still in memory
                inverse, u = solve(rows)
            shared = inverse - 0.25 * u[:, :, None] * u[:, None, :]
            shared *= (0.5 * weight[rows])[:, None, None]
            sums = self._members[:, rows] @ shared.reshape(len(shared), -1)
            factors += sums.reshape(S.shape)
            slope += 0.25 * (weight[rows, None] * self._delta[rows]).T @ u
        slope += (along @ factors).sum(axis=0)
        return float(largest + np.log(total)), -slope

    def _batches(self, n_components: int) -> list[slice]:
        """Return slices of pairs whose matrices are in memory together."""
        return blocks(len(self._delta), max(1, BATCH_SIZE // (1 + n_components**2)))

    def work(self, n_components: int) -> float:
        """Return the approximate number of operations of `log_and_gradient`."""
        n, rank = n_components, self.classes.rank
        return 8.0 * len(self._delta) * n**3 + 2.0 * len(self._members) * rank**2 * n
