"""Options that several commands have, and options whose value is one of some words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer


def one_of(words: Sequence[str], text: str, *names: str, **settings: Any) -> Any:
    """An option whose value is one of some words."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in words:
            known = ", ".join(map(repr, words))
            raise typer.BadParameter(f"{value!r} is not one of {known}.")
        return value

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return typer.Option(
        *names,
        metavar=f"<{'|'.join(words)}>",
        callback=check,
        autocompletion=complete,
        help=text,
        **settings,
    )


Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of errors.")]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A file written by heterolda fit.")
]
Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="Files .csv, .tsv (also .gz) or .parquet, folders of these, quoted "
        "patterns, or - for standard input.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Feature columns, separated by commas, for a model that does not know "
        "their names.",
    ),
]
_READ: dict[str, Any] = {"rich_help_panel": "What to read"}
Delimiter = Annotated[
    str | None,
    typer.Option(
        **_READ,
        metavar="CHARACTER",
        help="What separates the columns of text files, such as ';', tab or space; "
        "found by itself.",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        **_READ,
        metavar="CHARACTER",
        help="The decimal mark of text files, '.' or ','; found by itself.",
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header",
        **_READ,
        help="The first line of text files is a row: columns are column_1, column_2 "
        "and so on.",
    ),
]
Na = Annotated[
    str | None,
    typer.Option(
        "--na",
        **_READ,
        metavar="MARKS",
        help="What stands for a missing value beside empty cells, NA, NaN and null, "
        "such as '?,-999'.",
    ),
]
SampleWeight = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of frequencies: 3 counts as three rows. A fit scales weights of a "
        "mean below one to a mean of one.",
    ),
]
