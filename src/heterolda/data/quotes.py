"""Quotes in text files: where a row ends, and whether every quote is closed.

A quote opens a cell only as its first character, and two of them within such a cell
stand for one. Anywhere else it is a character as any other, an inch mark perhaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["CountingFile", "check_quotes", "whole_rows"]

# Bytes of a row, at most.
_LONGEST_ROW = 1 << 25
_CELL = re.compile(rb'[^"]*+(?:""[^"]*+)*+"')


class CountingFile:
    """A file that counts quotes as it is read.

    Parameters
    ----------
    file : binary file
        The file.
    delimiter : str
        What stands between two columns.
    """

    def __init__(self, file: Any, delimiter: str) -> None:
        mark = delimiter.encode()
        self._file = file
        self._opening = [mark + b'"', b'\n"', b'\r"']
        self._closing = [b'"' + mark, b'"\n', b'"\r']
        self._last = b"\n"
        self._counts = [0, 0, 0]

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
        """Whether some quote neither opens nor closes a cell by the looks of it."""
        n_quotes, opening, closing = self._counts
        return not opening == closing == n_quotes - opening

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return bool(self._file.closed)


def check_quotes(chunks: Iterable[bytes], delimiter: str, where: str) -> None:
    """Refuse text in which a quote is opened and not closed.

    Arrow would take all that follows for one cell, up to the next quote.

    Parameters
    ----------
    chunks : iterable of bytes
        The text.
    delimiter : str
        What stands between two columns.
    where : str
        Name of the text, for the message.
    """
    for _ in whole_rows(chunks, delimiter, where):
        pass


def whole_rows(chunks: Iterable[bytes], delimiter: str, where: str) -> Iterator[bytes]:
    r"""The same bytes, cut where a row ends.

    Parameters
    ----------
    chunks : iterable of bytes
        The text, cut anywhere.
    delimiter : str
        What stands between two columns.
    where : str
        Name of the text, for messages.

    Yields
    ------
    bytes
        Some rows, the last of which may lack its end only at the end of all.

    Examples
    --------
    >>> from heterolda.data.quotes import whole_rows
    >>> list(whole_rows([b'a,"b', b'\nc"', b"\n1,2"], ",", "text"))
    [b'a,"b\nc"\n', b'1,2']
    """
    ends = delimiter.encode() + b"\r\n"
    opening = re.compile(rb"(?:\A(?:\xef\xbb\xbf)?|(?<=[" + re.escape(ends) + rb']))"')
    rest, done, n_lines = b"", 0, 0

    def closed(last: bool) -> tuple[int, int]:
        """Bytes of the rest that no quote leaves open, and of its rows among them."""
        at, end = done, 0
        while quote := opening.search(rest, at):
            end = rest.rfind(b"\n", at, quote.start()) + 1 or end
            cell = _CELL.match(rest, quote.end())
            # A quote at the very end may be the first of two.
            if cell is None or (cell.end() == len(rest) and not last):
                return quote.start(), end
            at = cell.end()
            if at < len(rest) and rest[at] not in ends:
                raise refused(quote.end())
        return len(rest), rest.rfind(b"\n", at) + 1 or end

    def refused(at: int) -> ValueError:
        line = n_lines + rest.count(b"\n", 0, at)
        return ValueError(
            f"{where}: a quote is not closed, or stands within quotes, in the row "
            f"after line {line}: close it, or write it twice"
        )

    for chunk in chunks:
        rest += chunk
        done, end = closed(last=False)
        if end:
            yield rest[:end]
            n_lines += rest.count(b"\n", 0, end)
            rest, done = rest[end:], done - end
        elif len(rest) > _LONGEST_ROW and done < len(rest):
            raise refused(done)
        elif len(rest) > _LONGEST_ROW:
            raise ValueError(
                f"{where}: the row after line {n_lines} is longer than "
                f"{_LONGEST_ROW >> 20} MB"
            )
    if closed(last=True)[0] < len(rest):
        raise refused(done)
    if rest:
        yield rest
