"""Yeo and Johnson's power transformation of rows, on a device."""

from __future__ import annotations

from typing import Any

from heterolda.foundations.arrays import Array, Device


def bent_rows(
    device: Device, rows: Any, centre: Array, scale: Array, lambdas: Array, most: float
) -> Any:
    """Transformed rows; in units of the scale none counts as farther than `most`."""
    xp = device.xp
    rows = device.astype(rows, device.floats)
    z = xp.clip((rows - device.put(centre)) / device.put(scale), -most, most)
    side = xp.where(z < 0, -xp.ones_like(z), xp.ones_like(z))
    power = 1 + side * device.put(lambdas - 1)
    power = xp.where(power == 0, xp.full_like(power, 1e-30), power)
    return side * xp.expm1(power * xp.log1p(xp.abs(z))) / power
