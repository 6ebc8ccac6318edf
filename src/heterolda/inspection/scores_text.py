"""An evaluation in words."""

from __future__ import annotations

import numpy as np

from heterolda.estimators.error_bound import ErrorBound
from heterolda.foundations.wording import amount, count, text_table
from heterolda.inspection.scoring import Scores
from heterolda.inspection.sentences import observed_error

_MOST_CLASSES = 12
_MOST_CONFUSIONS = 10


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
    priors = " (under the priors of the bound)" if bound else ""
    return [
        f"{name}: {count(scores.n_rows, 'row')}",
        "",
        *(f"{title:{width}}  {figure}" for title, figure in figures.items()),
        *_bounded(scores, bound),
        "",
        *_confusion(scores),
        "",
        f"Calibration, by the probability of the predicted class{priors}:",
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
