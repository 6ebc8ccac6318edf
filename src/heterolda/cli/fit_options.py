"""The options of the command fit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from heterolda.cli.options import one_of
from heterolda.foundations.choices import (
    CRITERIA,
    MISSING,
    MULTICLASS,
    SOLVER_NAMES,
    STRATEGIES,
    VOTINGS,
)

_COLUMNS: dict[str, Any] = {"rich_help_panel": "The columns"}
_RULE: dict[str, Any] = {"rich_help_panel": "The rule"}


def _rule(metavar: str | None, text: str, *names: str) -> Any:
    return typer.Option(*names, **_RULE, metavar=metavar, help=text)


def _columns(text: str) -> Any:
    return typer.Option(**_COLUMNS, metavar="NAMES", help=text)


Target = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="Column of the class labels: text, whole numbers or booleans.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="The model file, JSON."),
]
Cv = Annotated[
    int | None,
    typer.Option(
        metavar="FOLDS",
        min=2,
        max=1000,
        help="Judge by cross-validation with this many folds instead of leave-one-out, "
        "in two more passes over the data. Rows of each class are dealt out in turn.",
    ),
]
Accuracy = Annotated[
    bool,
    typer.Option(
        "--accuracy/--no-accuracy",
        help="Whether to judge the model, and LDA on the same rows, by rows left out.",
    ),
]

Features = Annotated[
    str | None,
    _columns("Feature columns, separated by commas; all by default."),
]
Exclude = Annotated[
    str | None, _columns("Columns that are not features, such as identifiers.")
]
# People will try it: the command says what to do instead.
Date = Annotated[str | None, typer.Option("--date", hidden=True)]
Missing = Annotated[
    str,
    one_of(
        MISSING,
        "Rows with missing values end the fit, or are left out and counted.",
        **_COLUMNS,
    ),
]

Solver = Annotated[
    str,
    one_of(
        SOLVER_NAMES,
        "global is the certified optimum, fisher is LDA, the others are the paper's.",
        **_RULE,
    ),
]
Shrinkage = Annotated[
    str | None,
    _rule(
        "WEIGHT",
        "Move class covariances towards the pooled one: 0 to 1, auto, or cv, which "
        "chooses by rows left out and reads all rows into memory. With 0.3,0.1 the "
        "pooled one moves towards its diagonal first, by the second number.",
    ),
]
Priors = Annotated[
    str | None,
    _rule(
        "LABEL=SHARE,...",
        "Class priors: any positive numbers, which are divided by their sum, or "
        '"equal"; relative frequencies by default.',
    ),
]
Costs = Annotated[
    str | None,
    _rule("TRUE:DECIDED=COST,...", "What wrong decisions cost; those left out cost 1."),
]
Criterion = Annotated[
    str,
    one_of(
        CRITERIA,
        "Least error or cost; equal error rates; or least error of a class while "
        "--max-error bounds that of the other.",
        **_RULE,
    ),
]
MaxError = Annotated[
    str | None,
    _rule(
        "LABEL=BOUND",
        "Largest error rate of one of two classes: under the fitted model with "
        "--criterion neyman-pearson, on new rows with --confidence.",
    ),
]
Confidence = Annotated[
    float | None,
    _rule(
        "SHARE",
        "Keep to --max-error on new rows with this confidence, such as 0.95: half of "
        "the rows of that class are set aside for the threshold. Reads all rows into "
        "memory. With --cv each fold sets fewer rows aside, and is stricter.",
    ),
]
Multiclass = Annotated[
    str, one_of(MULTICLASS, "Rules for pairs of classes, or one against all.", **_RULE)
]
Voting = Annotated[
    str | None,
    one_of(
        VOTINGS,
        "How pairs decide together; coupled is for --refine.",
        show_default="weighted",
        **_RULE,
    ),
]
Refine = Annotated[
    bool,
    _rule(
        None,
        "Search for rules with fewer training errors, for data that are not normal, in "
        "many passes over the data. With --cv all rows are in memory.",
        "--refine",
    ),
]
Strategy = Annotated[
    str | None,
    one_of(
        STRATEGIES,
        "How to refine; implies --refine. All but paper need all rows in memory.",
        show_default="paper",
        **_RULE,
    ),
]
ClassWeight = Annotated[
    str | None,
    _rule("LABEL=WEIGHT,...", 'How much an error counts when refining, or "balanced".'),
]
Recommended = Annotated[
    bool,
    _rule(
        None,
        "Settings that suit most data: --strategy smooth --shrinkage cv.",
        "--recommended",
    ),
]
Seed = Annotated[int, typer.Option(**_RULE, min=0, help="Seed of random choices.")]
