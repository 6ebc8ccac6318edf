"""Sentences that the report, the text and the card of a model share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from heterolda.data.categories import raw_columns
from heterolda.estimators.error_bound import ErrorBound
from heterolda.estimators.fit_record import FitRecord, Judgement
from heterolda.estimators.guard import ROWS_PER_FEATURE
from heterolda.foundations.arrays import Array
from heterolda.foundations.wording import count, named, names_text, percent, points

MOST_NAMED = 5
# Shares of all decisions below which a difference under the model is next to nothing.
NEGLIGIBLE = 1e-3

TRANSFORMED = (
    "Features are first transformed by powers (Yeo and Johnson's transformation, "
    "which preserves their order): coefficients, deviations, errors of the model and "
    "pictures are those of the transformed features."
)
# What a figure of the model is, as opposed to one of rows.
IF_NORMAL = "if the classes were exactly normal (not counted on rows)"
MISSED = "Missed: rows of a class that the rule takes for the other class."
GAP = "Gap: no linear rule is better by more than this share (proven)."


def record_sentence(record: FitRecord) -> str:
    """Return what a model was fitted to, and when."""
    rows = count(record.n_rows, "row")
    return (
        f"Fitted to {record.data} ({rows}, target {record.target!r}) on {record.date}."
    )


def reading_lines(
    record: FitRecord, features: Sequence[str], *, takes_missing: bool
) -> list[str]:
    """Return which columns a model with categories needs, and its NA strings."""
    lines = []
    if record.marks:
        marks = ", ".join(record.marks)
        rule = "" if takes_missing else ": the model cannot decide such rows"
        lines.append(f"These also count as missing values: {marks}{rule}.")
    if not record.categories:
        return lines
    columns = names_text(raw_columns(features, record.categories))
    lines.append(f"Needs the columns {columns}.")
    for one in record.categories:
        levels = [f"{one.reference} (the reference)", *one.levels]
        lines.append(
            f"Categories of {one.column}: {', '.join(levels)}; any other counts as "
            f"{'the reference' if one.other is None else one.features[-1]}."
        )
    return lines


def bound_sentence(bound: ErrorBound) -> str:
    """Return what is guaranteed of the error rate of a class, and by which rows."""
    return (
        f"A{str(bound)[1:]}: the threshold comes from "
        f"{count(bound.n_rows, 'row')} of {bound.label} that were set aside; "
        f"its expected error rate is {percent(bound.expected_error)}."
    )


def observed_error(bound: ErrorBound, wrong: float, n_rows: float) -> str:
    """Return how many of the bounded class were wrong, a share of so many rows."""
    return (
        f"{bound.label} wrong: {percent(wrong)} of {count(n_rows, 'row')} (bound: "
        f"{percent(bound.max_error)}, with {percent(bound.confidence)} confidence)"
    )


def accuracy_sentence(judgement: Judgement) -> str:
    """Return the accuracies of the model and of LDA on rows left out or held out."""
    rows = count(judgement.n_rows, "row")
    return (
        f"Held-out accuracy ({judgement.method}, {rows}): "
        f"{100 * judgement.accuracy:.2f} %; LDA on the same rows: "
        f"{100 * judgement.lda_accuracy:.2f} %."
    )


def most_frequent(
    judgement: Judgement, labels: Sequence[Any], weights: Array
) -> tuple[Any, float] | None:
    """Return the most frequent class and its share of the rows judged.

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
    """Return which of the two to use; `constant` is a label and its share."""
    by = points(abs(judgement.difference))
    error = f"with a standard error of {points(judgement.standard_error)}"
    neither, (label, share) = "", constant or (None, 0.0)
    if constant and max(judgement.accuracy, judgement.lda_accuracy) <= share + 1e-9:
        neither = f"better than always answering {label!r} ({100 * share:.2f} %)."
    if judgement.better is not None:
        use, other = (model, "LDA") if judgement.better == "model" else (lda, model)
        but = f" But neither is {neither}" if neither else ""
        return f"Use {use}: it is better than {other} by {by}, {error}.{but}"
    apart = f"the difference is {by}"
    if judgement.difference:
        apart = f"{model if judgement.difference > 0 else 'LDA'} is ahead by {by}"
    end = (
        f"Neither is {neither}" if neither else f"Either will do; {lda} is the simpler."
    )
    return f"These rows cannot tell the two apart: {apart}, {error}. {end}"


def guarded_sentence(pairs: Sequence[str]) -> str:
    """Say which pairs use LDA's rule because of the guard; empty if none do."""
    if not pairs:
        return ""
    more = f"; {len(pairs) - MOST_NAMED} more" if len(pairs) > MOST_NAMED else ""
    return (
        f"The guard uses LDA's rule between {'; '.join(pairs[:MOST_NAMED])}{more}: on "
        "the rows it makes fewer errors than the best rule of the Gaussian model."
    )


def gain_if_normal(best: float, lda: float, pair: str, rule: str) -> str:
    """Say what a rule gains over LDA under the model, where it gains most."""
    start = f"If the classes were exactly normal, {rule} would make"
    if lda - best < NEGLIGIBLE:
        fewer = points(max(lda - best, 0.0))
        return f"{start} at most {fewer} fewer errors than LDA's in any pair."
    return (
        f"{start} {points(lda - best)} fewer errors than LDA's between {pair} "
        f"({percent(best)} against {percent(lda)})."
    )


def wide_sentence(n_rows: float, n_features: int) -> str:
    """Say what errors under the model are worth with fewer rows than features.

    It has no full stop, since it may go on.
    """
    return (
        f"Note: with fewer rows ({n_rows:,.0f}) than features ({n_features:,}) any "
        "labels can be separated, so errors and pictures of the fitted model mean "
        "nothing"
    )


def wide_note(n_rows: float, n_features: int, *, judged: bool) -> str:
    """Say the same where they are left out.

    How to get others, unless the model is judged by rows left out of it.
    """
    how = (
        "; for the error on held-out rows, use heterolda fit --cv 10, or "
        "cross_val_score in Python"
    )
    note = wide_sentence(n_rows, n_features)
    return f"{note} and are left out{'' if judged else how}."


def few_rows_note(
    labels: Sequence[Any], weights: Array, n_features: int, remedy: str
) -> str:
    """Return a note about classes with few rows for the features, or nothing."""
    few = [
        label
        for label, weight in zip(labels, weights, strict=True)
        if weight < ROWS_PER_FEATURE * n_features
    ]
    if not few:
        return ""
    return (
        f"Note: classes {named(few)} have fewer than five rows per feature, so their "
        f"covariances are uncertain and errors of the model too low: {remedy}."
    )


def width_sentence(path: Sequence[Mapping[str, Any]], error: float) -> str:
    """Say which widths a smoothed discriminant took, and what they mean.

    `path` has the candidates with their weights in the mean, and `error` is that to be
    expected on new rows.
    """
    chosen = [row for row in path if row["weight"] > 0]
    widths = [f"{row['width']:g}" for row in chosen if row["width"] is not None]
    parts = [f"width {', '.join(widths)}"] if widths else []
    if len(chosen) > len(widths):
        parts.append(count(len(chosen) - len(widths), "ridge logistic rule"))
    rule = "The rule has" if len(chosen) == 1 else "The rule is the mean of"
    if len(chosen) == 1 and not widths:
        rule = "The rule is"
    text = (
        f"{rule} {' and '.join(parts)}; width 1 is the best line for normal classes, "
        "small widths are for few errors on the training rows."
    )
    if np.isfinite(error):
        text += f" Expected error on new rows, from rows held out: {percent(error)}."
    return text
