"""Array types, and arrays of libraries other than NumPy with their devices.

Only this file knows how these libraries differ. Functions of rows use the array API
standard: `xp_of` returns the namespace to compute with. Small results are copied to the
host, as NumPy arrays.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn import get_config

Array = NDArray[np.float64]
Count = NDArray[np.int64]  # errors, and weights in units
Index = NDArray[np.intp]  # indices and small integers
Mask = NDArray[np.bool_]
# Accepted values of `priors`, and of `shrinkage` where only moments are available.
Priors = ArrayLike | dict[Any, float] | str | None
Amount = float | str | tuple[float, float] | None

# Packages whose arrays may be on a device out of NumPy's reach.
_DEVICE_PACKAGES = ("torch", "cupy", "jax", "jaxlib", "dpnp")
# Packages whose objects are always in host memory.
_HOST_PACKAGES = {
    *("numpy", "builtins", "pandas", "polars", "scipy", "dask"),
    *("sklearn", "heterolda"),
}


class Device(NamedTuple):
    """Array API namespace of a library, and one of its devices."""

    xp: Any
    device: Any

    @property
    def library(self) -> str:
        """Return the name of the library: "torch", "cupy", "array_api_strict"."""
        return str(self.xp.__name__).rpartition(".")[2]

    @property
    def is_gpu(self) -> bool:
        """Return whether the arrays are in the memory of a GPU."""
        return self.library == "cupy" or str(self.device).startswith("cuda")

    @property
    def has_float64(self) -> bool:
        """Return whether the device has double precision; Apple's GPUs do not."""
        return not str(self.device).startswith("mps")

    def put(self, array: Any) -> Any:
        """Copy a NumPy array to this device; text and objects stay on the host."""
        values = np.array(array, order="C")
        if values.dtype.kind not in "biuf":
            return values
        if values.dtype == np.float64 and not self.has_float64:
            values = values.astype(np.float32)
        return self.xp.asarray(values, device=self.device)


def xp_of(array: Any) -> Any:
    """Return the array API namespace of an array."""
    if isinstance(array, np.ndarray):
        return np
    return _array_api_compat().array_namespace(array)


def put_like(values: Any, array: Any) -> Any:
    """Copy NumPy values to the device of an array; return them as is for NumPy."""
    if isinstance(array, np.ndarray):
        return values
    device: Any = device_of(array, always=True)
    return device.put(values)


def clip(array: Any, low: Any, high: Any) -> Any:
    """Clip an array; CuPy's own function takes one pass, array_api_compat's ten."""
    if type(array).__module__.partition(".")[0] == "cupy":
        return import_module("cupy").clip(array, low, high)
    return xp_of(array).clip(array, low, high)


def blocks(n: int, step: int) -> list[slice]:
    """Return consecutive slices that cover n rows, at most `step` rows each."""
    return [slice(i, min(i + step, n)) for i in range(0, n, step)]


def rows_at(X: NDArray[Any], index: Index) -> NDArray[Any]:
    """Copy the rows of these indices, and nothing else.

    `take` is up to six times as fast as indexing, but copies all of X before if it is
    not contiguous in memory.
    """
    if X.flags.aligned and X.flags.c_contiguous:
        return X.take(index, axis=0, mode="clip")
    if X.flags.aligned and X.flags.f_contiguous:
        return X.T.take(index, axis=1, mode="clip").T
    return X[index]


def dense(rows: Any) -> NDArray[Any]:
    """Return rows, sparse or not, as a dense array."""
    array: NDArray[Any] = rows.toarray() if issparse(rows) else rows
    return array


