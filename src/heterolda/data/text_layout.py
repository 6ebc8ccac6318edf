"""What the first lines of a text show: delimiter, names of columns, decimal mark."""

from __future__ import annotations

import csv
import io
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from statistics import mean, mode
from typing import NamedTuple

from heterolda.data.reading import Reading
from heterolda.data.text_rows import BLANK, merged_blanks
from heterolda.data.warn import warn_of_reading

_DELIMITERS = ",;\t|"
_N_ROWS = 200  # that are looked at
_FEW_ROWS = 5  # that show nothing
_N_SHOWN = 5  # cells in a message
_MOST = 0.8  # share of the rows that must have the same number of cells
_NAMES = {".": "point", ",": "comma"}
_POINT = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_COMMA = re.compile(r"\s*[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?\s*")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
# By the decimal mark: numbers that cannot be meant otherwise.
_GROUPED = {
    ".": re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+\.\d+|[+-]?[1-9]\d{0,2}(,\d{3}){2,}"),
    ",": re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+,\d+"),
}
_FIRST_NAME = "column_1"  # what predictions of files without a header begin with
_SEPARATOR = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # what Excel asks for


@dataclass(frozen=True)
class Layout:
    """How a text is laid out."""

    names: list[str]  # of all columns
    unnamed: list[str]  # those of them to which the text gives no name
    n_lines: int  # before the first row
    reading: Reading  # with all that was found


class _Row(NamedTuple):
    cells: list[str]
    n_lines: int  # up to its end


def find_layout(head: str, reading: Reading, usual: str, where: str) -> Layout:
    """Look at the first lines of a text, which are whole.

    What `reading` says is not looked for. `usual` is the delimiter that the name of
    the file says. Names are without blanks around them; columns without a name are
    called by their place. Messages call the text `where`.
    """
    lines = list(io.StringIO(head, newline=""))
    comments = list(takewhile(_is_comment, lines))
    told = _SEPARATOR.fullmatch(comments[0]) if comments else None
    given = reading.delimiter or (told[1] if told else None)
    delimiter, rows = _parsed("".join(lines[len(comments) :]), given, usual)
    if not rows:
        raise ValueError(
            f"{where}: a cell of its first row has more than {csv.field_size_limit()} "
            "characters: perhaps a quote is not closed"
        )
    width = mode(len(row.cells) for row in rows[1:] or rows)
    titles = list(takewhile(lambda row: _is_title(row.cells, width, reading), rows))
    n_lines, rows = titles[-1].n_lines if titles else 0, rows[len(titles) :]
    if titles:
        warn_of_reading(
            f"{where}: the first lines, up to line {len(comments) + n_lines}, come "
            "before the table and were left out"
        )
    names = [""] * width
    if reading.header or (rows and rows[0].cells[0].strip() == _FIRST_NAME):
        noted = _cells(comments[-1].lstrip("# \t"), delimiter) if comments else []
        if rows and len(noted) == width > 1 and any(map(_is_number, rows[0].cells)):
            names = noted  # as NumPy writes them
        elif rows:
            names, n_lines, *rows = *rows[0], *rows[1:]
        if _has_units([row.cells for row in rows]):
            shown = ", ".join(filter(None, rows[0].cells[:_N_SHOWN]))
            warn_of_reading(f"{where}: the row of units ({shown}) was left out")
            n_lines, *rows = rows[0].n_lines, *rows[1:]
    body = [row.cells for row in rows if len(row.cells) == width]
    names = _fitted([name.strip() for name in names], body, width)
    unnamed = [f"column_{k}" for k, name in enumerate(names, 1) if not name]
    if reading.decimal is None:
        decimal, grouped = decimal_mark(body, where)
        reading = replace(reading, decimal=decimal, grouped=grouped)
    reading = replace(reading, delimiter=delimiter, padded=_is_padded(body))
    return Layout(
        [name or f"column_{k}" for k, name in enumerate(names, 1)],
        unnamed if reading.header else [],
        len(comments) + n_lines,
        reading,
    )


def _is_comment(line: str) -> bool:
    text = line.strip()
    return not text or text.startswith("#") or bool(_SEPARATOR.fullmatch(text))


def _is_title(cells: list[str], width: int, reading: Reading) -> bool:
    """Whether a line comes before the table: it has but one cell, or one word in it."""
    is_word = reading.header and bool(cells[0]) and not any(cells[1:])
    return len(cells) == 1 < width or (is_word and width > 2)


