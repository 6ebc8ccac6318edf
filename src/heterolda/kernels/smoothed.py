r"""Minima of the smoothed error of a rule along a path of widths, and of a ridge loss.

The two classes have covariances S_1 and S_2 and means +-c / 2. The rows z_j are
centered on the mean of their class. With width h, the rule (u, w0) has the smoothed
error

    p_h = sum_j q_j Phi(a_j),
    a_j = +-(w0 - s_j) / (h sigma_k),    s_j = +-c.u / 2 + sqrt(1 - h^2) z_j.u,

with the upper sign in the first class and sigma_k^2 = u'S_k u. The share q_j of a row
is the prior of its class times its share of the weight of the class. Descent is on
ln p_h, so that rows far on the correct side still count.

The ridge loss is the logistic one, sum_j q_j ln(1 + exp(a_j)) + penalty |u|^2 with
a_j = +-(w0 - z_j.u), in any coordinates.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import expit, log_ndtr, logsumexp

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, Index, Mask

# Value and gradient at a rule.
Objective = Callable[[Array], tuple[float, Array]]

# Number of steps remembered.
_MEMORY = 6
# Sufficient decrease, as a share of that predicted by the gradient.
_ARMIJO = 1e-4
# Factor by which a rejected step is shortened, and the length at which descent ends.
_SHORTEN = 0.35
_SHORTEST = 1e-6
# Smallest curvature along a step that is used, relative to step and gradient change.
_FLAT = 1e-10
# Smaller changes count as zero: their reciprocals overflow, and their squares vanish.
_NO_CHANGE = 1e-300
# Below this logarithm of the error, all rows are far on the correct side, and the rule
# is kept for smaller widths.
_SETTLED = -30.0


@dataclass(frozen=True)
class PairRows:
    """Rows of two classes, beginning with the first class."""

    columns: Array  # coordinates, (r, n)
    n_first: int  # number of rows of the first class
    share: Array  # share q_j of each row in the error, which sum to one
    moments: tuple[Array, ...] = ()  # c and both covariances; empty for the ridge loss

    @property
    def first(self) -> Mask:
        """Return a mask of the rows of the first class."""
        mask: Mask = np.arange(len(self.share)) < self.n_first
        return mask


def smoothed_path(
    rows: PairRows, widths: Array, start: Array, *, max_iter: int, tol: float = 1e-4
) -> tuple[Array, Array, Index]:
    """Return minima (u, w0) for each width in turn, logarithms of errors, and steps.

    Descent for a width starts at the minimum of the previous width, and for the first
    at `start`, whose u must not be zero. The error is not convex, so the minimum is a
    local one. Descent ends when a step is predicted to decrease the objective by at
    most `tol`, relatively, or after `max_iter` steps. Without moments, the widths are
    penalties of the ridge loss, and the values are losses.
    """
    rules, values = np.empty((len(widths), len(start))), np.empty(len(widths))
    n_iter = np.zeros(len(widths), np.int64)
    if kernels.compiled is not None:
        kernels.compiled.smoothed_path(
            kernels.ready(rows.columns),
            rows.n_first,
            kernels.ready(rows.share),
            *(map(kernels.ready, rows.moments) if rows.moments else [None] * 3),
            *map(kernels.ready, (widths, start)),
            tol,
            max_iter,
            rules,
            values,
            n_iter,
        )
        return rules, values, n_iter
    objective = log_smoothed_error if rows.moments else ridge_loss
    for k, h in enumerate(widths.tolist()):
        if rows.moments:  # the smoothed error depends on the direction only
            start = start / np.linalg.norm(start[:-1])
        settled = rows.moments and k and values[k - 1] < _SETTLED
        n_steps = 0 if settled else max_iter
        descent = partial(objective, rows, h), start, tol, n_steps
        start, values[k], n_iter[k] = _minimum(*descent)
        rules[k] = start
    return rules, values, n_iter


def log_smoothed_error(rows: PairRows, h: float, v: Array) -> tuple[float, Array]:
    """Return ln p_h of the rule v = (u, w0), and its gradient."""
    u, w0, (c, *covariances) = v[:-1], v[-1], rows.moments
    first = rows.first
    side = np.where(first, 1.0, -1.0)
    Su = [S @ u for S in covariances]
    variances = [u @ part for part in Su]
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse_scale = side / (h * np.sqrt(np.where(first, *variances)))
        narrow = np.sqrt((1 - h) * (1 + h))
        a = (w0 - side * (c @ u / 2) - narrow * (u @ rows.columns)) * inverse_scale
        logs = np.log(rows.share)
        value = float(logsumexp(logs + log_ndtr(a)))
        # Derivatives of ln p_h with respect to each a_j.
        density = np.exp(logs - 0.5 * a**2 - value) / np.sqrt(2 * np.pi)
        in_w0 = density * inverse_scale
        slope_of_scale = [density[part] @ a[part] for part in (first, ~first)]
        gradient = -narrow * (rows.columns @ in_w0) - c / 2 * (side @ in_w0)
        gradient -= slope_of_scale[0] / variances[0] * Su[0]
        gradient -= slope_of_scale[1] / variances[1] * Su[1]
    return value, np.append(gradient, in_w0.sum())


def ridge_loss(rows: PairRows, penalty: float, v: Array) -> tuple[float, Array]:
    """Return the ridge loss of the rule v = (u, w0), and its gradient."""
    u, side = v[:-1], np.where(rows.first, 1.0, -1.0)
    a = side * (v[-1] - u @ rows.columns)
    in_w0 = side * rows.share * expit(a)
    gradient = 2 * penalty * u - rows.columns @ in_w0
    value = rows.share @ np.logaddexp(0, a) + penalty * (u @ u)
    return float(value), np.append(gradient, in_w0.sum())


def _minimum(
    objective: Objective, v: Array, tol: float, max_iter: int
) -> tuple[Array, float, int]:
    """Return a minimum by L-BFGS, the value there, and the number of steps."""
    memory: deque[tuple[Array, Array, float]] = deque(maxlen=_MEMORY)
    value, gradient = objective(v)
    inverse = 1 / max(1.0, float(np.linalg.norm(gradient)))  # first step at most 1
    length = 1.0
    n_iter = 0
    while n_iter < max_iter:
        step = -_newton(gradient, inverse, memory)
        slope = gradient @ step
        if not (-0.5 * slope > tol * (1 + abs(value)) and length > _SHORTEST):
            break
        n_iter += 1
        trial = v + length * step
        next_value, next_gradient = objective(trial)
        if not next_value <= value + _ARMIJO * length * slope:
            length *= _SHORTEN
            # A rejected step takes a place in the memory, as zero.
            memory.append((np.zeros_like(v), np.zeros_like(v), 0.0))
            continue
        s, y, rho = trial - v, next_gradient - gradient, 0.0
        v, value, gradient, length = trial, next_value, next_gradient, 1.0
        sy, yy = s @ y, y @ y
        if sy > _FLAT * np.sqrt(s @ s * yy) and min(sy, yy) > _NO_CHANGE:
            rho, inverse = 1 / sy, sy / yy
        memory.append((s, y, rho))
    return v, value, n_iter


def _newton(
    gradient: Array, inverse: float, memory: deque[tuple[Array, Array, float]]
) -> Array:
    """Return the inverse Hessian times the gradient, by the two-loop recursion."""
    q = gradient.copy()
    alphas = []
    for s, y, rho in reversed(memory):
        alphas.append(rho * (s @ q))
        q -= alphas[-1] * y
    q *= inverse
    for s, y, rho in memory:
        q += s * (alphas.pop() - rho * (y @ q))
    return q
