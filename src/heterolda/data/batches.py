"""Rows of files and Arrow streams as arrays, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heterolda.data.columns import OpenFile
from heterolda.data.decoding import features_of, labels_of, numbers_of
from heterolda.foundations.validation import check_sample_weight

Array = NDArray[np.float64]


class Batch(NamedTuple):
    """A batch of rows as arrays.

    Attributes
    ----------
    file : OpenFile
        Where they come from.
    X : ndarray of shape (n_rows, n_features)
        Features.
    codes : ndarray of shape (n_rows,)
        Index of each row's label.
    labels : list
        The labels, as the file has them.
    weight : ndarray of shape (n_rows,) or None
        Sample weights.
    n_dropped : int
        Number of rows that were left out for missing values.
    """

    file: OpenFile
    X: Array
    codes: NDArray[np.int64]
    labels: list[Any]
    weight: Array | None
    n_dropped: int


def decoded(files: Iterable[OpenFile], *, drop: bool) -> Iterator[Batch]:
    """Batches as arrays, without the rows that have missing values."""
    for file in files:
        for records in file.batches:
            X = features_of(records, file)
            codes, labels = labels_of(records, file)
            weight = None
            if file.columns.weight is not None:
                weight = numbers_of(records, file.columns.weight, file)
            good = _complete(file, X, codes, weight, drop)
            n_dropped = 0
            if good is not None:
                n_dropped = len(X) - int(np.count_nonzero(good))
                X, codes = X[good], codes[good]
                weight = None if weight is None else weight[good]
            try:
                weight = check_sample_weight(weight, len(X))
            except ValueError as error:
                raise ValueError(
                    f"{file.name}: column {file.columns.weight!r}: {error}"
                ) from error
            yield Batch(file, X, codes, labels, weight, n_dropped)


def _complete(
    file: OpenFile, X: Array, codes: NDArray[np.int64], weight: Array | None, drop: bool
) -> NDArray[np.bool_] | None:
    """Rows without missing values; None if that is all of them."""
    columns = file.columns
    absent = codes < 0
    if weight is not None:
        absent |= np.isnan(weight)
    with np.errstate(over="ignore", invalid="ignore"):
        # The sum is finite unless some number is not, or nearly so.
        if np.isfinite(X.sum()) and not absent.any():
            return None
    infinite = np.isinf(X).any(axis=0)
    if infinite.any():
        raise ValueError(
            f"{file.name}: column {columns.all[int(np.argmax(infinite))]!r} contains "
            "infinity: every number must be finite"
        )
    good: NDArray[np.bool_] = ~(absent | np.isnan(X).any(axis=1))
    if good.all():
        return None
    if not drop:
        counts = [*np.isnan(X).sum(axis=0).tolist(), np.count_nonzero(codes < 0)]
        if weight is not None:
            counts.append(np.count_nonzero(np.isnan(weight)))
        at = int(np.argmax(np.array(counts) > 0))
        raise ValueError(
            f"{file.name}: column {columns.all[at]!r} has missing values ({counts[at]} "
            "in one batch): fill them in, or leave such rows out by missing='drop'"
        )
    return good
