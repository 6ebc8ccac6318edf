r"""How far rows lie from their class, beside the rows of a fit left out of it.

For a class with n rows, let :math:`D^2(x) = (x - m)' S^{-1} (x - m)`, with the
covariance in use. A row j of the fit with the deviation :math:`u = x_j - m`, left out
of mean and covariance, is at

.. math::
    D_j^2 = \Bigl(\frac{n}{n - 1}\Bigr)^2
        \frac{D^2 / \varphi}{1 - \rho D^2 / \varphi},

because the covariance without it is :math:`\varphi S - \rho u u'` (Sherman-Morrison).
Without shrinkage, :math:`\varphi = (n - 1) / (n - 2)` and :math:`\rho = n / ((n - 1)(n
- 2))`. With it, :math:`\varphi` is the mean of the factors of the class covariance and
the pooled one, by their shares of the trace of :math:`S^{-1} S`.

The share of rows as far as a new one, :math:`p = (1 + \#\{D_j^2 \ge D^2\}) / (n + 1)`,
is nearly uniform for rows of the class. Beyond the farthest row it falls as the tail of
Hotelling's distribution does, :math:`(1 + D^2 / f)^{-(f - d + 1) / 2}`, where f are the
degrees of freedom of S.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betainc, betaincinv

from heterolda.foundations.arrays import Array, Index, blocks, dense
from heterolda.foundations.rounding import SINGULAR
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.covariances import pooled_freedom
from heterolda.statistics.rows import Rows
from heterolda.statistics.samples import rows_by_class
from heterolda.statistics.shrinkage import Shrinkage
from heterolda.statistics.wide import Span, outside_of

# Distances of a class that are kept: the farthest, and as many quantiles of others.
_FARTHEST = 100
# Squared variation of a constant feature, as a share of its squared size.
_NO_VARIATION = 1e-16
_TINY = 1e-200
# Squared distance of a row without which its class does not vary along it.
_FAR = 1e300
# Number of values in a block.
_BLOCK = 1 << 18


@dataclass(frozen=True)
class FarRows:
    """Squared distances of left-out rows of a class, and how many rows are beyond."""

    squares: Array  # ascending, each larger than the one before in `beyond`
    beyond: Array  # number of rows that are at least as far
    n: float  # number of all rows

    @classmethod
    def of(cls, squares: Array) -> FarRows:
        """Keep the farthest rows, and quantiles of the others."""
        n = len(squares)
        index = np.arange(n)
        if n > 2 * _FARTHEST:
            nearer = np.linspace(0, n - _FARTHEST - 1, _FARTHEST).astype(np.intp)
            index = np.append(nearer, index[-_FARTHEST:])
        return cls(np.sort(squares)[index], (n - index).astype(np.float64), float(n))

    def shares(self, squares: Array, freedom: float, rank: int) -> Array:
        """Return the shares of rows that are at least as far."""
        if not len(self.squares):
            return tail(squares, freedom, rank)
        at = np.searchsorted(self.squares, squares)
        p: Array = (1 + np.append(self.beyond, 0.0)[at]) / (self.n + 1)
        ratio = (freedom + self.squares[-1]) / (freedom + squares)
        power = 0.5 * max(freedom - rank + 1, 1.0)
        return p * np.where(at == len(self.squares), ratio, 1.0) ** power


_NO_ROWS = FarRows(np.zeros(0), np.zeros(0), 0.0)


def tail(squares: Array, freedom: float, rank: int) -> Array:
    """Return the probability that a row of Gaussian classes is as far (Hotelling)."""
    rest = max(freedom - rank + 1, 1.0)
    share: Array = betainc(0.5 * rest, 0.5 * rank, 1 / (1 + squares / freedom))
    return share


@dataclass(frozen=True)
class ClassDistances:
    """Squared distances of rows from the classes, with their covariances in use."""

    statistics: ClassStatistics  # in coordinates, if there is a span
    shrinkage: Shrinkage
    span: Span | None

    @cached_property
    def covariances(self) -> Array:
        """Return the covariances, with something where a class does not vary."""
        stats = self.statistics
        covariances = self.shrinkage.covariances(stats)
        pooled = stats.squares.sum(axis=0) / max(pooled_freedom(stats.weights), 1.0)
        least = np.maximum(SINGULAR * pooled, _NO_VARIATION * self._origin**2)
        diagonal = np.arange(stats.n_features)
        covariances = covariances.copy()
        covariances[:, diagonal, diagonal] += np.maximum(least, _TINY)
        return covariances

    @property
    def _origin(self) -> Array:
        """Return a point between the classes, so that offsets lose no digits."""
        origin: Array = self.statistics.means.mean(axis=0)
        return origin

    @cached_property
    def whitening(self) -> Array:
        """Return matrices A of the classes, with D^2 = |(x - m) A|^2."""
        return whitening_of(self.covariances)

    @cached_property
    def freedom(self) -> Array:
        """Return the degrees of freedom of the covariances, at least one."""
        share, weights = self.shrinkage.to_pooled, self.statistics.weights
        freedom = (1 - share) * (weights - 1) + share * pooled_freedom(weights)
        return np.maximum(freedom, 1.0)

    @cached_property
    def deviations(self) -> Array:
        """Return the deviations of the features within the classes."""
        if self.span is None:
            return np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2))
        basis = self.span.basis * self.span.units[:, None] ** 2
        of_features = np.einsum(
            "ir,krs,is->ki", basis, self.covariances, basis, optimize=True
        )
        deviations: Array = np.sqrt(of_features)
        return deviations

    @property
    def rank(self) -> int:
        """Return the number of directions."""
        coordinates = self.statistics.coordinates
        outside = 0 if coordinates is None else coordinates.n_outside
        return self.statistics.n_features + outside

    def typicality(
        self, X: Array, far_rows: list[FarRows] | None
    ) -> tuple[Array, Index]:
        """Return the largest share of a class that is as far, and the worst feature.

        That feature is the one with the largest squared residual given all others.
        """
        shares, squares = self.shares(X, far_rows)
        best = np.lexsort((squares.T, -shares.T), axis=0)[0]
        typical: Array = shares[np.arange(len(X)), best]
        return typical, self._worst(X, best)

    def shares(self, X: Array, far_rows: list[FarRows] | None) -> tuple[Array, Array]:
        """Return shares of rows of each class as far as rows, and squared distances."""
        incomplete = np.isnan(X).any(axis=1)
        squares = self.squares(X)
        if incomplete.any():
            squares[incomplete] = self.of_incomplete(X[incomplete])
        shares = np.empty_like(squares)
        for k, freedom in enumerate(self.freedom):
            far = _NO_ROWS if far_rows is None else far_rows[k]
            shares[:, k] = far.shares(squares[:, k], freedom, self.rank)
        return shares, squares

    def _worst(self, X: Array, nearest: Index) -> Index:
        """Return the feature with the largest residual given all others."""
        worst: Index = np.zeros(len(X), np.intp)
        if self.span is None:
            for k in np.unique(nearest):
                rows = np.flatnonzero(nearest == k)
                A = self.whitening[k]
                u = np.nan_to_num(X[rows] - self.statistics.means[k])
                residuals = (u @ A @ A.T) ** 2 / np.einsum("ij,ij->i", A, A)
                worst[rows] = residuals.argmax(axis=1)
        else:
            means = self.span.origin + self.statistics.means @ (
                self.span.basis.T * self.span.units**2
            )
            u = (X - means[nearest]) / self.span.units
            worst = np.abs(u).argmax(axis=1)
        return worst

    def center_and_direction(self, coef: Array, k: Index) -> tuple[Array, Array]:
        """Return the mean m and S w for rows with rules w and classes k; -1 for all."""
        stats, span = self.statistics, self.span
        share = stats.weights / stats.weights.sum()
        means = np.vstack([stats.means, share @ stats.means])
        covariances = np.concatenate(
            [self.covariances, [np.tensordot(share, self.covariances, 1)]]
        )
        if span is not None:
            coef = (coef * span.units**2) @ span.basis
        along = np.empty_like(coef)
        for each in np.unique(k):
            along[k == each] = coef[k == each] @ covariances[each]
        if span is None:
            return means[k], along
        back = span.basis.T * span.units**2
        return span.origin + means[k] @ back, along @ back

    def squares(self, X: Array) -> Array:
        """Return squared distances of dense rows from all classes, (n, n_classes)."""
        stats = self.statistics
        n_classes, d = stats.means.shape
        squares = np.empty((len(X), n_classes))
        wide = np.ascontiguousarray(self.whitening.swapaxes(0, 1)).reshape(d, -1)
        centers = stats.means - self._origin
        shift = (centers[:, None, :] @ self.whitening)[:, 0, :].ravel()
        for block in blocks(len(X), max(1, _BLOCK // (n_classes * d))):
            Z, outside = self._inside(X[block])
            z = (Z - self._origin) @ wide - shift
            z = z.reshape(-1, n_classes, d)
            squares[block] = np.einsum("nkd,nkd->nk", z, z) + outside
        return squares

    def _inside(self, X: Array) -> tuple[Array, Array | float]:
        """Return rows in coordinates, and their squared distances from the span."""
        if self.span is None:
            return X, 0.0
        Z = self.span.coordinates(X)
        n_outside, variances = outside_of(self.statistics.coordinates, self.covariances)
        if not n_outside:
            return Z, 0.0
        varies = self.span.basis.any(axis=1)
        length = (((X - self.span.origin) / self.span.units)[:, varies] ** 2).sum(
            axis=1
        )
        rest = np.maximum(length - (Z**2).sum(axis=1), 0.0)
        return Z, rest[:, None] / variances

    def left_out(self, X: Array, codes: Index, weight: Array) -> Array:
        """Return squared distances of rows in coordinates, left out of their class."""
        stats, share = self.statistics, self.shrinkage.to_pooled
        total, freedom = stats.weights, pooled_freedom(stats.weights)
        squares, diagonal = np.empty(len(X)), np.zeros(len(X))
        of_class = np.ones(len(total))
        bounds = np.searchsorted(codes, np.arange(len(total) + 1))
        for k, A in enumerate(self.whitening):
            rows = slice(bounds[k], bounds[k + 1])
            u = (X[rows] - stats.means[k]) @ A
            squares[rows] = np.einsum("nd,nd->n", u, u)
            if share[k] and self.shrinkage.to_diagonal:
                diagonal[rows] = self._along_diagonal(X[rows] - stats.means[k], u @ A.T)
            if share[k]:
                own = (1 - share[k]) / max(total[k] - 1, 1.0) / stats.n_features
                of_class[k] = own * np.vdot(stats.scatters[k] @ A, A)
        incomplete = np.flatnonzero(np.isnan(squares))
        if len(incomplete):
            of_seen = self.of_incomplete(X[incomplete])
            squares[incomplete] = of_seen[np.arange(len(of_seen)), codes[incomplete]]
        of_class, share, total = of_class[codes], share[codes], total[codes]
        rest = np.maximum(total - weight, _TINY)
        left, left_of_all = np.maximum([total - weight - 1, freedom - weight], 1.0)
        phi = of_class * (total - 1) / left + (1 - of_class) * freedom / left_of_all
        pooled = share * (1 - self.shrinkage.to_diagonal) / left_of_all
        factor = weight * total / rest
        # The diagonal loses squares of the deviations, here in first order.
        loss = share * self.shrinkage.to_diagonal / left_of_all * factor * diagonal
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            kept = np.maximum(1 - np.nan_to_num(loss / squares), 0.5)
            squares = squares / phi / kept
            ratio = 1 - factor * ((1 - share) / left + pooled) * squares
            alone = (ratio <= SINGULAR) | (total <= weight)
            farther = (total / rest) ** 2 * squares / ratio
        return np.where(alone, _FAR, np.minimum(farther, _FAR))

    def _along_diagonal(self, u: Array, v: Array) -> Array:
        """Return sums of u_i^2 v_i^2 over features for u and v = S^-1 u."""
        products, span = np.empty(len(u)), self.span
        d = u.shape[1] if span is None else len(span.units)
        for rows in blocks(len(u), max(1, _BLOCK // d)):
            a, b = u[rows], v[rows]
            if span is not None:
                a, b = (part @ span.basis.T * span.units for part in (a, b))
            products[rows] = np.einsum("nd,nd,nd,nd->n", a, a, b, b)
        return products

    def of_incomplete(self, X: Array) -> Array:
        """Return squared distances of rows with missing values, over observed features.

        They are those of complete rows that are as unlikely under Gaussian classes.
        """
        squares = np.empty((len(X), self.statistics.n_classes))
        missing = np.isnan(X)
        patterns, of_row = np.unique(missing, axis=0, return_inverse=True)
        order = np.argsort(of_row.ravel(), kind="stable")
        bounds = np.searchsorted(of_row.ravel()[order], np.arange(len(patterns) + 1))
        for pattern, start, stop in zip(patterns, bounds, bounds[1:], strict=False):
            rows, seen = order[start:stop], np.flatnonzero(~pattern)
            u = X[np.ix_(rows, seen)][None] - self.statistics.means[:, None, seen]
            of_seen = self.covariances[:, seen[:, None], seen]
            z = u @ whitening_of(of_seen)
            squares[rows] = self._as_complete((z**2).sum(axis=2).T, len(seen))
        return squares

    def _as_complete(self, squares: Array, n_seen: int) -> Array:
        """Return squares of all features with the tails of squares of some."""
        rank, freedom = self.statistics.n_features, self.freedom
        if n_seen == rank:
            return squares
        if not n_seen:
            return np.zeros_like(squares)
        rest, rest_of_seen = (np.maximum(freedom - n + 1, 1.0) for n in (rank, n_seen))
        p = betainc(0.5 * rest_of_seen, 0.5 * n_seen, 1 / (1 + squares / freedom))
        share = betaincinv(0.5 * rest, 0.5 * rank, p)
        with np.errstate(divide="ignore"):
            complete: Array = np.maximum(squares, freedom * (1 / share - 1))
        return complete


def whitening_of(covariances: Array) -> Array:
    """Return A with A A' = S^-1 for each covariance S, which is not singular."""
    scale = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    correlations = covariances / scale[:, :, None] / scale[:, None, :]
    diagonal = np.arange(covariances.shape[1])
    correlations[:, diagonal, diagonal] += SINGULAR
    factors = np.linalg.cholesky(correlations)
    inverse = np.linalg.solve(
        factors, np.broadcast_to(np.eye(len(diagonal)), factors.shape)
    )
    whitening: Array = inverse.mT / scale[:, :, None]
    return whitening


def far_rows(
    distances: ClassDistances, rows: Rows | None, random_state: Any = 0
) -> list[FarRows] | None:
    """Return distances of drawn rows in coordinates, left out, of each class."""
    completed = distances.statistics.estimated_by == "EM"
    if rows is None or (completed and rows.given is None):
        return None
    order, bounds = rows_by_class(rows, random_state)
    X = dense((rows.X if rows.given is None else rows.given)[order])
    X, codes = X.astype(np.float64, copy=False), rows.codes[order]
    weight = np.ones(len(order)) if rows.weights is None else rows.weights[order]
    squares = distances.left_out(X, codes, weight)
    return [FarRows.of(part) for part in np.split(squares, bounds[1:-1])]
