"""The command that predicts the rows of files."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Annotated

import typer

import heterolda.cli.options as opt
from heterolda.cli.data_source import check_outputs, reading_of, source_of
from heterolda.cli.messages import (
    errors_in_one_line,
    print_to_stderr,
    usage_errors,
    warnings_as_notes,
)
from heterolda.cli.parsing import split_names

Missing = Annotated[
    str | None,
    opt.one_of(
        ("error", "em", "keep", "drop"),
        "Rows with missing values: stop with an error, decide them by the values they "
        "have (em), keep them with an empty prediction, or drop them. By default em "
        "for models fitted that way, otherwise error.",
        **opt.READ,
    ),
]
Out = Annotated[
    str,
    typer.Option(
        "--out",
        "-o",
        **opt.WRITE,
        metavar="FILE",
        show_default=False,
        help="A .csv, .tsv (also .gz) or .parquet file. By default, and with -, CSV "
        "on standard output.",
    ),
]
Proba = Annotated[
    bool,
    typer.Option("--proba", **opt.WRITE, help="Add the probability of each class."),
]
Identifier = Annotated[
    str | None,
    typer.Option(
        "--id",
        **opt.WRITE,
        metavar="NAMES",
        help="Write only these columns and the prediction.",
    ),
]
Column = Annotated[
    str,
    typer.Option(
        **opt.WRITE, metavar="NAME", help="Name of the column of predictions."
    ),
]


def predict(
    model: opt.ModelFile,
    data: opt.Data,
    columns: opt.Columns = None,
    missing: Missing = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    no_header: opt.NoHeader = False,
    na: opt.Na = None,
    out: Out = "-",
    proba: Proba = False,
    identifier: Identifier = None,
    column: Column = "prediction",
    debug: opt.Debug = False,
) -> None:
    """Predict the class of each row of a table, in a new column.

    - `heterolda predict iris.json new.csv --out predicted.csv`
    - `heterolda predict iris.json new.parquet --id sample --proba -o p.parquet`
    - `cat new.csv | heterolda predict iris.json - | head`

    Columns are found by name, in any order. Those that the model does not use are
    passed on as they are, text files character by character. Rows keep their order.
    Files are read and written piece by piece, so they may be larger than memory.
    """
    with errors_in_one_line(debug):
        from heterolda.cli.evaluate_files import (
            gaps_for,
            load_classifier,
            needs_of,
        )
        from heterolda.cli.predict_files import Output, predict_batches
        from heterolda.cli.progress import StatusLine
        from heterolda.data.parquet_reader import PARQUET
        from heterolda.data.table_writer import check_table_name, write_table

        with usage_errors():
            check_table_name(out)
        check_outputs({"--out": None if out == "-" else out}, model, data=data)
        fitted = load_classifier(model)
        reading = reading_of(delimiter, decimal, no_header, na)
        needed, reading = needs_of(fitted, split_names(columns), reading)
        output = Output(
            column=column,
            proba=proba,
            only=split_names(identifier),
            missing=gaps_for(fitted, missing),
            numbers=out.lower().endswith(PARQUET),
        )
        quiet = out == "-" and sys.stdout.isatty()
        notes: list[str] = []
        with (
            source_of(data, reading, keep_answering=True) as source,
            warnings_as_notes(),
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
