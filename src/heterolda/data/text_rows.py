"""Split text into whole rows like `csv`: a newline in quotes does not end a row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

_MAX_ROW_BYTES = 1 << 25
_PROMPT_BYTES = 1 << 20  # shorter rows are yielded as soon as their quotes are closed
BLANK = " "  # as a delimiter: any number of blanks and tabs


def complete_rows(
    pieces: Iterable[bytes], delimiter: str, where: str, min_bytes: int = 0
) -> Iterator[bytes]:
    """Yield whole rows, at least `min_bytes` at a time, or raise for an open quote."""
    buffer, n_lines, n_quotes = b"", 0, 0
    n_open = 0  # bytes of an unfinished row at the last scan
    for piece in chain(pieces, [b""]):  # an empty piece marks the end
        buffer += piece
        n_quotes += count_of(b'"', piece)
        may_end = n_quotes % 2 == 0 and len(buffer) <= _PROMPT_BYTES
        # Scanning a long row again after every piece would take quadratic time.
        is_open = not may_end and len(buffer) < min(2 * n_open, _MAX_ROW_BYTES)
        if piece and (is_open or len(buffer) < min_bytes):
            continue
        stop = end = buffer.rfind(b"\n") + 1 if piece else len(buffer)
        is_broken = False
        if n_quotes:
            end, is_broken = _end_of_rows(buffer[:stop], delimiter)
        too_long = not end and len(buffer) > _MAX_ROW_BYTES
        if is_broken or (end < stop and (too_long or not piece)):
            line = n_lines + count_of(b"\n", buffer[:end])
            raise ValueError(
                f"{where}: a quote is not closed, or is within quotes, in the row that "
                f"begins in line {line + 1}: close it, or double it"
            )
        if too_long:
            raise ValueError(
                f"{where}: the row that begins in line {n_lines + 1} is longer than "
                f"{_MAX_ROW_BYTES >> 20} MB: perhaps a quote is not closed"
            )
        if end:
            rows, buffer = buffer[:end], buffer[end:]
            yield rows
            n_lines += count_of(b"\n", rows)
            n_quotes = count_of(b'"', buffer)
        n_open = len(buffer) if end < stop else 0


def count_of(mark: bytes, text: bytes) -> int:
    """Count a character, ten times as fast as `bytes.count`."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord(mark)))


def _end_of_rows(text: bytes, delimiter: str) -> tuple[int, bool]:
    """Return the end of the last whole row, and whether the next one is malformed."""
    marks = re.escape(delimiter.encode()) + rb"\r\n"
    # A quote opens a cell only as its first character.
    quoted = re.compile(rb'(?<=[%b])"(?:[^"]++|"")*+"' % marks)
    rows = rb'(?:[^"]++|%b(?=[%b]|\Z)|(?<![%b])")*+' % (quoted.pattern, marks, marks)
    text = b"\n" + text  # a quote may open the first cell
    match = re.match(rows, text)
    end = match.end() if match else 0
    if end == len(text):
        return end - 1, False
    before = quoted.sub(lambda cell: bytes(len(cell[0])), text[:end])
    return before.rfind(b"\n"), quoted.match(text, end) is not None


def merged_blanks(text: bytes) -> bytes:
    """Replace runs of blanks and tabs with one blank, and strip them from lines."""
    text = re.sub(rb"[ \t]+", BLANK.encode(), text)
    return re.sub(rb"(?m)^ | (?=\r?$)", b"", text)


def without_empty_rows(text: bytes, delimiter: str) -> bytes:
    """Remove lines that contain only delimiters, which Excel often writes."""
    mark = delimiter.encode()
    row_start = b"\n" + re.escape(mark)  # a search is far faster than `in`
    # A quoted cell may have such a line.
    if b'"' in text or not (text.startswith(mark) or re.search(row_start, text)):
        return text
    return re.sub(rb"(?m)^(?:%b)+\r?$\n?" % re.escape(mark), b"", text)
