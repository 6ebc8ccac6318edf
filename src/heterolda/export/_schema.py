"""Kinds of values in a model file; each says how it is written, read and checked.

A model is described once, as a `record` of such kinds (see `_model_schema`), and the
description is walked in both directions. What is read may come from a stranger: a
ValueError names the place and says what is wrong with it.
"""

from __future__ import annotations

import reprlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A length may be the name of a size, or None if it is free.
Length = int | str | None


@dataclass(frozen=True)
class Place:
    """A place in a file, with the sizes that have been read before it.

    Sizes are the numbers of "classes", "features" and "rules" or "components" of the
    model.
    """

    name: str
    sizes: dict[str, int] = field(default_factory=dict)

    def __truediv__(self, key: str) -> Place:
        return Place(f"{self.name}.{key}", self.sizes)

    def error(self, must: str, value: Any) -> ValueError:
        """The error that says what must be here, and what is."""
        return ValueError(f"{self.name} must {must}, got {shown(value)}")


@dataclass(frozen=True)
class Kind:
    """How a kind of value is read from JSON, with checks, and how it is written."""

    read: Callable[[Any, Place], Any]
    write: Callable[[Any], Any] = lambda value: value


def text(options: Collection[str] | None = None) -> Kind:
    """Text, perhaps one of some options."""
    must = "be text" if options is None else f"be one of {list(options)}"

    def read(value: Any, at: Place) -> str:
        if not isinstance(value, str) or (options is not None and value not in options):
            raise at.error(must, value)
        try:
            value.encode()
        except UnicodeEncodeError:
            raise at.error("be valid Unicode", value) from None
        return value

    return Kind(read, str)


def choice(values: Mapping[str, Any]) -> Kind:
    """One of several values, each written as a text."""
    names, name = {value: name for name, value in values.items()}, text(values)
    return Kind(lambda value, at: values[name.read(value, at)], names.__getitem__)


def boolean() -> Kind:
    """True or false."""

    def read(value: Any, at: Place) -> bool:
        if not isinstance(value, bool):
            raise at.error("be true or false", value)
        return value

    return Kind(read)


def booleans(length: Length) -> Kind:
    """An array of true and false."""
    kind = list_of(boolean(), length)
    return Kind(lambda value, at: np.array(kind.read(value, at)), np.ndarray.tolist)


def count(size: str) -> Kind:
    """An integer from 1 on that is one of the sizes."""

    def read(value: Any, at: Place) -> int:
        if type(value) is not int or not 1 <= value < 2**63:
            raise at.error("be an integer from 1 on", value)
        at.sizes[size] = value
        return value

    return Kind(read, int)


def number(low: float = -inf, high: float = inf) -> Kind:
    """A finite number from `low` to `high`."""

    def read(value: Any, at: Place) -> float:
        if type(value) not in (int, float) or not isfinite(value):
            raise at.error("be a number", value)
        if not low <= value <= high:
            raise at.error(f"be from {low:g} to {high:g}", value)
        return float(value)

    return Kind(read, float)


def floats(*shape: Length, low: float = -inf, high: float = inf) -> Kind:
    """An array of finite numbers from `low` to `high`."""

    def read(value: Any, at: Place) -> NDArray[Any]:
        _check_lists(value, at, shape, {int, float})  # before anything is allocated
        array = np.array(value, dtype=np.float64)
        outside = np.isinf(array) | (array < low) | (array > high)
        if outside.any():
            must = f"have finite numbers from {low:g} to {high:g}"
            raise at.error(must, float(array[outside][0]))
        return array

    return Kind(read, np.ndarray.tolist)


def packed(columns: str) -> Kind:
    """Rows of finite numbers as base64 of float64, lowest byte first.

    For many numbers that nobody reads: digits take twice the room, and tens of times as
    long.
    """

    def read(value: Any, at: Place) -> NDArray[Any]:
        given, n = text().read(value, at), at.sizes[columns]
        try:
            data = b64decode(given, validate=True)
            rows = np.frombuffer(data, "<f8").reshape(-1, n).astype(np.float64)
        except ValueError:
            raise at.error(f"be rows of {n} numbers in base64", value) from None
        if not np.isfinite(rows).all():
            raise at.error("have finite numbers", float(rows[~np.isfinite(rows)][0]))
        return rows

    return Kind(read, lambda rows: b64encode(rows.astype("<f8").tobytes()).decode())