def import_pandas(method: str) -> Any:
    """Import pandas, or raise an error that names the method that needs it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"{method} needs pandas: pip install pandas") from error
    return pandas


def is_numpy(array: Any) -> bool:
    """Return whether this is a NumPy array."""
    return isinstance(array, np.ndarray)


def device_of(X: Any, *, always: bool = False) -> Device | None:
    """Return the device of an array, or None if NumPy handles it.

    As in scikit-learn, arrays of other libraries stay on their device only under
    `array_api_dispatch=True`, or if `always`. Otherwise NumPy converts them, and
    arrays that it cannot read are rejected.
    """
    if type(X) is np.ndarray:
        return None
    package = type(X).__module__.partition(".")[0]
    if not always and not get_config()["array_api_dispatch"]:
        if package in _DEVICE_PACKAGES:
            _check_readable(X)
        return None
    if package in _HOST_PACKAGES:
        return None
    compat = _array_api_compat()
    if compat is None or not compat.is_array_api_obj(X) or compat.is_numpy_array(X):
        return None
    if package == "torch":
        _check_tensor(X)
    return Device(compat.array_namespace(X), compat.device(X))


@cache
def _array_api_compat() -> Any:
    """Return array_api_compat or None; scikit-learn includes it from version 1.7 on."""
    for name in ("sklearn.externals.array_api_compat", "array_api_compat"):
        with suppress(ImportError):
            return import_module(name)
    return None


def _check_readable(X: Any) -> None:
    """Reject arrays that NumPy cannot read."""
    device = str(getattr(X, "device", "cpu")).lower()
    if "cpu" in device:
        return
    raise TypeError(
        f"X is a {type(X).__name__} on {device}, which NumPy cannot read: call "
        "sklearn.set_config(array_api_dispatch=True) to compute there, or pass "
        f"numpy.asarray({_host_copy(type(X).__module__.partition('.')[0])})"
    )


def _check_tensor(X: Any) -> None:
    """Reject tensors that the array API standard does not cover."""
    if str(X.layout) != "torch.strided":
        raise TypeError("sparse tensors are not supported: pass X.to_dense()")
    if str(X.dtype) == "torch.bfloat16":
        raise TypeError("bfloat16 tensors are not supported: pass X.float()")


def on_host(*arrays: Any) -> list[Any]:
    """Copy arrays on a device to NumPy; return all other arguments unchanged."""
    return [a if device_of(a) is None else to_host(a) for a in arrays]


def same_device(X: Any, other: Any, estimator: Any, method: str) -> Device | None:
    """Return the device of X, which must be that of the fitted attribute `other`."""
    if type(X) is np.ndarray and type(other) is np.ndarray:
        return None
    device = device_of(X)
    fitted = None if is_numpy(other) else device_of(other, always=True)
    if device == fitted:
        return device
    raise ValueError(
        f"Inputs passed to {type(estimator).__name__}.{method}() must use the same "
        "namespace and the same device as those passed to fit(): these are "
        f"{_described(fitted)}, X is {_described(device)}. Call {method} with arrays "
        "as in fit, under sklearn.config_context(array_api_dispatch=True) if they are "
        "not NumPy's, or fit again with numpy.asarray(X)"
    )


def reject_device(X: Any, what: str) -> None:
    """Reject rows on a device; `what` names the operation that needs NumPy."""
    device = device_of(X)
    if device is not None:
        raise TypeError(
            f"{what} needs NumPy arrays, but X is {_described(device)}: pass "
            f"numpy.asarray({_host_copy(device.library)})"
        )


def _host_copy(library: str) -> str:
    """Return the expression that copies X of this library to the host."""
    return {"torch": "X.cpu()", "cupy": "X.get()"}.get(library, "X")


def _described(device: Device | None) -> str:
    """Describe a device for error messages."""
    return "NumPy's" if device is None else f"{device.library}'s on {device.device}"


def to_host(array: Any) -> NDArray[Any]:
    """Return an array of any library as a NumPy array."""
    if isinstance(array, np.ndarray):
        return array
    package = type(array).__module__.partition(".")[0]
    if package == "torch":
        return np.asarray(array.detach().cpu().numpy())
    if package == "cupy":
        return np.asarray(array.get())
    try:
        return np.asarray(array)
    except (TypeError, RuntimeError, ValueError):  # array-api-strict
        compat = _array_api_compat()
        cpu = getattr(compat.array_namespace(array), "Device", None)
        host = "cpu" if cpu is None else cpu("CPU_DEVICE")
        return np.asarray(compat.to_device(array, host))
