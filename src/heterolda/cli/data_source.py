"""Where a command reads its data, and files that it must not write."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from heterolda.cli.parsing import UsageError, split_names
from heterolda.data.files import ENDINGS, HIDDEN, STANDARD_STREAM, paths_of


def name_of(data: Sequence[str]) -> str:
    """Return the data in a few words."""
    if list(data) == [STANDARD_STREAM]:
        return "standard input"
    return data[0] if len(data) == 1 else f"{data[0]} and {len(data) - 1} more"


def check_model(path: Path) -> None:
    """Refuse a model file that does not exist, before anything heavy is imported."""
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def check_outputs(
    outputs: dict[str, str | Path | None],
    *read: str | Path,
    data: Sequence[str] = (),
) -> None:
    """Refuse outputs that cannot be written, or would replace what is read or written.

    Outputs are named by their options. Standard output is one of them, as it may lead
    to a file. Links do not matter. Files and data, which may be folders, are read.
    """
    if STANDARD_STREAM in data and len(data) > 1:
        raise UsageError("- means standard input: name no other data with it")
    is_stream = STANDARD_STREAM in data
    files = [*read, *([] if is_stream or not data else paths_of(list(data)) or ())]
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
        found = os.stat(file if isinstance(file, str | Path) else file.fileno())
    except (OSError, ValueError):  # or it is not a real stream
        return os.path.realpath(file) if isinstance(file, str | Path) else None
    is_file = stat.S_ISREG(found.st_mode)  # nothing in a device or a pipe is lost
    return (found.st_dev, found.st_ino) if is_file else None


def _takes_in(item: str, path: str | Path) -> bool:
    """Return whether a folder or pattern of data would take in a file that is new."""
    item, new = os.path.expanduser(item), os.path.realpath(path)
    if not new.lower().endswith(ENDINGS):
        return False
    pattern = os.path.realpath(item)
    if os.path.exists(item):
        inside = os.path.relpath(new, pattern)
        hidden = any(part.startswith(HIDDEN) for part in Path(inside).parts)
        return os.path.isdir(item) and not hidden
    return _matches(Path(new).parts, Path(pattern).parts)


def _matches(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Return whether a pattern takes in a file."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[k:], pattern[1:]) for k in range(len(parts)))
    same = bool(parts) and fnmatch(parts[0], pattern[0])
    return same and _matches(parts[1:], pattern[1:])


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
    if decimal not in (None, ".", ","):
        raise UsageError(f"--decimal {decimal}: must be '.' or ','")
    import_module("pyarrow")
    from heterolda.data.formats import Format

    return Format(mark, decimal, not no_header, split_names(na))


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
    """Yield the table of a command that fits a model, from its options."""
    from heterolda.cli.progress import StatusLine
    from heterolda.data.category_counts import with_categories
    from heterolda.data.table import Table

    names = split_names(columns)
    if names and exclude:
        raise UsageError(
            "--columns names all features, so --exclude would have no effect: use only "
            "one of them"
        )
    left_out = split_names(exclude)
    known = target, settings.get("sample_weight"), *names, *left_out
    left_out += tuple(n for n in dict.fromkeys(also_out) if n not in known)
    with source_of(data) as source:
        table = Table(
            target=target, columns=names or None, exclude=left_out, **source, **settings
        )
        if split_names(categorical):
            with StatusLine() as status:
                counting = status.doing("counting categories")
                table = with_categories(table, split_names(categorical), counting)
        yield table
