"""Warnings and errors about the files of a table."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from heterolda.exceptions import (
    MissingRowsWarning,
    ReadingWarning,
    SimilarLabelsWarning,
)


class AbsentColumnsError(ValueError):
    """A table lacks columns."""

    def __init__(self, message: str, absent: Iterable[str]) -> None:
        super().__init__(message)
        self.absent = tuple(absent)


class NotNumericError(ValueError):
    """Columns that must be numeric are not.

    The message is the problem and a remedy for callers of the library. `options` are
    those of the command line that help, with their values.
    """

    def __init__(
        self, problem: str, remedy: str = "", options: dict[str, Any] | None = None
    ) -> None:
        super().__init__(problem + remedy)
        self.problem, self.options = problem, options or {}


def warn_of_reading(message: str) -> None:
    """Warn that a file was read in a way that its owner might not expect."""
    warnings.warn(message, ReadingWarning, stacklevel=3)


def warn_of_similar_labels(
    labels: Iterable[Any], what: str = "these labels", are: str = "classes"
) -> None:
    """Warn of labels, of those that are text, that may be meant to be the same."""
    groups: dict[object, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            groups.setdefault(look_of(label), []).append(label)
    alike = [group for group in groups.values() if len(group) > 1]
    if alike:
        names = "; ".join(" and ".join(map(repr, group[:5])) for group in alike[:5])
        warn_of_labels(
            f"{what} look alike, but are different {are}: {names}. If they should be "
            "the same, write them alike"
        )


def warn_of_labels(message: str) -> None:
    """Warn of labels that look alike."""
    warnings.warn(message, SimilarLabelsWarning, stacklevel=3)


def look_of(label: Any) -> object:
    """Return a label without letter case and needless blanks, or as a number."""
    text = " ".join(str(label).split())
    try:
        return float(text)
    except ValueError:
        return text.casefold()


def warn_of_missing_rows(n_dropped: int, n_rows: int, missing: str) -> None:
    """Warn of rows that were left out, if any were, in addition to `n_rows` used."""
    if n_dropped:
        lack = "no label or no weight" if missing == "em" else "missing values"
        warnings.warn(
            f"{n_dropped} of {n_dropped + n_rows} rows have {lack} and were left out",
            MissingRowsWarning,
            stacklevel=3,
        )
