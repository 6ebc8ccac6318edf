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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heterolda.foundations.arrays import Array, Mask
from heterolda.foundations.rounding import RANK_TOLERANCE
from heterolda.kernels.smoothed import PairRows, smoothed_path
from heterolda.search.left_out_scores import left_out_of_ridge, left_out_of_smoothed
from heterolda.solvers.pencil import Moments
from heterolda.solvers.rules import Rules, Status
from heterolda.statistics.rows import Rows

# Widths through which descent goes, if they are larger than the given one by a factor.
_PATH, _FACTOR = (0.5, 0.25, 0.12, 0.06, 0.03, 0.01), 1.3
# Width for a number of coefficients per effective row.
_SCALE, _MIN_WIDTH, _MAX_WIDTH = 1.75, 0.03, 0.85
# Penalty of logistic rules; their largest weight, from this many coefficients per
# effective row on, and the weight below which they are left out.
RIDGE, _MAX_WEIGHT, _ENOUGH, _MIN_WEIGHT = 2.0, 0.5, 0.1225, 0.05
# Maximum number of steps for a width, and of a logistic rule.
_MAX_ITER, _MAX_ITER_RIDGE = 20, 100
# Added to the variances of a class, in units of the mean covariance.
_SMALL = 1e-9


class PairFit(NamedTuple):
    """The rule of a pair; a positive score means its second class."""

    plane: Array  # normal and offset of its hyperplane
    error: float  # smoothed error
    n_iter: int
    scores: Array  # of the rows, beginning with the first class, by rules without them


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
    weight = _MAX_WEIGHT * np.minimum(1.0, crowd / _ENOUGH) ** 2
    return np.where(weight > _MIN_WEIGHT, weight, 0.0)


@dataclass(frozen=True)
class ClassRows:
    """Rows of all classes, for fits of pairs."""

    moments: Moments
    priors: Array  # of the classes of each pair, (n_pairs, 2)
    optimum: Rules  # for width 1
    X: list[Array]  # rows of each class, in the coordinates of the moments
    weights: list[Array]  # frequencies of these rows
    units: Array  # of the features, for ridge penalties
    basis: Array  # of coordinates in which the mean covariance is the identity
    inverse: Array
    Z: list[Array]  # rows in these coordinates, centered on the means of their class
    S: Array  # covariances in these coordinates

    @classmethod
    def of(
        cls, rows: Rows, moments: Moments, optimum: Rules, units: Array
    ) -> ClassRows:
        """Prepare rows that are dense and in the coordinates of the moments."""
        classes = [rows.of_class(k) for k in range(len(moments.means))]
        weights = [part.frequencies for part in classes]
        basis, inverse = _whitening(moments.covariances)
        S = basis.T @ moments.covariances @ basis + _SMALL * np.eye(basis.shape[1])
        X = [part.X for part in classes]
        Z = [(x - m) @ basis for x, m in zip(X, moments.means, strict=True)]
        priors = moments.pair_priors
        return cls(moments, priors, optimum, X, weights, units, basis, inverse, Z, S)

    def pair_weights(self, pair: int) -> tuple[Mask, Array, Array]:
        """Return which rows of a pair are of its second class, and their frequencies.

        Also return the factors of both classes by which frequencies give the priors.
        """
        i, j = self.moments.pairs[pair]
        second = np.repeat([False, True], [len(self.weights[i]), len(self.weights[j])])
        totals = np.array([self.weights[k].sum() for k in (i, j)])
        factors: Array = self.priors[pair] * totals.sum() / totals
        return second, np.concatenate([self.weights[i], self.weights[j]]), factors

    def fit(
        self,
        pair: int,
        width: float,
        ridge: float,
        *,
        leave_out: bool,
        gaussian: Array | None = None,
    ) -> PairFit:
        """Return the rule of a pair, with the weight `ridge` of its ridge rule.

        With `leave_out`, scores are by rules without the row: if `gaussian` has such
        scores of the optimum, those of the smoothed rule change as much.
        """
        i, j = self.moments.pairs[pair]
        X = np.concatenate([self.X[i], self.X[j]])
        second, weight, factors = self.pair_weights(pair)
        share = weight * factors[second.astype(np.intp)] / weight.sum()
        n_first = len(self.weights[i])
        columns = np.concatenate([self.Z[i], self.Z[j]]).T.copy()
        c = (self.moments.means[i] - self.moments.means[j]) @ self.basis
        rows = PairRows(columns, n_first, share, (c, self.S[i], self.S[j]))
        plane, n_iter = self._smoothed(pair, width, rows)
        scores = X @ plane[:-1] + plane[-1]
        size = _size(scores, share)
        plane, scores = plane / size, scores / size
        if leave_out and gaussian is not None:
            trained = X @ self.optimum.coef[pair] + self.optimum.intercept[pair]
            scores += (gaussian - trained) / _size(trained, share)
        elif leave_out:
            scores = left_out_of_smoothed(scores, rows, width, weight)
        if ridge:
            logistic = self._ridge(pair, X, share, leave_out=leave_out)
            plane = (1 - ridge) * plane + ridge * logistic[0]
            scores = (1 - ridge) * scores + ridge * logistic[1]
        error = float(self.optimum.error[pair])
        v = self._whitened(pair, plane)
        is_separable = self.optimum.status[pair] == Status.SEPARABLE
        if width < 1 and v[:-1].any() and not is_separable:
            _, (log_error,), _ = smoothed_path(rows, np.array([width]), v, max_iter=0)
            error = float(np.exp(log_error))
        return PairFit(plane, error, n_iter, scores)

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

    def _ridge(
        self, pair: int, X: Array, share: Array, *, leave_out: bool
    ) -> tuple[Array, Array]:
        """Return the logistic rule with a ridge penalty, and the scores of its rows.

        The penalty is the sum of squared coefficients of features in `units`, times
        `RIDGE`, divided by the total weight of the pair.
        """
        classes = self.moments.pairs[pair]
        origin = self.moments.means.mean(axis=0)
        columns = ((X - origin) / self.units).T.copy()
        # A feature that is constant in both classes has coefficient zero.
        columns[(columns == columns[:, :1]).all(axis=1)] = 0.0
        rows = PairRows(columns, len(self.weights[classes[0]]), share)
        penalty = RIDGE / self.moments.weights[classes].sum()
        start, penalties = np.zeros(len(columns) + 1), np.array([penalty])
        (v,), *_ = smoothed_path(rows, penalties, start, max_iter=_MAX_ITER_RIDGE)
        scores = v[-1] - v[:-1] @ columns
        size = _size(scores, share)
        if leave_out:
            scores = left_out_of_ridge(scores, rows, penalty)
        w = v[:-1] / self.units
        return np.append(-w, v[-1] + w @ origin) / size, scores / size

    def _middle(self, pair: int) -> Array:
        """Return the point between the means of a pair."""
        i, j = self.moments.pairs[pair]
        middle: Array = (self.moments.means[i] + self.moments.means[j]) / 2
        return middle

    def _whitened(self, pair: int, plane: Array) -> Array:
        """Return a rule (u, w0) in whitened coordinates."""
        coef, intercept = plane[:-1], plane[-1]
        return np.append(-self.inverse @ coef, intercept + coef @ self._middle(pair))


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
