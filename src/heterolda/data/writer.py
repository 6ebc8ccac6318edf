"""Write record batches to files, whole or not at all, or to standard output."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from math import nan
from typing import IO, Any

from heterolda.data.files import PARQUET, STANDARD_STREAM, WRITTEN, check_written
from heterolda.data.formats import Encoding, Format
from heterolda.foundations.files import atomic_write
from heterolda.foundations.threads import Progress, silent
from heterolda.foundations.wording import count

# Bytes of a row group in a Parquet file; small groups make files half as large again.
_ROW_GROUP = 1 << 25


def write_table(
    batches: Iterable[tuple[Any, Format]],
    path: str = STANDARD_STREAM,
    progress: Progress = silent,
) -> int:
    """Write batches with their formats, at least one, and return the number of rows."""
    n_rows = 0

    def counting_rows() -> Iterator[tuple[Any, Format]]:
        nonlocal n_rows
        for batch, text in batches:
            yield batch, text
            n_rows += batch.num_rows
            progress(count(n_rows, "row"), nan)

    check_written(path)
    name = path.lower()
    if path == STANDARD_STREAM:
        sys.stdout.flush()
        for text in _texts(counting_rows(), None, is_shown=sys.stdout.isatty()):
            sys.stdout.buffer.write(text)
            sys.stdout.buffer.flush()  # a reader may need it to send the next rows
        return n_rows
    with atomic_write(path) as file:
        if name.endswith(PARQUET):
            _write_parquet((batch for batch, _ in counting_rows()), file)
            return n_rows
        texts = _texts(counting_rows(), WRITTEN[next(filter(name.endswith, WRITTEN))])
        if name.endswith(".gz"):
            # Without a name and a time, equal rows give equal bytes.
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                packed.writelines(texts)
        else:
            file.writelines(texts)
    return n_rows


def _texts(
    batches: Iterator[tuple[Any, Format]], usual: str | None, is_shown: bool = False
) -> Iterator[bytes]:
    """Yield the column names and batches as text, in the format of the first batch."""
    import pyarrow as pa

    first, text = next(batches)
    delimiter = text.delimiter or ","
    # The usual delimiter of a file name decides whether to use tabs.
    if delimiter == " " or (usual and "\t" in (usual, delimiter)):
        delimiter = ";" if usual == text.decimal else usual or ","
    style = delimiter, text.decimal or ".", text.line_end
    names = first.schema.names
    header = pa.RecordBatch.from_arrays([pa.array([name]) for name in names], names)
    encoding = Encoding() if is_shown else text.encoding
    # Excel needs the mark of UTF-8; pipes do not.
    mark = encoding.mark if usual or encoding.name != "utf-8" else b""
    yield mark + encoding.encode(text_of(header, *style))
    for batch, detected in chain([(first, text)], batches):
        # Windows-1252 may be detected only at a later row.
        encoding = Encoding() if is_shown else detected.encoding
        yield encoding.encode(text_of(batch, *style))


def _write_parquet(batches: Iterator[Any], file: IO[bytes]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = next(batches)
    with pq.ParquetWriter(file, first.schema) as writer:
        pending: list[Any] = []
        size = 0
        for batch in chain([first], batches):
            try:
                pending.append(batch.cast(writer.schema))
            except pa.ArrowInvalid as error:
                raise ValueError(
                    f"the files have columns of different types: {error}; write CSV, "
                    "or one file at a time"
                ) from error
            size += batch.nbytes
            if size > _ROW_GROUP:
                writer.write_table(pa.Table.from_batches(pending))
                pending.clear()
                size = 0
        if pending:
            writer.write_table(pa.Table.from_batches(pending))


def text_of(
    batch: Any, delimiter: str, decimal: str = ".", line_end: str = "\n"
) -> bytes:
    """Return the rows of a batch as lines in UTF-8; quotes only where needed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not batch.num_rows:
        return b""
    scalar = partial(pa.scalar, type=pa.large_string())
    special = f'["\r\n{delimiter}]'
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            text = pc.cast(column, pa.large_string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ValueError(
                f"column {name!r} of type {column.type} cannot be written as text: "
                "write Parquet, or leave it out"
            ) from error
        if decimal != "." and pa.types.is_floating(column.type):
            text = pc.replace_substring(text, ".", decimal)
        columns.append(text)
    # All columns at once, as there may be many.
    cells = pc.fill_null(pa.concat_arrays(columns), "")
    needs_quotes = pc.match_substring_regex(cells, special)
    if pc.any(needs_quotes).as_py():
        doubled = pc.replace_substring(cells, '"', '""')
        mark = scalar('"')
        quoted = pc.binary_join_element_wise(mark, doubled, mark, scalar(""))
        cells = pc.if_else(needs_quotes, quoted, cells)
    n = batch.num_rows
    columns = [cells.slice(start, n) for start in range(0, len(cells), n)]
    lines = pc.binary_join_element_wise(*columns, scalar(delimiter))
    lines = pc.binary_join_element_wise(lines, scalar(line_end), scalar(""))
    # The strings of an array are contiguous in memory.
    n_bytes = pc.sum(pc.binary_length(lines)).as_py()
    return bytes(lines.buffers()[2][:n_bytes])
