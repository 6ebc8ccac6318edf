"""Text of any usual encoding as UTF-8, piece by piece."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from itertools import chain

from heterolda.data.warn import warn_of_reading

# The marks that some programs write first; UTF-32 before UTF-16, whose mark it begins.
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_LOOKED_AT = 4096  # bytes that show which of two is always zero
# Windows-1252 has letters and signs where Latin-1 has control characters.
_WINDOWS = {
    byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte)
    for byte in range(0x80, 0xA0)
}


def as_utf8(pieces: Iterable[bytes], where: str) -> Iterator[bytes]:
    """The same text in UTF-8, without a mark at its beginning.

    UTF-16 and UTF-32 are known by their marks, or by their zeros. What is not UTF-8
    is taken for Windows-1252, which has all letters of Latin-1.
    """
    rest = iter(pieces)
    first = b""
    for piece in rest:
        first += piece
        if len(first) >= len(codecs.BOM_UTF32_LE):
            break
    mark = next(filter(first.startswith, _MARKS), b"")
    encoding = _MARKS[mark] if mark else _by_zeros(first[:_LOOKED_AT])
    text = chain([first.removeprefix(mark)], rest)
    if encoding == "utf-8":
        return _utf8_or_windows(_no_zeros(text, where), where)
    return _no_zeros(_converted(text, encoding, where), where)


def _by_zeros(text: bytes) -> str:
    """The encoding of text without a mark: of most letters one of two bytes is zero."""
    half = len(text) // 2
    zeros = text[0 : 2 * half : 2].count(0), text[1 : 2 * half : 2].count(0)
    if zeros[1] > 0.7 * half and not zeros[0]:
        return "utf-16-le"
    return "utf-16-be" if zeros[0] > 0.7 * half and not zeros[1] else "utf-8"


def _converted(text: Iterable[bytes], encoding: str, where: str) -> Iterator[bytes]:
    """Text of another encoding."""
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


def _utf8_or_windows(text: Iterable[bytes], where: str) -> Iterator[bytes]:
    """Text in UTF-8 as it is; in Windows-1252, from its first letter on, converted."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_ascii, cut = True, b""  # so far; and the beginning of a character
    pieces = chain(text, [b""])  # nothing stands for the end
    for piece in pieces:
        data = cut + piece
        if data.isascii():
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
                "Windows-1252 (Latin-1)"
            )
            for other in chain([data], pieces):
                yield other.decode("latin-1").translate(_WINDOWS).encode()
            return
        cut = decoder.getstate()[0]
        whole = data[: len(data) - len(cut)]
        is_ascii = is_ascii and whole.isascii()
        yield whole


def _no_zeros(text: Iterable[bytes], where: str) -> Iterator[bytes]:
    """The same text; an error where it is none."""
    for piece in text:
        if b"\0" in piece:
            raise ValueError(
                f"{where} is not a text file, or is damaged: it has zero bytes"
            )
        yield piece
