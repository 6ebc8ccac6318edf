"""Sentences that the report, the description and the card of a model share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from heterolda.estimators.fit_record import Judgement
from heterolda.estimators.warn import ROWS_PER_FEATURE
from heterolda.foundations.arrays import Array
from heterolda.foundations.wording import count, named, names_text, points
from heterolda.statistics.class_statistics import ClassStatistics

# Qualifies figures that are computed from the model.
IF_NORMAL = "if the classes were exactly normal (not measured on data)"
FEW_ROWS = (
    "With fewer rows than features any labels can be separated, so errors and pictures "
    "of the fitted model mean nothing."
)


def span(values: Array, form: Callable[[float], str] = "{:.3g}".format) -> str:
    """Return the smallest and the largest of several numbers in words."""
    ends = form(float(values.min())), form(float(values.max()))
    return " to ".join(dict.fromkeys(ends))


def accuracy_sentence(judgement: Judgement) -> str:
    """Return the accuracies of the model and LDA on held-out rows."""
    rows = count(judgement.n_rows, "row")
    return (
        f"Held-out accuracy ({judgement.method}, {rows}): "
        f"{100 * judgement.accuracy:.2f} %; LDA on the same rows: "
        f"{100 * judgement.lda_accuracy:.2f} %."
    )


def verdict_sentence(
    judgement: Judgement,
    stats: ClassStatistics | None,
    model: str = "this model",
    lda: str = "LDA",
) -> str:
    """Return which of the two to use, and whether a constant answer is as accurate."""
    by = points(abs(judgement.difference))
    error = f"with a standard error of {points(judgement.standard_error)}"
    neither = ""
    # If some rows were not held out, the class shares differ.
    if stats is not None and np.isclose(judgement.n_rows, stats.weights.sum()):
        k = int(stats.weights.argmax())
        label, share = stats.classes.tolist()[k], stats.weights[k] / judgement.n_rows
        if max(judgement.accuracy, judgement.lda_accuracy) <= share + 1e-9:
            always = f"always answering {label!r} ({100 * share:.2f} %)"
            neither = f"Neither is better than {always}."
    if judgement.better is not None:
        use, other = (model, "LDA") if judgement.better == "model" else (lda, model)
        text = f"Use {use}: it is better than {other} by {by}, {error}. {neither}"
        return text.rstrip()
    lead = f"the difference is {by}"
    if judgement.difference:
        lead = f"{model if judgement.difference > 0 else 'LDA'} is ahead by {by}"
    end = neither or f"Either will do; {lda} is simpler."
    return f"There is no clear difference: {lead}, {error}. {end}"


def chosen_note(pairs: Sequence[Sequence[object]]) -> list[str]:
    """Return a note on the pairs of labels whose rows chose another rule."""
    if not pairs:
        return []
    names = names_text([f"{first} or {second}" for first, second in pairs], 5)
    return [
        f"Left-out rows chose the rule for {names}: on them it does better than the "
        "best rule of the Gaussian model."
    ]


def few_rows_note(stats: ClassStatistics) -> list[str]:
    """Return a note if figures of the model are unreliable because of few rows."""
    weights, d = stats.weights, stats.n_features
    if weights.sum() < d:
        return [FEW_ROWS]
    small = stats.classes[weights < ROWS_PER_FEATURE * d]
    if not len(small):
        return []
    return [
        f"Classes {named(small)} have fewer than five rows per feature, so their "
        "covariances are uncertain and the model's errors too low: use more rows or "
        "fewer features."
    ]
