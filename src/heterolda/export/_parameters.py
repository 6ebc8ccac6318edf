"""Constructor parameters in a model file."""

from __future__ import annotations

from dataclasses import fields
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from heterolda.export._schema import (
    Kind,
    Numbers,
    Place,
    Text,
    check_list,
    check_object,
    shown,
)
from heterolda.solvers import Fisher, FixedPoint, Global, Grid, RandomSearch

_SOLVERS = {
    cls.__name__: cls for cls in (Fisher, FixedPoint, Global, Grid, RandomSearch)
}
# Nested dictionaries are four levels of lists and objects.
_DEEPEST = 6
# Parameters are finite, integers among them of 64 bits.
_LARGEST = {bool: 1, int: 2**64, float: np.finfo(float).max}


class Parameter(Kind):
    """None, a number, text, a list, a dictionary, an array or settings of a solver.

    A dictionary is ``{"map": [[key, value], ...]}``, an array ``{"array": [...]}`` and
    a solver ``{"settings": "Grid", "step": 0.01}``. A tuple becomes a list. A random
    generator has no value that would be worth keeping: it becomes None.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def write(self, value: Any) -> Any:
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
            return {"map": [self.write(pair) for pair in value.items()]}
        if isinstance(value, list | tuple):
            return [self.write(item) for item in value]
        if type(value) in _SOLVERS.values():
            names = [field.name for field in fields(value)]
            content = {name: self.write(getattr(value, name)) for name in names}
            return {"settings": type(value).__name__, **content}
        array = np.asarray(value)
        if array.dtype.kind in "iuf" and array.ndim and np.isfinite(array).all():
            return {"array": array.tolist()}
        raise ValueError(
            f"parameter {self.name} cannot be written without pickle: {shown(value)}"
        )

    def read(self, value: Any, at: Place, depth: int = 0) -> Any:
        if depth > _DEEPEST:
            raise ValueError(f"{at.name} is nested too deeply")
        if isinstance(value, str):
            return Text().read(value, at)
        if isinstance(value, int | float) and not abs(value) <= _LARGEST[type(value)]:
            raise ValueError(f"{at.name} has a number that is too large")
        if isinstance(value, list):
            return [self.read(item, at, depth + 1) for item in value]
        if not isinstance(value, dict):
            return value
        if "settings" in value:
            cls = _SOLVERS[Text(_SOLVERS).read(value["settings"], at)]
            names = [field.name for field in fields(cls)]
            check_object(value, at, ["settings", *names])
            return cls(*[self.read(value[name], at, depth + 1) for name in names])
        if "array" in value:
            check_object(value, at, ["array"])
            return _read_array(value["array"], at)
        check_object(value, at, ["map"])
        return self._read_map(check_list(value["map"], at), at, depth + 2)

    def _read_map(self, pairs: list[Any], at: Place, depth: int) -> dict[Any, Any]:
        result = {}
        for pair in pairs:
            if len(check_list(pair, at)) != 2 or isinstance(pair[0], dict | list):
                raise ValueError(f"{at.name} must have pairs of label and value")
            key, item = (self.read(part, at, depth) for part in pair)
            result[key] = item
        if len(result) < len(pairs):
            raise ValueError(f"{at.name} has a label twice")
        return result


def _read_array(value: Any, at: Place) -> NDArray[Any]:
    """Numbers in one or two dimensions."""
    rows = check_list(value, at)
    nested = bool(rows) and isinstance(rows[0], list)
    kind = Numbers(None, len(rows[0])) if nested else Numbers(None)
    return kind.read(rows, at)
