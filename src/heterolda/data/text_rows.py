"""Text cut into whole rows, as csv has them: a line end within quotes ends no row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

_LONGEST_ROW = 1 << 25  # bytes
_PROMPT_BYTES = 1 << 20  # of a row that goes on as soon as its quotes are closed
BLANK = " "  # as a delimiter: any number of blanks and tabs


def complete_rows(
    pieces: Iterable[bytes], delimiter: str, where: str, least: int = 0
) -> Iterator[bytes]:
    """Yield whole rows, at least `least` bytes of them at a time.

    An unclosed quote is an error.
    """
    rest, n_lines, n_quotes = b"", 0, 0
    seen = 0  # bytes of a row that is still open, or zero
    for piece in chain(pieces, [b""]):  # nothing stands for the end
        rest += piece
        n_quotes += _count(piece, b'"')
        may_end = n_quotes % 2 == 0 and len(rest) <= _PROMPT_BYTES
        # Or every piece of a long row would mean to read it again.
        is_open = not may_end and len(rest) < min(2 * seen, _LONGEST_ROW)
        if piece and (is_open or len(rest) < least):
            continue
        stop = end = rest.rfind(b"\n") + 1 if piece else len(rest)
        is_broken = False
        if n_quotes:
            end, is_broken = _end_of_rows(rest[:stop], delimiter)
        too_long = not end and len(rest) > _LONGEST_ROW
        if is_broken or (end < stop and (too_long or not piece)):
            line = n_lines + _count(rest[:end], b"\n")
            raise ValueError(
                f"{where}: a quote is not closed, or is within quotes, in the row that "
                f"begins in line {line + 1}: close it, or double it"
            )
        if too_long:
            raise ValueError(
                f"{where}: the row that begins in line {n_lines + 1} is longer than "
                f"{_LONGEST_ROW >> 20} MB: perhaps a quote is not closed"
            )
        if end:
            rows, rest = rest[:end], rest[end:]
            yield rows
            n_lines += _count(rows, b"\n")
            n_quotes = _count(rest, b'"')
        seen = len(rest) if end < stop else 0


def _count(text: bytes, mark: bytes) -> int:
    """Count a character; the method of bytes takes ten times as long."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord(mark)))


def _end_of_rows(text: bytes, delimiter: str) -> tuple[int, bool]:
    """Return where the last whole row ends, and whether nothing can end the next.

    A quote opens a cell only as its first character, and two of them within such a
    cell stand for one. Anywhere else it is a character as any other, an inch mark
    perhaps.
    """
    marks = re.escape(delimiter.encode()) + rb"\r\n"
    quoted = re.compile(rb'(?<=[%b])"(?:[^"]++|"")*+"' % marks)
    rows = rb'(?:[^"]++|%b(?=[%b]|\Z)|(?<![%b])")*+' % (quoted.pattern, marks, marks)
    text = b"\n" + text  # a quote may open the first cell
    whole = re.match(rows, text)
    end = whole.end() if whole else 0
    if end == len(text):
        return end - 1, False
    before = quoted.sub(lambda cell: bytes(len(cell[0])), text[:end])
    return before.rfind(b"\n"), quoted.match(text, end) is not None


def merged_blanks(text: bytes) -> bytes:
    """Return lines with one blank for any number of blanks and tabs, none around."""
    text = re.sub(rb"[ \t]+", BLANK.encode(), text)
    return re.sub(rb"(?m)^ | (?=\r?$)", b"", text)


def without_empty_rows(text: bytes, delimiter: str) -> bytes:
    """Return rows without lines of delimiters alone, which Excel is fond of.

    Text with quotes is left as it is, since these may protect such a line.
    """
    mark = delimiter.encode()
    begun = b"\n" + re.escape(mark)  # to search for it is far faster than `in`
    if b'"' in text or not (text.startswith(mark) or re.search(begun, text)):
        return text
    return re.sub(rb"(?m)^(?:%b)+\r?$\n?" % re.escape(mark), b"", text)
