"""Class statistics of data that does not fit in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from heterolda.data.batches import LabelBook, Rows, read_rows
from heterolda.data.warn import warn_of_missing_rows, warn_of_similar_labels
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.moments import check_room

# Every other row may be of another class only if there are no more rows than this.
_FEW_ROWS = 1000


def statistics_from_batches(
    source: Any,
    target: str,
    *,
    columns: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
    sample_weight: str | None = None,
    missing: str = "error",
    batch_size: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> ClassStatistics:
    """Gather class statistics from files or Arrow streams, batch by batch.

    Memory does not grow with the number of rows: a few batches and one matrix for
    each class are all that is held. One thread decodes while the other adds up.

    Parameters
    ----------
    source : path, list of paths, or Arrow data
        Parquet files (``.parquet``, ``.pq``) and text with a header (``.csv``,
        ``.tsv``, also ``.gz``): a file, a folder, a pattern such as
        ``"data/*.parquet"``, or a list of them. Or a pyarrow dataset, table or reader;
        or anything that exports an Arrow stream, such as a DuckDB relation or a data
        frame of Polars (a lazy one, too) or pandas; or record batches or tables one
        after the other.
    target : str
        Column of the class labels: text, whole numbers or booleans. Labels from text
        files become integers if all of them are.
    columns : iterable of str or None, default=None
        Columns of the features, in this order. By default all columns of the first
        file but `target`, `sample_weight`, `exclude` and an index that pandas has
        written; then no file may have others.
    exclude : iterable of str, default=()
        Columns that are no features, such as identifiers.
    sample_weight : str or None, default=None
        Column of frequencies.
    missing : {"error", "drop"}, default="error"
        What to do with rows in which a feature, the label or the weight is missing:
        null or NaN. "drop" leaves them out and warns of their number.
    batch_size : int or None, default=None
        Rows decoded at a time, at most; by default about 16 MB. Text files come in
        batches of their own.
    progress : callable or None, default=None
        Called after each batch with the number of rows so far.

    Returns
    -------
    ClassStatistics
        With the names of the features. Pass it to
        :meth:`GaussianLinearDiscriminant.fit_statistics`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from heterolda.data.streaming import statistics_from_batches
    >>> table = pa.table(
    ...     {"width": [1.0, 2.0, 4.0, 7.0], "kind": ["a", "a", "b", "b"]}
    ... )
    >>> statistics_from_batches(table, "kind")
    ClassStatistics(n_classes=2, n_features=1, weights=[2. 2.])
    """
    if target is None:
        raise TypeError("target must be the name of a column, got None")
    total = _Total()
    for rows in read_rows(
        source,
        target,
        columns=columns,
        exclude=exclude,
        sample_weight=sample_weight,
        missing=missing,
        batch_size=batch_size,
    ):
        total.add(rows)
        if progress is not None:
            progress(total.n_rows + total.n_dropped)
    warn_of_missing_rows(total.n_dropped, total.n_rows)
    return total.statistics()


class _Total:
    """The sum of all batches so far, with classes in order of appearance."""

    def __init__(self) -> None:
        self.n_rows = self.n_dropped = 0
        self.book = LabelBook()
        self.names: tuple[str, ...] = ()
        self.sum: ClassStatistics | None = None

    def add(self, rows: Rows) -> None:
        """Add the rows of a batch."""
        self.n_rows += len(rows.X)
        self.n_dropped += rows.n_dropped
        self.names = rows.part.columns.features or ()
        numbers = self.book.numbers(rows)
        if not len(rows.X):
            return
        if 2 * len(self.book) > max(self.n_rows, _FEW_ROWS):
            raise ValueError(
                f"{rows.part.name}: column {rows.part.columns.target!r} has "
                f"{len(self.book)} different labels in the first {self.n_rows} rows: "
                "these are no classes; name another column as the target"
            )
        check_room(len(self.book), rows.X.shape[1])
        classes = np.arange(len(self.book))
        try:
            sums = ClassStatistics.from_arrays(rows.X, numbers, classes, rows.weight)
            self.sum = sums if self.sum is None else self.sum + sums
        except ValueError as error:
            message = re.sub(
                r"feature (\d+)",
                lambda m: f"column {self.names[int(m[1])]!r}",
                str(error),
            )
            raise ValueError(f"{rows.part.name}: {message}") from error

    def statistics(self) -> ClassStatistics:
        """The sum, with classes sorted and features named."""
        if self.sum is None:
            raise ValueError(
                "source has no rows"
                + (" without missing values" if self.n_dropped else "")
            )
        classes = self.book.classes
        warn_of_similar_labels(classes.tolist())
        order = np.argsort(classes)
        total = self.sum
        return ClassStatistics(
            classes[order],
            total.weights[order],
            total.means[order],
            total.scatters[order],
            np.array(self.names, dtype=object),
        )
