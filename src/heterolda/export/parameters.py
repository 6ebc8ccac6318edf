"""Constructor parameters in a model file: one encoder, and its inverse.

Numbers, text, None and lists are written as they are; tuples and arrays become lists.
Objects of one key stand for the rest: ``{"map": [[key, value], ...]}`` for a
dictionary, ``{"Grid": {"step": 0.01}}`` for a solver or a discriminant,
``{"frozen": "estimator_"}`` for a `FrozenEstimator` that is the initial estimator, and
``{"not_kept": "Ridge()"}`` for any other estimator. A random generator becomes None.
"""

from __future__ import annotations

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
    check_list,
    check_object,
    choice,
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
# The initial estimator of a search with a nested dictionary is five levels deep.
_DEEPEST = 8
# Stands for the fitted `estimator_` until that is known.
FROZEN = FrozenEstimator(None)


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
    """Describe the parameters of a class, or some of them."""
    names = names or tuple(signature(cls).parameters)
    return Kind(
        "object of parameters",
        lambda value, at: _decoded_object(value, at, names, 0),
        lambda values: {name: _encoded(values[name], name) for name in names},
    )


def unfitted(cls: Any, values: dict[str, Any]) -> Any:
    """Return an estimator whose own checks its parameters have passed."""
    estimator = cls(**values)
    estimator._validate_params()
    if "solver" in values:
        resolve_solver(values["solver"])
    return estimator


def _encoded(value: Any, name: str) -> Any:
    """Return the JSON value of a parameter, or raise an error that names it."""
    if hasattr(value, "to_dict"):  # pandas: by label, unless merely numbered
        numbered = value.ndim == 2 and (
            list(value.index) == list(value.columns) == list(range(len(value)))
        )
        index = ["index"] * (value.ndim - 1)
        value = np.asarray(value) if numbered else value.to_dict(*index)
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
        return {"map": _encoded(list(value.items()), name)}
    if isinstance(value, list | tuple | np.ndarray):
        return [_encoded(item, name) for item in value]
    if type(value) in _CLASSES.values():
        own = signature(type(value)).parameters
        return {type(value).__name__: {n: _encoded(getattr(value, n), n) for n in own}}
    if value is FROZEN:
        return {"frozen": "estimator_"}
    if hasattr(value, "fit"):
        words = value.name if isinstance(value, NotKept) else repr(value)
        return {"not_kept": " ".join(words.split())}
    raise ValueError(f"parameter {name} cannot be written without pickle: {value!r}")


def _decoded(value: Any, at: Place, depth: int) -> Any:
    """Return the parameter of a JSON value."""
    if depth > _DEEPEST:
        raise ValueError(f"{at.name} is nested too deeply")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text().read(value, at)
    if isinstance(value, int | float):
        number().read(value, at)
        return value
    if isinstance(value, list):
        return [_decoded(item, at, depth + 1) for item in value]
    tag = choice("map", "frozen", "not_kept", *_CLASSES).read(next(iter(value), ""), at)
    check_object(value, at, [tag])
    content = value[tag]
    if tag == "map":
        return _decoded_map(_decoded(content, at, depth + 1), at)
    if tag == "frozen":
        return FROZEN
    if tag == "not_kept":
        return NotKept(text().read(content, at), at.name.rpartition(".")[2])
    cls = _CLASSES[tag]
    own = _decoded_object(content, at, tuple(signature(cls).parameters), depth + 1)
    return unfitted(cls, own) if hasattr(cls, "fit") else cls(**own)


def _decoded_object(
    value: Any, at: Place, names: tuple[str, ...], depth: int
) -> dict[str, Any]:
    """Return parameters by name."""
    check_object(value, at, names)
    return {name: _decoded(value[name], at / name, depth) for name in names}


def _decoded_map(pairs: Any, at: Place) -> dict[Any, Any]:
    """Return a dictionary from pairs of label and value."""
    for pair in check_list(pairs, at):
        check_list(pair, at, 2)
        if not isinstance(pair[0], str | int | float):
            raise at.error("have labels", pair[0])
    return dict(pairs)
