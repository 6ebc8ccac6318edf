"""Accuracy of a model and of LDA on held-out rows, in the same folds."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.fit_record import Judgement
from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.threads import Progress, no_warnings, silent
from heterolda.foundations.validation import has_missing_values
from heterolda.foundations.wording import count
from heterolda.solvers.fisher import PooledLDA
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.rows import Rows, coded_labels
from heterolda.statistics.samples import RowSample, fold_of, row_hashes
from heterolda.tradeoff.criteria import check_costs

FOLDS = 10
_TINY = float(np.finfo(float).tiny)


class NoAccuracyError(ValueError):
    """Report that there is no held-out accuracy, for instance if a fit fails."""


def held_out(
    model,
    X,
    y,
    sample_weight=None,
    n_folds: int = FOLDS,
    progress: Progress = silent,
) -> tuple[Judgement, Array]:
    """Refit a classifier and LDA without each fold, and compare them on its rows.

    With missing values, LDA uses the moments found by EM. Also return masks of the rows
    that the model and LDA predict correctly.
    """
    fit = partial(_refitted, model)
    n_distinct = len(np.unique(row_hashes(X)))
    if n_distinct < min(n_folds, len(y)):
        raise NoAccuracyError(
            "copies of a row are held out together, and these rows have only "
            f"{count(n_distinct, 'different value')}"
        )
    n_folds = min(n_folds, n_distinct)
    correct = correct_in_folds(fit, X, y, sample_weight, n_folds, progress)
    method = f"{n_folds}-fold cross-validation"
    if has_missing_values(X):
        method += " (EM for both)"
    truth = np.ones(len(y), bool)
    return Judgement.of(method, truth, *correct, sample_weight), correct


def correct_in_folds(
    fit, X, y, sample_weight, n_folds: int, progress: Progress = silent
) -> Array:
    """Return masks of the held-out rows that classifiers predict correctly.

    `fit` takes rows, labels and weights and returns the classifiers. A row whose class
    is absent without its fold counts as wrong.
    """
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    weight = np.asarray(weight, np.float64)
    folds = deal(X, np.unique(y, return_inverse=True)[1], weight, n_folds)
    correct = []
    for k in np.unique(folds).tolist():  # fewer than n_folds for very few rows
        held = folds == k
        train = np.flatnonzero(~held & (weight > 0))
        with _errors_naming_fold(k), no_warnings():
            fitted = fit(X[train], y[train], weight[train])
        if k == 0:
            correct = np.zeros((len(fitted), len(y)), bool)
        correct[:, held] = [model.predict(X[held]) == y[held] for model in fitted]
        progress(f"fold {k + 1} of {n_folds}", (k + 1) / n_folds)
    return correct


def held_out_parts(model, parts: list[ClassStatistics], sample: RowSample) -> Judgement:
    """Compare a model and LDA, given the statistics of each fold and a sample of rows.

    The statistics without a fold are the sum of those of the other folds, never a
    difference, which would lose digits. A row's hash determines its fold.
    """
    X, y, weight = sample.in_proportion()
    folds = fold_of(sample.hashes, len(parts))
    correct = np.zeros((2, len(y)), bool)
    for k in np.unique(folds[: len(y)]).tolist():
        held = np.flatnonzero(folds[: len(y)] == k)
        stats = sum(parts[:k] + parts[k + 1 :])
        train = replace(sample.take(folds != k), n_rows=0)  # weights are frequencies
        with _errors_naming_fold(k), no_warnings():
            stats = stats.without_empty_classes()
            refitted = _for_classes(model, np.isin(model.classes_, stats.classes))
            refitted._fit_sampled(stats, train)
            both = refitted, PooledLDA(stats, refitted.priors)
            correct[:, held] = [fit.predict(X[held]) == y[held] for fit in both]
    total = sum(stats.weights.sum() for stats in parts)
    method = f"{len(parts)}-fold cross-validation"
    weight = weight * (total / weight.sum())
    return Judgement.of(method, np.ones(len(y), bool), *correct, weight)


def deal(X, codes: Index, weight: Array, n_folds: int) -> Index:
    """Return the fold of each row, independent of the order and units of the data.

    The rows of a class are dealt in the order of their distance from its mean, or from
    that of all classes if they tie, in deviations of the features; copies of a row stay
    together. Classes follow each other by their largest distance, not by their labels.
    """
    distances, largest = np.empty(len(codes), np.float32), np.zeros(codes.max() + 1)
    for k in np.unique(codes):
        rows = np.flatnonzero(codes == k)
        distances[rows] = distances_from_mean(X[rows], weight[rows])
        largest[k] = distances[rows].max()
    hashes, from_all = row_hashes(X), distances_from_mean(X, weight)
    order = np.lexsort((hashes, from_all, distances, codes, largest[codes]))
    new = (np.diff(hashes[order]) != 0) | (np.diff(codes[order]) != 0)
    folds = np.empty(len(codes), np.intp)
    folds[order] = np.append(0, np.cumsum(new)) % n_folds
    return folds


def distances_from_mean(X, weight: Array) -> Array:
    """Return squared distances of rows from their mean, in deviations of the features.

    Missing values are ignored. In single precision, rounding does not break ties.
    """
    if issparse(X):
        squares, total = X.multiply(X).tocsr(), max(weight.sum(), _TINY)
        mean = X.T @ weight / total
        variance = squares.T @ weight / total - mean**2
        inverse = 1 / np.where(variance > 0, variance, np.inf)
        distances = squares @ inverse - 2 * (X @ (mean * inverse)) + mean**2 @ inverse
        return distances.astype(np.float32)
    present = weight[:, None] * ~np.isnan(X)
    total = np.maximum(present.sum(axis=0), _TINY)
    with np.errstate(over="ignore", invalid="ignore"):  # the fit rejects such features
        X = X - np.fmin.reduce(X, axis=0, dtype=np.float64)  # constant ones become zero
        mean = np.einsum("ij,ij->j", present, np.nan_to_num(X)) / total
        squares = np.nan_to_num(X - mean) ** 2
        variance = np.einsum("ij,ij->j", present, squares) / total
        distances = (squares / np.where(variance > 0, variance, np.inf)).sum(axis=1)
        return distances.astype(np.float32)


def _refitted(model, X, y, weight: Array):
    """Return the classifier and LDA, both refitted."""
    weight = None if (weight == 1).all() else weight
    classes = np.unique(y)
    refitted = _for_classes(model, np.isin(model.classes_, classes))
    refitted.fit(X, y, sample_weight=weight)
    inner = refitted
    while getattr(inner, "estimator", None) is not None:
        inner = inner.estimator
    priors = getattr(inner, "priors", None)
    if has_missing_values(X):
        settings = {"solver": "fisher", "shrinkage": 1, "missing": "em"}
        lda = GaussianLinearDiscriminant(**settings, priors=priors)
        fitted = getattr(refitted, "estimator_", refitted)
        return refitted, lda.fit_statistics(fitted.statistics_)
    stats = ClassStatistics.from_rows(Rows(X, coded_labels(y)[1], weight, classes))
    return refitted, PooledLDA(stats, priors)


def _for_classes(model, present):
    """Return an unfitted copy for the classes that are present."""
    copy = clone(model)
    if not present.all() and hasattr(model, "priors_"):
        if not (copy.priors is None or isinstance(copy.priors, str)):
            copy.priors = model.priors_[present]
        if copy.costs is not None:
            costs = check_costs(copy.costs, model.classes_)
            copy.costs = costs[np.ix_(present, present)]
    return copy


@contextmanager
def _errors_naming_fold(k: int) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        remedy = "fewer folds, or leave out the smallest classes"
        if getattr(error, "parameter", None) == "max_error":
            remedy = "more folds, which leave out fewer rows each"
        raise NoAccuracyError(
            f"cross-validation: without the rows of fold {k + 1}, {error}; use {remedy}"
        ) from error
