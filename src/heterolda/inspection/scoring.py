"""Evaluate probabilities on rows of known class, added up batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.estimators.error_bound import ErrorBound
from heterolda.foundations.arrays import Array
from heterolda.foundations.wording import amount, count, percent
from heterolda.inspection.blocks import Block, Paragraph, Table, to_lines

N_BINS = 10
_MOST_CLASSES = 12
_MOST_CONFUSIONS = 10


def log_losses(chances: Array) -> Array:
    """Return finite log losses, given the probabilities of the true classes."""
    return -np.log(np.clip(chances, np.finfo(np.float64).eps, 1.0))


class Scores:
    """Sums over rows from which accuracy, calibration and loss follow."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes = classes
        self.n_rows = 0  # whatever their weights
        self._n_positive = 0
        # Weight of the rows of each class (first index) by what was predicted.
        self.confusion = np.zeros((len(classes), len(classes)))
        # By the probability of the predicted class, in equal steps from 0 to 1:
        # weight, sum of these probabilities, weight of the rows predicted right.
        self.bins = np.zeros((3, N_BINS))
        self._loss = 0.0

    def add(
        self, truth: NDArray[np.intp], probabilities: Array, weight: Array | None = None
    ) -> None:
        """Add rows, given the index of the true class and the class probabilities."""
        w = np.ones(len(truth)) if weight is None else weight
        winner = probabilities.argmax(axis=1)
        every = np.arange(len(truth))
        self.n_rows += len(truth)
        self._n_positive += int(np.count_nonzero(w))
        np.add.at(self.confusion, (truth, winner), w)
        confidence = probabilities[every, winner]
        place = np.minimum((confidence * N_BINS).astype(np.intp), N_BINS - 1)
        sums = np.column_stack([w, w * confidence, w * (winner == truth)])
        np.add.at(self.bins.T, place, sums)
        self._loss += float(w @ log_losses(probabilities[every, truth]))

    @property
    def weight(self) -> float:
        """Total weight of the rows."""
        return float(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """Share of the rows that are predicted right."""
        return float(self.confusion.trace() / self.weight)

    @property
    def accuracy_interval(self) -> tuple[float, float]:
        """Return the 95 % confidence interval of the accuracy.

        Weights below one on average, which are not frequencies, count as one each.
        """
        return wilson_interval(self.accuracy, max(self.weight, self._n_positive))

    @property
    def recalls(self) -> Array:
        """For each class the share of its rows that are predicted right, or NaN."""
        rows = self.confusion.sum(axis=1)
        return np.asarray(self.confusion.diagonal() / np.where(rows > 0, rows, np.nan))

    @property
    def precisions(self) -> Array:
        """For each class the share of its predictions that are right, or NaN."""
        answers = self.confusion.sum(axis=0)
        shares = self.confusion.diagonal() / np.where(answers > 0, answers, np.nan)
        return np.asarray(shares)

    @property
    def balanced_accuracy(self) -> float:
        """Mean recall of the classes that there are."""
        return float(np.nanmean(self.recalls))

    @property
    def log_loss(self) -> float:
        """Mean of minus the logarithm of the true class's probability."""
        return self._loss / self.weight

    @property
    def calibration_error(self) -> float:
        """Mean distance, over the bins, of the probability from the share right."""
        _, confidence, right = self.bins
        return float(np.abs(confidence - right).sum() / self.weight)

    @property
    def reliability(self) -> list[dict[str, float]]:
        """Return the bins that have rows: `low`, `high`, `weight` and two means."""
        return [
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

    def record(self) -> dict[str, Any]:
        """Return everything as numbers, lists and dictionaries, for JSON."""
        return {
            "n_rows": self.n_rows,
            "weight": self.weight,
            "classes": self.classes.tolist(),
            "accuracy": self.accuracy,
            "balanced_accuracy": self.balanced_accuracy,
            "log_loss": self.log_loss,
            "expected_calibration_error": self.calibration_error,
            "recall": _or_none(self.recalls),
            "precision": _or_none(self.precisions),
            "confusion": self.confusion.tolist(),
            "reliability": self.reliability,
        }


def _or_none(values: Array) -> list[float | None]:
    """Return numbers, with None for NaN, which JSON does not know."""
    return [None if np.isnan(value) else value for value in values.tolist()]


def wilson_interval(share: float, n: float, z: float = 1.96) -> tuple[float, float]:
    """Return the confidence interval of a share of n, by Wilson's score."""
    center = share + z * z / (2 * n)
    reach = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return float((center - reach) / scale), float((center + reach) / scale)


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
    lines = [f"{title:{width}}  {figure}" for title, figure in figures.items()]
    if bound is not None:
        k = scores.classes.tolist().index(bound.label)
        n_rows = float(scores.confusion[k].sum())
        if n_rows:
            wrong, limit = percent(1 - scores.recalls[k]), percent(bound.max_error)
            lines.append(
                f"{bound.label} wrong: {wrong} of {count(n_rows, 'row')} (bound: "
                f"{limit}, with {percent(bound.confidence)} confidence)"
            )
    priors = " (under the priors of the bound)" if bound else ""
    title = f"Calibration, by the probability of the predicted class{priors}:"
    calibration = [
        [
            f"{100 * row['low']:.0f} to {100 * row['high']:.0f} %",
            amount(row["weight"]),
            f"{100 * row['mean_probability']:.1f} %",
            f"{100 * row['share_right']:.1f} %",
        ]
        for row in scores.reliability
    ]
    blocks: list[Block] = [
        Paragraph([f"{name}: {count(scores.n_rows, 'row')}"]),
        Paragraph(lines),
        _confusion(scores),
        Table(["probability", "rows", "mean", "right"], calibration, title),
    ]
    return to_lines(blocks)


def _confusion(scores: Scores) -> Table:
    """Return the confusion matrix, or the most frequent confusions of many classes."""
    labels = [str(label) for label in scores.classes.tolist()]
    recalls = [
        "-" if np.isnan(recall) else f"{100 * recall:.1f} %"
        for recall in scores.recalls.tolist()
    ]
    counts = [[amount(value) for value in row] for row in scores.confusion.tolist()]
    if len(labels) <= _MOST_CLASSES:
        table = zip(labels, counts, recalls, strict=True)
        rows = [[label, *row, recall] for label, row, recall in table]
        return Table(
            ["", *labels, "right"], rows, "Rows of each class by predicted class:"
        )
    wrong = scores.confusion * (1 - np.eye(len(labels)))
    worst = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_CONFUSIONS]
    rows = [
        [labels[i], labels[j], counts[i][j], recalls[i]]
        for i, j in (divmod(int(place), len(labels)) for place in worst)
        if wrong[i, j] > 0
    ]
    title = f"The most frequent confusions of {len(labels)} classes (--json has all):"
    return Table(["class", "predicted", "rows", "class right"], rows, title)
