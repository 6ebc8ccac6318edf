"""Parquet files as Arrow record batches, with little read ahead of its use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from heterolda.data.table import File, Table, errors_name

PARQUET_BUFFER = 1 << 16
# Bytes of text of a batch, at most, unless a single row has more.
_TEXT_BYTES = 1 << 24
_FEW_ROWS = 1024


def open_parquet(path: str, table: Table) -> File:
    """Open a file; its batches are read when they are asked for."""
    import pyarrow.parquet as pq

    with errors_name(path):
        # Without these settings all that a file holds would be read ahead.
        little: dict[str, Any] = {"pre_buffer": False, "buffer_size": PARQUET_BUFFER}
        with pq.ParquetFile(path, **little) as file:
            schema = file.schema_arrow
        resolved = table.resolve(schema.names, path, index_columns(schema))
        text = [field.name for field in schema if _is_long(field.type)]
        file = pq.ParquetFile(path, **little, read_dictionary=text)
    wanted = None if table.keep else resolved.read
    rows = resolved.rows_per_batch
    if table.keep and any(field.type.num_fields for field in schema):
        rows = min(rows, _FEW_ROWS)  # a row may hold a list of any length

    def batches() -> Iterator[Any]:
        with errors_name(path), file:
            for batch in file.iter_batches(rows, columns=wanted):
                _check_text(batch, path)
                # Labels stay as they are: each is needed but once.
                yield from _spelled_out(batch, schema) if table.keep else [batch]

    return File(path, resolved, batches(), schema, table.format)


def _is_long(kind: Any) -> bool:
    """Return whether values of a type may be of any length."""
    from pyarrow import types

    text = types.is_string(kind) or types.is_large_string(kind)
    return bool(text or types.is_binary(kind) or types.is_large_binary(kind))


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
    """Yield a batch with its text as it was, in pieces that are not too large for it.

    The same long text in a million rows takes little room in a file, and in memory as
    long as it is stored once.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    longest = 0
    for column in batch.columns:
        if types.is_dictionary(column.type) and _is_long(column.type.value_type):
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


def index_columns(schema: Any) -> list[str]:
    """Return columns that hold the index of a data frame, as pandas has noted it."""
    noted = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in noted if isinstance(name, str)]
