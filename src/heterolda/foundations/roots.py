"""Bracketed root finding on many functions at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from heterolda.foundations.arrays import Array, Index

_MOST_ITER = 100


def bracketed_roots(
    function: Callable[[Index, Array], Array],
    a: Array,
    b: Array,
    fa: Array,
    fb: Array,
) -> Array:
    """Return the roots of many scalar functions, each bracketed by a and b.

    ``function(index, x)`` evaluates function number ``index[k]`` at ``x[k]``; the
    values fa and fb have opposite signs, or are zero.

    Chandrupatla's method: inverse quadratic interpolation where it is safe,
    bisection elsewhere, until the bracket is as narrow as rounding allows. (T. R.
    Chandrupatla (1997), "A new hybrid quadratic/bisection algorithm for finding the
    zero of a nonlinear function without using derivatives", Advances in Engineering
    Software 28, 145-149.)
    """
    root = np.where(np.abs(fa) < np.abs(fb), a, b)
    index = np.arange(len(a))
    t = np.full(len(a), 0.5)
    for _ in range(_MOST_ITER):
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


def newton_roots(
    function: Callable[[Index, Array], tuple[Array, Array]], a: Array, b: Array
) -> Array:
    """Find the roots of many functions by Newton's method within brackets.

    The functions are negative at a and positive at b. A step that leaves the bracket,
    or is more than half as long as the previous one, is replaced by bisection.
    ``function(index, x)`` returns the values of functions ``index`` at ``x``, and their
    derivatives.
    """
    root = np.empty(len(a))
    index = np.arange(len(a))
    x = 0.5 * (a + b)
    last = b - a
    for _ in range(_MOST_ITER):
        if not len(index):
            break
        f, derivative = function(index, x)
        is_low = f < 0
        a, b = np.where(is_low, x, a), np.where(is_low, b, x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = -f / derivative
            moved = x + step
            good = (a <= moved) & (moved <= b) & (np.abs(step) <= 0.5 * last)
        x = np.where(good, moved, 0.5 * (a + b))
        last = np.where(good, np.abs(step), b - a)
        root[index] = x
        # Convergence is quadratic: after a step this small, another would not show.
        active = last > 1e-6 * (1 + np.abs(x))
        index, x, last = index[active], x[active], last[active]
        a, b = a[active], b[active]
    return root
