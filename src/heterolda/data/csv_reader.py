"""CSV and TSV, as Arrow record batches: files, or standard input as it comes.

They are read with the types that are needed, not with guessed ones: features as
numbers, labels and what is only passed on as text.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import select
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from threading import Event, Lock
from typing import IO, Any

from heterolda.data.columns import Columns, OpenFile, errors_name, not_text
from heterolda.data.header import resolved_by_header
from heterolda.data.not_numbers import not_a_number
from heterolda.data.reading import Reading

TEXT = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t"}
_READ_BYTES = 1 << 22
_LONGEST_HEADER = 1 << 24
_LONGEST_ROW = 1 << 25  # bytes, of standard input
_PROMPT_BYTES = 1 << 20  # of a row that goes on as soon as its quotes are closed
_PIPE_BYTES = 1 << 20  # of standard input, read at a time
_PATIENCE = 0.1  # seconds until it is asked again whether to stop
_FIELD_LIMIT = Lock()  # the csv module has one limit for the whole process


class DelimiterError(ValueError):
    """Columns seem to be separated by another character; commands have an option."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(problem)

    def __str__(self) -> str:
        remedy = "convert it, or read it with pyarrow.csv.open_csv and that delimiter"
        return f"{self.problem}: {remedy}"


class StandardInput:
    """Standard input, to be read once; what has come does not wait for more.

    Arrow's own reader of streams would hold each block back until the next has come.
    """

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
        while not self._stopped.is_set():
            if select.select([handle], [], [], _PATIENCE)[0]:
                data = os.read(handle, _PIPE_BYTES)
                if not data:
                    return
                yield data


def open_text_file(
    path: str, columns: Columns, reading: Reading, name: str | None = None
) -> OpenFile:
    """Open a file whose first line names the columns; Arrow reads what follows."""
    where = name or path
    lower = path.lower()
    delimiter = (
        reading.delimiter or TEXT[next(end for end in TEXT if lower.endswith(end))]
    )
    with errors_name(where), _unpacked(path) as file:
        lines = io.TextIOWrapper(file, "utf-8", "surrogateescape", "")
        names, n_lines = _header(lines, delimiter, where)
    columns = _resolved(columns, names, delimiter, where, reading)
    options = _options(columns, names, delimiter, n_lines)
    batches = _file_batches(path, where, delimiter, options)
    reading = replace(reading, delimiter=delimiter)
    return _open_file(where, columns, names, batches, reading, n_lines)


def open_standard_input(source: StandardInput, columns: Columns) -> OpenFile:
    """Open standard input, of which Arrow reads the whole rows that have come."""
    where, delimiter = source.name, source.reading.delimiter or ","
    pieces = complete_rows(source.pieces(), delimiter, where)
    first = next(filter(None, (piece.lstrip(b"\r\n") for piece in pieces)), b"")
    lines = io.StringIO(first.decode("utf-8", "surrogateescape"), newline="")
    names, n_lines = _header(lines, delimiter, where)
    columns = _resolved(columns, names, delimiter, where, source.reading)
    first = b"".join(first.splitlines(keepends=True)[n_lines:])
    options = _options(columns, names, delimiter, 0)
    batches = _piece_batches(chain([first], pieces), options)
    reading = replace(source.reading, delimiter=delimiter)
    return _open_file(where, columns, names, batches, reading)


def _open_file(
    where: str,
    columns: Columns,
    names: list[str],
    batches: Iterator[Any],
    reading: Reading,
    n_lines: int = 0,
) -> OpenFile:
    import pyarrow as pa

    schema = pa.schema([(name, pa.string()) for name in names])
    batches = _errors_name_column(batches, names, where, reading, n_lines)
    return OpenFile(where, columns, batches, schema, reading, is_text=True)


