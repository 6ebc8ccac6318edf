"""Kinds of values in a model file: each is read with checks, written and described.

The table in `models` is made of them. What is read may come from a stranger: a
ValueError names the place and says what is wrong with it.
"""

from __future__ import annotations

import io
import re
import reprlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
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
# An array of text takes the room of its longest entry for each.
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
        """Return the error that says what must be here, and what is."""
        return ValueError(f"{self.name} must {must}, got {_SHORT.repr(value)}")


@dataclass(frozen=True)
class Kind:
    """A kind of value: its description, its reader with checks, and its writer."""

    words: str
    read: Callable[[Any, Place], Any]
    write: Callable[[Any], Any] = lambda value: value


def text() -> Kind:
    """Describe text."""

    def read(value: Any, at: Place) -> str:
        if not isinstance(value, str) or _SURROGATE.search(value):
            raise at.error("be valid text", value)
        return value

    return Kind("text", read, str)


def choice(*names: str, **values: Any) -> Kind:
    """Describe one of several texts, or of several values by the text for each."""
    values |= {name: name for name in names}
    name_of = {value: name for name, value in values.items()}

    def read(value: Any, at: Place) -> Any:
        if not isinstance(value, str) or value not in values:
            raise at.error(f"be one of {list(values)}", value)
        return values[value]

    return Kind(", ".join(f"`{name}`" for name in values), read, name_of.__getitem__)


def boolean() -> Kind:
    """Describe true or false."""

    def read(value: Any, at: Place) -> bool:
        if not isinstance(value, bool):
            raise at.error("be true or false", value)
        return value

    return Kind("true or false", read, bool)


def count(size: str | None = None) -> Kind:
    """Describe an integer from 1 on, which may name a length."""

    def read(value: Any, at: Place) -> int:
        if type(value) is not int or not 1 <= value < 2**63:
            raise at.error("be an integer from 1 on", value)
        if size is not None:
            at.sizes[size] = value
        return value

    return Kind("integer", read, int)


def number(low: float = -inf, high: float = inf, *, missing: bool = False) -> Kind:
    """Describe a number from `low` to `high`; if `missing`, null stands for NaN."""

    def read(value: Any, at: Place) -> float:
        if missing and value is None:
            return nan
        if type(value) not in (int, float) or not isfinite(value):
            raise at.error("be a number", value)
        if not low <= value <= high:
            raise at.error(f"be from {low:g} to {high:g}", value)
        return float(value)

    def write(value: Any) -> float | None:
        return None if missing and value != value else float(value)

    return Kind("number or null" if missing else "number", read, write)


def array(
    *shape: Length,
    low: float = -inf,
    high: float = inf,
    dtype: type | None = float,
    missing: bool = False,
) -> Kind:
    """Describe an array of numbers from `low` to `high`.

    Without a dtype the numbers are integers if all of them are written so. If `missing`
    null stands for NaN.
    """
    words = {int: "integers", bool: "true or false"}.get(dtype or float, "numbers")
    types = {dtype} if dtype in (int, bool) else {int, float}
    types |= {type(None)} if missing else set()

    def read(value: Any, at: Place) -> NDArray[Any]:
        _check_lists(value, at, shape, types, words)  # before anything is allocated
        numbers = np.array(value, dtype=np.float64)
        outside = np.isinf(numbers) | (numbers < low) | (numbers > high)
        if outside.any():
            must = f"have finite numbers from {low:g} to {high:g}"
            raise at.error(must, float(numbers[outside][0]))
        if dtype is None and (integers := np.array(value)).dtype == np.int64:
            return integers
        return numbers.astype(dtype or float)

    def write(value: Any) -> Any:
        values = value.tolist()
        return [None if x != x else x for x in values] if missing else values

    sizes = " x ".join("any" if n is None else str(n) for n in shape)
    return Kind(f"{words} ({sizes}){', null for NaN' * missing}", read, write)


def list_of(
    kind: Kind, length: Length = None, make: Callable[[list[Any]], Any] = list
) -> Kind:
    """Describe a list of values of one kind; `make` takes what is read."""

    def read(value: Any, at: Place) -> Any:
        items = check_list(value, at, length)
        places = (Place(f"{at.name}[{k}]", at.sizes) for k in range(len(items)))
        return make(list(map(kind.read, items, places)))

    words = f"{f'for each of the {length}' if length else 'list'}: {kind.words}"
    return Kind(words, read, lambda value: [kind.write(x) for x in value])


def optional(kind: Kind) -> Kind:
    """Describe a value of another kind, or None."""
    return Kind(
        f"null, or {kind.words}",
        lambda value, at: None if value is None else kind.read(value, at),
        lambda value: None if value is None else kind.write(value),
    )


def record(fields: Mapping[str, Kind], make: Callable[..., Any] = dict) -> Kind:
    """Describe an object with the keys of `fields`, in their order, and no others.

    What is written is a dictionary or has such attributes; `make` takes what is read.
    """

    def read(value: Any, at: Place) -> Any:
        check_object(value, at, fields)
        return make(
            **{key: kind.read(value[key], at / key) for key, kind in fields.items()}
        )

    def write(value: Any) -> dict[str, Any]:
        values = value if isinstance(value, dict) else vars(value)
        return {key: kind.write(values[key]) for key, kind in fields.items()}

    return Kind(f"object: {', '.join(f'`{key}`' for key in fields)}", read, write)


def labels() -> Kind:
    """Describe two or more labels, sorted and distinct, with their NumPy type."""
    anything = Kind("labels", lambda value, at: check_list(value, at, "classes"))
    kind = record({"type": choice(*_LABEL_TYPES), "labels": anything})

    def write(classes: NDArray[Any]) -> Any:
        name = "str" if classes.dtype.kind == "U" else classes.dtype.name
        mixed = name == "object" and not all(isinstance(x, str) for x in classes)
        if mixed or name not in _LABEL_TYPES:
            raise ValueError(
                "classes must be numbers, booleans or text to be written without "
                f"pickle, got dtype {classes.dtype}"
            )
        return kind.write({"type": name, "labels": classes.tolist()})

    def read(value: Any, at: Place) -> NDArray[Any]:
        name, given = kind.read(value, at).values()
        if name in ("str", "object"):
            list_of(text()).read(given, at / "labels")
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
            must = f"have two or more labels of {name}, sorted and distinct"
            raise at.error(must, given)
        return classes

    return Kind(kind.words, read, write)


def statistics() -> Kind:
    """Describe class statistics, as the file that `ClassStatistics.save` writes."""

    def read(value: Any, at: Place) -> ClassStatistics:
        try:
            data = b64decode(text().read(value, at), validate=True)
            return ClassStatistics.load(io.BytesIO(data))
        except ValueError as error:
            raise ValueError(f"{at.name}: {error}") from error

    def write(stats: ClassStatistics) -> str:
        file = io.BytesIO()
        stats.save(file)
        return b64encode(file.getbuffer()).decode()

    return Kind("file of `ClassStatistics.save` in base64", read, write)


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
    """Return a list of the right length, or say what is wrong."""
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
    value: Any, at: Place, shape: tuple[Length, ...], types: set[Any], words: str
) -> None:
    """Reject what is not a nested list of a shape and of some types."""
    items = check_list(value, at, shape[0])
    if len(shape) > 1:
        for item in items:
            _check_lists(item, at, shape[1:], types, words)
        return
    wrong = set(map(type, items)) - types
    if wrong:
        item = next(item for item in items if type(item) in wrong)
        raise at.error(f"have {words} only", item)
