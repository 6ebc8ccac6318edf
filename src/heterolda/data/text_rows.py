"""Text cut into whole rows, as csv has them: a line end within quotes ends no row."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from threading import Lock

import numpy as np

_LONGEST_ROW = 1 << 25  # bytes
_PROMPT_BYTES = 1 << 20  # of a row that goes on as soon as its quotes are closed
_FIELD_LIMIT = Lock()  # the csv module has one limit for the whole process
BLANK = " "  # as a delimiter: any number of blanks and tabs


def complete_rows(
    pieces: Iterable[bytes], delimiter: str, where: str, least: int = 0
) -> Iterator[bytes]:
    """Yield bytes cut where a row ends, waiting for at least so many.

    A quote that is not closed is an error.
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
    end = _end_of_plain_rows(text, delimiter)
    if end is not None:
        return end, False
    end = n_read = 0

    def lines() -> Iterator[str]:
        nonlocal n_read
        # One character for each byte, so that both are counted.
        for line in io.StringIO(text.decode("latin-1"), newline=""):
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


def _end_of_plain_rows(text: bytes, delimiter: str) -> int | None:
    """Return the end where quotes open and close cells in turn; None elsewhere."""
    if not text:
        return 0
    codes = np.frombuffer(text, np.uint8)
    at = np.flatnonzero(codes == ord('"'))
    around = np.array([ord(mark) for mark in (delimiter, "\n", "\r")], np.uint8)
    opening, closing = at[0::2], at[1::2]
    before = codes[opening[opening > 0] - 1]
    after = codes[closing[closing < len(text) - 1] + 1]
    if not (np.isin(before, around).all() and np.isin(after, around).all()):
        return None
    if len(at) % 2 == 0:
        return len(text)
    ends = np.flatnonzero(codes == ord("\n"))
    ends = ends[np.searchsorted(at, ends) % 2 == 0]  # those that are not within quotes
    return int(ends[-1]) + 1 if len(ends) else 0


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
