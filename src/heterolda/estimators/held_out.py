"""Accuracy of a model and of LDA on held-out rows, in the same folds."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from sklearn.base import clone

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.fit_record import Judgement
from heterolda.foundations.arrays import Array
from heterolda.foundations.draws import folds_of
from heterolda.foundations.threads import Progress, no_warnings, silent
from heterolda.foundations.validation import check_priors, has_missing_values
from heterolda.solvers.fisher import PooledLDA
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.rows import Rows, coded_labels
from heterolda.statistics.samples import RowSample
from heterolda.tradeoff.criteria import check_costs

FOLDS = 10


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
    that the model and LDA predict correctly. A row whose class is absent without its
    fold counts as wrong.
    """
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    weight = np.asarray(weight, np.float64)
    codes = np.unique(y, return_inverse=True)[1]
    n_folds = min(n_folds, len(y))
    folds = folds_of(np.where(weight > 0, codes, -1), n_folds)
    correct = np.zeros((2, len(y)), bool)
    for k in np.unique(folds[folds >= 0]).tolist():  # fewer for very few rows
        held = folds == k
        train = np.flatnonzero(~held & (weight > 0))
        with _errors_naming_fold(k), no_warnings():
            fitted = _refitted(model, X[train], y[train], weight[train])
        correct[:, held] = [fit.predict(X[held]) == y[held] for fit in fitted]
        progress(f"fold {k + 1} of {n_folds}", (k + 1) / n_folds)
    method = f"{n_folds}-fold cross-validation"
    if has_missing_values(X):
        method += " (EM for both)"
    return Judgement.of(method, np.ones(len(y), bool), *correct, weight), correct


def held_out_parts(model, parts: list[ClassStatistics], sample: RowSample) -> Judgement:
    """Compare a model and LDA, given the statistics of each fold and a sample of rows.

    The statistics without a fold are the sum of those of the other folds, never a
    difference, which would lose digits.
    """
    checked = sample.in_proportion()
    X, y, weight, folds = checked.X, checked.y, checked.weight, checked.folds
    correct = np.zeros((2, len(y)), bool)
    for k in np.unique(folds).tolist():
        held = np.flatnonzero(folds == k)
        stats = sum(parts[:k] + parts[k + 1 :])
        # n_rows=0: weights are frequencies
        train = replace(sample.take(sample.folds != k), n_rows=0)
        with _errors_naming_fold(k), no_warnings():
            stats = stats.without_empty_classes()
            refitted = _for_classes(model, np.isin(model.classes_, stats.classes))
            refitted._fit_sampled(stats, train)
            both = refitted, PooledLDA(stats, refitted.priors_)
            correct[:, held] = [fit.predict(X[held]) == y[held] for fit in both]
    total = sum(stats.weights.sum() for stats in parts)
    method = f"{len(parts)}-fold cross-validation"
    weight = weight * (total / weight.sum())
    return Judgement.of(method, np.ones(len(y), bool), *correct, weight)


def _refitted(model, X, y, weight: Array):
    """Return the classifier and LDA, both refitted."""
    weight = None if (weight == 1).all() else weight
    classes = np.unique(y)
    refitted = _for_classes(model, np.isin(model.classes_, classes))
    refitted.fit(X, y, sample_weight=weight)
    inner = refitted
    while getattr(inner, "estimator", None) is not None:
        inner = inner.estimator
    given = getattr(inner, "priors", None), getattr(inner, "class_weight", None)
    if has_missing_values(X):
        settings = {"solver": "fisher", "shrinkage": 1, "missing": "em"}
        shared = {"priors": given[0], "class_weight": given[1]}
        lda = GaussianLinearDiscriminant(**settings, **shared)
        fitted = getattr(refitted, "estimator_", refitted)
        if getattr(fitted, "transformation_", None) is not None:  # other statistics
            return refitted, lda.fit(X, y, sample_weight=weight)
        return refitted, lda.fit_statistics(fitted.statistics_)
    stats = ClassStatistics.from_rows(Rows(X, coded_labels(y)[1], weight, classes))
    priors = check_priors(given[0], classes, stats.weights, given[1])
    return refitted, PooledLDA(stats, priors)


def _for_classes(model, present):
    """Return an unfitted copy for the classes that are present."""
    copy = clone(model)
    if present.all():
        return copy
    values = getattr(copy, "priors", None), getattr(copy, "class_weight", None)
    if hasattr(model, "priors_") and not all(
        value is None or isinstance(value, str) for value in values
    ):
        copy.set_params(priors=model.priors_[present], class_weight=None)
    if getattr(copy, "costs", None) is not None:
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
