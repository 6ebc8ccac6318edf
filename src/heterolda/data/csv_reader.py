"""Read text tables from files or standard input as Arrow record batches.

Column types are not guessed: features are numbers; labels and columns that are only
copied are text. Arrow gets whole rows in memory, so its threads never call Python,
which may already have exited.
"""

from __future__ import annotations

import codecs
import gzip
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any

from heterolda.data.formats import Encoding, as_utf8, number_of, warn_of_reading
from heterolda.data.layout import Layout, find_layout
from heterolda.data.table import File, Table, errors_naming
from heterolda.data.text_rows import (
    BLANK,
    complete_rows,
    count_of,
    merged_blanks,
    without_empty_rows,
)
from heterolda.foundations.wording import count, named, names_text

_READ_BYTES = 1 << 22
_COLUMN_BYTES = 1 << 10  # minimum read per column, as each batch has a cost in Arrow
_HEAD_BYTES = 1 << 16  # examined to detect the layout of a file
_MAX_HEADER = 1 << 24
_PIPE_BYTES = 1 << 20  # read from standard input at a time
_SCALE_LENGTH = 10  # increasing numbers form a scale, such as wavelengths
_NUMBER_SHARE = 0.75  # of the names of a row of data


def open_text_file(path: str, table: Table) -> File:
    """Open a text file, whose rows are read on demand."""
    where = table.name or path
    is_tabs = path.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
    encoding = Encoding()
    text = as_utf8(_file_pieces(path, where), where, encoding)
    usual = "\t" if is_tabs else ","
    return open_text(text, table, where, encoding, usual, _HEAD_BYTES)


def open_standard_input(table: Table) -> File:
    """Open standard input; Arrow reads the whole rows that have arrived."""
    where, encoding = "standard input", Encoding()
    stream: Any = sys.stdin.buffer
    pieces = iter(lambda: stream.read1(_PIPE_BYTES), b"")
    return open_text(as_utf8(pieces, where, encoding), table, where, encoding)


def open_text(
    text: Iterator[bytes],
    table: Table,
    where: str,
    encoding: Encoding,
    usual: str = ",",
    n_bytes: int = 0,
) -> File:
    """Open UTF-8 text that comes in pieces; the first ones show its layout.

    In a file, the first `n_bytes` are examined; in a stream, the first row. `encoding`
    is that of the source; predictions are written in it.
    """
    import pyarrow as pa

    n_lines = 1 + table.format.header
    head, buffer = _head(text, n_bytes, n_lines, where)
    layout = find_layout(head, table.format, usual, where)
    columns = _columns(table, layout, where)
    left_out = [name for name in layout.unnamed if name not in table.read(columns)]
    if left_out and table.columns is None:
        warn_of_reading(
            f"{where}: left out {count(len(left_out), 'column')} without a name: "
            f"{names_text(left_out)}"
        )
    schema = pa.schema([(name, pa.string()) for name in layout.names])
    min_bytes = max(_READ_BYTES, _COLUMN_BYTES * len(layout.names)) if n_bytes else 0
    delimiter = layout.format.delimiter or ","
    pieces: Iterable[bytes] = chain([buffer], text)
    if delimiter == BLANK:
        pieces = (piece.replace(b"\t", b" ") for piece in pieces)
    rows = complete_rows(pieces, delimiter, where, min_bytes)
    if delimiter == BLANK:
        rows = map(merged_blanks, rows)
    batches = _batches(rows, table, columns, layout, where)
    detected = replace(layout.format, encoding=encoding)
    return File(where, table, columns, batches, schema, detected, is_text=True)


def _file_pieces(path: str, where: str) -> Iterator[bytes]:
    """Yield the unpacked bytes of a file; the first piece is small."""
    opener: Any = gzip.open if path.lower().endswith(".gz") else open
    with errors_naming(where), opener(path, "rb") as file:
        yield file.read(_HEAD_BYTES)
        yield from iter(lambda: file.read(_READ_BYTES), b"")


def _head(
    text: Iterator[bytes], n_bytes: int, min_lines: int, where: str
) -> tuple[str, bytes]:
    """Return some lines, `min_lines` besides comments, and all that was read."""
    buffer, end, n_lines = b"", 0, 0
    for piece in text:
        buffer += piece
        start, end = end, max(end, buffer.rfind(b"\n") + 1)
        lines = (line.strip() for line in buffer[start:end].splitlines())
        n_lines += sum(bool(line) and not line.startswith(b"#") for line in lines)
        is_long = len(buffer) > _MAX_HEADER
        if n_lines and (is_long or (n_lines >= min_lines and len(buffer) >= n_bytes)):
            return buffer[:end].decode(), buffer
        if is_long:
            raise ValueError(
                f"{where}: its first line, which must name the columns, is longer than "
                f"{_MAX_HEADER} characters"
            )
    if not buffer.strip():
        raise ValueError(f"{where} is empty: its first line must name the columns")
    return buffer.decode(), buffer


