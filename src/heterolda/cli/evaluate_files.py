"""Models compared with rows of known class, and what came of it as text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from heterolda.cli.messages import note, print_result
from heterolda.cli.models import (
    columns_of_the_model,
    load_classifier,
    missing_for,
    missing_notes,
    model_table,
    with_target,
    without_names,
)
from heterolda.cli.progress import StatusLine
from heterolda.cli.traps import evaluation_traps
from heterolda.data.formats import Format
from heterolda.data.reading import Pass
from heterolda.data.table import Table
from heterolda.estimators.error_bound import ErrorBound
from heterolda.foundations.arrays import Array
from heterolda.foundations.wording import amount, count, text_table
from heterolda.inspection.scoring import Scores
from heterolda.inspection.sentences import observed_error

_MOST_CLASSES = 12
_MOST_CONFUSIONS = 10


def evaluate_files(
    path: Path,
    target: str | None,
    columns: tuple[str, ...],
    text: Format,
    name: str,
    as_json: bool,
    settings: dict[str, Any],
) -> None:
    """Compare a model with rows of known class, and print how good it is."""
    model = load_classifier(path)
    settings["missing"] = missing_for(model, settings["missing"])
    record = getattr(model, "fit_record_", None)
    with StatusLine() as status, columns_of_the_model(target):
        table = model_table(model, columns, text, **settings)
        if target is None and record is not None:
            target = record.target
        table = with_target(table) if target is None else replace(table, target=target)
        scores, sums, notes = _scored(model, table, status)
    note(*notes, *evaluation_traps(model, scores, sums, Path(name).name))
    if as_json:
        print(json.dumps(scores.record(), indent=1, allow_nan=False))
    else:
        bound = getattr(model, "bound_", None)
        print_result(describe_scores(scores, name, bound))


def _scored(
    model: Any, table: Table, status: StatusLine
) -> tuple[Scores, Array, list[str]]:
    """Return scores, the sums of features by class, and notes, from one pass."""
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
    return scores, sums, [*notes, *missing_notes(n_incomplete)]


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
    if bound is None:
        return []
    k = scores.classes.tolist().index(bound.label)
    n_rows, recall = float(scores.confusion[k].sum()), float(scores.recalls[k])
    return [observed_error(bound, 1 - recall, n_rows)] if n_rows else []


def _confusion(scores: Scores) -> list[str]:
    """Return the confusion matrix, or the most frequent confusions of many classes."""
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
