"""Cross-validation beside LDA: from class statistics, or with all rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from heterolda.cli.evaluate_files import without_names
from heterolda.cli.fit_files import Rows
from heterolda.cli.messages import in_options, print_to_stderr
from heterolda.data.labels import ClassFinder
from heterolda.data.table import Table
from heterolda.estimators.bounded_error import linear_form
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.fit_record import Judgement
from heterolda.estimators.pooled_lda import PooledLDA
from heterolda.foundations.gaps import has_gaps
from heterolda.foundations.types import Array, Index, Mask
from heterolda.foundations.validation import encode
from heterolda.foundations.wording import named
from heterolda.inspection.model_facts import discriminant_of
from heterolda.inspection.sentences import observed_error
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.rows import Rows as ClassRows
from heterolda.statistics.samples import RowSample, as_frequencies

# Is called with the share of the work that is done.
ShareProgress = Callable[[float], None]


class Folds:
    """Deals the rows of each class out to folds in turn, so that all are stratified.

    >>> folds = Folds(3, n_classes=2)
    >>> folds.deal(np.array([0, 0, 1, 0, 1, 0])), folds.deal(np.array([0, 1]))
    (array([0, 1, 1, 2, 2, 0]), array([1, 0]))
    """

    def __init__(self, n_folds: int, n_classes: int) -> None:
        self.n_folds = n_folds
        # Classes begin at different folds, or the first would be the largest.
        self._next = np.arange(n_classes)

    def deal(self, truth: Index) -> Index:
        """Index of the fold of each of the next rows, whose class indices are given."""
        folds = np.empty(len(truth), np.intp)
        for k in np.unique(truth):
            rows = np.flatnonzero(truth == k)
            folds[rows] = (self._next[k] + np.arange(len(rows))) % self.n_folds
            self._next[k] += len(rows)
        return folds


def cross_validate_files(
    model: Any, data: Table, n_folds: int, n_rows: int, progress: ShareProgress
) -> Judgement:
    """Cross-validate a fitted discriminant in two passes over the files.

    The first gathers the statistics of each fold and a sample of its rows, the second
    predicts. Statistics of all rows but those of a fold are sums of the others', never
    differences, which would lose digits.
    """
    classes = model.classes_

    def rows_by_fold(done: float) -> Iterator[tuple[int, Array, Index, Array | None]]:
        """Features, class indices and weights of each batch and fold, in one pass."""
        finder, folds = ClassFinder(classes), Folds(n_folds, len(classes))
        for rows in data.batches(lambda n: progress(done + n / (2 * n_rows))):
            truth = finder.of(rows)
            dealt = folds.deal(truth)
            for k in range(n_folds):
                mine = dealt == k
                weight = None if rows.weight is None else rows.weight[mine]
                yield k, rows.X[mine], truth[mine], weight

    sums: list[ClassStatistics] = []
    samples: list[RowSample] = []
    for k, X, truth, weight in rows_by_fold(0.0):
        batch = ClassStatistics.from_rows(ClassRows(X, truth, weight, classes))
        sample = RowSample.from_arrays(X, classes[truth], weight)
        if k < len(sums):
            sums[k] += batch
            samples[k] += sample
        else:
            sums.append(batch)
            samples.append(sample)
    rivals = []
    without = zip(_sums_of_others(sums), _sums_of_others(samples), strict=True)
    for k, left in enumerate(without):
        others, some = as_frequencies(*left)  # here for LDA; the fit does it, too
        with _errors_name_fold(k):
            fitted = clone(model)._fit_sampled(others, some)
            _check_classes(fitted, classes)
        rivals.append((fitted, PooledLDA(others, model.priors)))
    counts = np.zeros(4)
    for k, X, truth, weight in rows_by_fold(0.5):
        fitted, lda = rivals[k]
        right, lda_right = _winners(fitted, X) == truth, lda.winners(X) == truth
        w = np.ones(len(X)) if weight is None else weight
        counts += w @ np.column_stack(
            [right, lda_right, right != lda_right, np.ones(len(X))]
        )
    counts *= model.statistics_.weights.sum() / counts[-1]  # weights as frequencies
    return Judgement.from_counts(_method(n_folds), *counts)


def _sums_of_others(parts: list[Any]) -> Iterator[Any]:
    """For each part the sum of all others: of those before it and those after."""
    before, after = list(accumulate(parts)), list(accumulate(parts[::-1]))[::-1]
    for k in range(len(parts)):
        others = before[k - 1] if k else after[1]
        yield others + after[k + 1] if 0 < k < len(parts) - 1 else others


def cross_validate_rows(
    model: Any, rows: Rows, n_folds: int, progress: ShareProgress
) -> Judgement:
    """Cross-validate any fitted classifier with the same folds, given all rows.

    LDA of rows with gaps has the same moments, and answers by the features there are.
    """
    X, y, weight = rows
    ours, lda = np.empty((2, len(y)), np.intp)
    gaps, method = has_gaps(X), _method(n_folds)
    if gaps:
        method += " (EM for both)"
    folds = _folds_of(rows, model.classes_, n_folds)
    for k, (held, (some, labels, others)) in enumerate(folds):
        with _errors_name_fold(k):
            fitted = clone(model).fit(some, labels, sample_weight=others)
            _check_classes(fitted, model.classes_)
        ours[held] = _winners(fitted, X[held])
        if gaps:
            lda[held] = _winners(_lda_by_em(discriminant_of(fitted)), X[held])
        progress((k + 1) / n_folds)
    if not gaps:
        lda = cross_validate_lda(model, rows, n_folds)
    truth = np.searchsorted(model.classes_, y)
    if hasattr(model, "bound_"):
        mine = y == model.bound_.label
        rows_of = np.ones(mine.sum()) if weight is None else weight[mine]
        wrong = rows_of @ (ours != truth)[mine] / rows_of.sum()
        said = observed_error(model.bound_, wrong, rows_of.sum())
        print_to_stderr(f"note: by {method}, {said}")
    return Judgement.of(method, truth, ours, lda, weight)


def _lda_by_em(model: Any) -> Any:
    """LDA from the moments of a fitted discriminant, which takes gaps as that does."""
    lda: Any = GaussianLinearDiscriminant(
        solver="fisher", shrinkage=1, missing="em", priors=model.priors
    )
    return lda.fit_statistics(model.statistics_)


def cross_validate_lda(model: Any, rows: Rows, n_folds: int) -> Index:
    """Class indices of rows by LDA without their fold, with the priors of a model."""
    classes, priors = model.classes_, getattr(discriminant_of(model), "priors", None)
    winners = np.empty(len(rows[1]), np.intp)
    for held, (X, y, weight) in _folds_of(rows, classes, n_folds):
        others = ClassStatistics.from_rows(
            ClassRows(X, encode(y, classes).astype(np.int64), weight, classes)
        )
        winners[held] = PooledLDA(others, priors).winners(rows[0][held])
    return winners


def _folds_of(
    rows: Rows, classes: NDArray[Any], n_folds: int
) -> Iterator[tuple[Mask, Rows]]:
    """For each fold which rows are in it, and the rows of all others."""
    X, y, weight = rows
    dealt = Folds(n_folds, len(classes)).deal(np.searchsorted(classes, y))
    for k in range(n_folds):
        left = dealt != k
        yield ~left, (X[left], y[left], None if weight is None else weight[left])


def _method(n_folds: int) -> str:
    return f"{n_folds}-fold cross-validation"


def _check_classes(fitted: Any, classes: NDArray[Any]) -> None:
    """Refuse a fit that lacks classes: places among them would be others'."""
    lost = np.setdiff1d(classes, fitted.classes_)
    if len(lost):
        raise ValueError(f"there are no rows of class {named(lost)}")


def _winners(model: Any, X: Array) -> Index:
    """Class indices of rows by a fitted model."""
    if not len(X):
        return np.empty(0, np.intp)
    winners: Index = without_names(linear_form(model))._blockwise(X, "winners")
    return winners


class NotJudgedError(ValueError):
    """Why there is no judgement, such as a fold without which there is no fit."""


@contextmanager
def _errors_name_fold(k: int) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        remedy = "fewer folds, or leave out the smallest classes"
        if getattr(error, "parameter", None) == "max_error":
            remedy = "more folds, which leave out fewer rows each"
        raise NotJudgedError(
            f"cross-validation: without the rows of fold {k + 1}, {in_options(error)}; "
            f"use {remedy}"
        ) from error
