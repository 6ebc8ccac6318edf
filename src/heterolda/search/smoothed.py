r"""Rules of pairs of classes that minimize the smoothed error, in one fit.

With a width h in (0, 1], each row x_j of class k becomes a Gaussian with the mean
m_k + sqrt(1 - h^2) (x_j - m_k) and the covariance h^2 S_k. The mixture has the mean and
the covariance of the class. The error of a rule under it,

    p_h(w, w0) = p1 mean_j Phi((w0 - s_j) / (h sigma1))
               + p2 mean_j Phi((s_j - w0) / (h sigma2)),
    s_j = w.m_k + sqrt(1 - h^2) w.(x_j - m_k),   sigma_k^2 = w'S_k w,

is that of the two Gaussians for h = 1, whose global minimum the solvers certify, and
tends to the share of training errors for h -> 0, the objective of Algorithm 2. The rule
of a width is found by descent from those of larger widths. Where rows are few, it is
averaged with a logistic rule that has a ridge penalty.

Without a row, the score of the row by the smoothed rule moves as much as that by the
Gaussian optimum, for which there is a closed form, if their means differ equally. A
logistic rule without the row follows from one Newton step: at the minimum, the Hessian
is H = sum_j w_j x_j x_j' + P, with the curvatures w_j of the losses and the penalty P,
and row j, with the derivative g_j of its loss by its score, draws that score by about

    -L_j g_j / (1 - w_j L_j),   L_j = x_j'H^-1 x_j.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs
from scipy.special import expit

from heterolda.foundations.arrays import Array, Index, Mask, blocks
from heterolda.foundations.rounding import RANK_TOLERANCE
from heterolda.kernels.score_distributions import scores_without
from heterolda.kernels.smoothed import PairRows, smoothed_path
from heterolda.solvers.directions import direction_weights
from heterolda.solvers.pencil import Moments
from heterolda.solvers.rules import Rules, Status
from heterolda.statistics.rows import Rows

# Widths through which descent goes, if they are larger than the given one by a factor.
_PATH, _FACTOR = (0.5, 0.25, 0.12, 0.06, 0.03, 0.01), 1.3
# Width for a number of coefficients per effective row.
_SCALE, _MIN_WIDTH, _MAX_WIDTH = 1.75, 0.03, 0.85
# With fewer coefficients per effective row, rules are not averaged; and with fewer than
# the second number, scores of training rows serve: the width is the smallest then.
MANY_ROWS, _ALL_ROWS = 0.04, (_MIN_WIDTH / _SCALE) ** 2
# Penalty of logistic rules; their largest weight, from this many coefficients per
# effective row on, where rows are few.
RIDGE, _MAX_WEIGHT, _FEW_ROWS = 2.0, 0.5, 0.1225
# Maximum number of steps for a width, and of a logistic rule.
_MAX_ITER, _MAX_ITER_RIDGE = 20, 100
# Added to the variances of a class, in units of the mean covariance, and to the
# diagonal of a Hessian, relative to its trace.
_SMALL = 1e-9
# Largest share w L of a row in its own score.
_MAX_SHARE = 0.98
_TILE = 1 << 18  # number of coordinates of rows at a time
_TINY = float(np.finfo(float).tiny)


class PairFit(NamedTuple):
    """The rule of a pair, and its rows, beginning with those of the first class."""

    plane: Array  # normal and offset; a positive score means the second class
    error: float  # smoothed error
    n_iter: int
    scores: Array  # of the rows, by rules without them if they are left out
    second: Mask  # rows of the second class
    weight: Array  # frequencies of the rows
    factors: Array  # of both classes, by which frequencies give the priors

    @property
    def shares(self) -> Array:
        """Return the share of each row in the error."""
        return _shares(self.second, self.weight, self.factors)

    @property
    def log_likelihood(self) -> float:
        """Return the log-likelihood of the rows by the best line in their scores."""
        total = float(self.weight.sum())
        n_first = int(np.count_nonzero(~self.second))
        rows = PairRows(self.scores[None], n_first, self.weight / total)
        penalty = np.array([1 / total])  # keeps the line of separable scores finite
        _, (loss,), _ = smoothed_path(rows, penalty, np.zeros(2), max_iter=_MAX_ITER)
        return -total * float(loss)


def crowding(moments: Moments, rank: int) -> Array:
    """Return the number of coefficients of each pair per effective row.

    Classes with the weights W_1 and W_2 have 4 W_1 W_2 / (W_1 + W_2) effective rows.
    """
    W = moments.weights[moments.pairs]
    ratio: Array = (rank + 1) * W.sum(axis=1) / (4 * W.prod(axis=1))
    return ratio


def widths_of(crowd: Array) -> Array:
    """Return the width of each pair: the fewer rows per coefficient, the wider."""
    return np.clip(_SCALE * np.sqrt(crowd), _MIN_WIDTH, _MAX_WIDTH)


def ridge_weights_of(crowd: Array) -> Array:
    """Return the weight of the ridge rule of each pair."""
    weight = _MAX_WEIGHT * np.minimum(1.0, crowd / _FEW_ROWS) ** 2
    return np.where(crowd > MANY_ROWS, weight, 0.0)


@dataclass(frozen=True)
class ClassRows:
    """Rows of all classes, for fits of pairs."""

    rows: Rows  # dense, in the coordinates of the moments, sorted by class
    X: list[Array]  # of each class, views of the rows
    weights: list[Array]  # frequencies of these rows
    moments: Moments
    priors: Array  # of the classes of each pair
    optimum: Any  # the rules for width 1; None before they are solved
    units: Array  # of the features, for ridge penalties
    lost: Array  # what covariances lose with a row, as given by `lost_by`
    basis: Array  # of coordinates in which the mean covariance is the identity
    inverse: Array
    S: Array  # covariances in these coordinates

    @classmethod
    def of(
        cls,
        rows: Rows,
        moments: Moments,
        optimum: Rules | None,
        units: Array,
        lost: Array,
    ) -> ClassRows:
        """Prepare rows that are dense and in the coordinates of the moments."""
        order, bounds = rows.by_class
        rows = rows.take(order)
        rows = replace(rows, X=rows.X.astype(np.float64, copy=False))
        X, weights = (
            [values[start:end] for start, end in pairwise(bounds)]
            for values in (rows.X, rows.frequencies)
        )
        basis, inverse = _whitening(moments.covariances)
        S = basis.T @ moments.covariances @ basis + _SMALL * np.eye(basis.shape[1])
        parts = rows, X, weights, moments, moments.pair_priors
        return cls(*parts, optimum, units, lost, basis, inverse, S)

    @cached_property
    def _directions(self) -> Array:
        """Return weights of both covariances in the directions of the optima."""
        return direction_weights(self.optimum, self.moments)

    def fit(self, pair: int, width: float, ridge: float, crowd: float) -> PairFit:
        """Return the rule of a pair, with the weight `ridge` of its ridge rule.

        Scores are by rules without the row if there are at least `_ALL_ROWS`
        coefficients per effective row, their number `crowd`.
        """
        classes, means = self.moments.pairs[pair], self.moments.means
        weights = [self.weights[k] for k in classes]
        n_first, weight = len(weights[0]), np.concatenate(weights)
        second = np.arange(len(weight)) >= n_first
        totals = np.array([part.sum() for part in weights])
        factors = self.priors[pair] * totals.sum() / totals
        share = _shares(second, weight, factors)
        columns = self._columns(classes)
        apart = means[classes[0]] - means[classes[1]]
        c = apart @ self.basis
        rows = PairRows(columns, n_first, share, (c, *self.S[classes]))
        plane, n_iter = self._smoothed(pair, width, rows)
        parts = [self.X[k] @ plane[:-1] for k in classes]
        scores = np.concatenate(parts) + plane[-1]
        size = _size(scores, share)
        plane, scores = plane / size, scores / size
        if crowd > _ALL_ROWS and plane[:-1].any():
            size = max(0.0, -float(plane[:-1] @ apart))
            scores += size * self._draws_of_optimum(pair, rows, weight)
        if ridge:
            logistic, left_out = self._ridge(classes, n_first, share)
            plane = (1 - ridge) * plane + ridge * logistic
            scores = (1 - ridge) * scores + ridge * left_out
        error = float(self.optimum.error[pair])
        v = self._whitened(pair, plane)
        is_separable = self.optimum.status[pair] == Status.SEPARABLE
        if width < 1 and v[:-1].any() and not is_separable:
            _, (log_error,), _ = smoothed_path(rows, np.array([width]), v, max_iter=0)
            error = float(np.exp(log_error))
        return PairFit(plane, error, n_iter, scores, second, weight, factors)

    def _smoothed(self, pair: int, width: float, rows: PairRows) -> tuple[Array, int]:
        """Return the minimum of the smoothed error, and the number of steps.

        Pairs that are separated by a direction without variance, or have no direction
        to start from, keep their rule.
        """
        optimum = self.optimum
        kept = np.append(optimum.coef[pair], optimum.intercept[pair])
        if width == 1 or optimum.status[pair] == Status.SEPARABLE:
            return kept, 0
        start = kept
        if not start[:-1].any():  # a trivial rule
            start = np.append(optimum.fisher[0][pair], optimum.fisher[1][pair])
        v = self._whitened(pair, start)
        if not v[:-1].any():
            return kept, 0
        widths = np.array([*(h for h in _PATH if h > _FACTOR * width), width])
        rules, _, n_iter = smoothed_path(rows, widths, v, max_iter=_MAX_ITER)
        w, w0 = self.basis @ rules[-1, :-1], rules[-1, -1]
        return np.append(-w, w0 + w @ self._middle(pair)), int(n_iter.sum())

    def _draws_of_optimum(self, pair: int, rows: PairRows, weight: Array) -> Array:
        """Return how far rows draw their own scores by the Gaussian optimum.

        They are shares of the distance between the means. Scores of left-out rows are
        no larger than all others.
        """
        classes, first, (c, *S) = self.moments.pairs[pair], rows.first, rows.moments
        by, (own, other) = self._directions[pair], self.lost[:, classes]
        root, singular = dpotrf(by[0] * S[0] + by[1] * S[1], lower=True)
        if singular or self.optimum.status[pair] == Status.SEPARABLE:
            return np.zeros(len(weight))
        u, _ = dpotrs(root, c, lower=True)
        A, D, sign = u @ rows.columns, u @ c, np.where(first, 1.0, -1.0)
        totals = np.where(first, *self.moments.weights[classes])
        e = weight / np.maximum(totals - weight, _TINY)
        R = np.where(first, *(by * own + (by * other)[::-1])) * weight * (1 + e)
        left = scores_without(A, _squares(root, rows.columns), e, R, D, sign)
        trained = A + sign * D / 2
        limit = np.abs(trained).max()
        draws = trained - np.clip(left, -limit, limit)
        shares: Array = draws / max(D, _TINY)
        return shares

    def _ridge(self, classes: Index, n_first: int, share: Array) -> tuple[Array, Array]:
        """Return the logistic rule with a ridge penalty, and scores of left-out rows.

        The penalty is the sum of squared coefficients of features in `units`, times
        `RIDGE`, divided by the total weight of the pair.
        """
        origin = self.moments.means.mean(axis=0)
        x = np.concatenate([self.X[k] for k in classes])
        columns = np.ascontiguousarray(((x - origin) / self.units).T)
        # A feature that is constant in both classes has coefficient zero.
        columns[(columns == columns[:, :1]).all(axis=1)] = 0.0
        rows = PairRows(columns, n_first, share)
        penalty = RIDGE / self.moments.weights[classes].sum()
        start, penalties = np.zeros(len(columns) + 1), np.array([penalty])
        (v,), *_ = smoothed_path(rows, penalties, start, max_iter=_MAX_ITER_RIDGE)
        scores = v[-1] - v[:-1] @ columns
        size, w = _size(scores, share), v[:-1] / self.units
        plane, n = np.append(-w, v[-1] + w @ origin) / size, len(share)
        scores += _draws(rows, n * share, scores, 2 * penalty * n)
        return plane, scores / size

    def _columns(self, classes: Index) -> Array:
        """Return whitened rows of classes, centered on their means, as columns."""
        n, start = sum(len(self.X[k]) for k in classes), 0
        columns = np.empty((self.basis.shape[1], n))
        for k in classes:
            for tile in blocks(len(self.X[k]), max(1, _TILE // len(self.basis))):
                x = self.X[k][tile] - self.moments.means[k]
                columns[:, start : start + len(x)] = self.basis.T @ x.T
                start += len(x)
        return columns

    def _middle(self, pair: int) -> Array:
        """Return the point between the means of a pair."""
        i, j = self.moments.pairs[pair]
        middle: Array = (self.moments.means[i] + self.moments.means[j]) / 2
        return middle

    def _whitened(self, pair: int, plane: Array) -> Array:
        """Return a rule (u, w0) in whitened coordinates."""
        coef, intercept = plane[:-1], plane[-1]
        return np.append(-self.inverse @ coef, intercept + coef @ self._middle(pair))


def _draws(rows: PairRows, weight: Array, log_odds: Array, penalty: float) -> Array:
    """Return how far rows draw their own log-odds by a logistic rule."""
    x, p = rows.columns, expit(log_odds)
    w = weight * p * (1 - p)
    total = w.sum() + _TINY
    center = x @ w / total
    H = (x * w) @ x.T - total * np.outer(center, center)
    H.flat[:: len(x) + 1] += penalty + _SMALL * np.trace(H)
    root, _ = dpotrf(H, lower=True, overwrite_a=True)
    L = 1 / total + _squares(root, x - center[:, None])
    L = np.minimum(L, _MAX_SHARE / np.maximum(w, _TINY))
    draws: Array = L * weight * (p - ~rows.first) / (1 - w * L)
    return draws


def _squares(root: Array, columns: Array) -> Array:
    """Return squared lengths of columns, given the lower factor of their metric."""
    n = columns.shape[1]
    squares = np.empty(n)
    for tile in blocks(n, max(1, _TILE // max(1, len(columns)))):
        z, _ = dtrtrs(root, columns[:, tile], lower=True)
        squares[tile] = np.einsum("ij,ij->j", z, z)
    return squares


def _shares(second: Mask, weight: Array, factors: Array) -> Array:
    """Return the shares of rows in an error; they sum to one."""
    shares: Array = weight * factors[second.astype(np.intp)] / weight.sum()
    return shares


def _size(scores: Array, share: Array) -> float:
    """Return the mean size of the scores of a pair, or 1 if all are 0."""
    return float(share @ np.abs(scores)) or 1.0


def _whitening(covariances: Array) -> tuple[Array, Array]:
    """Return a basis in which the mean covariance is the identity, and its inverse.

    Directions without variance are left out.
    """
    mean = covariances.mean(axis=0)
    scale = np.sqrt(np.diag(mean))
    scale[scale == 0] = 1.0
    values, vectors = np.linalg.eigh(mean / scale / scale[:, None])
    positive = values > RANK_TOLERANCE * values[-1]
    root = np.sqrt(values[positive])
    vectors = vectors[:, positive]
    return vectors / root / scale[:, None], (vectors * root * scale[:, None]).T
