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


def interpolated_roots(x: Array, f: Array) -> Array:
    """Roots by inverse interpolation, one for each row; a guess, no more.

    Parameters
    ----------
    x, f : ndarray of shape (m, n)
        Places and values of monotone functions.

    Returns
    -------
    ndarray of shape (m,)
        Where the polynomial x(f) through the points of a row meets f = 0.
    """
    diagonal = np.arange(x.shape[1])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = f[:, None, :] / (f[:, None, :] - f[:, :, None])
        share[:, diagonal, diagonal] = 1.0
        root: Array = (x * share.prod(axis=2)).sum(axis=1)
    return root


def newton_roots(
    function: Callable[[Index, Array], tuple[Array, Array, Array]],
    a: Array,
    b: Array,
    guess: Array,
    *,
    max_iter: int = 100,
) -> tuple[Array, Array, Index]:
    """Roots of many functions that grow through zero, by Newton's method.

    A step that leaves the bracket, or does not halve the one before, is replaced by
    bisection.

    Parameters
    ----------
    function : callable
        ``function(index, x)`` returns the values of the functions number ``index`` at
        ``x``, their derivatives, and three further rows of numbers.
    a, b : ndarray of shape (m,)
        Brackets: negative at a, positive at b.
    guess : ndarray of shape (m,)
        Where to begin; the middle of the bracket where it lies outside.
    max_iter : int, default=100
        Most evaluations of each function.

    Returns
    -------
    root : ndarray of shape (m,)
        The roots.
    further : ndarray of shape (3, m)
        The further numbers, next to the roots.
    n_steps : ndarray of shape (m,)
        Number of evaluations.
    """
    root, further = np.empty(len(a)), np.empty((3, len(a)))
    n_steps = np.zeros(len(a), np.intp)
    index = np.arange(len(a))
    x = np.where((a < guess) & (guess < b), guess, 0.5 * (a + b))
    last = b - a
    for _ in range(max_iter):
        if not len(index):
            break
        f, derivative, numbers = function(index, x)
        n_steps[index] += 1
        is_low = f < 0
        a, b = np.where(is_low, x, a), np.where(is_low, b, x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = -f / derivative
            moved = x + step
            good = (a <= moved) & (moved <= b) & (np.abs(step) <= 0.5 * last)
        x = moved if good.all() else np.where(good, moved, 0.5 * (a + b))
        last = np.abs(step) if good.all() else np.where(good, np.abs(step), b - a)
        root[index], further[:, index] = x, numbers
        # Convergence is quadratic: after a step this small no other is needed.
        more = last > 1e-6 * (1 + np.abs(x))
        if not more.any():
            break
        index, x, last, a, b = index[more], x[more], last[more], a[more], b[more]
    return root, further, n_steps