def _options(
    columns: Columns, names: list[str], delimiter: str, n_lines: int
) -> tuple[Any, Any, Any]:
    """How Arrow is to read, to parse and to convert, after some lines."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    types = dict.fromkeys(names, pa.string())
    if not columns.keep:
        types |= dict.fromkeys(columns.all, pa.float64())
    if columns.target is not None:
        types[columns.target] = pa.string()
    return (
        arrow_csv.ReadOptions(
            block_size=_READ_BYTES, column_names=names, skip_rows=n_lines
        ),
        arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        arrow_csv.ConvertOptions(
            include_columns=None if columns.keep else columns.all,
            column_types=types,
            strings_can_be_null=not columns.keep,
        ),
    )


def _file_batches(
    path: str, where: str, delimiter: str, options: tuple[Any, Any, Any]
) -> Iterator[Any]:
    """The batches of a file; an error if it has a quote that is not closed.

    Arrow would take all that follows such a quote for one cell, up to the next quote.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    def check_quotes() -> None:
        if counted.doubtful:
            with _unpacked(path) as file:
                pieces = iter(lambda: file.read(_READ_BYTES), b"")
                deque(complete_rows(pieces, delimiter, where), 0)  # for its errors

    packing = "gzip" if path.lower().endswith(".gz") else None
    with pa.input_stream(path, compression=packing) as stream:
        counted = _QuoteCounter(stream, delimiter)
        try:
            with arrow_csv.open_csv(counted, *options) as reader:
                yield from reader
        except pa.ArrowInvalid:
            check_quotes()  # whose message would be the better one
            raise
    check_quotes()


