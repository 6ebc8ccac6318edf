"""Detect delimiter, column names and decimal mark of text from its first lines."""

from __future__ import annotations

import csv
import io
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, pairwise, takewhile
from statistics import mean, mode
from typing import NamedTuple

from heterolda.data.formats import GROUPED, Format, number_pattern, warn_of_reading
from heterolda.data.text_rows import BLANK, merged_blanks

_DELIMITERS = ";\t|,"
_N_ROWS = 200  # rows to examine
_FEW_ROWS = 5  # fewer rows prove nothing
_N_SHOWN = 5  # cells in a message
_MIN_SHARE = 0.8  # of the rows must agree
_NAMES = {".": "point", ",": "comma"}
_POINT, _COMMA = (number_pattern(mark, True).fullmatch for mark in ".,")
_FIRST_NAME = "column_1"  # of the predictions of a file without a header
_SEPARATOR = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # a line for Excel


@dataclass(frozen=True)
class Layout:
    """The layout of a text table."""

    names: list[str]  # of all columns
    unnamed: list[str]  # those without a name in the text
    n_lines: int  # before the first row
    format: Format  # complete
    header: bytes  # the text that names the columns; empty if none does


class _Row(NamedTuple):
    cells: list[str]
    n_lines: int  # up to its end


def find_layout(head: str, text: Format, usual: str, where: str) -> Layout:
    """Detect the layout of a text table from its first lines, which are complete.

    Settings in `text` are kept. `usual` is the delimiter that the file name suggests.
    Spaces around names are removed, and columns without a name are called column_1 and
    so on, by position. Messages refer to the text as `where`.
    """
    lines = list(io.StringIO(head, newline=""))
    comments = list(takewhile(_is_comment, lines))
    if not text.header or len(comments) == len(lines):
        comments = list(takewhile(_is_blank, lines))  # rows may begin with #
    separator = _SEPARATOR.fullmatch(comments[0]) if comments else None
    given = text.delimiter or (separator[1] if separator else None)
    delimiter, rows = _parsed("".join(lines[len(comments) :]), given, usual)
    if not rows:
        raise ValueError(
            f"{where}: a cell of its first row has more than {csv.field_size_limit()} "
            "characters: perhaps a quote is not closed"
        )
    width = mode(len(row.cells) for row in rows[1:] or rows)
    titles = list(takewhile(lambda row: _is_title(row.cells, width, text), rows))
    n_lines, rows = titles[-1].n_lines if titles else 0, rows[len(titles) :]
    if titles or not all(map(_is_blank, comments)):
        warn_of_reading(
            f"{where}: the text up to line {len(comments) + n_lines} comes before the "
            "table and was left out"
        )
    names, above = [""] * width, len(comments) + n_lines
    if rows and (text.header or rows[0].cells[0].strip() == _FIRST_NAME):
        names, n_lines, *rows = *rows[0], *rows[1:]
    header = "".join(lines[above : len(comments) + n_lines]).strip().encode()
    body = [row.cells for row in rows]
    if text.header and body[:1] != [names] and _has_units(body, text):
        shown = ", ".join(filter(None, body[0][:_N_SHOWN]))
        warn_of_reading(f"{where}: the row of units ({shown}) was left out")
        n_lines, body = rows[0].n_lines, body[1:]
    body = [cells for cells in body if len(cells) == width]
    names = _matched([name.strip() for name in names], body, width, where)
    defaults = [f"column_{k}" for k in range(1, len(names) + 1)]
    named = [name or place for name, place in zip(names, defaults, strict=True)]
    if text.n_columns and named == defaults and len(defaults) not in text.n_columns:
        fitted = " or ".join(map(str, sorted(text.n_columns)))
        raise ValueError(
            f"{where} has {len(defaults)} columns, but the model was fitted to "
            f"{fitted} columns without a header and might confuse them: add a first "
            "line that names them column_1, column_2, ... as in the fit"
        )
    if text.grouped is None:
        decimal, grouped = decimal_mark(body, where, delimiter, text.decimal)
        text = replace(text, decimal=decimal, grouped=grouped)
    text = replace(
        text,
        delimiter=delimiter,
        line_end=lines[0][len(lines[0].rstrip("\r\n")) :] or "\n",
    )
    unnamed = [place for name, place in zip(names, defaults, strict=True) if not name]
    unnamed = unnamed if text.header else []
    header = merged_blanks(header) if delimiter == BLANK else header
    return Layout(named, unnamed, len(comments) + n_lines, text, header)


def _is_comment(line: str) -> bool:
    return _is_blank(line) or line.lstrip().startswith("#")


def _is_blank(line: str) -> bool:
    """Return whether a line is empty, or only tells Excel the delimiter."""
    return not line.strip() or bool(_SEPARATOR.fullmatch(line))


def _is_title(cells: list[str], width: int, text: Format) -> bool:
    """Return whether a line comes before the table: it has one cell, or one word."""
    words = list(filter(str.strip, cells))
    is_word = text.header and words[:1] == cells[:1] and len(words) == 1
    return width > 1 and (len(cells) == 1 or not words or (is_word and width > 2))


