r"""Descent of a rule, from its start, to a minimum of the smooth count of its errors.

It is

    sum_j w_j loss(m_j / h) + lambda \|u\|^2,    m = start + Z u,

where the weights w sum to one. The loss "error" is the logistic step 1 / (1 + exp(x)),
so that the first term is the kernel estimate of width h of the error; "logistic" is
log(1 + exp(-x)), which is convex.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, Index
from heterolda.kernels.lbfgs import minimise

# What hears of each iteration: its number, from 1, and the costs of all wrong rows.
Report = Callable[[int, float], object]


def smooth_step(x: Array) -> tuple[Array, Array]:
    """The logistic step 1 / (1 + exp(x)), and its derivative."""
    q = _expit(x)
    return q, q * (q - 1)


def logistic_loss(x: Array) -> tuple[Array, Array]:
    """The logistic loss log(1 + exp(-x)), and its derivative."""
    q = _expit(x)
    value = np.log(np.maximum(q, 1 - q))
    value += np.minimum(x, 0)
    return np.negative(value, out=value), np.negative(q, out=q)


def _expit(x: Array) -> Array:
    """The step 1 / (1 + exp(x))."""
    with np.errstate(over="ignore"):
        q = np.exp(x)
    q += 1
    return np.reciprocal(q, out=q)


# Of each loss the function, the largest second derivative and the customary width.
LOSSES: dict[str, tuple[Callable[[Array], tuple[Array, Array]], float, float]] = {
    "error": (smooth_step, 1 / (6 * np.sqrt(3)), 0.25),
    "logistic": (logistic_loss, 0.25, 0.5),
}


def descend(
    Z: Array,
    start: Array,
    weight: Array,
    loss: NDArray[np.str_],
    h: Array,
    penalty: Array,
    *,
    tol: float = 1e-9,
    max_iter: int = 300,
    costs: Array | None = None,
    report: Report | None = None,
    out: Array | None = None,
) -> Array:
    """Shifts u (n_problems, r) to a minimum, for several losses, widths and penalties.

    `Z`, of shape (n, r), has the coordinates of the rows times +1 in the second class
    and -1 in the first, best as the transpose of a matrix in C order; `start` the
    margins at u = 0. The problems of the loss "error" are not convex, and the minimum
    is the one that descent leads to. Each depends on its own problem only, up to
    rounding. `report` is called at each iteration, of one problem; if it raises an
    error, `out` has what was reached.
    """
    u = np.empty((len(loss), Z.shape[1])) if out is None else out
    if kernels.compiled is None:
        arrays = Z, start, weight, loss, h, penalty
        return descend_numpy(*arrays, tol, max_iter, costs, report, u)
    kernels.compiled.descend(
        *map(kernels.ready, (Z.T, start, weight)),
        kernels.ready(costs),
        (loss == "logistic").astype(np.int64),
        h,
        penalty,
        tol,
        max_iter,
        u,
        report,
    )
    return u


def descend_numpy(
    Z: Array,
    start: Array,
    weight: Array,
    loss: NDArray[np.str_],
    h: Array,
    penalty: Array,
    tol: float,
    max_iter: int,
    costs: Array | None,
    report: Report | None,
    u: Array,
) -> Array:
    """The same in NumPy, all problems at once."""
    curvature = np.array([LOSSES[name][1] for name in loss]) / h**2 + 2 * penalty
    n_iter = 0

    def function(u: Array, active: Index) -> tuple[Array, Array]:
        return objective(Z, start, weight, loss, h, penalty, u, active)

    def watch(now: Array) -> None:
        nonlocal n_iter
        n_iter += 1
        u[:] = now
        report(n_iter, float(costs[start + Z @ now[0] <= 0].sum()))

    u[:] = 0.0
    u[:] = minimise(
        function,
        u,
        curvature,
        tol=tol,
        max_iter=max_iter,
        report=None if report is None else watch,
    )
    return u


def objective(
    Z: Array,
    start: Array,
    weight: Array,
    loss: NDArray[np.str_],
    h: Array,
    penalty: Array,
    u: Array,
    active: Index,
) -> tuple[Array, Array]:
    """Values and gradients of the problems `active` at u, of shape (n_active, r)."""
    h, penalty = h[active, None], penalty[active]
    m = u @ Z.T
    m += start
    m *= 1 / h
    value, slope = np.empty_like(m), np.empty_like(m)
    for name, (function, *_) in LOSSES.items():
        own = loss[active] == name
        if own.any():
            value[own], slope[own] = function(m[own])
    slope *= weight
    total = value @ weight + penalty * np.einsum("pi,pi->p", u, u)
    return total, slope @ Z / h + 2 * penalty[:, None] * u
