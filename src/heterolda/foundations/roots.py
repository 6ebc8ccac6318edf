"""Bracketed root finding on many functions at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.rounding import EPS

_MAX_ITER = 100


def bracketed_roots(
    function: Callable[[Index, Array], Array],
    a: Array,
    b: Array,
    fa: Array,
    fb: Array,
    tolerance: float = 2 * EPS,
) -> Array:
    """Return the roots of many scalar functions, each bracketed by a and b.

    ``function(index, x)`` evaluates function number ``index[k]`` at ``x[k]``; the
    values fa and fb have opposite signs, or are zero.

    Chandrupatla's method: inverse quadratic interpolation where it is safe,
    bisection elsewhere, until the bracket is as narrow as a relative tolerance. (T. R.
    Chandrupatla (1997), "A new hybrid quadratic/bisection algorithm for finding the
    zero of a nonlinear function without using derivatives", Advances in Engineering
    Software 28, 145-149.)
    """
    root = np.where(np.abs(fa) < np.abs(fb), a, b)
    index = np.arange(len(a))
    t = np.full(len(a), 0.5)
    for _ in range(_MAX_ITER):
        if not len(index):
            break
        x = a + t * (b - a)
        fx = function(index, x)
        replaces_a = np.sign(fx) == np.sign(fa)
        c, fc = np.where(replaces_a, a, b), np.where(replaces_a, fa, fb)
        b, fb = np.where(replaces_a, b, a), np.where(replaces_a, fb, fa)
        a, fa = x, fx

        closer = np.abs(fa) < np.abs(fb)
        best = np.where(closer, a, b)
        root[index] = best
        least = tolerance * np.abs(best) + np.finfo(float).tiny
        width = np.abs(b - a)
        active = (width > 2 * least) & (fa != 0) & (fb != 0)
        index = index[active]
        a, b, c = a[active], b[active], c[active]
        fa, fb, fc = fa[active], fb[active], fc[active]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            xi = (a - b) / (c - b)
            phi = (fa - fb) / (fc - fb)
            safe = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
            t = fa / (fb - fa) * fc / (fb - fc)
            t += (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
            margin = least[active] / width[active]
            t = np.where(safe & np.isfinite(t), t, 0.5)
            t = np.clip(t, margin, 1 - margin)
    return root
