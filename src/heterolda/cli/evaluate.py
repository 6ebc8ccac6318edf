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

    Shows accuracy, balanced accuracy (the mean over classes), log loss, calibration
    and which classes are confused. Use rows that the model was not fitted to. Files are
    read once, in pieces.
    """
    check_files({}, model, data=data)
    text = reading.format
    import numpy as np

    import heterolda.cli.models as models
    from heterolda.cli.traps import evaluation_traps
    from heterolda.data.reading import Pass
    from heterolda.inspection.scoring import Scores, describe_scores

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
    )
    classes = fitted.classes_
    scores, n_incomplete = Scores(classes), 0
    sums = np.zeros((len(classes), fitted.n_features_in_))
    with StatusLine() as status:
        batches = Pass(table, status.doing("predicting"), classes=classes)
        for rows in batches:
            n_incomplete += int(np.isnan(rows.X).any(axis=1).sum())
            scores.add(rows.codes, fitted.predict_proba(rows.X), rows.weights)
            for k in np.unique(rows.codes):
                mask = rows.codes == k
                sums[k] += rows.frequencies[mask] @ rows.X[mask]
    if not scores.weight:
        raise ValueError("the data have no rows")
    note(*batches.unseen_notes(), *models.missing_notes(n_incomplete))
    note(*evaluation_traps(fitted, scores, sums))
    if as_json:
        print(json.dumps(scores.record(), indent=1, allow_nan=False))
    else:
        bounds = getattr(fitted, "bounds_", [])
        print_result(describe_scores(scores, name, bounds))
