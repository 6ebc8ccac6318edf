"""Fit and predict with Dask arrays and data frames.

Class statistics add up, so a fit is a tree of sums: workers exchange only matrices and
a sample of the rows. Tasks run on the active client's cluster or in local threads.
Estimators reach this module through :mod:`heterolda.foundations.collections`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from numpy.typing import NDArray
from scipy.sparse import issparse

from heterolda.foundations.arrays import dense
from heterolda.foundations.draws import RowDraws, seed_of
from heterolda.foundations.validation import (
    all_text,
    check_sample_weight,
    check_unmasked,
    label_array,
)
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.power import PowerTransformation
from heterolda.statistics.samples import RowSample

_FAN_IN = 8  # sums that one task adds up


def statistics_and_sample(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    random_state: Any = 0,
    *,
    powers: PowerTransformation | None = None,
    n_together: int | None = None,
) -> tuple[ClassStatistics, RowSample]:
    """Compute class statistics, and a sample of the rows of each class.

    With powers, features are transformed first.
    Rows are drawn by partition and number, so the sample depends on the partitions.
    """
    names = None
    if _is_frame(X) and all(isinstance(name, str) for name in X.columns):
        names = np.array(list(X.columns), dtype=object)
    task, merge = (dask.delayed(f, pure=True) for f in (_chunk_statistics, _sum))
    chunks, seed = _chunks(X, y, sample_weight), seed_of(random_state)
    rest = names, seed, powers, n_together
    sums = [task(*chunk, part, *rest) for part, chunk in enumerate(chunks)]
    while len(sums) > 1:
        starts = range(0, len(sums), _FAN_IN)
        sums = [merge(*sums[k : k + _FAN_IN]) for k in starts]
    (total,) = dask.compute(sums[0])
    if total is None:
        raise ValueError("X has no rows: pass data of two classes or more")
    stats, rows = total
    return stats, rows


def sample(X: Any) -> Any:
    """Return a row of zeros with the columns and precision of a collection."""
    X = _checked_rows(X)
    kinds = set(X.dtypes) if _is_frame(X) else {X.dtype}
    row = np.zeros((1, X.shape[1]), "f4" if kinds == {np.dtype("f4")} else "f8")
    return type(X._meta)(row, columns=X.columns) if _is_frame(X) else row


def apply(method: Callable[[Any], Any], X: Any) -> Any:
    """Apply a method of a fitted estimator to each chunk of a collection, lazily."""
    X = _checked_rows(X)
    sizes = [np.nan] * X.npartitions if _is_frame(X) else X.chunks[0]
    like = method(sample(X))  # wrong columns raise now, not later
    run, model = dask.delayed(_answer, pure=True), dask.delayed(method)
    answers = [
        da.from_delayed(
            run(model, chunk, like[:0]), (size, *like.shape[1:]), dtype=like.dtype
        )
        for chunk, size in zip(_tasks(X), sizes, strict=True)
    ]
    return da.concatenate(answers, allow_unknown_chunksizes=True)


def accuracy(
    predict: Callable[[Any], NDArray[Any]], X: Any, y: Any, sample_weight: Any = None
) -> float:
    """Return the accuracy of predictions, weighted."""
    count, model = dask.delayed(_correct, pure=True), dask.delayed(predict)
    counts = [count(model, *chunk) for chunk in _chunks(X, y, sample_weight)]
    correct, weight = np.sum(dask.compute(*counts), axis=0)
    if weight == 0:
        raise ValueError("X has no rows of positive weight to score")
    return float(correct / weight)


# Collections as chunks


def _chunks(X: Any, y: Any, sample_weight: Any) -> list[tuple[Any, Any, Any]]:
    """Return rows, labels, and weights or None of each chunk."""
    X = _checked_rows(X)
    rows, labels = _tasks(X), _chunks_like(X, y, "y")
    weights = [None] * len(rows)
    if sample_weight is not None:
        weights = _chunks_like(X, sample_weight, "sample_weight")
    return list(zip(rows, labels, weights, strict=True))


def _chunks_like(X: Any, values: Any, name: str) -> list[Any]:
    """Return labels or weights in the chunks of X, if their sizes are known."""
    has_sizes = not _is_frame(X) and not np.isnan(X.shape[0])
    if has_sizes and not is_dask_collection(values):
        check_unmasked(name, values)
        values = label_array(values) if name == "y" else values
        values = da.from_array(np.asarray(values), chunks=-1)
    _check_kind(values, name)
    if values.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got {values.ndim}")
    if has_sizes and not _is_frame(values) and not np.isnan(values.shape[0]):
        if values.shape != X.shape[:1]:
            raise ValueError(
                f"{name} must have one entry for each of the {X.shape[0]} rows of X, "
                f"got {values.shape[0]}"
            )
        values = values.rechunk((X.chunks[0],))
    if values.npartitions != X.npartitions:
        raise ValueError(
            f"{name} has {values.npartitions} chunks, but X has {X.npartitions}, and "
            "their sizes are unknown: repartition both in the same way"
        )
    return _tasks(values)


def _is_frame(X: Any) -> bool:
    """Return whether a collection is a data frame or a series."""
    return ".dataframe." in type(X).__module__


def _check_kind(X: Any, name: str) -> None:
    if not isinstance(X, da.Array) and not _is_frame(X):
        raise TypeError(
            f"{name} must be a dask array or data frame, got {type(X).__name__}"
        )


def _checked_rows(X: Any) -> Any:
    """Return a numeric collection of two dimensions, with whole rows in chunks."""
    _check_kind(X, "X")
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}")
    if not _is_frame(X):
        return X if X.numblocks[1] == 1 else X.rechunk({1: -1})
    for name, kind in X.dtypes.items():
        if kind.kind not in "biuf":
            raise ValueError(
                f"X: column {name!r} must be numbers, but is of type {kind}: convert "
                "it, or leave it out"
            )
    return X


def _tasks(X: Any) -> list[Any]:
    """Return chunks of rows, each as a task."""
    X = X.simplify() if _is_frame(X) else X  # reads no other columns
    # If X and y came from the same files, Dask would read these twice to optimize each.
    return list(np.ravel(X.to_delayed(optimize_graph=False)))


# Tasks of the workers


def _chunk_statistics(
    X: Any,
    y: Any,
    sample_weight: Any,
    part: int,
    names: NDArray[Any] | None,
    seed: int,
    powers: PowerTransformation | None,
    n_together: int | None,
) -> tuple[ClassStatistics, RowSample] | None:
    """Return statistics and a sample of a chunk; None without rows."""
    weight, labels = _checked(X, y, sample_weight)
    if not X.shape[0]:
        return None
    X = _numbers(X)
    if not issparse(X) and X.dtype.kind == "f" and not np.isfinite(X).all():
        column = int(np.isfinite(X).all(axis=0).argmin())
        raise ValueError(
            f"X: column {column if names is None else repr(names[column])} contains "
            "NaN or infinity: leave such rows out, or read files with "
            "heterolda.data.fit_batches and missing='em'"
        )
    X = X if powers is None else powers.apply(dense(X))
    stats = ClassStatistics.from_data(X, labels, weight)
    stats.feature_names = names
    codes = np.zeros(len(labels)) if weight is None else np.where(weight > 0, 0, -1)
    keys = RowDraws(seed, part=part).keys(codes)
    drawn = RowSample.from_arrays(X, labels, weight, keys, n_together=n_together)
    return stats, drawn


def _sum(*terms: Any) -> Any:
    """Add up statistics and samples of chunks; None without rows."""
    present = [term for term in terms if term is not None]
    return tuple(reduce(add, part) for part in zip(*present, strict=True)) or None


def _answer(method: Callable[[Any], Any], X: Any, empty: Any) -> Any:
    check_unmasked("X", X)
    return method(X).astype(empty.dtype, copy=False) if X.shape[0] else empty


def _correct(
    predict: Callable[[Any], NDArray[Any]], X: Any, y: Any, sample_weight: Any
) -> tuple[float, float]:
    """Return the weight of the rows predicted correctly, and of all rows."""
    weight, labels = _checked(X, y, sample_weight)
    if not X.shape[0]:
        return 0.0, 0.0
    predicted = predict(X)
    if (labels.dtype.kind == "U") != (predicted.dtype.kind == "U"):
        raise ValueError(
            f"y has labels of type {labels.dtype}, but those of the estimator are of "
            f"type {predicted.dtype}"
        )
    weight = np.ones(len(labels)) if weight is None else weight
    return float(weight[predicted == labels].sum()), float(weight.sum())


def _checked(X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[Any]]:
    """Return the weights and labels of a chunk; text of pandas becomes str."""
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if values is not None and len(values) != X.shape[0]:
            raise ValueError(
                f"{name} has {len(values)} rows in a chunk where X has {X.shape[0]}: "
                "the chunks of both must have the same rows"
            )
    labels: NDArray[Any] = label_array(y)
    if labels.dtype.kind == "O" and all_text(labels):
        labels = labels.astype(str)
    return check_sample_weight(sample_weight, len(labels)), labels


def _numbers(X: Any) -> Any:
    """Return a chunk as an array of numbers; missing values of pandas are NaN."""
    check_unmasked("X", X)
    if not hasattr(X, "to_numpy"):
        return X if issparse(X) else np.asarray(X)
    array: NDArray[Any] = X.to_numpy()
    if array.dtype.kind in "biuf":
        return array
    return X.to_numpy(np.float64, na_value=np.nan)
