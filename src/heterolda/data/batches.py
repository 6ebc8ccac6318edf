"""Rows of files and Arrow streams as arrays, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heterolda.data.columns import OpenFile
from heterolda.data.decoding import features_of, labels_of, numbers_of
from heterolda.exceptions import ParameterError, Setting
from heterolda.foundations.types import Array, Mask
from heterolda.foundations.validation import check_sample_weight


class Batch(NamedTuple):
    """A batch of rows as arrays."""

    file: OpenFile  # where they come from
    X: Array  # features, (n_rows, n_features)
    codes: NDArray[np.int64]  # index of each row's label, (n_rows,)
    labels: list[Any]  # as the file has them
    weight: Array | None  # sample weights, (n_rows,)
    n_dropped: int  # number of rows that were left out for missing values


def decoded(files: Iterable[OpenFile], *, drop: bool) -> Iterator[Batch]:
    """Batches as arrays, without the rows that have missing values."""
    return (batch for _, _, batch in decoded_with_records(files, drop=drop))


def decoded_with_records(
    files: Iterable[OpenFile], *, drop: bool
) -> Iterator[tuple[Any, Mask | None, Batch]]:
    """The same after all rows as the file has them, and which are kept, if not all."""
    for file in files:
        for records in file.batches:
            X = features_of(records, file)
            codes, labels = labels_of(records, file)
            weight = None
            if file.columns.weight is not None:
                weight = numbers_of(records, file.columns.weight, file)
            good = _complete(file, X, codes, weight, drop)
            if good is not None:
                X, codes = X[good], codes[good]
                weight = None if weight is None else weight[good]
            try:
                weight = check_sample_weight(weight, len(X))
            except ParameterError as error:
                where = f"{file.name}: column {file.columns.weight!r}: "
                raise ParameterError(where, *error.args) from error
            n_dropped = records.num_rows - len(X)
            yield records, good, Batch(file, X, codes, labels, weight, n_dropped)


def _complete(
    file: OpenFile, X: Array, codes: NDArray[np.int64], weight: Array | None, drop: bool
) -> Mask | None:
    """Rows without missing values; None if that is all of them."""
    names = file.columns.origins  # of features, labels, and weights if any
    absent = [codes < 0, *([] if weight is None else [np.isnan(weight)])]
    with np.errstate(over="ignore", invalid="ignore"):
        # The sum is finite unless some number is not, or nearly so.
        if np.isfinite(X.sum()) and not np.any(absent):
            return None
    infinite = np.isinf(X).any(axis=0)
    if infinite.any():
        raise ValueError(
            f"{file.name}: column {names[int(np.argmax(infinite))]!r} contains "
            "infinity: every number must be finite"
        )
    gaps = np.column_stack([np.isnan(X), *absent])
    good = np.asarray(~gaps.any(axis=1))
    if good.all():
        return None
    if not drop:
        counts = gaps.sum(axis=0)
        at = int(np.argmax(counts > 0))
        raise ParameterError(
            f"{file.name}: column {names[at]!r} has missing values ({counts[at]} "
            "in one batch): fill them in, or leave such rows out by ",
            Setting("missing", "drop"),
        )
    return good
