"""Where a command reads its data: files, or the standard input."""

from __future__ import annotations

import glob
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import typer

from heterolda.cli.messages import usage_errors
from heterolda.cli.parsing import split_names

STANDARD_INPUT = "-"


def name_of(data: list[str]) -> str:
    """The data in a few words."""
    if data == [STANDARD_INPUT]:
        return "standard input"
    return data[0] if len(data) == 1 else f"{data[0]} and {len(data) - 1} more"


def check_outputs(
    outputs: dict[str, str | Path | None],
    *read: str | Path,
    data: Sequence[str] = (),
) -> None:
    """Refuse outputs that cannot be written, or would replace what is read or written.

    Outputs are named by their options. Standard output is one of them, as it may lead
    to a file. Links do not matter. Files and data, which may be folders, are read.
    """
    from heterolda.data.sources import paths_of
    from heterolda.foundations.files import check_target

    is_stream = STANDARD_INPUT in data
    files = [*read, *(paths_of(list(data)) or () if data and not is_stream else ())]
    taken: dict[object, str] = {_identity(f): f"{f}, which is read" for f in files}
    if is_stream:
        taken[_identity(sys.stdin)] = "standard input, which is read"
    with usage_errors():
        for option, path in outputs.items():
            if path is None:
                continue
            if str(path) == STANDARD_INPUT:
                raise ValueError(f"{option}: name a file, not -")
            _refuse_taken(f"{option} {path}", _identity(path), taken)
            if _lies_among(path, data):
                raise ValueError(
                    f"{option} {path}: it would lie among the data and be read with "
                    "them next time: choose another folder"
                )
            taken[_identity(path)] = f"what {option} writes"
            check_target(path)
        _refuse_taken("standard output", _identity(sys.stdout), taken)


def _refuse_taken(output: str, identity: object, taken: dict[object, str]) -> None:
    if identity in taken:
        raise ValueError(
            f"{output}: it would replace {taken[identity]}: name another file"
        )


def _identity(file: str | Path | IO[str]) -> object:
    """What all names of a file have in common, whether it exists or not."""
    try:
        found = os.stat(file if isinstance(file, str | Path) else file.fileno())
    except (OSError, ValueError):  # or it is not a real stream
        return os.path.realpath(file) if isinstance(file, str | Path) else object()
    is_file = stat.S_ISREG(found.st_mode)  # nothing in a device or a pipe is lost
    return (found.st_dev, found.st_ino) if is_file else object()


def _lies_among(path: str | Path, data: Sequence[str]) -> bool:
    """Whether folders or patterns of data would take in a file when it is there."""
    from heterolda.data.sources import ENDINGS

    parts = Path(os.path.realpath(path)).parts
    if not parts[-1].lower().endswith(ENDINGS):
        return False
    for item in map(os.path.expanduser, data):
        exists = os.path.exists(item)
        pattern = os.path.realpath(item)
        pattern = glob.escape(pattern) if exists else pattern
        if _matches(parts, Path(pattern).parts):
            return True
    return False


def _matches(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether a pattern takes in a file, or a folder that it is in."""
    from heterolda.data.sources import HIDDEN

    if not pattern:
        return not any(part.startswith(HIDDEN) for part in parts)
    if pattern[0] == "**":
        return any(_matches(parts[k:], pattern[1:]) for k in range(len(parts)))
    same = bool(parts) and fnmatch(parts[0], pattern[0])
    return same and _matches(parts[1:], pattern[1:])


def reading_of(
    delimiter: str | None, decimal: str | None, no_header: bool, na: str | None
) -> Any:
    """How to read files, from the options; an error if pyarrow is missing."""
    import_module("pyarrow")
    from heterolda.data.reading import Reading

    with usage_errors():
        if decimal not in (None, ".", ","):
            raise ValueError(f"--decimal {decimal}: must be '.' or ','")
        return Reading(
            _one_character(delimiter), decimal, not no_header, split_names(na)
        )


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
        raise typer.BadParameter("- means standard input: name no other data with it")
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
