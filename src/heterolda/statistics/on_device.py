"""Class statistics as arrays of another library, for rows that are such arrays."""

from __future__ import annotations

import copy
from functools import wraps
from operator import attrgetter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.devices import Device, blocks, device_of, to_host
from heterolda.foundations.files import PathOrFile
from heterolda.foundations.types import Amount, Array
from heterolda.foundations.validation import check_sample_weight
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.device_rows import (
    check_rows,
    device_labels,
    refuse_not_finite,
)
from heterolda.statistics.factors import is_wide
from heterolda.statistics.moments import RangeError


class DeviceStatistics(ClassStatistics):
    """Statistics whose arrays are on a device, computed on the host.

    They are few numbers: sums over rows are taken where the rows are, and all else is
    done by statistics in NumPy, `host`. What is read or returned is on the device.
    """

    def __init__(self, host: ClassStatistics, device: Device) -> None:
        self.host = host
        self.device = device

    def __setattr__(self, name: str, value: Any) -> None:
        own = name in ("host", "device")
        object.__setattr__(self if own else self.host, name, value)

    @property
    def factors(self) -> list[Any] | None:
        """Rows of which the scatters are made, if there are no scatters."""
        known = self.host.factors
        return None if known is None else [self.device.put(one) for one in known]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("host", "device"):
            raise AttributeError(name)
        return getattr(self.host, name)

    def __repr__(self) -> str:
        return repr(self.host)

    def _repr_html_(self) -> str:
        return self.host._repr_html_()

    def _there(self, host: ClassStatistics) -> Self:
        """Other statistics in the same place."""
        return type(self)(host, self.device)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._there(copy.deepcopy(self.host, memo))  # modules are not copied

    def __add__(self, other: object) -> Self:
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        return self._there(self.host + host_statistics(other))

    def __sub__(self, other: object) -> Self:
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        return self._there(self.host - host_statistics(other))

    def __radd__(self, other: object) -> Self:
        if not isinstance(other, ClassStatistics):
            return super().__radd__(other)
        return self._there(other + self.host)

    def __rsub__(self, other: object) -> Self:
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        return self._there(other - self.host)

    def covariances(self, shrinkage: Amount = None) -> Any:
        """Class covariances with divisor W_k - 1, shrunk if need be."""
        return self.device.put(self.host.covariances(shrinkage))

    def save(self, path: PathOrFile, *, min_count: float = 0) -> None:
        """Write the statistics to a NumPy ``.npz`` file, whole or not at all."""
        self.host.save(path, min_count=min_count)

    def __reduce__(self) -> tuple[Any, ...]:
        # A device cannot be pickled, an array of it can.
        return _restored, (self.host, self.device.put(np.zeros(0)))


def _array_there(name: str) -> property:
    """An array of the host, on the device."""
    return property(lambda self: self.device.put(getattr(self.host, name)))


def _statistics_there(name: str) -> Any:
    """What a method of the host returns, in the same place."""
    method = getattr(ClassStatistics, name)

    @wraps(method)
    def call(self: DeviceStatistics, *given: Any, **named: Any) -> DeviceStatistics:
        return self._there(method(self.host, *given, **named))

    return call


for _name in ("classes", "weights", "means", "scatters", "squares"):
    setattr(DeviceStatistics, _name, _array_there(_name))
for _name in ("copy", "decayed", "scaled", "with_entries", "without_empty_classes"):
    setattr(DeviceStatistics, _name, _statistics_there(_name))
for _name in ("n_classes", "n_features", "rank"):
    setattr(DeviceStatistics, _name, property(attrgetter(f"host.{_name}")))
# What makes statistics of something else makes them where that is.
for _name in ("from_data", "from_codes", "from_gaps", "from_moments", "load"):
    setattr(DeviceStatistics, _name, getattr(ClassStatistics, _name))


def _restored(host: ClassStatistics, example: Any) -> ClassStatistics:
    """Statistics from a pickle, in the place of an array."""
    device = device_of(example, always=True)
    return host if device is None else DeviceStatistics(host, device)


def host_statistics(statistics: ClassStatistics) -> ClassStatistics:
    """Statistics in NumPy."""
    return getattr(statistics, "host", statistics)


def from_rows(
    device: Device, X: Any, y: Any, sample_weight: Any, missing: str = "error"
) -> DeviceStatistics:
    """Statistics of rows on a device, for `ClassStatistics.from_data`.

    Rows with gaps, and those that are fewer than features, come to the host.
    """
    X = check_rows(device, X)
    weight = None if sample_weight is None else to_host(sample_weight)
    if is_wide(*X.shape) or missing == "em":
        known = to_host(X), to_host(y) if hasattr(y, "device") else y, weight
        return DeviceStatistics(ClassStatistics.from_data(*known, missing), device)
    classes, codes = device_labels(device, y, X.shape[0], warn=False)
    weight = check_sample_weight(weight, X.shape[0])
    host = device_statistics(device, X, codes, classes, weight)
    return DeviceStatistics(host, device)


def device_statistics(
    device: Device, X: Any, codes: Any, classes: NDArray[Any], weight: Array | None
) -> ClassStatistics:
    """Statistics, in NumPy, of rows on a device with the places of their labels."""
    try:
        found = ClassStatistics.from_codes(X, codes, classes, weight)
    except RangeError:
        refuse_not_finite(device, X)
        raise
    if weight is not None and not weight.all():  # which sums do not see
        rest = np.flatnonzero(weight == 0)
        for some in blocks(len(rest), 1 << 20):
            rows = device.xp.take(X, device.put(rest[some]), axis=0)
            refuse_not_finite(device, rows)
    return found
