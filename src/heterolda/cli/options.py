"""Options that several commands have, those of fit, and what their values stand for.

An option of one other command stands in its signature.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer


class UsageError(ValueError):
    """What was typed is wrong."""


def _option(
    panel: str, metavar: str | None, text: str, *names: str, **more: Any
) -> Any:
    """Return an option in a group of the help."""
    more |= {"metavar": metavar, "help": text, "rich_help_panel": panel}
    return typer.Option(*names, **more)


# Help shows these groups in the order of a command's parameters, and the rest last.
read = partial(_option, "What to read")
model = partial(_option, "What to fit")
judge = partial(_option, "How good is it")
write = partial(_option, "What to write")
expert = partial(_option, "For experts")
argument = partial(typer.Argument, rich_help_panel="What to read")

Debug = Annotated[
    bool, typer.Option("--debug", help="Show where in the program an error occurred.")
]
# What to read
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
Target = Annotated[
    str,
    read(
        "COLUMN",
        "Column with the class of each row: text, whole numbers or true/false.",
        "--target",
        "-t",
    ),
]
Features = Annotated[
    str | None,
    read(
        "NAMES", "Feature columns, separated by commas. By default all but the target."
    ),
]
ModelColumns = Annotated[
    str | None,
    read(
        "NAMES",
        "Names of the feature columns, separated by commas. Only for model files "
        "without names.",
    ),
]
Exclude = Annotated[
    str | None, read("NAMES", "Columns to ignore, such as row numbers and names.")
]
Categorical = Annotated[
    str | None,
    read(
        "NAMES",
        "Columns of categories, such as city,kind. Each frequent value except the most "
        "frequent becomes a feature of zeros and ones. auto: all columns that look "
        "like categories.",
    ),
]
SampleWeight = Annotated[
    str | None,
    read(
        "COLUMN",
        "Column that says how often a row counts: 3 means three equal rows. If the "
        "mean is below one, a fit scales it to one.",
    ),
]
Missing = Annotated[
    Literal["error", "drop", "em"],
    read(
        None,
        "Rows with missing values: stop with an error, drop and count them, or keep "
        "them (em) and use the values that are present.",
    ),
]
# For commands that need all values of a row.
WholeRows = Annotated[
    Literal["error", "drop"],
    read(None, "Rows with missing values: stop with an error, or drop and count them."),
]
Delimiter = Annotated[
    str | None,
    read(
        "CHARACTER",
        "Column separator of text files, such as ',', ';', tab or space. Detected by "
        "default.",
    ),
]
Decimal = Annotated[
    Literal[".", ","] | None,
    read("CHARACTER", "Decimal mark of text files, '.' or ','. Detected by default."),
]
NoHeader = Annotated[
    bool,
    read(
        None,
        "Text files have no line of names: columns are called column_1, column_2 and "
        "so on.",
        "--no-header",
    ),
]
Na = Annotated[
    str | None,
    read(
        "STRINGS",
        "Other strings for missing values, such as '?,-999'. Empty cells, NA, NaN and "
        "null always count as missing.",
    ),
]
# What to fit
Recommended = Annotated[
    bool,
    model(
        None,
        "A model that suits most data, normal or not, but takes longer. Of more than "
        "100,000 rows it is fitted to a random sample.",
        "--recommended",
    ),
]
Shrinkage = Annotated[
    str | None,
    model(
        "WEIGHT",
        "For few rows: make the spreads (covariances) of the classes more alike. cv "
        "chooses the amount on held-out rows and keeps all rows in memory; auto is a "
        "quick formula; or give a number from 0 to 1. With 0.3,0.1 the common spread "
        "is first moved towards its diagonal by 0.1.",
    ),
]
Costs = Annotated[
    str | None,
    model(
        "TRUE:DECIDED=COST,...",
        "Costs of wrong decisions, such as ill:well=10. All others cost 1.",
    ),
]
Priors = Annotated[
    str | None,
    model(
        "LABEL=SHARE,...",
        "How frequent the classes are where the model is used, such as ill=1,well=99, "
        "or equal. By default as in the data.",
    ),
]
MaxError = Annotated[
    str | None,
    model(
        "LABEL=RATE",
        "For two classes: the largest share of one class to get wrong, such as "
        "ill=0.01. Add --confidence to hold it on new rows, or --criterion "
        "neyman-pearson to hold it under the fitted model.",
    ),
]
Confidence = Annotated[
    float | None,
    model(
        "NUMBER",
        "Confidence that --max-error holds on new rows, such as 0.95. Sets half of the "
        "rows of that class aside and keeps all rows in memory. With --cv each fold "
        "sets fewer rows aside and is stricter.",
    ),
]
# How good is it
Cv = Annotated[
    int | None,
    judge(
        "NUMBER",
        "Number of folds for the accuracy on held-out rows. By default 10, and only "
        "where refitting is quick.",
        min=2,
        max=1000,
    ),
]
Accuracy = Annotated[
    bool,
    judge(
        None,
        "Skip the accuracy of the model and of LDA on held-out rows.",
        "--accuracy/--no-accuracy",
    ),
]
# What to write
ModelOut = Annotated[
    Path | None,
    write(
        "FILE",
        "Model file to write (JSON), for predict, evaluate, inspect and export.",
        "--out",
        "-o",
    ),
]
Identifier = Annotated[
    str | None, write("NAMES", "Write only these columns and the results.", "--id")
]
# For experts
Solver = Annotated[
    Literal["global", "fixed-point", "c-hld", "r-hld-1", "r-hld-2", "fisher"],
    expert(
        None,
        "How to find the rule. global: GLD, the proven optimum; fixed-point: "
        "Algorithm 1; fisher: LDA for each pair. The others are rivals in the paper.",
    ),
]
Criterion = Annotated[
    Literal["bayes", "minimax", "neyman-pearson"],
    expert(
        None,
        "What to minimize: bayes, the error or cost; minimax, the larger error rate; "
        "neyman-pearson, the error of one class while --max-error bounds the other.",
    ),
]
Multiclass = Annotated[
    Literal["ovo", "ova"],
    expert(
        None,
        "More than two classes: a rule for each pair, or for each class against the "
        "others.",
    ),
]
Voting = Annotated[
    Literal["weighted", "majority"] | None,
    expert(
        None,
        "How the votes of pairs count: weighted by accuracy, or alike.",
        show_default="weighted",
    ),
]
Refine = Annotated[
    bool,
    expert(
        None,
        "Search for rules with fewer errors on these rows (Algorithm 2). Keeps all "
        "rows in memory.",
        "--refine",
    ),
]
ClassWeight = Annotated[
    str | None,
    expert(
        "LABEL=WEIGHT,...",
        "How much errors of a class count when refining, or balanced.",
    ),
]
Seed = Annotated[int, expert("NUMBER", "Seed of random choices.", min=0)]


def split_names(text: str | None) -> tuple[str, ...]:
    """Return names separated by commas; quotes protect a comma or a line break."""
    lines = csv.reader(io.StringIO(text or "", newline=""), skipinitialspace=True)
    return tuple(name.strip() for line in lines for name in line if name.strip())


def join_names(names: Iterable[Any]) -> str:
    """Return names separated by commas: the inverse of `split_names`."""
    text = io.StringIO()
    csv.writer(text).writerow(names)
    return text.getvalue().removesuffix("\r\n")


def parse_shrinkage(text: str | None) -> Any:
    """Return a number, or two separated by a comma; anything else as it is."""
    try:
        numbers = tuple(float(part) for part in (text or "").split(","))
    except ValueError:
        return text
    return numbers[0] if len(numbers) == 1 else numbers


def parse_numbers(option: str, text: str | None, word: str = "") -> Any:
    """Return numbers by label, of ``a=0.3,b=0.7``; or the word, or None."""
    if text is None or (word and text == word):
        return text
    numbers: dict[str, float] = {}
    for part in split_names(text):
        label, _, value = (piece.strip() for piece in part.rpartition("="))
        if label in numbers:
            raise UsageError(f"{option}: {label!r} is given more than once")
        try:
            numbers[label] = float(value)
        except ValueError:
            numbers[""] = 0.0
    if not numbers or "" in numbers:
        other = f", or {word}" if word else ""
        raise UsageError(
            f"{option} {text}: write LABEL=NUMBER separated by commas{other}"
        )
    return numbers


def parse_costs(text: str | None) -> dict[str, dict[str, float]] | None:
    """Return costs by true and decided label, of ``ill:well=10,well:ill=1``."""
    if text is None:
        return None
    costs: dict[str, dict[str, float]] = {}
    for pair, cost in parse_numbers("--costs", text).items():
        true, _, decided = (label.strip() for label in pair.partition(":"))
        if not (true and decided):
            raise UsageError(
                f"--costs {text}: write TRUE:DECIDED=COST separated by commas, for "
                "instance ill:well=10"
            )
        costs.setdefault(true, {})[decided] = cost
    return costs
