"""The rows that a search goes through: in NumPy, or on a device."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.frozen import FrozenEstimator

from heterolda.estimators import gathering
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.gathering import on_host
from heterolda.foundations.devices import Device, device_of, to_host
from heterolda.foundations.validation import label_array, validate_rows
from heterolda.search.training_data import TrainingData
from heterolda.statistics.device_rows import (
    check_rows,
    device_labels,
    refuse_not_finite,
)
from heterolda.statistics.frequencies import (
    check_frequencies,
    without_empty_classes,
)


def training_data(search, start, device: Device | None, X, y, sample_weight):
    """Valid rows for a search from a start, with labels and weights in NumPy.

    Many rows of a device stay there for Algorithm 2 from a start of ours. All else
    needs rows in NumPy; from there, rules may still descend on the device.
    """
    weights = search.class_weight
    if device is not None and not _pays(device, X):
        device, X, y, sample_weight = None, *on_host(X, y, sample_weight)
    if device is not None and _stays_there(search, start):
        return _rows_there(search, device, X, y, sample_weight).checked(weights)
    if device is not None:
        X, y, sample_weight = on_host(X, y, sample_weight)
    X, y = validate_rows(search, X, y)
    weight = check_frequencies(sample_weight, len(X))
    rows = without_empty_classes(X, y, weight)
    names = getattr(search, "feature_names_in_", None)
    return TrainingData.from_arrays(*rows, weights, names, device)


def _pays(device: Device, X) -> bool:
    """Whether rows are many; and counts need double precision, which some lack."""
    many = X.ndim == 2 and X.shape[0] * X.shape[1] > gathering.FEW_NUMBERS
    return many and device.floats == device.xp.float64


def _stays_there(search, start) -> bool:
    """Whether all that is done with the rows is done on a device, too."""
    ours = isinstance(start, GaussianLinearDiscriminant | FrozenEstimator)
    return ours and search.strategy == "paper" and search.transformation is None


def _rows_there(search, device, X, y, sample_weight):
    """Rows on their device, and labels where they are; classes are not empty."""
    X = check_rows(device, X)
    xp, n = device.xp, X.shape[0]
    vars(search).pop("feature_names_in_", None)  # of an earlier fit
    search.n_features_in_ = X.shape[1]
    if not xp.isdtype(X.dtype, "real floating"):
        X = device.astype(X, xp.float64)
    if not np.isfinite(float(xp.sum(X))):
        refuse_not_finite(device, X)
    classes, codes = device_labels(device, y, n)
    small = xp.uint8 if len(classes) < 256 else xp.int64  # a shorter way to the host
    codes = to_host(device.astype(codes, small)).astype(np.intp)
    if device_of(y) == device:
        y = xp.reshape(y, (n,))
    else:
        y = np.reshape(label_array(*on_host(y)), n)
    weight = check_frequencies(*on_host(sample_weight), n)
    data = TrainingData(X, y, classes, codes, weight, None)
    if weight is None or weight.all() or not weight.any():
        return data
    data, present = data.take(np.flatnonzero(weight)), data.totals() > 0
    codes = (np.cumsum(present) - 1)[data.codes]
    return replace(data, classes=classes[present], codes=codes)
