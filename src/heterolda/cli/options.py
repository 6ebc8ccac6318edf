"""Options that several commands share, and parsers of their values.

A dataclass is a group of options: `heterolda.cli.app` turns each field into an option.
Options of a single command are in its file.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer


def split_names(text: str) -> tuple[str, ...]:
    """Return names separated by commas; quotes protect a comma or a line break."""
    lines = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    return tuple(name.strip() for line in lines for name in line if name.strip())


def join_names(names: Iterable[Any]) -> str:
    """Return names separated by commas: the inverse of `split_names`."""
    text = io.StringIO()
    csv.writer(text).writerow(names)
    return text.getvalue().removesuffix("\r\n")


def parse_numbers(text: str, form: str = "LABEL=NUMBER") -> dict[str, float]:
    """Parse numbers by label, such as ``a=0.3,b=0.7``."""
    numbers: dict[str, float] = {}
    for part in split_names(text):
        label, _, value = (piece.strip() for piece in part.rpartition("="))
        if label in numbers:
            raise typer.BadParameter(f"{label!r} is given more than once")
        try:
            numbers[label] = float(value)
        except ValueError:
            numbers[""] = 0.0
    if not numbers or "" in numbers:
        raise typer.BadParameter(f"{text!r}: write {form} separated by commas")
    return numbers


def parse_costs(text: str) -> dict[str, dict[str, float]]:
    """Parse costs by true and decided label, such as ``ill:well=10,well:ill=1``."""
    form = "TRUE:DECIDED=COST"
    costs: dict[str, dict[str, float]] = {}
    for pair, cost in parse_numbers(text, form).items():
        true, _, decided = (label.strip() for label in pair.partition(":"))
        if not (true and decided):
            raise typer.BadParameter(f"{text!r}: write {form} separated by commas")
        costs.setdefault(true, {})[decided] = cost
    return costs


def _priors(text: str) -> Any:
    return text if text == "equal" else parse_numbers(text)


def parse_class_weight(text: str) -> Any:
    """Parse factors by label; return ``balanced`` unchanged."""
    return text if text == "balanced" else parse_numbers(text)


def _shrinkage(text: str) -> Any:
    """Parse a number, or two separated by a comma; return other text unchanged."""
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        return text
    return numbers[0] if len(numbers) == 1 else numbers


def _delimiter(text: str) -> str:
    character = {"tab": "\t", r"\t": "\t", "space": " "}.get(text, text)
    if len(character) != 1 or not character.isascii() or character in '"\r\n':
        raise typer.BadParameter(
            f"{text!r}: write one character, such as ';', or tab or space"
        )
    return character


def file_named(*endings: str) -> Callable[[str], Path]:
    """Return a parser of file names with one of these endings."""

    def parse(text: str) -> Path:
        path = Path(text)
        if path.suffix.lower() not in endings:
            raise typer.BadParameter(f"{text!r}: name a {' or '.join(endings)} file")
        return path

    return parse


def _option(
    panel: str, metavar: str | None, text: str, *names: str, **settings: Any
) -> Any:
    """Return an option in a group of the help."""
    settings |= {"metavar": metavar, "help": text, "rich_help_panel": panel}
    return typer.Option(*names, **settings)


# Help shows these groups in the order of a command's parameters.
read = partial(_option, "What to read")
model = partial(_option, "What to fit")
evaluation = partial(_option, "How good is it")
write = partial(_option, "What to write")
expert = partial(_option, "For experts")
argument = partial(typer.Argument, rich_help_panel="What to read")

Debug = Annotated[
    bool, typer.Option("--debug", help="Show where in the program an error occurred.")
]
ModelFile = Annotated[
    Path, argument(metavar="MODEL", help="A file written by heterolda fit.")
]
Data = Annotated[
    list[str],
    argument(
        metavar="DATA",
        show_default=False,
        help="Files: text (.csv, .tsv, .txt, .data, .dat, .tab, also .gz), Excel "
        "(.xlsx) or .parquet; folders of such files; quoted patterns such as "
        "'parts/*.csv'; or - for standard input.",
    ),
]
SampleWeight = Annotated[
    str | None,
    read(
        "COLUMN",
        "Column with the weight of each row: 3 means three equal rows. If the mean is "
        "below one, a fit scales it to one.",
    ),
]
Shrinkage = Annotated[
    Any,
    model(
        "WEIGHT",
        "For few rows: make the spreads (covariances) of the classes more alike. auto "
        "does what suits the number of rows; or give a number from 0 (none) to 1. With "
        "0.3,0.1 the common spread is first moved toward its diagonal by 0.1. For fit, "
        "cv chooses the amount on held-out rows and keeps all rows in memory.",
        parser=_shrinkage,
    ),
]
Priors = Annotated[
    Any,
    model(
        "LABEL=SHARE,...",
        "How frequent the classes are where the model is used, such as ill=1,well=99, "
        "or equal. By default as in the data.",
        parser=_priors,
    ),
]
page = file_named(".html", ".htm")


@dataclass(frozen=True)
class Reading:
    """The format of text files."""

    delimiter: Annotated[
        str | None,
        read(
            "CHARACTER",
            "Column separator of text files, such as ',', ';', tab or space. Detected "
            "by default.",
            parser=_delimiter,
        ),
    ] = None
    decimal: Annotated[
        Literal[".", ","] | None,
        read(
            "CHARACTER", "Decimal mark of text files, '.' or ','. Detected by default."
        ),
    ] = None
    no_header: Annotated[
        bool,
        read(
            None,
            "Text files have no line of names: columns are called column_1, column_2 "
            "and so on.",
            "--no-header",
        ),
    ] = False
    skip_repeated_header: Annotated[
        bool,
        read(
            None,
            "Leave out lines that repeat the column names, as in files that were "
            "joined, and count them.",
            "--skip-repeated-header",
        ),
    ] = False
    na: Annotated[
        Sequence[str] | None,
        read(
            "STRINGS",
            "Other strings for missing values, such as '?,-999'. Empty cells, NA, NaN "
            "and null always count as missing.",
            parser=split_names,
        ),
    ] = None

    @property
    def format(self) -> Any:
        """Return the format for readers; raise an error if pyarrow is not installed."""
        import pyarrow  # noqa: F401

        from heterolda.data.formats import Format

        return Format(
            self.delimiter,
            self.decimal,
            header=not self.no_header,
            skip_repeated_header=self.skip_repeated_header,
            na=tuple(self.na or ()),
        )


@dataclass(frozen=True)
class Rows:
    """Labeled rows."""

    data: Data
    target: Annotated[
        str,
        read(
            "COLUMN",
            "Column with the class of each row: text, whole numbers or true/false.",
            "--target",
            "-t",
        ),
    ]
    columns: Annotated[
        Sequence[str] | None,
        read(
            "NAMES",
            "Feature columns, separated by commas. By default all but the target.",
            parser=split_names,
        ),
    ] = None
    exclude: Annotated[
        Sequence[str] | None,
        read(
            "NAMES",
            "Columns to ignore, such as row numbers and names.",
            parser=split_names,
        ),
    ] = None
    categorical: Annotated[
        Sequence[str] | None,
        read(
            "NAMES",
            "Columns of categories, such as city,kind. Each frequent value except the "
            "most frequent becomes a feature of zeros and ones.",
            parser=split_names,
        ),
    ] = None
    sample_weight: SampleWeight = None


MissingOrEM = Annotated[
    Literal["error", "drop", "em"],
    read(
        None,
        "Rows with missing values: stop with an error, drop and count them, or keep "
        "them (em) and use the values that are present.",
    ),
]
Missing = Annotated[
    Literal["error", "drop"],
    read(None, "Rows with missing values: stop with an error, or drop and count them."),
]
