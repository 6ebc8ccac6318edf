"""The command that compares predictions with known classes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import heterolda.cli.options as opt
from heterolda.cli.files import check_outputs, format_of, name_of, source_of
from heterolda.cli.messages import (
    StatusLine,
    errors_in_one_line,
    note,
    print_result,
    warnings_as_notes,
)
from heterolda.foundations.wording import amount, count, text_table

if TYPE_CHECKING:
    from heterolda.estimators.error_bound import ErrorBound
    from heterolda.inspection.scoring import Scores

_MOST_CLASSES = 12
_MOST_CONFUSIONS = 10
Target = Annotated[
    str | None,
    opt.read(
        "COLUMN",
        "Column with the class of each row. By default the target of the fit, or the "
        "only column that is not a feature.",
        "--target",
        "-t",
    ),
]
Missing = Annotated[
    Literal["error", "drop", "em"] | None,
    opt.read(
        None,
        "Rows with missing values: stop with an error, drop them, or decide them by "
        "the values they have (em). By default em for models fitted that way, "
        "otherwise error.",
    ),
]


def evaluate(
    model: opt.ModelFile,
    data: opt.Data,
    target: Target = None,
    columns: opt.ModelColumns = None,
    sample_weight: opt.SampleWeight = None,
    missing: Missing = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    no_header: opt.NoHeader = False,
    na: opt.Na = None,
    as_json: Annotated[
        bool, opt.write(None, "Print one JSON object instead of text.", "--json")
    ] = False,
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
        check_outputs({}, model=model, data=data)
        text = format_of(delimiter, decimal, no_header, na)
        import heterolda.cli.models as models

        fitted, name = models.load_classifier(model), name_of(data)
        record = getattr(fitted, "fit_record_", None)
        settings = {
            "missing": models.missing_for(fitted, missing),
            "sample_weight": sample_weight,
        }
        with (
            source_of(data) as source,
            StatusLine() as status,
            models.columns_of_the_model(target),
        ):
            names = opt.split_names(columns)
            table = models.model_table(fitted, names, text, **settings, **source)
            label = target or (record and record.target)
            table = replace(table, target=label) if label else models.with_target(table)
            scores, notes = _scored(fitted, table, status, Path(name).name)
        note(*notes)
        if as_json:
            print(json.dumps(scores.record(), indent=1, allow_nan=False))
        else:
            bound = getattr(fitted, "bound_", None)
            print_result(describe_scores(scores, name, bound))


def _scored(
    model: Any, table: Any, status: StatusLine, name: str
) -> tuple[Scores, list[str]]:
    """Return scores and notes from one pass over a table."""
    import numpy as np

    from heterolda.cli.models import missing_notes, without_names
    from heterolda.cli.traps import evaluation_traps
    from heterolda.data.reading import Pass
    from heterolda.inspection.scoring import Scores

    scores, plain = Scores(model.classes_), without_names(model)
    reading = Pass(table, status.doing("predicting"), classes=model.classes_)
    sums, n_incomplete = np.zeros((len(model.classes_), model.n_features_in_)), 0
    for rows in reading:
        n_incomplete += int(np.isnan(rows.X).any(axis=1).sum())
        scores.add(rows.codes, plain.predict_proba(rows.X), rows.weights)
        for k in np.unique(rows.codes):
            mask = rows.codes == k
            sums[k] += rows.frequencies[mask] @ rows.X[mask]
    if not scores.weight:
        raise ValueError("the data have no rows")
    notes = reading.unseen.notes(table.categories)
    notes += missing_notes(n_incomplete)
    return scores, [*notes, *evaluation_traps(model, scores, sums, name)]


def describe_scores(
    scores: Scores, name: str, bound: ErrorBound | None = None
) -> list[str]:
    """Return an evaluation as lines of text, perhaps of a bounded error rate."""
    low, high = scores.accuracy_interval
    figures = {
        "accuracy": f"{100 * scores.accuracy:.2f} %  "
        f"(95 % interval: {100 * low:.2f} to {100 * high:.2f} %)",
        "balanced accuracy": f"{100 * scores.balanced_accuracy:.2f} %",
        "log loss": f"{scores.log_loss:.4f}",
        "expected calibration error": f"{100 * scores.calibration_error:.2f} %",
    }
    width = max(map(len, figures))
    rows = [
        [
            f"{100 * row['low']:.0f} to {100 * row['high']:.0f} %",
            amount(row["weight"]),
            f"{100 * row['mean_probability']:.1f} %",
            f"{100 * row['share_right']:.1f} %",
        ]
        for row in scores.reliability
    ]
    return [
        f"{name}: {count(scores.n_rows, 'row')}",
        "",
        *(f"{what:{width}}  {figure}" for what, figure in figures.items()),
        *_bounded(scores, bound),
        "",
        *_confusion(scores),
        "",
        "Calibration, by the probability of the predicted class"
        f"{' (under the priors of the bound)' if bound else ''}:",
        *text_table([["probability", "rows", "mean", "right"], *rows]),
    ]


def _bounded(scores: Scores, bound: ErrorBound | None) -> list[str]:
    """Say how many rows of the bounded class are wrong, if there are any."""
    from heterolda.inspection.sentences import observed_error

    if bound is None:
        return []
    k = scores.classes.tolist().index(bound.label)
    n_rows, recall = float(scores.confusion[k].sum()), float(scores.recalls[k])
    return [observed_error(bound, 1 - recall, n_rows)] if n_rows else []


def _confusion(scores: Scores) -> list[str]:
    """Return the confusion matrix, or the most frequent confusions of many classes."""
    import numpy as np

    labels = [str(label) for label in scores.classes.tolist()]
    recalls = [
        "-" if np.isnan(recall) else f"{100 * recall:.1f} %"
        for recall in scores.recalls.tolist()
    ]
    counts = [[amount(value) for value in row] for row in scores.confusion.tolist()]
    if len(labels) <= _MOST_CLASSES:
        rows = [
            [label, *row, recall]
            for label, row, recall in zip(labels, counts, recalls, strict=True)
        ]
        return [
            "Rows of each class by predicted class:",
            *text_table([["", *labels, "right"], *rows]),
        ]
    wrong = scores.confusion * (1 - np.eye(len(labels)))
    worst = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_CONFUSIONS]
    rows = [
        [labels[i], labels[j], counts[i][j], recalls[i]]
        for i, j in (divmod(int(place), len(labels)) for place in worst)
        if wrong[i, j] > 0
    ]
    return [
        f"The most frequent confusions of {len(labels)} classes (--json has all):",
        *text_table([["class", "predicted", "rows", "class right"], *rows]),
    ]
