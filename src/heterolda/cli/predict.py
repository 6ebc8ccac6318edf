"""The command that predicts the rows of files."""

from __future__ import annotations

import sys
from contextlib import closing
from enum import StrEnum
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
    errors_in_one_line,
    load_model,
    notice,
    source_of,
    split_names,
    usage_errors,
)

__all__ = ["predict"]


class Gaps(StrEnum):
    """What to do with rows whose features have missing values."""

    error = "error"
    keep = "keep"
    drop = "drop"


def predict(
    model: ModelFile,
    data: Data,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="A file .csv, .tsv (also .gz) or .parquet; - is the standard output, "
            "as CSV.",
        ),
    ] = "-",
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of each class.")
    ] = False,
    identifier: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="NAMES",
            help="Write only these columns beside the prediction.",
        ),
    ] = None,
    column: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the column of predictions.")
    ] = "prediction",
    columns: Columns = None,
    missing: Annotated[
        Gaps,
        typer.Option(
            help="Rows in which a feature is missing are an error, get an empty "
            "prediction, or are left out."
        ),
    ] = Gaps.error,
    form: Format = DataFormat.csv,
    delimiter: Delimiter = None,
    debug: Debug = False,
) -> None:
    """Predict the rows of a table: its columns, and a new one.

    Columns are found by name, in any order; those that the model does not use are
    passed on as they are, text files character by character. Rows keep their order.
    Files are read and written batch by batch, so they may be larger than memory.

    For example:

    - `heterolda predict iris.json new.csv --out predicted.csv`
    - `heterolda predict iris.json new.parquet --id sample --proba -o p.parquet`
    - `cat new.csv | heterolda predict iris.json - | head`
    """
    with errors_in_one_line(debug):
        from heterolda.cli.evaluate_files import feature_columns
        from heterolda.cli.predict_files import Output, predict_batches
        from heterolda.cli.terminal import Activity
        from heterolda.data.parquet_reader import PARQUET
        from heterolda.data.table_writer import check_table_name, write_table

        with usage_errors():
            check_table_name(out)
        fitted = load_model(model)
        names = feature_columns(fitted, split_names(columns) or None)
        output = Output(
            column=column,
            proba=proba,
            only=split_names(identifier),
            missing=missing.value,
            numbers=out.lower().endswith(PARQUET),
        )
        quiet = out == "-" and sys.stdout.isatty()
        notes: list[str] = []
        with (
            source_of(data, form, delimiter, keep_answering=True) as source,
            Activity(quiet) as activity,
            # Its thread must have ended before the process does, however that ends.
            closing(
                predict_batches(fitted, source, names, output, notes.append)
            ) as batches,
        ):
            n_rows = write_table(batches, out, activity.rows("predicting"))
        for note in notes:
            notice(f"note: {note}")
        if out != "-":
            notice(f"{n_rows:,} rows in {out}")
