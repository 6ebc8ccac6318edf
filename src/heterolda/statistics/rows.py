"""Rows with classes and weights, and their validation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import (
    Array,
    Device,
    Index,
    blocks,
    dense,
    device_of,
    to_host,
    xp_of,
)
from heterolda.foundations.rounding import SAME_SUM
from heterolda.foundations.validation import (
    check_labels,
    check_sample_weight,
    encode,
    label_array,
    validate_rows,
)
from heterolda.foundations.wording import listed
from heterolda.kernels.class_moments import by_class

_MAX_COPIES = 10**8
# Number of values on a device that are checked at a time.
_BLOCK = 1 << 24


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with their classes and weights."""

    X: Any  # (n, n_features), dense, CSR or on a device
    codes: Any  # index of the class of each row, int64
    weights: Array | None  # frequencies of the rows; None for all ones
    classes: NDArray[Any]  # sorted labels of the classes
    held_by: Any = None  # groups or times by which rows are held out
    given: Any = None  # X with its missing values, if they are filled in X

    @property
    def labels(self) -> NDArray[Any]:
        """Return the labels of the rows."""
        labels: NDArray[Any] = self.classes[self.codes]
        return labels

    @property
    def frequencies(self) -> Array:
        """Return the weights of the rows; ones if they are None."""
        return np.ones(len(self.codes)) if self.weights is None else self.weights

    @property
    def drawn_codes(self) -> Index:
        """Return the classes of the rows, -1 for rows of weight zero."""
        if self.weights is None:
            return np.asarray(self.codes)
        return np.where(self.weights > 0, self.codes, -1)

    @cached_property
    def totals(self) -> Array:
        """Return the total weight of each class."""
        totals = np.bincount(self.codes, self.weights, minlength=len(self.classes))
        return totals.astype(np.float64)

    @cached_property
    def by_class(self) -> tuple[Index, Index]:
        """Return indices of rows of positive weight by class, and class bounds."""
        index = None if self.weights is None else np.flatnonzero(self.weights)
        codes = self.codes if index is None else self.codes[index]
        order, bounds = by_class(codes, len(self.classes))
        return order if index is None else index[order], bounds

    def take(self, index: Any) -> Self:
        """Return the rows selected by a mask, indices or a slice."""
        parts: dict[str, Any] = {
            name: None if (value := getattr(self, name)) is None else value[index]
            for name in ("X", "codes", "weights", "given", "held_by")
        }
        return replace(self, **parts)

    def of_class(self, k: int) -> Self:
        """Return the rows of class k with positive weight, dense and in float64."""
        order, bounds = self.by_class
        rows = self.take(order[bounds[k] : bounds[k + 1]])
        return replace(rows, X=dense(rows.X).astype(np.float64, copy=False))

    def pair(self, i: int, j: int) -> Self:
        """Return the rows of classes i and j, i < j, as classes 0 and 1."""
        if len(self.classes) == 2:
            return self
        rows = self.take(np.flatnonzero((self.codes == i) | (self.codes == j)))
        codes = (rows.codes == j).astype(np.int64)
        return replace(rows, codes=codes, classes=self.classes[[i, j]])

    def without_empty_classes(self) -> Self:
        """Leave out classes of total weight zero, unless all have weight zero."""
        present = self.totals > 0
        if present.all() or not present.any():
            return self
        rows = self.take(present[self.codes])
        codes = (np.cumsum(present) - 1)[rows.codes]
        return replace(rows, codes=codes, classes=self.classes[present])


def validated(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    estimator: Any = None,
    missing: str | None = None,
    first: bool = True,
    sums: bool = False,
    sparse: bool = True,
) -> Rows:
    """Return checked rows for a fit or, with `sums`, a chunk, which may be empty."""
    device = device_of(X)
    if device is None:
        checks: dict[str, Any] = {"accept_sparse": "csr" if sparse else False}
        checks |= {"ensure_min_samples": int(not sums), "missing": missing}
        X, y = validate_rows(estimator, X, y, reset=first, **checks)
        classes, codes = coded_labels(y, warn=not sums)
    else:
        checks = {"reset": first, "ensure_min_samples": int(not sums)}
        X = validate_device_rows(device, estimator, X, **checks)
        classes, codes = _device_labels(device, y, X.shape[0], warn=not sums)
    check = check_sample_weight if sums else check_frequencies
    rows = Rows(X, codes, check(sample_weight, X.shape[0]), classes)
    return rows if sums or device is not None else rows.without_empty_classes()


