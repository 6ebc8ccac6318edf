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


def warn_of_similar_labels(labels: Iterable[Any]) -> None:
    """Name the labels, of those that are text, that may be meant to be the same."""
    alike: dict[object, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            alike.setdefault(_normalised(label), []).append(label)
    groups = [group for group in alike.values() if len(group) > 1]
    if groups:
        names = "; ".join(" and ".join(map(repr, group[:5])) for group in groups[:5])
        warnings.warn(
            f"these labels look alike, but are different classes: {names}. If they "
            "should be the same, write them alike",
            SimilarLabelsWarning,
            stacklevel=3,
        )


def _normalised(label: str) -> object:
    """A label without blanks around it, as a number if it is one."""
    try:
        return float(label)
    except ValueError:
        return label.strip()


def warn_of_missing_rows(n_dropped: int, n_rows: int) -> None:
    """Say how many rows were left out, if any were, beside the `n_rows` used."""
    if n_dropped:
        warnings.warn(
            f"{n_dropped} of {n_dropped + n_rows} rows have missing values and were "
            "left out",
            MissingRowsWarning,
            stacklevel=3,
        )


def warn_of_reading(*message: Any) -> None:
    """Say how a file was read, where its owner might not expect that."""
    warnings.warn(ReadingWarning(*message), stacklevel=3)
