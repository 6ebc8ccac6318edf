"""An evaluation in words and tables, for terminals, notebooks, cards and commands."""

from __future__ import annotations

from typing import Any

import numpy as np

from heterolda.foundations.arrays import Array
from heterolda.foundations.wording import amount, count, percent
from heterolda.inspection.blocks import Block, Paragraph, Table, to_lines

_MAX_CLASSES = 12  # of a confusion matrix
_MAX_CONFUSIONS = 10
HELD_OUT = (
    "On held-out rows, with 95 % intervals: recall, the share of the rows of a class "
    "that are right; precision, that of the answers"
)


def evaluation_blocks(result: Any, name: str = "this model") -> list[Block]:
    """Return the figures of a classifier and its alternatives, and the conclusion."""
    return [
        Paragraph([f"{about(result)}."]),
        alternatives(result, name),
        Paragraph([*figures(result), result.conclusion]),
        classes_table(result),
        *(Paragraph([note], small=True) for note in result.notes),
    ]


def evaluation_lines(result: Any, name: str) -> list[str]:
    """Return lines of text on the evaluation of a model on rows of a file."""
    head, *blocks = evaluation_blocks(result)
    groups = f" in {count(result.n_groups, 'group')}" if result.n_groups else ""
    head = Paragraph([f"{name}: {count(result.n_rows, 'row')}{groups}"])
    tables = confusion_table(result), calibration_table(result)
    return to_lines([head, *blocks, *tables])


def about(result: Any) -> str:
    """Return how many rows were held out, and how."""
    groups = f" in {count(result.n_groups, 'group')}" if result.n_groups else ""
    return f"{result.method}: {count(result.n_rows, 'row')}{groups}"


def accuracy_lines(result: Any, model: str, lda: str) -> list[str]:
    """Return the accuracies of the model and LDA, other figures, and the conclusion."""
    rows = f"{count(result.n_rows, 'row')}"
    rows += f" in {count(result.n_groups, 'group')}" if result.n_groups else ""
    text = f"Held-out accuracy ({result.method}, {rows}): "
    text += _with_interval(result.accuracy, 1 - result.error_interval[::-1])
    if not np.isnan(result.lda_error):
        text += f"; LDA on the same rows: {100 * (1 - result.lda_error):.2f} %"
    more = figures(result)[0].partition(". ")[2]
    return [f"{text}.", *([more] if more else []), result.conclude(model, lda)]


def figures(result: Any) -> list[str]:
    """Return the error, cost and bounded rate with their intervals."""
    lines = [f"Error: {_with_interval(result.error, result.error_interval)}."]
    if np.isfinite(result.expected_cost):
        low, high = result.expected_cost_interval
        lines[0] += (
            f" Expected cost: {result.expected_cost:.4g} (95 % interval {low:.4g} to "
            f"{high:.4g})."
        )
    if result.bounded is not None and not np.isnan(result.bounded_rate):
        k = result.classes.tolist().index(result.bounded)
        ends = 1 - result.recall_interval[k][::-1]
        rate, limit = result.bounded_rate, result.losses.max_error
        rows = count(float(result.confusion[k].sum()), "row")
        verb = "within" if rate <= limit else "above"
        verb += "" if (rate > limit) == (ends[0] > limit) else ", but not clearly,"
        lines[0] += (
            f" Of {rows} of {result.bounded}, {_with_interval(rate, ends)} are wrong: "
            f"{verb} the bound of {percent(limit)}."
        )
    return lines


def _with_interval(share: float, ends: Array) -> str:
    return f"{100 * share:.2f} % (95 % interval {interval(ends)})"


def interval(ends: Array) -> str:
    """Return an interval of a share in words."""
    return f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f} %"


def alternatives(result: Any, name: str) -> Table:
    """Return the figures of the classifier, LDA and the constant rule."""
    losses = result.losses
    names = [name, *losses.names[1:-1], f"always {result.constant!r}"]
    columns: dict[str, list[Any]] = {
        "": names,
        "error": [f"{100 * error:.2f} %" for error in losses.error],
    }
    costs = losses.decides_by == "expected cost"
    if costs:
        columns["expected cost"] = [f"{value:.4g}" for value in losses.value]
    if result.bounded is not None:
        columns[f"{result.bounded} wrong"] = list(map(percent, losses.class_rate))
    for title, values in {
        "log loss": losses.log_loss,
        "Brier score": losses.brier_score,
    }.items():
        columns[title] = ["-" if np.isnan(v) else f"{v:.4f}" for v in values]
    if losses.decides_by in ("error", "expected cost"):
        scale, form = (1, ".3g") if costs else (100, ".2f")
        more = zip(losses.difference[1:, 0], losses.standard_error[1:, 0], strict=True)
        shown = [f"{scale * d:+{form}} ±{scale * e:{form}}" for d, e in more]
        columns["more costs" if costs else "more errors"] = ["", *shown]
    rows = list(zip(*columns.values(), strict=True))
    return Table(list(columns), rows)


