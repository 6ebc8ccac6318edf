"""Arrays: their types, and those of other libraries than NumPy with their devices.

The one file that knows how these libraries differ. Functions of rows are written for
the array API standard: `xp_of` returns the library to compute with. Whatever is small
comes to the host, in NumPy.
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
# What users may give: of priors, and of shrinkage where there are only moments.
Priors = ArrayLike | dict[Any, float] | str | None
Amount = float | str | tuple[float, float] | None

# Packages of arrays that NumPy may be unable to read.
_ELSEWHERE = ("torch", "cupy", "jax", "jaxlib", "dpnp")
# Packages of objects that are on no device.
_NO_DEVICE = {
    *("numpy", "builtins", "pandas", "polars", "scipy", "dask"),
    *("sklearn", "heterolda"),
}


class Device(NamedTuple):
    """A library of arrays, and where its arrays are.

    Attributes
    ----------
    xp : module
        The functions of the array API standard.
    device : object
        What the library calls the device.
    """

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
        """Return whether there is double precision; Apple's GPUs have none."""
        return not str(self.device).startswith("mps")

    def put(self, array: Any) -> Any:
        """Return a copy of an array of NumPy here; text and objects stay there."""
        values = np.array(array, order="C")
        if values.dtype.kind not in "biuf":
            return values
        if values.dtype == np.float64 and not self.has_float64:
            values = values.astype(np.float32)
        return self.xp.asarray(values, device=self.device)


def xp_of(array: Any) -> Any:
    """Return the functions of the array API for an array: NumPy's, or another's."""
    if isinstance(array, np.ndarray):
        return np
    return _array_api_compat().array_namespace(array)


def put_like(values: Any, array: Any) -> Any:
    """Return values of NumPy where an array is; as they are if that is NumPy's."""
    if isinstance(array, np.ndarray):
        return values
    device: Any = device_of(array, always=True)
    return device.put(values)


def clip(array: Any, low: Any, high: Any) -> Any:
    """Return numbers within limits; CuPy by its own function, in one pass, not ten."""
    if type(array).__module__.partition(".")[0] == "cupy":
        return import_module("cupy").clip(array, low, high)
    return xp_of(array).clip(array, low, high)


def blocks(n: int, step: int) -> list[slice]:
    """Return slices of n rows, `step` rows each."""
    return [slice(i, min(i + step, n)) for i in range(0, n, step)]


def dense(rows: Any) -> NDArray[Any]:
    """Return rows, which may be sparse, as an array."""
    array: NDArray[Any] = rows.toarray() if issparse(rows) else rows
    return array


def import_pandas(method: str) -> Any:
    """Return the module pandas, or say which method needs it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"{method} needs pandas: pip install pandas") from error
    return pandas


def is_numpy(array: Any) -> bool:
    """Return whether an array is NumPy's."""
    return isinstance(array, np.ndarray)


def device_of(X: Any, *, always: bool = False) -> Device | None:
    """Return where an array is; None for NumPy's and all that NumPy takes.

    As in scikit-learn, arrays of other libraries are treated as such only where the
    configuration has `array_api_dispatch=True`, or if `always`. Otherwise NumPy takes
    them if it can, and what it cannot read is refused.
    """
    if type(X) is np.ndarray:
        return None
    package = type(X).__module__.partition(".")[0]
    if not always and not get_config()["array_api_dispatch"]:
        if package in _ELSEWHERE:
            _check_readable(X)
        return None
    if package in _NO_DEVICE:
        return None
    compat = _array_api_compat()
    if compat is None or not compat.is_array_api_obj(X) or compat.is_numpy_array(X):
        return None
    if package == "torch":
        _check_tensor(X)
    return Device(compat.array_namespace(X), compat.device(X))


@cache
def _array_api_compat() -> Any:
    """Return the module array_api_compat, or None if it is absent.

    Before version 1.7, scikit-learn does not bring it along.
    """
    for name in ("sklearn.externals.array_api_compat", "array_api_compat"):
        with suppress(ImportError):
            return import_module(name)
    return None


def _check_readable(X: Any) -> None:
    """Refuse arrays that NumPy cannot read."""
    where = str(getattr(X, "device", "cpu")).lower()
    if "cpu" in where:
        return
    raise TypeError(
        f"X is a {type(X).__name__} on {where}, which NumPy cannot read: call "
        "sklearn.set_config(array_api_dispatch=True) to compute there, or pass "
        f"numpy.asarray({_copied(type(X).__module__.partition('.')[0])})"
    )


def _check_tensor(X: Any) -> None:
    """Refuse tensors that are not like arrays of any other library."""
    if str(X.layout) != "torch.strided":
        raise TypeError("sparse tensors are not supported: pass X.to_dense()")
    if str(X.dtype) == "torch.bfloat16":
        raise TypeError("bfloat16 tensors are not supported: pass X.float()")


def on_host(*arrays: Any) -> list[Any]:
    """Return arrays of a device in NumPy, and others as they are."""
    return [a if device_of(a) is None else to_host(a) for a in arrays]


def same_device(X: Any, other: Any, estimator: Any, method: str) -> Device | None:
    """Return where X is; refuse it if the fitted attribute `other` is elsewhere."""
    if type(X) is np.ndarray and type(other) is np.ndarray:
        return None
    device = device_of(X)
    fitted = None if is_numpy(other) else device_of(other, always=True)
    if device == fitted:
        return device
    if device is None and device_of(X, always=True) == fitted:
        raise ValueError(
            f"the model is {_named(fitted)}, and so is X, but scikit-learn's support "
            f"for such arrays is off: call {method} under "
            "sklearn.config_context(array_api_dispatch=True)"
        )
    raise ValueError(
        f"Inputs passed to {type(estimator).__name__}.{method}() must use the same "
        "namespace and the same device as those passed to fit(): these are "
        f"{_named(fitted)}, X is {_named(device)}. Call {method} with arrays as in "
        "fit, under sklearn.config_context(array_api_dispatch=True) if they are not "
        "NumPy's, or fit again with numpy.asarray(X)"
    )


def refuse_device(X: Any, what: str) -> None:
    """Refuse rows that are not NumPy's, for what works on the host only."""
    device = device_of(X)
    if device is not None:
        raise TypeError(
            f"{what} needs NumPy arrays, but X is {_named(device)}: pass "
            f"numpy.asarray({_copied(device.library)})"
        )


def _copied(library: str) -> str:
    """Return the expression by which a library copies X to the host."""
    return {"torch": "X.cpu()", "cupy": "X.get()"}.get(library, "X")


def _named(device: Device | None) -> str:
    """Return a device in words."""
    return "NumPy's" if device is None else f"{device.library}'s on {device.device}"


def to_host(array: Any) -> NDArray[Any]:
    """Return an array of any library as one of NumPy."""
    if isinstance(array, np.ndarray):
        return array
    package = type(array).__module__.partition(".")[0]
    if package == "torch":
        return np.asarray(array.detach().cpu().numpy())
    if package == "cupy":
        return np.asarray(array.get())
    try:
        return np.asarray(array)
    except (TypeError, RuntimeError, ValueError):  # array-api-strict on its devices
        compat = _array_api_compat()
        cpu = getattr(compat.array_namespace(array), "Device", None)
        where = "cpu" if cpu is None else cpu("CPU_DEVICE")
        return np.asarray(compat.to_device(array, where))
