"""Dask collections as chunks of rows that belong together."""

from __future__ import annotations

from numbers import Real
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from numpy.typing import NDArray
from scipy.sparse import issparse

from heterolda.foundations.arrays import Array
from heterolda.foundations.validation import all_text, check_unmasked, label_array


def chunks_of(X: Any, y: Any, sample_weight: Any = None) -> list[tuple[Any, Any, Any]]:
    """Rows, labels, and weights or None that belong together, chunk by chunk."""
    X = unsplit_rows(X)
    rows = delayed_chunks(X)
    labels = _chunks_like(X, y, "y", len(rows))
    weights: list[Any] = [None] * len(rows)
    if isinstance(sample_weight, Real):
        repeat = dask.delayed(_repeat, pure=True)
        weights = [repeat(sample_weight, chunk) for chunk in rows]
    elif sample_weight is not None:
        weights = _chunks_like(X, sample_weight, "sample_weight", len(rows))
    return list(zip(rows, labels, weights, strict=True))


def _chunks_like(X: Any, values: Any, name: str, n_chunks: int) -> list[Any]:
    """Chunks of labels or weights: those of X, as far as these are known."""
    known = not is_frame(X) and not np.isnan(X.shape[0])
    if not is_dask_collection(values):
        if not known:
            raise TypeError(
                f"{name} must be a dask collection with the chunks of X, because their "
                f"sizes are unknown; got {type(values).__name__}"
            )
        if name == "y":
            values = label_array(values)
        check_unmasked(name, values)
        values = da.from_array(np.asarray(values), chunks=-1)
    _check_kind(values, name)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[values.columns[0]] if is_frame(values) else values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got {values.ndim}")
    if known and not is_frame(values) and not np.isnan(values.shape[0]):
        if values.shape != X.shape[:1]:
            raise ValueError(
                f"{name} must have one entry for each of the {X.shape[0]} rows of X, "
                f"got {values.shape[0]}"
            )
        values = values.rechunk((X.chunks[0],))
    chunks = delayed_chunks(values)
    if len(chunks) != n_chunks:
        raise ValueError(
            f"{name} has {len(chunks)} chunks, but X has {n_chunks}, and their sizes "
            "are unknown: repartition both in the same way"
        )
    return chunks


def _repeat(value: float, X: Any) -> Array:
    return np.full(X.shape[0], value, dtype=np.float64)


def is_frame(X: Any) -> bool:
    """Whether a collection is a data frame or a series."""
    return ".dataframe." in type(X).__module__


def _check_kind(X: Any, name: str) -> None:
    if not isinstance(X, da.Array) and not is_frame(X):
        raise TypeError(
            f"{name} must be a dask array or data frame, got {type(X).__name__}"
        )


def unsplit_rows(X: Any) -> Any:
    """The collection, if it has two dimensions, with whole rows in each chunk."""
    _check_kind(X, "X")
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}")
    if is_frame(X) or X.numblocks[1] == 1:
        return X
    return X.rechunk({1: -1})


def delayed_chunks(X: Any) -> list[Any]:
    """Chunks of rows, each as a task.

    They are not optimised one collection at a time: X and y may come from the same
    files, and dask would read these twice, or join their partitions in two ways.
    """
    if is_frame(X):
        X = X.simplify()  # so that no other columns are read
        return list(X.to_delayed(optimize_graph=False))
    return list(X.to_delayed(optimize_graph=False).ravel())


def feature_names(X: Any) -> NDArray[Any] | None:
    """Names of the columns of a data frame, if they are text."""
    if is_frame(X) and all(isinstance(name, str) for name in X.columns):
        return np.array(list(X.columns), dtype=object)
    return None


def number_array(X: Any) -> NDArray[Any]:
    """A chunk as an array of numbers, or sparse; missing ones are NaN."""
    if issparse(X):
        return X.tocsr()
    if isinstance(X, np.ma.MaskedArray):
        return X.astype(np.float64).filled(np.nan)
    if not hasattr(X, "to_numpy"):
        array: NDArray[Any] = X
        return array
    array = X.to_numpy()
    if array.dtype.kind in "biuf":
        return array
    columns = []
    for name, column in X.items():
        try:
            if column.dtype.kind in "mMc":
                raise TypeError("pandas would convert them")
            columns.append(column.to_numpy(np.float64, na_value=np.nan))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"X: column {name!r} must be numbers, but is of type {column.dtype}: "
                "convert it, or leave it out"
            ) from error
    return np.array(columns).T


def chunk_labels(y: Any) -> NDArray[Any]:
    """Labels as an array: pandas' text becomes strings, categories their values."""
    labels: NDArray[Any] = label_array(y)
    return (
        labels.astype(str) if labels.dtype.kind == "O" and all_text(labels) else labels
    )


def check_lengths(X: Any, y: Any, sample_weight: Any) -> None:
    """Refuse chunks that do not have the same rows."""
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if values is not None and len(values) != X.shape[0]:
            raise ValueError(
                f"{name} has {len(values)} rows in a chunk where X has {X.shape[0]}: "
                "the chunks of both must have the same rows"
            )
