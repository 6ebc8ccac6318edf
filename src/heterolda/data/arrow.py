"""Arrow record batches from files and streams, as arrays; errors name the column."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.data.parts import Columns, Part, errors_name
from heterolda.data.text_files import (
    TEXT,
    TextFiles,
    TextStream,
    parsed_numbers,
    read_text,
)

Array = NDArray[np.float64]

PARQUET = (".parquet", ".pq")
# Numbers of a batch, unless its size is asked for: about 16 MB.
_BATCH_NUMBERS = 1 << 21
_PARQUET_BUFFER = 1 << 16
# Bytes of text of a batch, at most, unless a single row has more.
_TEXT_BYTES = 1 << 24
_LONG = "string", "large_string", "binary", "large_binary"
_FEW_ROWS = 1024


def open_source(
    source: Any, columns: Columns, batch_size: int | None = None
) -> Iterator[Part]:
    """Open files or a stream, part by part.

    Parameters
    ----------
    source : path, list of paths, TextFiles, TextStream, or Arrow data
        As for :func:`heterolda.data.streaming.statistics_from_batches`.
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
    delimiter = None
    if isinstance(source, TextFiles):
        source, delimiter = source.paths, source.delimiter
    paths = _paths(source)
    parts: Iterable[Part]
    if isinstance(source, TextStream):
        parts = [read_text(source, columns)]
    elif paths is None:
        parts = _streams(source, columns, batch_size)
    else:
        parts = (_file(path, columns, batch_size, delimiter) for path in paths)
    first: Part | None = None
    for part in parts:
        first = first or part
        mine, others = part.columns.features or (), first.columns.features or ()
        if set(mine) != set(others):
            raise ValueError(
                f"{part.name}: its columns are not those of {first.name}: "
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
    repeated = [path for path, count in Counter(paths).items() if count > 1]
    if repeated:
        raise ValueError(f"source names the file {repeated[0]!r} more than once")
    for path in paths:
        if not path.lower().endswith((*PARQUET, *TEXT)):
            raise ValueError(
                f"source: the kind of the file {path!r} is not known: its name must "
                f"end in {', '.join((*PARQUET, *TEXT))}"
            )
    return paths


def _expand(path: str) -> list[str]:
    """Files of a folder or a pattern, sorted by name."""
    path = os.path.expanduser(path)
    if os.path.isdir(path):
        inside = (p for p in sorted(Path(path).rglob("*")) if not p.is_dir())
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
    return [inside for name in names for inside in _expand(name)]


def _rows(columns: Columns, batch_size: int | None) -> int:
    return batch_size or max(1024, _BATCH_NUMBERS // len(columns.all))


def _file(
    path: str, columns: Columns, batch_size: int | None, delimiter: str | None
) -> Part:
    if path.lower().endswith(PARQUET):
        return _parquet(path, columns, batch_size)
    return read_text(path, columns, delimiter)


def _parquet(path: str, columns: Columns, batch_size: int | None) -> Part:
    import pyarrow.parquet as pq

    with errors_name(path):
        # Without these settings all that a file holds would be read ahead.
        little: dict[str, Any] = {"pre_buffer": False, "buffer_size": _PARQUET_BUFFER}
        with pq.ParquetFile(path, **little) as file:
            schema = file.schema_arrow
        columns = columns.resolve(schema.names, path, _pandas_index(schema))
        for name in columns.all:
            if name != columns.target:
                _check_numbers(schema.field(name).type, name, path)
        text = [field.name for field in schema if _is_any(field.type, *_LONG)]
        file = pq.ParquetFile(path, **little, read_dictionary=text)
    wanted = None if columns.keep else columns.all
    rows = _rows(columns, batch_size)
    if columns.keep and any(field.type.num_fields for field in schema):
        rows = min(rows, _FEW_ROWS)  # a row may hold a list of any length

    def batches() -> Iterator[Any]:
        with errors_name(path), file:
            for batch in file.iter_batches(rows, columns=wanted):
                _check_text(batch, path)
                # Labels stay as they are: each is needed but once.
                yield from _spelled_out(batch, schema) if columns.keep else [batch]

    return Part(path, columns, batches(), schema)


def _check_text(batch: Any, path: str) -> None:
    """Refuse text that a damaged file has made something else."""
    import pyarrow as pa
    from pyarrow import types

    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if types.is_dictionary(column.type):
            try:
                column.dictionary.validate(full=True)
            except pa.ArrowInvalid as error:
                raise ValueError(
                    f"{path}: the text of column {name!r} is damaged: {error}"
                ) from error


def _spelled_out(batch: Any, schema: Any) -> Iterator[Any]:
    """A batch with its text as it was, in pieces that are not too large for it.

    The same long text in a million rows takes little room in a file, and in memory as
    long as it is stored once.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    longest = 0
    for column in batch.columns:
        if types.is_dictionary(column.type) and _is_any(column.type.value_type, *_LONG):
            lengths = pc.binary_length(column.dictionary)
            longest += pc.max(lengths).as_py() or 0
    rows = max(1, _TEXT_BYTES // max(1, longest))
    for start in range(0, batch.num_rows, rows):
        piece = batch.slice(start, rows)
        columns = [
            column if column.type == field.type else column.cast(field.type)
            for field, column in zip(schema, piece.columns, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _pandas_index(schema: Any) -> list[str]:
    """Columns that hold the index of a data frame, as pandas has noted it."""
    noted = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in noted if isinstance(name, str)]


def _streams(source: Any, columns: Columns, batch_size: int | None) -> Iterator[Part]:
    """Arrow data that is open already, or that some other library hands over."""
    import pyarrow.dataset as ds

    if isinstance(source, ds.Dataset):
        yield _dataset(source, columns, batch_size)
        return
    if hasattr(source, "collect_batches"):  # a lazy data frame of Polars
        source = source.collect_batches()
    if _is_table(source):
        yield _table(source, columns, batch_size, "source")
    elif isinstance(source, Iterable) and not isinstance(source, dict | str | bytes):
        for number, item in enumerate(source, 1):
            if not _is_table(item):
                raise TypeError(
                    f"item {number} of source must be a record batch or a table, got "
                    f"{type(item).__name__}"
                )
            yield _table(item, columns, batch_size, f"item {number} of source")
    else:
        raise TypeError(
            "source must be a path, a list of paths, a pyarrow dataset, table or "
            "reader, record batches, or an object that exports an Arrow stream, got "
            f"{type(source).__name__}"
        )


def _is_table(source: Any) -> bool:
    import pyarrow as pa

    return isinstance(source, pa.RecordBatch) or hasattr(source, "__arrow_c_stream__")


def _table(source: Any, columns: Columns, batch_size: int | None, where: str) -> Part:
    import pyarrow as pa

    with errors_name(where):
        if isinstance(source, pa.RecordBatch):
            source = pa.Table.from_batches([source])
        reader = pa.RecordBatchReader.from_stream(source)
    columns = columns.resolve(reader.schema.names, where, _pandas_index(reader.schema))
    rows = _rows(columns, batch_size)
    return Part(where, columns, _cut(reader, rows, where), reader.schema)


def _dataset(source: Any, columns: Columns, batch_size: int | None) -> Part:
    import pyarrow.dataset as ds

    columns = columns.resolve(
        source.schema.names, "source", _pandas_index(source.schema)
    )
    # Without these settings much of the files would be read ahead.
    little: dict[str, Any] = {"batch_readahead": 2, "fragment_readahead": 1}
    default = ds.ParquetFragmentScanOptions()
    kind = getattr(source, "format", None)  # a union of datasets has none
    if kind is not None and kind.default_fragment_scan_options == default:
        little["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
            pre_buffer=False, use_buffered_stream=True, buffer_size=_PARQUET_BUFFER
        )
    rows = _rows(columns, batch_size)
    batches = source.to_batches(columns=columns.all, batch_size=rows, **little)
    return Part("source", columns, _cut(batches, rows, "source"), source.schema)


def _cut(batches: Iterable[Any], rows: int, where: str) -> Iterator[Any]:
    """Batches of no more than some rows: one of all rows would be copied as a whole."""
    with errors_name(where):
        for batch in batches:
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)


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
        Column by column in memory, as Arrow has them.
    """
    names = part.columns.features or ()
    columns = np.empty((len(names), batch.num_rows))
    for column, name in zip(columns, names, strict=True):
        column[:] = numbers_of(batch, name, part, n_before)
    return columns.T


def numbers_of(batch: Any, name: str, part: Part, n_before: int = 0) -> Array:
    """A column of numbers as float64; missing values are NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    column = _column(batch, name, part)
    if part.is_text and types.is_string(column.type):
        column = parsed_numbers(column, name, part.name, n_before)
    _check_numbers(column.type, name, part.name)
    column = _unpacked(column)
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if types.is_boolean(kind):
        column = pc.cast(column, pa.uint8())
    if not types.is_float64(kind):
        column = pc.cast(column, pa.float64(), safe=False)
    array: Array = column.to_numpy(zero_copy_only=False)
    return array


def _check_numbers(kind: Any, name: str, where: str) -> None:
    """Refuse a column of a type that is no kind of numbers."""
    from pyarrow import types

    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        kind = kind.value_type
    if not _is_any(kind, "floating", "integer", "boolean", "decimal", "null"):
        raise ValueError(
            f"{where}: column {name!r} must be numbers, but is of type {kind}: convert "
            "it, or leave it out of columns"
        )


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
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    name = part.columns.target
    column = _unpacked(_column(batch, name, part))
    is_encoded = types.is_dictionary(column.type)
    kind = column.type.value_type if is_encoded else column.type
    numbers, text = ("integer", "floating"), ("string", "large_string", "string_view")
    if not _is_any(kind, *numbers, *text, "boolean", "null"):
        raise ValueError(
            f"{part.name}: column {name!r} of the labels must be whole numbers, "
            f"booleans or text, but is of type {kind}: convert it to text"
        )
    if not is_encoded:
        column = pc.dictionary_encode(column)
    labels = column.dictionary.to_pylist()
    for label in labels:
        if isinstance(label, float) and label == label and label % 1:
            raise ValueError(
                f"{part.name}: column {name!r} of the labels must be whole numbers, "
                f"booleans or text, got values such as {label!r}"
            )
    codes = pc.fill_null(pc.cast(column.indices, pa.int64()), -1).to_numpy()
    codes = codes.copy()
    for code, label in enumerate(labels):
        if label is None or label != label:
            codes[codes == code] = -1
    return codes, labels


def _is_any(kind: Any, *names: str) -> bool:
    from pyarrow import types

    return any(getattr(types, f"is_{name}")(kind) for name in names)


def _unpacked(column: Any) -> Any:
    """A column with its values one by one, not by the lengths of runs."""
    import pyarrow.compute as pc
    from pyarrow import types

    packed = types.is_run_end_encoded(column.type)
    return pc.run_end_decode(column) if packed else column


def _column(batch: Any, name: str | None, part: Part) -> Any:
    # Names are looked up, not searched for: there may be many.
    at = batch.schema.get_field_index(name)
    if at < 0:
        raise ValueError(f"{part.name}: a batch has no column named {name!r}")
    return batch.column(at)
