"""Text of any usual encoding as UTF-8, piece by piece, and back."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from heterolda.data.notes import warn_of_reading

_WINDOWS = "Windows-1252"
# Byte-order marks; UTF-32 before UTF-16, whose mark it begins with.
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_LOOKED_AT = 4096  # bytes that show which of two is always zero
# Windows-1252 has letters and signs where Latin-1 has control characters.
_LETTERS = {
    byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte)
    for byte in range(0x80, 0xA0)
}
_BYTES = {ord(letter): chr(byte) for byte, letter in _LETTERS.items()}


@dataclass(eq=False)
class Encoding:
    """The encoding of a text, as far as it has been read, and its byte-order mark."""

    name: str = "utf-8"
    mark: bytes = b""

    def encode(self, text: bytes) -> bytes:
        """Convert UTF-8 to this encoding; a character that it lacks is an error."""
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


def as_utf8(
    pieces: Iterable[bytes], where: str, encoding: Encoding | None = None
) -> Iterator[bytes]:
    """Yield a text in UTF-8, without a byte-order mark.

    UTF-16 and UTF-32 are known by their marks, or by their zeros. What is not UTF-8
    is read as Windows-1252, which has all letters of Latin-1. What is found out is
    written to `encoding`.
    """
    known = Encoding() if encoding is None else encoding
    rest = iter(pieces)
    first = b""
    for piece in rest:
        first += piece
        if len(first) >= len(codecs.BOM_UTF32_LE):
            break
    known.mark = next(filter(first.startswith, _MARKS), b"")
    known.name = _MARKS[known.mark] if known.mark else _by_zeros(first[:_LOOKED_AT])
    text = chain([first.removeprefix(known.mark)], rest)
    if known.name == "utf-8":
        return _utf8_or_windows(_no_zeros(text, where), where, known)
    return _no_zeros(_converted(text, known.name, where), where)


def _by_zeros(text: bytes) -> str:
    """Return the encoding of text without a mark: one byte of two is mostly zero."""
    half = len(text) // 2
    zeros = text[0 : 2 * half : 2].count(0), text[1 : 2 * half : 2].count(0)
    if zeros[1] > 0.7 * half and not zeros[0]:
        return "utf-16-le"
    return "utf-16-be" if zeros[0] > 0.7 * half and not zeros[1] else "utf-8"


def _converted(text: Iterable[bytes], encoding: str, where: str) -> Iterator[bytes]:
    """Yield text of another encoding in UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for piece in text:
            yield decoder.decode(piece).encode()
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError as error:  # halves of a pair that stand alone, for instance
        name = encoding[:-3].upper()
        raise ValueError(
            f"{where} begins as text in {name}, but is damaged: {error}"
        ) from error


def _utf8_or_windows(
    text: Iterable[bytes], where: str, known: Encoding
) -> Iterator[bytes]:
    """Yield UTF-8 as it is, and Windows-1252 converted, from its first letter on."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_ascii, cut = True, b""  # so far; and the beginning of a character
    pieces = chain(text, [b""])  # nothing stands for the end
    for piece in pieces:
        data = cut + piece
        if data.isascii():
            cut = b""
            yield data
            continue
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
                f"{where} is not text in UTF-8, so that its letters were read as "
                f"{_WINDOWS} (Latin-1)"
            )
            known.name = _WINDOWS
            for other in chain([data], pieces):
                yield other.decode("latin-1").translate(_LETTERS).encode()
            return
        cut = decoder.getstate()[0]
        whole = data[: len(data) - len(cut)]
        is_ascii = is_ascii and whole.isascii()
        yield whole


def _no_zeros(text: Iterable[bytes], where: str) -> Iterator[bytes]:
    """Yield the same text; raise an error where it is not text."""
    for piece in text:
        if b"\0" in piece:
            raise ValueError(
                f"{where} is not a text file, or is damaged: it has zero bytes"
            )
        yield piece
