"""Options that say what to read and what to write, each declared once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from heterolda.foundations.wording import MISSING_IN_FILES

# Help shows these groups in the order of a command's parameters, and the rest last.
READ: dict[str, Any] = {"rich_help_panel": "What to read"}
FIT: dict[str, Any] = {"rich_help_panel": "What to fit"}
JUDGE: dict[str, Any] = {"rich_help_panel": "How good is it"}
WRITE: dict[str, Any] = {"rich_help_panel": "What to write"}
EXPERTS: dict[str, Any] = {"rich_help_panel": "For experts"}


def one_of(words: Sequence[str], text: str, *names: str, **settings: Any) -> Any:
    """Return an option whose value is one of some words."""

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


def panel(settings: Any) -> Any:
    """Return a function that makes options of a group: metavar, text, names."""

    def option(metavar: str | None, text: str, *names: str, **more: Any) -> Any:
        all_settings: Any = settings | more | {"metavar": metavar, "help": text}
        return typer.Option(*names, **all_settings)

    return option


_read, _write = panel(READ), panel(WRITE)
Debug = Annotated[
    bool, typer.Option("--debug", help="Show where in the program an error occurred.")
]
# What to read
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
Target = Annotated[
    str,
    _read(
        "COLUMN",
        "Column with the class of each row: text, whole numbers or true/false.",
        "--target",
        "-t",
    ),
]
KnownTarget = Annotated[
    str | None,
    _read(
        "COLUMN",
        "Column with the class of each row. By default the target of the fit, or the "
        "only column that is not a feature.",
        "--target",
        "-t",
    ),
]
Features = Annotated[
    str | None,
    _read(
        "NAMES", "Feature columns, separated by commas. By default all but the target."
    ),
]
ModelColumns = Annotated[
    str | None,
    _read(
        "NAMES",
        "Names of the feature columns, separated by commas. Only for model files "
        "without names.",
    ),
]
Exclude = Annotated[
    str | None, _read("NAMES", "Columns to ignore, such as row numbers and names.")
]
Categorical = Annotated[
    str | None,
    _read(
        "NAMES",
        "Columns of categories, such as city,kind. Each frequent value except the most "
        "frequent becomes a feature of zeros and ones. auto: all columns that look "
        "like categories.",
    ),
]
SampleWeight = Annotated[
    str | None,
    _read(
        "COLUMN",
        "Column that says how often a row counts: 3 means three equal rows. If the "
        "mean is below one, a fit scales it to one.",
    ),
]
Missing = Annotated[
    str,
    one_of(
        MISSING_IN_FILES,
        "Rows with missing values: stop with an error, drop and count them, or keep "
        "them (em) and use the values that are present.",
        **READ,
    ),
]
# For commands that need all values of a row.
WholeRows = Annotated[
    str,
    one_of(
        MISSING_IN_FILES[:2],
        "Rows with missing values: stop with an error, or drop and count them.",
        **READ,
    ),
]
MissingToEvaluate = Annotated[
    str | None,
    one_of(
        MISSING_IN_FILES,
        "Rows with missing values: stop with an error, drop them, or decide them by "
        "the values they have (em). By default em for models fitted that way, "
        "otherwise error.",
        **READ,
    ),
]
MissingToPredict = Annotated[
    str | None,
    one_of(
        ("error", "em", "keep", "drop"),
        "Rows with missing values: stop with an error, decide them by the values they "
        "have (em), keep them with an empty prediction, or drop them. By default em "
        "for models fitted that way, otherwise error.",
        **READ,
    ),
]
Delimiter = Annotated[
    str | None,
    _read(
        "CHARACTER",
        "Column separator of text files, such as ',', ';', tab or space. Detected by "
        "default.",
    ),
]
Decimal = Annotated[
    str | None,
    _read("CHARACTER", "Decimal mark of text files, '.' or ','. Detected by default."),
]
NoHeader = Annotated[
    bool,
    _read(
        None,
        "Text files have no line of names: columns are called column_1, column_2 and "
        "so on.",
        "--no-header",
    ),
]
Na = Annotated[
    str | None,
    _read(
        "STRINGS",
        "Other strings for missing values, such as '?,-999'. Empty cells, NA, NaN and "
        "null always count as missing.",
    ),
]

# What to write
ModelOut = Annotated[
    Path | None,
    _write(
        "FILE",
        "Model file to write (JSON), for predict, evaluate, inspect and export.",
        "--out",
        "-o",
    ),
]
PictureOut = Annotated[
    Path | None,
    _write("FILE", "Picture of the comparison, .png or .svg.", "--out", "-o"),
]
PredictionsOut = Annotated[
    str,
    _write(
        "FILE",
        "A .csv, .tsv (also .gz) or .parquet file. By default, and with -, CSV on "
        "standard output.",
        "--out",
        "-o",
        show_default=False,
    ),
]
ComponentsOut = Annotated[
    str | None,
    _write(
        "FILE",
        "Projected rows: a .csv, .tsv (also .gz) or .parquet file, or - for CSV on "
        "standard output.",
        "--out",
        "-o",
    ),
]
ExportOut = Annotated[Path, _write("FILE", "The file to write.", "--out", "-o")]
Proba = Annotated[bool, _write(None, "Add the probability of each class.", "--proba")]
Identifier = Annotated[
    str | None, _write("NAMES", "Write only these columns and the results.", "--id")
]
Column = Annotated[str, _write("NAME", "Name of the column of predictions.")]
AsJson = Annotated[
    bool, _write(None, "Print one JSON object instead of text.", "--json")
]
MapPage = Annotated[
    Path | None, _write("FILE", "Page with a map of the classes. It needs no network.")
]
ModelPage = Annotated[
    Path | None,
    _write(
        "FILE", "Write a page with tables and pictures instead. It needs no network."
    ),
]
Pair = Annotated[
    str | None, _write("LABEL,LABEL", "Show the rule of these two classes.")
]
Rules = Annotated[
    int, _write("NUMBER", "How many rules to show, the worst first.", min=1)
]
Tradeoff = Annotated[
    bool,
    _write(
        None,
        "Also list the error rates of other rules on the optimal trade-off.",
        "--tradeoff",
    ),
]
# The types of features that each form of export has, the default first.
EXPORTS = {"c": ("float", "double"), "onnx": ("float32", "float64")}
To = Annotated[
    str | None,
    one_of(
        tuple(EXPORTS),
        "A C header that needs no library, or an ONNX graph. By default as the file "
        "name says: .h or .onnx.",
        **WRITE,
    ),
]
Dtype = Annotated[
    str | None,
    _write(
        "TYPE",
        "Type of the features: float or double for C, float32 or float64 for ONNX.",
        show_default="float or float32",
    ),
]
Prefix = Annotated[
    str | None,
    _write(
        "PREFIX", "For C: prefix of all names. By default taken from the file name."
    ),
]
