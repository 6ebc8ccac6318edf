"""Cross-validated accuracy: from class statistics, or with all rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from heterolda.cli.evaluate_files import hits
from heterolda.data.labels import ClassFinder
from heterolda.data.table import Table
from heterolda.statistics.class_statistics import ClassStatistics

Array = NDArray[np.float64]
Index = NDArray[np.intp]
# Is told which share of the work is done.
Progress = Callable[[float], None]

__all__ = ["Folds", "cross_validate_files", "cross_validate_rows"]


class Folds:
    """Deals the rows of each class out to folds in turn, so that all are stratified.

    Parameters
    ----------
    n_folds, n_classes : int
        Numbers of folds and of classes.

    Examples
    --------
    >>> import numpy as np
    >>> from heterolda.cli.cross_validation import Folds
    >>> folds = Folds(3, n_classes=2)
    >>> folds.deal(np.array([0, 0, 1, 0, 1, 0])), folds.deal(np.array([0, 1]))
    (array([0, 1, 1, 2, 2, 0]), array([1, 0]))
    """

    def __init__(self, n_folds: int, n_classes: int) -> None:
        self.n_folds = n_folds
        # Classes begin at different folds, or the first would be the largest.
        self._next = np.arange(n_classes)

    def deal(self, truth: Index) -> Index:
        """Folds of the next rows.

        Parameters
        ----------
        truth : ndarray of shape (n_rows,)
            Index of the class of each row.

        Returns
        -------
        ndarray of shape (n_rows,)
            Index of the fold of each row.
        """
        folds = np.empty(len(truth), np.intp)
        for k in np.unique(truth):
            rows = np.flatnonzero(truth == k)
            folds[rows] = (self._next[k] + np.arange(len(rows))) % self.n_folds
            self._next[k] += len(rows)
        return folds


def cross_validate_files(
    model: Any,
    data: Table,
    n_folds: int,
    n_rows: int,
    progress: Progress,
) -> Array:
    """Cross-validate a discriminant in two passes over the files.

    The first gathers the statistics of each fold, the second predicts. Statistics of
    all rows but those of a fold are sums of the others', never differences, which
    would lose digits. Memory is that of `n_folds` class statistics.

    Parameters
    ----------
    model : GaussianLinearDiscriminant
        Fitted to all rows; its settings and classes are used.
    data : Table
        The rows.
    n_folds, n_rows : int
        Numbers of folds and of rows.
    progress : callable
        Called with the share that is done.

    Returns
    -------
    ndarray of shape (2, n_folds)
        Weight of the rows of each fold that are predicted right, and of all.
    """
    classes = model.classes_
    places, folds = ClassFinder(classes), Folds(n_folds, len(classes))
    sums: list[ClassStatistics] = []
    for rows in data.batches(lambda n: progress(n / (2 * n_rows))):
        truth = places.of(rows)
        dealt = folds.deal(truth)
        for k in range(n_folds):
            mine = dealt == k
            weight = None if rows.weight is None else rows.weight[mine]
            part = ClassStatistics.from_arrays(
                rows.X[mine], classes[truth[mine]], classes, weight
            )
            if k < len(sums):
                sums[k] += part
            else:
                sums.append(part)
    # Sums of all others without a difference: those before and those after a fold.
    before, after = list(accumulate(sums)), list(accumulate(sums[::-1]))[::-1]
    models = []
    for k in range(n_folds):
        others = before[k - 1] if k else after[1]
        if 0 < k < n_folds - 1:
            others = others + after[k + 1]
        with _errors_name_fold(k):
            models.append(clone(model).fit_statistics(others))
    folds = Folds(n_folds, len(classes))
    counts = np.zeros((2, n_folds))
    for rows in data.batches(lambda n: progress(0.5 + n / (2 * n_rows))):
        truth = places.of(rows)
        dealt = folds.deal(truth)
        for k, fitted in enumerate(models):
            mine = dealt == k
            weight = None if rows.weight is None else rows.weight[mine]
            counts[:, k] += hits(fitted, rows.X[mine], truth[mine], weight)
    return counts


def cross_validate_rows(
    model: Any,
    X: Array,
    y: NDArray[Any],
    weight: Array | None,
    n_folds: int,
    progress: Progress,
) -> Array:
    """Cross-validate any classifier with the same folds, given all rows.

    Parameters
    ----------
    model : fitted estimator
        Its settings and classes are used.
    X : ndarray of shape (n_rows, n_features)
        Features.
    y : ndarray of shape (n_rows,)
        Labels.
    weight : ndarray of shape (n_rows,) or None
        Sample weights.
    n_folds : int
        Number of folds.
    progress : callable
        Called with the share that is done.

    Returns
    -------
    ndarray of shape (2, n_folds)
        As of `cross_validate_files`.
    """
    classes = model.classes_
    truth = np.searchsorted(classes, y)
    dealt = Folds(n_folds, len(classes)).deal(truth)
    counts = np.zeros((2, n_folds))
    for k in range(n_folds):
        test = dealt == k
        weights = [None if weight is None else weight[rows] for rows in (~test, test)]
        with _errors_name_fold(k):
            fitted = clone(model).fit(X[~test], y[~test], weights[0])
        counts[:, k] = hits(fitted, X[test], truth[test], weights[1])
        progress((k + 1) / n_folds)
    return counts


@contextmanager
def _errors_name_fold(k: int) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(
            f"cross-validation: without the rows of fold {k + 1}, {error}; use fewer "
            "folds, or leave out the smallest classes"
        ) from error
