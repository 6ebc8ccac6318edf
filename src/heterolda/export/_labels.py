"""Class labels in a model file: whole numbers, booleans or text of any NumPy type."""

from __future__ import annotations

import re
from contextlib import suppress
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

import heterolda.export._schema as schema
from heterolda.export._schema import Place, shown

_NUMBER_TYPES = [
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64"),
]
# An array of text takes the room of its longest entry for each.
_MOST_CHARACTERS = 1 << 24


def labels() -> schema.Kind:
    """Two or more labels, sorted and distinct, with their type."""
    return schema.Kind(_read, _write)


def _write(classes: NDArray[Any]) -> dict[str, Any]:
    kind = classes.dtype.name
    if classes.dtype.kind == "U":
        kind = f"U{classes.dtype.itemsize // 4}"
    elif classes.dtype == object and all(isinstance(x, str) for x in classes):
        kind = "object"
    elif kind not in _NUMBER_TYPES:
        raise ValueError(
            "classes must be numbers, booleans or text to be written without pickle, "
            f"got dtype {classes.dtype}"
        )
    return {"type": kind, "labels": classes.tolist()}


def _read(value: Any, at: Place) -> NDArray[Any]:
    schema.check_object(value, at, ("type", "labels"))
    kind = schema.text().read(value["type"], at / "type")
    labels = schema.check_list(value["labels"], at / "labels")
    classes = (_numbers if kind in _NUMBER_TYPES else _texts)(kind, labels, at)
    if len(labels) < 2 or not np.array_equal(np.unique(classes), classes):
        raise at.error("have two or more labels, sorted and distinct", labels)
    at.sizes["classes"] = len(labels)
    return classes


def _numbers(kind: str, labels: list[Any], at: Place) -> NDArray[Any]:
    """Labels that are numbers or booleans, none of them changed by their type."""
    dtype = np.dtype(kind)
    expected = {"b": bool, "f": float}.get(dtype.kind, int)
    if all(type(x) is expected and isfinite(x) and x == int(x) for x in labels):
        with suppress(OverflowError), np.errstate(over="ignore"):
            classes = np.array(labels, dtype=dtype)
            if classes.tolist() == labels:
                return classes
    raise ValueError(f"{at.name} must have whole numbers of type {kind}")


def _texts(kind: str, labels: list[Any], at: Place) -> NDArray[Any]:
    """Labels that are text, in an array of objects or of a width."""
    schema.list_of(schema.text()).read(labels, Place(f"a label of {at.name}"))
    if kind == "object":
        return np.array(labels, dtype=object)
    width = re.fullmatch("U([0-9]{1,8})", kind)
    if width is None:
        raise ValueError(f"{at.name} has the unknown type {shown(kind)}")
    longest = max(map(len, labels), default=0)
    if not longest <= int(width[1]) <= _MOST_CHARACTERS // max(1, len(labels)):
        raise ValueError(f"{at.name} has labels that are too long for {kind}")
    return np.array(labels, dtype=kind)
