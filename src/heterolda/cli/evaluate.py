"""The command that compares predictions with known classes."""

from __future__ import annotations

import heterolda.cli.options as opt
from heterolda.cli.data_source import (
    check_model,
    check_outputs,
    format_of,
    name_of,
    source_of,
)
from heterolda.cli.messages import errors_in_one_line, warnings_as_notes
from heterolda.cli.parsing import split_names


def evaluate(
    model: opt.ModelFile,
    data: opt.Data,
    target: opt.KnownTarget = None,
    columns: opt.ModelColumns = None,
    sample_weight: opt.SampleWeight = None,
    missing: opt.MissingToEvaluate = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    no_header: opt.NoHeader = False,
    na: opt.Na = None,
    as_json: opt.AsJson = False,
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
        check_model(model)
        check_outputs({}, model, data=data)
        text = format_of(delimiter, decimal, no_header, na)
        from heterolda.cli.evaluate_files import evaluate_files

        with source_of(data) as source:
            settings = {**source, "sample_weight": sample_weight, "missing": missing}
            names, name = split_names(columns), name_of(data)
            evaluate_files(model, target, names, text, name, as_json, settings)
