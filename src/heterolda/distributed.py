"""Dask arrays and data frames: the same model, whatever holds the rows.

Class statistics add up, so a fit is one tree of sums; a few matrices travel, no rows.
Tasks run where dask runs them: on the active client's cluster or in local threads.
Estimators find this module through :mod:`heterolda.lazy`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from numpy.typing import ArrayLike, NDArray

from heterolda.passes import Look, Pairing, Walk, look
from heterolda.refine import Report, tell
from heterolda.statistics import ClassStatistics

_FAN_IN = 8  # sums that one task adds up
# Rows that a pass sets aside for all pairs together, as a multiple of those of the
# chunk; but no fewer for each pair than the least.
_ROOM_SHARE = 2
_LEAST_ROOM = 4096


def statistics(X: Any, y: Any, sample_weight: Any = None) -> ClassStatistics:
    """Class statistics of a dask collection.

    Parameters
    ----------
    X : dask array or data frame of shape (n_samples, n_features)
        Data, in any chunks; their sizes need not be known.
    y : dask array or series, or array-like, of shape (n_samples,)
        Labels.
    sample_weight : the same, or None, default=None
        Frequencies.

    Returns
    -------
    ClassStatistics
        Computed; nothing lazy is left.
    """
    parts = [
        dask.delayed(_of_block, pure=True)(*blocks, names)
        for *blocks, names in _aligned(X, y, sample_weight)
    ]
    while len(parts) > 1:
        groups = [parts[k : k + _FAN_IN] for k in range(0, len(parts), _FAN_IN)]
        parts = [dask.delayed(_sum, pure=True)(group) for group in groups]
    (total,) = dask.compute(parts[0])
    if total is None:
        raise ValueError("X has no rows: a classifier needs data of two classes")
    result: ClassStatistics = total
    return result


def sample(X: Any) -> Any:
    """A row with the columns of a collection, not of its data."""
    if _is_frame(X):
        return X._meta_nonempty.head(1)
    return np.zeros((1, _whole_rows(X).shape[1]))


def apply(method: Callable[[Any], Any], X: Any) -> Any:
    """A method of a fitted estimator on each chunk of a collection, lazily.

    Parameters
    ----------
    method : callable
        Takes rows, returns an array with an entry for each.
    X : dask array or data frame
        Rows.

    Returns
    -------
    dask array
        The results, in the same chunks of rows.
    """
    if _is_frame(X):
        chunks = [np.nan] * X.npartitions
    else:
        X = _whole_rows(X)
        chunks = X.chunks[0]
    like = method(sample(X))  # what is wrong with the columns is said now, not later
    run = dask.delayed(_answer, pure=True)
    model = dask.delayed(method)
    blocks = [
        da.from_delayed(
            run(model, block, like[:0]), (size, *like.shape[1:]), dtype=like.dtype
        )
        for block, size in zip(_blocks(X), chunks, strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def accuracy(
    predict: Callable[[Any], NDArray[Any]], X: Any, y: Any, sample_weight: Any = None
) -> float:
    """Share of the weight of rows that are predicted right.

    Parameters
    ----------
    predict : callable
        Takes rows, returns labels.
    X, y, sample_weight
        As for `statistics`.

    Returns
    -------
    float
        Computed.
    """
    model = dask.delayed(predict)
    parts = [
        dask.delayed(_right, pure=True)(model, *blocks)
        for *blocks, _ in _aligned(X, y, sample_weight)
    ]
    right, weight = np.sum(dask.compute(*parts), axis=0)
    if weight == 0:
        raise ValueError("X has no rows of positive weight to score")
    return float(right / weight)


class DaskRows:
    """Rows of a dask collection for a search; they stay where dask keeps them.

    Rules travel to the workers and counts of errors come back. What a pass sets aside
    stays on the worker that went through the chunk, and is made anew if that is lost.

    Parameters
    ----------
    X, y, sample_weight
        As for `statistics`.
    """

    def __init__(self, X: Any, y: Any, sample_weight: Any = None):
        self.statistics = statistics(X, y, sample_weight)
        self.weighted = sample_weight is not None
        self._chunks = [blocks for *blocks, _ in _aligned(X, y, sample_weight)]
        self._looks: tuple[Any, ...] = ()

    def look(self, pairing: Pairing, walks: Mapping[int, Walk]) -> None:
        """Let the walks, by the numbers of their pairs, arrive where they are."""
        self._looks = ()  # of the pass before, so that workers can forget them
        rules = {k: (walk.v, walk.step) for k, walk in walks.items()}
        task = dask.delayed(_look_at_block, pure=False)
        pairs, rules = dask.delayed(pairing), dask.delayed(rules, traverse=False)
        looks = [task(*blocks, pairs, rules) for blocks in self._chunks]
        self._looks = dask.persist(*looks)
        found = self._gather(_found)
        for k, walk in walks.items():
            mine = [part[k] for part in found if k in part]
            errors, changes, horizons = zip(*mine, strict=True)
            walk.arrive(sum(errors), np.sum(changes, axis=0), min(horizons))

    def go_on(
        self, pairing: Pairing, walks: Mapping[int, Walk], reports: list[Report]
    ) -> None:
        """Let each walk go on to its horizon, all at the same pace."""
        while active := {k: walk for k, walk in walks.items() if walk.n_safe()}:
            rules = {k: (walk.v, walk.step, walk.reach) for k, walk in active.items()}
            found = self._gather(_changes, rules)
            for k, walk in active.items():
                walk.move(np.sum([part[k] for part in found if k in part], axis=0))
                tell(reports[k], walk.state, pairing.unit(k))

    def _gather(self, question: Callable[..., Any], *arguments: Any) -> Any:
        """Ask all workers about what they have set aside."""
        ask = dask.delayed(question, pure=False)
        return dask.compute(*[ask(look, *arguments) for look in self._looks])


def _look_at_block(
    X: Any, y: Any, sample_weight: Any, pairing: Pairing, rules: dict[int, Any]
) -> dict[int, Look]:
    """Look at the rows of a chunk, for each pair that has some there."""
    room = max(_LEAST_ROOM, _ROOM_SHARE * len(X) // len(rules))
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    codes = np.searchsorted(pairing.classes, _labels(y))
    weight = None
    if sample_weight is not None:
        weight = np.asarray(sample_weight, dtype=np.float64)
    return {
        k: look(rows, *rules[k], room)
        for k, rows in pairing.rows(rules, X, codes, weight)
    }


def _found(looks: dict[int, Look]) -> dict[int, Any]:
    """What of a look travels: counts and the horizon."""
    return {
        k: (seen.errors, seen.changes, seen.near.horizon) for k, seen in looks.items()
    }


def _changes(looks: dict[int, Look], rules: dict[int, Any]) -> dict[int, Any]:
    """How neighbours change the errors, for each pair that has rows here."""
    return {
        k: looks[k].near.within(reach).changes(v, step)
        for k, (v, step, reach) in rules.items()
        if k in looks
    }


def _of_block(
    X: Any, y: Any, sample_weight: Any, names: NDArray[Any] | None
) -> ClassStatistics | None:
    """Statistics of a chunk; None if it has no rows."""
    _check_lengths(X, y, sample_weight)
    if not len(X):
        return None
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    part = ClassStatistics.from_data(X, _labels(y), sample_weight)
    part.feature_names = names
    return part


def _sum(parts: list[ClassStatistics | None]) -> ClassStatistics | None:
    return reduce(add, [part for part in parts if part is not None] or [None])


def _answer(method: Callable[[Any], Any], X: Any, empty: Any) -> Any:
    return method(X) if len(X) else empty


def _right(
    predict: Callable[[Any], NDArray[Any]], X: Any, y: Any, sample_weight: Any
) -> tuple[float, float]:
    """Weight of the rows of a chunk that are predicted right, and of all."""
    _check_lengths(X, y, sample_weight)
    if not len(X):
        return 0.0, 0.0
    right = predict(X) == _labels(y)
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
    return float(weight[right].sum()), float(weight.sum())


def _labels(y: Any) -> NDArray[Any]:
    """Labels as an array: pandas' text becomes objects, categories their values."""
    labels: NDArray[Any] = np.asarray(y)
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels):
        return labels.astype(str)
    return labels


