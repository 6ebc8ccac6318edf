"""The command that fits a model to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import heterolda.cli.fit_options as opt
from heterolda.cli.shared import (
    Data,
    DataFormat,
    Debug,
    Delimiter,
    Format,
    SampleWeight,
    errors_in_one_line,
    name_of,
    notice,
    plain_notes,
    source_of,
    split_names,
    tell,
    usage_errors,
)
from heterolda.cli.values import (
    Criterion,
    Missing,
    Multiclass,
    SolverName,
    Strategy,
    parse_costs,
    parse_numbers,
    parse_shrinkage,
)

__all__ = ["fit"]


def fit(
    data: Data,
    target: opt.Target,
    out: opt.Out = None,
    columns: opt.Features = None,
    exclude: opt.Exclude = None,
    sample_weight: SampleWeight = None,
    missing: opt.Gaps = Missing.error,
    form: Format = DataFormat.csv,
    delimiter: Delimiter = None,
    solver: opt.Solver = SolverName.best,
    shrinkage: opt.Shrinkage = None,
    priors: opt.Priors = None,
    costs: opt.Costs = None,
    criterion: opt.CriterionName = Criterion.bayes,
    max_error: opt.MaxError = None,
    multiclass: opt.MulticlassName = Multiclass.ovo,
    voting: opt.VotingName = None,
    refine: opt.Refine = False,
    strategy: opt.StrategyName = None,
    class_weight: opt.ClassWeight = None,
    recommended: opt.Recommended = False,
    seed: opt.Seed = 0,
    cv: opt.Cv = None,
    accuracy: opt.Accuracy = True,
    debug: Debug = False,
) -> None:
    """Fit a linear discriminant to a table and say how good it is.

    Files are read batch by batch, so they may be larger than memory. All columns but
    the target are features and must be numbers, or booleans in Parquet files. Empty
    cells, NA, NaN and null are missing values, which --missing deals with; infinity
    is an error. Labels of text files are numbers if all of them are whole numbers.

    For example:

    - `heterolda fit iris.csv --target species --out iris.json`
    - `heterolda fit 'parts/*.parquet' -t kind --exclude id,date --cv 10`
    - `zcat big.csv.gz | heterolda fit - -t y --costs ill:well=10 -o model.json`
    """
    with errors_in_one_line(debug):
        from heterolda.cli.fit_files import EQUAL, FitSettings
        from heterolda.data.table import Table

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
            _check(recommended, settings, columns, exclude)
            if out == Path("-"):
                raise ValueError("--out: a model needs a file, - will not do")
            if out and out.resolve() in [Path(name).resolve() for name in data]:
                raise ValueError(f"--out {out}: it would replace the data")
        with source_of(data, form, delimiter) as source, plain_notes():
            rows = Table(
                source,
                target,
                split_names(columns) or None,
                split_names(exclude),
                sample_weight,
                missing.value,
            )
            _fit_and_tell(settings, rows, name_of(data), out, cv, accuracy)


def _check(
    recommended: bool, settings: Any, columns: str | None, exclude: str | None
) -> None:
    """Refuse options of which one would be dropped without a word."""
    if recommended and (settings.strategy, settings.shrinkage) != ("smooth", "cv"):
        raise ValueError(
            "--recommended means --strategy smooth --shrinkage cv: leave it out to "
            "choose others"
        )
    if columns and exclude:
        raise ValueError(
            "--columns names all features, so that --exclude has none to leave out: "
            "use one of them"
        )


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
    from heterolda.cli.cross_validation import cross_validate_files, cross_validate_rows
    from heterolda.cli.evaluate_files import training_accuracy
    from heterolda.cli.fit_files import fit_files
    from heterolda.cli.terminal import Activity
    from heterolda.export import save
    from heterolda.foundations.files import check_target
    from heterolda.inspection.summary import accuracy_line, describe_fit, folds_line

    if out is not None:
        check_target(out)
    in_memory = settings.needs_memory(cv)
    where = " into memory" if in_memory else ""
    with Activity() as activity:
        progress = activity.rows(f"reading the data{where}")
        fitted = fit_files(settings, data, progress, in_memory=in_memory)
        if in_memory:
            notice("note: these settings need all rows at once, so they are in memory")
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
    tell(lines)
