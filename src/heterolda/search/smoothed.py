r"""The path of smoothed errors, from the Gaussian optimum to fewest training errors.

For a width h in (0, 1], each row x_j of class k becomes a Gaussian with the mean
m_k + sqrt(1 - h^2) (x_j - m_k) and the covariance h^2 S_k. The mixture keeps the mean
and the covariance of the class. The error of a rule under it,

    p_h(w, w0) = p1 mean_j Phi((w0 - s_j) / (h sigma1))
               + p2 mean_j Phi((s_j - w0) / (h sigma2)),
    s_j = w.m_k + sqrt(1 - h^2) w.(x_j - m_k),   sigma_k^2 = w'S_k w,

is that of the two Gaussians for h = 1, whose global minimum the solvers certify, and
tends to the share of training errors for h -> 0, the objective of Algorithm 2. The rule
of a width is found by descent from that of the next larger one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heterolda.foundations.arrays import Array, Index, blocks
from heterolda.kernels.smoothed import PairRows, smoothed_path
from heterolda.solvers import Moments
from heterolda.solvers.pencil import Pencil
from heterolda.solvers.rules import Rules, Status
from heterolda.statistics.rows import Rows

# Widths of the path. Where tails are heavy, and sigma_k with them, the best are small.
WIDTHS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.12, 0.06, 0.03, 0.01, 0.002)
# Penalties of logistic rules, for pairs with few rows.
RIDGES = (200.0, 20.0, 2.0)
# Relative decrease of the error that is not worth a step, and steps for a width.
_TOLERANCE = 1e-4
_MOST_STEPS = 100
# Numbers in the matrices of pairs that are diagonalized together.
_BATCH = 1 << 18


@dataclass(frozen=True)
class Path:
    """Rules of all pairs for several widths, from the largest on.

    Scores are in units of their mean size on the rows of the pair, so that rules of
    several widths can be averaged.

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

    @classmethod
    def joined(cls, *paths: Path) -> Path:
        """Return the rules of several paths, one after the other."""
        parts = zip(*((p.coef, p.intercept, p.error) for p in paths), strict=True)
        return cls(*map(np.concatenate, parts))

    def without(self, n: int) -> Path:
        """Return the path without its first rules."""
        return Path(self.coef[n:], self.intercept[n:], self.error[n:])

    def mean(self, chosen: Index) -> tuple[Array, Array, Array]:
        """Return the mean of some rules of each pair, and that of their errors."""
        parts = self.coef, self.intercept, self.error
        coef, intercept, error = (part[chosen].mean(axis=0) for part in parts)
        return coef, intercept, error


