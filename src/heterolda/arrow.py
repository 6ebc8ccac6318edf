"""Arrow record batches from files and streams, as arrays; errors name the column."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.parts import Columns, Part, errors_name
from heterolda.text_files import TEXT, TextStream, parsed_numbers, read_text

Array = NDArray[np.float64]

PARQUET = (".parquet", ".pq")
# Numbers of a batch, unless its size is asked for: about 16 MB.
_BATCH_NUMBERS = 1 << 21


def open_source(
    source: Any, columns: Columns, batch_size: int | None = None
) -> Iterator[Part]:
    """Open files or a stream, part by part.

    Parameters
    ----------
    source : path, list of paths, TextStream, or Arrow data
        As for :func:`heterolda.streaming.statistics_from_batches`.
    columns : Columns
        What is wanted. All parts must have the features of the first, and no others
        if features are not named.
    batch_size : int or None, default=None
        Rows of a batch, where the source leaves that open.

    Yields
    ------
    Part
        One after the other; each is opened when it is its turn.
    """
    if isinstance(source, TextStream):
        yield read_text(source, columns)
        return
    paths = _paths(source)
    if paths is None:
        yield _stream(source, columns, batch_size)
        return
    first: Part | None = None
    for path in paths:
        if path.lower().endswith(PARQUET):
            part = _parquet(path, columns, batch_size)
        else:
            part = read_text(path, columns)
        first = first or part
        mine, others = part.columns.features or (), first.columns.features or ()
        if set(mine) != set(others):
            raise ValueError(
                f"{path}: its columns are not those of {first.name}: "
                f"{sorted(set(mine) ^ set(others))} are in one of them only; name the "
                "columns to use in columns"
            )
        yield replace(part, columns=first.columns)


def _paths(source: Any) -> list[str] | None:
    """Names of all files of a source, or None if it is no path."""
    if isinstance(source, str | os.PathLike):
        given = [os.fspath(source)]
    elif isinstance(source, list | tuple) and all(
        isinstance(item, str | os.PathLike) for item in source
    ):
        given = [os.fspath(item) for item in source]
    else:
        return None
    paths = [path for item in given for path in _expand(str(item))]
    if not paths:
        raise ValueError("source is an empty list: name at least one file")
    for path in paths:
        if not path.lower().endswith((*PARQUET, *TEXT)):
            raise ValueError(
                f"source: the kind of the file {path!r} is not known: its name must "
                f"end in {', '.join((*PARQUET, *TEXT))}"
            )
    return paths


def _expand(path: str) -> list[str]:
    """Files of a folder or a pattern, sorted by name."""
    if os.path.isdir(path):
        inside = (p for p in sorted(Path(path).rglob("*")) if p.is_file())
        names = [
            str(p)
            for p in inside
            if p.name.lower().endswith((*PARQUET, *TEXT))
            and not any(q.startswith((".", "_")) for q in p.relative_to(path).parts)
        ]
        if not names:
            raise FileNotFoundError(
                f"source: the folder {path!r} has no file that ends in "
                f"{', '.join((*PARQUET, *TEXT))}"
            )
        return names
    if os.path.exists(path):
        return [path]
    names = sorted(glob.glob(path, recursive=True))
    if not names:
        raise FileNotFoundError(f"source: there is no file {path!r}")
    return names


def _rows(columns: Columns, batch_size: int | None) -> int:
    return batch_size or max(1024, _BATCH_NUMBERS // len(columns.all))


def _parquet(path: str, columns: Columns, batch_size: int | None) -> Part:
    import pyarrow.parquet as pq

    with errors_name(path):
        file = pq.ParquetFile(path)
        schema = file.schema_arrow
        columns = columns.resolve(schema.names, path)
    wanted = None if columns.keep else columns.all

    def batches() -> Iterator[Any]:
        with errors_name(path), file:
            yield from file.iter_batches(_rows(columns, batch_size), columns=wanted)

    return Part(path, columns, batches(), schema)


def _stream(source: Any, columns: Columns, batch_size: int | None) -> Part:
    """Arrow data that is open already, or that some other library hands over."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    if isinstance(source, ds.Dataset):
        columns = columns.resolve(source.schema.names, "source")
        batches = source.to_batches(
            columns=columns.all, batch_size=_rows(columns, batch_size)
        )
        return Part("source", columns, batches, source.schema)
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if hasattr(source, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(source)
        columns = columns.resolve(reader.schema.names, "source")
        return Part("source", columns, reader, reader.schema)
    if isinstance(source, Iterable) and not isinstance(source, dict | str | bytes):
        batches = iter(source)
        first = next(batches, None)
        if isinstance(first, pa.RecordBatch):
            columns = columns.resolve(first.schema.names, "source")
            return Part("source", columns, _chain(first, batches), first.schema)
    raise TypeError(
        "source must be a path, a list of paths, a pyarrow dataset, table or reader, "
        "record batches, or an object that exports an Arrow stream, got "
        f"{type(source).__name__}"
    )


def _chain(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def features_of(batch: Any, part: Part, n_before: int = 0) -> Array:
    """The features of a batch as a matrix of float64; missing values are NaN.

    Parameters
    ----------
    batch : RecordBatch
        The rows.
    part : Part
        Where they come from.
    n_before : int, default=0
        Number of rows of the part before these, for messages.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
        In C order.
    """
    names = part.columns.features or ()
    matrix = np.empty((batch.num_rows, len(names)))
    for j, name in enumerate(names):
        matrix[:, j] = numbers_of(batch, name, part, n_before)
    return matrix


def numbers_of(batch: Any, name: str, part: Part, n_before: int = 0) -> Array:
    """A column of numbers as float64; missing values are NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    column = _column(batch, name, part)
    if part.is_text and types.is_string(column.type):
        column = parsed_numbers(column, name, part.name, n_before)
    kind = column.type
    if not any(
        check(kind)
        for check in (
            *(types.is_floating, types.is_integer, types.is_boolean),
            *(types.is_decimal, types.is_null),
        )
    ):
        raise ValueError(
            f"{part.name}: column {name!r} must be numbers, but is of type {kind}: "
            "convert it, or leave it out of columns"
        )
    if types.is_boolean(kind):
        column = pc.cast(column, pa.uint8())
    if not types.is_float64(kind):
        column = pc.cast(column, pa.float64(), safe=False)
    array: Array = column.to_numpy(zero_copy_only=False)
    return array


def labels_of(batch: Any, part: Part) -> tuple[NDArray[np.int64], list[Any]]:
    """Labels of a batch: an index into a list of distinct ones, -1 for a missing one.

    Parameters
    ----------
    batch : RecordBatch
        The rows.
    part : Part
        Where they come from.

    Returns
    -------
    codes : ndarray of shape (n_rows,)
        Indices.
    labels : list
        Numbers, booleans or strings.
    """
    import pyarrow.compute as pc
    from pyarrow import types

    name = part.columns.target
    column = _column(batch, name, part)
    if not types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    labels = column.dictionary.to_pylist()
    good = (bool, int, str, float)
    strange = [label for label in labels if not isinstance(label, (*good, type(None)))]
    parts = [label for label in labels if isinstance(label, float) and label % 1]
    if strange or [label for label in parts if label == label]:
        raise ValueError(
            f"{part.name}: column {name!r} of the labels must be whole numbers, "
            f"booleans or text, got values such as {(strange or parts)[0]!r}"
        )
    codes = pc.fill_null(column.indices, -1).to_numpy(zero_copy_only=False)
    codes = codes.astype(np.int64)
    for code, label in enumerate(labels):
        if label is None or label != label:
            codes[codes == code] = -1
    return codes, labels


def _column(batch: Any, name: str, part: Part) -> Any:
    if name not in batch.schema.names:
        raise ValueError(f"{part.name}: a batch has no column named {name!r}")
    return batch.column(batch.schema.get_field_index(name))
