"""Kinds of values in a model file; each says how it is written, read and checked.

A model is described once, as a `Record` of such kinds (see `_model_schema`), and the
description is walked in both directions. What is read may come from a stranger: a
ValueError names the place and says what is wrong with it.
"""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Mapping
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
    """A place in a file, with the sizes of the model that have been read before it.

    Sizes are the numbers of "classes", "features" and "rules".
    """

    name: str
    sizes: dict[str, int] = field(default_factory=dict)

    def __truediv__(self, key: str) -> Place:
        return Place(f"{self.name}.{key}", self.sizes)

    def error(self, must: str, value: Any) -> ValueError:
        """The error that says what must be here, and what is."""
        return ValueError(f"{self.name} must {must}, got {shown(value)}")


class Kind:
    """A kind of value: `write` makes JSON of it, `read` makes it of checked JSON."""

    def write(self, value: Any) -> Any:
        return value

    def read(self, value: Any, at: Place) -> Any:
        raise NotImplementedError


class Text(Kind):
    """Text, perhaps one of some options."""

    def __init__(self, options: Collection[str] | None = None) -> None:
        self.options = options

    def write(self, value: Any) -> Any:
        return str(value)

    def read(self, value: Any, at: Place) -> str:
        options = self.options
        if not isinstance(value, str) or (options is not None and value not in options):
            what = "text" if options is None else f"one of {list(options)}"
            raise at.error(f"be {what}", value)
        try:
            value.encode()
        except UnicodeEncodeError:
            raise at.error("be valid Unicode", value) from None
        return value


class Choice(Text):
    """One of several values, each written as a text."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.values = values

    def write(self, value: Any) -> Any:
        return next(text for text, one in self.values.items() if one == value)

    def read(self, value: Any, at: Place) -> Any:
        return self.values[super().read(value, at)]


class Boolean(Kind):
    """True or false."""

    def read(self, value: Any, at: Place) -> bool:
        if not isinstance(value, bool):
            raise at.error("be true or false", value)
        return value


class Count(Kind):
    """An integer from 1 on that is one of the sizes."""

    def __init__(self, size: str) -> None:
        self.size = size

    def write(self, value: Any) -> Any:
        return int(value)

    def read(self, value: Any, at: Place) -> int:
        if type(value) is not int or not 1 <= value < 2**63:
            raise at.error("be an integer from 1 on", value)
        at.sizes[self.size] = value
        return value


class Number(Kind):
    """A finite number from `low` to `high`; NaN, if it is allowed, is null."""

    def __init__(
        self, low: float = -inf, high: float = inf, *, nan: bool = False
    ) -> None:
        self.low, self.high, self.nan = low, high, nan

    def write(self, value: Any) -> Any:
        return None if self.nan and value != value else float(value)

    def read(self, value: Any, at: Place) -> float:
        if self.nan and value is None:
            return np.nan
        if type(value) not in (int, float) or not isfinite(value):
            raise at.error("be a number", value)
        if not self.low <= value <= self.high:
            raise at.error(f"be from {self.low:g} to {self.high:g}", value)
        return float(value)


class OrInfinity(Kind):
    """Another kind, or infinity, which is the text "Infinity"."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def write(self, value: Any) -> Any:
        infinite = isinstance(value, Real) and value == inf
        return "Infinity" if infinite else self.kind.write(value)

    def read(self, value: Any, at: Place) -> Any:
        return inf if value == "Infinity" else self.kind.read(value, at)


class Floats(Kind):
    """An array of finite numbers; NaN, if it is allowed, is null."""

    types = frozenset({int, float})

    def __init__(
        self, *shape: Length, low: float = -inf, high: float = inf, nan: bool = False
    ) -> None:
        self.shape, self.low, self.high, self.nan = shape, low, high, nan

    def write(self, value: NDArray[Any]) -> Any:
        numbers = value.tolist()
        return [None if x != x else x for x in numbers] if self.nan else numbers

    def read(self, value: Any, at: Place) -> NDArray[Any]:
        types = self.types | {type(None)} if self.nan else self.types
        _check_lists(value, at, self.shape, types)  # before anything is allocated
        array = np.array(value, dtype=np.float64)
        outside = np.isinf(array) | (array < self.low) | (array > self.high)
        if outside.any():
            limits = f"from {self.low:g} to {self.high:g}"
            raise at.error(f"have finite numbers {limits}", float(array[outside][0]))
        return array


class Integers(Floats):
    """An array of integers."""

    types = frozenset({int})

    def __init__(self, *shape: Length, low: float) -> None:
        super().__init__(*shape, low=low, high=2.0**53)

    def read(self, value: Any, at: Place) -> NDArray[np.intp]:
        return super().read(value, at).astype(np.intp)


class Numbers(Floats):
    """An array of integers if all are, and else of floats."""

    def read(self, value: Any, at: Place) -> NDArray[Any]:
        floats = super().read(value, at)
        given = np.array(value)
        return given if given.dtype == np.int64 else floats


class List(Kind):
    """A list of values of one kind."""

    def __init__(self, kind: Kind, length: Length = None) -> None:
        self.kind, self.length = kind, length

    def write(self, value: Any) -> Any:
        return [self.kind.write(item) for item in value]

    def read(self, value: Any, at: Place) -> list[Any]:
        return [self.kind.read(item, at) for item in check_list(value, at, self.length)]


class Optional(Kind):
    """Another kind, or None."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def write(self, value: Any) -> Any:
        return None if value is None else self.kind.write(value)

    def read(self, value: Any, at: Place) -> Any:
        return None if value is None else self.kind.read(value, at)


class Record(Kind):
    """An object with these keys, in this order when it is written, and no others.

    What is written may be a dictionary or an object with such attributes; what is read
    is a dictionary. Keys of `first` are read first, since others need their sizes.
    """

    first: tuple[str, ...] = ()

    def __init__(self, **fields: Kind) -> None:
        self.fields = fields

    def write(self, value: Any) -> Any:
        values = value if isinstance(value, dict) else vars(value)
        return {key: kind.write(values[key]) for key, kind in self.fields.items()}

    def read(self, value: Any, at: Place) -> dict[str, Any]:
        check_object(value, at, self.fields)
        order = dict.fromkeys([*self.first, *self.fields])
        return {key: self.fields[key].read(value[key], at / key) for key in order}


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
    value: Any, at: Place, shape: tuple[Length, ...], types: frozenset[type]
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
