"""Fits and evaluations in plain text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.model_facts import (
    PairFacts,
    discriminant_of,
    feature_names,
    is_fisher,
    pair_facts,
)
from heterolda.scoring import Scores, wilson_interval
from heterolda.wording import aligned, count, percent

Array = NDArray[np.float64]

__all__ = ["accuracy_line", "describe_fit", "describe_scores", "folds_line"]

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
    discriminant = discriminant_of(model)
    weights = getattr(discriminant, "statistics_").weights  # noqa: B009
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
    lines = aligned([["class", "rows", "prior"], *shown])
    if len(rows) > len(shown):
        lines.append(f"and {len(rows) - len(shown)} more classes")
    return lines


def describe_pairs(model: Any) -> list[str]:
    """The errors of the pairs under the Gaussian model as a table, worst first.

    Parameters
    ----------
    model : fitted estimator
        The model.

    Returns
    -------
    list of str
        Lines.
    """
    pairs = pair_facts(model)
    discriminant = discriminant_of(model)
    if discriminant is None:
        return []
    costs = discriminant._settings["costs"] is not None
    other = "best" if is_fisher(model) else "LDA"
    compared = not np.isnan(pairs[0].rival)
    head = ["pair", "risk" if costs else "error", "of first", "of second", "gap"]
    rows = [
        [
            pair.name,
            _value(pair.value, costs),
            percent(pair.rates[0]),
            percent(pair.rates[1]),
            "none" if np.isnan(pair.gap) else percent(pair.gap),
            *([_value(pair.rival, costs)] if compared else []),
        ]
        for pair in pairs[:MOST_PAIRS]
    ]
    kind = "Expected costs" if costs else "Errors"
    lines = [
        f"{kind} under the Gaussian model, the worst pairs first; the gap to the least "
        "possible is proven:",
        *aligned([[*head, other] if compared else head, *rows]),
    ]
    if len(pairs) > MOST_PAIRS:
        lines.append(
            f"and {len(pairs) - MOST_PAIRS} more pairs, none with more than "
            f"{_value(pairs[MOST_PAIRS].value, costs)}"
        )
    return [*lines, *([_gain(pairs, costs, other)] if compared else [])]


def _value(value: float, costs: bool) -> str:
    return f"{value:.4g}" if costs else percent(value)


def _gain(pairs: list[PairFacts], costs: bool, other: str) -> str:
    """What linear discriminant analysis leaves on the table, in a sentence."""
    sign = -1 if other == "best" else 1
    pair = max(pairs, key=lambda pair: sign * (pair.rival - pair.value))
    left = sign * (pair.rival - pair.value)
    least = _NEGLIGIBLE * (max(pair.value, pair.rival) if costs else 1.0)
    would = "leaves" if other == "best" else "would leave"
    if left < least:
        most = _value(max(left, 0.0), costs)
        return f"LDA {would} next to nothing on the table: at most {most} in any pair."
    share = percent(left / max(pair.value, pair.rival))
    what = "expected cost" if costs else "error"
    return (
        f"LDA {would} {_value(left, costs)}{'' if costs else ' of decisions'} on the "
        f"table between {' and '.join(pair.classes)}: {share} of its {what}."
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
        *aligned([["probability", "rows", "mean", "right"], *rows]),
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
            *aligned([["", *labels, "right"], *rows]),
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
        *aligned([["class", "predicted", "rows", "class right"], *rows]),
    ]