def smoothed_rules(rows: Rows, moments: Moments, optimum: Rules, widths: Array) -> Path:
    """Return the rules of all pairs for widths that decrease from 1.

    The rows are dense and in the coordinates of the moments; `optimum` has the rules
    for the width 1. Pairs that are separated without any variance keep theirs, and so
    do pairs without a direction to start from.
    """
    (n_pairs, d), n_widths = optimum.coef.shape, len(widths)
    path = Path(
        np.tile(optimum.coef, (n_widths, 1, 1)),
        np.tile(optimum.intercept, (n_widths, 1)),
        np.tile(optimum.error, (n_widths, 1)),
    )
    classes = [rows.of_class(k) for k in range(len(moments.means))]
    fisher = optimum.fisher
    for batch in blocks(n_pairs, max(1, _BATCH // d**2)):
        pencil = moments.take(batch).pencil()
        for k, pair in enumerate(range(n_pairs)[batch]):
            two = _Pair.of(classes, moments, pair)
            if n_widths > 1 and optimum.status[pair] != Status.SEPARABLE:
                start = optimum.coef[pair], optimum.intercept[pair]
                if not start[0].any():  # always the likelier class
                    start = fisher[0][pair], fisher[1][pair]
                _descend(path, pair, two, pencil, k, start, widths)
            two.scale(path, pair)
    return path


def ridge_rules(rows: Rows, moments: Moments, units: Array, ridges: Array) -> Path:
    """Return the rules of all pairs that minimize the logistic loss with a ridge.

    The penalty of a rule is each of `ridges`, from the largest on, over the total
    weight of the pair, times the sum of squares of its coefficients of features in
    `units`. Their errors are those on the rows.
    """
    n_pairs, d = len(moments.pairs), rows.X.shape[1]
    shape = len(ridges), n_pairs
    path = Path(np.zeros((*shape, d)), np.zeros(shape), np.zeros(shape))
    classes = [rows.of_class(k) for k in range(len(moments.means))]
    for pair in range(n_pairs):
        two = _Pair.of(classes, moments, pair)
        middle = moments.means[moments.pairs[pair]].mean(axis=0)
        part = PairRows(((two.X - middle) / units).T, two.n_first, two.share)
        rules, _ = smoothed_path(
            part,
            ridges / two.total,
            np.zeros(d + 1),
            tol=_TOLERANCE,
            max_iter=_MOST_STEPS,
        )
        w = rules[:, :-1] / units
        path.coef[:, pair] = -w
        path.intercept[:, pair] = rules[:, -1] + w @ middle
        two.scale(path, pair)
        scores = two.X @ path.coef[:, pair].T + path.intercept[:, pair]
        wrong = (scores > 0) == part.first[:, None]
        path.error[:, pair] = two.share @ wrong
    return path


@dataclass(frozen=True)
class _Pair:
    """Rows of two classes, those of the first one first.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        The rows.
    n_first : int
        Number of rows of the first class.
    share : ndarray of shape (n,)
        Prior of the class of each row, times its weight in the class.
    total : float
        Total weight.
    """

    X: Array
    n_first: int
    share: Array
    total: float

    @classmethod
    def of(cls, classes: list[Rows], moments: Moments, pair: int) -> _Pair:
        two = [classes[k] for k in moments.pairs[pair]]
        priors = moments.take(slice(pair, pair + 1)).pair_priors[0]
        share = [
            p * part.frequencies / part.frequencies.sum()
            for p, part in zip(priors, two, strict=True)
        ]
        X = np.concatenate([part.X for part in two])
        total = float(sum(part.frequencies.sum() for part in two))
        return cls(X, len(two[0].codes), np.concatenate(share), total)

    def scale(self, path: Path, pair: int) -> None:
        """Divide rules by the mean sizes of their scores, which weighs them alike."""
        scores = self.X @ path.coef[:, pair].T + path.intercept[:, pair]
        size = self.share @ np.abs(scores)
        size = np.where(size > 0, size, 1.0)
        path.coef[:, pair] /= size[:, None]
        path.intercept[:, pair] /= size


def _descend(
    path: Path,
    pair: int,
    two: _Pair,
    pencil: Pencil,
    k: int,
    start: tuple[Array, Array],
    widths: Array,
) -> None:
    """Write the rules of one pair for all widths but the first."""
    kept = pencil.basis[k].any(axis=0)
    basis, means = pencil.basis[k][:, kept], pencil.means[k]
    w, w0 = -start[0], start[1]
    u = basis.T @ (pencil.covariances[k].sum(axis=0) @ w)
    if not u.any():
        return
    middle = means.mean(axis=0)
    own = np.where(np.arange(len(two.X))[:, None] < two.n_first, *means)
    axes = tuple(part[k][kept] for part in (pencil.c, pencil.alpha, pencil.beta))
    rows = PairRows(((two.X - own) @ basis).T, two.n_first, two.share, axes)
    rules, log_error = smoothed_path(
        rows,
        widths[1:],
        np.append(u, w0 - w @ middle),
        tol=_TOLERANCE,
        max_iter=_MOST_STEPS,
    )
    w = rules[:, :-1] @ basis.T
    path.coef[1:, pair] = -w
    path.intercept[1:, pair] = rules[:, -1] + w @ middle
    path.error[1:, pair] = np.exp(log_error)