def _piece_batches(
    pieces: Iterable[bytes], options: tuple[Any, Any, Any]
) -> Iterator[Any]:
    """The batches of text that comes in pieces, each of whole rows."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    for piece in pieces:
        if piece.strip(b"\r\n"):
            options[0].block_size = max(_READ_BYTES, len(piece))
            yield from arrow_csv.read_csv(pa.BufferReader(piece), *options).to_batches()


class _QuoteCounter:
    """A file that counts quotes as it is read.

    So that ordinary files need not be read twice, those with quotes included.
    """

    def __init__(self, file: Any, delimiter: str) -> None:
        mark = delimiter.encode()
        self._file = file
        self._opening = [mark + b'"', b'\n"', b'\r"']
        self._closing = [b'"' + mark, b'"\n', b'"\r']
        self._last = b"\n"
        self._counts = [0, 0, 0]
        self.closed = False  # what Arrow asks for

    def read(self, size: int = -1) -> bytes:
        """Read some bytes."""
        data: bytes = self._file.read(size)
        if b'"' in data or self._last == b'"':
            joined = self._last + (data or b"\n")
            self._counts[0] += data.count(b'"')
            self._counts[1] += sum(map(joined.count, self._opening))
            self._counts[2] += sum(map(joined.count, self._closing))
        self._last = data[-1:] or b"\n"
        return data

    @property
    def doubtful(self) -> bool:
        """Whether some quote seems neither to open nor to close a cell."""
        n_quotes, opening, closing = self._counts
        return not opening == closing == n_quotes - opening

    def close(self) -> None:
        """Leave the file to whoever has opened it."""
        self.closed = True


def complete_rows(
    pieces: Iterable[bytes], delimiter: str, where: str
) -> Iterator[bytes]:
    """The same bytes, cut where a row ends; a quote that is not closed is an error."""
    rest, n_lines, n_quotes = b"", 0, 0
    seen = 0  # bytes of a row that is still open, or zero
    for piece in chain(pieces, [b""]):  # nothing stands for the end
        rest += piece
        n_quotes += piece.count(b'"')
        may_end = n_quotes % 2 == 0 and len(rest) <= _PROMPT_BYTES
        if piece and not may_end and len(rest) < min(2 * seen, _LONGEST_ROW):
            continue  # or every piece of a long row would mean to read it again
        stop = end = rest.rfind(b"\n") + 1 if piece else len(rest)
        is_broken = False
        if b'"' in rest:
            end, is_broken = _end_of_rows(rest[:stop], delimiter)
        too_long = not end and len(rest) > _LONGEST_ROW
        if is_broken or (end < stop and (too_long or not piece)):
            line = n_lines + rest.count(b"\n", 0, end)
            raise ValueError(
                f"{where}: a quote is not closed, or stands within quotes, in the row "
                f"after line {line}: close it, or write it twice"
            )
        if too_long:
            raise ValueError(
                f"{where}: the row after line {n_lines} is longer than "
                f"{_LONGEST_ROW >> 20} MB: perhaps a quote is not closed"
            )
        if end:
            yield rest[:end]
            n_lines += rest.count(b"\n", 0, end)
            rest = rest[end:]
            n_quotes = rest.count(b'"')
        seen = len(rest) if end < stop else 0


def _end_of_rows(text: bytes, delimiter: str) -> tuple[int, bool]:
    """Where the last whole row ends, and whether no text makes a row of what follows.

    A quote opens a cell only as its first character, and two of them within such a
    cell stand for one. Anywhere else it is a character as any other, an inch mark
    perhaps.
    """
    start = n_read = 3 if text.startswith(b"\xef\xbb\xbf") else 0  # of some editors
    end = 0

    def lines() -> Iterator[str]:
        nonlocal n_read
        # One character for each byte, so that both are counted.
        for line in io.StringIO(text[start:].decode("latin-1"), newline=""):
            n_read += len(line)
            yield line

    with _FIELD_LIMIT:
        limit = csv.field_size_limit(2 * _LONGEST_ROW)
        try:
            for _ in csv.reader(lines(), delimiter=delimiter, strict=True):
                end = n_read
        except csv.Error:  # in the last line, it may be that more has to come
            return end, n_read < len(text)
        finally:
            csv.field_size_limit(limit)
    return end, False


def _errors_name_column(
    batches: Iterator[Any],
    names: list[str],
    where: str,
    reading: Reading,
    n_lines: int,
) -> Iterator[Any]:
    """The same batches; errors name the file and the column.

    Arrow counts the lines of the header among the rows.
    """
    try:
        with errors_name(where):
            yield from batches
    except ValueError as error:
        if str(error).endswith("Empty CSV file"):
            return  # there is a header, but nothing else
        if "straddl" in str(error):
            raise ValueError(
                f"{where}: a row is longer than {_READ_BYTES >> 20} MB: perhaps a "
                "quote is not closed"
            ) from error
        cell = re.search(
            r"CSV column #(\d+): Row #(\d+): .*?invalid value '(.*)'", str(error)
        )
        if cell is None:
            raise
        name, row = names[int(cell[1])], int(cell[2]) - n_lines
        raise not_a_number(where, name, row, cell[3], reading) from error


def _unpacked(path: str) -> Any:
    """A file of bytes, unpacked."""
    return gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb")


def _resolved(
    columns: Columns, names: list[str], delimiter: str, where: str, reading: Reading
) -> Columns:
    """All columns named, or an error, which may guess at another delimiter."""
    try:
        return resolved_by_header(columns, names, where, reading)
    except ValueError as error:
        for other in ";\t|,":
            if len(names) == 1 and other in names[0]:
                raise DelimiterError(
                    f"{where}: its columns seem to be separated by {other!r}"
                ) from error
        raise


def _header(lines: IO[str], delimiter: str, where: str) -> tuple[list[str], int]:
    """Names of the columns of a text, and how many lines they take."""
    rest = iter(lambda: lines.readline(_LONGEST_HEADER), "")
    first = next(rest, "").removeprefix("\ufeff")  # the mark of some editors
    rows = csv.reader(chain([first], rest), delimiter=delimiter)
    with errors_name(where):
        names = next(filter(None, rows), [])
    if sum(map(len, names)) + len(names) >= _LONGEST_HEADER:
        raise ValueError(
            f"{where}: its first line, which must name the columns, is longer than "
            f"{_LONGEST_HEADER} characters"
        )
    if not names:
        raise ValueError(f"{where} is empty: its first line must name the columns")
    if re.search("[\0\ud800-\udfff]", "".join(names)):
        raise not_text(where)
    return names, rows.line_num


def missing_words() -> list[str]:
    """What Arrow's own reader takes for a missing value."""
    from pyarrow import csv as arrow_csv

    words: list[str] = arrow_csv.ConvertOptions().null_values
    return words


def parsed_numbers(
    column: Any, name: str, where: str, n_before: int, reading: Reading
) -> Any:
    """Numbers from text by the rules of Arrow's own reader.

    `n_before` rows of the file come before these.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = pc.is_in(column, pa.array(missing_words()))
    text = pc.if_else(missing, None, pc.ascii_trim(column, " \t"))
    try:
        return pc.cast(text, pa.float64())
    except pa.ArrowInvalid as error:
        row = next(k for k, value in enumerate(text) if not _is_number(value))
        value = column[row].as_py()
        at = n_before + row + 1
        raise not_a_number(where, name, at, value, reading) from error


def _is_number(value: Any) -> bool:
    import pyarrow as pa

    try:
        value.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
