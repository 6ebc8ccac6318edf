"""Log-odds on the sides of rules, and probabilities, that fit rows held out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit

from heterolda.foundations.arrays import Array, Index

# Limits of the logarithm of the power that sharpens probabilities.
_MOST_LOG_POWER = 2.0
# Weight of the wrong row that is added to those held out on each side of a rule.
_WRONG = 0.5
_NO_WEIGHT = 1e-12
_MOST_STEPS = 50
# Relative decrease of the costs that is not worth another step.
_SETTLED = 1e-9
# Bins of the distances from a threshold, and what counts as infinitely far.
_N_BINS = 32
_FARTHEST = 1e100


def sides_of_log_odds(
    margins: Array, sign: Array, weight: Array, fold: Index, n_folds: int
) -> Array:
    """Offsets and slopes of the log-odds that a row on a side of a rule is right there.

    On each side they are the logistic regression on the distance from the threshold.
    Half a wrong row is added, spread over the distances as a line through zero has
    the errors, so that they stay bounded where no row is wrong. Neither is negative:
    where the regression has it so, it is zero. Rows at about the same distance count as
    if they were at their mean distance, which makes the time independent of their
    number and the difference next to nothing.

    `margins`, of shape (n_rules, n), are positive on the right side of the rule; `sign`
    is +1 for rows of the second class and -1 for the first; `fold` is that of each row.
    The result, of shape (2, 2, n_rules, n_folds + 1), has offsets, then slopes; of each
    those on the side of the first class, then those on the other; each fitted without
    the rows of one fold, and last to all rows. If these are of one class only, little
    is known of the other's side: then it is one line through zero for both. Where there
    are no rows, all is 1.
    """
    x, mass = _histograms(margins, sign, weight, fold, n_folds)
    total = mass.sum(axis=3, keepdims=True)
    rest = np.concatenate([np.maximum(total - mass, 0.0), total], axis=3)
    wrong, right = rest[:, :, 0], rest[:, :, 1]
    x = np.broadcast_to(x[:, :, None], right.shape)
    shape, flat = right.shape[:3], (-1, _N_BINS)
    found = _lines(x.reshape(flat), right.reshape(flat), wrong.reshape(flat))
    sides = np.moveaxis(np.reshape(found, (2, *shape)), 2, 1)

    first = right[:, 0].sum(axis=-1) + wrong[:, 1].sum(axis=-1)
    second = right[:, 1].sum(axis=-1) + wrong[:, 0].sum(axis=-1)
    lone = np.flatnonzero((np.minimum(first, second) <= _NO_WEIGHT).all(axis=0))
    if len(lone):
        both = [
            np.moveaxis(of[:, :, lone], 1, 2).reshape(-1, 2 * _N_BINS)
            for of in (x, right, wrong)
        ]
        sides[0][..., lone] = 0.0
        sides[1][..., lone] = _lines_through_zero(*both).reshape(-1, len(lone))
        sides[..., (np.maximum(first, second) <= _NO_WEIGHT).all(axis=0)] = 1.0
    return sides


def _histograms(
    margins: Array, sign: Array, weight: Array, fold: Index, n_folds: int
) -> tuple[Array, Array]:
    """Weights of rows by distance, and the mean distance of each bin.

    The weights have shape (n_rules, 2 sides, 2, n_folds, n_bins), the wrong before the
    right, and the distances (n_rules, 2 sides, n_bins). Bins are narrow next to the
    threshold, where it matters, and go on to infinity.
    """
    n_rules = len(margins)
    distance = np.minimum(np.abs(margins), _FARTHEST)
    # The mean of square roots minds a few far rows less than the mean of distances.
    root = np.sqrt(distance) @ weight[:, None] / max(weight.sum(), _NO_WEIGHT)
    unit = root**2
    place = distance / (distance + np.where(unit > 0, unit, 1.0))
    cell = np.minimum((_N_BINS * place).astype(np.intp), _N_BINS - 1)
    cell += _N_BINS * fold
    cell += n_folds * _N_BINS * (margins > 0)
    cell += 2 * n_folds * _N_BINS * (sign * margins > 0)
    cell += 4 * n_folds * _N_BINS * np.arange(n_rules)[:, None]
    shape = n_rules, 2, 2, n_folds, _N_BINS

    def add_up(values: Array) -> Array:
        n_cells = int(np.prod(shape))
        sums = np.bincount(cell.ravel(), values.ravel(), minlength=n_cells)
        return sums.astype(np.float64, copy=False).reshape(shape)

    mass = add_up(np.broadcast_to(weight, margins.shape))
    inside = mass.sum(axis=(2, 3))
    x = add_up(weight * distance).sum(axis=(2, 3))
    return np.divide(x, inside, out=np.zeros_like(x), where=inside > 0), mass


def _lines(x: Array, right: Array, wrong: Array) -> tuple[Array, Array]:
    """Offsets and slopes of log-odds at distances x, from weights of shape (rules, n).

    The half row that is wrong lies where errors are likely, so that without any error
    the line is the one through zero, and distances still tell rows apart.
    """
    slope = _lines_through_zero(x, right, wrong)
    share = (right + wrong) * expit(-slope[:, None] * x)
    total = share.sum(axis=1, keepdims=True)
    wrong = wrong + _WRONG * np.divide(share, total, out=share, where=total > 0)
    both = np.ones((len(x), 2), dtype=bool)
    offset, slope = _logistic_regressions(x, right, wrong, both, slope)
    # Where the best is outside of the quadrant, the best of it is on an axis.
    both[:, 1] = slope >= 0
    both[:, 0] = (offset >= 0) | ~both[:, 1]
    if not both.all():
        offset, slope = _logistic_regressions(x, right, wrong, both, slope)
    return np.maximum(offset, 0.0), np.maximum(slope, 0.0)


def _lines_through_zero(x: Array, right: Array, wrong: Array) -> Array:
    """Slopes of log-odds without offset, half a row added as wrong at all distances."""
    both = right + wrong
    total = both.sum(axis=1)
    wrong = wrong + (_WRONG / np.maximum(total, _WRONG))[:, None] * both
    free = np.tile([False, True], (len(x), 1))
    # Log-odds of all rows together, at their mean distance, are a slope to begin with.
    lost, far = wrong.sum(axis=1), np.einsum("pn,pn->p", both, x)
    odds = np.maximum(total, lost) / np.maximum(lost, _NO_WEIGHT)
    slope = np.log(np.maximum(odds, 1.0)) * total / np.where(far > 0, far, np.inf)
    return np.maximum(_logistic_regressions(x, right, wrong, free, slope)[1], 0.0)


def _logistic_regressions(
    x: Array,
    right: Array,
    wrong: Array,
    free: NDArray[np.bool_],
    slope: Array | float = 0.0,
) -> tuple[Array, Array]:
    """Offsets and slopes by Newton's method, its steps halved until they descend.

    Those that are not free are zero; the slopes begin at those given.
    """
    weight = right + wrong
    unit = np.einsum("pn,pn->p", weight, x)
    unit /= np.maximum(weight.sum(axis=1), _NO_WEIGHT)
    unit = np.where(unit > 0, unit, 1.0)
    x = x / unit[:, None]
    theta = np.column_stack([np.zeros(len(x)), slope * unit]) * free

    def values(theta: Array) -> tuple[Array, Array]:
        """Costs, and probabilities of being right."""
        z = theta[:, :1] + theta[:, 1:] * x
        size = np.abs(z)
        e = np.exp(-size)
        cost = np.einsum("pn,pn->p", weight, np.log1p(e))
        cost += np.einsum("pn,pn->p", np.where(z > 0, wrong, right), size)
        return cost, np.where(z > 0, 1.0, e) / (1 + e)

    now, p = values(theta)
    going = np.ones((len(x), 1), dtype=bool)  # each stops on its own
    for _ in range(_MOST_STEPS):
        bend, pull = weight * p * (1 - p), weight * p - right
        g = np.column_stack([pull.sum(axis=1), np.einsum("pn,pn->p", pull, x)]) * free
        bx = bend * x
        a, b = bend.sum(axis=1), bx.sum(axis=1) * free.all(axis=1)
        c = np.einsum("pn,pn->p", bx, x)
        ridge = 1e-9 * (a + c) + _NO_WEIGHT
        a, c = np.where(free[:, 0], a, 1) + ridge, np.where(free[:, 1], c, 1) + ridge
        step = -np.column_stack([c * g[:, 0] - b * g[:, 1], a * g[:, 1] - b * g[:, 0]])
        step *= going / (a * c - b * b)[:, None]
        there, p = values(theta + step)
        for _ in range(_MOST_STEPS):
            worse = there > now * (1 + 1e-12)
            if not worse.any():
                break
            step[worse] /= 2
            there, p = values(theta + step)
        going[now - there <= _SETTLED * there] = False
        theta, now = theta + step, there
        if not going.any():
            break
    return theta[:, 0], theta[:, 1] / unit


def power_of_probabilities(probabilities: Array, truth: Index, weight: Array) -> float:
    """Power that makes probabilities, scaled to sum to one, fit the classes best.

    It has the largest likelihood on rows held out, with positive `probabilities`.
    """
    logs = np.log(probabilities)
    logs -= logs.max(axis=1, keepdims=True)
    own = logs[np.arange(len(truth)), truth]

    def loss(log_power: float) -> float:
        power = np.exp(log_power)
        total = np.log(np.exp(power * logs).sum(axis=1))
        return float(weight @ (total - power * own))

    limits = (-_MOST_LOG_POWER, _MOST_LOG_POWER)
    return float(np.exp(minimize_scalar(loss, bounds=limits, method="bounded").x))