def _check_lengths(X: Any, y: Any, sample_weight: Any) -> None:
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if values is not None and len(values) != len(X):
            raise ValueError(
                f"{name} has {len(values)} rows in a chunk where X has {len(X)}: the "
                "collections must be cut into chunks at the same rows"
            )


def _aligned(X: Any, y: Any, sample_weight: Any) -> list[tuple[Any, ...]]:
    """Chunks of X, y and the weights that belong together, and the feature names."""
    names = None
    if _is_frame(X):
        columns = list(X.columns)
        if all(isinstance(name, str) for name in columns):
            names = np.array(columns, dtype=object)
    else:
        X = _whole_rows(X)
    blocks = _blocks(X)
    rows = [blocks]
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if values is None and name != "y":
            rows.append([None] * len(blocks))
            continue
        values = _like(X, values, name)
        parts = _blocks(values)
        if len(parts) != len(blocks):
            raise ValueError(
                f"{name} has {len(parts)} chunks where X has {len(blocks)}, and their "
                "sizes are not known: repartition both in the same way"
            )
        rows.append(parts)
    return [(*group, names) for group in zip(*rows, strict=True)]


def _like(X: Any, values: ArrayLike, name: str) -> Any:
    """Labels or weights in the chunks of X, as far as these are known."""
    known = not _is_frame(X) and not np.isnan(X.shape[0])
    if not is_dask_collection(values):
        if not known:
            raise TypeError(
                f"{name} must be a dask collection with the chunks of X, because the "
                f"sizes of these are not known; got {type(values).__name__}"
            )
        values = da.from_array(np.asarray(values), chunks=-1)
    if not _is_frame(values):
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise ValueError(f"{name} must have one dimension, got {values.ndim}")
        if known and not np.isnan(values.shape[0]):
            if values.shape != X.shape[:1]:
                raise ValueError(
                    f"{name} must have one entry for each of the {X.shape[0]} rows of "
                    f"X, got {values.shape[0]}"
                )
            values = values.rechunk((X.chunks[0],))
    return values


def _is_frame(X: Any) -> bool:
    return hasattr(X, "npartitions") and not isinstance(X, da.Array)


def _whole_rows(X: Any) -> Any:
    """The array with whole rows in each chunk."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _blocks(X: Any) -> list[Any]:
    """Chunks of rows, each as a task."""
    blocks = X.to_delayed()
    return list(blocks if _is_frame(X) else blocks.ravel())
