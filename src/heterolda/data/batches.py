"""Rows of files and Arrow streams as arrays, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heterolda.data.columns import OpenFile
from heterolda.data.decoding import features_of, labels_of, numbers_of
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Mask
from heterolda.foundations.validation import check_sample_weight, has_missing_values


class Batch(NamedTuple):
    """A batch of rows as arrays."""

    file: OpenFile  # where they come from
    X: Array  # features, (n_rows, n_features)
    codes: NDArray[np.int64]  # index of each row's label, (n_rows,)
    labels: list[Any]  # as the file has them
    weight: Array | None  # sample weights, (n_rows,)
    n_dropped: int  # number of rows that were left out for missing values
    whole: Mask | None = None  # rows without gaps; None: all

    @property
    def n_gaps(self) -> int:
        """Number of rows with gaps."""
        return 0 if self.whole is None else int(np.count_nonzero(~self.whole))


def decoded(
    files: Iterable[OpenFile], missing: str, advice: str | None = None
) -> Iterator[Batch]:
    """Batches as arrays, without the rows that have missing values.

    `missing` is "error", with a value of it that is advised then; "drop"; or "em",
    which leaves out only rows without label or weight.
    """
    return (batch for _, _, batch in decoded_with_records(files, missing, advice))


def decoded_with_records(
    files: Iterable[OpenFile], missing: str, advice: str | None = None
) -> Iterator[tuple[Any, Mask | None, Batch]]:
    """The same after all rows as the file has them, and which are kept, if not all."""
    for file in files:
        n_before = 0
        for records in file.batches:
            X = features_of(records, file, n_before)
            codes, labels = labels_of(records, file)
            weight = None
            if file.columns.weight is not None:
                weight = numbers_of(records, file.columns.weight, file, n_before)
            arrays = X, codes, labels, weight
            good, batch = checked_batch(file, *arrays, missing, advice, n_before)
            n_before += records.num_rows
            yield records, good, batch


def checked_batch(
    file: OpenFile,
    X: Array,
    codes: NDArray[np.int64],
    labels: list[Any],
    weight: Array | None,
    missing: str,
    advice: str | None,
    n_before: int,
) -> tuple[Mask | None, Batch]:
    """Which rows are kept, if not all, and a batch of these.

    So many rows of the file come before. Codes below zero are missing labels.
    """
    n_rows = len(X)
    absent = [codes < 0, *([] if weight is None else [np.isnan(weight)])]
    good = _usable(file, X, absent, missing, n_before, advice)
    if good is not None:
        X, codes = X[good], codes[good]
        weight = None if weight is None else weight[good]
    try:
        weight = check_sample_weight(weight, len(X))
    except ParameterError as error:
        where = f"{file.name}: column {file.columns.weight!r}"
        raise ValueError(f"{where} {error.args[1]}") from error
    whole = _without_gaps(X) if missing == "em" else None
    return good, Batch(file, X, codes, labels, weight, n_rows - len(X), whole)


def _usable(
    file: OpenFile,
    X: Array,
    absent: list[Mask],
    missing: str,
    n_before: int,
    advice: str | None,
) -> Mask | None:
    """Rows without missing values that matter; None if that is all of them.

    `absent` says which rows lack a label or a weight.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        # The sum is finite unless some number is not, or nearly so.
        if np.isfinite(X.sum()) and not np.any(absent):
            return None
    check_finite(X, file, n_before)
    gaps = np.column_stack([np.isnan(X) & (missing != "em"), *absent])
    good = np.asarray(~gaps.any(axis=1))
    if good.all():
        return None
    if missing == "error":
        can = advice == "em" and np.isnan(X[good.argmin()]).any()
        keep = "keep such rows with missing='em', " if can else ""
        raise ValueError(
            f"{place_of(gaps, file, n_before)} is missing: fill it in, {keep}or leave "
            "such rows out with missing='drop'"
        )
    return good


def _without_gaps(X: Array) -> Mask | None:
    """Rows in which no feature is missing; None if that is all of them."""
    if not has_missing_values(X):
        return None
    gaps = np.isnan(X)
    X[gaps] = np.nan  # of one kind, so that copies of rows are alike
    return np.asarray(~gaps.any(axis=1))


def check_finite(X: Array, file: OpenFile, n_before: int) -> None:
    """Refuse infinity; so many rows of the file come before these."""
    infinite = np.isinf(X)
    if infinite.any():
        place = place_of(infinite, file, n_before)
        raise ValueError(f"{place} is infinite: every number must be finite")


def place_of(wrong: Mask, file: OpenFile, n_before: int) -> str:
    """Where the first value is that is wrong: rows count from 1, without the header."""
    row, j = np.argwhere(wrong)[0]
    return f"{file.name}: column {file.columns.origins[j]!r}, row {n_before + row + 1}"
