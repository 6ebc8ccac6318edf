"""The command that fits a model to files."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import heterolda.cli.fit_options as opt
from heterolda.cli.data_source import (
    categories_of,
    check_outputs,
    name_of,
    reading_of,
    source_of,
)
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
    parse_costs,
    parse_numbers,
    parse_shrinkage,
    split_names,
)


def fit(
    data: Data,
    target: opt.Target,
    columns: opt.Features = None,
    exclude: opt.Exclude = None,
    categorical: opt.Categorical = None,
    sample_weight: SampleWeight = None,
    missing: opt.Missing = "error",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    no_header: NoHeader = False,
    na: Na = None,
    recommended: opt.Recommended = False,
    shrinkage: opt.Shrinkage = None,
    costs: opt.Costs = None,
    priors: opt.Priors = None,
    max_error: opt.MaxError = None,
    confidence: opt.Confidence = None,
    cv: opt.Cv = None,
    accuracy: opt.Accuracy = True,
    out: opt.Out = None,
    solver: opt.Solver = "global",
    criterion: opt.Criterion = "bayes",
    multiclass: opt.Multiclass = "ovo",
    voting: opt.Voting = None,
    refine: opt.Refine = False,
    class_weight: opt.ClassWeight = None,
    seed: opt.Seed = 0,
    debug: Debug = False,
) -> None:
    """Fit a linear discriminant to a table and show how good it is.

    - `heterolda fit iris.csv --target class --out iris.json`
    - `heterolda fit 'parts/*.parquet' -t kind --exclude id,date --recommended`
    - `zcat big.csv.gz | heterolda fit - -t y --costs ill:well=10 -o model.json`

    The table has one row for each case, a column of known classes (the target) and
    columns of numbers (the features). The output says how often the model is right on
    rows held out of the fit, and how often plain LDA is on the same rows. Files are
    read in pieces, so they may be larger than memory.
    """
    with errors_in_one_line(debug):
        from heterolda.cli.fit_files import FitSettings
        from heterolda.data.table import Table

        with usage_errors():
            settings = FitSettings(
                solver=solver,
                shrinkage=parse_shrinkage(shrinkage),
                multiclass=multiclass,
                voting=voting,
                criterion=criterion,
                priors=parse_numbers("--priors", priors, "equal"),
                costs=parse_costs(costs),
                max_error=parse_numbers("--max-error", max_error),
                confidence=confidence,
                recommended=recommended,
                refine=refine,
                class_weight=parse_numbers("--class-weight", class_weight, "balanced"),
                seed=seed,
                missing=missing,
            )
            settings.check()
            check_columns(columns, exclude)
        check_outputs({"--out": out}, data=data)
        reading = reading_of(delimiter, decimal, no_header, na)
        with source_of(data, reading) as source, warnings_as_notes():
            names, others = split_names(columns) or None, split_names(exclude)
            rows = Table(
                source,
                target,
                names,
                others,
                sample_weight,
                missing,
                takes_gaps=settings.can_take_gaps,
            )
            rows = categories_of(rows, categorical)
            _fit_and_report(settings, rows, name_of(data), out, cv, accuracy)


def _fit_and_report(
    settings: Any,
    data: Any,
    name: str,
    out: Path | None,
    cv: int | None,
    accuracy: bool,
) -> None:
    """Fit, print what came of it, and save the model last: if all went well."""
    from heterolda.cli.fit_files import fit_files
    from heterolda.cli.judge_fit import judge_fit
    from heterolda.cli.odd_numbers import note_odd_numbers
    from heterolda.cli.progress import StatusLine
    from heterolda.estimators.bounded_error import linear_form
    from heterolda.estimators.fit_record import FitRecord
    from heterolda.estimators.held_out import FOLDS, NotJudgedError
    from heterolda.export import save
    from heterolda.foundations.wording import count
    from heterolda.inspection.model_facts import ModelFacts
    from heterolda.inspection.model_text import describe_fit

    in_memory = settings.needs_memory(cv)
    where = " into memory" if in_memory else ""
    judgement, lines = None, []
    with StatusLine() as status:
        progress = status.rows(f"reading the data{where}")
        n_folds = (cv or FOLDS) if accuracy or cv is not None else 0
        how = {"in_memory": in_memory, "n_folds": n_folds}
        fitted = fit_files(settings, data, progress, **how)
        _note_memory(fitted, in_memory=in_memory)
        try:
            if accuracy or cv is not None:
                judgement = judge_fit(settings, fitted, cv, status)
        except NotJudgedError as error:
            if cv is not None:
                raise
            cross = "" if settings.confidence else ", or ask for --cv 10"
            lines.append(
                f"Held-out accuracy is unknown: {error}. Evaluate the model on other "
                f"rows{cross}."
            )
    if fitted.n_gaps:
        print_to_stderr(
            f"note: {fitted.n_gaps:,} of {count(fitted.n_rows, 'row')} have missing "
            "values; EM uses those they have, which is valid if values are missing at "
            "random given the observed ones"
        )
    facts = ModelFacts(linear_form(fitted.model))
    note_odd_numbers(data, fitted.some_rows[0], facts.features)
    record = FitRecord(
        target=data.target,
        data=Path(name).name,
        date=datetime.now(UTC).date().isoformat(),
        n_rows=facts.n_rows,
        judgement=judgement,
        categories=data.categories,
        marks=tuple(dict.fromkeys(data.source.reading.marks)),
        n_columns=_columns_without_names(data),
    )
    facts.model.fit_record_ = fitted.model.fit_record_ = record
    # Of fewer rows than features these options make another LDA than the one compared.
    options = "" if facts.has_few_rows else " (--solver fisher --shrinkage 1)"
    known = facts.accuracy_lines(lda=f"LDA{options}")
    lines = [*known, *lines]
    remedy = "try --shrinkage cv, or fewer features"
    lines = [*describe_fit(facts, name, data.target, lines, remedy), ""]
    if out is not None:
        save(fitted.model, out)
        lines.append(f"The model is in {out}.")
    else:
        lines.append("The model was not saved: add --out FILE to save it.")
    print_result(lines)


def _note_memory(fitted: Any, *, in_memory: bool) -> None:
    """Tell if rows are in memory, all of them or a sample."""
    if fitted.is_sampled:
        print_to_stderr(
            f"note: the model is fitted to a random sample of {len(fitted.rows[1]):,} "
            f"of {fitted.n_rows:,} rows"
        )
    elif in_memory:
        print_to_stderr(
            "note: these settings need all rows at once and keep them in memory"
        )


def _columns_without_names(data: Any) -> int | None:
    """Number of columns of files without header; None if they have one."""
    from heterolda.data.sources import open_source

    if data.source.reading.header:
        return None
    file = next(open_source(data.source, data.wanted))
    return len(file.schema.names) if file.is_text else None
