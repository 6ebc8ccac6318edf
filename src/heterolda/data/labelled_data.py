"""Rows of known class in files, read as often as a task needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.data.batches import LabelBook, Rows, read_rows
from heterolda.data.streaming import statistics_from_batches
from heterolda.data.warn import warn_of_missing_rows, warn_of_similar_labels
from heterolda.foundations.wording import named
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.moments import check_room

Array = NDArray[np.float64]
Progress = Callable[[int], None]

__all__ = ["LabelledData", "Places", "Progress", "nothing"]


def nothing(n_rows: int) -> None:
    """Progress that nobody wants to see."""


@dataclass(frozen=True)
class LabelledData:
    """Where rows of known class are, and what its columns mean.

    Attributes
    ----------
    source, target, columns, exclude, sample_weight, missing, batch_size
        As for :func:`heterolda.data.batches.read_rows`.
    """

    source: Any
    target: str | None
    columns: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    sample_weight: str | None = None
    missing: str = "error"
    batch_size: int | None = None

    def batches(self, progress: Progress = nothing) -> Iterator[Rows]:
        """Read the rows, batch by batch; batches without rows are left out.

        Parameters
        ----------
        progress : callable
            Called with the number of rows so far.

        Yields
        ------
        Rows
            A batch.
        """
        n_rows = 0
        for rows in read_rows(
            self.source,
            self.target,
            columns=self.columns,
            exclude=self.exclude,
            sample_weight=self.sample_weight,
            missing=self.missing,
            batch_size=self.batch_size,
        ):
            n_rows += len(rows.X) + rows.n_dropped
            progress(n_rows)
            if len(rows.X):
                yield rows

    def statistics(self, progress: Progress = nothing) -> ClassStatistics:
        """Gather the class statistics, in one pass.

        Parameters
        ----------
        progress : callable
            Called with the number of rows so far.

        Returns
        -------
        ClassStatistics
            The statistics.
        """
        if self.target is None:
            raise ValueError("target must name the column of the labels")
        return statistics_from_batches(
            self.source,
            self.target,
            columns=self.columns,
            exclude=self.exclude,
            sample_weight=self.sample_weight,
            missing=self.missing,
            batch_size=self.batch_size,
            progress=progress,
        )

    def in_memory(
        self, progress: Progress = nothing
    ) -> tuple[Array, NDArray[Any], Array | None, tuple[str, ...]]:
        """Read all rows at once.

        Parameters
        ----------
        progress : callable
            Called with the number of rows so far.

        Returns
        -------
        X : ndarray of shape (n_rows, n_features)
            Features.
        y : ndarray of shape (n_rows,)
            Labels.
        weight : ndarray of shape (n_rows,) or None
            Sample weights.
        names : tuple of str
            Names of the features.
        """
        book = LabelBook()
        X, y, n_dropped = [], [], 0
        weight: list[Array] = []
        names: tuple[str, ...] = ()
        for rows in self.batches(progress):
            X.append(rows.X)
            y.append(book.numbers(rows))
            check_room(len(book), rows.X.shape[1])
            weight += [] if rows.weight is None else [rows.weight]
            n_dropped += rows.n_dropped
            names = rows.part.columns.features or ()
        if not X:
            raise ValueError("source has no rows")
        warn_of_missing_rows(n_dropped, sum(map(len, X)))
        weights = np.concatenate(weight) if weight else None
        classes = book.classes
        warn_of_similar_labels(classes.tolist())
        labels = classes[np.concatenate(y)]
        return np.concatenate(X), labels, weights, names


class Places:
    """Finds labels as files have them among the classes of a model.

    Text files have text where the model may have numbers; ``true`` and ``True`` are
    the same.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Labels.
    """

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes = classes
        labels = classes.tolist()
        self._by_label = {label: k for k, label in enumerate(labels)}
        self._by_text = {_text(label): k for k, label in enumerate(labels)}

    def of(self, rows: Rows) -> NDArray[np.intp]:
        """Index of the class of each row.

        Parameters
        ----------
        rows : Rows
            A batch.

        Returns
        -------
        ndarray of shape (n_rows,)
            Indices.
        """
        places = np.array([self.find(label) for label in rows.labels], np.intp)
        truth: NDArray[np.intp] = places[rows.codes]
        if (truth < 0).any():
            codes = np.unique(rows.codes[truth < 0])[:5]
            unknown = [rows.labels[code] for code in codes]
            raise ValueError(
                f"{rows.part.name}: column {rows.part.columns.target!r} has labels "
                f"{unknown} that are none of the classes of the model, "
                f"{named(self.classes, 10)}: leave these rows out"
            )
        return truth

    def find(self, label: Any) -> int:
        """Index of the class of a label, or -1."""
        if label is None:
            return -1
        return self._by_label.get(label, self._by_text.get(_text(label), -1))


def _text(label: Any) -> str:
    """A label as a text file has it."""
    if isinstance(label, float) and label == int(label):
        label = int(label)
    text = str(label)
    return text.lower() if text in ("True", "False") else text
