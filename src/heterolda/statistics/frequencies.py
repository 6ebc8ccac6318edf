"""Weights of any scale as frequencies of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heterolda.exceptions import ParameterError
from heterolda.foundations.types import Array, Index
from heterolda.foundations.validation import check_sample_weight
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.row_sample import RowSample

# A mean so near to one is one but for rounding: scaling again changes nothing.
_ROUNDING = 1e-12
# Weights that differ from whole numbers by no more than this share were scaled.
_WHOLE = 1e-9
_MOST_COPIES = 10**8


def check_frequencies(sample_weight: ArrayLike | None, n: int) -> Array | None:
    """Weights of n rows for a fit, valid and of a mean of at least one.

    A weight is a frequency: 3 stands for three copies of a row. Weights whose mean over
    the rows of positive weight is below one cannot be that, and are scaled to a mean of
    one. So below one a common factor changes nothing.
    """
    weight = check_sample_weight(sample_weight, n)
    if weight is None:
        return None
    n_rows = int(np.count_nonzero(weight))
    if not _too_small(total := float(weight.sum()), n_rows):
        return weight
    largest = weight.max()  # divides first, as the sum may be too small for a quotient
    scaled: Array = weight / largest * (n_rows / (total / largest))
    return scaled


def without_empty_classes(
    X: Any, y: NDArray[Any], weight: Array | None
) -> tuple[Any, NDArray[Any], Array | None]:
    """Rows without those of classes of which no row has a positive weight.

    A weight of zero leaves a row out. If all do, nothing changes.
    """
    if weight is None or weight.all() or not weight.any():
        return X, y, weight
    counts = np.isin(y, np.unique(y[weight > 0]))
    return (X, y, weight) if counts.all() else (X[counts], y[counts], weight[counts])


def copies_of_rows(rows: Index, weight: Array | None, why: str) -> Index:
    """Indices of rows, each as often as its weight says; whole numbers say so.

    The error for others, or for too many copies, ends with the reason why.
    """
    if weight is None:
        return rows
    counts = np.rint(weight[rows])
    whole = np.abs(counts - weight[rows]) <= _WHOLE * counts
    if not whole.all() or counts.sum() > _MOST_COPIES:
        raise ParameterError(
            "sample_weight",
            f"must be whole numbers with a sum of at most {_MOST_COPIES:,}: {why}",
        )
    return np.repeat(rows, counts.astype(np.intp))


def as_frequencies(
    statistics: ClassStatistics, sample: RowSample
) -> tuple[ClassStatistics, RowSample]:
    """The same for rows that are not in memory."""
    factor = frequency_factor(float(statistics.weights.sum()), sample.n_rows)
    if factor == 1:
        return statistics, sample
    weight = sample.weight * factor
    return statistics.scaled(factor), replace(sample, weight=weight)


def frequency_factor(total: float, n_rows: int) -> float:
    """What makes frequencies of weights with this sum, of that many rows above zero."""
    return n_rows / total if _too_small(total, n_rows) else 1.0


def _too_small(total: float, n_rows: int) -> bool:
    """Whether weights of that many rows with this sum cannot be frequencies."""
    return 0 < total < n_rows * (1 - _ROUNDING)
