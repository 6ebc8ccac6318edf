"""The options of the command fit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from heterolda.cli.values import (
    Criterion,
    Missing,
    Multiclass,
    SolverName,
    Strategy,
    Voting,
)

__all__ = [
    "Accuracy",
    "ClassWeight",
    "Costs",
    "CriterionName",
    "Cv",
    "Exclude",
    "Features",
    "Gaps",
    "MaxError",
    "MulticlassName",
    "Out",
    "Priors",
    "Recommended",
    "Refine",
    "Seed",
    "Shrinkage",
    "Solver",
    "StrategyName",
    "Target",
    "VotingName",
]


def _of_columns(**settings: Any) -> Any:
    return typer.Option(rich_help_panel="The columns", **settings)


def _of_rule(*names: str, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel="The rule", **settings)


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
    _of_columns(
        metavar="NAMES",
        help="Columns of the features, with commas between; all by default.",
    ),
]
Exclude = Annotated[
    str | None,
    _of_columns(
        metavar="NAMES", help="Columns that are no features, such as identifiers."
    ),
]
Gaps = Annotated[
    Missing,
    _of_columns(
        help="Rows with missing values end the fit, or are left out and counted."
    ),
]

Solver = Annotated[
    SolverName,
    _of_rule(
        help="global is the certified optimum, fisher is LDA, the others are the "
        "paper's."
    ),
]
Shrinkage = Annotated[
    str | None,
    _of_rule(
        metavar="WEIGHT",
        help="Move class covariances towards the pooled one: 0 to 1, auto, or cv, "
        "which chooses by rows left out and reads all rows into memory.",
    ),
]
Priors = Annotated[
    str | None,
    _of_rule(
        metavar="LABEL=SHARE,...",
        help="Class priors, or equal; relative frequencies by default.",
    ),
]
Costs = Annotated[
    str | None,
    _of_rule(
        metavar="TRUE:DECIDED=COST,...",
        help="What wrong decisions cost; those left out cost 1.",
    ),
]
CriterionName = Annotated[
    Criterion,
    _of_rule(
        help="Least error or cost; equal error rates; or least error of a class while "
        "--max-error bounds that of the other."
    ),
]
MaxError = Annotated[
    str | None,
    _of_rule(
        metavar="LABEL=BOUND",
        help="Largest error rate of one of two classes, for neyman-pearson.",
    ),
]
MulticlassName = Annotated[
    Multiclass, _of_rule(help="Rules for pairs of classes, or one against all.")
]
VotingName = Annotated[
    Voting | None,
    _of_rule(
        help="How pairs decide together; coupled is for --refine.",
        show_default="weighted",
    ),
]
Refine = Annotated[
    bool,
    _of_rule(
        "--refine",
        help="Search for rules with fewer training errors, for data that are not "
        "normal, in many passes over the data. With --cv all rows are in memory.",
    ),
]
StrategyName = Annotated[
    Strategy | None,
    _of_rule(
        help="How to refine; implies --refine. All but paper need all rows in memory.",
        show_default="paper",
    ),
]
ClassWeight = Annotated[
    str | None,
    _of_rule(
        metavar="LABEL=WEIGHT,...",
        help="What an error counts when refining, or balanced.",
    ),
]
Recommended = Annotated[
    bool,
    _of_rule(
        "--recommended",
        help="Settings that suit most data: --strategy smooth --shrinkage cv.",
    ),
]
Seed = Annotated[int, _of_rule(min=0, help="For what is random.")]