def _parsed(text: str, given: str | None, usual: str) -> tuple[str, list[_Row]]:
    """Return the delimiter that fits the text best, and the first rows."""
    if given is not None:
        return given, _rows(text, given)
    # On a tie the first wins: a comma may also be a decimal mark.
    order = dict.fromkeys([*usual.replace(",", ""), *_DELIMITERS])
    rows_by = {mark: _rows(text, mark) for mark in order}
    scores = {mark: _score(rows) for mark, rows in rows_by.items()}
    best = max(order, key=scores.__getitem__)
    blanks = _rows(text, BLANK)
    numbers, _, width = score = _score(blanks)
    is_better = numbers >= width - 1 and score > scores[best]
    if numbers > 0 and (is_better or scores[best][0] < 0):
        return BLANK, blanks
    if scores[best][0] < 0:
        best = usual
    elif not scores[best][1] and all(
        len(row.cells) == 1 and _is_number(row.cells[0]) for row in rows_by[";"][1:]
    ):
        best = ";"  # one column, of numbers with decimal commas
    return best, rows_by[best]


def _score(rows: list[_Row]) -> tuple[float, bool, int]:
    """Return the numeric cells per row, -1 if no table, if it has names, and width."""
    body = [row.cells for row in rows[1:] or rows]
    width = mode(map(len, body)) if body else 0
    full = [cells for cells in body if len(cells) == width]
    n_names = len(rows[0].cells) if rows else 0
    is_named = abs(n_names - width) <= 1 < n_names
    is_title = n_names == 1
    if width < 2 or len(full) < _MIN_SHARE * len(body) or not (is_named or is_title):
        return -1, False, 0
    return mean(sum(map(_is_number, cells)) for cells in full), is_named, width


def _rows(text: str, delimiter: str) -> list[_Row]:
    """Return the first nonempty rows, up to one with an unclosed quote."""
    if delimiter == BLANK:
        text = merged_blanks(text.encode()).decode()
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows = []
    with suppress(csv.Error):
        for row in islice(reader, _N_ROWS):
            rows.append(_Row(row, reader.line_num))
    return [row for row in rows if row.cells]


def _matched(
    names: list[str], body: list[list[str]], width: int, where: str
) -> list[str]:
    """Return a name for each cell, adding or removing an empty one if needed."""
    if len(names) == width + 1 and not names[-1]:
        return names[:-1]
    if not body or len(names) != width - 1:
        return names
    if all(not cells[-1] for cells in body):  # a delimiter at the end of each row
        return [*names, ""]
    if not _are_names([cells[0].strip() for cells in body]):
        return names  # the rows are too long
    warn_of_reading(
        f"{where}: there is one name fewer than columns, so the first column was read "
        "as row names, as R writes them"
    )
    return ["", *names]


def _are_names(cells: list[str]) -> bool:
    """Return whether cells name rows: all differ, and numbers increase."""
    if not any(map(_is_number, cells)):
        return len(set(cells)) == len(cells)
    if not all(map(str.isdecimal, cells)):
        return False
    numbers = list(map(int, cells))
    increase = all(a < b for a, b in pairwise(numbers))
    return increase and (len(numbers) >= _FEW_ROWS or numbers[0] in (0, 1))


def _has_units(body: list[list[str]], text: Format) -> bool:
    """Return whether the first row has words, such as units, above numbers."""
    first, *others = body or [[]]
    full_rows = [row for row in others if len(row) == len(first)]
    if len(full_rows) < _FEW_ROWS:
        return False
    above = [
        word.strip().casefold()
        for word, *below in zip(first, *full_rows, strict=True)
        if sum(map(_is_number, below)) > _MIN_SHARE * len(full_rows)
    ]
    missing = set(map(str.casefold, text.missing_words))
    words = {word for word in above if any(map(str.isalpha, word))} - missing
    return len(words) > 1 and not any(map(_is_number, above))


def decimal_mark(
    body: list[list[str]], where: str, delimiter: str = "", given: str | None = None
) -> tuple[str, bool]:
    """Return the decimal mark, and whether the other one separates thousands.

    Unless given, it is a comma only if no number has a point.
    """
    cells = [cell.strip() for row in body for cell in row]
    commas = [c for c in cells if "," in c and number_pattern(",").fullmatch(c)]
    are_thousands = all(map(GROUPED["."].fullmatch, commas))
    for mark, pattern in GROUPED.items():
        are_quoted = mark == "." and delimiter == "," and are_thousands
        grouped = [
            cell
            for cell in filter(pattern.fullmatch, cells)
            if mark in cell or are_quoted or mark == given
        ]
        if grouped and given in (mark, None):
            text = f"numbers such as {grouped[0]!r} have thousands separators"
            warn_of_reading(f"{where}: {text}, and a decimal {_NAMES[mark]}")
            return mark, True
    if given is not None:
        return given, False
    have_points = any("." in c and number_pattern(".").fullmatch(c) for c in cells)
    if are_thousands or have_points:
        return ".", False
    warn_of_reading(f"{where}: numbers such as {commas[0]!r} have a decimal comma")
    return ",", False


def _is_number(cell: str) -> bool:
    return bool(_POINT(cell) or _COMMA(cell))
