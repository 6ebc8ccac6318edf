"""Tables as files: record batches written as they come, whole or not at all."""

from __future__ import annotations

import csv
import gzip
import io
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any

from heterolda.data.csv_reader import TEXT
from heterolda.data.parquet_reader import PARQUET
from heterolda.foundations.files import written_whole

__all__ = ["check_table_name", "text_of", "write_table"]

STANDARD_OUTPUT = "-"
# Bytes of rows that are written to a Parquet file at a time: small groups are slow.
_ROW_GROUP = 1 << 25


def check_table_name(path: str) -> str:
    """Refuse the name of a file whose ending does not say what to write."""
    if path != STANDARD_OUTPUT and not path.lower().endswith((*TEXT, *PARQUET)):
        raise ValueError(
            f"the kind of the file {path!r} is not known: its name must end in "
            f"{', '.join((*TEXT, *PARQUET))}"
        )
    return path


def write_table(
    batches: Iterable[Any],
    path: str = STANDARD_OUTPUT,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write record batches to a file, or as CSV to the standard output.

    There is at least one batch, perhaps without rows, and all are of one schema.
    Returns the number of rows.
    """
    n_rows = 0
    with _opened(check_table_name(path)) as write:
        for batch in batches:
            write(batch)
            n_rows += batch.num_rows
            if progress is not None:
                progress(n_rows)
    return n_rows


@contextmanager
def _opened(path: str) -> Iterator[Callable[[Any], None]]:
    """A function that writes a batch to a file."""
    if path == STANDARD_OUTPUT:
        sys.stdout.flush()
        write = _text_writer(sys.stdout.buffer, ",")

        def write_now(batch: Any) -> None:
            write(batch)
            sys.stdout.buffer.flush()  # somebody may wait for it with the next rows

        yield write_now
        return
    lower = path.lower()
    with ExitStack() as stack:
        file: Any = stack.enter_context(written_whole(path))
        if lower.endswith(PARQUET):
            yield _parquet_writer(file, stack)
            return
        if lower.endswith(".gz"):
            # Without a name and a time, the same rows make the same bytes.
            file = stack.enter_context(
                gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0)
            )
        yield _text_writer(file, TEXT[next(end for end in TEXT if lower.endswith(end))])


def _text_writer(file: IO[bytes], delimiter: str) -> Callable[[Any], None]:
    header: list[str] = []

    def write(batch: Any) -> None:
        if not header:
            header.extend(batch.schema.names)
            line = io.StringIO()
            csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(header)
            file.write(line.getvalue().encode())
        file.write(text_of(batch, delimiter))

    return write


def _parquet_writer(file: IO[bytes], stack: ExitStack) -> Callable[[Any], None]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writers: list[Any] = []
    waiting: list[Any] = []
    n_bytes = 0

    def flush() -> None:
        nonlocal n_bytes
        if waiting:
            writers[0].write_table(pa.Table.from_batches(waiting))
            waiting.clear()
            n_bytes = 0

    def end(kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            flush()

    def write(batch: Any) -> None:
        nonlocal n_bytes
        if not writers:
            writers.append(stack.enter_context(pq.ParquetWriter(file, batch.schema)))
            stack.push(end)
        try:
            waiting.append(batch.cast(writers[0].schema))
        except pa.ArrowInvalid as error:
            raise ValueError(
                f"the files have columns of different types: {error}; write CSV, or "
                "one file at a time"
            ) from error
        n_bytes += waiting[-1].nbytes
        if n_bytes > _ROW_GROUP:
            flush()

    return write


def text_of(batch: Any, delimiter: str) -> bytes:
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
            text = pc.fill_null(pc.cast(column, pa.large_string()), "")
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ValueError(
                f"column {name!r} of type {column.type} cannot be written as text: "
                "write Parquet, or leave it out"
            ) from error
        needs = pc.match_substring_regex(text, special)
        if pc.any(needs).as_py():
            doubled = pc.replace_substring(text, '"', '""')
            mark = pa.scalar('"', pa.large_string())
            empty = pa.scalar("", pa.large_string())
            quoted = pc.binary_join_element_wise(mark, doubled, mark, empty)
            text = pc.if_else(needs, quoted, text)
        columns.append(text)
    between, end = (pa.scalar(mark, pa.large_string()) for mark in (delimiter, "\n"))
    lines = pc.binary_join_element_wise(*columns, between)
    lines = pc.binary_join_element_wise(lines, end, pa.scalar("", pa.large_string()))
    # The strings of an array lie one after the other in memory.
    n_bytes = pc.sum(pc.binary_length(lines)).as_py()
    return bytes(lines.buffers()[2][:n_bytes])
