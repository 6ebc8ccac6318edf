"""The command that compares predictions with known classes."""

from __future__ import annotations

import json
from typing import Annotated

import typer

import heterolda.cli.options as opt
from heterolda.cli.data_source import check_outputs, name_of, reading_of, source_of
from heterolda.cli.messages import (
    errors_in_one_line,
    print_result,
    print_to_stderr,
    warnings_as_notes,
)
from heterolda.cli.parsing import split_names
from heterolda.foundations.wording import MISSING_IN_FILES

Missing = Annotated[
    str | None,
    opt.one_of(
        MISSING_IN_FILES,
        "Rows with missing values: stop with an error, drop them, or decide them by "
        "the values they have (em). By default em for models fitted that way, "
        "otherwise error.",
        **opt.READ,
    ),
]


def evaluate(
    model: opt.ModelFile,
    data: opt.Data,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            **opt.READ,
            metavar="COLUMN",
            help="Column with the class of each row. By default the target of the fit, "
            "or the only column that is not a feature.",
        ),
    ] = None,
    columns: opt.Columns = None,
    sample_weight: opt.SampleWeight = None,
    missing: Missing = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    no_header: opt.NoHeader = False,
    na: opt.Na = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", **opt.WRITE, help="Print one JSON object instead of text."
        ),
    ] = False,
    debug: opt.Debug = False,
) -> None:
    """Measure how good a model is on rows whose class is known.

    - `heterolda evaluate iris.json test.csv`
    - `heterolda evaluate iris.json test.csv --missing drop --na '?,-999'`
    - `heterolda evaluate iris.json 'test/*.parquet' --target class --json`

    Shows accuracy, balanced accuracy (the mean over classes), log loss, calibration
    and which classes are confused. Use rows that the model was not fitted to. Files are
    read once, in pieces.
    """
    with errors_in_one_line(debug), warnings_as_notes():
        from heterolda.cli.evaluate_files import (
            can_take_gaps,
            evaluate_rows,
            gaps_for,
            load_classifier,
            needs_of,
        )
        from heterolda.cli.progress import StatusLine
        from heterolda.cli.score_text import describe_scores
        from heterolda.data.table import Table

        check_outputs({}, model, data=data)
        fitted = load_classifier(model)
        reading = reading_of(delimiter, decimal, no_header, na)
        needed, reading = needs_of(fitted, split_names(columns), reading)
        record = getattr(fitted, "fit_record_", None)
        if target is None and record is not None:
            target = record.target
        with source_of(data, reading) as source, StatusLine() as status:
            rows = Table(
                source,
                target,
                needed.features,
                (),
                sample_weight,
                gaps_for(fitted, missing),
                categories=needed.categories,
                n_columns=needed.n_columns,
                takes_gaps=can_take_gaps(fitted),
            )
            scores, notes = evaluate_rows(fitted, rows, status.rows("predicting"))
        for text in notes:
            print_to_stderr(f"note: {text}")
        if record is not None and record.data == name_of(data):
            print_to_stderr(
                "note: the model was fitted to data of this name. On its training rows "
                "it is right more often than on new ones; inspect shows its held-out "
                "accuracy"
            )
        if as_json:
            print(json.dumps(scores.record(), indent=1, allow_nan=False))
        else:
            bound = getattr(fitted, "bound_", None)
            print_result(describe_scores(scores, name_of(data), bound))
