"""Sentences that the report, the description and the card of a model share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from heterolda.estimators.warn import ROWS_PER_FEATURE
from heterolda.foundations.arrays import Array
from heterolda.foundations.wording import named, names_text
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
