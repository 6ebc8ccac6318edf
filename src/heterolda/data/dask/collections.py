"""Dask arrays and data frames: the same model, whatever holds the rows.

Class statistics add up, so a fit is one tree of sums; a few matrices travel, no rows.
Tasks run where dask runs them: on the active client's cluster or in local threads.
Estimators find this module through :mod:`heterolda.data.lazy`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import dask
import dask.array as da
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from heterolda.data.dask.chunks import (
    check_lengths,
    chunk_labels,
    chunks_of,
    delayed_chunks,
    feature_names,
    is_frame,
    number_array,
    unsplit_rows,
)
from heterolda.foundations.validation import check_sample_weight
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.samples import RowSample

_FAN_IN = 8  # sums that one task adds up


def statistics(X: Any, y: Any, sample_weight: Any = None) -> ClassStatistics:
    """Class statistics of a dask collection; nothing lazy is left.

    Labels and weights may be arrays in memory if the sizes of the chunks are known.
    """
    return _total(chunks_of(X, y, sample_weight), feature_names(X), sampled=False)[0]


def statistics_and_sample(
    X: Any, y: Any, sample_weight: Any = None
) -> tuple[ClassStatistics, RowSample]:
    """Class statistics, and some rows of each class."""
    chunks, names = chunks_of(X, y, sample_weight), feature_names(X)
    return _total(chunks, names, sampled=True)


def _total(chunks: list[Any], names: NDArray[Any] | None, *, sampled: bool) -> Any:
    """Statistics and sample of all chunks; the latter is None if not asked for."""
    task = dask.delayed(_chunk_statistics, pure=True)
    sums = [task(*chunk, names, sampled) for chunk in chunks]
    while len(sums) > 1:
        groups = [sums[k : k + _FAN_IN] for k in range(0, len(sums), _FAN_IN)]
        sums = [dask.delayed(_sum, pure=True)(*group) for group in groups]
    (total,) = dask.compute(sums[0])
    if total is None:
        raise ValueError("X has no rows: pass data of two classes or more")
    return total


def sample(X: Any) -> Any:
    """A row with the columns of a collection, not of its data, in float32 or 64."""
    X = unsplit_rows(X)
    kinds = set(X.dtypes) if is_frame(X) else {X.dtype}
    row = np.zeros((1, X.shape[1]), "f4" if kinds == {np.dtype("f4")} else "f8")
    return type(X._meta)(row, columns=X.columns) if is_frame(X) else row


def apply(method: Callable[[Any], Any], X: Any) -> Any:
    """A method of a fitted estimator on each chunk of a collection, lazily."""
    X = unsplit_rows(X)
    chunks = [np.nan] * X.npartitions if is_frame(X) else X.chunks[0]
    like = method(sample(X))  # what is wrong with the columns is said now, not later
    run = dask.delayed(_answer, pure=True)
    model = dask.delayed(method)
    answers = [
        da.from_delayed(
            run(model, chunk, like[:0]), (size, *like.shape[1:]), dtype=like.dtype
        )
        for chunk, size in zip(delayed_chunks(X), chunks, strict=True)
    ]
    return da.concatenate(answers, allow_unknown_chunksizes=True)


def accuracy(
    predict: Callable[[Any], NDArray[Any]], X: Any, y: Any, sample_weight: Any = None
) -> float:
    """Share of the weight of rows that are predicted right."""
    model = dask.delayed(predict)
    counts = [
        dask.delayed(_right, pure=True)(model, *chunk)
        for chunk in chunks_of(X, y, sample_weight)
    ]
    right, weight = np.sum(dask.compute(*counts), axis=0)
    if weight == 0:
        raise ValueError("X has no rows of positive weight to score")
    return float(right / weight)


def _chunk_statistics(
    X: Any, y: Any, sample_weight: Any, names: NDArray[Any] | None, sampled: bool
) -> tuple[ClassStatistics, RowSample | None] | None:
    """Statistics of a chunk, and some of its rows if asked for; None without rows."""
    check_lengths(X, y, sample_weight)
    if not X.shape[0]:
        return None
    X, labels = number_array(X), chunk_labels(y)
    try:
        found = ClassStatistics.from_data(X, labels, sample_weight)
    except ValueError as error:
        if issparse(X) or np.isfinite(X).all():
            raise
        where, what, way = "X", "infinity", ""
        if names is not None:
            where = f"X: column {names[np.argmin(np.isfinite(X).all(axis=0))]!r}"
        if np.isnan(X).any():
            what = "NaN" if names is None else "missing values"
            way = (
                "; GaussianLinearDiscriminant(missing='em') takes gaps in rows in "
                "memory and, by heterolda.data.fit_batches, in files"
            )
        raise ValueError(
            f"{where} contains {what}: fill them in, or leave such rows out{way}"
        ) from error
    found.feature_names = names
    if not sampled:
        return found, None
    weight = check_sample_weight(sample_weight, len(labels))
    return found, RowSample.from_arrays(X, labels, weight)


def _sum(*terms: Any) -> Any:
    """Statistics and samples of several chunks, added up."""
    given = [term for term in terms if term is not None]
    if not given:
        return None
    totals, samples = zip(*given, strict=True)
    sample = None if samples[0] is None else reduce(add, samples)
    return reduce(add, totals), sample


def _answer(method: Callable[[Any], Any], X: Any, empty: Any) -> Any:
    if isinstance(X, np.ma.MaskedArray):
        X = number_array(X)
    return method(X).astype(empty.dtype, copy=False) if X.shape[0] else empty


def _right(
    predict: Callable[[Any], NDArray[Any]], X: Any, y: Any, sample_weight: Any
) -> tuple[float, float]:
    """Weight of the rows of a chunk that are predicted right, and of all."""
    check_lengths(X, y, sample_weight)
    if not X.shape[0]:
        return 0.0, 0.0
    labels, predicted = chunk_labels(y), predict(X)
    kinds = {labels.dtype.kind, predicted.dtype.kind}
    if "U" in kinds and kinds & {"b", "i", "u", "f"}:
        raise ValueError(
            f"y has labels of type {labels.dtype}, but those of the estimator are of "
            f"type {predicted.dtype}"
        )
    weight = check_sample_weight(sample_weight, len(labels))
    if weight is None:
        weight = np.ones(len(labels))
    return float(weight[predicted == labels].sum()), float(weight.sum())
