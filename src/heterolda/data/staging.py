"""Batches on their way to a device: copied in a thread, while others are summed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.data.batches import Batch
from heterolda.exceptions import ParameterError, Setting
from heterolda.foundations.devices import Device, device_of
from heterolda.statistics.factors import is_wide


def chosen_device(device: Any) -> Device | None:
    """The device of an array, or that of a name that PyTorch knows; None: the host."""
    if device is None or isinstance(device, Device):
        return device
    there = None
    if isinstance(device, str) or type(device).__module__ == "torch":
        device = device if hasattr(device, "dtype") else _tensor_on(device)
    if hasattr(device, "dtype"):
        there = device_of(device, always=True)
    if there is None:
        raise ParameterError(
            Setting("device"),
            " must be None, a PyTorch device such as 'cuda', or an array on the "
            f"device, such as cupy.zeros(1), got {device!r:.50}",
        )
    return there


def _tensor_on(name: Any) -> Any:
    """A tensor on a device of PyTorch."""
    try:
        import torch
    except ImportError as error:
        raise ParameterError(
            Setting("device"),
            f" {name!r} needs PyTorch, which is not installed: pip install torch, or "
            "pass an array on the device",
        ) from error
    try:
        return torch.zeros(1, device=name)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise ParameterError(
            Setting("device"), f" {str(name)!r} cannot be used: {reason}"
        ) from error


def staged(batches: Iterable[Batch], device: Device) -> Iterator[Batch]:
    """Batches with a copy on a device of their rows that have no gaps.

    Rows that are fewer than the features are not summed: they stay on the host.
    """
    copy: Callable[[NDArray[Any]], Any] = device.put
    if device.is_torch and device.is_gpu:
        copy = PinnedCopy(device)
    for batch in batches:
        X = batch.X if batch.whole is None else batch.X[batch.whole]
        yield batch if is_wide(*X.shape) else batch._replace(there=copy(X))


class PinnedCopy:
    """Copies to a GPU by PyTorch, through memory that is pinned once.

    A copy from other memory goes at a twentieth of the speed of the bus, and pinning
    takes longer than that. Copies have a stream of their own, on which no sums wait.
    """

    def __init__(self, device: Device) -> None:
        import torch

        self._torch: Any = torch
        self._device = device.device
        self._stream = self._torch.cuda.Stream(device.device)
        self._room = torch.empty(0)

    def __call__(self, X: NDArray[Any]) -> Any:
        """Rows on the device, one after the other, ready to be used."""
        by_columns = X.flags.f_contiguous and not X.flags.c_contiguous
        source = X.T if by_columns else X
        kind = getattr(self._torch, source.dtype.name)
        if self._room.dtype != kind or self._room.numel() < source.size:
            self._room = self._torch.empty(source.size, dtype=kind, pin_memory=True)
        room = self._room[: source.size].reshape(source.shape)
        np.copyto(room.numpy(), source)
        with self._torch.cuda.stream(self._stream):
            there = room.to(self._device, non_blocking=True)
            if by_columns:  # turned where that takes no time
                there = there.T.contiguous()
        self._stream.synchronize()  # only this thread waits; then the room is free
        return there
