"""The checks of scikit-learn, at once where there is plainly nothing to say.

What is in any doubt goes the usual way, with its conversions and its messages.
"""

from __future__ import annotations

from functools import cache
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from heterolda.foundations.sklearn_private import make_constraint
from heterolda.foundations.validation import NUMERIC_TYPES


class QuickParameters:
    """A mixin that goes before `BaseEstimator`: settings that are allowed pass."""

    def _validate_params(self) -> None:
        kind: Any = type(self)
        for name, default, constraints in _constraints(kind):
            value = getattr(self, name)
            if value is default:
                continue
            if not any(one.is_satisfied_by(value) for one in constraints):
                super()._validate_params()  # type: ignore[misc]
                return


@cache
def _constraints(kind: Any) -> list[tuple[str, Any, list[Any]]]:
    """What is allowed for each setting of an estimator, the default among it."""
    parameters = signature(kind.__init__).parameters
    return [
        (name, parameters[name].default, [make_constraint(one) for one in allowed])
        for name, allowed in kind._parameter_constraints.items()
    ]


def validate_rows(estimator: Any, X: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """`validate_data` for a fit to rows of numbers and their labels."""
    plain = _is_plain(X) and type(y) is np.ndarray and y.shape == X.shape[:1]
    if plain and y.dtype.kind in "iubU":
        vars(estimator).pop("feature_names_in_", None)
        estimator.n_features_in_ = X.shape[1]
        return X, y
    checked: tuple[NDArray[Any], NDArray[Any]] = validate_data(
        estimator, X, y, dtype=NUMERIC_TYPES
    )
    return checked


def _is_plain(X: Any) -> bool:
    """Whether these are finite rows of float64 for sure."""
    if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or not X.size:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(X.sum()))
