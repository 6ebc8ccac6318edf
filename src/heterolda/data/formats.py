"""Formats of tables of text: delimiters, numbers, NA strings and encodings."""

from __future__ import annotations

import codecs
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from heterolda.exceptions import ReadingWarning

_MAX_BLANKS = 5  # in a cell that counts as empty
# Numbers with thousands separators, by decimal mark.
GROUPED = {
    mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}([{group}]\d{{3}})+([{mark}]\d*)?")
    for mark, group in (".,", ",.")
}
_WINDOWS = "Windows-1252"
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
# Windows-1252 has letters and signs where Latin-1 has control characters.
_CHARACTERS = {
    byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte)
    for byte in range(0x80, 0xA0)
}
_BYTES = {ord(character): chr(byte) for byte, character in _CHARACTERS.items()}


def warn_of_reading(message: str) -> None:
    """Warn that a file was read in a way that its owner might not expect."""
    warnings.warn(message, ReadingWarning, stacklevel=3)


@dataclass(eq=False)
class Encoding:
    """The encoding of text, as detected so far, and its byte-order mark."""

    name: str = "utf-8"
    mark: bytes = b""

    def encode(self, text: bytes) -> bytes:
        """Convert UTF-8 to this encoding, or raise ValueError for other characters."""
        if self.name == "utf-8":
            return text
        if self.name != _WINDOWS:
            return text.decode().encode(self.name)
        try:
            return text.decode().translate(_BYTES).encode("latin-1")
        except UnicodeEncodeError as error:
            raise ValueError(
                f"the data are in {_WINDOWS}, which lacks the character "
                f"{error.object[error.start]!r} of the result: save them as UTF-8"
            ) from error


@dataclass(frozen=True)
class Format:
    """Format of a text table; what is None is detected in the file."""

    delimiter: str | None = None  # one character; a blank means any number of blanks
    decimal: str | None = None  # "." or ","
    header: bool = True  # whether the first line names the columns
    skip_repeated_header: bool = False  # whether to leave out copies of that line
    na: tuple[str, ...] = ()  # strings for missing values, besides the usual ones
    n_columns: tuple[int, ...] = ()  # allowed without a header; empty: any
    grouped: bool | None = None  # whether the other decimal mark separates thousands
    line_end: str = "\n"
    encoding: Encoding = field(default_factory=Encoding, compare=False)

    @property
    def na_numbers(self) -> tuple[float, ...]:
        """Return the NA strings that are numbers, which mark only missing features."""
        return tuple(n for n in map(number_of, self.na) if n is not None)

    @property
    def na_words(self) -> tuple[str, ...]:
        """Return the other NA strings, which also mark missing labels."""
        return tuple(text for text in self.na if number_of(text) is None)

    @cached_property
    def missing_words(self) -> list[str]:
        """Return all NA strings that are not numbers, with blanks around some.

        More blanks would take much memory, as Arrow stores them for each column.
        """
        from pyarrow import csv as arrow_csv

        usual = arrow_csv.ConvertOptions().null_values
        blanks = [" " * n for n in range(1, _MAX_BLANKS)]
        # Else Arrow reads such columns as text: 1.6 times the time for the file.
        padded = [f" {word}" for word in self.na_words]
        return list(dict.fromkeys([*usual, *blanks, *self.na_words, *padded]))


def number_of(text: str) -> float | None:
    """Convert text to a number, or return None."""
    try:
        return float(text)
    except ValueError:
        return None


def number_pattern(decimal: str, grouped: bool | None = False) -> re.Pattern[str]:
    """Return a regular expression for numbers, perhaps with groups of thousands."""
    digits = rf"(\d+[{decimal}]?\d*|[{decimal}]\d+)(e[+-]?\d+)?"
    thousands = f"|{GROUPED[decimal].pattern}" if grouped else ""
    number = rf"\s*([+-]?({digits}|inf(inity)?|nan){thousands})\s*"
    return re.compile(number, re.IGNORECASE | re.ASCII)


def as_utf8(
    pieces: Iterable[bytes], where: str, encoding: Encoding | None = None
) -> Iterator[bytes]:
    """Yield text in UTF-8, without its byte-order mark; set `encoding` to its own."""
    encoding = Encoding() if encoding is None else encoding
    text, first = iter(pieces), b""
    for piece in text:
        first += piece
        if len(first) >= len(codecs.BOM_UTF8):
            break
    encoding.mark = next(filter(first.startswith, _MARKS), b"")
    encoding.name = _MARKS.get(encoding.mark, "utf-8")
    text = chain([first.removeprefix(encoding.mark)], text)
    if encoding.name == "utf-8":
        yield from _utf8_or_windows(_without_zeros(text, where), where, encoding)
    else:
        yield from _without_zeros(_from_utf16(text, where, encoding.name), where)


def _without_zeros(text: Iterable[bytes], where: str) -> Iterator[bytes]:
    """Yield the pieces unchanged, or raise ValueError at a zero byte."""
    for piece in text:
        if b"\0" in piece:
            raise ValueError(
                f"{where} is not a text file, or is damaged, as it has zero bytes: "
                "save it as text in UTF-8"
            )
        yield piece


def _from_utf16(text: Iterable[bytes], where: str, encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for piece in chain(text, [b""]):  # an empty piece marks the end
            yield decoder.decode(piece, final=not piece).encode()
    except UnicodeError as error:  # an unpaired surrogate, for instance
        raise ValueError(
            f"{where} begins as text in UTF-16, but is damaged: {error}"
        ) from error


def _utf8_or_windows(
    text: Iterable[bytes], where: str, encoding: Encoding
) -> Iterator[bytes]:
    """Yield UTF-8 unchanged, and Windows-1252 from its first non-ASCII byte on."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_ascii = True  # so far
    cut = b""  # the start of a character that continues in the next piece
    pieces = chain(text, [b""])  # an empty piece marks the end
    for piece in pieces:
        data = cut + piece
        try:
            decoder.reset()
            decoder.decode(data, final=not piece)
        except UnicodeDecodeError as error:
            if not (is_ascii and data[: error.start].isascii()):
                raise ValueError(
                    f"{where} is text in UTF-8 with bytes of another encoding, such as "
                    f"0x{data[error.start]:02x}: convert the whole file to UTF-8"
                ) from error
            warn_of_reading(
                f"{where} is not UTF-8, so it was read as {_WINDOWS} (Latin-1)"
            )
            encoding.name = _WINDOWS
            for other in chain([data], pieces):
                yield other.decode("latin-1").translate(_CHARACTERS).encode()
            return
        cut = decoder.getstate()[0]
        complete = data[: len(data) - len(cut)]
        is_ascii = is_ascii and complete.isascii()
        yield complete
