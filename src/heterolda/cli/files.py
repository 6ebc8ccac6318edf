"""The table that a command reads, and files that it must not write."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from heterolda.cli.messages import StatusLine
from heterolda.cli.options import Reading, Rows, UsageError, split_names
from heterolda.data.files import STANDARD_STREAM, paths_of


def name_of(data: Sequence[str]) -> str:
    """Return the data in a few words."""
    if list(data) == [STANDARD_STREAM]:
        return "standard input"
    return data[0] if len(data) == 1 else f"{data[0]} and {len(data) - 1} more"


def check_files(
    outputs: dict[str, str | Path | None],
    *read: str | Path,
    model: Path | None = None,
    data: Sequence[str] = (),
) -> None:
    """Refuse outputs that cannot be written, or that are files to read.

    Outputs are named by their options. The model and the data, which may be folders,
    must exist.
    """
    if STANDARD_STREAM in data and len(data) > 1:
        raise UsageError("- means standard input: name no other data with it")
    files = [*read]
    if model is not None:
        os.stat(model)
        files.append(model)
    if data and STANDARD_STREAM not in data:
        files += paths_of(list(data)) or ()
    taken = {os.path.realpath(file): file for file in files}
    for option, path in outputs.items():
        if path is None:
            continue
        if str(path) == STANDARD_STREAM:
            raise UsageError(f"{option}: name a file, not -")
        resolved = os.path.realpath(path)
        if resolved in taken:
            raise UsageError(
                f"{option} {path}: it would replace {taken[resolved]}, which is read: "
                "name another file"
            )
        from heterolda.foundations.files import check_target

        check_target(path)


def check_page(option: str, path: Path | None) -> None:
    """Refuse a page whose name says that it is something else."""
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{option} {path}: name an .html file")


def format_of(reading: Reading) -> Any:
    """Return the format of files by the options; an error if pyarrow is missing."""
    words = {"tab": "\t", r"\t": "\t", "space": " "}
    mark = words.get(reading.delimiter or "", reading.delimiter)
    if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n'):
        raise UsageError(
            f"--delimiter {mark}: must be one character, such as ';', or tab or space"
        )
    import pyarrow  # noqa: F401

    from heterolda.data.formats import Format

    return Format(mark, reading.decimal, not reading.no_header, split_names(reading.na))


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
    rows: Rows,
    missing: str,
    text: Any,
    *,
    takes_missing: bool = False,
) -> Iterator[Any]:
    """Yield the table that a model is fitted to."""
    from heterolda.data.category_counts import with_categories
    from heterolda.data.table import Table

    names, left_out = split_names(rows.columns), split_names(rows.exclude)
    if names and left_out:
        raise UsageError(
            "--columns names all features, so --exclude would have no effect: use only "
            "one of them"
        )
    with source_of(rows.data) as source:
        table = Table(
            target=rows.target,
            columns=names or None,
            exclude=left_out,
            sample_weight=rows.sample_weight,
            missing=missing,
            format=text,
            takes_missing=takes_missing,
            **source,
        )
        if split_names(rows.categorical):
            with StatusLine() as status:
                counting = status.doing("counting categories")
                table = with_categories(table, split_names(rows.categorical), counting)
        yield table
