"""Tables of text, as Arrow record batches: files, or standard input as it comes.

They are read with the types that are needed, not with guessed ones: features as
numbers, labels and what is only passed on as text. Arrow is given whole rows in memory,
so that none of its threads calls Python, perhaps when the program has ended.
"""

from __future__ import annotations

import gzip
import os
import re
import select
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any

from heterolda.data.encodings import Encoding, as_utf8
from heterolda.data.files import TEXT
from heterolda.data.formats import Format
from heterolda.data.header import resolved_by_header
from heterolda.data.layout import Layout, find_layout
from heterolda.data.notes import warn_of_reading
from heterolda.data.table import File, Table, errors_name
from heterolda.data.text_rows import (
    BLANK,
    complete_rows,
    merged_blanks,
    without_empty_rows,
    without_lines,
)
from heterolda.exceptions import ParameterError
from heterolda.foundations.wording import names_text

_READ_BYTES = 1 << 22
_COLUMN_BYTES = 1 << 10  # read at a time at least: each batch takes Arrow some time
_HEAD_BYTES = 1 << 16  # that are looked at to find out how a file is to be read
_LONGEST_HEADER = 1 << 24
_PIPE_BYTES = 1 << 20  # of standard input, read at a time
_PATIENCE = 0.1  # seconds to wait for the rows that follow the header


def open_text_file(path: str, table: Table) -> File:
    """Open a file of text; its rows are read when they are asked for."""
    where = table.name or path
    usual = TEXT[next(end for end in TEXT if path.lower().endswith(end))]
    encoding = Encoding()  # known in part from the head, and then from the rows
    with errors_name(where), _unpacked(path) as file:
        text = as_utf8(_pieces(file, _HEAD_BYTES), where, encoding)
        head, _ = _head(text, _HEAD_BYTES, where)
    layout = find_layout(head, table.format, usual, where)
    size = max(_READ_BYTES, _COLUMN_BYTES * len(layout.names))

    def rows() -> Iterator[bytes]:
        with errors_name(where), _unpacked(path) as file:
            text = as_utf8(_pieces(file, size), where, encoding)
            yield from _rows(text, layout, where)

    layout = replace(layout, format=replace(layout.format, encoding=encoding))
    return _open_file(where, table, layout, rows())


def open_text_stream(text: Iterator[bytes], table: Table, where: str) -> File:
    """Open text in UTF-8 that comes in pieces; the first shows its layout."""
    head, seen = _head(text, 0, where)  # the names are answered before a row has come
    layout = find_layout(head, table.format, ",", where)
    return _open_file(where, table, layout, _rows(chain([seen], text), layout, where))


def open_standard_input(table: Table) -> File:
    """Open standard input, of which Arrow reads the whole rows that have come."""
    where, encoding = table.name or "standard input", Encoding()
    table = replace(table, format=replace(table.format, encoding=encoding))
    return open_text_stream(as_utf8(_piped(), where, encoding), table, where)


def _piped() -> Iterator[bytes]:
    """Yield the bytes of standard input as they come."""
    stream: Any = sys.stdin.buffer
    first = stream.read1(_PIPE_BYTES)
    try:
        handle = stream.fileno()
    except OSError:  # it is not a real stream
        handle = -1
    if first and handle >= 0 and os.name == "posix":
        # How rows are written shows best in a few of them.
        time.sleep(_PATIENCE)
        if select.select([handle], [], [], 0)[0]:
            first += stream.read1(_PIPE_BYTES)
    yield first
    yield from iter(lambda: stream.read1(_PIPE_BYTES), b"")


def _head(text: Iterator[bytes], n_bytes: int, where: str) -> tuple[str, bytes]:
    """Return first lines that are not only comments, and all that was read for them."""
    seen, end, n_lines = b"", 0, 0
    for piece in text:
        seen += piece
        start, end = end, max(end, seen.rfind(b"\n") + 1)
        lines = (line.strip() for line in seen[start:end].splitlines())
        n_lines += sum(bool(line) and not line.startswith(b"#") for line in lines)
        enough = n_lines > bool(n_bytes) and len(seen) >= n_bytes
        if enough or (n_lines and len(seen) > _LONGEST_HEADER):
            return seen[:end].decode(), seen
        if len(seen) > _LONGEST_HEADER:
            raise ValueError(
                f"{where}: its first line, which must name the columns, is longer than "
                f"{_LONGEST_HEADER} characters"
            )
    if not seen.strip():
        raise ValueError(f"{where} is empty: its first line must name the columns")
    return seen.decode(), seen


