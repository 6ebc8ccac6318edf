"""Fits and evaluations in plain text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.wording import count, percent, text_table
from heterolda.inspection.model_facts import (
    PairFacts,
    discriminant_of,
    feature_names,
    has_costs,
    is_fisher,
    pair_facts,
)
from heterolda.inspection.scoring import Scores, wilson_interval

Array = NDArray[np.float64]

__all__ = [
    "accuracy_line",
    "describe_fit",
    "describe_scores",
    "folds_line",
    "pair_table",
]

MOST_PAIRS = 10
_MOST_CLASSES = 12
_NEGLIGIBLE = 1e-3


def describe_fit(model: Any, name: str, target: str) -> list[str]:
    """What was fitted: classes, errors of the pairs, and what LDA would leave.

    Parameters
    ----------
    model : fitted estimator
        The model.
    name : str
        Name of the data.
    target : str
        Column of the labels.

    Returns
    -------
    list of str
        Lines.
    """
    discriminant: Any = discriminant_of(model)
    weights = discriminant.statistics_.weights
    k, d = len(model.classes_), len(feature_names(model))
    lines = [
        f"{name}: {count(weights.sum(), 'row')}, {count(d, 'feature')}, "
        f"{count(k, 'class')} in {target!r}",
        "",
        *_class_table(model.classes_, weights, discriminant.priors_),
        "",
        *describe_pairs(model),
    ]
    refined = _refinement(model)
    return [*lines, *([refined] if refined else [])]


def _class_table(classes: NDArray[Any], weights: Array, priors: Array) -> list[str]:
    rows = [
        [str(label), f"{weight:,.10g}", percent(prior)]
        for label, weight, prior in zip(
            classes.tolist(), weights.tolist(), priors.tolist(), strict=True
        )
    ]
    shown = rows if len(rows) <= _MOST_CLASSES else rows[: _MOST_CLASSES - 2]
    lines = text_table([["class", "rows", "prior"], *shown])
    if len(rows) > len(shown):
        lines.append(f"and {len(rows) - len(shown)} more classes")
    return lines


def pair_table(model: Any, most: int) -> tuple[list[str], list[list[str]]]:
    """The errors of the pairs under the Gaussian model, the worst first.

    Parameters
    ----------
    model : fitted estimator
        The model, which is or starts from a discriminant.
    most : int
        Number of pairs.

    Returns
    -------
    head : list of str
        Names of the columns: also LDA, or the best linear rule if the model is LDA.
    rows : list of list of str
        A row for each pair.
    """
    pairs = pair_facts(model)
    costs = has_costs(model)
    head = ["pair", "risk" if costs else "error", "of first", "of second", "gap"]
    compared = not np.isnan(pairs[0].rival)
    if compared:
        head.append("best" if is_fisher(model) else "LDA")
    rows = [
        [
            pair.name,
            _value(pair.value, costs),
            *map(percent, pair.rates),
            "none" if np.isnan(pair.gap) else percent(pair.gap),
            *([_value(pair.rival, costs)] if compared else []),
        ]
        for pair in pairs[:most]
    ]
    return head, rows


def describe_pairs(model: Any) -> list[str]:
    """The errors of the pairs in a table, and what LDA leaves in a sentence.

    Parameters
    ----------
    model : fitted estimator
        The model, which is or starts from a discriminant.

    Returns
    -------
    list of str
        Lines.
    """
    pairs, costs = pair_facts(model), has_costs(model)
    kind = "Expected costs" if costs else "Errors"
    head, rows = pair_table(model, MOST_PAIRS)
    lines = [
        f"{kind} under the Gaussian model, worst pairs first; gap: how far from the "
        "optimum at most",
        *text_table([head, *rows]),
    ]
    if len(pairs) > MOST_PAIRS:
        lines.append(
            f"and {len(pairs) - MOST_PAIRS} more pairs, none with more than "
            f"{_value(pairs[MOST_PAIRS].value, costs)}"
        )
    if not np.isnan(pairs[0].rival):
        lines.append(_gain(pairs, costs, is_fisher(model)))
    return lines


def _value(value: float, costs: bool) -> str:
    return f"{value:.4g}" if costs else percent(value)


def _gain(pairs: list[PairFacts], costs: bool, fisher: bool) -> str:
    """What linear discriminant analysis leaves on the table, in a sentence."""

    def left(pair: PairFacts) -> float:
        excess = pair.rival - pair.value
        return -excess if fisher else excess

    pair = max(pairs, key=left)
    lda = max(pair.value, pair.rival)
    would = "leaves" if fisher else "would leave"
    if left(pair) < _NEGLIGIBLE * (lda if costs else 1.0):
        most = _value(max(left(pair), 0.0), costs)
        return f"LDA {would} next to nothing on the table: at most {most} in any pair."
    what, of = ("expected cost", "") if costs else ("error", " of decisions")
    return (
        f"LDA {would} {_value(left(pair), costs)}{of} on the table between "
        f"{' and '.join(pair.classes)}: {percent(left(pair) / lda)} of its {what}."
    )


def _refinement(model: Any) -> str:
    """What the local search has gained on the training rows."""
    if not hasattr(model, "n_errors_start_"):
        return ""
    before, after = model.n_errors_start_.sum(), model.n_errors_.sum()
    chosen = getattr(model, "selection_", None)
    settings = ""
    if chosen is not None:
        settings = f" (loss {chosen['loss']}, anchor {chosen['anchor']:g})"
    return (
        f"Refined by the strategy {model.strategy}{settings}: {before:,.10g} training "
        f"errors of all pairs became {after:,.10g}."
    )


def accuracy_line(right: float, total: float) -> str:
    """Accuracy on the training rows in a sentence.

    Parameters
    ----------
    right, total : float
        Weights of the rows that are predicted right, and of all.

    Returns
    -------
    str
        The sentence.
    """
    return (
        f"Training accuracy: {100 * right / total:.2f} % ({right:,.10g} of "
        f"{total:,.10g} rows, in a second pass over the data)."
    )


def folds_line(counts: Array) -> str:
    """Cross-validated accuracy in a sentence.

    Parameters
    ----------
    counts : ndarray of shape (2, n_folds)
        Weights of the rows of each fold that are predicted right, and of all.

    Returns
    -------
    str
        The sentence.
    """
    right, total = counts.sum(axis=1)
    used = counts[:, counts[1] > 0]
    shares = used[0] / used[1]
    return (
        f"Cross-validated accuracy: {100 * right / total:.2f} % ({right:,.10g} of "
        f"{total:,.10g} rows in {counts.shape[1]} folds, from "
        f"{100 * shares.min():.1f} to {100 * shares.max():.1f} %)."
    )


def describe_scores(scores: Scores, name: str) -> list[str]:
    """An evaluation as text.

    Parameters
    ----------
    scores : Scores
        The evaluation.
    name : str
        Name of the data.

    Returns
    -------
    list of str
        Lines.
    """
    low, high = wilson_interval(scores.accuracy, scores.weight)
    table = [
        ["accuracy", f"{100 * scores.accuracy:.2f} %"],
        ["balanced accuracy", f"{100 * scores.balanced_accuracy:.2f} %"],
        ["log loss", f"{scores.log_loss:.4f}"],
        ["expected calibration error", f"{100 * scores.calibration_error:.2f} %"],
    ]
    table[0][1] += f"  (95 % interval: {100 * low:.2f} to {100 * high:.2f} %)"
    width = max(len(row[0]) for row in table)
    rows = [
        [
            f"{100 * row['low']:.0f} to {100 * row['high']:.0f} %",
            f"{row['weight']:,.10g}",
            f"{100 * row['mean_probability']:.1f} %",
            f"{100 * row['share_right']:.1f} %",
        ]
        for row in scores.reliability
    ]
    return [
        f"{name}: {count(scores.n_rows, 'row')}",
        "",
        *(f"{what:{width}}  {figure}" for what, figure in table),
        "",
        *_confusion(scores),
        "",
        "Calibration, by the probability of the predicted class:",
        *text_table([["probability", "rows", "mean", "right"], *rows]),
    ]


def _confusion(scores: Scores) -> list[str]:
    """The confusion matrix, or the most frequent confusions of many classes."""
    labels = [str(label) for label in scores.classes.tolist()]
    recalls = [
        "-" if np.isnan(recall) else f"{100 * recall:.1f} %"
        for recall in scores.recalls.tolist()
    ]
    counts = [[f"{value:,.10g}" for value in row] for row in scores.confusion.tolist()]
    if len(labels) <= _MOST_CLASSES:
        rows = [
            [label, *row, recall]
            for label, row, recall in zip(labels, counts, recalls, strict=True)
        ]
        return [
            "Rows of each class by what was predicted:",
            *text_table([["", *labels, "right"], *rows]),
        ]
    wrong = scores.confusion * (1 - np.eye(len(labels)))
    worst = np.argsort(-wrong, axis=None, kind="stable")[:MOST_PAIRS]
    places = [divmod(int(place), len(labels)) for place in worst]
    rows = [
        [labels[i], labels[j], counts[i][j], recalls[i]]
        for i, j in places
        if wrong[i, j] > 0
    ]
    return [
        f"The most frequent confusions of {len(labels)} classes (--json has all):",
        *text_table([["class", "predicted", "rows", "class right"], *rows]),
    ]
