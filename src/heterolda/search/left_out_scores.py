r"""Scores of rows by rules fitted without them, approximately, from one Newton step.

A rule that minimizes a sum of losses of its rows, plus a penalty, has the Hessian
H = sum_j w_j x_j x_j' + P at its minimum, with the curvatures w_j of the losses. Row j,
with the derivative g_j of its loss by its score, draws that score by about

    -L_j g_j / (1 - w_j L_j),   L_j = x_j'H^-1 x_j.

The ridge rule has the logistic loss. The smoothed error has another one for each width:
it is replaced by the logistic loss of a line in the score, with the covariances of the
smoothed rows as the penalty.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs
from scipy.special import expit

from heterolda.foundations.arrays import Array, Mask
from heterolda.kernels.smoothed import PairRows

# Largest shares w L of a row in its own score. Without a limit of one half, scores of
# rows that are nearly alone in a direction move too far from the smoothed rule.
_MAX_SHARE, _MAX_RIDGE_SHARE = 0.5, 0.98
# Added to the diagonal of a Hessian, relative to its trace.
_SMALL = 1e-9
# Largest log-odds, and smallest distance, of the class means where a line starts.
_FAR, _NO_DISTANCE = 8.0, 1e-9
# Newton steps of a line, its relative tolerance, and what is added to curvatures.
_MAX_ITER, _TOLERANCE, _CURVATURE = 50, 1e-4, 1e-6
_TINY = float(np.finfo(float).tiny)


def left_out_of_smoothed(
    scores: Array, rows: PairRows, width: float, weight: Array
) -> Array:
    """Return scores of the rows of a pair, each by the smoothed rule without it.

    The weights are frequencies, whatever the priors: these make a rare class flat.
    """
    second = ~rows.first
    c, *covariances = rows.moments
    offset, slope = line_of(scores, second, weight)
    if slope <= 0:
        return scores
    p = expit(offset + slope * scores)
    w = weight * p * (1 - p)
    parts = zip((~second, second), covariances, strict=True)
    penalty = sum(width**2 * w[part].sum() * S for part, S in parts)
    points = rows.columns + np.where(second, -0.5, 0.5) * c[:, None]
    return (
        scores - _draws(points, weight * (second - p), w, penalty, _MAX_SHARE) / slope
    )


def left_out_of_ridge(scores: Array, rows: PairRows, penalty: float) -> Array:
    """Return scores of the rows of a pair, each by the ridge rule without it."""
    second, weight = ~rows.first, rows.share * len(rows.share)
    p = expit(scores)
    gradient, w = weight * (second - p), weight * p * (1 - p)
    ridge = 2 * penalty * len(scores) * np.eye(len(rows.columns))
    return scores - _draws(rows.columns, gradient, w, ridge, _MAX_RIDGE_SHARE)


def log_likelihood(scores: Array, second: Mask, weight: Array) -> float:
    """Return the log-likelihood of rows by the best line in their scores."""
    offset, slope = line_of(scores, second, weight)
    z = offset + slope * scores
    return -float(weight @ np.logaddexp(0, np.where(second, -z, z)))


def line_of(scores: Array, second: Mask, weight: Array) -> tuple[float, float]:
    """Return offset and slope of the log-odds of the second class, by Newton's method.

    The labels are Platt's, between 0 and 1, so that both are finite.
    """
    total = np.array([weight[~second].sum(), weight[second].sum()])
    label = np.where(second, (total[1] + 1) / (total[1] + 2), 1 / (total[0] + 2))
    means = [weight[part] @ scores[part] for part in (~second, second)] / total
    deviation = scores - np.where(second, means[1], means[0])
    size = float(np.sqrt(weight @ deviation**2 / total.sum()))
    if not size > 0:
        return 0.0, 0.0
    # The start is the line of two normal classes, less steep if they are far apart.
    distance = (means[1] - means[0]) / size
    if abs(distance) < _NO_DISTANCE:
        return float(np.log(total[1] / total[0])), 0.0
    x, b = scores / size, np.sign(distance) * min(abs(distance), _FAR / abs(distance))
    a = np.log(total[1] / total[0]) - b * means.mean() / size
    step, value = (0.0, 0.0), np.inf
    for _ in range(_MAX_ITER):
        z = a + b * x
        e = np.exp(-np.abs(z))
        loss = float(weight @ (np.log1p(e) + np.maximum(z, 0) - label * z))
        if loss > value:  # half of a step that is too long
            step = step[0] / 2, step[1] / 2
            a, b = a + step[0], b + step[1]
            continue
        if value - loss <= _TOLERANCE * loss:
            break
        value, p = loss, np.where(z > 0, 1, e) / (1 + e)
        g, w = weight * (p - label), weight * p * (1 - p)
        wx = w * x
        A, B, C = w.sum() + _CURVATURE, wx.sum(), wx @ x + _CURVATURE
        g0, g1 = g.sum(), g @ x
        step = (C * g0 - B * g1) / (A * C - B * B), (A * g1 - B * g0) / (A * C - B * B)
        a, b = a - step[0], b - step[1]
    return float(a), float(b) / size


def _draws(
    columns: Array, gradient: Array, w: Array, penalty: Array, most: float
) -> Array:
    """Return how far rows, stored as columns, draw their own scores."""
    r = len(penalty)
    H = np.empty((r + 1, r + 1))
    weighted = columns * w
    H[:r, :r] = weighted @ columns.T + penalty
    H[r, :r] = H[:r, r] = weighted.sum(axis=1)
    H[r, r] = w.sum()
    H.flat[:: r + 2] += _SMALL * np.trace(H) + _TINY
    points = np.vstack([columns, np.ones(len(w))])
    root, _ = dpotrf(H, lower=True, overwrite_a=True)
    inner, _ = dtrtrs(root, points, lower=True)
    L = np.einsum("ij,ij->j", inner, inner)
    L = np.minimum(L, most / np.maximum(w, _TINY))
    draws: Array = L * gradient / (1 - w * L)
    return draws
