"""Warnings about the rows and labels of a table."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from heterolda.exceptions import (
    MissingRowsWarning,
    ReadingWarning,
    SimilarLabelsWarning,
)


def warn_of_similar_labels(
    labels: Iterable[Any], what: str = "these labels", are: str = "classes"
) -> None:
    """Name the labels, of those that are text, that may be meant to be the same."""
    alike: dict[object, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            alike.setdefault(look_of(label), []).append(label)
    groups = [group for group in alike.values() if len(group) > 1]
    if groups:
        names = "; ".join(" and ".join(map(repr, group[:5])) for group in groups[:5])
        warn_of_labels(
            f"{what} look alike, but are different {are}: {names}. If they should be "
            "the same, write them alike"
        )


def warn_of_labels(message: str) -> None:
    """Speak of labels that look alike."""
    warnings.warn(message, SimilarLabelsWarning, stacklevel=3)


def look_of(label: Any) -> object:
    """A label without letter case and needless blanks, as a number if it is one."""
    text = " ".join(str(label).split())
    try:
        return float(text)
    except ValueError:
        return text.casefold()


def warn_of_missing_rows(n_dropped: int, n_rows: int, missing: str) -> None:
    """Say how many rows were left out, if any were, beside the `n_rows` used."""
    if n_dropped:
        lack = "no label or no weight" if missing == "em" else "missing values"
        warnings.warn(
            f"{n_dropped} of {n_dropped + n_rows} rows have {lack} and were left out",
            MissingRowsWarning,
            stacklevel=3,
        )


def warn_of_reading(*message: Any) -> None:
    """Say how a file was read, where its owner might not expect that."""
    warnings.warn(ReadingWarning(*message), stacklevel=3)
