"""Kinds of values in a model file, each with its reader, writer and description.

A reader converts a JSON value. Since files may be hostile, it checks everything: a
ValueError names the place and says what must be there.
"""

from __future__ import annotations

import io
import re
import reprlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from math import inf, isfinite, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.statistics.class_statistics import ClassStatistics

# A number, a name (the first list of that name sets the length), or None for any.
Length = int | str | None

_LABEL_TYPES = (
    *("str", "object", "bool", "float16", "float32", "float64"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)
# In an array of text each entry takes as much memory as the longest.
_MAX_CHARACTERS = 1 << 24
_SURROGATE = re.compile("[\ud800-\udfff]")  # text that cannot be printed or written
_NULL = ", or null for NaN"
TINY = float(np.finfo(np.float64).smallest_subnormal)
_SHORT = reprlib.Repr()
_SHORT.maxlevel = 2
_SHORT.maxstring = 60


@dataclass(frozen=True)
class Place:
    """A place in a file, and the named lengths of earlier lists."""

    name: str
    sizes: dict[str, int] = field(default_factory=dict)

    def __truediv__(self, key: str) -> Place:
        return Place(f"{self.name}.{key}", self.sizes)

    def __getitem__(self, k: int) -> Place:
        return Place(f"{self.name}[{k}]", self.sizes)

    def error(self, must: str, value: Any) -> ValueError:
        """Return an error that says what must be in this place."""
        return ValueError(f"{self.name} must {must}, got {_SHORT.repr(value)}")


def to_json(value: Any) -> Any:
    """Convert a value to JSON; NaN becomes null."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if value != value else value


@dataclass(frozen=True)
class Kind:
    """A kind of value: its description, and conversions from and to JSON."""

    words: str
    read: Callable[[Any, Place], Any]
    write: Callable[[Any], Any] = to_json


def _read_text(value: Any, at: Place) -> str:
    if not isinstance(value, str) or _SURROGATE.search(value):
        raise at.error("be valid text", value)
    return value


def _read_label(value: Any, at: Place) -> Any:
    if not isinstance(value, str | int | float):
        raise at.error("be a label", value)
    return value


text = Kind("text", _read_text)
label = Kind("label", _read_label)


def choice(*names: str) -> Kind:
    """Return the kind of text that is one of these names."""

    def read(value: Any, at: Place) -> str:
        if not isinstance(value, str) or value not in names:
            raise at.error(f"be one of {list(names)}", value)
        return value

    return Kind(" or ".join(map(repr, names)), read)


def count(size: str | None = None) -> Kind:
    """Return the kind of positive integers, which may set a named length."""

    def read(value: Any, at: Place) -> int:
        if type(value) is not int or not 1 <= value < 2**63:
            raise at.error("be a positive integer", value)
        if size is not None:
            at.sizes[size] = value
        return value

    return Kind("positive integer" + (f", the number of {size}" if size else ""), read)


def number(low: float = -inf, high: float = inf, *, missing: bool = False) -> Kind:
    """Return the kind of numbers from `low` to `high`; if `missing`, null is NaN."""
    words = f"number{_range(low, high)}"

    def read(value: Any, at: Place) -> float:
        if missing and value is None:
            return nan
        if type(value) not in (int, float) or not (
            isfinite(value) and low <= value <= high
        ):
            raise at.error(f"be a {words}", value)
        return float(value)

    return Kind(words + _NULL * missing, read)


def array(
    *shape: Length,
    low: float = -inf,
    high: float = inf,
    dtype: type | None = float,
    missing: bool = False,
) -> Kind:
    """Return the kind of arrays of numbers from `low` to `high`.

    Without a dtype, they are integers if all are written as such. If `missing`, null is
    NaN.
    """
    types = {dtype} if dtype in (int, bool) else {int, float}
    types |= {type(None)} if missing else set()
    name = (
        "true or false" if dtype is bool else "integers" if dtype is int else "numbers"
    )
    items = f"{name}{_range(low, high)}{_NULL * missing}"

    def read(value: Any, at: Place) -> NDArray[Any]:
        _check_lists(value, at, shape, types)  # before anything is allocated
        numbers = np.array(value, dtype=np.float64)
        outside = np.isinf(numbers) | (numbers < low) | (numbers > high)
        if outside.any():
            raise at.error(f"have finite {items}", float(numbers[outside][0]))
        if dtype is None and (integers := np.array(value)).dtype == np.int64:
            return integers
        return numbers.astype(dtype or float)

    def write(value: NDArray[Any]) -> list[Any]:
        if value.dtype.kind == "f" and np.isnan(value).any():
            value = value.astype(object)
            value[np.not_equal(value, value)] = None
        written: list[Any] = value.tolist()
        return written

    return Kind(f"array{_size(*shape)} of {items}", read, write)


def _range(low: float, high: float) -> str:
    lower = " above 0" if low == TINY else f" from {low:.16g}" if low > -inf else ""
    return lower + (f" to {high:.16g}" if high < inf else "")


def _size(*shape: Length) -> str:
    return "" if shape == (None,) else f" [{', '.join(map(str, shape))}]"


def list_of(
    kind: Kind, length: Length = None, make: Callable[[Any], Any] = list
) -> Kind:
    """Return the kind of lists; `make` converts the list that was read."""

    def read(value: Any, at: Place) -> Any:
        items = check_list(value, at, length)
        return make([kind.read(item, at[k]) for k, item in enumerate(items)])

    words = f"list{_size(length)} of {kind.words}"
    return Kind(words, read, lambda value: [*map(kind.write, value)])


def optional(kind: Kind) -> Kind:
    """Return a kind that also allows null, as None."""
    return Kind(
        f"null, or {kind.words}",
        lambda value, at: None if value is None else kind.read(value, at),
        lambda value: None if value is None else kind.write(value),
    )


def record(kinds: dict[str, Kind], make: Callable[..., Any] = dict) -> Kind:
    """Return the kind of objects with exactly these keys; see `list_of`."""

    def read(value: Any, at: Place) -> Any:
        check_object(value, at, kinds)
        return make(
            **{key: kind.read(value[key], at / key) for key, kind in kinds.items()}
        )

    def write(value: Any) -> dict[str, Any]:
        get = value.__getitem__ if isinstance(value, dict) else partial(getattr, value)
        return {key: kind.write(get(key)) for key, kind in kinds.items()}

    keys = "".join(f"\n{key}: {kind.words}" for key, kind in kinds.items())
    return Kind("record" + keys.replace("\n", "\n    "), read, write)


def _read_labels(value: Any, at: Place) -> NDArray[Any]:
    check_object(value, at, ("type", "labels"))
    name = choice(*_LABEL_TYPES).read(value["type"], at / "type")
    given = check_list(value["labels"], at / "labels", "classes")
    if name in ("str", "object"):
        list_of(text).read(given, at / "labels")
        if max(map(len, given)) > _MAX_CHARACTERS // len(given):
            raise ValueError(f"{at.name} has labels that are too long")
    try:
        with np.errstate(over="ignore"):
            classes = np.array(given, dtype=name)
    except (OverflowError, TypeError, ValueError):
        classes = np.array([])
    values = classes.tolist()  # the type must not have changed a label
    unchanged = values == given and [*map(type, values)] == [*map(type, given)]
    ordered = np.array_equal(np.unique(classes), classes)
    if not (unchanged and ordered) or len(values) < 2 or inf in values:
        raise at.error(f"have two or more labels of {name}, sorted and distinct", given)
    return classes


def _write_labels(classes: NDArray[Any]) -> Any:
    name = "str" if classes.dtype.kind == "U" else classes.dtype.name
    mixed = name == "object" and not all(isinstance(x, str) for x in classes)
    if mixed or name not in _LABEL_TYPES:
        raise ValueError(
            "classes must be numbers, booleans or text to be written without pickle, "
            f"got dtype {classes.dtype}"
        )
    return {"type": name, "labels": classes.tolist()}


labels = Kind(
    "NumPy dtype and two or more labels, sorted and distinct",
    _read_labels,
    _write_labels,
)


def _read_statistics(value: Any, at: Place) -> ClassStatistics:
    try:
        data = b64decode(text.read(value, at), validate=True)
        return ClassStatistics.load(io.BytesIO(data))
    except ValueError as error:
        raise ValueError(f"{at.name}: {error}") from error


def _write_statistics(value: ClassStatistics) -> str:
    file = io.BytesIO()
    value.save(file)
    return b64encode(file.getbuffer()).decode()


statistics = Kind(
    "file of ClassStatistics.save, in base64", _read_statistics, _write_statistics
)


def check_object(value: Any, at: Place, keys: Collection[str]) -> None:
    """Reject a value that is not an object with exactly these keys."""
    if not isinstance(value, dict):
        raise at.error("be an object", value)
    missing_keys = [key for key in keys if key not in value]
    if missing_keys:
        raise ValueError(f"{at.name} lacks {', '.join(missing_keys)}")
    if len(value) > len(keys):
        unknown = next(key for key in value if key not in keys)
        raise ValueError(f"{at.name} has the unknown key {_SHORT.repr(unknown)}")


def check_list(value: Any, at: Place, length: Length = None) -> list[Any]:
    """Return a list of the right length, or raise an error."""
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
    """Reject a value that is not a nested list of this shape and these types."""
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
