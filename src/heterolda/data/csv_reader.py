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
from functools import lru_cache
from itertools import chain, pairwise
from threading import Event
from typing import Any

from heterolda.data.columns import Columns, OpenFile, errors_name
from heterolda.data.encodings import as_utf8
from heterolda.data.header import resolved_by_header
from heterolda.data.not_numbers import not_a_number
from heterolda.data.reading import Reading
from heterolda.data.text_layout import Layout, find_layout
from heterolda.data.text_rows import (
    BLANK,
    complete_rows,
    merged_blanks,
    without_empty_rows,
    without_lines,
)
from heterolda.data.warn import warn_of_reading
from heterolda.exceptions import ParameterError
from heterolda.foundations.wording import names_text

_ENDINGS = {
    ".csv": ",",
    ".tsv": "\t",
    ".tab": "\t",
    ".txt": ",",
    ".data": ",",
    ".dat": ",",
}
# The usual delimiter by the end of a file's name.
TEXT = _ENDINGS | {f"{ending}.gz": mark for ending, mark in _ENDINGS.items()}
_READ_BYTES = 1 << 22
_COLUMN_BYTES = 1 << 10  # read at a time at least: each batch takes Arrow some time
_HEAD_BYTES = 1 << 16  # that are looked at to find out how a file is to be read
_LONGEST_HEADER = 1 << 24
_MOST_BLANKS = 5  # of a cell that is empty
_PIPE_BYTES = 1 << 20  # of standard input, read at a time
_PATIENCE = 0.1  # seconds until it is asked again whether to stop


class StandardInput:
    """Standard input, to be read once; what has come does not wait for more."""

    name = "standard input"

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._stopped = Event()

    def stop(self) -> None:
        """End a read that waits for more, from another thread."""
        self._stopped.set()

    def pieces(self) -> Iterator[bytes]:
        """The bytes, in pieces as they come."""
        try:
            handle = sys.stdin.fileno()
        except (OSError, ValueError):  # it is not a real stream
            handle = -1
        if handle < 0 or os.name != "posix":  # elsewhere one can wait for sockets only
            stream: Any = sys.stdin.buffer
            yield from iter(lambda: stream.read1(_PIPE_BYTES), b"")
            return
        is_first = True
        while not self._stopped.is_set():
            if select.select([handle], [], [], _PATIENCE)[0]:
                data = os.read(handle, _PIPE_BYTES)
                if is_first and data:
                    # How rows are written shows best in a few of them.
                    time.sleep(_PATIENCE)
                    ready = select.select([handle], [], [], 0)[0]
                    data += os.read(handle, _PIPE_BYTES) if ready else b""
                    is_first = False
                if not data:
                    return
                yield data


def open_text_file(
    path: str, columns: Columns, reading: Reading, name: str | None = None
) -> OpenFile:
    """Open a file of text; its rows are read when they are asked for."""
    where = name or path
    usual = TEXT[next(end for end in TEXT if path.lower().endswith(end))]
    with errors_name(where), _unpacked(path) as file:
        first = as_utf8(_pieces(file, _HEAD_BYTES), where)
        head, _ = _head(first, _HEAD_BYTES, where)
    layout = find_layout(head, reading, usual, where)
    size = max(_READ_BYTES, _COLUMN_BYTES * len(layout.names))

    def rows() -> Iterator[bytes]:
        with errors_name(where), _unpacked(path) as file:
            yield from _rows(as_utf8(_pieces(file, size), where), layout, where)

    return _open_file(where, columns, layout, rows())


def open_standard_input(source: StandardInput, columns: Columns) -> OpenFile:
    """Open standard input, of which Arrow reads the whole rows that have come."""
    return open_text_stream(source.pieces(), columns, source.reading, source.name)


def open_text_stream(
    pieces: Iterable[bytes], columns: Columns, reading: Reading, where: str
) -> OpenFile:
    """Open text that comes in pieces, of which the first shows how it is laid out."""
    text = as_utf8(pieces, where)
    head, seen = _head(text, 0, where)  # the names are answered before a row has come
    layout = find_layout(head, reading, ",", where)
    return _open_file(where, columns, layout, _rows(chain([seen], text), layout, where))


def _head(text: Iterator[bytes], n_bytes: int, where: str) -> tuple[str, bytes]:
    """The first lines of a text, not only comments; and all that was read for them."""
    seen = b""
    for piece in text:
        seen += piece
        end = seen.rfind(b"\n") + 1
        lines = [line for line in seen[:end].splitlines() if line.strip()]
        n_lines = sum(not line.startswith(b"#") for line in lines)
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
    """The rows of a text, in pieces of whole ones."""
    delimiter = layout.reading.delimiter or ","
    if delimiter == BLANK:
        text = merged_blanks(text)
    rows = without_lines(complete_rows(text, delimiter, where), layout.n_lines)
    return without_empty_rows(rows, delimiter)