def _rows(text: Iterable[bytes], layout: Layout, where: str) -> Iterator[bytes]:
    """Yield the rows of a text, in pieces of whole ones."""
    delimiter = layout.format.delimiter or ","
    if delimiter == BLANK:
        text = merged_blanks(text)
    rows = without_lines(complete_rows(text, delimiter, where), layout.n_lines)
    return without_empty_rows(rows, delimiter)


def _open_file(where: str, table: Table, layout: Layout, rows: Iterator[bytes]) -> File:
    import pyarrow as pa

    _check_na(layout.format)
    resolved = resolved_by_header(table, layout, where)
    left_out = [name for name in layout.unnamed if name not in set(resolved.read)]
    if left_out and table.columns is None:
        warn_of_reading(
            f"{where}: {names_text(left_out)} left out, since nothing names "
            f"{'it' if len(left_out) == 1 else 'them'}"
        )
    schema = pa.schema([(name, pa.string()) for name in layout.names])
    batches = _batches(rows, resolved, layout, where)
    return File(where, resolved, batches, schema, layout.format, is_text=True)


def _check_na(text: Format) -> None:
    """Refuse NA strings with a decimal comma, which separates these strings."""
    for first, second in pairwise(text.na):
        if text.decimal == "," and first[-1:].isdigit() and second.isdigit():
            raise ParameterError(
                "na",
                f": {first},{second} are two strings, but numbers have a decimal "
                f'comma: write "{first},{second}" with the quotes, or change the order',
            )


def _batches(
    rows: Iterator[bytes], table: Table, layout: Layout, where: str
) -> Iterator[Any]:
    """Yield rows by Arrow, as text where some cell is not a number."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    typed = not (table.keep or layout.format.grouped)
    n_rows = 0
    for piece in rows:
        if not piece.strip(b"\r\n"):
            continue
        with errors_name(where):
            try:
                options = _options(table, layout, len(piece), typed=typed)
                found = arrow_csv.read_csv(pa.BufferReader(piece), *options)
            except pa.ArrowInvalid as error:
                if "conversion error" not in str(error):
                    raise _explained(error, where, n_rows) from error
                options = _options(table, layout, len(piece), typed=False)
                found = arrow_csv.read_csv(pa.BufferReader(piece), *options)
        yield from found.to_batches()
        n_rows += found.num_rows


def _options(
    table: Table, layout: Layout, n_bytes: int, *, typed: bool
) -> tuple[Any, Any, Any]:
    """Return how Arrow is to read, to parse and to convert a piece of so many bytes."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    text = layout.format
    types = dict.fromkeys(layout.names, pa.string())
    if typed:
        types |= dict.fromkeys(table.read, pa.float64())
        types |= dict.fromkeys(table.text, pa.string())
    if table.target is not None:
        types[table.target] = pa.string()
    return (
        arrow_csv.ReadOptions(
            column_names=layout.names, use_threads=False, block_size=n_bytes + 1
        ),
        arrow_csv.ParseOptions(delimiter=text.delimiter, newlines_in_values=True),
        arrow_csv.ConvertOptions(
            include_columns=None if table.keep else table.read,
            column_types=types,
            strings_can_be_null=not table.keep,
            null_values=[] if table.keep else text.missing_words,
            decimal_point=text.decimal,
        ),
    )


def _explained(error: Exception, where: str, n_before: int) -> Exception:
    """Return an error of Arrow's in the user's words; so many rows come before."""
    ragged = re.search(
        r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", str(error)
    )
    if ragged is None:
        return error
    row = "a row" if ragged[1] is None else f"row {n_before + int(ragged[1])}"
    return ValueError(
        f"{where}: {row} has {ragged[3]} cells, but there are {ragged[2]} columns"
    )


def _unpacked(path: str) -> Any:
    """Open a file of bytes, unpacked."""
    return gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb")


def _pieces(file: Any, size: int) -> Iterator[bytes]:
    return iter(lambda: file.read(size), b"")
