"""Probabilities that fit rows held out, on arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Weight of a row, held out on the wrong side by assumption, that keeps slopes finite.
_WRONG = 0.1
# Least slope of the log-odds, in units of the median margin of the start.
_LEAST_SLOPE = 1e-3
_MOST_STEPS = 50
# Limits of the logarithm of the power that sharpens probabilities.
_MOST_LOG_POWER = 2.0


def slopes_of_log_odds(margins: Array, weight: Array) -> Array:
    """Slopes a for which a times the margin are calibrated log-odds.

    They minimise the mean of log(1 + exp(-a m)), with a target slightly below
    one as in Platt scaling, so that they stay finite.

    Parameters
    ----------
    margins : ndarray of shape (n_rules, n)
        Margins of rows held out, positive on the right side.
    weight : ndarray of shape (n,)
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_rules,)
        Positive slopes.
    """
    total = weight.sum()
    target = 1 - _WRONG / (total + 2 * _WRONG)
    weighted = weight * margins / total
    a = np.zeros(len(margins))
    # The derivative is concave in a, so that Newton's method comes from the left.
    for _ in range(_MOST_STEPS):
        p = 1 / (1 + np.exp(-np.clip(a[:, None] * margins, -500, 500)))
        slope = np.einsum("pn,pn->p", weighted, p - target)
        p *= 1 - p
        p *= margins
        bend = np.einsum("pn,pn->p", weighted, p)
        step = np.divide(-slope, bend, out=np.zeros_like(a), where=bend > 0)
        a = np.maximum(a + step, 0.0)
        if np.all(step <= 1e-6 * a):
            break
    return np.maximum(a, _LEAST_SLOPE)


def sides_of_log_odds(margins: Array, weight: Array) -> tuple[float, float]:
    """Offset and slope of the log-odds that a row on one side of a rule is right there.

    Parameters
    ----------
    margins : ndarray of shape (n,)
        Margins of the rows on that side: their sizes are the distances from the
        threshold, and they are negative for rows that belong on the other side.
    weight : ndarray of shape (n,)
        Their weights.

    Returns
    -------
    offset, slope : float
        The logistic regression on the distance, with one wrong row of little weight
        added. Neither is negative: where the regression has it so, it is zero.
    """
    x = np.append(np.abs(margins), [0.0, 0.0])
    right = np.append(margins > 0, [True, False])
    w = np.append(weight, [_WRONG, _WRONG])
    design = np.column_stack([np.ones(len(x)), x])
    offset, slope = _logistic_regression(design, right, w)
    if slope < 0:
        offset, slope = _logistic_regression(design[:, :1], right, w)[0], 0.0
    elif offset < 0:
        offset, slope = 0.0, _logistic_regression(design[:, 1:], right, w)[0]
    return max(float(offset), 0.0), max(float(slope), 0.0)


def _logistic_regression(
    design: Array, right: NDArray[np.bool_], weight: Array
) -> Array:
    """Coefficients by Newton's method, its steps halved until they descend."""
    theta: Array = np.zeros(design.shape[1])
    sign = np.where(right, 1.0, -1.0)

    def value(theta: Array) -> float:
        return float(weight @ np.logaddexp(0, -sign * (design @ theta)))

    now = value(theta)
    for _ in range(_MOST_STEPS):
        q = 1 / (1 + np.exp(np.clip(sign * (design @ theta), -500, 500)))
        gradient = -design.T @ (weight * sign * q)
        hessian = (design.T * (weight * q * (1 - q))) @ design
        hessian += 1e-12 * np.trace(hessian) * np.eye(len(theta))
        step = np.linalg.lstsq(hessian, -gradient, rcond=None)[0]
        while (there := value(theta + step)) > now and np.abs(step).max() > 1e-12:
            step = step / 2
        if not there < now - 1e-10 * now:
            break
        theta, now = theta + step, there
    return theta


def power_of_probabilities(probabilities: Array, truth: Index, weight: Array) -> float:
    """Power that makes probabilities, scaled to sum to one, fit the classes best.

    Parameters
    ----------
    probabilities : ndarray of shape (n, n_classes)
        Positive probabilities of rows held out.
    truth : ndarray of shape (n,)
        Their classes.
    weight : ndarray of shape (n,)
        Their weights.

    Returns
    -------
    float
        The power of largest likelihood.
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
