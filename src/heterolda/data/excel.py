"""Read a sheet of an Excel workbook as CSV text.

Column names, missing values, titles and labels are thus treated as in CSV files.
The zipped XML is parsed as it is unpacked, so memory holds a few rows and the shared
strings. Readers that build the whole sheet allocate every cell between the first and
the last, so that a file of two cells can exhaust memory.
"""

from __future__ import annotations

import codecs
import csv
import io
import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from itertools import chain, islice
from typing import Any
from xml.parsers import expat

from heterolda.data.csv_reader import open_text
from heterolda.data.formats import Encoding, Format, number_of, warn_of_reading
from heterolda.data.layout import decimal_mark
from heterolda.data.table import File, Table
from heterolda.data.text_rows import BLANK

_N_ROWS = 100  # examined to locate the table
_TEXT_PIECE = 1 << 20  # characters yielded at a time, roughly
_EXACT = 2.0**53  # smaller whole numbers are written as integers
_PIECE = 1 << 16  # bytes parsed at a time
_MAX_TAG = 1 << 22  # bytes
_MAX_CELL = 32_767  # characters, as in Excel
_MAX_ROW = 1 << 25  # characters
_MAX_COLUMNS = 16_384  # as in Excel
_MAX_STRINGS = 1 << 29  # bytes of the shared strings, roughly
_MAX_PART = 1 << 26  # bytes of a part that is read whole
# Numbers of Excel's built-in formats of dates and times.
_DATES = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
_NOT_CODE = re.compile(r'"[^"]*"|\\.|[_*].|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)
_DATE = re.compile("^[^;]*[dmyhs]", re.IGNORECASE)
_ESCAPED = re.compile("_x(0009|000A|000D|005F)_")
_OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # start of .xls and encrypted files

# The nonempty cells of a row by column index.
Row = dict[int, float | str]


def open_excel(path: str, table: Table) -> File:
    """Open the first sheet that has the columns; rows are read on demand."""
    book = open_workbook(path)
    sheets = {name: book.rows(name) for name in book.sheets}
    first_rows = {name: list(islice(rows, _N_ROWS)) for name, rows in sheets.items()}
    first_rows = {name: head for name, head in first_rows.items() if head}
    if not first_rows:
        raise ValueError(f"{path} is empty: no visible sheet has data")
    where, name = path, _chosen(first_rows, table)
    if len(first_rows) > 1:
        where = f"{path}, sheet {name!r}"
        others = ", ".join(repr(other) for other in first_rows if other != name)
        warn_of_reading(f"{path}: the sheet {name!r} was read, and not {others}")
    head, text = first_rows[name], table.format
    # Only numbers stored as text have a decimal mark.
    cells = [[v for v in row.values() if isinstance(v, str)] for row in head]
    decimal, grouped = decimal_mark(cells, where, given=text.decimal)
    text = replace(text, decimal=decimal, grouped=grouped)
    if text.delimiter in (None, BLANK, text.decimal):
        text = replace(text, delimiter=";" if text.decimal == "," else ",")
    wide = [row for row in head if len(row) > 1] or head  # single cells may be titles
    span = range(min(map(min, wide)), max(map(max, wide)) + 1)
    lines = _lines(chain(head, sheets[name]), span, text)
    # Excel should be able to open the results.
    encoding = Encoding(mark=codecs.BOM_UTF8)
    file = open_text(lines, replace(table, format=text), where, encoding)
    return replace(file, format=replace(file.format, line_end="\r\n"))


def _chosen(first_rows: dict[str, list[Row]], table: Table) -> str:
    """Return the first sheet with a row of all wanted names, or the first sheet."""
    needed = {*table.read(table.columns or ()), *table.exclude}
    for name, head in first_rows.items():
        rows = ({str(_cell(v, ".")).strip() for v in row.values()} for row in head)
        if table.format.header and any(needed <= names for names in rows):
            return name
    return next(iter(first_rows))


def _lines(rows: Iterable[Row], span: range, text: Format) -> Iterator[bytes]:
    """Yield a sheet as CSV text, in pieces of whole rows."""
    decimal = text.decimal or "."
    lines = io.StringIO(newline="")
    settings: Any = {"delimiter": text.delimiter, "quoting": csv.QUOTE_NONNUMERIC}
    writer = csv.writer(lines, lineterminator="\n", **settings)
    for number, row in enumerate(rows, 1):
        cells = [_cell(row.get(column, ""), decimal) for column in span]
        if any(cell != "" for cell in cells):
            writer.writerow(cells)
        if number >= _N_ROWS and lines.tell() > _TEXT_PIECE:
            yield lines.getvalue().encode()
            lines.seek(0)
            lines.truncate()
    yield lines.getvalue().encode()


def _cell(value: float | str, decimal: str) -> float | str:
    """Return a cell for `csv.writer`: whole numbers as integers."""
    if isinstance(value, str):
        return value
    if value.is_integer() and abs(value) < _EXACT:
        return int(value)
    return repr(value).replace(".", ",") if decimal == "," else value


class WorkbookError(ValueError):
    """A file is not a readable workbook."""


@dataclass(frozen=True)
class Workbook:
    """The parts of a workbook that its sheets need."""

    path: str
    sheets: dict[str, str]  # part of each visible worksheet, by name
    texts: list[str]  # shared strings
    dates: set[str]  # styles of dates and times
    since_1904: bool

    def rows(self, sheet: str) -> Iterator[Row]:
        """Yield the nonempty rows of a sheet."""
        row: Row = {}
        column, n_characters = -1, 0
        with _errors_naming(self.path), zipfile.ZipFile(self.path) as archive:
            for item in _texts(archive, self.sheets[sheet], "c"):
                if item is None:
                    if row:
                        yield row
                    row, column, n_characters = {}, -1, 0
                    continue
                attributes, text = item
                letters = attributes.get("r", "").rstrip("0123456789")
                column = _column_index(letters) if letters else column + 1
                if column >= _MAX_COLUMNS:
                    raise ValueError("a row has too many cells")
                value = self._value(text, attributes) if text else ""
                if value != "":
                    row[column] = value
                if isinstance(value, str):
                    n_characters += len(value)
                    if n_characters > _MAX_ROW:
                        raise ValueError("a row holds far too much text")

    def _value(self, text: str, attributes: dict[str, str]) -> float | str:
        """Return the number in a cell, or the text that it would have in a CSV file."""
        kind = attributes.get("t", "n")
        if kind == "n":
            number = number_of(text)
            if number is None:
                return text
            is_date = attributes.get("s", "") in self.dates
            return self._date_text(number) if is_date else number
        if kind == "s":
            index = int(text)
            if not 0 <= index < len(self.texts):
                raise ValueError(f"it has no text number {index}")
            return self.texts[index]
        if kind == "b":
            return "true" if text == "1" else "false"
        if len(text) > _MAX_CELL:
            raise ValueError("a cell holds far too much text")
        return _unescaped(text)

    def _date_text(self, days: float) -> float | str:
        """Return a date, a date and time, or a time as text."""
        try:
            time = timedelta(milliseconds=round(days * 86_400_000))
            if 0 <= days < 1:
                return str(time)
            first = datetime(1904, 1, 1) if self.since_1904 else datetime(1899, 12, 30)
            moment = first + time
        except (OverflowError, ValueError):
            return days
        return str(moment).removesuffix(" 00:00:00")


def open_workbook(path: str) -> Workbook:
    """Read the sheet names, the shared strings and the styles of dates."""
    with _errors_naming(path):
        with open(path, "rb") as file:
            first = file.read(8)
        if first == _OLD:
            raise WorkbookError(
                f"{path} is protected by a password, or in the old .xls format: open "
                "it in Excel, and save it without a password as .xlsx or CSV"
            )
        if not first.startswith(b"PK"):
            raise WorkbookError(
                f"{path} is not an Excel workbook, despite its name: if it is "
                "text, rename it to .csv"
            )
        with zipfile.ZipFile(path) as archive:
            top = {kind: part for _, kind, part in _relations(archive, "")}
            book = top["officeDocument"]
            relations = _relations(archive, book)
            parts = {kind: part for _, kind, part in relations}
            tables = {key: part for key, kind, part in relations if kind == "worksheet"}
            sheets: dict[str, str] = {}
            since_1904 = False
            for tag, attributes in _elements(archive, book):
                key = next((attributes[a] for a in attributes if a[-3:] == ":id"), "")
                if tag == "sheet" and attributes.get("state", "visible") == "visible":
                    sheets |= {attributes["name"]: tables[key]} if key in tables else {}
                elif tag == "workbookPr":
                    since_1904 = attributes.get("date1904") in ("1", "true")
            texts: list[str] = []
            dates: set[str] = set()
            if "sharedStrings" in parts:
                texts = _shared_texts(archive, parts["sharedStrings"], path)
            if "styles" in parts:
                dates = _date_styles(_elements(archive, parts["styles"]))
    return Workbook(path, sheets, texts, dates, since_1904)


@contextmanager
def _errors_naming(path: str) -> Iterator[None]:
    """Turn anything that a damaged file raises into a WorkbookError."""
    try:
        yield
    except (WorkbookError, MemoryError, PermissionError):  # Excel may have it open
        raise
    except Exception as error:
        reason = str(error.args[0] if error.args else error) or repr(error)
        if isinstance(error, KeyError) and " " not in reason:
            reason = f"it lacks {reason}"
        raise WorkbookError(
            f"{path} cannot be read as an Excel workbook ({reason:.200}): open it in "
            "the program that wrote it, and save it as .xlsx or CSV"
        ) from error


def _relations(archive: zipfile.ZipFile, part: str) -> list[tuple[str, str, str]]:
    """Return the key, kind and name of each part that belongs to a part."""
    folder, name = posixpath.split(part)
    relations = []
    rels = f"{folder}/_rels/{name}.rels".lstrip("/")
    for tag, attributes in _elements(archive, rels):
        if tag == "Relationship" and attributes.get("TargetMode") != "External":
            target = posixpath.join("/", folder, attributes["Target"])
            kind = attributes["Type"].rpartition("/")[2]
            part_name = posixpath.normpath(target)[1:]
            relations.append((attributes["Id"], kind, part_name))
    return relations


def _elements(archive: zipfile.ZipFile, part: str) -> list[tuple[str, dict[str, str]]]:
    """Return the names and attributes of all elements of a small part."""
    if archive.getinfo(part).file_size > _MAX_PART:
        raise ValueError(f"its part {part} is far too large")
    elements = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda name, attributes: elements.append(
        (name.rpartition(":")[2], attributes)
    )
    for _ in _parsed(parser, archive, part):
        pass
    return elements


def _parsed(parser: Any, archive: zipfile.ZipFile, part: str) -> Iterator[None]:
    """Parse a part piece by piece, as it is unpacked."""

    def reject(*_: Any) -> None:
        raise ValueError("it defines XML entities")

    parser.StartDoctypeDeclHandler = reject
    n_read = 0
    with archive.open(part) as file:
        while piece := file.read(_PIECE):
            parser.Parse(piece)
            n_read += len(piece)
            if n_read - max(parser.CurrentByteIndex, 0) > _MAX_TAG:
                raise ValueError(f"a tag of its part {part} does not end")
            yield
        parser.Parse(b"", True)
        yield


def _texts(
    archive: zipfile.ZipFile, part: str, item: str
) -> Iterator[tuple[dict[str, str], str] | None]:
    """Yield the attributes and text of each item of a part, and None after a row."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    items: list[tuple[dict[str, str], str] | None] = []
    pieces: list[str] = []
    attributes: dict[str, str] = {}
    is_phonetic = False  # within a guide to pronunciation
    prefix = 0  # length of the namespace prefix: some programs write <x:c> for <c>

    def start(name: str, attrs: dict[str, str]) -> None:
        nonlocal attributes, is_phonetic
        tag = name[prefix:]
        if tag == item:
            attributes = attrs
            pieces.clear()
        elif tag == "v" or (tag == "t" and not is_phonetic):
            parser.CharacterDataHandler = pieces.append
        elif tag == "rPh":
            is_phonetic = True

    def end(name: str) -> None:
        nonlocal is_phonetic
        tag = name[prefix:]
        if tag in ("v", "t"):
            parser.CharacterDataHandler = None
        elif tag == item:
            items.append((attributes, "".join(pieces)))
        elif tag == "row":
            items.append(None)
        elif tag == "rPh":
            is_phonetic = False

    def root(name: str, _: dict[str, str]) -> None:
        nonlocal prefix
        prefix = name.rfind(":") + 1
        parser.StartElementHandler, parser.EndElementHandler = start, end

    parser.StartElementHandler = root
    for _ in _parsed(parser, archive, part):
        yield from items
        items.clear()
        if sum(map(len, pieces)) > 2 * _MAX_CELL:
            raise ValueError("a cell holds far too much text")


def _shared_texts(archive: zipfile.ZipFile, part: str, path: str) -> list[str]:
    """Return the shared strings in order."""
    texts, n_bytes = [], 0
    for item in _texts(archive, part, "si"):
        if item is not None:
            texts.append(_unescaped(item[1]))
            n_bytes += 64 + len(item[1])
        if n_bytes > _MAX_STRINGS:
            raise WorkbookError(
                f"{path} has more text than fits in memory: save it as CSV"
            )
    return texts


def _unescaped(text: str) -> str:
    """Decode the characters that Excel escapes, such as _x000A_."""
    if "_x" not in text:
        return text
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def _date_styles(elements: Iterable[tuple[str, dict[str, str]]]) -> set[str]:
    """Return the styles of dates and times."""
    codes: dict[int, str] = {}
    styles: list[int] = []  # the format number of each style
    is_cell = False
    for tag, attributes in elements:
        if tag == "numFmt":
            codes[int(attributes["numFmtId"])] = attributes["formatCode"]
        elif tag in ("cellXfs", "cellStyles", "dxfs"):
            is_cell = tag == "cellXfs"
        elif tag == "xf" and is_cell:
            styles.append(int(attributes.get("numFmtId", 0)))
    dates = {n for n, code in codes.items() if _DATE.search(_NOT_CODE.sub("", code))}
    return {str(k) for k, number in enumerate(styles) if number in dates | _DATES}


@cache
def _column_index(letters: str) -> int:
    """Return the index of a column, given its letters."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
        if not "A" <= letter <= "Z" or number > _MAX_COLUMNS:
            raise ValueError(f"no column is called {letters[:20]!r}")
    return number - 1
