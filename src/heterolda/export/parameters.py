"""Constructor parameters in a model file.

Numbers, text, None and lists are written unchanged; tuples and arrays become lists.
Other values are objects of one key: ``{"map": [[label, value], ...]}`` for a
dictionary, ``{"Grid": {"step": 0.01}}`` for a solver or a discriminant, and
``{"not_kept": "Ridge()"}`` for any other estimator. A random generator becomes None.
"""

from __future__ import annotations

from inspect import signature
from numbers import Real
from typing import Any

import numpy as np
from numpy.random import RandomState
from sklearn.base import BaseEstimator, ClassifierMixin

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.export.schema import (
    Kind,
    Place,
    check_list,
    check_object,
    choice,
    label,
    number,
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

_CLASSES: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        *(Fisher, FixedPoint, Global, Grid, RandomSearch),
        GaussianLinearDiscriminant,
    )
}
# A nested dictionary in the initial estimator of a search is five levels deep.
_MAX_DEPTH = 8


class NotKept(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Placeholder for an estimator whose name alone is in the file."""

    def __init__(self, name: str = "", parameter: str = "estimator") -> None:
        self.name = name
        self.parameter = parameter

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Raise an error: the placeholder must be replaced."""
        raise ValueError(
            f"{self.parameter} was {self.name}, and the model file keeps only its "
            f"name: use set_params({self.parameter}=...) before fit"
        )


def parameters(cls: type, *names: str) -> Kind:
    """Return the kind of the parameters of a class, or of some of them."""
    names = names or tuple(signature(cls).parameters)
    return Kind(
        f"constructor parameters {', '.join(names)}",
        lambda value, at: _read_object(value, at, names, 0),
        _write_object,
    )


def unfitted(cls: Any, values: dict[str, Any]) -> Any:
    """Return an estimator with validated parameters."""
    estimator = cls(**values)
    estimator._validate_params()
    if "solver" in values:
        resolve_solver(values["solver"])
    return estimator


def _write_object(values: dict[str, Any]) -> dict[str, Any]:
    return {name: _write(value, name) for name, value in values.items()}


def _write(value: Any, name: str) -> Any:
    """Return the JSON value of a parameter, or raise an error that names it."""
    if hasattr(value, "to_dict"):  # pandas, with numbers by label
        value = value.to_dict("index") if value.ndim == 2 else value.to_dict()
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, RandomState):
        return None
    if isinstance(value, str | Real):
        return value
    if isinstance(value, dict):
        return {"map": [[key, _write(item, name)] for key, item in value.items()]}
    if isinstance(value, list | tuple | np.ndarray):
        return [_write(item, name) for item in value]
    cls = type(value)
    if cls in _CLASSES.values():
        params = {key: getattr(value, key) for key in signature(cls).parameters}
        return {cls.__name__: _write_object(params)}
    if hasattr(value, "fit"):
        words = value.name if isinstance(value, NotKept) else repr(value)
        return {"not_kept": " ".join(words.split())}
    raise ValueError(f"parameter {name} cannot be written without pickle: {value!r}")


def _read(value: Any, at: Place, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise ValueError(f"{at.name} is nested too deeply")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text.read(value, at)
    if isinstance(value, int | float):
        number().read(value, at)
        return value
    if isinstance(value, list):
        return [_read(item, at, depth + 1) for item in value]
    tag = choice("map", "not_kept", *_CLASSES).read(next(iter(value), ""), at)
    check_object(value, at, [tag])
    content = value[tag]
    if tag == "map":
        pairs = [check_list(pair, at, 2) for pair in check_list(content, at)]
        return {label.read(key, at): _read(item, at, depth + 1) for key, item in pairs}
    if tag == "not_kept":
        return NotKept(text.read(content, at), at.name.rpartition(".")[2])
    cls = _CLASSES[tag]
    params = _read_object(content, at, tuple(signature(cls).parameters), depth + 1)
    return unfitted(cls, params) if hasattr(cls, "fit") else cls(**params)


def _read_object(
    value: Any, at: Place, names: tuple[str, ...], depth: int
) -> dict[str, Any]:
    check_object(value, at, names)
    return {name: _read(value[name], at / name, depth) for name in names}
