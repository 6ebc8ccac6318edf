"""Class statistics by an estimator of covariances, such as those of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from heterolda.exceptions import ParameterError, Setting
from heterolda.foundations.sparse_rows import dense
from heterolda.foundations.types import Array
from heterolda.foundations.validation import check_several_classes
from heterolda.kernels.row_hashes import row_hashes
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.row_sample import ClassRows

_NAME = "covariance_estimator"
# Weights differ from whole numbers by no more than this share: they were scaled.
_ROUNDING = 1e-9
# More copies of a row are not made.
_MOST_COPIES = 1e9


def estimated_statistics(
    model: Any, plain: ClassStatistics, rows: ClassRows
) -> ClassStatistics:
    """Statistics whose moments are those of the model's `covariance_estimator`.

    The estimator is fitted to the rows of each class, of which there are the `plain`
    statistics. A row of weight 3 is there three times.
    """
    estimator = model.covariance_estimator
    _check(estimator, model.shrinkage, plain)
    name = type(estimator).__name__
    copies = None if rows.weight is None else _copies(rows.weight)
    found = []
    for k, label in enumerate(plain.classes.tolist()):
        mine = np.flatnonzero(rows.codes == k)
        # In an order that the rows themselves decide, the same whatever theirs was.
        mine = mine[np.argsort(row_hashes(rows.X, mine), kind="stable")]
        if copies is not None:
            mine = np.repeat(mine, copies[mine])
        X = dense(rows.X[mine]).astype(np.float64, copy=False)
        moments = _moments(estimator, X, plain.means[k], f"class {label!r}")
        try:
            one = ClassStatistics.from_moments(
                plain.classes[k : k + 1], plain.weights[k : k + 1], *moments
            )
        except ValueError as error:
            raise ParameterError(
                Setting(_NAME),
                f" {name} has moments of class {label!r} that cannot be used: {error}",
            ) from error
        found.append(one)
    return ClassStatistics(
        plain.classes,
        plain.weights,
        np.concatenate([one.means for one in found]),
        np.concatenate([one.scatters for one in found]),
        plain.feature_names,
        given=True,
        estimated_by=name,
    )


def _check(estimator: Any, shrinkage: Any, plain: ClassStatistics) -> None:
    """Refuse what cannot be fitted, before any class is."""
    if isinstance(estimator, type):
        raise ParameterError(
            Setting(_NAME),
            f" must be an object, got a class: write {estimator.__name__}()",
        )
    if shrinkage is not None:
        raise ParameterError(
            Setting(_NAME),
            " and ",
            Setting("shrinkage"),
            " are both set, and only one of the two can be: choose an estimator that "
            "shrinks, such as LedoitWolf(), or leave it out",
        )
    check_several_classes(plain.n_classes)
    plain.covariances(0.0)  # says what is wrong with too small classes


def _copies(weight: Array) -> NDArray[np.int64]:
    """How often each row is there; only whole weights say so."""
    whole = np.rint(weight)
    broken = np.abs(weight - whole) > _ROUNDING * whole
    if np.any(broken | (whole > _MOST_COPIES)):
        raise ParameterError(
            Setting("sample_weight"),
            f" must be whole numbers up to {_MOST_COPIES:g} for ",
            Setting(_NAME),
            ", whose fit takes no weights: a row of weight 3 is there three times. "
            "Round the weights, or use ",
            Setting("shrinkage"),
            " instead, which takes any",
        )
    return whole.astype(np.int64)


def _moments(
    estimator: Any, X: Array, mean: Array, what: str
) -> tuple[list[Any], list[Any]]:
    """Location and covariance of the rows of a class, by a copy of the estimator."""
    name = type(estimator).__name__
    fitted = clone(estimator, safe=False)
    try:
        fitted.fit(X)
    except Exception as error:
        raise ParameterError(
            Setting(_NAME),
            f" {name} cannot be fitted to the {len(X)} rows of {what} ({error}): add "
            "rows of it, leave it out, or use an estimator for fewer rows, such as "
            "LedoitWolf()",
        ) from error
    if not hasattr(fitted, "covariance_"):
        raise ParameterError(
            Setting(_NAME),
            f" {name} has no covariance_ after fit: use an estimator like those of "
            "sklearn.covariance",
        )
    location = getattr(fitted, "location_", mean)
    if np.shape(location) != mean.shape:
        raise ParameterError(
            Setting(_NAME),
            f" {name} has a location_ of shape {np.shape(location)} for {what}, must "
            f"be {mean.shape}",
        )
    return [location], [fitted.covariance_]
