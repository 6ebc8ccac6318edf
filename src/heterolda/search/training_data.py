"""Rows with the costs of errors, as a search needs them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array
from heterolda.foundations.validation import (
    LARGEST_WEIGHT,
    check_finite,
    check_several_classes,
)
from heterolda.statistics.rows import Rows


@dataclass(frozen=True, eq=False)
class TrainingData(Rows):
    """Rows that a classifier is fitted to.

    Attributes
    ----------
    class_weight : ndarray of shape (n_classes,) or None
        Cost of an error in each class, which multiplies the weights.
    names : ndarray of shape (n_features,) or None
        Names of the features.
    """

    class_weight: Array | None = None
    names: NDArray[Any] | None = None

    @classmethod
    def from_rows(
        cls, rows: Rows, class_weight: Any = None, names: NDArray[Any] | None = None
    ) -> TrainingData:
        """Validate class weights, and leave out rows of weight zero."""
        data = cls(rows.X, rows.codes, rows.weights, rows.classes, None, names)
        check_several_classes(len(rows.classes))
        if rows.weights is None and class_weight is None:
            return data
        if np.any(rows.totals <= 0):
            raise ParameterError(
                "sample_weight",
                f"is zero for all rows of classes "
                f"{rows.classes[rows.totals <= 0].tolist()}: leave these rows out",
            )
        if rows.weights is not None and np.any(rows.weights == 0):
            data = data.take(rows.weights > 0)
        costs = _check_class_weight(class_weight, rows.classes, rows.totals)
        return replace(data, class_weight=costs)

    def pair(self, i: int, j: int) -> Self:
        """Return the rows of classes i and j, as classes 0 and 1."""
        if len(self.classes) == 2:
            return self
        costs = None if self.class_weight is None else self.class_weight[[i, j]]
        return replace(super().pair(i, j), classes=np.arange(2), class_weight=costs)

    def error_weights(self) -> Array | None:
        """Return weights times class weights, or None if all are 1."""
        if self.class_weight is None:
            return self.weights
        costs: Array = self.class_weight[self.codes]
        return costs if self.weights is None else costs * self.weights


def _check_class_weight(
    class_weight: dict[Any, float] | str | None, classes: NDArray[Any], totals: Array
) -> Array | None:
    """Return positive class weights, 1 for labels that are not in the dict.

    "balanced" gives all classes equal total weight.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        balanced: Array = totals.sum() / (len(classes) * totals)
        return balanced
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ParameterError(
            "class_weight",
            f"has labels {unknown} that are not among the classes {labels}",
        )
    weights = check_finite(
        "class_weight", [class_weight.get(label, 1.0) for label in labels], 1
    )
    if np.any(weights <= 0) or weights.max() > LARGEST_WEIGHT:
        raise ParameterError(
            "class_weight",
            f"must be positive and at most {LARGEST_WEIGHT:g}, got {class_weight}: "
            "leave a class that does not matter out of the data",
        )
    return weights
