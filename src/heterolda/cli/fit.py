"""The command that fits a model to files."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import heterolda.cli.fit_options as opt
from heterolda.cli.data_source import check_not_read, name_of, reading_of, source_of
from heterolda.cli.messages import (
    errors_in_one_line,
    print_result,
    print_to_stderr,
    usage_errors,
    warnings_as_notes,
)
from heterolda.cli.options import (
    Data,
    Debug,
    Decimal,
    Delimiter,
    Na,
    NoHeader,
    SampleWeight,
)
from heterolda.cli.parsing import (
    check_columns,
    join_names,
    parse_costs,
    parse_numbers,
    parse_shrinkage,
    split_names,
)


def fit(
    data: Data,
    target: opt.Target,
    out: opt.Out = None,
    columns: opt.Features = None,
    exclude: opt.Exclude = None,
    sample_weight: SampleWeight = None,
    missing: opt.Missing = "error",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    no_header: NoHeader = False,
    na: Na = None,
    solver: opt.Solver = "global",
    shrinkage: opt.Shrinkage = None,
    priors: opt.Priors = None,
    costs: opt.Costs = None,
    criterion: opt.Criterion = "bayes",
    max_error: opt.MaxError = None,
    confidence: opt.Confidence = None,
    multiclass: opt.Multiclass = "ovo",
    voting: opt.Voting = None,
    refine: opt.Refine = False,
    strategy: opt.Strategy = None,
    class_weight: opt.ClassWeight = None,
    recommended: opt.Recommended = False,
    seed: opt.Seed = 0,
    cv: opt.Cv = None,
    accuracy: opt.Accuracy = True,
    date: opt.Date = None,
    debug: Debug = False,
) -> None:
    """Fit a linear discriminant to a table and say how good it is.

    Files are read batch by batch, so they may be larger than memory. All columns but
    the target are features and must be numbers, or booleans in Parquet files. Empty
    cells, NA, NaN and null are missing values, which --missing deals with; infinity
    is an error. Labels of text files are numbers if all of them are whole numbers.
    Accuracy is that on rows left out of the fit, beside LDA on the same rows.

    For example:

    - `heterolda fit iris.csv --target species --out iris.json`
    - `heterolda fit 'parts/*.parquet' -t kind --exclude id,date --cv 10`
    - `zcat big.csv.gz | heterolda fit - -t y --costs ill:well=10 -o model.json`
    """
    with errors_in_one_line(debug):
        from heterolda.cli.fit_files import FitSettings
        from heterolda.data.table import Table

        with usage_errors():
            chosen = "smooth" if recommended else "paper" if refine else None
            settings = FitSettings(
                solver=solver,
                shrinkage=parse_shrinkage(shrinkage or ("cv" if recommended else None)),
                multiclass=multiclass,
                voting=voting,
                criterion=criterion,
                priors=parse_numbers("--priors", priors, "equal"),
                costs=parse_costs(costs),
                max_error=parse_numbers("--max-error", max_error),
                confidence=confidence,
                strategy=strategy or chosen,
                class_weight=parse_numbers("--class-weight", class_weight, "balanced"),
                seed=seed,
            )
            settings.check(recommended)
            if date is not None:
                raise ValueError(_no_dates(split_names(date)))
            check_columns(columns, exclude)
            if out == Path("-"):
                raise ValueError("--out: a model needs a file, not -")
        if out is not None:
            check_not_read("--out", out, data)
        reading = reading_of(delimiter, decimal, no_header, na)
        with source_of(data, reading) as source, warnings_as_notes():
            names, others = split_names(columns) or None, split_names(exclude)
            rows = Table(source, target, names, others, sample_weight, missing)
            _fit_and_report(settings, rows, name_of(data), out, cv, accuracy)


def _no_dates(names: tuple[str, ...]) -> str:
    """What to do instead of --date."""
    from heterolda.data.diagnosis import DATE_ADVICE

    them = shlex.quote(join_names(names))
    return (
        f"--date {them}: a date is not a feature: leave it out by --exclude {them}, or "
        f"{DATE_ADVICE}"
    )


def _fit_and_report(
    settings: Any,
    data: Any,
    name: str,
    out: Path | None,
    cv: int | None,
    accuracy: bool,
) -> None:
    """Fit, print what came of it, and save the model last: if all went well."""
    from heterolda.cli.cross_validation import NotJudgedError
    from heterolda.cli.fit_files import fit_files
    from heterolda.cli.judge_fit import judge_fit
    from heterolda.cli.odd_numbers import note_odd_numbers
    from heterolda.cli.progress import StatusLine
    from heterolda.estimators.bounded_error import linear_form
    from heterolda.estimators.fit_record import FitRecord
    from heterolda.export import save
    from heterolda.foundations.files import check_target
    from heterolda.inspection.model_facts import ModelFacts
    from heterolda.inspection.model_text import describe_fit

    if out is not None:
        check_target(out)
    in_memory = settings.needs_memory(cv)
    where = " into memory" if in_memory else ""
    judgement, lines = None, []
    with StatusLine() as status:
        progress = status.rows(f"reading the data{where}")
        fitted = fit_files(settings, data, progress, in_memory=in_memory)
        if in_memory:
            print_to_stderr(
                "note: these settings need all rows at once, so they are kept in memory"
            )
        try:
            if accuracy or cv is not None:
                judgement = judge_fit(settings, fitted, data, cv, status)
        except NotJudgedError as error:
            if cv is not None:
                raise
            cross = "" if settings.confidence else ", or ask for --cv FOLDS"
            lines.append(
                f"Accuracy on rows left out is not known: {error}. Evaluate the model "
                f"on other rows{cross}."
            )
    facts = ModelFacts(linear_form(fitted.model))
    X, _, weight = fitted.some_rows
    note_odd_numbers(data, X, facts.features, facts.classes, weight)
    record = FitRecord(
        target=data.target,
        data=Path(name).name,
        date=datetime.now(UTC).date().isoformat(),
        n_rows=facts.n_rows,
        judgement=judgement,
    )
    facts.model.fit_record_ = fitted.model.fit_record_ = record
    known = facts.accuracy_lines(lda="LDA (--solver fisher --shrinkage 1)")
    lines = [*known, *lines]
    remedy = "try --shrinkage cv, or fewer features"
    lines = [*describe_fit(facts, name, data.target, lines, remedy), ""]
    if out is not None:
        save(fitted.model, out)
        lines.append(f"The model is in {out}.")
    else:
        lines.append("The model was not saved: name a file with --out.")
    print_result(lines)
