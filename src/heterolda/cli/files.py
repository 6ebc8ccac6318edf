"""The table that a command reads, and files that it must not write."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import IO, Any

from heterolda.cli.messages import StatusLine
from heterolda.cli.options import UsageError, split_names
from heterolda.data.files import ENDINGS, HIDDEN, STANDARD_STREAM, paths_of


def name_of(data: Sequence[str]) -> str:
    """Return the data in a few words."""
    if list(data) == [STANDARD_STREAM]:
        return "standard input"
    return data[0] if len(data) == 1 else f"{data[0]} and {len(data) - 1} more"


def check_outputs(
    outputs: dict[str, str | Path | None],
    *read: str | Path,
    model: Path | None = None,
    data: Sequence[str] = (),
) -> None:
    """Refuse outputs that cannot be written, or would replace what is read or written.

    Outputs are named by their options. Standard output is one of them, as it may lead
    to a file. Links do not matter. The model must be there, and the data, which may be
    folders.
    """
    if STANDARD_STREAM in data and len(data) > 1:
        raise UsageError("- means standard input: name no other data with it")
    is_stream = STANDARD_STREAM in data
    files: list[str | Path] = [*read]
    if model is not None:
        model.stat()
        files.append(model)
    if data and not is_stream:
        files += paths_of(list(data)) or ()
    taken: list[tuple[Any, str]] = [(file, f"{file}, which is read") for file in files]
    if is_stream:
        taken.append((sys.stdin, "standard input, which is read"))
    for option, path in outputs.items():
        if path is None:
            continue
        if str(path) == STANDARD_STREAM:
            raise UsageError(f"{option}: name a file, not -")
        _refuse_taken(f"{option} {path}", path, taken)
        if any(_takes_in(item, path) for item in data if not is_stream):
            raise UsageError(
                f"{option} {path}: it would lie among the data and be read with them "
                "next time: choose another folder"
            )
        taken.append((path, f"what {option} writes"))
        from heterolda.foundations.files import check_target

        check_target(path)
    _refuse_taken("standard output", sys.stdout, taken)


def _refuse_taken(output: str, file: Any, taken: list[tuple[Any, str]]) -> None:
    identity = _identity(file)
    for other, what in taken:
        if identity is not None and identity == _identity(other):
            raise UsageError(f"{output}: it would replace {what}: name another file")


def _identity(file: str | Path | IO[str]) -> object:
    """Return what all names of a file have in common, whether it exists or not."""
    try:
        status = os.stat(file if isinstance(file, str | Path) else file.fileno())
    except (OSError, ValueError):  # or it is not a real stream
        return os.path.realpath(file) if isinstance(file, str | Path) else None
    is_file = stat.S_ISREG(status.st_mode)  # nothing in a device or a pipe is lost
    return (status.st_dev, status.st_ino) if is_file else None


def _takes_in(item: str, path: str | Path) -> bool:
    """Return whether a folder or pattern of data would take in a file that is new."""
    item, new = os.path.expanduser(item), os.path.realpath(path)
    if not new.lower().endswith(ENDINGS):
        return False
    pattern = os.path.realpath(item)
    if os.path.exists(item):
        inside = Path(os.path.relpath(new, pattern)).parts  # or out of it, by ..
        return os.path.isdir(item) and not any(p.startswith(HIDDEN) for p in inside)
    same_depth = new.count(os.sep) == pattern.count(os.sep)
    any_depth = pattern.replace(f"**{os.sep}", "*")
    return (same_depth or any_depth != pattern) and fnmatch(new, any_depth)


def format_of(
    delimiter: str | None, decimal: str | None, no_header: bool, na: str | None
) -> Any:
    """Return the format of files by the options; an error if pyarrow is missing."""
    words = {"tab": "\t", r"\t": "\t", "space": " "}
    mark = words.get(delimiter or "", delimiter)
    if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n'):
        raise UsageError(
            f"--delimiter {delimiter}: must be one character, such as ';', or tab or "
            "space"
        )
    import pyarrow  # noqa: F401

    from heterolda.data.formats import Format

    return Format(mark, decimal, not no_header, split_names(na))


def need_matplotlib() -> None:
    """Say what to install for pictures, before long work."""
    from heterolda.inspection.displays.base import pyplot

    pyplot()  # type: ignore[no-untyped-call]


@contextmanager
def source_of(data: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the source of a table, and its name if that is not its paths.

    Standard input is kept in a temporary file, to be read as often as need be.
    """
    if data != [STANDARD_STREAM]:
        yield {"source": data}
        return
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="heterolda-") as folder:
        path = Path(folder, "standard_input.csv")
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield {"source": [str(path)], "name": name_of(data)}


@contextmanager
def training_table(
    data: list[str],
    target: str,
    columns: str | None,
    exclude: str | None,
    categorical: str | None,
    also_out: Sequence[str] = (),
    **settings: Any,
) -> Iterator[Any]:
    """Yield the table of a command that fits a model, from its options.

    Where columns are not numeric, the target is looked at first: if it is a
    measurement, the command was meant otherwise.
    """
    from heterolda.data.category_counts import with_categories
    from heterolda.data.gathering import read_all
    from heterolda.data.not_numeric import NotNumericError
    from heterolda.data.table import Table

    names, left_out = split_names(columns), split_names(exclude)
    if names and left_out:
        raise UsageError(
            "--columns names all features, so --exclude would have no effect: use only "
            "one of them"
        )
    others = target, settings["sample_weight"], *names, *left_out
    left_out += tuple(n for n in dict.fromkeys(also_out) if n not in others)
    with source_of(data) as source:
        table = Table(
            target=target, columns=names or None, exclude=left_out, **source, **settings
        )
        try:
            if split_names(categorical):
                with StatusLine() as status:
                    counting = status.doing("counting categories")
                    table = with_categories(table, split_names(categorical), counting)
            yield table
        except NotNumericError:
            read_all(replace(table, columns=(), categories=(), missing="drop"))
            raise
