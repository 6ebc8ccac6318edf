"""Parts of a document from a file, checked as they are taken."""

from __future__ import annotations

import reprlib
from collections.abc import Collection
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_INT64 = np.iinfo(np.int64)


class Fields:
    """An object of the document, with the keys that it must have and no others.

    Parameters
    ----------
    value : object
        What the document has there.
    where : str
        Its place, for messages.
    keys : collection of str
        The keys.
    """

    def __init__(self, value: Any, where: str, keys: Collection[str]) -> None:
        if not isinstance(value, dict):
            raise ValueError(f"{where} must be an object, got {shown(value)}")
        missing = [key for key in keys if key not in value]
        if missing:
            raise ValueError(f"{where} lacks {', '.join(missing)}")
        if len(value) > len(keys):
            unknown = next(key for key in value if key not in keys)
            raise ValueError(f"{where} has the unknown key {shown(unknown)}")
        self.value = value
        self.where = where

    def __getitem__(self, key: str) -> Any:
        return self.value[key]

    def name(self, key: str) -> str:
        """The place of a field."""
        return f"{self.where}.{key}"

    def fields(self, key: str, keys: Collection[str]) -> Fields:
        """An object."""
        return Fields(self[key], self.name(key), keys)

    def text(self, key: str, options: Collection[str] | None = None) -> str:
        """Text, perhaps one of some options."""
        return check_text(self[key], self.name(key), options)

    def number(self, key: str, low: float = -inf, high: float = inf) -> float:
        """A finite number between two limits."""
        value = self[key]
        if type(value) not in (int, float) or not isfinite(value):
            raise ValueError(f"{self.name(key)} must be a number, got {shown(value)}")
        if not low <= value <= high:
            raise ValueError(
                f"{self.name(key)} must be from {low:g} to {high:g}, got {value:g}"
            )
        return float(value)

    def integer(self, key: str, low: int) -> int:
        """An integer from a limit on."""
        value = self[key]
        if type(value) is not int or not low <= value <= _INT64.max:
            raise ValueError(
                f"{self.name(key)} must be an integer from {low} on, got {shown(value)}"
            )
        return int(value)

    def floats(
        self,
        key: str,
        shape: tuple[int, ...],
        low: float = -inf,
        high: float = inf,
        *,
        nan: bool = False,
    ) -> Array:
        """An array of finite numbers; null, where it may stand, is NaN."""
        allowed = {int, float, type(None)} if nan else {int, float}
        return self._array(key, shape, allowed, np.dtype(np.float64), low, high)

    def integers(self, key: str, shape: tuple[int, ...], low: int) -> NDArray[np.intp]:
        """An array of integers."""
        return self._array(key, shape, {int}, np.dtype(np.intp), low, _INT64.max)

    def numbers(
        self, key: str, shape: tuple[int, ...], low: float = -inf
    ) -> NDArray[Any]:
        """An array of integers if all are, and else of floats."""
        array = self.floats(key, shape, low)
        whole = np.array(self[key])
        return whole if whole.dtype == np.int64 else array

    def _array(
        self,
        key: str,
        shape: tuple[int, ...],
        allowed: set[type],
        dtype: np.dtype[Any],
        low: float,
        high: float,
    ) -> NDArray[Any]:
        where = self.name(key)
        _check_rows(self[key], shape, allowed, where)
        try:
            array = np.array(self[key], dtype=dtype).reshape(shape)
        except OverflowError:
            raise ValueError(f"{where} has a number that is too large") from None
        with np.errstate(invalid="ignore"):
            outside = (array < low) | (array > high) | np.isinf(array)
        if outside.any():
            raise ValueError(
                f"{where} must have numbers from {low:g} to {high:g}, got "
                f"{array[outside][0]:g}"
            )
        return array


def _check_rows(
    value: Any, shape: tuple[int, ...], allowed: set[type], where: str
) -> None:
    """Refuse what is no nested list of a shape and of some types."""
    if not isinstance(value, list) or len(value) != shape[0]:
        got = f"{len(value)}" if isinstance(value, list) else shown(value)
        raise ValueError(f"{where} must be a list of {shape[0]} entries, got {got}")
    if len(shape) > 1:
        for row in value:
            _check_rows(row, shape[1:], allowed, f"a row of {where}")
        return
    wrong = set(map(type, value)) - allowed
    if wrong:
        item = next(item for item in value if type(item) in wrong)
        raise ValueError(f"{where} must have numbers only, got {shown(item)}")


def check_text(value: Any, where: str, options: Collection[str] | None = None) -> str:
    """Return text, or say what is wrong.

    Parameters
    ----------
    value : object
        What the document has there.
    where : str
        Its place, for messages.
    options : collection of str or None, default=None
        What it may be.

    Returns
    -------
    str
        The text.
    """
    if not isinstance(value, str) or (options is not None and value not in options):
        what = f"one of {list(options)}" if options is not None else "text"
        raise ValueError(f"{where} must be {what}, got {shown(value)}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{where} is no valid Unicode: {shown(value)}") from None
    return value


def check_list(value: Any, where: str) -> list[Any]:
    """Return a list, or say what is wrong."""
    if not isinstance(value, list):
        raise ValueError(f"{where} must be a list, got {shown(value)}")
    return value


def shown(value: Any) -> str:
    """A value for a message, cut short."""
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()
_SHORT.maxlevel = 2
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60
