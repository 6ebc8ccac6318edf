"""Fitted attributes on the device of the rows, and back in NumPy.

Estimators are fitted in NumPy, from sums computed on the device; then all arrays that
users read move there. Code that needs NumPy arrays takes a copy by `host_of`.
"""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from heterolda.foundations.arrays import Device, device_of, to_host


def settle(estimator, device: Device | None):
    """Move the fitted arrays of an estimator to a device, and return it."""
    if device is not None:
        for name, value in list(vars(estimator).items()):
            if name.endswith("_") and isinstance(value, np.ndarray):
                setattr(estimator, name, device.put(value))
    return estimator


def host_of(estimator: Any) -> Any:
    """Return an estimator with all arrays in it in NumPy: itself, or else a copy."""
    if not isinstance(estimator, BaseEstimator):
        return estimator
    before = vars(estimator)
    after = {name: _value_on_host(name, value) for name, value in before.items()}
    if all(after[name] is before[name] for name in before):
        return estimator
    host = copy.copy(estimator)
    vars(host).update(after)
    return host


def _value_on_host(name: str, value: Any) -> Any:
    """Return an attribute of an estimator with its arrays in NumPy."""
    if name == "steps":  # of a pipeline
        steps = [(step, host_of(model)) for step, model in value]
        same = all(a is b for (_, a), (_, b) in zip(steps, value, strict=True))
        return value if same else steps
    if name.endswith("_") and device_of(value, always=True) is not None:
        return to_host(value)
    return host_of(value)


class OnDevices:
    """An estimator whose fitted arrays may be on a device."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    def __sklearn_array_api_convert__(self, converter):
        """Return a copy with arrays converted as scikit-learn asks."""
        device = device_of(converter(np.zeros(1)), always=True)
        return settle(copy.copy(host_of(self)), device)
