"""PyTorch and CuPy by the same names: data, synchronisation, memory."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

_BLOCK = 1 << 20  # rows that are made at a time
FLOATS = ("float64", "float32")


class Torch:
    """PyTorch on a device."""

    name = "PyTorch"

    def __init__(self, where: str) -> None:
        import torch

        self.torch, self.where = torch, where
        self.is_gpu = where.startswith("cuda")
        torch.manual_seed(0)

    def normal(self, n: int, d: int, kind: str) -> Any:
        """Normal numbers."""
        dtype = getattr(self.torch, kind)
        return self.torch.randn(n, d, dtype=dtype, device=self.where)

    def labels(self, n: int, k: int) -> Any:
        """Labels 0 to k - 1."""
        return self.torch.randint(k, (n,), device=self.where)

    def put(self, array: Any) -> Any:
        """An array of NumPy on the device."""
        return self.torch.asarray(array, device=self.where)

    def host(self, array: Any) -> Any:
        """An array of the device in NumPy."""
        return array.cpu().numpy()

    def wait(self) -> None:
        """Until the device has done all that it was told."""
        if self.is_gpu:
            self.torch.cuda.synchronize()

    def free(self) -> None:
        """Give back memory that no array uses, and forget the most that was used."""
        if self.is_gpu:
            self.torch.cuda.empty_cache()
            self.torch.cuda.reset_peak_memory_stats()

    def peak(self) -> int | None:
        """Most bytes that arrays used since."""
        return self.torch.cuda.max_memory_allocated() if self.is_gpu else None

    def about(self) -> dict[str, str]:
        """The device and the versions that matter."""
        versions = {"torch": self.torch.__version__}
        if self.is_gpu:
            versions["CUDA"] = str(self.torch.version.cuda)
            versions["device"] = self.torch.cuda.get_device_name()
        return versions


class CuPy:
    """CuPy on its device."""

    name = "CuPy"
    is_gpu = True

    def __init__(self) -> None:
        import cupy

        self.cupy = cupy
        cupy.random.seed(0)

    def normal(self, n: int, d: int, kind: str) -> Any:
        """Normal numbers."""
        X = self.cupy.empty((n, d), kind)
        for start in range(0, n, _BLOCK):
            rows = min(_BLOCK, n - start)
            X[start : start + rows] = self.cupy.random.standard_normal((rows, d), kind)
        return X

    def labels(self, n: int, k: int) -> Any:
        """Labels 0 to k - 1."""
        return self.cupy.random.randint(0, k, n, dtype="int64")

    def put(self, array: Any) -> Any:
        """An array of NumPy on the device."""
        return self.cupy.asarray(array)

    def host(self, array: Any) -> Any:
        """An array of the device in NumPy."""
        return array.get()

    def wait(self) -> None:
        """Until the device has done all that it was told."""
        self.cupy.cuda.Device().synchronize()

    def free(self) -> None:
        """Give back memory that no array uses."""
        self.cupy.get_default_memory_pool().free_all_blocks()

    def peak(self) -> int | None:
        """Is not known here."""
        return None

    def about(self) -> dict[str, str]:
        """The version."""
        return {"cupy": self.cupy.__version__}


Library = Torch | CuPy


def first_library(smoke: bool) -> Library | None:
    """What to measure with: PyTorch if it is there, or else CuPy."""
    if find_spec("torch"):
        return Torch("cpu" if smoke else "cuda")
    return None if smoke or not find_spec("cupy") else CuPy()


def second_library(first: Library) -> Library | None:
    """CuPy beside PyTorch, if it is there and there is a GPU."""
    both = isinstance(first, Torch) and first.is_gpu and find_spec("cupy")
    return CuPy() if both else None


def gaussian_classes(lib: Library, n: int, d: int, k: int, kind: str) -> Any:
    """Rows of Gaussian classes of unequal covariance, and their labels."""
    rng = np.random.default_rng(0)
    centres = lib.put((rng.normal(size=(k, d)) / d**0.5).astype(kind))
    scales = lib.put((0.5 + rng.random((k, d))).astype(kind))
    X, y = lib.normal(n, d, kind), lib.labels(n, k)
    for start in range(0, n, _BLOCK):
        rows = slice(start, start + _BLOCK)
        X[rows] *= scales[y[rows]]
        X[rows] += centres[y[rows]]
    return X, y


Call = Callable[[], Any]