def _columns(table: Table, layout: Layout, where: str) -> tuple[str, ...]:
    """Return the feature columns; warn if the column names may be a row of data."""
    names, option = layout.names, "--no-header"
    if not (layout.format.header and looks_like_a_row(names)):
        return table.feature_columns(names, where, layout.unnamed)
    note = (
        f"first line was read as column names, {named(names, 3)}; if it is a row, add"
    )
    end = f"; the columns are then column_1 to column_{len(names)}"
    try:
        columns = table.feature_columns(names, where, layout.unnamed)
    except ValueError as error:
        problem = str(error).partition(";")[0]
        textual = [k for k, name in enumerate(names, 1) if number_of(name) is None]
        if table.target not in (None, *names) and len(textual) == 1:
            option += f" --target column_{textual[0]}"
        raise ValueError(f"{problem}; its {note} {option}{end}") from error
    if table.columns is None:
        warn_of_reading(f"{where}: its {note} {option}{end}")
    return columns


def looks_like_a_row(names: Sequence[str]) -> bool:
    """Return whether most names are numbers that are neither a count nor a scale."""
    numbers = [n for n in map(number_of, names) if n is not None]
    if len(numbers) < max(2, min(_NUMBER_SHARE * len(names), len(names) - 1)):
        return False
    steps = {b - a for a, b in pairwise(numbers)}
    return steps != {1} and not (len(numbers) >= _SCALE_LENGTH and min(steps) > 0)


def _batches(
    pieces: Iterable[bytes],
    table: Table,
    columns: tuple[str, ...],
    layout: Layout,
    where: str,
) -> Iterator[Any]:
    """Yield record batches, as text where a cell is not a number."""
    import pyarrow as pa

    delimiter = layout.format.delimiter or ","
    is_typed = not (table.keep or layout.format.grouped)
    n_rows = 0
    for piece in _below_header(pieces, layout, where):
        piece = without_empty_rows(piece, delimiter)
        if not piece.strip(b"\r\n"):
            continue
        with errors_naming(where):
            try:
                rows = _read(piece, table, columns, layout, typed=is_typed)
            except pa.ArrowInvalid as error:
                if "conversion error" not in str(error):
                    raise _explained(error, where, n_rows) from error
                rows = _read(piece, table, columns, layout, typed=False)
        yield from rows.to_batches()
        n_rows += rows.num_rows


def _below_header(
    pieces: Iterable[bytes], layout: Layout, where: str
) -> Iterator[bytes]:
    """Yield the text below the header; reject copies of the header, or empty them."""
    line = rb"(?<![^\r\n])(?:%b)?[ \t]*%b[ \t]*(?![^\r\n])"
    copy = re.compile(line % (codecs.BOM_UTF8, re.escape(layout.header)))
    n_lines, n_copies = layout.n_lines, 0
    for number, piece in enumerate(pieces):
        if not number:  # with all lines above
            piece = b"".join(piece.splitlines(keepends=True)[n_lines:])
        if layout.header and layout.header in piece and (match := copy.search(piece)):
            if not layout.format.skip_repeated_header:
                n_lines += len(piece[: match.start()].splitlines())
                raise ValueError(
                    f"{where}: line {n_lines + 1} repeats the column names, as if "
                    "files had been joined: delete it, or leave such lines out with "
                    "--skip-repeated-header"
                )
            piece, n = copy.subn(b"", piece)
            n_copies += n
        n_lines += count_of(b"\n", piece)
        yield piece
    if n_copies:
        lines = count(n_copies, "line")
        warn_of_reading(f"{where}: left out {lines} with the column names")


def _read(
    piece: bytes, table: Table, columns: tuple[str, ...], layout: Layout, *, typed: bool
) -> Any:
    """Return whole rows as an Arrow table; the features are text unless `typed`."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    text, read = layout.format, table.read(columns)
    types = dict.fromkeys(layout.names, pa.string())
    if typed:
        numbers = {*read} - {*table.categorical, table.target, table.held_by}
        types |= dict.fromkeys(numbers, pa.float64())
    return arrow_csv.read_csv(
        pa.BufferReader(piece),
        arrow_csv.ReadOptions(
            column_names=layout.names, use_threads=False, block_size=len(piece) + 1
        ),
        arrow_csv.ParseOptions(delimiter=text.delimiter, newlines_in_values=True),
        arrow_csv.ConvertOptions(
            include_columns=None if table.keep else read,
            column_types=types,
            strings_can_be_null=not table.keep,
            null_values=[] if table.keep else text.missing_words,
            decimal_point=text.decimal,
        ),
    )


def _explained(error: Exception, where: str, n_before: int) -> Exception:
    """Reword an error of Arrow; `n_before` rows precede the piece."""
    ragged = re.search(
        r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", str(error)
    )
    if ragged is None:
        return error
    row = "a row" if ragged[1] is None else f"row {n_before + int(ragged[1])}"
    return ValueError(
        f"{where}: {row} has {count(int(ragged[3]), 'cell')}, but there are "
        f"{ragged[2]} columns: correct it, or quote cells that hold the delimiter"
    )
