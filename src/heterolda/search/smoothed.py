r"""Path of smoothed errors from the Gaussian optimum to the fewest training errors.

With a width h in (0, 1], each row x_j of class k becomes a Gaussian with the mean
m_k + sqrt(1 - h^2) (x_j - m_k) and the covariance h^2 S_k. The mixture has the mean and
the covariance of the class. The error of a rule under it,

    p_h(w, w0) = p1 mean_j Phi((w0 - s_j) / (h sigma1))
               + p2 mean_j Phi((s_j - w0) / (h sigma2)),
    s_j = w.m_k + sqrt(1 - h^2) w.(x_j - m_k),   sigma_k^2 = w'S_k w,

is that of the two Gaussians for h = 1, whose global minimum the solvers certify, and
tends to the share of training errors for h -> 0, the objective of Algorithm 2. The rule
of each width is found by descent from that of the next larger width.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.rounding import RANK_TOLERANCE
from heterolda.kernels.smoothed import PairRows, smoothed_path
from heterolda.solvers import Moments
from heterolda.solvers.rules import Rules, Status
from heterolda.statistics.rows import Rows

# Widths of the path. Small ones are best for heavy tails, which make sigma_k large.
WIDTHS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.12, 0.06, 0.03, 0.01, 0.002)
# Penalties of logistic rules, for pairs with few rows.
RIDGES = (200.0, 20.0, 2.0)
# Relative decrease of the error at which to stop, and maximum number of steps.
_SETTINGS: dict[str, Any] = {"tol": 1e-4, "max_iter": 100}
# Added to the variances of a class, in units of the mean covariance.
_RIDGE = 1e-9


class Path(NamedTuple):
    """Rules of all pairs for several widths, in descending order.

    Scores are divided by their mean absolute value on the rows of the pair, so that
    rules of several widths can be averaged.

    Attributes
    ----------
    coef : ndarray of shape (n_widths, n_pairs, n_features)
        Normals; a positive score means the second class of the pair.
    intercept : ndarray of shape (n_widths, n_pairs)
        Offsets.
    error : ndarray of shape (n_widths, n_pairs)
        Smoothed errors.
    """

    coef: Array
    intercept: Array
    error: Array

    def mean(self, widths: Index) -> tuple[Array, Array, Array]:
        """Return the mean rule and error of each pair over widths, given by index."""
        coef, intercept, error = (part[widths].mean(axis=0) for part in self)
        return coef, intercept, error


def smoothed_rules(rows: Rows, moments: Moments, optimum: Rules, widths: Array) -> Path:
    """Return the rules of all pairs for widths that decrease from 1.

    The rows are dense and in the coordinates of the moments; `optimum` has the rules of
    width 1. Pairs that are separated by a direction without variance, or have no
    direction to start from, keep their rule. Descent is in coordinates in which the
    mean covariance is the identity.
    """
    n_widths = len(widths)
    path = Path(
        np.tile(optimum.coef, (n_widths, 1, 1)),
        np.tile(optimum.intercept, (n_widths, 1)),
        np.tile(optimum.error, (n_widths, 1)),
    )
    class_rows, shares = _by_class(rows, len(moments.means))
    if n_widths > 1:
        basis, inverse = _whitening(moments.covariances)
        Z = [(X - m) @ basis for X, m in zip(class_rows, moments.means, strict=True)]
        S = basis.T @ moments.covariances @ basis + _RIDGE * np.eye(basis.shape[1])
        for pair in np.flatnonzero(optimum.status != Status.SEPARABLE).tolist():
            i, j = moments.pairs[pair]
            start = optimum.coef[pair], optimum.intercept[pair]
            if not start[0].any():  # a trivial rule
                start = optimum.fisher[0][pair], optimum.fisher[1][pair]
            u, w0 = -inverse @ start[0], start[1]
            if not u.any():
                continue
            middle = (moments.means[i] + moments.means[j]) / 2
            c = (moments.means[i] - moments.means[j]) @ basis
            pair_rows = _pair_rows(moments, pair, Z, shares, (c, S[i], S[j]))
            v = np.append(u, w0 + start[0] @ middle)
            planes, log_error = smoothed_path(pair_rows, widths[1:], v, **_SETTINGS)
            w = planes[:, :-1] @ basis.T
            path.coef[1:, pair] = -w
            path.intercept[1:, pair] = planes[:, -1] + w @ middle
            path.error[1:, pair] = np.exp(log_error)
    _scale(path, moments, class_rows, shares)
    return path


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


def ridge_rules(rows: Rows, moments: Moments, units: Array, ridges: Array) -> Path:
    """Return the rules of all pairs that minimize the logistic loss with a ridge.

    The penalty is the sum of squared coefficients of features in `units`, times each of
    the descending `ridges`, divided by the total weight of the pair. Errors are
    training errors.
    """
    n_pairs, d = len(moments.pairs), rows.X.shape[1]
    shape = len(ridges), n_pairs
    path = Path(np.zeros((*shape, d)), np.zeros(shape), np.zeros(shape))
    class_rows, shares = _by_class(rows, len(moments.means))
    origin = moments.means.mean(axis=0)
    Z = [(X - origin) / units for X in class_rows]
    for pair in range(n_pairs):
        pair_rows = _pair_rows(moments, pair, Z, shares)
        # A feature that is constant in both classes has coefficient zero.
        columns = pair_rows.columns
        columns[(columns == columns[:, :1]).all(axis=1)] = 0.0
        penalties = ridges / moments.weights[moments.pairs[pair]].sum()
        planes, _ = smoothed_path(pair_rows, penalties, np.zeros(d + 1), **_SETTINGS)
        w = planes[:, :-1] / units
        path.coef[:, pair] = -w
        path.intercept[:, pair] = planes[:, -1] + w @ origin
        scores = planes[:, -1:] - planes[:, :-1] @ pair_rows.columns
        path.error[:, pair] = ((scores > 0) == pair_rows.first) @ pair_rows.share
    _scale(path, moments, class_rows, shares)
    return path


def _by_class(rows: Rows, n_classes: int) -> tuple[list[Array], list[Array]]:
    """Return the rows of each class, and their shares of its weight."""
    classes = [rows.of_class(k) for k in range(n_classes)]
    weights = [part.frequencies for part in classes]
    return [part.X for part in classes], [weight / weight.sum() for weight in weights]


def _pair_rows(
    moments: Moments,
    pair: int,
    Z: list[Array],
    shares: list[Array],
    whitened: tuple[Array, ...] = (),
) -> PairRows:
    """Return the rows of a pair, given the coordinates Z of each class."""
    (i, j), (p, q) = moments.pairs[pair], moments.pair_priors[pair]
    share = np.concatenate([p * shares[i], q * shares[j]])
    columns = np.concatenate([Z[i].T, Z[j].T], axis=1)
    return PairRows(columns, len(Z[i]), share, whitened)


def _scale(path: Path, moments: Moments, X: list[Array], shares: list[Array]) -> None:
    """Divide rules by the mean absolute values of their scores."""
    for pair, classes in enumerate(moments.pairs):
        size = np.zeros(len(path.error))
        for k, prior in zip(classes, moments.pair_priors[pair], strict=True):
            scores = X[k] @ path.coef[:, pair].T + path.intercept[:, pair]
            size += prior * (shares[k] @ np.abs(scores))
        size[size == 0] = 1.0
        path.coef[:, pair] /= size[:, None]
        path.intercept[:, pair] /= size
