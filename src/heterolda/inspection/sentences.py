"""Share sentences among the report, the text and the card of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heterolda.estimators.error_bound import ErrorBound
from heterolda.estimators.fit_record import Judgement
from heterolda.estimators.pair_problem import ROWS_PER_FEATURE
from heterolda.foundations.arrays import Array
from heterolda.foundations.wording import count, named, percent, points

_MOST_NAMED = 5
# Marks a figure of the model, as opposed to one of rows.
IF_NORMAL = "if the classes were exactly normal (not counted on rows)"


def observed_error(bound: ErrorBound, wrong: float, n_rows: float) -> str:
    """Say which share of rows of the bounded class was wrong."""
    return (
        f"{bound.label} wrong: {percent(wrong)} of {count(n_rows, 'row')} (bound: "
        f"{percent(bound.max_error)}, with {percent(bound.confidence)} confidence)"
    )


def accuracy_sentence(judgement: Judgement) -> str:
    """Say how accurate the model and LDA are on held-out rows."""
    rows = count(judgement.n_rows, "row")
    return (
        f"Held-out accuracy ({judgement.method}, {rows}): "
        f"{100 * judgement.accuracy:.2f} %; LDA on the same rows: "
        f"{100 * judgement.lda_accuracy:.2f} %."
    )


def most_frequent(
    judgement: Judgement, labels: Sequence[Any], weights: Array
) -> tuple[Any, float] | None:
    """Return the most frequent class and its share of the held-out rows.

    None if these are not the rows that the weights of the classes count.
    """
    total = float(weights.sum())
    if not np.isclose(judgement.n_rows, total):
        return None
    k = int(weights.argmax())
    return labels[k], float(weights[k]) / total


def verdict_sentence(
    judgement: Judgement,
    model: str = "this model",
    lda: str = "LDA",
    constant: tuple[Any, float] | None = None,
) -> str:
    """Say which of the two to use; `constant` is a label and its share of the rows."""
    by = points(abs(judgement.difference))
    error = f"with a standard error of {points(judgement.standard_error)}"
    label, share = constant or (None, -1.0)
    useless = max(judgement.accuracy, judgement.lda_accuracy) <= share + 1e-9
    neither = (
        f"Neither is better than always answering {label!r} ({100 * share:.2f} %)."
    )
    if judgement.better is not None:
        use, other = (model, "LDA") if judgement.better == "model" else (lda, model)
        but = f" {neither}" if useless else ""
        return f"Use {use}: it is better than {other} by {by}, {error}.{but}"
    apart = f"the difference is {by}"
    if judgement.difference:
        apart = f"{model if judgement.difference > 0 else 'LDA'} is ahead by {by}"
    end = neither if useless else f"Either will do; {lda} is the simpler."
    return f"These rows do not separate the two: {apart}, {error}. {end}"


def guarded_sentence(pairs: Sequence[str]) -> list[str]:
    """Say which pairs use LDA's rule because of the guard, if any do."""
    if not pairs:
        return []
    more = f"; {len(pairs) - _MOST_NAMED} more" if len(pairs) > _MOST_NAMED else ""
    return [
        f"The guard uses LDA's rule between {'; '.join(pairs[:_MOST_NAMED])}{more}: on "
        "the rows it makes fewer errors than the best rule of the Gaussian model."
    ]


def few_rows_note(labels: Sequence[Any], weights: Array, n_features: int) -> list[str]:
    """Say what figures of the model are worth with few rows, if there are few."""
    n = weights.sum()
    if n < n_features:
        return [
            f"Note: with fewer rows ({n:,.0f}) than features ({n_features:,}) any "
            "labels can be separated, so errors and pictures of the fitted model mean "
            "nothing."
        ]
    small = np.flatnonzero(weights < ROWS_PER_FEATURE * n_features).tolist()
    if not small:
        return []
    return [
        f"Note: classes {named([labels[k] for k in small])} have fewer than five rows "
        "per feature, so their covariances are uncertain and errors of the model too "
        "low: use more rows or fewer features."
    ]
