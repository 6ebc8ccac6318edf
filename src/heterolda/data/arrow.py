"""Read Parquet files, and Arrow data of any library, as Arrow record batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from heterolda.data.not_numeric import is_any
from heterolda.data.table import File, Table, errors_naming
from heterolda.estimators.fit_record import encoded

_PARQUET_BUFFER = 1 << 16
_TEXT_BYTES = 1 << 24  # maximum of a batch, unless a single row has more
_BATCH_NUMBERS = 1 << 21  # 16 MB, unless rows are few
_FEW_ROWS = 1024
_LONG = "string", "large_string", "binary", "large_binary"  # types of any length


def open_parquet(path: str, table: Table) -> File:
    """Open a Parquet file; its batches are read on demand."""
    import pyarrow.parquet as pq

    with errors_naming(path):
        # Without these settings Arrow would read the whole file ahead.
        settings: dict[str, Any] = {"pre_buffer": False, "buffer_size": _PARQUET_BUFFER}
        with pq.ParquetFile(path, **settings) as file:
            schema = file.schema_arrow
        columns = table.feature_columns(schema.names, path, _index_columns(schema))
        text = [field.name for field in schema if is_any(field.type, *_LONG)]
        file = pq.ParquetFile(path, **settings, read_dictionary=text)
    needed = None if table.keep else table.read(columns)
    rows = _rows_per_batch(table, columns)
    if table.keep and any(field.type.num_fields for field in schema):
        rows = min(rows, _FEW_ROWS)  # a row may hold a list of any length

    def batches() -> Iterator[Any]:
        with errors_naming(path), file:
            for batch in file.iter_batches(rows, columns=needed):
                _check_text(batch, path)
                # Labels stay encoded: each is needed only once.
                yield from _decoded(batch, schema) if table.keep else [batch]

    return File(path, table, columns, batches(), schema, table.format)


def _rows_per_batch(table: Table, columns: tuple[str, ...]) -> int:
    # Rows that are kept to be written take more memory than their numbers.
    n_numbers = len(encoded(columns, table.categories)) + (16 if table.keep else 0)
    return max(_FEW_ROWS, _BATCH_NUMBERS // max(1, n_numbers))


def _index_columns(schema: Any) -> list[str]:
    """Return the columns in which pandas stored the index of a data frame."""
    columns = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in columns if isinstance(name, str)]


def _check_text(batch: Any, path: str) -> None:
    """Raise ValueError if text, or the codes of text, are damaged."""
    import pyarrow as pa
    from pyarrow import types

    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if types.is_dictionary(column.type):
            try:
                column.validate(full=True)
            except pa.ArrowInvalid as error:
                raise ValueError(
                    f"{path}: column {name!r} is damaged: write the file again "
                    f"({error})"
                ) from error


def _decoded(batch: Any, schema: Any) -> Iterator[Any]:
    """Yield a batch with its text decoded, in pieces that fit in memory."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    max_length = 0
    for column in batch.columns:
        if types.is_dictionary(column.type) and is_any(column.type.value_type, *_LONG):
            max_length += pc.max(pc.binary_length(column.dictionary)).as_py() or 0
    for piece in _cut([batch], max(1, _TEXT_BYTES // max(1, max_length))):
        columns = [
            column if column.type == field.type else column.cast(field.type)
            for field, column in zip(schema, piece.columns, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _cut(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Yield slices of at most `rows` rows, since batches are copied as a whole."""
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def open_streams(table: Table) -> Iterator[File]:
    """Open Arrow data, or data that another library exports, item by item."""
    import pyarrow.dataset as ds

    source = table.source
    if hasattr(source, "collect_batches"):  # a lazy data frame of Polars
        source = source.collect_batches()
    if isinstance(source, ds.Dataset) or _is_stream(source):
        yield _stream(source, table, "source")
    elif isinstance(source, Iterable) and not isinstance(source, dict | np.ndarray):
        for number, item in enumerate(source, 1):
            if not _is_stream(item):
                raise TypeError(
                    f"item {number} of source must be a record batch or a table, got "
                    f"{type(item).__name__}"
                )
            yield _stream(item, table, f"item {number} of source")
    else:
        raise TypeError(
            "source must be a path, a list of paths, a pyarrow dataset, table or "
            "reader, record batches, or an object that exports an Arrow stream, got "
            f"{type(source).__name__}: pass an array to fit, or in parts to "
            "ClassStatistics.update"
        )


def _is_stream(source: Any) -> bool:
    import pyarrow as pa

    return isinstance(source, pa.RecordBatch) or hasattr(source, "__arrow_c_stream__")


def _stream(source: Any, table: Table, where: str) -> File:
    import pyarrow as pa
    import pyarrow.dataset as ds

    with errors_naming(where):
        if isinstance(source, pa.RecordBatch):
            source = pa.Table.from_batches([source])
        if not isinstance(source, ds.Dataset):
            source = pa.RecordBatchReader.from_stream(source)
    schema = source.schema
    columns = table.feature_columns(schema.names, where, _index_columns(schema))
    size = _rows_per_batch(table, columns)

    def batches() -> Iterator[Any]:
        with errors_naming(where):
            if isinstance(source, ds.Dataset):
                yield from _of_dataset(source, table.read(columns), size)
            else:
                yield from _cut(source, size)

    return File(where, table, columns, batches(), schema, table.format)


def _of_dataset(source: Any, columns: list[str], size: int) -> Iterator[Any]:
    """Yield batches of a dataset without reading much of its files ahead."""
    import pyarrow.dataset as ds

    settings: dict[str, Any] = {"batch_readahead": 2, "fragment_readahead": 1}
    default = ds.ParquetFragmentScanOptions()
    kind = getattr(source, "format", None)  # a union of datasets has none
    if kind is not None and kind.default_fragment_scan_options == default:
        settings["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
            pre_buffer=False, use_buffered_stream=True, buffer_size=_PARQUET_BUFFER
        )
    return iter(source.to_batches(columns=columns, batch_size=size, **settings))
