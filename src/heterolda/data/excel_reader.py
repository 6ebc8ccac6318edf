"""A sheet of an Excel workbook, read as the text that a CSV file of it would have.

So column names, missing values, titles above the table and labels mean the same in
both.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice

from heterolda.data.csv_reader import open_text_stream
from heterolda.data.encodings import Encoding
from heterolda.data.excel_workbook import Row, open_workbook
from heterolda.data.formats import Format
from heterolda.data.layout import decimal_mark
from heterolda.data.notes import warn_of_reading
from heterolda.data.table import File, Table
from heterolda.data.text_rows import BLANK

_N_ROWS = 100  # that show where a table is
_PIECE = 1 << 20  # characters of text, about
_EXACT = 2.0**53  # whole numbers below are written as such


def open_excel(path: str, table: Table) -> File:
    """Open the first sheet that has the columns; rows are read when asked for."""
    book = open_workbook(path)
    sheets = {name: book.rows(name) for name in book.sheets}
    heads = {name: list(islice(rows, _N_ROWS)) for name, rows in sheets.items()}
    heads = {name: head for name, head in heads.items() if head}
    if not heads:
        raise ValueError(f"{path} is empty: no visible sheet has data")
    where, name = path, _chosen(heads, table)
    if len(heads) > 1:
        where = f"{path}, sheet {name!r}"
        others = ", ".join(repr(other) for other in heads if other != name)
        warn_of_reading(f"{path}: the sheet {name!r} was read, and not {others}")
    head, text = heads[name], table.format
    if text.decimal is None:  # of numbers that are text: others have none
        cells = [[v for v in row.values() if isinstance(v, str)] for row in head]
        decimal, grouped = decimal_mark(cells, where)
        text = replace(text, decimal=decimal, grouped=grouped)
    if text.delimiter in (None, BLANK, text.decimal):
        text = replace(text, delimiter=";" if text.decimal == "," else ",")
    pieces = _pieces(chain(head, sheets[name]), _span(head), text, where)
    file = open_text_stream(pieces, replace(table, format=text), where)
    # Tables of results are to be opened in Excel.
    encoding = Encoding(mark=codecs.BOM_UTF8)
    return replace(
        file, format=replace(file.format, line_end="\r\n", encoding=encoding)
    )


def _chosen(heads: dict[str, list[Row]], table: Table) -> str:
    """Return the first sheet with a row that has all names wanted, or the first."""
    wanted = {*table.read, *table.exclude}
    for name, head in heads.items():
        rows = ({str(_cell(v, ".")).strip() for v in row.values()} for row in head)
        if table.format.header and any(wanted <= names for names in rows):
            return name
    return next(iter(heads))


def _span(head: Iterable[Row]) -> range:
    """Return the columns of a table: those that its first rows have."""
    head = [row for row in head if len(row) > 1] or head  # others may be titles
    return range(min(map(min, head)), max(map(max, head)) + 1)


def _pieces(
    rows: Iterable[Row], span: range, text: Format, where: str
) -> Iterator[bytes]:
    """Yield the rows of a sheet as text, in pieces of whole rows."""
    decimal = text.decimal or "."
    lines = io.StringIO(newline="")
    writer = csv.writer(
        lines,
        delimiter=text.delimiter or ",",
        lineterminator="\n",
        quoting=csv.QUOTE_NONNUMERIC,
    )
    is_beside = False
    for number, row in enumerate(rows, 1):
        is_beside = is_beside or min(row) < span.start or max(row) >= span.stop
        cells = [_cell(row.get(at, ""), decimal) for at in span]
        if any(cell != "" for cell in cells):
            writer.writerow(cells)
        if number >= _N_ROWS and lines.tell() > _PIECE:
            yield lines.getvalue().encode()
            lines.seek(0)
            lines.truncate()
    yield lines.getvalue().encode()
    if is_beside:
        warn_of_reading(f"{where}: cells beside the table were left out")


def _cell(value: float | str, decimal: str) -> float | str:
    """Return a cell for csv, which writes numbers as Python does."""
    if isinstance(value, str):
        return value
    if value.is_integer() and abs(value) < _EXACT:
        return int(value)
    return repr(value).replace(".", ",") if decimal == "," else value
