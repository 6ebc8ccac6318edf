"""Parts of a document from a file, checked as they are taken."""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Iterator
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Shape = tuple[int, ...]
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
        self._value = value
        self.where = where

    def __getitem__(self, key: str) -> Any:
        return self._value[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._value)

    def name(self, key: str) -> str:
        """The place of a field."""
        return f"{self.where}.{key}"

    def fields(self, key: str, keys: Collection[str]) -> Fields:
        """An object."""
        return Fields(self[key], self.name(key), keys)

    def text(self, key: str, options: Collection[str] | None = None) -> str:
        """Text, perhaps one of some options."""
        return check_text(self[key], self.name(key), options)

    def boolean(self, key: str) -> bool:
        """True or false."""
        value = self[key]
        if not isinstance(value, bool):
            raise ValueError(
                f"{self.name(key)} must be true or false, got {shown(value)}"
            )
        return value

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
        return value

    def floats(
        self,
        key: str,
        shape: Shape,
        low: float = -inf,
        high: float = inf,
        *,
        nan: bool = False,
    ) -> Array:
        """An array of finite numbers; see `check_floats`."""
        return check_floats(self[key], self.name(key), shape, low, high, nan=nan)

    def integers(self, key: str, shape: Shape, low: int) -> NDArray[np.intp]:
        """An array of integers from a limit on."""
        _check_rows(self[key], self.name(key), shape, {int})
        numbers = self.floats(key, shape, low, 2.0**53)
        return numbers.astype(np.intp)

    def numbers(self, key: str, shape: Shape, low: float = -inf) -> NDArray[Any]:
        """An array of integers if all are, and else of floats."""
        numbers = self.floats(key, shape, low)
        given = np.array(self[key])
        return given if given.dtype == np.int64 else numbers


def check_floats(
    value: Any,
    where: str,
    shape: Shape,
    low: float = -inf,
    high: float = inf,
    *,
    nan: bool = False,
) -> Array:
    """Return an array of finite numbers, or say what is wrong.

    Parameters
    ----------
    value : object
        What the document has there.
    where : str
        Its place, for messages.
    shape : tuple of int
        The shape that it must have. Nothing is allocated before it has.
    low, high : float
        Limits of the numbers.
    nan : bool, default=False
        Whether null may stand for NaN.

    Returns
    -------
    ndarray
        The numbers.
    """
    _check_rows(value, where, shape, {int, float, type(None)} if nan else {int, float})
    array = np.array(value, dtype=np.float64).reshape(shape)
    outside = np.isinf(array) | (array < low) | (array > high)
    if outside.any():
        raise ValueError(
            f"{where} must have finite numbers from {low:g} to {high:g}, got "
            f"{array[outside][0]:g}"
        )
    return array


def _check_rows(value: Any, where: str, shape: Shape, allowed: set[type]) -> None:
    """Refuse what is no nested list of a shape and of some types."""
    rows = check_list(value, where, shape[0])
    if len(shape) > 1:
        for row in rows:
            _check_rows(row, where, shape[1:], allowed)
        return
    wrong = set(map(type, rows)) - allowed
    if wrong:
        item = next(item for item in rows if type(item) in wrong)
        raise ValueError(f"{where} must have numbers only, got {shown(item)}")


def check_list(value: Any, where: str, length: int | None = None) -> list[Any]:
    """Return a list, or say what is wrong.

    Parameters
    ----------
    value : object
        What the document has there.
    where : str
        Its place, for messages.
    length : int or None, default=None
        The length that it must have.

    Returns
    -------
    list
        The list.
    """
    if not isinstance(value, list):
        raise ValueError(f"{where} must be a list, got {shown(value)}")
    if length is not None and len(value) != length:
        raise ValueError(f"{where} must have {length} entries, got {len(value)}")
    return value


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
        what = "text" if options is None else f"one of {list(options)}"
        raise ValueError(f"{where} must be {what}, got {shown(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{where} is no valid Unicode: {shown(value)}") from None
    return value


def shown(value: Any) -> str:
    """A value for a message, cut short."""
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()
_SHORT.maxlevel = 2
_SHORT.maxstring = 60
