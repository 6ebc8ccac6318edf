"""Labels and constructor parameters as JSON values, and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import fields
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from heterolda.export.fields import Fields, check_list, check_text, shown
from heterolda.solvers import (
    Fisher,
    FixedPoint,
    Global,
    Grid,
    RandomSearch,
    resolve_solver,
)
from heterolda.tradeoff.criteria import check_costs

_SOLVERS = {
    cls.__name__: cls for cls in (Fisher, FixedPoint, Global, Grid, RandomSearch)
}
_NUMBER_TYPES = [
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64"),
]
# An array of text takes the room of its longest entry for each.
_MOST_CHARACTERS = 1 << 24
# Nested dictionaries are four levels of lists and objects.
_DEEPEST = 6
# Parameters are finite, integers among them of 64 bits.
_LARGEST = {bool: 1, int: 2**64, float: np.finfo(float).max}


def labels_to_json(classes: NDArray[Any]) -> dict[str, Any]:
    """Labels and their type.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels.

    Returns
    -------
    dict
        A JSON value.
    """
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


def labels_from_json(value: Any, where: str) -> NDArray[Any]:
    """The inverse of `labels_to_json`.

    Parameters
    ----------
    value : object
        A JSON value.
    where : str
        Its place, for messages.

    Returns
    -------
    ndarray
        Two or more labels, sorted and distinct.
    """
    content = Fields(value, where, ("type", "labels"))
    kind = content.text("type")
    labels = check_list(content["labels"], content.name("labels"))
    read = _numbers if kind in _NUMBER_TYPES else _texts
    classes = read(kind, labels, where)
    if len(labels) < 2 or not np.array_equal(np.unique(classes), classes):
        raise ValueError(
            f"{where} must have two or more labels, sorted and distinct, got "
            f"{shown(labels)}"
        )
    return classes


def _numbers(kind: str, labels: list[Any], where: str) -> NDArray[Any]:
    """Labels that are numbers or booleans, none of them changed by their type."""
    dtype = np.dtype(kind)
    expected = {"b": bool, "f": float}.get(dtype.kind, int)
    if all(type(x) is expected and isfinite(x) and x == int(x) for x in labels):
        with suppress(OverflowError), np.errstate(over="ignore"):
            classes = np.array(labels, dtype=dtype)
            if classes.tolist() == labels:
                return classes
    raise ValueError(f"{where} must have whole numbers of type {kind}")


def _texts(kind: str, labels: list[Any], where: str) -> NDArray[Any]:
    """Labels that are text, in an array of objects or of a width."""
    for label in labels:
        check_text(label, f"a label of {where}")
    if kind == "object":
        return np.array(labels, dtype=object)
    width = re.fullmatch("U([0-9]{1,8})", kind)
    if width is None:
        raise ValueError(f"{where} has the unknown type {shown(kind)}")
    longest = max(map(len, labels), default=0)
    if not longest <= int(width[1]) <= _MOST_CHARACTERS // max(1, len(labels)):
        raise ValueError(f"{where} has labels that are too long for {kind}")
    return np.array(labels, dtype=kind)


def value_to_json(name: str, value: Any) -> Any:
    """A constructor parameter as a JSON value.

    Parameters
    ----------
    name : str
        Its name.
    value : object
        None, a number, text, a dictionary, an array-like of numbers, or settings of a
        solver. A random generator has no value that would be worth keeping: it becomes
        None.

    Returns
    -------
    object
        A JSON value.
    """
    if value is None or isinstance(value, RandomState):
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and isfinite(value):
        return float(value)
    if isinstance(value, dict):
        items = [[value_to_json(name, item) for item in pair] for pair in value.items()]
        return {"map": items}
    if isinstance(value, list | tuple):
        return [value_to_json(name, item) for item in value]
    if type(value) in _SOLVERS.values():
        content = {
            field.name: value_to_json(name, getattr(value, field.name))
            for field in fields(value)
        }
        return {"settings": type(value).__name__, **content}
    array = np.asarray(value)
    if array.dtype.kind in "iuf" and array.ndim and np.isfinite(array).all():
        return {"array": array.tolist()}
    raise ValueError(
        f"parameter {name} cannot be written without pickle: {shown(value)}"
    )


def value_from_json(value: Any, where: str, depth: int = 0) -> Any:
    """The inverse of `value_to_json`.

    Parameters
    ----------
    value : object
        A JSON value.
    where : str
        Its place, for messages.
    depth : int, default=0
        Level of lists and objects around it.

    Returns
    -------
    object
        The parameter. What was a tuple is a list.
    """
    if depth > _DEEPEST:
        raise ValueError(f"{where} is nested too deeply")
    if isinstance(value, str):
        return check_text(value, where)
    if isinstance(value, int | float) and not abs(value) <= _LARGEST[type(value)]:
        raise ValueError(f"{where} has a number that is too large")
    if isinstance(value, list):
        return [value_from_json(item, where, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    if "settings" in value:
        cls = _SOLVERS[check_text(value["settings"], where, _SOLVERS)]
        names = [field.name for field in fields(cls)]
        content = Fields(value, where, ["settings", *names])
        parts = [value_from_json(content[name], where, depth + 1) for name in names]
        return cls(*parts)
    if "array" in value:
        return _array_from_json(Fields(value, where, ["array"]))
    pairs = check_list(Fields(value, where, ["map"])["map"], where)
    result = {}
    for pair in pairs:
        if len(check_list(pair, where)) != 2 or isinstance(pair[0], dict | list):
            raise ValueError(f"{where} must have pairs of label and value")
        key, item = (value_from_json(part, where, depth + 2) for part in pair)
        result[key] = item
    if len(result) < len(pairs):
        raise ValueError(f"{where} has a label twice")
    return result


def _array_from_json(content: Fields) -> NDArray[Any]:
    """Numbers in one or two dimensions."""
    rows = check_list(content["array"], content.where)
    if rows and isinstance(rows[0], list):
        return content.numbers("array", (len(rows), len(rows[0])))
    return content.numbers("array", (len(rows),))


def parameters_to_json(given: dict[str, Any], classes: NDArray[Any]) -> dict[str, Any]:
    """Constructor parameters, but for a nested estimator.

    Parameters
    ----------
    given : dict
        The parameters.
    classes : ndarray of shape (n_classes,)
        Labels, by which costs in a data frame are put in order.

    Returns
    -------
    dict
        JSON values.
    """
    values = {name: value for name, value in given.items() if name != "estimator"}
    if hasattr(values.get("costs"), "columns"):
        values["costs"] = check_costs(values["costs"], classes)
    if isinstance(values.get("anchor"), Real) and values["anchor"] == np.inf:
        values["anchor"] = "Infinity"
    return {name: value_to_json(name, value) for name, value in values.items()}


def estimator_from_json(
    cls: Any,
    value: Any,
    where: str,
    names: Collection[str] | None = None,
    **readers: Callable[[Any, str], Any],
) -> Any:
    """An estimator that is not fitted, from its parameters.

    Parameters
    ----------
    cls : type
        The class of the estimator.
    value : object
        From `parameters_to_json`.
    where : str
        Its place, for messages.
    names : collection of str or None, default=None
        The parameters that must be there; None means all.
    **readers
        What reads parameters that `value_from_json` does not, from value and place.

    Returns
    -------
    estimator
        The estimator.
    """
    content = Fields(value, where, names or cls().get_params(deep=False))
    given = {
        name: readers.get(name, value_from_json)(content[name], content.name(name))
        for name in content
    }
    if given.get("anchor") == "Infinity":
        given["anchor"] = np.inf
    estimator = cls(**given)
    estimator._validate_params()
    if "solver" in given:
        resolve_solver(given["solver"])
    return estimator
