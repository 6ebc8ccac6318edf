"""Constructor parameters in a model file: one encoder, and its inverse."""

from __future__ import annotations

from dataclasses import fields
from inspect import signature
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.random import RandomState
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.export.schema import (
    Kind,
    Place,
    array,
    check_list,
    check_object,
    choice,
    shown,
    text,
)
from heterolda.solvers import (
    Fisher,
    FixedPoint,
    Global,
    Grid,
    RandomSearch,
    resolve_solver,
)

_SOLVERS = {
    cls.__name__: cls for cls in (Fisher, FixedPoint, Global, Grid, RandomSearch)
}
# The initial estimator of a search with a nested dictionary is five levels deep.
_DEEPEST = 8
# Parameters are finite, integers among them of 64 bits.
_LARGEST = {bool: 1, int: 2**64, float: np.finfo(float).max}


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


def parameters(*names: str) -> Kind:
    """Describe parameters: numbers, text, lists and what one-key objects stand for.

    These are ``{"tuple": [...]}``, ``{"map": [[key, value], ...]}``,
    ``{"array": [...]}``, ``{"settings": "Grid", "step": 0.01}`` for a solver,
    ``{"discriminant": {...}}`` and ``{"frozen": ...}`` for estimators, and
    ``{"not_kept": "Ridge()"}`` for what is not kept. A random generator has no value
    that would be worth keeping: it becomes None.
    """

    def read(value: Any, at: Place) -> dict[str, Any]:
        check_object(value, at, names)
        return {name: _decoded(value[name], at / name) for name in names}

    def write(values: dict[str, Any]) -> dict[str, Any]:
        return {name: _encoded(name, values[name]) for name in names}

    return Kind("object of parameters", read, write)


def names_of(cls: Any) -> list[str]:
    """Return the names of the parameters of an estimator."""
    return list(signature(cls).parameters)


def unfitted(cls: Any, values: dict[str, Any]) -> Any:
    """Return an estimator of parameters that it accepts."""
    estimator = cls(**values)
    estimator._validate_params()
    if "solver" in values:
        resolve_solver(values["solver"])
    return estimator


def _encoded(name: str, value: Any) -> Any:
    """Return the JSON value of a parameter."""

    def each(values: Any) -> list[Any]:
        return [_encoded(name, one) for one in values]

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
    if hasattr(value, "to_dict"):  # pandas: by label, unless merely numbered
        value = _by_label(value)
    if isinstance(value, dict):
        return {"map": [each(pair) for pair in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": each(value)}
    if isinstance(value, list):
        return each(value)
    if type(value) in _SOLVERS.values():
        settings = {
            f.name: _encoded(name, getattr(value, f.name)) for f in fields(value)
        }
        return {"settings": type(value).__name__, **settings}
    if isinstance(value, FrozenEstimator):
        return {"frozen": _encoded(name, value.estimator)}
    if type(value) is GaussianLinearDiscriminant:
        return {"discriminant": _DISCRIMINANT.write(value.get_params(deep=False))}
    if hasattr(value, "fit"):
        kept = value.name if isinstance(value, NotKept) else repr(value)
        return {"not_kept": " ".join(kept.split())}
    numbers = np.asarray(value)
    if numbers.dtype.kind in "iuf" and numbers.ndim and np.isfinite(numbers).all():
        return {"array": numbers.tolist()}
    raise ValueError(
        f"parameter {name} cannot be written without pickle: {shown(value)}"
    )


def _by_label(value: Any) -> Any:
    """Return a Series or a data frame as dictionaries, or as an array of numbers."""
    if value.ndim == 1:
        return value.to_dict()
    if list(value.index) == list(value.columns) == list(range(len(value))):
        return np.asarray(value)
    return value.to_dict("index")


def _decoded(value: Any, at: Place, depth: int = 0) -> Any:
    """Return the parameter of a JSON value."""
    if depth > _DEEPEST:
        raise ValueError(f"{at.name} is nested too deeply")

    def each(values: Any) -> list[Any]:
        return [_decoded(one, at, depth + 1) for one in check_list(values, at)]

    if isinstance(value, str):
        return text().read(value, at)
    if isinstance(value, int | float) and not abs(value) <= _LARGEST[type(value)]:
        raise ValueError(f"{at.name} has a number that is too large")
    if isinstance(value, list):
        return each(value)
    if not isinstance(value, dict):
        return value
    if "settings" in value:
        cls = choice(_SOLVERS).read(value["settings"], at)
        names = [field.name for field in fields(cls)]
        check_object(value, at, ["settings", *names])
        return cls(*each([value[name] for name in names]))
    kind = next(iter(value), "")
    text("tuple", "map", "array", "frozen", "discriminant", "not_kept").read(kind, at)
    check_object(value, at, [kind])
    content = value[kind]
    if kind == "tuple":
        return tuple(each(content))
    if kind == "map":
        return _decoded_map(each(content), at)
    if kind == "array":
        rows = check_list(content, at)
        nested = bool(rows) and isinstance(rows[0], list)
        return array(None, *([len(rows[0])] if nested else []), dtype=None).read(
            rows, at
        )
    if kind == "not_kept":
        return NotKept(text().read(content, at), at.name.rpartition(".")[2])
    if kind == "frozen":
        return FrozenEstimator(_decoded(content, at, depth + 1))
    names = names_of(GaussianLinearDiscriminant)
    check_object(content, at, names)
    values = {name: _decoded(content[name], at / name, depth + 1) for name in names}
    return unfitted(GaussianLinearDiscriminant, values)


def _decoded_map(pairs: list[Any], at: Place) -> dict[Any, Any]:
    """Return a dictionary, from pairs of key and value."""
    result = {}
    for pair in pairs:
        ok = isinstance(pair, list) and len(pair) == 2
        if not ok or not isinstance(pair[0], str | int | float):
            raise ValueError(f"{at.name} must have pairs of label and value")
        result[pair[0]] = pair[1]
    if len(result) < len(pairs):
        raise ValueError(f"{at.name} has a label twice")
    return result


_DISCRIMINANT = parameters(*names_of(GaussianLinearDiscriminant))
