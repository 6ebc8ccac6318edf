"""Constructor parameters in a model file: one encoder, and its inverse."""

from __future__ import annotations

from collections.abc import Callable
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

# The classes whose instances are kept, as their names and their own parameters.
_CLASSES = {
    cls.__name__: cls
    for cls in (
        *(Fisher, FixedPoint, Global, Grid, RandomSearch),
        GaussianLinearDiscriminant,
    )
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


def parameters(cls: type, *names: str) -> Kind:
    """Describe the parameters of a class, or some of them.

    They are numbers, text, lists and what one-key objects stand for. These are
    ``{"tuple": [...]}``, ``{"map": [[key, value], ...]}``, ``{"array": [...]}``,
    ``{"Grid": {"step": 0.01}}`` for a solver or a discriminant, ``{"frozen": ...}`` for
    a `FrozenEstimator`, and ``{"not_kept": "Ridge()"}`` for what is not kept. A random
    generator has no value that would be worth keeping: it becomes None.
    """
    names = names or tuple(signature(cls).parameters)
    return Kind(
        "object of parameters",
        lambda value, at: _decoded_object(value, at, names, 0),
        lambda values: {name: _encoded(name, values[name]) for name in names},
    )


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

    if hasattr(value, "to_dict"):  # pandas: by label, unless merely numbered
        value = _by_label(value)
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
        return {"map": [each(pair) for pair in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": each(value)}
    if isinstance(value, list):
        return each(value)
    if type(value) in _CLASSES.values():
        names = signature(type(value)).parameters
        own = {one: _encoded(one, getattr(value, one)) for one in names}
        return {type(value).__name__: own}
    if isinstance(value, FrozenEstimator):
        return {"frozen": _encoded(name, value.estimator)}
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


def _decoded(value: Any, at: Place, depth: int) -> Any:
    """Return the parameter of a JSON value."""
    if depth > _DEEPEST:
        raise ValueError(f"{at.name} is nested too deeply")

    if isinstance(value, str):
        return text().read(value, at)
    if isinstance(value, int | float) and not abs(value) <= _LARGEST[type(value)]:
        raise ValueError(f"{at.name} has a number that is too large")
    if isinstance(value, list):
        return [_decoded(one, at, depth + 1) for one in value]
    if not isinstance(value, dict):
        return value
    tag = choice(*_TAGS, *_CLASSES).read(next(iter(value), ""), at)
    check_object(value, at, [tag])
    if tag in _TAGS:
        return _TAGS[tag](_decoded(value[tag], at, depth + 1), at)
    cls: Any = _CLASSES[tag]
    names = tuple(signature(cls).parameters)
    given = _decoded_object(value[tag], at, names, depth + 1)
    return unfitted(cls, given) if hasattr(cls, "fit") else cls(**given)


def _decoded_object(
    value: Any, at: Place, names: tuple[str, ...], depth: int
) -> dict[str, Any]:
    """Return parameters by name."""
    check_object(value, at, names)
    return {name: _decoded(value[name], at / name, depth) for name in names}


def _map(pairs: Any, at: Place) -> dict[Any, Any]:
    """Return a dictionary, from pairs of key and value."""
    result = {}
    for pair in check_list(pairs, at):
        ok = isinstance(pair, list) and len(pair) == 2
        if not ok or not isinstance(pair[0], str | int | float):
            raise ValueError(f"{at.name} must have pairs of label and value")
        result[pair[0]] = pair[1]
    if len(result) < len(pairs):
        raise ValueError(f"{at.name} has a label twice")
    return result


def _array(rows: Any, at: Place) -> Any:
    """Return an array of one or two dimensions."""
    nested = isinstance(rows, list) and rows and isinstance(rows[0], list)
    columns = [len(rows[0])] if nested else []
    return array(None, *columns, dtype=None).read(rows, at)


_TAGS: dict[str, Callable[[Any, Place], Any]] = {
    "tuple": lambda items, at: tuple(check_list(items, at)),
    "map": _map,
    "array": _array,
    "frozen": lambda estimator, at: FrozenEstimator(estimator),
    "not_kept": lambda name, at: NotKept(
        text().read(name, at), at.name.rpartition(".")[2]
    ),
}
