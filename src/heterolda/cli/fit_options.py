"""The options of the command fit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from heterolda.cli.options import EXPERTS, FIT, JUDGE, READ, WRITE, one_of
from heterolda.foundations.choices import (
    CRITERIA,
    MISSING,
    MULTICLASS,
    SOLVER_NAMES,
    STRATEGIES,
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
    _columns(
        "Columns to decide by (features), separated by commas. By default all others."
    ),
]
Exclude = Annotated[
    str | None, _columns("Columns to leave out, such as row numbers and names.")
]
Categorical = Annotated[
    str | None,
    _columns(
        "Columns of categories, such as city,kind: each frequent value but the most "
        "frequent becomes a feature of zeros and ones. auto: all that look like it."
    ),
]
# People will try it: the command says what to do instead.
Date = Annotated[str | None, typer.Option("--date", hidden=True)]
Missing = Annotated[
    str,
    one_of(
        MISSING,
        "A missing value is an error, or its row is left out and counted. em keeps "
        "such rows: the fit and the model make use of the values that are there.",
        **READ,
    ),
]
# For commands that need all values of a row.
WholeRows = Annotated[
    str,
    one_of(
        MISSING[:2],
        "A missing value is an error, or its row is left out and counted.",
        **READ,
    ),
]

Recommended = Annotated[
    bool,
    typer.Option(
        "--recommended",
        **FIT,
        help="Settings that suit most data; takes longer. Short for --strategy smooth "
        "--shrinkage cv.",
    ),
]
Shrinkage = Annotated[
    str | None,
    typer.Option(
        **FIT,
        metavar="WEIGHT",
        help="For few rows: make the spreads (covariances) of the classes more alike. "
        "cv chooses how much by rows left out, with all rows in memory; auto is a "
        "quick formula; or a number from 0 to 1. With 0.3,0.1 the common spread first "
        "moves towards its diagonal by 0.1.",
    ),
]
Costs = Annotated[
    str | None,
    typer.Option(
        **FIT,
        metavar="TRUE:DECIDED=COST,...",
        help="What wrong decisions cost, such as ill:well=10. Others cost 1.",
    ),
]
Priors = Annotated[
    str | None,
    typer.Option(
        **FIT,
        metavar="LABEL=SHARE,...",
        help="How frequent the classes will be, such as ill=1,well=99, or equal. By "
        "default as in the data.",
    ),
]
MaxError = Annotated[
    str | None,
    typer.Option(
        **FIT,
        metavar="LABEL=RATE",
        help="Of two classes: at most this share of the rows of one are decided "
        "wrongly, such as ill=0.01. Needs --confidence, which keeps to it on new rows, "
        "or --criterion neyman-pearson, which does so under the fitted model.",
    ),
]
Confidence = Annotated[
    float | None,
    typer.Option(
        **FIT,
        metavar="NUMBER",
        help="How sure to be that --max-error holds on new rows, such as 0.95. Half of "
        "the rows of that class are set aside for it, and all rows are in memory. With "
        "--cv each part sets fewer aside and is stricter.",
    ),
]

Cv = Annotated[
    int | None,
    typer.Option(
        **JUDGE,
        metavar="NUMBER",
        min=2,
        max=1000,
        help="Cross-validate: cut the rows into this many parts (folds), and decide "
        "each by a fit to the others. By default each row is left out once, by a "
        "formula. Reads the data twice more.",
    ),
]
Accuracy = Annotated[
    bool,
    typer.Option(
        "--accuracy/--no-accuracy",
        **JUDGE,
        help="Do not judge the model, and LDA on the same rows, by rows left out.",
    ),
]

Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        **WRITE,
        metavar="FILE",
        help="The model file (JSON), for predict, evaluate, inspect and export.",
    ),
]

Solver = Annotated[
    str,
    one_of(
        SOLVER_NAMES,
        "How to find the rule: global is the proven optimum, fisher is LDA, the others "
        "are those of the paper.",
        **EXPERTS,
    ),
]
Criterion = Annotated[
    str,
    one_of(
        CRITERIA,
        "What is best: least error or cost; equal error rates; or least error of one "
        "class while --max-error bounds that of the other.",
        **EXPERTS,
    ),
]
Multiclass = Annotated[
    str,
    one_of(
        MULTICLASS,
        "More than two classes: a rule for each pair, or one class against all.",
        **EXPERTS,
    ),
]
Voting = Annotated[
    str | None,
    one_of(
        VOTINGS,
        "How pairs decide together; coupled is for --refine.",
        show_default="weighted",
        **EXPERTS,
    ),
]
Refine = Annotated[
    bool,
    typer.Option(
        "--refine",
        **EXPERTS,
        help="Search for rules with fewer errors on these rows, for data that are not "
        "normal. Reads the data many times; with --cv all rows are in memory.",
    ),
]
Strategy = Annotated[
    str | None,
    one_of(
        STRATEGIES,
        "How to refine; implies --refine. All but paper keep all rows in memory.",
        show_default="paper",
        **EXPERTS,
    ),
]
ClassWeight = Annotated[
    str | None,
    typer.Option(
        **EXPERTS,
        metavar="LABEL=WEIGHT,...",
        help="How much an error of a class counts when refining, or balanced.",
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        **EXPERTS, metavar="NUMBER", min=0, help="Where random choices start."
    ),
]
