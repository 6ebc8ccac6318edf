"""Class statistics from a covariance estimator, such as those of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import dense
from heterolda.foundations.validation import check_several_classes
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.covariances import reject_small_classes, two_amounts
from heterolda.statistics.moments import check_memory
from heterolda.statistics.rows import Rows, copies_of_rows

_NAME = "covariance_estimator"
_NEEDS_COPIES = (
    f"{_NAME} is fitted to copies of the rows. Round the weights, or use shrinkage "
    "instead, which takes any weights"
)


def estimated_statistics(
    model: Any, stats: ClassStatistics, rows: Rows
) -> ClassStatistics:
    """Fit the model's `covariance_estimator` to each class and return its moments."""
    estimator = model.covariance_estimator
    name = type(estimator).__name__
    _check(estimator, model.shrinkage, stats)
    means = np.empty_like(stats.means)
    scatters = np.empty((*means.shape, stats.n_features))
    for k, label in enumerate(stats.classes.tolist()):
        index = np.flatnonzero(rows.codes == k)
        index = copies_of_rows(index, rows.weights, _NEEDS_COPIES)
        X = dense(rows.X[index]).astype(np.float64, copy=False)
        try:
            fitted = clone(estimator, safe=False).fit(X)
            location = getattr(fitted, "location_", None)
            location = stats.means[k] if location is None else location
            moments = stats.weights[[k]], [location], [fitted.covariance_]
            checked = ClassStatistics.from_moments(stats.classes[[k]], *moments)
        except Exception as error:
            raise ParameterError(
                _NAME,
                f"{name} cannot estimate the covariance of the {len(X)} rows of class "
                f"{label!r} ({error}): add rows, leave the class out, or use another "
                "estimator, such as sklearn.covariance.LedoitWolf()",
            ) from error
        means[k], scatters[k] = checked.means[0], checked.scatters[0]
    values = stats.classes, stats.weights, means, scatters, stats.feature_names
    return ClassStatistics(*values, given=True, estimated_by=name)


def _check(estimator: Any, shrinkage: Any, stats: ClassStatistics) -> None:
    """Reject invalid combinations of estimator, shrinkage and classes."""
    if getattr(estimator, "assume_centered", False):
        raise ParameterError(
            _NAME,
            "has assume_centered=True, but the classes are not centered: use "
            "assume_centered=False",
        )
    if two_amounts(shrinkage)[0] not in ("auto", 0):
        raise ParameterError(
            _NAME,
            "and shrinkage cannot both be set: leave one of them out",
        )
    if stats.estimated_by is not None:
        raise ParameterError(
            _NAME, "needs rows without missing values: fill them in, or leave it out"
        )
    check_several_classes(stats.n_classes)
    reject_small_classes(stats.classes, stats.weights, stats.weights <= 1)
    check_memory(stats.n_classes, stats.n_features)
