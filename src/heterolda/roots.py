"""Bracketed root finding on many functions at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def bracketed_roots(
    function: Callable[[Index, Array], Array],
    a: Array,
    b: Array,
    fa: Array,
    fb: Array,
    *,
    max_iter: int = 100,
) -> Array:
    """Roots of many scalar functions, each inside its own bracket.

    Chandrupatla's method: inverse quadratic interpolation where it is safe,
    bisection elsewhere. It stops where a bracket has shrunk to rounding error.

    Parameters
    ----------
    function : callable
        ``function(index, x)`` evaluates function number ``index[k]`` at ``x[k]``.
    a, b : ndarray of shape (m,)
        Ends of the brackets.
    fa, fb : ndarray of shape (m,)
        Values at the ends, of opposite sign (or zero).
    max_iter : int, default=100
        Most evaluations of each function.

    Returns
    -------
    ndarray of shape (m,)
        The roots.

    References
    ----------
    T. R. Chandrupatla (1997), "A new hybrid quadratic/bisection algorithm for
    finding the zero of a nonlinear function without using derivatives",
    Advances in Engineering Software 28, 145-149.
    """
    root = np.where(np.abs(fa) < np.abs(fb), a, b)
    index = np.arange(len(a))
    t = np.full(len(a), 0.5)
    for _ in range(max_iter):
        if not len(index):
            break
        x = a + t * (b - a)
        fx = function(index, x)
        same = np.sign(fx) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx

        closer = np.abs(fa) < np.abs(fb)
        best = np.where(closer, a, b)
        root[index] = best
        tolerance = 2 * np.finfo(float).eps * np.abs(best) + np.finfo(float).tiny
        width = np.abs(b - a)
        active = (width > 2 * tolerance) & (fa != 0) & (fb != 0)
        index = index[active]
        a, b, c = a[active], b[active], c[active]
        fa, fb, fc = fa[active], fb[active], fc[active]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            xi = (a - b) / (c - b)
            phi = (fa - fb) / (fc - fb)
            safe = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
            t = fa / (fb - fa) * fc / (fb - fc)
            t += (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
            margin = tolerance[active] / width[active]
            t = np.where(safe & np.isfinite(t), t, 0.5)
            t = np.clip(t, margin, 1 - margin)
    return root