def integers(*shape: Length, low: float) -> Kind:
    """An array of integers."""
    kind = floats(*shape, low=low, high=2.0**53)

    def read(value: Any, at: Place) -> NDArray[np.intp]:
        _check_lists(value, at, shape, {int})
        integers: NDArray[np.intp] = kind.read(value, at).astype(np.intp)
        return integers

    return Kind(read, kind.write)


def numbers(*shape: Length, low: float = -inf) -> Kind:
    """An array of integers if all are, and else of floats."""
    kind = floats(*shape, low=low)

    def read(value: Any, at: Place) -> NDArray[Any]:
        array, given = kind.read(value, at), np.array(value)
        return given if given.dtype == np.int64 else array

    return Kind(read, kind.write)


def list_of(kind: Kind, length: Length = None) -> Kind:
    """A list of values of one kind."""
    return Kind(
        lambda value, at: [kind.read(x, at) for x in check_list(value, at, length)],
        lambda value: [kind.write(x) for x in value],
    )


def distinct_texts(most: int, longest: int) -> Kind:
    """A tuple of texts, each of them once, that are not too many nor too long."""
    kind = list_of(text())

    def read(value: Any, at: Place) -> tuple[str, ...]:
        if len(check_list(value, at)) > most:
            raise at.error(f"have at most {most} entries", len(value))
        texts = kind.read(value, at)
        if len(set(texts)) < len(texts) or max(map(len, texts), default=0) > longest:
            raise at.error(f"be distinct texts of at most {longest} characters", texts)
        return tuple(texts)

    return Kind(read, kind.write)


def special(kind: Kind, value: Any, written: Any) -> Kind:
    """Another kind, or one value that is written in its own way."""

    def write(one: Any) -> Any:
        # Only numbers are compared; of these, NaN does not equal itself.
        equal = isinstance(one, Real) and (
            one == value or (one != one and value != value)
        )
        return written if equal or one is value else kind.write(one)

    return Kind(lambda v, at: value if v == written else kind.read(v, at), write)


def optional(kind: Kind) -> Kind:
    """Another kind, or None."""
    return special(kind, None, None)


def record(
    fields: Mapping[str, Kind], make: Any = dict, first: Collection[str] = ()
) -> Kind:
    """An object with the keys of `fields`, written in their order, and no others.

    What is written is a dictionary or has such attributes; `make` takes what is read.
    Fields of `first` are read first, since others need their sizes.
    """

    def read(value: Any, at: Place) -> Any:
        check_object(value, at, fields)
        keys = dict.fromkeys([*first, *fields])
        return make(**{key: fields[key].read(value[key], at / key) for key in keys})

    def write(value: Any) -> Any:
        values = value if isinstance(value, dict) else vars(value)
        return {key: kind.write(values[key]) for key, kind in fields.items()}

    return Kind(read, write)


def check_object(value: Any, at: Place, keys: Collection[str]) -> None:
    """Reject what is not an object with these keys and no others."""
    if not isinstance(value, dict):
        raise at.error("be an object", value)
    missing = [key for key in keys if key not in value]
    if missing:
        raise ValueError(f"{at.name} lacks {', '.join(missing)}")
    if len(value) > len(keys):
        unknown = next(key for key in value if key not in keys)
        raise ValueError(f"{at.name} has the unknown key {shown(unknown)}")


def check_list(value: Any, at: Place, length: Length = None) -> list[Any]:
    """Return a list of the right length, or say what is wrong."""
    if not isinstance(value, list):
        raise at.error("be a list", value)
    expected = at.sizes[length] if isinstance(length, str) else length
    if expected is not None and len(value) != expected:
        raise at.error(f"have {expected} entries", len(value))
    return value


def _check_lists(
    value: Any, at: Place, shape: tuple[Length, ...], types: set[type]
) -> None:
    """Reject what is not a nested list of a shape and of some types."""
    items = check_list(value, at, shape[0])
    if len(shape) > 1:
        for item in items:
            _check_lists(item, at, shape[1:], types)
        return
    wrong = set(map(type, items)) - types
    if wrong:
        item = next(item for item in items if type(item) in wrong)
        raise at.error("have numbers only", item)


def shown(value: Any) -> str:
    """A value for a message, cut short."""
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()
_SHORT.maxlevel = 2
_SHORT.maxstring = 60
