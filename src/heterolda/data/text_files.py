"""Tables of text, as Arrow record batches: files, or a stream such as standard input.

They are read with the types that are needed, not with guessed ones: features as
numbers, labels and what is only passed on as text.
"""

from __future__ import annotations

import csv as plain_csv
import gzip
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import IO, Any

from heterolda.data.parts import Columns, Part, errors_name, not_text
from heterolda.data.quotes import CountingFile, check_quotes, whole_rows

TEXT = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t"}
_BLOCK = 1 << 22
_LONGEST_HEADER = 1 << 24


@dataclass(frozen=True)
class TextStream:
    """Text with a header that comes from somewhere else than a file of its own.

    Attributes
    ----------
    chunks : callable
        Gives the bytes from the beginning, in pieces of any size.
    delimiter : str
        What stands between two columns.
    name : str
        For messages.
    stop : callable
        Ends a read that waits for more, from another thread.
    """

    chunks: Callable[[], Iterator[bytes]]
    delimiter: str = ","
    name: str = "standard input"
    stop: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class TextFiles:
    """Files whose text ones have a delimiter that their names do not tell.

    Attributes
    ----------
    paths : list of str
        The files.
    delimiter : str
        What stands between two columns.
    """

    paths: list[str]
    delimiter: str


def read_text(
    source: str | TextStream, columns: Columns, delimiter: str | None = None
) -> Part:
    """Open text whose first line names the columns.

    The header is read here and the rest by Arrow.

    Parameters
    ----------
    source : str or TextStream
        A file whose name ends in one of `TEXT`, or a stream.
    columns : Columns
        What is wanted.
    delimiter : str or None, default=None
        What stands between two columns; by default what the source says.

    Returns
    -------
    Part
        Its batches are read when they are asked for.
    """
    import pyarrow as pa
    from pyarrow import csv

    if isinstance(source, TextStream):
        where, delimiter = source.name, delimiter or source.delimiter
        blocks = whole_rows(source.chunks(), delimiter, where)
        first = next(blocks, b"").lstrip(b"\r\n")
        lines = io.StringIO(first.decode("utf-8", "surrogateescape"), newline="")
        names, skip = _header(lines, delimiter, where)
        blocks = chain([first], blocks)
    else:
        where = source
        lower = source.lower()
        delimiter = delimiter or TEXT[next(e for e in TEXT if lower.endswith(e))]
        with errors_name(where), _opened(source) as file:
            text = io.TextIOWrapper(file, "utf-8", "surrogateescape", "")
            names, skip = _header(text, delimiter, where)
    columns = _resolved(columns, names, delimiter, where)
    types = dict.fromkeys(names, pa.string())
    if not columns.keep:
        types |= dict.fromkeys(columns.all, pa.float64())
    if columns.target is not None:
        types[columns.target] = pa.string()
    read = csv.ReadOptions(block_size=_BLOCK, column_names=names, skip_rows=skip)
    options = (
        csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        csv.ConvertOptions(
            include_columns=None if columns.keep else columns.all,
            column_types=types,
            strings_can_be_null=not columns.keep,
        ),
    )

    def of_file() -> Iterator[Any]:
        packing = "gzip" if str(source).lower().endswith(".gz") else None
        with pa.input_stream(source, compression=packing) as stream:
            counting = CountingFile(stream, delimiter)
            try:
                with csv.open_csv(counting, read, *options) as reader:
                    yield from reader
            except pa.ArrowInvalid:
                look_again(counting)  # whose message would be the better one
                raise
        look_again(counting)

    def look_again(counting: CountingFile) -> None:
        if counting.doubtful:
            with _opened(str(source)) as file:
                chunks = iter(lambda: file.read(_BLOCK), b"")
                check_quotes(chunks, delimiter, where)

    def of_stream() -> Iterator[Any]:
        # Arrow would read ahead in a thread of its own, which cannot be called back.
        for block in blocks:
            if block.strip():
                table = csv.read_csv(pa.BufferReader(block), read, *options)
                yield from table.to_batches()
            read.skip_rows = 0

    batches = of_stream if isinstance(source, TextStream) else of_file
    schema = pa.schema([(name, pa.string()) for name in names])
    return Part(where, columns, _named(batches(), names, where), schema, is_text=True)


def _named(batches: Iterator[Any], names: list[str], where: str) -> Iterator[Any]:
    """The same batches; errors name the file and the column."""
    try:
        with errors_name(where):
            yield from batches
    except ValueError as error:
        if str(error).endswith("Empty CSV file"):
            return  # there is a header, but nothing else
        if "straddl" in str(error):
            raise ValueError(
                f"{where}: a row is longer than {_BLOCK >> 20} MB: perhaps a quote is "
                "not closed"
            ) from error
        column = re.search(r"CSV column #(\d+): (.*)", str(error))
        if column is None:
            raise
        name = names[int(column[1])]
        raise ValueError(
            f"{where}: column {name!r} must be numbers: {column[2]}{_hint(column[2])}"
        ) from error


def _opened(path: str) -> Any:
    """A file of bytes, unpacked."""
    return gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb")


def _resolved(
    columns: Columns, names: list[str], delimiter: str, where: str
) -> Columns:
    """All columns named, or an error, which may guess at another delimiter."""
    try:
        return columns.resolve(names, where)
    except ValueError as error:
        for other in ";\t|,":
            if len(names) == 1 and other in names[0]:
                raise ValueError(
                    f"{where}: its columns seem to be separated by {other!r}: convert "
                    "it, or read it by pyarrow.csv.open_csv with that delimiter"
                ) from error
        raise


def _header(lines: IO[str], delimiter: str, where: str) -> tuple[list[str], int]:
    """Names of the columns of a text, and how many lines they take."""
    rest = iter(lambda: lines.readline(_LONGEST_HEADER), "")
    first = next(rest, "").removeprefix("\ufeff")  # the mark of some editors
    rows = plain_csv.reader(chain([first], rest), delimiter=delimiter)
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


def parsed_numbers(column: Any, name: str, where: str, n_before: int) -> Any:
    """Numbers from text by the rules of Arrow's own reader.

    Parameters
    ----------
    column : StringArray
        The text.
    name, where : str
        Names of the column and of the file, for messages.
    n_before : int
        Number of rows of the file before these.

    Returns
    -------
    DoubleArray
        The numbers; null where they are missing.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    missing = pc.is_in(column, pa.array(csv.ConvertOptions().null_values))
    text = pc.if_else(missing, None, pc.ascii_trim(column, " \t"))
    try:
        return pc.cast(text, pa.float64())
    except pa.ArrowInvalid as error:
        row = _first_failure(text, pa.float64())
        value = column[row].as_py()
        raise ValueError(
            f"{where}: column {name!r} must be numbers, but row {n_before + row + 1} "
            f"has {value!r}{_hint(repr(value))}"
        ) from error


def _hint(text: str) -> str:
    """A word on numbers as many countries write them."""
    return "; write a decimal point" if re.search(r"'\s*-?\d+,\d+\s*'", text) else ""


def _first_failure(text: Any, kind: Any) -> int:
    """Index of the first value that cannot be cast, of which there is one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    low, high = 0, len(text)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            pc.cast(text[low:middle], kind)
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low
