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
from heterolda.foundations.choices import MISSING


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
            help="Column with the class of each row. By default that of the fit, or "
            "the only column that is no feature.",
        ),
    ] = None,
    columns: opt.Columns = None,
    sample_weight: opt.SampleWeight = None,
    missing: Annotated[
        str,
        opt.one_of(
            MISSING, "A missing value is an error, or its row is left out.", **opt.READ
        ),
    ] = "error",
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
    """Say how good a model is on rows of known class.

    - `heterolda evaluate iris.json test.csv`
    - `heterolda evaluate iris.json test.csv --missing drop --na '?,-999'`
    - `heterolda evaluate iris.json 'test/*.parquet' --target species --json`

    Prints accuracy, balanced accuracy (the mean over classes), log loss, calibration
    and which classes are taken for which. Files are read once, piece by piece.
    """
    with errors_in_one_line(debug), warnings_as_notes():
        from heterolda.cli.evaluate_files import (
            evaluate_rows,
            feature_columns,
            load_classifier,
        )
        from heterolda.cli.progress import StatusLine
        from heterolda.cli.score_text import describe_scores
        from heterolda.data.table import Table

        check_outputs({}, model, data=data)
        fitted = load_classifier(model)
        names = feature_columns(fitted, split_names(columns))
        record = getattr(fitted, "fit_record_", None)
        if target is None and record is not None:
            target = record.target
        reading = reading_of(delimiter, decimal, no_header, na)
        with source_of(data, reading) as source, StatusLine() as status:
            rows = Table(source, target, names, (), sample_weight, missing)
            scores = evaluate_rows(fitted, rows, status.rows("predicting"))
        if record is not None and record.data == name_of(data):
            print_to_stderr(
                "note: the model was fitted to data of this name; on rows that it was "
                "fitted to, it is more often right than on others (see inspect)"
            )
        if as_json:
            print(json.dumps(scores.record(), indent=1, allow_nan=False))
        else:
            bound = getattr(fitted, "bound_", None)
            print_result(describe_scores(scores, name_of(data), bound))