def classes_table(result: Any) -> Table:
    """Return recall and precision of each class, with their intervals."""
    weights = result.confusion.sum(axis=1)
    cells = zip(class_cells(result), map(amount, weights), strict=True)
    rows = [[label, rows, *shares] for (label, shares), rows in cells]
    head = ["class", "rows", "recall", "precision"]
    return Table(head, rows, HELD_OUT, _MAX_CLASSES)


def class_cells(result: Any) -> list[tuple[str, list[str]]]:
    """Return each label, with recall and precision and their intervals as text."""
    cells: list[tuple[str, list[str]]] = []
    for k, label in enumerate(result.classes.tolist()):
        shown = []
        for name in ("recall", "precision"):
            share = getattr(result, name)[k]
            ends = interval(getattr(result, f"{name}_interval")[k])
            shown.append("-" if np.isnan(share) else f"{100 * share:.1f} % ({ends})")
        cells.append((str(label), shown))
    return cells


def confusion_table(result: Any) -> Table:
    """Return the confusion matrix, or for many classes the most frequent confusions."""
    labels = [str(label) for label in result.classes.tolist()]
    counts = [[amount(value) for value in row] for row in result.confusion.tolist()]
    if len(labels) <= _MAX_CLASSES:
        rows = [[label, *row] for label, row in zip(labels, counts, strict=True)]
        return Table(["", *labels], rows, "Rows of each class by predicted class:")
    wrong = result.confusion * (1 - np.eye(len(labels)))
    worst = np.argsort(-wrong, axis=None, kind="stable")[:_MAX_CONFUSIONS]
    pairs = [divmod(int(k), len(labels)) for k in worst]
    rows = [[labels[i], labels[j], counts[i][j]] for i, j in pairs if wrong[i, j] > 0]
    title = f"The most frequent confusions of {len(labels)} classes (--json has all):"
    return Table(["class", "predicted", "rows"], rows, title)


def calibration_table(result: Any) -> Table:
    """Return probabilities of the predicted class, and the shares that are right."""
    rows = [
        [
            f"{100 * bin['low']:.0f} to {100 * bin['high']:.0f} %",
            amount(bin["weight"]),
            f"{100 * bin['mean_probability']:.1f} %",
            f"{100 * bin['share_right']:.1f} %",
        ]
        for bin in reliability(result)
    ]
    title = "Calibration, by the probability of the predicted class:"
    return Table(["probability", "rows", "mean", "right"], rows, title)


def reliability(result: Any) -> list[dict[str, float]]:
    """Return the bins of probabilities that have rows."""
    n = result.reliability.shape[1]
    return [
        {
            "low": k / n,
            "high": (k + 1) / n,
            "weight": float(weight),
            "mean_probability": float(chances / weight),
            "share_right": float(right / weight),
        }
        for k, (weight, chances, right) in enumerate(result.reliability.T)
        if weight > 0
    ]


def as_record(result: Any) -> dict[str, Any]:
    """Return all figures for JSON; None stands for those that do not exist."""
    names = "n_rows n_groups error accuracy log_loss brier_score calibration_error "
    names += "expected_cost bounded_rate lda_error error_interval recall "
    names += "recall_interval precision precision_interval confusion"
    values = {name: _plain(getattr(result, name)) for name in names.split()}
    recall = result.recall[~np.isnan(result.recall)]
    return {
        "method": result.method,
        "classes": result.classes.tolist(),
        **values,
        "balanced_accuracy": float(recall.mean()),
        "reliability": reliability(result),
        "conclusion": result.conclusion,
        "notes": list(result.notes),
    }


def _plain(value: Any) -> Any:
    """Return numbers and arrays as lists, with None in place of NaN."""
    if np.ndim(value):
        return [_plain(item) for item in value]
    return float(value) if np.isfinite(value) else None
