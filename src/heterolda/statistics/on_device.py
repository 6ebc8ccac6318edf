"""Class statistics as arrays of another library, for rows that are such arrays."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heterolda.foundations.devices import Device, blocks, device_of, to_host
from heterolda.foundations.files import PathOrFile
from heterolda.foundations.types import Amount, Array, Index
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
    def classes(self) -> Any:  # type: ignore[override]
        """Distinct labels, sorted."""
        return self.device.put(self.host.classes)

    @property
    def weights(self) -> Any:  # type: ignore[override]
        """Total weights of the classes."""
        return self.device.put(self.host.weights)

    @property
    def means(self) -> Any:  # type: ignore[override]
        """Class means."""
        return self.device.put(self.host.means)

    @property
    def scatters(self) -> Any:
        """Scatters of the classes."""
        return self.device.put(self.host.scatters)

    @property
    def squares(self) -> Any:
        """Their diagonals."""
        return self.device.put(self.host.squares)

    @property
    def factors(self) -> list[Any] | None:
        """Rows of which the scatters are made, if there are no scatters."""
        known = self.host.factors
        return None if known is None else [self.device.put(one) for one in known]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("host", "device"):
            raise AttributeError(name)
        return getattr(self.host, name)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.host.n_classes

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.host.n_features

    @property
    def rank(self) -> int:
        """Number of features without those that are constant or depend on others."""
        return self.host.rank

    def __repr__(self) -> str:
        return repr(self.host)

    def _repr_html_(self) -> str:
        return self.host._repr_html_()

    def _there(self, host: ClassStatistics) -> Self:
        """Other statistics in the same place."""
        return type(self)(host, self.device)

    def copy(self) -> Self:
        """An independent copy, which later updates do not change."""
        return self._there(self.host.copy())

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._there(copy.deepcopy(self.host, memo))  # modules are not copied

    def update(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add the rows of another chunk of data, in place."""
        more = host_statistics(ClassStatistics.from_data(X, y, sample_weight))
        self.host = self.host + more
        return self

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

    def without_empty_classes(self) -> Self:
        """The same without entries of weight zero, unless all are."""
        return self._there(self.host.without_empty_classes())

    def with_entries(self, entries: Index, classes: NDArray[Any]) -> Self:
        """The same with some entries, in that order, for these labels."""
        return self._there(self.host.with_entries(entries, classes))

    def decayed(self, factor: float) -> Self:
        """Statistics in which every row counts less, for classes that drift."""
        return self._there(self.host.decayed(factor))

    def scaled(self, factor: float) -> Self:
        """Statistics of rows whose weights are multiplied by a factor."""
        return self._there(self.host.scaled(factor))

    def covariances(self, shrinkage: Amount = None) -> Any:
        """Class covariances with divisor W_k - 1, shrunk if need be."""
        return self.device.put(self.host.covariances(shrinkage))

    def save(self, path: PathOrFile, *, min_count: float = 0) -> None:
        """Write the statistics to a NumPy ``.npz`` file, whole or not at all."""
        self.host.save(path, min_count=min_count)

    def __reduce__(self) -> tuple[Any, ...]:
        # A device cannot be pickled, an array of it can.
        return _restored, (self.host, self.device.put(np.zeros(0)))


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
