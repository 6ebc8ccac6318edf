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
        help="Cross-validate with so many folds, in two more passes over the data. "
        "Rows of each class are dealt out to the folds in turn.",
    ),
]
Accuracy = Annotated[
    bool,
    typer.Option(
        "--accuracy/--no-accuracy",
        help="Whether to count the training errors in a second pass over the data.",
    ),
]

Features = Annotated[
    str | None,
    typer.Option(
        **_COLUMNS,
        metavar="NAMES",
        help="Columns of the features, with commas between; all by default.",
    ),
]
Exclude = Annotated[
    str | None,
    typer.Option(
        **_COLUMNS,
        metavar="NAMES",
        help="Columns that are not features, such as identifiers.",
    ),
]
Missing = Annotated[
    str,
    one_of(
        MISSING,
        **_COLUMNS,
        help="Rows with missing values end the fit, or are left out and counted.",
    ),
]

Solver = Annotated[
    str,
    one_of(
        SOLVER_NAMES,
        **_RULE,
        help="global is the certified optimum, fisher is LDA, the others are the "
        "paper's.",
    ),
]
Shrinkage = Annotated[
    str | None,
    typer.Option(
        **_RULE,
        metavar="WEIGHT",
        help="Move class covariances towards the pooled one: 0 to 1, auto, or cv, "
        "which chooses by rows left out and reads all rows into memory.",
    ),
]
Priors = Annotated[
    str | None,
    typer.Option(
        **_RULE,
        metavar="LABEL=SHARE,...",
        help="Class priors, or equal; relative frequencies by default.",
    ),
]
Costs = Annotated[
    str | None,
    typer.Option(
        **_RULE,
        metavar="TRUE:DECIDED=COST,...",
        help="What wrong decisions cost; those left out cost 1.",
    ),
]
Criterion = Annotated[
    str,
    one_of(
        CRITERIA,
        **_RULE,
        help="Least error or cost; equal error rates; or least error of a class while "
        "--max-error bounds that of the other.",
    ),
]
MaxError = Annotated[
    str | None,
    typer.Option(
        **_RULE,
        metavar="LABEL=BOUND",
        help="Largest error rate of one of two classes, for neyman-pearson.",
    ),
]
Multiclass = Annotated[
    str,
    one_of(MULTICLASS, **_RULE, help="Rules for pairs of classes, or one against all."),
]
Voting = Annotated[
    str | None,
    one_of(
        VOTINGS,
        **_RULE,
        help="How pairs decide together; coupled is for --refine.",
        show_default="weighted",
    ),
]
Refine = Annotated[
    bool,
    typer.Option(
        "--refine",
        **_RULE,
        help="Search for rules with fewer training errors, for data that are not "
        "normal, in many passes over the data. With --cv all rows are in memory.",
    ),
]
Strategy = Annotated[
    str | None,
    one_of(
        STRATEGIES,
        **_RULE,
        help="How to refine; implies --refine. All but paper need all rows in memory.",
        show_default="paper",
    ),
]
ClassWeight = Annotated[
    str | None,
    typer.Option(
        **_RULE,
        metavar="LABEL=WEIGHT,...",
        help="What an error counts when refining, or balanced.",
    ),
]
Recommended = Annotated[
    bool,
    typer.Option(
        "--recommended",
        **_RULE,
        help="Settings that suit most data: --strategy smooth --shrinkage cv.",
    ),
]
Seed = Annotated[int, typer.Option(**_RULE, min=0, help="For what is random.")]
