"""Mean and standard deviation of scores in each of two classes, on a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from heterolda.foundations.devices import Device
from heterolda.foundations.types import Array, Mask


def score_moments(
    device: Device, scores: Any, first: Mask, weight: Array | None
) -> Array:
    """Moments as in NumPy, of scores that are on a device; the result is not."""
    xp, moments = device.xp, np.empty((2, 2))
    given = xp.ones_like(scores) if weight is None else device.put(weight)
    inside = device.put(first)
    for c, own in enumerate((inside, ~inside)):
        w = xp.where(own, given, xp.zeros_like(given))
        total = float(xp.sum(w))
        mean = float(xp.sum(w * scores)) / total
        away = xp.where(own, scores - mean, xp.zeros_like(scores))
        # A power of two, so that squares stay in the range and all else is the same.
        unit = float(np.ldexp(1.0, np.frexp(float(xp.max(xp.abs(away))))[1]))
        square = float(xp.sum(w * (away / unit) ** 2)) / max(total - 1, total / 2)
        moments[c] = mean, unit * np.sqrt(square)
    return moments
