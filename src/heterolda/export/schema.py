"""Readers of the values in a model file, with checks, and the way back to JSON.

A reader takes a JSON value and its place, and returns what the model holds. Files may
come from strangers: a ValueError names the place and says what is wrong with it.
"""

from __future__ import annotations

import io
import re
import reprlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields, is_dataclass
from math import inf, isfinite, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.statistics.class_statistics import ClassStatistics

# A length may have a name, for which the first list of that name decides, or be free.
Length = int | str | None

_LABEL_TYPES = (
    *("str", "object", "bool", "float16", "float32", "float64"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)
# In an array of text each entry takes as much memory as the longest.
_MOST_CHARACTERS = 1 << 24
_SURROGATE = re.compile("[\ud800-\udfff]")  # text that cannot be printed or written
_SHORT = reprlib.Repr()
_SHORT.maxlevel = 2
_SHORT.maxstring = 60


@dataclass(frozen=True)
class Place:
    """A place in a file, and the lengths that earlier lists have given names."""

    name: str
    sizes: dict[str, int] = field(default_factory=dict)

    def __truediv__(self, key: str) -> Place:
        return Place(f"{self.name}.{key}", self.sizes)

    def error(self, must: str, value: Any) -> ValueError:
        """Return the error that says what must be in this place, and what is."""
        return ValueError(f"{self.name} must {must}, got {_SHORT.repr(value)}")


Reader = Callable[[Any, Place], Any]


def text(value: Any, at: Place) -> str:
    """Read text."""
    if not isinstance(value, str) or _SURROGATE.search(value):
        raise at.error("be valid text", value)
    return value


def label(value: Any, at: Place) -> Any:
    """Read a label of a class."""
    if not isinstance(value, str | int | float):
        raise at.error("be a label", value)
    return value


def choice(*names: str) -> Reader:
    """Return a reader of one of several texts."""

    def read(value: Any, at: Place) -> str:
        if not isinstance(value, str) or value not in names:
            raise at.error(f"be one of {list(names)}", value)
        return value

    return read


def count(size: str | None = None) -> Reader:
    """Return a reader of a positive integer, which may define a length."""

    def read(value: Any, at: Place) -> int:
        if type(value) is not int or not 1 <= value < 2**63:
            raise at.error("be a positive integer", value)
        if size is not None:
            at.sizes[size] = value
        return value

    return read


def number(low: float = -inf, high: float = inf, *, missing: bool = False) -> Reader:
    """Return a reader of numbers from `low` to `high`; if `missing`, null is NaN."""

    def read(value: Any, at: Place) -> float:
        if missing and value is None:
            return nan
        if type(value) not in (int, float) or not isfinite(value):
            raise at.error("be a number", value)
        if not low <= value <= high:
            raise at.error(f"be from {low:g} to {high:g}", value)
        return float(value)

    return read


def array(
    *shape: Length,
    low: float = -inf,
    high: float = inf,
    dtype: type | None = float,
    missing: bool = False,
) -> Reader:
    """Return a reader of arrays of numbers from `low` to `high`.

    Without a dtype, they are integers if all of them are written so. If `missing`, null
    is NaN.
    """
    types = {dtype} if dtype in (int, bool) else {int, float}
    types |= {type(None)} if missing else set()

    def read(value: Any, at: Place) -> NDArray[Any]:
        _check_lists(value, at, shape, types)  # before anything is allocated
        numbers = np.array(value, dtype=np.float64)
        outside = np.isinf(numbers) | (numbers < low) | (numbers > high)
        if outside.any():
            must = f"have finite numbers from {low:g} to {high:g}"
            raise at.error(must, float(numbers[outside][0]))
        if dtype is None and (integers := np.array(value)).dtype == np.int64:
            return integers
        return numbers.astype(dtype or float)

    return read


def list_of(
    read_item: Reader, length: Length = None, make: Callable[[Any], Any] = list
) -> Reader:
    """Return a reader of a list; `make` takes what is read."""

    def read(value: Any, at: Place) -> Any:
        items = check_list(value, at, length)
        return make(
            [
                read_item(item, Place(f"{at.name}[{k}]", at.sizes))
                for k, item in enumerate(items)
            ]
        )

    return read


def optional(read_value: Reader) -> Reader:
    """Return a reader that also takes null, as None."""
    return lambda value, at: None if value is None else read_value(value, at)


def record(readers: dict[str, Reader], make: Callable[..., Any] = dict) -> Reader:
    """Return a reader of an object with these keys and no others; see `list_of`."""

    def read(value: Any, at: Place) -> Any:
        check_object(value, at, readers)
        return make(
            **{key: reader(value[key], at / key) for key, reader in readers.items()}
        )

    return read


def labels(value: Any, at: Place) -> NDArray[Any]:
    """Read two or more labels, sorted and distinct, with their NumPy type."""
    check_object(value, at, ("type", "labels"))
    name = choice(*_LABEL_TYPES)(value["type"], at / "type")
    given = check_list(value["labels"], at / "labels", "classes")
    if name in ("str", "object"):
        list_of(text)(given, at / "labels")
        if max(map(len, given)) > _MOST_CHARACTERS // len(given):
            raise ValueError(f"{at.name} has labels that are too long")
    try:
        with np.errstate(over="ignore"):
            classes = np.array(given, dtype=name)
    except (OverflowError, TypeError, ValueError):
        classes = np.array([])
    kept = classes.tolist()  # the type must not have changed a label
    same = kept == given and list(map(type, kept)) == list(map(type, given))
    ordered = np.array_equal(np.unique(classes), classes)
    if not (same and ordered) or len(kept) < 2 or inf in kept:
        raise at.error(f"have two or more labels of {name}, sorted and distinct", given)
    return classes


def labels_to_json(classes: NDArray[Any]) -> Any:
    """Return labels with their type."""
    name = "str" if classes.dtype.kind == "U" else classes.dtype.name
    mixed = name == "object" and not all(isinstance(x, str) for x in classes)
    if mixed or name not in _LABEL_TYPES:
        raise ValueError(
            "classes must be numbers, booleans or text to be written without pickle, "
            f"got dtype {classes.dtype}"
        )
    return {"type": name, "labels": classes.tolist()}


def statistics(value: Any, at: Place) -> ClassStatistics:
    """Read class statistics: the file that they save themselves to, in base64."""
    try:
        data = b64decode(text(value, at), validate=True)
        return ClassStatistics.load(io.BytesIO(data))
    except ValueError as error:
        raise ValueError(f"{at.name}: {error}") from error


def to_json(value: Any) -> Any:
    """Return the JSON value of a fitted attribute; NaN becomes null."""
    if isinstance(value, ClassStatistics):
        file = io.BytesIO()
        value.save(file)
        return b64encode(file.getbuffer()).decode()
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f" and np.isnan(value).any():
            value = value.astype(object)
            value[np.not_equal(value, value)] = None
        return value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if is_dataclass(value):
        value = {item.name: getattr(value, item.name) for item in fields(value)}
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return None if value != value else value


def check_object(value: Any, at: Place, keys: Collection[str]) -> None:
    """Reject what is not an object with these keys and no others."""
    if not isinstance(value, dict):
        raise at.error("be an object", value)
    lacking = [key for key in keys if key not in value]
    if lacking:
        raise ValueError(f"{at.name} lacks {', '.join(lacking)}")
    if len(value) > len(keys):
        unknown = next(key for key in value if key not in keys)
        raise ValueError(f"{at.name} has the unknown key {_SHORT.repr(unknown)}")


def check_list(value: Any, at: Place, length: Length = None) -> list[Any]:
    """Return a list, or reject what is not one of the right length."""
    if not isinstance(value, list):
        raise at.error("be a list", value)
    if isinstance(length, str):
        if not value:
            raise at.error("have one entry or more", value)
        length = at.sizes.setdefault(length, len(value))
    if length is not None and len(value) != length:
        raise at.error(f"have {length} entries", len(value))
    return value


def _check_lists(
    value: Any, at: Place, shape: tuple[Length, ...], types: set[Any]
) -> None:
    """Reject what is not a nested list of a shape and of these types."""
    items = check_list(value, at, shape[0])
    if len(shape) > 1:
        for item in items:
            _check_lists(item, at, shape[1:], types)
        return
    wrong = set(map(type, items)) - types
    if wrong:
        item = next(item for item in items if type(item) in wrong)
        kind = "true or false" if bool in types else "numbers"
        raise at.error(f"have {kind} only", item)
