"""A sheet of an Excel workbook, read as the text that a CSV file of it would have.

So names of columns, gaps, titles above the table and labels mean the same in both.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice

from heterolda.data.columns import Columns, OpenFile
from heterolda.data.csv_reader import open_text_stream
from heterolda.data.excel_workbook import Row, open_workbook
from heterolda.data.reading import Reading
from heterolda.data.text_layout import decimal_mark
from heterolda.data.text_rows import BLANK
from heterolda.data.warn import warn_of_reading

EXCEL = (".xlsx", ".xlsm")
_N_ROWS = 100  # that show where a table is
_PIECE = 1 << 20  # characters of text, about
_EXACT = 2.0**53  # whole numbers below are written as such


def open_excel(path: str, columns: Columns, reading: Reading) -> OpenFile:
    """Open the first sheet that has the columns; rows are read when asked for."""
    book = open_workbook(path)
    sheets = {name: book.rows(name) for name in book.sheets}
    heads = {name: list(islice(rows, _N_ROWS)) for name, rows in sheets.items()}
    heads = {name: head for name, head in heads.items() if head}
    if not heads:
        raise ValueError(f"{path} is empty: no visible sheet has data")
    where, name = path, _chosen(heads, columns, reading)
    if len(heads) > 1:
        where = f"{path}, sheet {name!r}"
        others = ", ".join(repr(other) for other in heads if other != name)
        warn_of_reading(f"{path}: the sheet {name!r} was read, and not {others}")
    head = heads[name]
    if reading.decimal is None:  # of numbers that are text: others have none
        texts = [[v for v in row.values() if isinstance(v, str)] for row in head]
        decimal, grouped = decimal_mark(texts, where)
        reading = replace(reading, decimal=decimal, grouped=grouped)
    if reading.delimiter in (None, BLANK, reading.decimal):
        reading = replace(reading, delimiter=";" if reading.decimal == "," else ",")
    pieces = _pieces(chain(head, sheets[name]), _span(head), reading, where)
    return open_text_stream(pieces, columns, reading, where)


def _chosen(heads: dict[str, list[Row]], columns: Columns, reading: Reading) -> str:
    """The first sheet with a row that has all names that are wanted, or the first."""
    wanted = {*columns.all, *columns.exclude}
    for name, head in heads.items():
        named = ({str(_cell(v, reading)).strip() for v in row.values()} for row in head)
        if reading.header and any(wanted <= names for names in named):
            return name
    return next(iter(heads))


def _span(head: Iterable[Row]) -> range:
    """The columns of a table: those that its first rows have."""
    head = [row for row in head if len(row) > 1] or head  # others may be titles
    return range(min(map(min, head)), max(map(max, head)) + 1)


def _pieces(
    rows: Iterable[Row], span: range, reading: Reading, where: str
) -> Iterator[bytes]:
    """The rows of a sheet as text, in pieces of whole rows."""
    text = io.StringIO(newline="")
    writer = csv.writer(
        text,
        delimiter=reading.delimiter or ",",
        lineterminator="\n",
        quoting=csv.QUOTE_NONNUMERIC,
    )
    is_beside = False
    for number, row in enumerate(rows, 1):
        is_beside = is_beside or min(row) < span.start or max(row) >= span.stop
        cells = [_cell(row.get(at, ""), reading) for at in span]
        if any(cell != "" for cell in cells):
            writer.writerow(cells)
        if number >= _N_ROWS and text.tell() > _PIECE:
            yield text.getvalue().encode()
            text.seek(0)
            text.truncate()
    yield text.getvalue().encode()
    if is_beside:
        warn_of_reading(f"{where}: cells beside the table were left out")


def _cell(value: float | str, reading: Reading) -> float | str:
    """A cell for csv, which writes numbers as Python does."""
    if isinstance(value, str):
        return value
    if value.is_integer() and abs(value) < _EXACT:
        return int(value)
    return repr(value).replace(".", ",") if reading.decimal == "," else value
