"""Probabilities that fit rows held out, on arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit

from heterolda.foundations.types import Array, Index

# Weight of the wrong row that is added to those held out on each side of a rule.
_WRONG = 0.5
_NO_WEIGHT = 1e-12
_MOST_STEPS = 50
# Limits of the logarithm of the power that sharpens probabilities.
_MOST_LOG_POWER = 2.0


def sides_of_log_odds(margins: Array, sign: Array, weight: Array) -> Array:
    """Offsets and slopes of the log-odds that a row on a side of a rule is right there.

    On each side they are the logistic regression on the distance from the threshold.
    Half a wrong row is added, spread over the distances as a line through zero has
    the errors, so that they stay bounded where no row is wrong. Neither is negative:
    where the regression has it so, it is zero.

    `margins`, of shape (n_rules, n), are positive on the right side of the rule; `sign`
    is +1 for rows of the second class and -1 for the first. The result, of shape
    (2, 2, n_rules), has offsets, then slopes; of each those on the side of the first
    class, then those on the other. If only one class is held out, little is known of
    the other's side: then it is one line through zero for both.
    """
    right, distance = margins > 0, np.abs(margins)
    if np.all(sign == sign[0]):
        slope = _lines_through_zero(distance, weight * right, weight * ~right)
        return np.array([np.zeros((2, len(margins))), [slope, slope]])
    positive = sign * margins > 0
    sides = [weight * ~positive, weight * positive]
    found = [_lines(distance, w * right, w * ~right) for w in sides]
    return np.swapaxes(np.array(found), 0, 1)


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
    total = (right + wrong).sum(axis=1, keepdims=True)
    wrong = wrong + _WRONG / np.maximum(total, _WRONG) * (right + wrong)
    free = np.tile([False, True], (len(x), 1))
    return np.maximum(_logistic_regressions(x, right, wrong, free)[1], 0.0)


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
        z = theta[:, :1] + theta[:, 1:] * x
        size = np.abs(z)
        cost = weight * np.log1p(np.exp(-size))
        cost += np.where(z > 0, wrong, right) * size
        return cost.sum(axis=1), z

    now, z = values(theta)
    for _ in range(_MOST_STEPS):
        p = expit(z)
        bend, pull = weight * p * (1 - p), weight * p - right
        g = np.column_stack([pull.sum(axis=1), np.einsum("pn,pn->p", pull, x)]) * free
        bx = bend * x
        a, b = bend.sum(axis=1), bx.sum(axis=1) * free.all(axis=1)
        c = np.einsum("pn,pn->p", bx, x)
        ridge = 1e-9 * (a + c) + _NO_WEIGHT
        a, c = np.where(free[:, 0], a, 1) + ridge, np.where(free[:, 1], c, 1) + ridge
        step = -np.column_stack([c * g[:, 0] - b * g[:, 1], a * g[:, 1] - b * g[:, 0]])
        step /= (a * c - b * b)[:, None]
        there, z = values(theta + step)
        for _ in range(_MOST_STEPS):
            worse = there > now * (1 + 1e-12)
            if not worse.any():
                break
            step[worse] /= 2
            there, z = values(theta + step)
        theta, before, now = theta + step, now, there
        if np.all(before - now <= 1e-7 * now):
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
