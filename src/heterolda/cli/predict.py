"""The command that predicts the rows of files."""

from __future__ import annotations

import heterolda.cli.options as opt
from heterolda.cli.data_source import check_model, check_outputs, format_of
from heterolda.cli.messages import errors_in_one_line
from heterolda.cli.parsing import split_names
from heterolda.data.files import STANDARD_STREAM, check_written


def predict(
    model: opt.ModelFile,
    data: opt.Data,
    columns: opt.ModelColumns = None,
    missing: opt.MissingToPredict = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    no_header: opt.NoHeader = False,
    na: opt.Na = None,
    out: opt.PredictionsOut = "-",
    proba: opt.Proba = False,
    identifier: opt.Identifier = None,
    column: opt.Column = "prediction",
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
        check_written(out)
        written = None if out == STANDARD_STREAM else out
        check_model(model)
        check_outputs({"--out": written}, model, data=data)
        text = format_of(delimiter, decimal, no_header, na)
        from heterolda.cli.predict_files import Output, predict_files

        output = Output(column, proba, split_names(identifier), missing, out)
        source = STANDARD_STREAM if data == [STANDARD_STREAM] else data
        predict_files(model, source, split_names(columns), text, output)