def _open_file(
    where: str, columns: Columns, layout: Layout, rows: Iterator[bytes]
) -> OpenFile:
    import pyarrow as pa

    names, unnamed = layout.names, layout.unnamed
    as_given = columns
    _check_marks(layout.reading)
    columns = resolved_by_header(columns, names, where, layout.reading, unnamed)
    used = set(columns.all)
    left_out = [name for name in unnamed if name not in used]
    if left_out and as_given.features is None:
        warn_of_reading(
            f"{where}: {names_text(left_out)} left out, since nothing names "
            f"{'it' if len(left_out) == 1 else 'them'}"
        )
    schema = pa.schema([(name, pa.string()) for name in names])
    batches = _batches(rows, columns, layout, where)
    return OpenFile(where, columns, batches, schema, layout.reading, is_text=True)


def _check_marks(reading: Reading) -> None:
    """Refuse a mark with a decimal comma, which separates marks."""
    for first, second in pairwise(reading.marks):
        if reading.decimal == "," and first[-1:].isdigit() and second.isdigit():
            raise ParameterError(
                "na",
                f": {first},{second} are two marks, but numbers have a decimal comma: "
                f'write "{first},{second}" with the quotes, or change the order',
            )


def _batches(
    rows: Iterator[bytes], columns: Columns, layout: Layout, where: str
) -> Iterator[Any]:
    """Rows by Arrow; errors name the file, and the column or the row."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    options = _options(columns, layout)
    n_rows = 0
    for piece in rows:
        if not piece.strip(b"\r\n"):
            continue
        options[0].block_size = len(piece) + 1
        try:
            with errors_name(where):
                table = arrow_csv.read_csv(pa.BufferReader(piece), *options)
        except ValueError as error:
            raise _explained(error, layout, where, n_rows) from error
        yield from table.to_batches()
        n_rows += table.num_rows


def _options(columns: Columns, layout: Layout) -> tuple[Any, Any, Any]:
    """How Arrow is to read, to parse and to convert."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    reading = layout.reading
    types = dict.fromkeys(layout.names, pa.string())
    if not (columns.keep or reading.grouped):
        types |= dict.fromkeys(columns.all, pa.float64())
        types |= dict.fromkeys(columns.text, pa.string())
    if columns.target is not None:
        types[columns.target] = pa.string()
    return (
        arrow_csv.ReadOptions(column_names=layout.names, use_threads=False),
        arrow_csv.ParseOptions(delimiter=reading.delimiter, newlines_in_values=True),
        arrow_csv.ConvertOptions(
            include_columns=None if columns.keep else columns.all,
            column_types=types,
            strings_can_be_null=not columns.keep,
            null_values=[] if columns.keep else missing_words(reading),
            decimal_point=reading.decimal,
        ),
    )


def _explained(
    error: ValueError, layout: Layout, where: str, n_before: int
) -> ValueError:
    """An error of Arrow's in the user's words; so many rows come before."""
    text = str(error)
    cell = re.search(r"CSV column #(\d+): Row #(\d+): .*?invalid value '(.*)'", text)
    if cell is not None:
        name, at = layout.names[int(cell[1])], n_before + int(cell[2])
        return not_a_number(where, name, at, cell[3], layout.reading)
    ragged = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", text)
    if ragged is not None:
        row = "a row" if ragged[1] is None else f"row {n_before + int(ragged[1])}"
        return ValueError(
            f"{where}: {row} has {ragged[3]} cells, but there are {ragged[2]} columns"
        )
    return error


def _unpacked(path: str) -> Any:
    """A file of bytes, unpacked."""
    return gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb")


def _pieces(file: Any, size: int) -> Iterator[bytes]:
    return iter(lambda: file.read(size), b"")


@lru_cache
def missing_words(reading: Reading) -> list[str]:
    """What stands for a missing value: what Arrow takes for it, and marks besides.

    But for those that are numbers. Arrow needs much memory for each word, in files of
    many columns.
    """
    from pyarrow import csv as arrow_csv

    usual = arrow_csv.ConvertOptions().null_values
    padded = [*reading.words, *(usual if reading.padded else ())]
    blanks = [" " * n for n in range(1, _MOST_BLANKS)]
    words = [*usual, *blanks, *reading.words, *(f" {word}" for word in padded)]
    return list(dict.fromkeys(words))


def parsed_numbers(
    column: Any, name: str, where: str, n_before: int, reading: Reading
) -> Any:
    """Numbers from text by the rules of Arrow's own reader.

    `n_before` rows of the file come before these.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = pc.is_in(column, pa.array(missing_words(reading)))
    text = pc.if_else(missing, None, pc.ascii_trim(column, " \t"))
    if reading.grouped:
        group = "," if reading.decimal == "." else "."
        grouped = rf"^[+-]?[1-9]\d{{0,2}}([{group}]\d{{3}})+([{reading.decimal}]\d*)?$"
        digits = pc.replace_substring(text, group, "")
        text = pc.if_else(pc.match_substring_regex(text, grouped), digits, text)
    if reading.decimal == ",":  # and a point makes no number
        text = pc.replace_substring(pc.replace_substring(text, ".", ":"), ",", ".")
    try:
        return pc.cast(text, pa.float64())
    except pa.ArrowInvalid as error:
        row = next(k for k, value in enumerate(text) if not _is_number(value))
        at, value = n_before + row + 1, column[row].as_py()
        raise not_a_number(where, name, at, value, reading) from error


def _is_number(value: Any) -> bool:
    import pyarrow as pa

    try:
        value.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
