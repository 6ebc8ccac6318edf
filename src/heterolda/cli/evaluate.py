"""The command that compares predictions with known classes."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from heterolda.cli.messages import errors_in_one_line, print_result, warnings_as_notes
from heterolda.cli.options import (
    Columns,
    Data,
    Debug,
    Delimiter,
    Format,
    ModelFile,
    SampleWeight,
    one_of,
)
from heterolda.cli.parsing import split_names
from heterolda.cli.shared import name_of, source_of
from heterolda.foundations.choices import MISSING


def evaluate(
    model: ModelFile,
    data: Data,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="COLUMN",
            help="Column of the class labels; may be left out if it is the only one "
            "that is not a feature of the model.",
        ),
    ] = None,
    columns: Columns = None,
    sample_weight: SampleWeight = None,
    missing: Annotated[
        str,
        one_of(MISSING, "Rows with missing values are an error, or are left out."),
    ] = "error",
    form: Format = "csv",
    delimiter: Delimiter = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of text.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Say how good a model is on rows of known class.

    Prints accuracy, balanced accuracy (the mean over classes), log loss, calibration
    and which classes are taken for which. Files are read once, batch by batch.

    For example:

    - `heterolda evaluate iris.json test.csv`
    - `heterolda evaluate iris.json 'test/*.parquet' --target species --json`
    """
    with errors_in_one_line(debug), warnings_as_notes():
        from heterolda.cli.evaluate_files import evaluate as evaluate_files
        from heterolda.cli.evaluate_files import feature_columns
        from heterolda.cli.progress import StatusLine
        from heterolda.cli.score_text import describe_scores
        from heterolda.data.table import Table
        from heterolda.export import load

        fitted = load(model)
        names = feature_columns(fitted, split_names(columns) or None)
        with (
            source_of(data, form, delimiter) as source,
            StatusLine() as status,
        ):
            rows = Table(
                source,
                target,
                names,
                sample_weight=sample_weight,
                missing=missing,
            )
            scores = evaluate_files(fitted, rows, status.rows("predicting"))
        if as_json:
            print(json.dumps(scores.record(), indent=1, allow_nan=False))
        else:
            print_result(describe_scores(scores, name_of(data)))
