"""Fitted attributes on the device of the rows, and back in NumPy.

Estimators are fitted in NumPy, from what was summed on the device; then all arrays that
users read go there. What needs them in NumPy takes a copy of the estimator.
"""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

import copy
from typing import Any

import numpy as np

from heterolda.foundations.devices import Device, device_of, is_numpy, to_host
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.on_device import DeviceStatistics, host_statistics


def settle(estimator, device: Device | None):
    """Move the fitted arrays of an estimator to a device, and return it."""
    if device is not None:
        for name, value in _fitted(estimator):
            if isinstance(value, np.ndarray):
                setattr(estimator, name, device.put(value))
            elif isinstance(value, ClassStatistics):
                setattr(estimator, name, DeviceStatistics(value, device))
    return estimator


def host_of(estimator: Any) -> Any:
    """An estimator with all its fitted arrays in NumPy: itself, or else a copy."""
    moved = {}
    for name, value in _fitted(estimator):
        if isinstance(value, DeviceStatistics):
            moved[name] = host_statistics(value)
        elif not is_numpy(value) and device_of(value, always=True) is not None:
            moved[name] = to_host(value)
    if not moved:
        return estimator
    host = copy.copy(estimator)
    vars(host).update(moved)
    return host


def _fitted(estimator):
    """Names and values of fitted attributes."""
    known = list(vars(estimator).items())
    return [(name, value) for name, value in known if name.endswith("_")]
