"""The options of the command fit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from heterolda.cli.options import EXPERTS, FIT, JUDGE, READ, WRITE, one_of
from heterolda.foundations.wording import (
    CRITERIA,
    MISSING_IN_FILES,
    MULTICLASS,
    SOLVER_NAMES,
    VOTINGS,
)


def _columns(text: str) -> Any:
    return typer.Option(**READ, metavar="NAMES", help=text)


Target = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        **READ,
        metavar="COLUMN",
        help="Column with the class of each row: text, whole numbers or true/false.",
    ),
]
Features = Annotated[
    str | None,
    _columns("Feature columns, separated by commas. By default all but the target."),
]
Exclude = Annotated[
    str | None, _columns("Columns to ignore, such as row numbers and names.")
]
Categorical = Annotated[
    str | None,
    _columns(
        "Columns of categories, such as city,kind. Each frequent value except the most "
        "frequent becomes a feature of zeros and ones. auto: all columns that look "
        "like categories."
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

Recommended = Annotated[
    bool,
    typer.Option(
        "--recommended",
        **FIT,
        help="A model that suits most data, normal or not, but takes longer. Of more "
        "than 100,000 rows it is fitted to a random sample.",
    ),
]
Shrinkage = Annotated[
    str | None,
    typer.Option(
        **FIT,
        metavar="WEIGHT",
        help="For few rows: make the spreads (covariances) of the classes more alike. "
        "cv chooses the amount on held-out rows and keeps all rows in memory; auto is "
        "a quick formula; or give a number from 0 to 1. With 0.3,0.1 the common spread "
        "is first moved towards its diagonal by 0.1.",
    ),
]
Costs = Annotated[
    str | None,
    typer.Option(
        **FIT,
        metavar="TRUE:DECIDED=COST,...",
        help="Costs of wrong decisions, such as ill:well=10. All others cost 1.",
    ),
]
Priors = Annotated[
    str | None,
    typer.Option(
        **FIT,
        metavar="LABEL=SHARE,...",
        help="How frequent the classes are where the model is used, such as "
        "ill=1,well=99, or equal. By default as in the data.",
    ),
]
MaxError = Annotated[
    str | None,
    typer.Option(
        **FIT,
        metavar="LABEL=RATE",
        help="For two classes: the largest share of one class to get wrong, such as "
        "ill=0.01. Add --confidence to hold it on new rows, or --criterion "
        "neyman-pearson to hold it under the fitted model.",
    ),
]
Confidence = Annotated[
    float | None,
    typer.Option(
        **FIT,
        metavar="NUMBER",
        help="Confidence that --max-error holds on new rows, such as 0.95. Sets half "
        "of the rows of that class aside and keeps all rows in memory. With --cv each "
        "fold sets fewer rows aside and is stricter.",
    ),
]

Cv = Annotated[
    int | None,
    typer.Option(
        **JUDGE,
        metavar="NUMBER",
        min=2,
        max=1000,
        help="Cross-validate with this many folds: hold each out once and fit to the "
        "others. By default each row is left out once, by a formula. Reads the data "
        "twice more.",
    ),
]
Accuracy = Annotated[
    bool,
    typer.Option(
        "--accuracy/--no-accuracy",
        **JUDGE,
        help="Skip the accuracy of the model and of LDA on held-out rows.",
    ),
]

Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        **WRITE,
        metavar="FILE",
        help="Model file to write (JSON), for predict, evaluate, inspect and export.",
    ),
]

Solver = Annotated[
    str,
    one_of(
        SOLVER_NAMES,
        "How to find the rule. global: GLD, the proven optimum; fixed-point: "
        "Algorithm 1; fisher: LDA for each pair. The others are rivals in the paper.",
        **EXPERTS,
    ),
]
Criterion = Annotated[
    str,
    one_of(
        CRITERIA,
        "What to minimise: bayes, the error or cost; minimax, the larger error rate; "
        "neyman-pearson, the error of one class while --max-error bounds the other.",
        **EXPERTS,
    ),
]
Multiclass = Annotated[
    str,
    one_of(
        MULTICLASS,
        "More than two classes: a rule for each pair, or for each class against the "
        "others.",
        **EXPERTS,
    ),
]
Voting = Annotated[
    str | None,
    one_of(
        VOTINGS,
        "How the rules of pairs are combined; coupled needs --refine.",
        show_default="weighted",
        **EXPERTS,
    ),
]
Refine = Annotated[
    bool,
    typer.Option(
        "--refine",
        **EXPERTS,
        help="Search for rules with fewer errors on these rows (Algorithm 2). Keeps "
        "all rows in memory.",
    ),
]
ClassWeight = Annotated[
    str | None,
    typer.Option(
        **EXPERTS,
        metavar="LABEL=WEIGHT,...",
        help="How much errors of a class count when refining, or balanced.",
    ),
]
Seed = Annotated[
    int,
    typer.Option(**EXPERTS, metavar="NUMBER", min=0, help="Seed of random choices."),
]
