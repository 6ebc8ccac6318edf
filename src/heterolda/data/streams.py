"""Rows that are not in files: Arrow data of any library, and arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heterolda.data.parquet_reader import PARQUET_BUFFER, index_columns
from heterolda.data.table import File, Table, errors_name
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.validation import (
    check_sample_weight,
    check_unmasked,
    label_array,
)
from heterolda.statistics.rows import coded_labels

LABELS, WEIGHTS = "target", "sample_weight"  # in messages, in place of names of columns


def is_read_once(source: Any) -> bool:
    """Return whether the rows of a source are gone after a pass."""
    return any(hasattr(source, name) for name in ("__next__", "read_next_batch"))


def open_streams(table: Table) -> Iterator[File]:
    """Open Arrow data, or what another library hands over, item by item."""
    import pyarrow.dataset as ds

    source = table.source
    if isinstance(source, ArrayRows):
        yield source.open(table)
        return
    if isinstance(source, ds.Dataset):
        yield _dataset(source, table)
        return
    if hasattr(source, "collect_batches"):  # a lazy data frame of Polars
        source = source.collect_batches()
    if _is_table(source):
        yield _stream(source, table, "source")
    elif isinstance(source, Iterable) and not isinstance(source, dict | str | bytes):
        for number, item in enumerate(source, 1):
            if not _is_table(item):
                raise TypeError(
                    f"item {number} of source must be a record batch or a table, got "
                    f"{type(item).__name__}"
                )
            yield _stream(item, table, f"item {number} of source")
    else:
        raise TypeError(
            "source must be a path, a list of paths, a pyarrow dataset, table or "
            "reader, record batches, or an object that exports an Arrow stream, got "
            f"{type(source).__name__}"
        )


def _is_table(source: Any) -> bool:
    import pyarrow as pa

    return isinstance(source, pa.RecordBatch) or hasattr(source, "__arrow_c_stream__")


def _stream(source: Any, table: Table, where: str) -> File:
    import pyarrow as pa

    with errors_name(where):
        if isinstance(source, pa.RecordBatch):
            source = pa.Table.from_batches([source])
        reader = pa.RecordBatchReader.from_stream(source)
    return _file(reader, reader.schema, table, where)


def _dataset(source: Any, table: Table) -> File:
    import pyarrow.dataset as ds

    index = index_columns(source.schema)
    resolved = table.resolve(source.schema.names, "source", index)
    # Without these settings much of the files would be read ahead.
    little: dict[str, Any] = {"batch_readahead": 2, "fragment_readahead": 1}
    default = ds.ParquetFragmentScanOptions()
    kind = getattr(source, "format", None)  # a union of datasets has none
    if kind is not None and kind.default_fragment_scan_options == default:
        little["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
            pre_buffer=False, use_buffered_stream=True, buffer_size=PARQUET_BUFFER
        )
    size = resolved.rows_per_batch
    batches = source.to_batches(columns=resolved.read, batch_size=size, **little)
    return _file(batches, source.schema, table, "source")


def _file(batches: Iterable[Any], schema: Any, table: Table, where: str) -> File:
    resolved = table.resolve(schema.names, where, index_columns(schema))
    cut = _cut(batches, resolved.rows_per_batch, where)
    return File(where, resolved, cut, schema, table.format)


def _cut(batches: Iterable[Any], rows: int, where: str) -> Iterator[Any]:
    """Yield batches of at most so many rows: one of all would be copied as a whole."""
    with errors_name(where):
        for batch in batches:
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """An array of rows, or a memory map, with all labels and weights."""

    X: NDArray[Any]
    codes: Index
    labels: list[Any]
    weights: Array | None

    @classmethod
    def checked(cls, X: NDArray[Any], y: ArrayLike, weights: ArrayLike | None) -> Any:
        """Refuse what is not an array of numbers, and labels of other rows."""
        check_unmasked("source", X)
        if X.ndim != 2 or X.dtype.kind not in "biuf" or not X.shape[1]:
            raise ParameterError(
                "source",
                "must be a two-dimensional array of numbers with at least one "
                f"column, got shape {X.shape} of {X.dtype}",
            )
        if isinstance(y, str) or np.shape(y) != X.shape[:1]:
            raise ParameterError(
                "target",
                "must be an array of labels if source is an array, one for each of "
                f"the {len(X)} rows, got {y!r:.50}",
            )
        classes, codes = coded_labels(label_array(y, "target"), warn=False)
        return cls(X, codes, classes.tolist(), check_sample_weight(weights, len(X)))

    def open(self, table: Table) -> File:
        """Open the rows as record batches."""
        import pyarrow as pa

        names = [*map(str, range(self.X.shape[1])), *table.read]
        schema = pa.schema([(name, pa.float64()) for name in names])
        resolved = table.resolve(schema.names, "source")

        def batches() -> Iterator[Any]:
            labels = pa.array(self.labels)
            for start in range(0, len(self.X), resolved.rows_per_batch):
                rows = slice(start, start + resolved.rows_per_batch)
                X = self.X[rows].T.astype(np.float64, order="C")
                columns = dict(zip(schema.names, map(pa.array, X), strict=False))
                columns[LABELS] = labels.take(pa.array(self.codes[rows]))
                if self.weights is not None:
                    columns[WEIGHTS] = pa.array(self.weights[rows])
                yield pa.RecordBatch.from_pydict(columns)

        return File("source", resolved, batches(), schema)