def _parsed(text: str, given: str | None, usual: str) -> tuple[str, list[_Row]]:
    """The first rows by the delimiter that makes most sense of them."""
    if given is not None:
        return given, _rows(text, given)
    found = {mark: _rows(text, mark) for mark in dict.fromkeys([usual, *_DELIMITERS])}
    scores = {mark: _score(rows) for mark, rows in found.items()}
    if max(scores.values())[0] < 0:
        blanks = _rows(text, BLANK)
        return (BLANK, blanks) if _score(blanks)[0] > 0 else (usual, found[usual])
    best = max(scores, key=scores.__getitem__)  # the first of several
    return best, found[best]


def _score(rows: list[_Row]) -> tuple[float, bool, int]:
    """How many cells of a row are numbers, if there are names of all, how many cells.

    Where the rows make no table, the first of these is negative.
    """
    body = [row.cells for row in rows[1:] or rows]
    width = mode(map(len, body)) if body else 0
    whole = [cells for cells in body if len(cells) == width]
    n_names = len(rows[0].cells) if rows else 0
    is_named = abs(n_names - width) <= 1 < n_names
    is_title = n_names == 1
    if width < 2 or len(whole) < _MOST * len(body) or not (is_named or is_title):
        return -1, False, 0
    return mean(sum(map(_is_number, cells)) for cells in whole), is_named, width


def _rows(text: str, delimiter: str) -> list[_Row]:
    """The first rows that are not empty, up to one with a cell of no end."""
    if delimiter == BLANK:
        text = b"".join(merged_blanks([text.encode()])).decode()
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows = []
    with suppress(csv.Error):
        for row in islice(reader, _N_ROWS):
            rows.append(_Row(row, reader.line_num))
    return [row for row in rows if row.cells]


def _cells(line: str, delimiter: str) -> list[str]:
    rows = _rows(line, delimiter)
    return rows[0].cells if rows else []


def _fitted(names: list[str], body: list[list[str]], width: int) -> list[str]:
    """As many names as cells, where one is missing or stands for nothing."""
    if len(names) == width + 1 and not names[-1]:
        return names[:-1]
    if body and len(names) == width - 1:
        if all(not cells[-1] for cells in body):  # a delimiter at the end of each row
            return [*names, ""]
        return ["", *names]  # R's names of rows
    return names


def _has_units(body: list[list[str]]) -> bool:
    """Whether the first row says in what the numbers below it are counted."""
    first, *others = body[:_N_ROWS] or [[]]
    same = [row for row in others if len(row) == len(first)]
    if len(same) < _FEW_ROWS:
        return False
    of_numbers = [
        unit
        for unit, *below in zip(first, *same, strict=True)
        if sum(map(_is_number, below)) > _MOST * len(same)
    ]
    words = {unit for unit in of_numbers if any(map(str.isalpha, unit))}
    return len(words) > 1 and not any(map(_is_number, of_numbers))


def decimal_mark(body: list[list[str]], where: str) -> tuple[str, bool]:
    """The decimal mark, and whether the other one sets thousands apart.

    It is a comma only where no number has a point.
    """
    cells = [cell.strip() for row in body for cell in row]
    for mark, grouped in _GROUPED.items():
        examples = list(filter(grouped.fullmatch, cells))
        if examples:
            text = f"numbers such as {examples[0]!r} have marks of thousands"
            warn_of_reading(f"{where}: {text}, and a decimal {_NAMES[mark]}")
            return mark, True
    commas = list(filter(_COMMA.fullmatch, cells))
    if (
        not commas
        or all(map(_THOUSANDS.fullmatch, commas))
        or any("." in cell and _POINT.fullmatch(cell) for cell in cells)
    ):
        return ".", False
    warn_of_reading(f"{where}: numbers such as {commas[0]!r} have a decimal comma")
    return ",", False


def _is_padded(body: list[list[str]]) -> bool:
    """Whether a blank follows each delimiter."""
    cells = [cell for row in body for cell in row[1:]]
    return bool(cells) and all(cell.startswith(" ") for cell in cells)


def _is_number(cell: str) -> bool:
    forms = _POINT, _COMMA, *_GROUPED.values()
    return any(form.fullmatch(cell) for form in forms)
