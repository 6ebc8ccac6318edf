"""Where a command reads its data: files, or the standard input."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from heterolda.cli.messages import usage_errors
from heterolda.cli.parsing import split_names

STANDARD_INPUT = "-"


def name_of(data: list[str]) -> str:
    """The data in a few words."""
    if data == [STANDARD_INPUT]:
        return "standard input"
    return data[0] if len(data) == 1 else f"{data[0]} and {len(data) - 1} more"


def check_not_read(option: str, path: str | Path, data: list[str]) -> None:
    """Refuse to write to a file of the data, also by another name of it."""
    from heterolda.data.sources import paths_of

    names = None if STANDARD_INPUT in data else paths_of(data)
    if any(is_same_file(path, name) for name in names or ()):
        with usage_errors():
            raise ValueError(f"{option} {path}: it would replace the data")


def is_same_file(first: str | Path, second: str | Path) -> bool:
    """Whether two names mean the same file, perhaps through a link."""
    one, other = Path(first), Path(second)
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


def reading_of(
    delimiter: str | None, decimal: str | None, no_header: bool, na: str | None
) -> Any:
    """How the options say that files are to be read."""
    from heterolda.data.reading import Reading

    with usage_errors():
        if decimal not in (None, ".", ","):
            raise ValueError(f"--decimal {decimal}: must be '.' or ','")
        mark = _one_character(delimiter)
        if mark is not None and mark == decimal:
            raise ValueError(f"--delimiter and --decimal cannot both be {mark!r}")
        return Reading(mark, decimal, not no_header, split_names(na))


@contextmanager
def source_of(
    data: list[str], reading: Any, *, keep_answering: bool = False
) -> Iterator[Any]:
    """What the library reads the data from: paths, or ``-``.

    Standard input is kept in a temporary file, to be read as often as need be, unless
    the answers are not to wait for its end.
    """
    from heterolda.data.csv_reader import StandardInput
    from heterolda.data.reading import Files

    if STANDARD_INPUT not in data:
        yield Files(data, reading)
        return
    if len(data) > 1:
        raise typer.BadParameter("- stands for all data: no file can follow it")
    if keep_answering:
        yield StandardInput(reading)
        return
    with tempfile.TemporaryDirectory(prefix="heterolda-") as folder:
        path = Path(folder, "standard_input.csv")
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield Files([str(path)], reading, StandardInput.name)


def categories_of(rows: Any, categorical: str | None) -> Any:
    """A table with the columns of --categorical as features."""
    from heterolda.cli.progress import StatusLine
    from heterolda.data.level_counts import with_categories

    names = split_names(categorical)
    if not names:
        return rows
    with StatusLine() as status:
        return with_categories(rows, names, status.rows("counting categories"))


def _one_character(text: str | None) -> str | None:
    """The value of --delimiter."""
    words = {"tab": "\t", r"\t": "\t", "space": " "}
    mark = words.get(text or "", text)
    if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n'):
        raise ValueError(
            f"--delimiter {text}: must be one character, such as ';', or tab or space"
        )
    return mark
