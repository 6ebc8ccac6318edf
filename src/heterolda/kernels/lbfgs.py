"""L-BFGS on many small problems at once, each a row of a matrix.

It is what the compiled descent does with one problem after the other. SciPy's L-BFGS-B
makes the same choices and takes longer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from heterolda.foundations.arrays import Array, Index

# Values and gradients of the problems with the given numbers, at the given rows.
Function = Callable[[Array, Index], tuple[Array, Array]]

# Steps that are remembered.
_MEMORY = 6
# Sufficient decrease, as a share of what the gradient promises.
_ARMIJO = 1e-4
# A step that is rejected is shortened by this, and given up below the second.
_SHORTEN = 0.35
_SHORTEST = 1e-6
# Change of the gradient along a step, relative to both, that shows any curvature.
_FLAT = 1e-10
# Smaller changes count as none: reciprocals overflow, and squares are zero.
_NO_CHANGE = 1e-300


def minimise(
    function: Function,
    start: Array,
    curvature: Array,
    *,
    tol: float,
    max_iter: int,
    report: Callable[[Array], object] | None = None,
) -> Array:
    """Minimise functions of several variables, which are all evaluated together.

    The first step from `start` is the gradient over `curvature`, a positive bound of
    the second derivatives of each function. A problem is done when a step promises a
    decrease of less than `tol`; `max_iter` is the most evaluations after the first.
    `report` is called with the rows of all problems that are not done, at each
    iteration. Each minimum depends on its own problem only, up to rounding.
    """
    result = start.copy()
    active = np.arange(len(start))
    u, inverse, length = start.copy(), 1 / curvature, np.ones(len(active))
    value, gradient = function(u, active)
    memory: deque[tuple[Array, Array, Array]] = deque(maxlen=_MEMORY)
    for _ in range(max_iter):
        if report is not None:
            report(u)
        step = -_newton(gradient, inverse, memory)
        slope = _dot(gradient, step)
        going = (-0.5 * slope > tol) & (length > _SHORTEST)
        if not going.all():
            result[active[~going]] = u[~going]
            active, length, inverse = active[going], length[going], inverse[going]
            u, value, gradient = u[going], value[going], gradient[going]
            step, slope = step[going], slope[going]
            memory = deque(
                ((s[going], y[going], rho[going]) for s, y, rho in memory),
                maxlen=_MEMORY,
            )
        if not len(active):
            break
        trial = u + length[:, None] * step
        value_there, gradient_there = function(trial, active)
        lower = value_there <= value + _ARMIJO * length * slope
        # A rejected step is remembered as zero, and tried again at a shorter length.
        s = np.where(lower[:, None], trial - u, 0.0)
        y = np.where(lower[:, None], gradient_there - gradient, 0.0)
        u = np.where(lower[:, None], trial, u)
        gradient = np.where(lower[:, None], gradient_there, gradient)
        value = np.where(lower, value_there, value)
        length = np.where(lower, 1.0, _SHORTEN * length)
        sy, yy = _dot(s, y), _dot(y, y)
        curved = sy > _FLAT * np.sqrt(_dot(s, s) * yy)
        curved &= np.minimum(sy, yy) > _NO_CHANGE
        rho = np.divide(1.0, sy, out=np.zeros_like(sy), where=curved)
        inverse = np.divide(sy, yy, out=inverse.copy(), where=curved)
        memory.append((s, y, rho))
    result[active] = u
    return result


def _newton(
    gradient: Array, inverse: Array, memory: deque[tuple[Array, Array, Array]]
) -> Array:
    """Inverse Hessian times gradient, by the two loops over the memory."""
    q = gradient.copy()
    alphas = []
    for s, y, rho in reversed(memory):
        alpha = (rho * _dot(s, q))[:, None]
        q -= alpha * y
        alphas.append(alpha)
    q *= inverse[:, None]
    for s, y, rho in memory:
        q += s * (alphas.pop() - (rho * _dot(y, q))[:, None])
    return q


def _dot(a: Array, b: Array) -> Array:
    """Inner products of rows."""
    product: Array = np.einsum("pi,pi->p", a, b)
    return product