def coded_labels(y: NDArray[Any], *, warn: bool = True) -> tuple[NDArray[Any], Index]:
    """Return the distinct labels, and the index of each label among them."""
    classes = check_labels(y, warn=warn)
    return classes, encode(y, classes)


def all_labels(classes: ArrayLike | None, earlier: NDArray[Any] | None) -> NDArray[Any]:
    """Return the sorted labels of all chunks, passed in this or an earlier call."""
    if classes is None:
        if earlier is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit: the list of "
                "all labels that will occur"
            )
        return earlier
    labels = check_labels(
        np.asarray(label_array(classes, "classes")), "classes", warn=False
    )
    if earlier is not None and not np.array_equal(labels, earlier):
        raise ValueError(
            f"classes={listed(labels)} differs from the classes of the first call of "
            f"partial_fit, {listed(earlier)}: use a new estimator"
        )
    return labels


# Weights as frequencies


def check_frequencies(sample_weight: ArrayLike | None, n: int) -> Array | None:
    """Return validated weights of n rows for a fit, with a mean of at least one."""
    weights = check_sample_weight(sample_weight, n)
    if weights is None:
        return None
    total, n_rows = float(weights.sum()), int(np.count_nonzero(weights))
    if frequency_factor(total, n_rows) == 1:
        return weights
    weights = weights / weights.max()  # n_rows / total may overflow
    scaled: Array = weights * (n_rows / weights.sum())
    return scaled


def frequency_factor(total: float, n_rows: int) -> float:
    """Return the factor that makes the mean of positive weights at least one."""
    too_small = 0 < total < n_rows * (1 - SAME_SUM)
    return n_rows / total if too_small else 1.0


def copies_of_rows(rows: Index, weights: Array | None, why: str) -> Index:
    """Repeat each row index by its weight; `why` ends the error message."""
    if weights is None:
        return rows
    counts = np.rint(weights[rows])
    is_whole = np.abs(counts - weights[rows]) <= SAME_SUM * counts
    if not is_whole.all() or counts.sum() > _MAX_COPIES:
        raise ParameterError(
            "sample_weight",
            f"must be whole numbers with a sum of at most {_MAX_COPIES:,}: {why}",
        )
    return np.repeat(rows, counts.astype(np.intp))


# Rows on a device


def validate_device_rows(device: Device, estimator: Any, X: Any, **checks: Any) -> Any:
    """Validate rows on a device with scikit-learn, without the check for NaN."""
    if not device.xp.isdtype(X.dtype, ("real floating", "integral", "bool")):
        raise ParameterError("X", f"must be real numbers, got dtype {X.dtype}")
    if device.library == "torch":
        X = X.detach()  # no gradients are needed
    checks = {"dtype": None, "ensure_all_finite": False, **checks}
    if estimator is None:
        checks.pop("reset", None)
        return check_array(X, **checks)
    return validate_data(estimator, X, **checks)


def not_finite_row(X: Any) -> NDArray[Any] | None:
    """Return the first row on a device with NaN or infinity, in NumPy, or None."""
    xp = xp_of(X)
    if not xp.isdtype(X.dtype, "real floating"):
        return None
    for block in blocks(X.shape[0], max(1, _BLOCK // X.shape[1])):
        bad = xp.nonzero(~xp.all(xp.isfinite(X[block, :]), axis=1))[0]
        if bad.shape[0]:
            return to_host(X[block.start + int(bad[0]), :])[None]
    return None


def _device_labels(
    device: Device, y: Any, n: int, *, warn: bool
) -> tuple[NDArray[Any], Any]:
    """Return the distinct labels in NumPy, and the codes of n rows on the device."""
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: pass the labels of X"
        )
    xp, y_device = device.xp, device_of(y, always=True)
    labels = label_array(y) if y_device is None else y
    shape = np.shape(labels) if y_device is None else tuple(y.shape)
    if shape not in ((n,), (n, 1)):
        raise ParameterError(
            "y", f"must have one label for each of the {n} rows of X, got shape {shape}"
        )
    # Encoding ten million labels takes 150 ms on the host; a fit on a GPU takes 25.
    integers = xp.int8, xp.int16, xp.int32, xp.int64, xp.uint8
    if y_device == device and labels.dtype in integers and n:
        labels = xp.reshape(labels, (n,))
        classes = xp.sort(xp.unique_values(labels))
        small = xp.uint8 if classes.shape[0] < 256 else xp.int32
        return to_host(classes), xp.astype(xp.searchsorted(classes, labels), small)
    classes, codes = coded_labels(label_array(to_host(labels).reshape(-1)), warn=warn)
    return classes, device.put(codes)
