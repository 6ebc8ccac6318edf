"""Tables as files: record batches written as they come, whole or not at all."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import IO, Any

from heterolda.data.excel_reader import EXCEL
from heterolda.data.parquet_reader import PARQUET
from heterolda.data.reading import Reading
from heterolda.foundations.files import written_whole

STANDARD_OUTPUT = "-"
# The usual delimiter of text, by the end of a file's name.
WRITTEN = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
# Bytes of rows that are written to a Parquet file at a time: small groups are slow.
_ROW_GROUP = 1 << 25


def check_table_name(path: str) -> str:
    """Refuse the name of a file whose ending does not say what to write."""
    if path.lower().endswith(EXCEL):
        raise ValueError(
            f"{path!r}: Excel workbooks can be read, but not written: name a .csv "
            "file, which opens in Excel"
        )
    if path != STANDARD_OUTPUT and not path.lower().endswith((*WRITTEN, *PARQUET)):
        raise ValueError(
            f"the file {path!r} is of unknown type: its name must end in "
            f"{', '.join((*WRITTEN, *PARQUET))}"
        )
    return path


def write_table(
    batches: Iterable[tuple[Any, Reading]],
    path: str = STANDARD_OUTPUT,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write record batches to a file, or as text to the standard output.

    With each batch comes how its rows were read: text is written in the same way.
    There is at least one batch, perhaps without rows, and all are of one schema.
    Returns the number of rows.
    """
    n_rows = 0

    def counted() -> Iterator[tuple[Any, Reading]]:
        nonlocal n_rows
        for batch, reading in batches:
            yield batch, reading
            n_rows += batch.num_rows
            if progress is not None:
                progress(n_rows)

    lower = check_table_name(path).lower()
    if path == STANDARD_OUTPUT:
        sys.stdout.flush()
        for text in _texts(counted(), None):
            sys.stdout.buffer.write(text)
            sys.stdout.buffer.flush()  # somebody may wait for it with the next rows
        return n_rows
    with written_whole(path) as file:
        if lower.endswith(PARQUET):
            _write_parquet((batch for batch, _ in counted()), file)
            return n_rows
        texts = _texts(counted(), WRITTEN[next(filter(lower.endswith, WRITTEN))])
        if lower.endswith(".gz"):
            # Without a name and a time, the same rows make the same bytes.
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                packed.writelines(texts)
        else:
            file.writelines(texts)
    return n_rows


def _texts(
    batches: Iterable[tuple[Any, Reading]], usual: str | None
) -> Iterator[bytes]:
    """Batches as text, after the names of the columns.

    They are written as the first was read: with its delimiter and its decimal mark.
    But by the name of the file, if there is one, tabs are `usual` or they are not.
    """
    import pyarrow as pa

    style = None
    for batch, reading in batches:
        if style is None:
            delimiter = reading.delimiter or ","
            if delimiter == " " or (usual and "\t" in (usual, delimiter)):
                delimiter = usual or ","
            style = delimiter, reading.decimal or "."
            names = batch.schema.names
            header = pa.RecordBatch.from_arrays([pa.array([n]) for n in names], names)
            yield text_of(header, *style)
        yield text_of(batch, *style)


def _write_parquet(batches: Iterator[Any], file: IO[bytes]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = next(batches)
    with pq.ParquetWriter(file, first.schema) as writer:
        waiting: list[Any] = []
        for batch in chain([first], batches):
            try:
                waiting.append(batch.cast(writer.schema))
            except pa.ArrowInvalid as error:
                raise ValueError(
                    f"the files have columns of different types: {error}; write CSV, "
                    "or one file at a time"
                ) from error
            if sum(batch.nbytes for batch in waiting) > _ROW_GROUP:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting.clear()
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting))


def text_of(batch: Any, delimiter: str, decimal: str = ".") -> bytes:
    """The rows of a batch as lines in UTF-8; quotes only where they are needed.

    Missing values become empty.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not batch.num_rows:
        return b""
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
    needs = pc.match_substring_regex(cells, special)
    if pc.any(needs).as_py():
        doubled = pc.replace_substring(cells, '"', '""')
        mark = pa.scalar('"', pa.large_string())
        empty = pa.scalar("", pa.large_string())
        quoted = pc.binary_join_element_wise(mark, doubled, mark, empty)
        cells = pc.if_else(needs, quoted, cells)
    n = batch.num_rows
    columns = [cells.slice(start, n) for start in range(0, len(cells), n)]
    between, end = (pa.scalar(mark, pa.large_string()) for mark in (delimiter, "\n"))
    lines = pc.binary_join_element_wise(*columns, between)
    lines = pc.binary_join_element_wise(lines, end, pa.scalar("", pa.large_string()))
    # The strings of an array lie one after the other in memory.
    n_bytes = pc.sum(pc.binary_length(lines)).as_py()
    return bytes(lines.buffers()[2][:n_bytes])
