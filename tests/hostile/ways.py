"""The ways in which a model takes its data. A new way is one more entry of WAYS."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.array as da
import numpy as np

from heterolda import ClassStatistics, ModelMisfitWarning, SmallClassWarning
from hostile.command_line import command_line
from hostile.data import Data


def fit(model: Any, data: Data) -> Any:
    """All at once."""
    extra = {} if data.weight is None else {"sample_weight": data.weight}
    return model.fit(data.X, data.y, **extra)


def partial_fit(model: Any, data: Data) -> Any:
    """Chunk by chunk, into the estimator. Only the last may warn of small classes."""
    early = SmallClassWarning, ModelMisfitWarning
    classes = np.unique(data.y)
    *chunks, last = _chunks(data)
    with warnings.catch_warnings():
        for category in early:
            warnings.simplefilter("ignore", category)
        for X, y, weight in chunks:
            model.partial_fit(X, y, classes=classes, sample_weight=weight)
    X, y, weight = last
    return model.partial_fit(X, y, classes=classes, sample_weight=weight)


def statistics(model: Any, data: Data) -> Any:
    """Chunk by chunk, last one first, into class statistics."""
    chunks = list(_chunks(data))[::-1]
    return model.fit_statistics(sum(ClassStatistics.from_data(*c) for c in chunks))


def dask_arrays(model: Any, data: Data) -> Any:
    """As dask arrays, on threads."""
    n = len(data.X)
    sizes = (n - 2 * (n // 3), n // 3, n // 3)
    if data.parts is not None:
        sizes = tuple(len(part) for part in data.parts)
        order = np.concatenate(data.parts)
        data = data.but(X=data.X[order], y=np.asarray(data.y)[order])
    whole = (-1,) * (np.ndim(data.X) - 1)
    X = da.from_array(data.X, chunks=(sizes, *whole))
    extra = {} if data.weight is None else {"sample_weight": data.weight}
    with dask.config.set(scheduler="threads"):
        return model.fit(X, data.y, **extra)


def commands(model: Any, data: Data) -> Any:
    """On the command line, from a folder of files."""
    return command_line(model, data, _chunks(data))


def moments(model: Any, data: Data) -> Any:
    """From moments, which X holds by their names."""
    return model.fit_statistics(ClassStatistics.from_moments(**data.X))


def _chunks(data: Data) -> Iterator[tuple[Any, Any, Any]]:
    """Rows, labels and weights of the chunks; three slices by default."""
    n = len(data.X)
    third = max(1, -(-n // 3))
    parts = data.parts or [slice(k, k + third) for k in range(0, n, third)]
    for part in parts or [slice(0)]:
        weight = None if data.weight is None else np.asarray(data.weight)[part]
        yield data.X[part], np.asarray(data.y)[part], weight


WAYS: dict[str, Callable[[Any, Data], Any]] = {
    "fit": fit,
    "partial_fit": partial_fit,
    "statistics": statistics,
    "dask": dask_arrays,
    "command line": commands,
    "moments": moments,
}
# Those that take rows, that solve from statistics alone, that take arrays, and two.
OF_ROWS = ("fit", "partial_fit", "statistics", "dask", "command line")
OF_STATISTICS = ("partial_fit", "statistics", "moments")
OF_ARRAYS = OF_ROWS[:-1]
FIT_OR_COMMAND = ("fit", "command line")
