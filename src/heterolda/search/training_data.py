"""Rows in memory with their classes and weights, as a search needs them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.exceptions import ParameterError
from heterolda.foundations.types import Array, Index
from heterolda.foundations.validation import (
    check_class_weight,
    check_labels,
    check_several_classes,
    encode,
)
from heterolda.search.algorithm2 import check_range_of_weights
from heterolda.statistics.power import PowerTransformation


@dataclass(frozen=True)
class TrainingData:
    """What a classifier is fitted on.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    y : ndarray of shape (n_samples,)
        Their labels.
    classes : ndarray of shape (n_classes,)
        Distinct labels, sorted.
    codes : ndarray of shape (n_samples,)
        Class index of each row.
    weight : ndarray of shape (n_samples,) or None
        Frequencies of the rows.
    class_weight : ndarray of shape (n_classes,) or None
        What an error in each class costs, besides.
    names : ndarray of shape (n_features,) or None
        Names of the features.
    """

    X: NDArray[Any]
    y: NDArray[Any]
    classes: NDArray[Any]
    codes: Index
    weight: Array | None
    class_weight: Array | None
    names: NDArray[Any] | None

    @classmethod
    def from_arrays(
        cls,
        X: NDArray[Any],
        y: NDArray[Any],
        weight: Array | None,
        class_weight: Any,
        names: NDArray[Any] | None,
    ) -> TrainingData:
        """Check labels and class weights, and leave out rows of weight zero."""
        classes = check_labels(y)
        codes = encode(y, classes).astype(np.intp)
        data = cls(X, y, classes, codes, weight, None, names)
        check_several_classes(len(classes))
        if weight is None and class_weight is None:
            return data
        totals = data.totals()
        if np.any(totals <= 0):
            raise ParameterError(
                "sample_weight",
                f"is zero for all rows of classes {classes[totals <= 0].tolist()}: "
                "leave these rows out",
            )
        if weight is not None and np.any(weight == 0):
            data = data.take(weight > 0)
        costs = check_class_weight(class_weight, classes, totals)
        data = replace(data, class_weight=costs)
        weights = data.error_weights()
        if weights is not None:
            check_range_of_weights(weights)
        return data

    def take(self, rows: NDArray[Any]) -> TrainingData:
        """Some of the rows, given as a mask or as indices."""
        weight = None if self.weight is None else self.weight[rows]
        X, y, codes = self.X[rows], self.y[rows], self.codes[rows]
        return replace(self, X=X, y=y, codes=codes, weight=weight)

    def pair(self, i: int, j: int) -> TrainingData:
        """The rows of two classes, which become the only ones, with labels 0 and 1."""
        if len(self.classes) == 2:
            return self
        two = self.take(np.flatnonzero((self.codes == i) | (self.codes == j)))
        costs = None if self.class_weight is None else self.class_weight[[i, j]]
        codes = (two.codes == j).astype(np.intp)
        return replace(
            two, y=codes, classes=np.arange(2), codes=codes, class_weight=costs
        )

    def transformed(self, transformation: PowerTransformation | None) -> TrainingData:
        """The same rows with transformed features; as they are for None."""
        if transformation is None:
            return self
        return replace(self, X=transformation.apply(self.X))

    def float_rows(self) -> Array:
        """The rows as the kernels take them."""
        return np.ascontiguousarray(self.X, dtype=np.float64)

    def frequencies(self) -> Array:
        """Weights of the rows; 1 for each if there are none."""
        return np.ones(len(self.codes)) if self.weight is None else self.weight

    def error_weights(self) -> Array | None:
        """Weights of the errors, frequencies times class weights; None if all are 1."""
        if self.class_weight is None:
            return self.weight
        costs: Array = self.class_weight[self.codes]
        return costs if self.weight is None else costs * self.weight

    def totals(self) -> Array:
        """Total weight of each class, without the class weights."""
        totals = np.bincount(self.codes, self.weight, minlength=len(self.classes))
        return totals.astype(np.float64)
