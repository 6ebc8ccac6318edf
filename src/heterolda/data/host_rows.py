"""Rows of an array in the host's memory, or of a memory map, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heterolda.data.batches import Batch, checked_batch
from heterolda.data.columns import Columns, OpenFile
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.validation import (
    check_sample_weight,
    check_unmasked,
    label_array,
)
from heterolda.statistics.rows import coded_labels

LABELS, WEIGHTS = "target", "sample_weight"  # in messages, in place of names of columns


@dataclass(frozen=True, eq=False)
class HostRows:
    """An array of rows with the labels and the weights of all of them."""

    X: NDArray[Any]
    codes: Index
    labels: list[Any]
    weight: Array | None

    @classmethod
    def checked(cls, X: NDArray[Any], y: ArrayLike, weight: ArrayLike | None) -> Any:
        """Refuse what is no array of numbers, and labels of other rows."""
        check_unmasked("source", X)
        if X.ndim != 2 or X.dtype.kind not in "biuf" or not X.shape[1]:
            raise ParameterError(
                "source",
                "must be a two-dimensional array of numbers with at least one "
                f"column, got shape {X.shape} of {X.dtype}",
            )
        if isinstance(y, str) or np.shape(y) != X.shape[:1]:
            raise ParameterError(
                "target",
                "must be an array of labels if source is an array, one for each of "
                f"the {len(X)} rows, got {y!r:.50}",
            )
        classes, codes = coded_labels(label_array(y, "target"), warn=False)
        weights = check_sample_weight(weight, len(X))
        return cls(X, codes, classes.tolist(), weights)

    def batches(
        self, wanted: Columns, missing: str, advice: str | None
    ) -> Iterator[Batch]:
        """The rows, without those that have missing values; see `batches.decoded`."""
        columns = wanted.resolve(
            [*map(str, range(self.X.shape[1])), *wanted.all], "source"
        )
        file = OpenFile("source", columns, (), None)
        step = columns.rows_per_batch
        keep = self.X.dtype in (np.float64, np.float32) and missing != "em"
        for start in range(0, len(self.X), step):
            here = slice(start, start + step)
            X = self.X[here] if keep else self.X[here].astype(np.float64)
            weight = None if self.weight is None else self.weight[here]
            arrays = X, self.codes[here], self.labels, weight
            yield checked_batch(file, *arrays, missing, advice, start)[1]
