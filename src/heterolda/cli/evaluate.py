"""The command that evaluates a model on labeled rows."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import heterolda.cli.options as opt
from heterolda.cli.files import check_files, name_of
from heterolda.cli.messages import StatusLine, note, print_result
from heterolda.exceptions import ParameterError


def evaluate(
    *,
    model: opt.ModelFile,
    data: opt.Data,
    target: Annotated[
        str | None,
        opt.read(
            "COLUMN",
            "Column with the class of each row. By default the target of the fit.",
            "--target",
            "-t",
        ),
    ] = None,
    sample_weight: opt.SampleWeight = None,
    groups: opt.Groups = None,
    missing: Annotated[
        Literal["error", "drop", "em"] | None,
        opt.read(
            None,
            "Rows with missing values: stop with an error, drop them, or classify them "
            "by the values they have (em). By default em for models fitted that way, "
            "otherwise error.",
        ),
    ] = None,
    reading: opt.Reading,
    as_json: Annotated[
        bool, opt.write(None, "Print one JSON object instead of text.", "--json")
    ] = False,
) -> None:
    """Measure how good a model is on labeled rows.

    - `heterolda evaluate iris.json test.csv`
    - `heterolda evaluate iris.json test.csv --missing drop --na '?,-999'`
    - `heterolda evaluate iris.json 'test/*.parquet' --target class --json`

    Shows error, log loss, recall and precision of each class, which classes are
    confused, and how probabilities are calibrated, with intervals. Use rows that the
    model was not fitted to. Files are read once, in pieces.
    """
    check_files({}, model, data=data)
    text = reading.format
    import heterolda.cli.models as models
    from heterolda.cli.testing import evaluate_table
    from heterolda.cli.traps import evaluation_traps
    from heterolda.inspection.evaluation_text import as_record, evaluation_lines

    fitted, name = models.load_classifier(model, proba=True), name_of(data)
    record = getattr(fitted, "fit_record_", None)
    target = target or (record and record.target)
    if target is None:
        raise ParameterError(
            "target", f"is needed: {model} does not name the column of the classes"
        )
    policy = models.missing_for(fitted, missing)
    table = models.model_table(
        fitted,
        data,
        text,
        target=target,
        sample_weight=sample_weight,
        missing=policy,
        held_by=groups,
    )
    with StatusLine() as status:
        result, batches, sums = evaluate_table(
            fitted, table, status.doing("predicting")
        )
    note(*batches.unseen_notes(), *models.missing_notes(batches.n_incomplete))
    note(*evaluation_traps(fitted, result, sums))
    if as_json:
        print(json.dumps(as_record(result), indent=1, allow_nan=False))
    else:
        print_result(evaluation_lines(result, name))
