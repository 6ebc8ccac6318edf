"""The command that fits a model to files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from heterolda.commands.shared import (
    Data,
    DataFormat,
    Debug,
    Format,
    SampleWeight,
    errors_in_one_line,
    name_of,
    notice,
    plain_notes,
    source_of,
    split_names,
    usage_errors,
)
from heterolda.commands.values import (
    Criterion,
    Missing,
    Multiclass,
    SolverName,
    Strategy,
    Voting,
    parse_costs,
    parse_numbers,
    parse_shrinkage,
)

__all__ = ["fit"]

_RULE = "The rule"
_COLUMNS = "The columns"


def fit(
    data: Data,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            "-t",
            metavar="COLUMN",
            help="Column of the class labels: text, whole numbers or booleans.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="The model file, JSON."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Columns of the features, with commas between; all by default.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    exclude: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Columns that are no features, such as identifiers.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    sample_weight: SampleWeight = None,
    missing: Annotated[
        Missing,
        typer.Option(
            help="Rows with missing values end the fit, or are left out and counted.",
            rich_help_panel=_COLUMNS,
        ),
    ] = Missing.error,
    form: Format = DataFormat.csv,
    solver: Annotated[
        SolverName,
        typer.Option(
            help="global is the certified optimum, fisher is LDA, the others are the "
            "paper's.",
            rich_help_panel=_RULE,
        ),
    ] = SolverName.best,
    shrinkage: Annotated[
        str | None,
        typer.Option(
            metavar="WEIGHT",
            help="Move class covariances towards the pooled one: 0 to 1, auto, or cv, "
            "which chooses by rows left out and reads all rows into memory.",
            rich_help_panel=_RULE,
        ),
    ] = None,
    priors: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL=SHARE,...",
            help="Class priors, or equal; relative frequencies by default.",
            rich_help_panel=_RULE,
        ),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(
            metavar="TRUE:DECIDED=COST,...",
            help="What wrong decisions cost; those left out cost 1.",
            rich_help_panel=_RULE,
        ),
    ] = None,
    criterion: Annotated[
        Criterion,
        typer.Option(
            help="Least error or cost; equal error rates; or least error of a class "
            "while --max-error bounds that of the other.",
            rich_help_panel=_RULE,
        ),
    ] = Criterion.bayes,
    max_error: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL=BOUND",
            help="Largest error rate of a class, for neyman-pearson.",
            rich_help_panel=_RULE,
        ),
    ] = None,
    multiclass: Annotated[
        Multiclass,
        typer.Option(
            help="Rules for pairs of classes, or one against all.",
            rich_help_panel=_RULE,
        ),
    ] = Multiclass.ovo,
    voting: Annotated[
        Voting | None,
        typer.Option(
            help="How pairs decide together; coupled is for --refine.",
            show_default="weighted",
            rich_help_panel=_RULE,
        ),
    ] = None,
    refine: Annotated[
        bool,
        typer.Option(
            "--refine",
            help="Search for rules with fewer training errors, for data that are not "
            "normal. Reads all rows into memory.",
            rich_help_panel=_RULE,
        ),
    ] = False,
    strategy: Annotated[
        Strategy | None,
        typer.Option(
            help="How to refine; implies --refine.",
            show_default="paper",
            rich_help_panel=_RULE,
        ),
    ] = None,
    class_weight: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL=WEIGHT,...",
            help="What an error counts when refining, or balanced.",
            rich_help_panel=_RULE,
        ),
    ] = None,
    recommended: Annotated[
        bool,
        typer.Option(
            "--recommended",
            help="Settings that suit most data: --strategy smooth --shrinkage cv.",
            rich_help_panel=_RULE,
        ),
    ] = False,
    seed: Annotated[
        int, typer.Option(min=0, help="For what is random.", rich_help_panel=_RULE)
    ] = 0,
    cv: Annotated[
        int | None,
        typer.Option(
            metavar="FOLDS",
            min=2,
            max=1000,
            help="Cross-validate with so many folds, in two more passes over the data.",
        ),
    ] = None,
    accuracy: Annotated[
        bool,
        typer.Option(
            "--accuracy/--no-accuracy",
            help="Whether to count the training errors in a second pass over the data.",
        ),
    ] = True,
    debug: Debug = False,
) -> None:
    """Fit a linear discriminant to a table and say how good it is.

    Files are read batch by batch, so they may be larger than memory. All columns but
    the target are features and must be numbers; booleans count as 0 and 1. Empty
    cells, NA, NaN and null are missing values, which --missing deals with; infinity
    is an error. Labels of text files are numbers if all of them are whole numbers.

    For example:

    - `heterolda fit iris.csv --target species --out iris.json`
    - `heterolda fit 'parts/*.parquet' -t kind --exclude id,date --cv 10`
    - `zcat big.csv.gz | heterolda fit - -t y --costs ill:well=10 -o model.json`
    """
    with errors_in_one_line(debug):
        from heterolda.fitting import EQUAL, FitSettings
        from heterolda.labelled_data import LabelledData

        with usage_errors():
            given = parse_numbers("--max-error", max_error)
            settings = FitSettings(
                solver=solver.value,
                shrinkage=parse_shrinkage(shrinkage or ("cv" if recommended else None)),
                multiclass=multiclass.value,
                voting=voting and voting.value,
                criterion=criterion.value,
                priors=parse_numbers("--priors", priors, EQUAL),
                costs=parse_costs(costs),
                max_error=given if isinstance(given, dict) else None,
                strategy=_strategy(refine, strategy, recommended),
                class_weight=parse_numbers("--class-weight", class_weight, "balanced"),
                seed=seed,
            )
            settings.check()
        again = accuracy or cv is not None
        with source_of(data, form, again=again) as source, plain_notes():
            rows = LabelledData(
                source,
                target,
                split_names(columns) or None,
                split_names(exclude),
                sample_weight,
                missing.value,
            )
            _fit_and_tell(settings, rows, name_of(data), out, cv, accuracy)


def _strategy(refine: bool, strategy: Strategy | None, recommended: bool) -> str | None:
    if strategy is not None:
        return strategy.value
    return "smooth" if recommended else "paper" if refine else None


def _fit_and_tell(
    settings: Any,
    data: Any,
    name: str,
    out: Path | None,
    cv: int | None,
    accuracy: bool,
) -> None:
    """Fit, print what came of it, and save the model last: if all went well."""
    from heterolda.cross_validation import cross_validate_files, cross_validate_rows
    from heterolda.evaluation import training_accuracy
    from heterolda.export import save
    from heterolda.files import check_target
    from heterolda.fitting import fit_files
    from heterolda.summary import accuracy_line, describe_fit, folds_line
    from heterolda.terminal import Activity

    if out is not None:
        check_target(out)
    if settings.needs_rows:
        notice("note: all rows are read into memory, which these settings need")
    with Activity() as activity:
        fitted = fit_files(settings, data, activity.rows("reading the data"))
        lines = [*describe_fit(fitted.model, name, data.target), ""]
        if accuracy:
            progress = activity.rows("counting errors")
            right, total = training_accuracy(fitted.model, data, progress)
            lines.append(accuracy_line(right, total))
        if cv is not None:
            bar = activity.share("cross-validating")
            if fitted.rows is not None:
                counts = cross_validate_rows(fitted.model, *fitted.rows, cv, bar)
            else:
                counts = cross_validate_files(
                    fitted.model, data, cv, fitted.n_rows, bar
                )
            lines.append(folds_line(counts))
    if out is not None:
        save(fitted.model, out)
        lines.append(f"The model is in {out}.")
    else:
        lines.append("The model was not saved: name a file by --out.")
    print(*lines, sep="\n")
