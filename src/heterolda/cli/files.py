"""Open the table that a command reads, and check the files that it writes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from heterolda.cli.messages import StatusLine
from heterolda.cli.options import Rows, Testing
from heterolda.data.files import STANDARD_STREAM, paths_of
from heterolda.exceptions import ParameterError


def name_of(data: Sequence[str]) -> str:
    """Return a name for the data."""
    if list(data) == [STANDARD_STREAM]:
        return "standard input"
    return data[0] if len(data) == 1 else f"{data[0]} and {len(data) - 1} more"


def check_files(
    outputs: dict[str, str | Path | None],
    *files: str | Path,
    data: Sequence[str] = (),
) -> None:
    """Reject outputs, by option, that cannot be written or are also inputs."""
    for file in files:
        os.stat(file)
    is_on_disk = data and list(data) != [STANDARD_STREAM]
    tables = paths_of(list(data)) or () if is_on_disk else ()
    resolved = {os.path.realpath(file): file for file in [*files, *tables]}
    for option, path in outputs.items():
        if path in (None, STANDARD_STREAM):
            continue
        if path == Path(STANDARD_STREAM):
            raise ParameterError(option, "must name a file, got -")
        replaced = resolved.get(os.path.realpath(path))
        if replaced is not None:
            raise ParameterError(
                option,
                f"{path} would replace {replaced}, which is read: name another file",
            )
        from heterolda.foundations.files import check_target

        check_target(path)


def need_matplotlib() -> None:
    """Raise an error before long work if matplotlib is not installed."""
    from heterolda.inspection.displays.base import pyplot

    pyplot()  # type: ignore[no-untyped-call]


@contextmanager
def training_table(
    rows: Rows,
    missing: str,
    text: Any,
    testing: Testing | None = None,
    *,
    takes_missing: bool = False,
) -> Iterator[Any]:
    """Yield the table that a model is fitted to."""
    from heterolda.data.category_counts import with_categories
    from heterolda.data.table import Table

    if rows.columns and rows.exclude:
        raise ParameterError(
            "columns",
            "names all features, so --exclude would have no effect: use only one of "
            "them",
        )
    if testing is not None:
        check_testing(testing)
    with _paths(rows.data) as (paths, name):
        table = Table(
            source=paths,
            name=name,
            target=rows.target,
            columns=rows.columns or None,
            exclude=rows.exclude or (),
            sample_weight=rows.sample_weight,
            missing=missing,
            held_by=None if testing is None else testing.groups or testing.time,
            in_time=bool(testing and testing.time),
            format=text,
            takes_missing=takes_missing,
        )
        if rows.categorical:
            with StatusLine() as status:
                counting = status.doing("counting categories")
                table = with_categories(table, rows.categorical, counting)
        yield table


def check_testing(testing: Testing) -> None:
    """Reject combinations in which an option would silently be ignored."""
    for option, others in {"test": ("cv", "time"), "time": ("groups",)}.items():
        for other in others:
            if getattr(testing, option) and getattr(testing, other):
                raise ParameterError(
                    other, f"cannot be combined with --{option}: leave one of them out"
                )


@contextmanager
def _paths(data: list[str]) -> Iterator[tuple[list[str], str | None]]:
    """Yield paths, of a copy of standard input for instance, and perhaps a name."""
    if data != [STANDARD_STREAM]:
        yield data, None
        return
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="heterolda-") as folder:
        path = Path(folder, "standard_input.csv")
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield [str(path)], name_of(data)
