"""The command that compares predictions with known classes."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from heterolda.cli.shared import (
    Columns,
    Data,
    DataFormat,
    Debug,
    Delimiter,
    Format,
    ModelFile,
    SampleWeight,
    errors_in_one_line,
    load_model,
    name_of,
    plain_notes,
    source_of,
    split_names,
    tell,
)
from heterolda.cli.values import Missing

__all__ = ["evaluate"]


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
            "that is no feature of the model.",
        ),
    ] = None,
    columns: Columns = None,
    sample_weight: SampleWeight = None,
    missing: Annotated[
        Missing,
        typer.Option(help="Rows with missing values are an error, or are left out."),
    ] = Missing.error,
    form: Format = DataFormat.csv,
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
    with errors_in_one_line(debug), plain_notes():
        from heterolda.cli.evaluate_files import evaluate as evaluate_files
        from heterolda.cli.evaluate_files import feature_columns
        from heterolda.cli.terminal import Activity
        from heterolda.data.table import Table
        from heterolda.inspection.summary import describe_scores

        fitted = load_model(model)
        names = feature_columns(fitted, split_names(columns) or None)
        with (
            source_of(data, form, delimiter) as source,
            Activity() as activity,
        ):
            rows = Table(
                source,
                target,
                names,
                sample_weight=sample_weight,
                missing=missing.value,
            )
            scores = evaluate_files(fitted, rows, activity.rows("predicting"))
        if as_json:
            print(json.dumps(scores.record(), indent=1, allow_nan=False))
        else:
            tell(describe_scores(scores, name_of(data)))
