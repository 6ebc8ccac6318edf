"""Class statistics from a covariance estimator, such as those of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import dense
from heterolda.foundations.validation import check_several_classes
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.covariances import reject_small
from heterolda.statistics.moments import check_room
from heterolda.statistics.rows import Rows, copies_of_rows
from heterolda.statistics.samples import row_hashes

_NAME = "covariance_estimator"
_NO_WEIGHTS = (
    f"{_NAME} is fitted to copies of weighted rows. Round the weights, or use "
    "shrinkage instead, which takes any weights"
)


def estimated_statistics(
    model: Any, plain: ClassStatistics, rows: Rows
) -> ClassStatistics:
    """Fit the model's `covariance_estimator` to each class and return its moments."""
    estimator = model.covariance_estimator
    name = type(estimator).__name__
    _check(estimator, model.shrinkage, plain)
    means = np.empty_like(plain.means)
    scatters = np.empty((*means.shape, plain.n_features))
    hashes = row_hashes(rows.X)
    for k, label in enumerate(plain.classes.tolist()):
        index = np.flatnonzero(rows.codes == k)
        # Sorted by hash, so that the result does not depend on the order of the rows.
        index = index[np.argsort(hashes[index], kind="stable")]
        index = copies_of_rows(index, rows.weights, _NO_WEIGHTS)
        X = dense(rows.X[index]).astype(np.float64, copy=False)
        try:
            fitted = clone(estimator, safe=False).fit(X)
            location = getattr(fitted, "location_", None)
            location = plain.means[k] if location is None else location
            moments = plain.weights[[k]], [location], [fitted.covariance_]
            checked = ClassStatistics.from_moments(plain.classes[[k]], *moments)
        except Exception as error:
            raise ParameterError(
                _NAME,
                f"{name} cannot estimate the covariance of the {len(X)} rows of class "
                f"{label!r} ({error}): add rows, leave the class out, or use another "
                "estimator, such as sklearn.covariance.LedoitWolf()",
            ) from error
        means[k], scatters[k] = checked.means[0], checked.scatters[0]
    values = plain.classes, plain.weights, means, scatters, plain.feature_names
    return ClassStatistics(*values, given=True, estimated_by=name)


def _check(estimator: Any, shrinkage: Any, plain: ClassStatistics) -> None:
    """Reject invalid combinations of estimator, shrinkage and classes."""
    if getattr(estimator, "assume_centered", False):
        raise ParameterError(
            _NAME,
            "has assume_centered=True, but the classes are not centered: use "
            "assume_centered=False",
        )
    if shrinkage is not None:
        raise ParameterError(
            _NAME,
            "and shrinkage cannot both be set: choose an estimator that shrinks, "
            "such as LedoitWolf(), or leave it out",
        )
    if plain.estimated_by is not None:
        raise ParameterError(
            _NAME, "needs rows without missing values: fill them in, or leave it out"
        )
    check_several_classes(plain.n_classes)
    reject_small(plain.classes, plain.weights, plain.weights <= 1)
    check_room(plain.n_classes, plain.n_features)
