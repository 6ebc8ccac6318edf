"""Training rows on a device: checks, labels, moments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.exceptions import ParameterError
from heterolda.foundations.devices import Device, blocks, device_of, to_host
from heterolda.foundations.validation import label_array
from heterolda.kernels.class_moments import ClassMoments
from heterolda.kernels.device.class_moments import class_moments
from heterolda.statistics.labels import coded_labels

# Labels of no more rows are looked at in NumPy; integers that span no more than this
# are counted where they are.
_FEW_ROWS, _SMALL_RANGE = 1 << 14, 200


def check_real(device: Device, X: Any) -> Any:
    """Refuse numbers that are not real."""
    if not device.xp.isdtype(X.dtype, ("real floating", "integral", "bool")):
        raise ParameterError("X", f"must be real numbers, got dtype {X.dtype}")
    # PyTorch may have been told to follow derivatives, which nobody asks for here.
    return X.detach() if device.is_torch and X.requires_grad else X


def check_rows(device: Device, X: Any, n_features: int | None = None) -> Any:
    """Refuse what is not a matrix of real numbers, with rows; but not NaN."""
    if X.ndim != 2:
        raise ValueError(
            f"X must have two dimensions, rows and features, got shape {tuple(X.shape)}"
        )
    X = check_real(device, X)
    if not X.shape[1]:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={tuple(X.shape)}) while a minimum "
            "of 1 is required."
        )
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(
            f"X has {X.shape[1]} features, but the model is expecting {n_features} "
            "features as input"
        )
    return X


def refuse_not_finite(device: Device, X: Any) -> None:
    """Refuse rows that have NaN or infinity; huge numbers pass."""
    xp = device.xp
    if not xp.isdtype(X.dtype, "real floating"):
        return
    for here in blocks(X.shape[0], max(1, (1 << 24) // X.shape[1])):
        block = X[here, :]
        if bool(xp.any(xp.isnan(block))):
            raise ParameterError(
                "X",
                "contains NaN, which stands for a missing value: fill such values "
                "in, leave their rows out, or pass numpy.asarray(X) to "
                "GaussianLinearDiscriminant(missing='em')",
            )
        if bool(xp.any(xp.isinf(block))):
            raise ParameterError("X", "contains infinity: every number must be finite")


def device_labels(
    device: Device, y: Any, n: int, *, warn: bool = True
) -> tuple[NDArray[Any], Any]:
    """Distinct labels of n rows, in NumPy, and the place of each among them, there."""
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: pass the labels of X"
        )
    there = device_of(y, always=True)
    labels = y if there is not None else label_array(y)
    shape = np.shape(labels) if there is None else tuple(y.shape)
    if shape not in ((n,), (n, 1)):
        raise ParameterError(
            "y", f"must have one label for each of the {n} rows of X, got shape {shape}"
        )
    xp = device.xp
    usable = xp.int8, xp.int16, xp.int32, xp.int64, xp.uint8  # PyTorch sorts no others
    if there == device and n > _FEW_ROWS and y.dtype in usable:
        y = xp.reshape(y, (n,))
        low, high = int(xp.min(y)), int(xp.max(y))
        if high - low < _SMALL_RANGE:
            small = device.astype(y - low, xp.uint8)
            ends = xp.arange(high - low + 1, dtype=xp.uint8, device=device.device)
            last = to_host(xp.searchsorted(xp.sort(small), ends, side="right"))
            present = np.flatnonzero(np.diff(last, prepend=0))
            classes = (present + low).astype(to_host(y[:0]).dtype)
            if len(present) == high - low + 1:
                return classes, small
            table = np.zeros(high - low + 1, np.uint8)
            table[present] = np.arange(len(present))
            return classes, xp.take(device.put(table), device.astype(small, xp.int32))
    labels = label_array(np.reshape(to_host(labels), -1))
    classes, codes = coded_labels(labels, warn=warn)
    return classes, device.put(codes)


def device_moments(X: Any, codes: Any, weight: Any, n_classes: int) -> ClassMoments:
    """Return the moments of classes of rows on a device, all of them finite."""
    device: Any = device_of(X, always=True)
    found = class_moments(X, codes, weight, n_classes)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(found[2].sum()):
            refuse_not_finite(device, X)
    if weight is not None and not weight.all():  # which sums do not see
        rest = np.flatnonzero(weight == 0)
        for some in blocks(len(rest), 1 << 20):
            rows = device.xp.take(X, device.put(rest[some]), axis=0)
            refuse_not_finite(device, rows)
    return found
