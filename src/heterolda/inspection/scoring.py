"""Evaluate predicted probabilities on labeled rows, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.estimators.error_bound import ErrorBound
from heterolda.foundations.arrays import Array
from heterolda.foundations.wording import amount, count, percent
from heterolda.inspection.blocks import Block, Paragraph, Table, to_lines

N_BINS = 10
_MAX_CLASSES = 12
_MAX_CONFUSIONS = 10


def log_losses(chances: Array) -> Array:
    """Return finite log losses, given the probabilities of the true classes."""
    return -np.log(np.clip(chances, np.finfo(np.float64).eps, 1.0))


class Scores:
    """Sums over rows from which accuracy, calibration and loss follow."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes = classes
        self.n_rows = 0
        self._n_positive = 0  # rows of positive weight
        # Weight of rows by true class (first index) and predicted class.
        self.confusion = np.zeros((len(classes), len(classes)))
        # In equal bins of the probability of the predicted class: weight, weighted sum
        # of these probabilities, weight of the rows predicted correctly.
        self.bins = np.zeros((3, N_BINS))
        self._loss = 0.0

    def add(
        self, truth: NDArray[np.intp], probabilities: Array, weight: Array | None = None
    ) -> None:
        """Add rows, given the index of the true class and the class probabilities."""
        w = np.ones(len(truth)) if weight is None else weight
        winner = probabilities.argmax(axis=1)
        rows = np.arange(len(truth))
        self.n_rows += len(truth)
        self._n_positive += int(np.count_nonzero(w))
        np.add.at(self.confusion, (truth, winner), w)
        confidence = probabilities[rows, winner]
        bins = np.minimum((confidence * N_BINS).astype(np.intp), N_BINS - 1)
        sums = np.column_stack([w, w * confidence, w * (winner == truth)])
        np.add.at(self.bins.T, bins, sums)
        self._loss += float(w @ log_losses(probabilities[rows, truth]))

    @property
    def weight(self) -> float:
        """Return the total weight of the rows."""
        return float(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """Return the share of the rows that are predicted correctly."""
        return float(self.confusion.trace() / self.weight)

    @property
    def accuracy_interval(self) -> tuple[float, float]:
        """Return the 95 % confidence interval of the accuracy, by Wilson's score."""
        # Weights below one on average, which are not frequencies, count as one each.
        n, z = max(self.weight, self._n_positive), 1.959964
        center = self.accuracy + z * z / (2 * n)
        variance = self.accuracy * (1 - self.accuracy) / n
        half_width = z * np.sqrt(variance + z * z / (4 * n * n))
        scale = 1 + z * z / n
        low, high = (center - half_width) / scale, (center + half_width) / scale
        return float(low), float(high)

    def record(self) -> dict[str, Any]:
        """Return all figures for JSON; recall and precision are None without rows."""
        n_right = self.confusion.diagonal()
        recall = _shares(n_right, self.confusion.sum(axis=1))
        reliability = [
            {
                "low": k / N_BINS,
                "high": (k + 1) / N_BINS,
                "weight": float(weight),
                "mean_probability": float(confidence / weight),
                "share_right": float(right / weight),
            }
            for k, (weight, confidence, right) in enumerate(self.bins.T)
            if weight > 0
        ]
        distance = np.abs(self.bins[1] - self.bins[2]).sum()
        return {
            "n_rows": self.n_rows,
            "weight": self.weight,
            "classes": self.classes.tolist(),
            "accuracy": self.accuracy,
            "balanced_accuracy": float(np.mean([r for r in recall if r is not None])),
            "log_loss": self._loss / self.weight,
            "expected_calibration_error": float(distance / self.weight),
            "recall": recall,
            "precision": _shares(n_right, self.confusion.sum(axis=0)),
            "confusion": self.confusion.tolist(),
            "reliability": reliability,
        }


def _shares(parts: Array, wholes: Array) -> list[float | None]:
    """Return quotients; None where the divisor is zero."""
    pairs = zip(parts.tolist(), wholes.tolist(), strict=True)
    return [part / whole if whole else None for part, whole in pairs]


def describe_scores(
    scores: Scores, name: str, bounds: Sequence[ErrorBound] = ()
) -> list[str]:
    """Return lines of text on an evaluation, and on bounds if there are any."""
    low, high = scores.accuracy_interval
    record = scores.record()
    calibration_error = 100 * record["expected_calibration_error"]
    figures = {
        "accuracy": f"{100 * scores.accuracy:.2f} %  "
        f"(95 % interval: {100 * low:.2f} to {100 * high:.2f} %)",
        "balanced accuracy": f"{100 * record['balanced_accuracy']:.2f} %",
        "log loss": f"{record['log_loss']:.4f}",
        "expected calibration error": f"{calibration_error:.2f} %",
    }
    width = max(map(len, figures))
    lines = [f"{title:{width}}  {figure}" for title, figure in figures.items()]
    for bound in bounds:
        k = record["classes"].index(bound.label)
        if record["recall"][k] is not None:
            wrong, limit = percent(1 - record["recall"][k]), percent(bound.max_error)
            rows = count(float(scores.confusion[k].sum()), "row")
            lines.append(
                f"{bound.label} wrong: {wrong} of {rows} (bound: {limit}, with "
                f"{percent(bound.confidence)} confidence)"
            )
    priors = " (under the priors of the bound)" if bounds else ""
    title = f"Calibration, by the probability of the predicted class{priors}:"
    calibration = [
        [
            f"{100 * row['low']:.0f} to {100 * row['high']:.0f} %",
            amount(row["weight"]),
            f"{100 * row['mean_probability']:.1f} %",
            f"{100 * row['share_right']:.1f} %",
        ]
        for row in record["reliability"]
    ]
    blocks: list[Block] = [
        Paragraph([f"{name}: {count(scores.n_rows, 'row')}"]),
        Paragraph(lines),
        _confusion(scores, record["recall"]),
        Table(["probability", "rows", "mean", "right"], calibration, title),
    ]
    return to_lines(blocks)


def _confusion(scores: Scores, recalls: list[float | None]) -> Table:
    """Return the confusion matrix, or for many classes the most frequent confusions."""
    labels = [str(label) for label in scores.classes.tolist()]
    right = ["-" if share is None else f"{100 * share:.1f} %" for share in recalls]
    counts = [[amount(value) for value in row] for row in scores.confusion.tolist()]
    if len(labels) <= _MAX_CLASSES:
        table = zip(labels, counts, right, strict=True)
        rows = [[label, *row, share] for label, row, share in table]
        return Table(
            ["", *labels, "right"], rows, "Rows of each class by predicted class:"
        )
    wrong = scores.confusion * (1 - np.eye(len(labels)))
    worst = np.argsort(-wrong, axis=None, kind="stable")[:_MAX_CONFUSIONS]
    rows = [
        [labels[i], labels[j], counts[i][j], right[i]]
        for i, j in (divmod(int(k), len(labels)) for k in worst)
        if wrong[i, j] > 0
    ]
    title = f"The most frequent confusions of {len(labels)} classes (--json has all):"
    return Table(["class", "predicted", "rows", "class right"], rows, title)
