"""Where a command reads its data: files, or the standard input."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from heterolda.cli.messages import usage_errors

STANDARD_INPUT = "-"
_CHUNK = 1 << 22


def name_of(data: list[str]) -> str:
    """The data in a few words."""
    if data == [STANDARD_INPUT]:
        return "standard input"
    return data[0] if len(data) == 1 else f"{data[0]} and {len(data) - 1} more"


@contextmanager
def source_of(
    data: list[str], form: str, delimiter: str | None, *, again: bool
) -> Iterator[Any]:
    """What the library reads the data from.

    Parameters
    ----------
    data : list of str
        Paths, or ``-``.
    form : str
        Form of the standard input.
    delimiter : str or None
        What stands between two columns of text, if somebody has said so.
    again : bool
        Whether the data are read more than once. Then the standard input is kept in a
        temporary file.

    Yields
    ------
    list of str, TextFiles or TextStream
        A source.
    """
    from heterolda.data.standard_input import standard_input
    from heterolda.data.text_files import TextFiles, TextStream

    with usage_errors():
        delimiter = _one_character(delimiter)
    if STANDARD_INPUT not in data:
        yield data if delimiter is None else TextFiles(data, delimiter)
        return
    if len(data) > 1:
        raise typer.BadParameter("- stands for all data: no file can follow it")
    delimiter = delimiter or {"csv": ",", "tsv": "\t"}[form]
    if not again:
        yield standard_input(delimiter)
        return
    with tempfile.NamedTemporaryFile(prefix="heterolda-") as kept:
        shutil.copyfileobj(sys.stdin.buffer, kept)
        kept.flush()

        def chunks() -> Iterator[bytes]:
            with open(kept.name, "rb") as file:
                while chunk := file.read(_CHUNK):
                    yield chunk

        yield TextStream(chunks, delimiter)


def _one_character(text: str | None) -> str | None:
    """The value of --delimiter."""
    mark = {"tab": "\t", r"\t": "\t"}.get(text or "", text)
    if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n'):
        raise ValueError(
            f"--delimiter {text}: must be one character, such as ';', or tab"
        )
    return mark
