"""Shrinkage of class covariances: by a parameter, or chosen on left-out rows.

The guide on few rows has the candidates. Leaving out a row changes the scatter T_k of
its class and the pooled covariance by multiples of one matrix of rank one, so no matrix
is factored twice; the diagonal is kept. The pooled correlation and its mixtures with
the identity have the same eigenvectors, so one more eigendecomposition for each class
and r serves all nu, at a cost of O(n d^2 + K d^3) for each r.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Amount, Array, blocks, dense
from heterolda.foundations.rounding import SAME_SUM, SINGULAR
from heterolda.foundations.threads import one_blas_thread
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.covariances import pooled_freedom
from heterolda.statistics.rows import Rows

# Candidates differ by factors of about three, within which the likelihood hardly
# changes. STRENGTHS are multiples of the rank of the features.
STRENGTHS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, np.inf)
DIAGONALS = (0.0, 0.03, 0.1, 0.3, 1.0)

# With fewer degrees of freedom per feature than this, the default is "cv". With more,
# it gains nothing, and costs accuracy where tails are heavy.
ENOUGH_FREEDOM = 8.0
# With fewer than this, rows are nearly separable whatever their labels: errors under
# the model mean nothing, and thresholds come from left-out rows.
FEW_FREEDOM = 2.0

# Number of rows whose likelihoods are computed together.
_BLOCK_ROWS = 4096


@dataclass(frozen=True)
class Shrinkage:
    """Shares of (1 - g_k) S_k + g_k P with P = (1 - r) S_pooled + r diag(S_pooled)."""

    to_pooled: Array  # weights g_k, (n_classes,)
    to_diagonal: float  # weight r

    @classmethod
    def of(
        cls, statistics: ClassStatistics, shrinkage: Amount, chosen: Shrinkage | None
    ) -> Shrinkage:
        """Return the amounts chosen on rows, or else by the parameter."""
        if chosen is None:
            return cls(*statistics.amounts(shrinkage))
        return chosen if chosen.to_pooled.any() else cls(*statistics.amounts("auto"))

    def covariances(self, statistics: ClassStatistics) -> Array:
        """Return the shrunk covariances of class statistics."""
        return statistics.mixed(self.to_pooled, self.to_diagonal)


def freedom_per_feature(statistics: ClassStatistics) -> float:
    """Return the degrees of freedom of the pooled covariance per independent feature.

    If they are enough, constant and dependent features count too: a rank takes time.
    """
    freedom = pooled_freedom(statistics.weights)
    enough = freedom >= ENOUGH_FREEDOM * statistics.n_features
    return freedom / (statistics.n_features if enough else statistics.rank)


def needs_no_rows(estimator: Any) -> bool:
    """Return True if moments are enough to fit, or raise an error with the reason."""
    if isinstance(estimator.shrinkage, str) and estimator.shrinkage == "cv":
        raise ParameterError(
            "shrinkage",
            "='cv' cross-validates, so it needs all rows at once: use fit(X, y), or "
            "shrinkage='auto', which can do with class statistics",
        )
    if estimator.covariance_estimator is not None:
        raise ParameterError(
            "covariance_estimator",
            "is fitted to the rows of each class, so it needs all rows at once: use "
            "fit(X, y) with rows in memory, or leave it out",
        )
    return True


def chosen_on_rows(
    shrinkage: Amount, statistics: ClassStatistics, rows: Rows | None
) -> Shrinkage | None:
    """Return the shrinkage chosen on left-out rows; None if the parameter decides."""
    if rows is None or statistics.given or statistics.n_classes < 2:
        return None
    freedom = pooled_freedom(statistics.weights)
    if shrinkage == "auto":
        few = freedom > 1 and freedom_per_feature(statistics) < ENOUGH_FREEDOM
        if not few or not np.isclose(rows.totals.sum(), statistics.weights.sum()):
            return None  # rows of a sample cannot be left out of the statistics
    elif shrinkage != "cv":
        return None
    statistics.covariances()  # rejects classes that are too small
    if freedom <= 1:  # leaving out a row leaves no covariance
        return Shrinkage(np.zeros(statistics.n_classes), 0.0)
    if statistics.estimated_by is not None:
        statistics = ClassStatistics.from_rows(rows)
    with one_blas_thread():  # faster: the matrices are small
        return choose_shrinkage(rows, statistics)


def choose_shrinkage(rows: Rows, statistics: ClassStatistics) -> Shrinkage:
    """Choose the shrinkage that maximizes the likelihood of left-out rows."""
    scores = left_out_log_likelihood(rows, statistics)
    # The first of the best candidates, up to rounding, shrinks least.
    is_best = scores >= scores.max() - SAME_SUM * abs(scores.max())
    best, diagonal = np.unravel_index(np.argmax(is_best), scores.shape)
    nu = STRENGTHS[best] * statistics.rank
    if not nu:
        return Shrinkage(np.zeros(statistics.n_classes), 0.0)
    freedom = np.maximum(statistics.weights - 1, 0.0)
    shares = np.ones_like(freedom) if np.isinf(nu) else nu / (freedom + nu)
    return Shrinkage(shares, DIAGONALS[diagonal])


def left_out_log_likelihood(rows: Rows, statistics: ClassStatistics) -> Array:
    """Return log-likelihoods of all left-out rows, (n_strengths, n_diagonals)."""
    basis, spectrum = pooled_basis(statistics)
    scores = np.zeros((len(STRENGTHS), len(DIAGONALS)))
    order, bounds = rows.by_class
    for k in np.flatnonzero(statistics.weights > 1).tolist():  # else no row remains
        index = order[bounds[k] : bounds[k + 1]]
        weights, total = rows.frequencies[index], float(statistics.weights[k])
        candidates = _candidates(statistics, k, weights, basis, spectrum)
        for block in blocks(len(index), _BLOCK_ROWS):
            z = (dense(rows.X[index[block]]) - statistics.means[k]) @ basis
            for r, candidate in enumerate(candidates):
                scores[:, r] += candidate.log_likelihood(z, weights[block], total)
    scores[0] = scores[0].max()  # with strength 0, the diagonal does not matter
    return scores


def _outside(statistics: ClassStatistics) -> int:
    """Return the number of directions with variance outside the coordinates."""
    coordinates = statistics.coordinates
    if coordinates is None:
        return 0
    n_varying = np.count_nonzero(coordinates.target) + coordinates.n_outside
    # With enough rows, the features are linearly dependent.
    few = pooled_freedom(statistics.weights) < n_varying
    return coordinates.n_outside if few else 0


def pooled_basis(statistics: ClassStatistics) -> tuple[Array, Array]:
    """Return scaled eigenvectors, and the eigenvalues, of the pooled correlation."""
    freedom = pooled_freedom(statistics.weights)
    pooled = statistics.scatters.sum(axis=0) / freedom
    coordinates = statistics.coordinates
    variances = np.diag(pooled) if coordinates is None else coordinates.target
    varies = variances > 0
    scale = np.sqrt(variances[varies])
    spectrum, vectors = np.linalg.eigh(
        pooled[np.ix_(varies, varies)] / scale / scale[:, None]
    )
    # With enough rows, directions without variance are a property of the data.
    if freedom >= len(scale) > 0 and not _outside(statistics):
        positive = spectrum > SINGULAR * spectrum[-1]
        spectrum, vectors = spectrum[positive], vectors[:, positive]
    basis = np.zeros((len(varies), len(spectrum)))
    basis[varies] = vectors / scale[:, None]
    return basis, spectrum


class _Candidates(NamedTuple):
    """Covariances of a class for all strengths, with one mixture P."""

    vectors: Array  # inverse square root of the mixture times eigenvectors, (n, n)
    precisions: Array  # inverse eigenvalues, (n, n_strengths); NaN if singular
    log_det: Array  # logarithms of determinants, (n_strengths,)
    lost: Array  # factors of u u' that are subtracted, (n_strengths,)

    def log_likelihood(self, z: Array, weight: Array, total: float) -> Array:
        """Return the weighted sum over rows of a class of this total weight."""
        removed = np.minimum(weight, 1.0)
        factor = removed * total / (total - removed)
        squares = (z @ self.vectors) ** 2 @ self.precisions
        # The Sherman-Morrison formula, and the determinant lemma. The distance is to
        # the mean without the row, which is farther by W / (W - 1).
        ratio = 1 - factor[:, None] * self.lost * squares
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = (factor / removed)[:, None] ** 2 * squares / ratio
            value = weight @ (-0.5 * (self.log_det + np.log(ratio) + distance))
        regular = np.all(ratio > SINGULAR, axis=0) & np.isfinite(value)
        return np.where(regular, value, -np.inf)


def _candidates(
    statistics: ClassStatistics, k: int, weight: Array, basis: Array, spectrum: Array
) -> list[_Candidates]:
    """Return the candidate covariances of a class, for each mixture."""
    freedom = pooled_freedom(statistics.weights)
    # A row loses one copy, or its weight if that is smaller. The divisors use the
    # average of what rows lose, which is one for whole weights.
    removed = float(np.average(np.minimum(weight, 1.0), weights=weight))
    scatter = basis.T @ statistics.scatters[k] @ basis
    nu = np.array(STRENGTHS) * statistics.rank
    outside = _outside(statistics)
    # Factors of T_k and of P in the covariance without the row.
    class_weight = statistics.weights[k] - 1 - removed
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = np.where(np.isinf(nu), 0.0, 1 / (class_weight + nu))
        share = np.where(np.isinf(nu), 1.0, nu * factor)
    factor[~np.isfinite(factor) | (factor < 0)] = np.nan  # nothing remains of the class
    candidates = []
    for r in DIAGONALS:
        mixture = (1 - r) * spectrum * freedom / (freedom - removed) + r
        singular = not np.all(mixture > SINGULAR * mixture.max(initial=1.0))
        root = np.ones_like(mixture) if singular else np.sqrt(mixture)
        values, vectors = np.linalg.eigh(scatter / root / root[:, None])
        values = np.where(values > SINGULAR * values.max(initial=0.0), values, 0.0)
        base = np.multiply.outer(values, factor) + share
        if singular:
            base[:, share > 0] = np.nan
        base[base <= 0] = np.nan
        log_det = np.log(base).sum(axis=0) + 2 * np.log(root).sum()
        if outside:  # only the diagonal contributes there
            with np.errstate(divide="ignore"):
                log_det += outside * np.log(share * r)
        lost = factor + share * (1 - r) / (freedom - removed)
        candidates.append(_Candidates(vectors / root[:, None], 1 / base, log_det, lost))
    return candidates
