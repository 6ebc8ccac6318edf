"""Options that several commands have, the groups of help, and options of some words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

# Help shows these groups in the order of a command's parameters, and the rest last.
READ: dict[str, Any] = {"rich_help_panel": "What to read"}
FIT: dict[str, Any] = {"rich_help_panel": "What to fit"}
JUDGE: dict[str, Any] = {"rich_help_panel": "How good is it"}
WRITE: dict[str, Any] = {"rich_help_panel": "What to write"}
EXPERTS: dict[str, Any] = {"rich_help_panel": "For experts"}


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
        metavar="|".join(words),
        callback=check,
        autocompletion=complete,
        help=text,
        **settings,
    )


Debug = Annotated[
    bool, typer.Option("--debug", help="Show where in the program an error occurred.")
]
ModelFile = Annotated[
    Path,
    typer.Argument(**READ, metavar="MODEL", help="A file written by heterolda fit."),
]
Data = Annotated[
    list[str],
    typer.Argument(
        **READ,
        metavar="DATA",
        show_default=False,
        help="Files: text (.csv, .tsv, .txt, .data, .dat, .tab, also .gz), Excel "
        "(.xlsx) or .parquet; folders of such files; quoted patterns such as "
        "'parts/*.csv'; or - for standard input.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        **READ,
        metavar="NAMES",
        help="Names of the feature columns, separated by commas. Only for model files "
        "without names.",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        **READ,
        metavar="CHARACTER",
        help="Column separator of text files, such as ',', ';', tab or space. "
        "Detected by default.",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        **READ,
        metavar="CHARACTER",
        help="Decimal mark of text files, '.' or ','. Detected by default.",
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header",
        **READ,
        help="Text files have no line of names: columns are called column_1, column_2 "
        "and so on.",
    ),
]
Na = Annotated[
    str | None,
    typer.Option(
        "--na",
        **READ,
        metavar="MARKS",
        help="Other marks of missing values, such as '?,-999'. Empty cells, NA, NaN "
        "and null always count as missing.",
    ),
]
SampleWeight = Annotated[
    str | None,
    typer.Option(
        **READ,
        metavar="COLUMN",
        help="Column that says how often a row counts: 3 means three equal rows. If "
        "the mean is below one, a fit scales it to one.",
    ),
]
