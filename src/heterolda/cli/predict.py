"""The command that predicts the rows of files."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Annotated

import typer

import heterolda.cli.options as opt
from heterolda.cli.data_source import reading_of, source_of
from heterolda.cli.messages import errors_in_one_line, print_to_stderr, usage_errors
from heterolda.cli.parsing import split_names


def predict(
    model: opt.ModelFile,
    data: opt.Data,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="A .csv, .tsv (also .gz) or .parquet file; - is standard output, as "
            "CSV.",
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
    columns: opt.Columns = None,
    missing: Annotated[
        str,
        opt.one_of(
            ("error", "keep", "drop"),
            "Rows in which a feature is missing are an error, get an empty "
            "prediction, or are left out.",
        ),
    ] = "error",
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    no_header: opt.NoHeader = False,
    na: opt.Na = None,
    debug: opt.Debug = False,
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
        from heterolda.cli.evaluate_files import load_classifier, needs_of
        from heterolda.cli.predict_files import Output, predict_batches
        from heterolda.cli.progress import StatusLine
        from heterolda.data.parquet_reader import PARQUET
        from heterolda.data.table_writer import check_table_name, write_table

        with usage_errors():
            check_table_name(out)
        fitted = load_classifier(model)
        reading = reading_of(delimiter, decimal, no_header, na)
        needed, reading = needs_of(fitted, split_names(columns), reading)
        output = Output(
            column=column,
            proba=proba,
            only=split_names(identifier),
            missing=missing,
            numbers=out.lower().endswith(PARQUET),
        )
        quiet = out == "-" and sys.stdout.isatty()
        notes: list[str] = []
        with (
            source_of(data, reading, keep_answering=True) as source,
            StatusLine(quiet) as status,
            # Its thread must have ended before the process does, however that ends.
            closing(
                predict_batches(fitted, source, needed, output, notes.append)
            ) as batches,
        ):
            n_rows = write_table(batches, out, status.rows("predicting"))
        for note in notes:
            print_to_stderr(f"note: {note}")
        if out != "-":
            print_to_stderr(f"{n_rows:,} rows in {out}")
