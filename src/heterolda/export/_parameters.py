"""Constructor parameters in a model file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from functools import partial
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

import heterolda.export._schema as schema
from heterolda.export._schema import Place, check_list, check_object, shown
from heterolda.solvers import Fisher, FixedPoint, Global, Grid, RandomSearch

_SOLVERS = {
    cls.__name__: cls for cls in (Fisher, FixedPoint, Global, Grid, RandomSearch)
}
# Nested dictionaries are four levels of lists and objects.
_DEEPEST = 6
# Parameters are finite, integers among them of 64 bits.
_LARGEST = {bool: 1, int: 2**64, float: np.finfo(float).max}


def parameter(name: str) -> schema.Kind:
    """None, a number, text, a list, a dictionary, an array or settings of a solver.

    A dictionary is ``{"map": [[key, value], ...]}``, an array ``{"array": [...]}`` and
    a solver ``{"settings": "Grid", "step": 0.01}``. A tuple becomes a list, but for the
    two numbers of shrinkage. A random generator has no value that would be worth
    keeping: it becomes None.
    """
    read = _read_tuple if name == "shrinkage" else _read
    return schema.Kind(read, partial(_write, name))


def parameters(names: Iterable[str]) -> dict[str, schema.Kind]:
    """Fields for parameters of these names."""
    return {name: parameter(name) for name in names}


class NotKept(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Stands for an estimator, `name`, of which a file keeps only the name."""

    def __init__(self, name: str = "", parameter: str = "estimator") -> None:
        self.name = name
        self.parameter = parameter

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Say that another one is needed."""
        raise ValueError(
            f"{self.parameter} was {self.name}, and the model file keeps only its "
            f"name: use set_params({self.parameter}=...) before fit"
        )


def not_kept(name: str) -> schema.Kind:
    """An estimator or None, in a parameter of this name: the file has its `repr`."""

    def write(value: Any) -> str | None:
        if value is None:
            return None
        return value.name if isinstance(value, NotKept) else repr(value)

    def read(value: Any, at: Place) -> NotKept | None:
        return None if value is None else NotKept(schema.text().read(value, at), name)

    return schema.Kind(read, write)


def _write(name: str, value: Any) -> Any:
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
    if getattr(value, "ndim", 0) == 1 and hasattr(value, "to_dict"):
        value = value.to_dict()  # a pandas Series is by label
    if isinstance(value, dict):
        return {"map": _write(name, list(value.items()))}
    if isinstance(value, list | tuple):
        return [_write(name, item) for item in value]
    if type(value) in _SOLVERS.values():
        content = {f.name: _write(name, getattr(value, f.name)) for f in fields(value)}
        return {"settings": type(value).__name__, **content}
    array = np.asarray(value)
    if array.dtype.kind in "iuf" and array.ndim and np.isfinite(array).all():
        return {"array": array.tolist()}
    raise ValueError(
        f"parameter {name} cannot be written without pickle: {shown(value)}"
    )


def _read(value: Any, at: Place, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        raise ValueError(f"{at.name} is nested too deeply")
    if isinstance(value, str):
        return schema.text().read(value, at)
    if isinstance(value, int | float) and not abs(value) <= _LARGEST[type(value)]:
        raise ValueError(f"{at.name} has a number that is too large")
    if isinstance(value, list):
        return [_read(item, at, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    if "settings" in value:
        cls = schema.choice(_SOLVERS).read(value["settings"], at)
        names = [field.name for field in fields(cls)]
        check_object(value, at, ["settings", *names])
        return cls(*[_read(value[name], at, depth + 1) for name in names])
    if "array" in value:
        check_object(value, at, ["array"])
        return _read_array(value["array"], at)
    check_object(value, at, ["map"])
    return _read_map(check_list(value["map"], at), at, depth + 2)


def _read_tuple(value: Any, at: Place) -> Any:
    found = _read(value, at)
    return tuple(found) if isinstance(found, list) else found


def _read_map(pairs: list[Any], at: Place, depth: int) -> dict[Any, Any]:
    """A dictionary, from pairs of key and value."""
    result = {}
    for pair in pairs:
        if len(check_list(pair, at)) != 2 or isinstance(pair[0], dict | list):
            raise ValueError(f"{at.name} must have pairs of label and value")
        key, item = (_read(part, at, depth) for part in pair)
        result[key] = item
    if len(result) < len(pairs):
        raise ValueError(f"{at.name} has a label twice")
    return result


def _read_array(value: Any, at: Place) -> NDArray[Any]:
    """Numbers in one or two dimensions."""
    rows = check_list(value, at)
    nested = bool(rows) and isinstance(rows[0], list)
    shape = (None, len(rows[0])) if nested else (None,)
    array: NDArray[Any] = schema.numbers(*shape).read(rows, at)
    return array
