"""The best of all real steps along one coordinate of a rule.

Along a coordinate the errors change only at the steps that bring a row onto the
threshold, the breakpoints, so that sorting these gives the errors of all steps.
"""

from __future__ import annotations

import numpy as np

import heterolda.kernels as kernels
from heterolda.foundations.types import Array, Count, Mask


def best_step(
    X: Array, first: Mask, weight: Count, margins: Array, i: int, errors: int
) -> tuple[float, int] | None:
    """The middle of the best interval between breakpoints, and the errors there.

    Of equals the widest interval is taken, then the nearest, then the first. The two
    unbounded ones are entered as far as their end is from zero, or else by the span of
    the breakpoints. `margins` are w.x - w0, and coordinate i belongs to column i - 1 of
    X, or to w0 if it is zero. None if there are nowhere fewer errors than now.
    """
    if kernels.compiled is None:
        return best_step_numpy(X, first, weight, margins, i, errors)
    weights = weight if len(weight) else None
    found: tuple[float, int] | None = kernels.compiled.best_step(
        X, first, weights, margins, i, errors
    )
    return found


def best_step_numpy(
    X: Array, first: Mask, weight: Count, margins: Array, i: int, errors: int
) -> tuple[float, int] | None:
    """The same in NumPy."""
    x = X[:, i - 1] if i > 0 else np.full(len(margins), -1.0)
    w = weight if len(weight) else np.ones(len(x), dtype=np.int64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        points = -margins / x
    # Other rows stay where they are at all finite steps, or do not count.
    moving = np.isfinite(points) & (w > 0)
    if not moving.any():
        return None
    wrong = np.where(moving, x < 0, margins >= 0) != first  # at the far left
    order = np.argsort(points[moving])
    gains = np.where(wrong, -w, w)[moving][order]
    with np.errstate(invalid="ignore", over="ignore"):
        best = _best_interval(points[moving][order], gains, int(w[wrong].sum()))
    return best if best is not None and best[1] < errors else None


def _best_interval(
    points: Array, gains: Count, errors: int
) -> tuple[float, int] | None:
    """The best of the intervals between sorted breakpoints."""
    low, high = points[0], points[-1]
    span = (high - low) or 1.0
    left, right = low - 2 * (abs(low) or span), high + 2 * (abs(high) or span)
    ends = np.concatenate([[left], points, [right]])
    widths = np.diff(ends)
    middles = ends[:-1] + widths / 2
    counts = errors + np.append(0, np.cumsum(gains))
    # Intervals that rounding may have made do not count.
    real = widths > 2.0**-40 * np.maximum(np.abs(ends[:-1]), np.abs(ends[1:]))
    if not real.any():
        return None
    best = np.flatnonzero(real & (counts == counts[real].min()))
    best = best[widths[best] == widths[best].max()]
    k = best[np.argmin(np.abs(middles[best]))]
    return float(middles[k]), int(counts[k])
