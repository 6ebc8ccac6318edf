"""Fit a classifier, LDA and the constant rule without some rows, and test them there.

This is the only place that fits again without some rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import column_or_1d
from sklearn.utils.validation import has_fit_parameter

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.sklearn_private import safe_indexing
from heterolda.foundations.threads import Progress, silent
from heterolda.foundations.validation import check_priors, has_missing_values
from heterolda.inspection.splits import Splits
from heterolda.solvers.fisher import PooledLDA
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.rows import Rows, copies_of_rows

_TINY = np.finfo(np.float64).eps
Fit = Callable[["Fold"], Any]


class RefitError(ValueError):
    """Report that a model cannot be fitted without some rows."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Labeled rows, and how they are held out."""

    X: Any  # rows as the classifier takes them
    codes: Index  # of the classes; -1 for rows of weight zero
    classes: NDArray[Any]
    weights: Array | None
    splits: Splits
    groups: Index | None = None
    numbers: Any = None  # the rows as numbers, dense or CSR; None if they are not
    # Of each fold of all rows, of which these are a sample; and the rows to test.
    parts: Mapping[int, ClassStatistics] | None = None
    tested: NDArray[np.bool_] | None = None

    @cached_property
    def folds(self) -> list[Fold]:
        """Return the fits."""
        numbers = self.splits.numbers
        folds = []
        for k, (fitted, tested) in zip(numbers, self.splits, strict=True):
            mask = self.codes[tested] >= 0
            mask = mask if self.tested is None else mask & self.tested[tested]
            fitted = fitted[self.codes[fitted] >= 0]
            folds.append(Fold(self, k, fitted, tested[mask]))
        return folds

    @cached_property
    def rows(self) -> Index:
        """Return the numbers of the tested rows, in increasing order, fold by fold."""
        return np.sort(self._tested)

    @property
    def _tested(self) -> Index:
        return np.concatenate([fold.tested for fold in self.folds])

    @property
    def order(self) -> Index:
        """Return the order that sorts the tests of all folds by row."""
        return np.argsort(self._tested, kind="stable")

    @property
    def share(self) -> float:
        """Return the mean share of rows that fits see, of those seen or tested.

        It is 1 - 1/k for k folds. Tests of fits that share rows count as so many.
        """
        sizes = [(len(fold.fitted), len(fold.tested)) for fold in self.folds]
        return float(np.mean([a / (a + b) for a, b in sizes]))

    @property
    def repeats(self) -> bool:
        """Return whether a row is tested more than once."""
        return bool((np.diff(self.rows) == 0).any())

    @cached_property
    def is_complete(self) -> bool:
        """Return whether the rows are numbers without missing values."""
        return self.numbers is not None and not has_missing_values(self.numbers)

    @cached_property
    def statistics(self) -> Mapping[int, ClassStatistics] | None:
        """Return the statistics of each fold, from which those without it add up."""
        if self.parts is not None:
            return self.parts
        folds = self.splits.folds
        if folds is None or not self.is_complete:
            return None
        if len(self.codes) < 2 * self.numbers.shape[1]:  # sums of wide data take long
            return None
        return {
            k: ClassStatistics.from_rows(self.rows_at((folds == k) & (self.codes >= 0)))
            for k in self.splits.all_folds
            if ((folds == k) & (self.codes >= 0)).any()
        }

    def rows_at(self, index: Any) -> Rows:
        """Return rows by a mask or their numbers."""
        weights = None if self.weights is None else self.weights[index]
        return Rows(self.numbers[index], self.codes[index], weights, self.classes)


@dataclass(frozen=True, eq=False)
class Fold:
    """A fit to some rows, to be tested on others."""

    held: HeldOut
    number: int
    fitted: Index
    tested: Index

    @property
    def rows(self) -> Rows:
        """Return the rows of the fit, as numbers."""
        return self.held.rows_at(self.fitted).without_empty_classes()

    @cached_property
    def statistics(self) -> ClassStatistics:
        """Return the statistics of the rows of the fit: a sum, never a difference."""
        parts = self.held.statistics
        if parts is None:
            return ClassStatistics.from_rows(self.rows)
        fitted = self.held.splits.fitted(self.number)
        if self.held.parts is not None:  # some folds may not be in the sample
            fitted = [k for k in parts if k != self.number]
        total: Any = sum(parts[k] for k in fitted if k in parts)
        statistics: ClassStatistics = total.without_empty_classes()
        return statistics

    @property
    def totals(self) -> Array:
        """Return the weight of each class in the rows of the fit."""
        held = self.held
        if held.parts is not None:
            places = np.searchsorted(held.classes, self.statistics.classes)
            totals = np.zeros(len(held.classes))
            totals[places] = self.statistics.weights
            return totals
        weights = None if held.weights is None else held.weights[self.fitted]
        codes = held.codes[self.fitted]
        return np.bincount(codes, weights, len(held.classes)).astype(np.float64)


@dataclass(frozen=True)
class Answers:
    """Answers of a classifier to tested rows; figures are NaN without probabilities."""

    codes: Index  # of the predicted classes
    log_loss: Array
    brier: Array
    confidence: Array  # probability of the predicted class
    seconds: float = np.nan  # mean time of a fit
    warnings: tuple[str, ...] = field(default=())

    @classmethod
    def of(
        cls, truth: Index, chances: Array | None, codes: Index | None = None
    ) -> Answers:
        """Return figures of probabilities of all classes, or of predictions alone."""
        rows = np.arange(len(truth))
        if chances is None:
            nothing = np.full(len(truth), np.nan)
            return cls(np.asarray(codes), nothing, nothing, nothing)
        codes = chances.argmax(axis=1) if codes is None else codes
        right = chances[rows, truth]
        loss = -np.log(np.clip(right, _TINY, 1.0))
        brier = (chances**2).sum(axis=1) - 2 * right + 1
        return cls(codes, loss, brier, chances[rows, codes])

    @classmethod
    def of_rows(
        cls, model: Any, X: Any, truth: Index, classes: NDArray[Any]
    ) -> Answers:
        """Return the answers of a fitted classifier, which may lack some classes."""
        if not len(truth):
            return cls.of(truth, np.zeros((0, len(classes))))
        labels = column_or_1d(model.predict(X))
        codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        if np.any(classes[codes] != labels):
            raise TypeError(
                "it predicts labels that are not classes: is it a classifier?"
            )
        if not hasattr(model, "predict_proba"):
            return cls.of(truth, None, codes)
        chances = np.asarray(model.predict_proba(X), np.float64)
        if chances.shape[1] != len(classes):
            places = np.searchsorted(classes, model.classes_)
            known, chances = chances, np.zeros((len(truth), len(classes)))
            chances[:, places] = known
        return cls.of(truth, chances, codes)


def answers_of(fit: Fit, held: HeldOut, progress: Progress = silent) -> Answers:
    """Fit without the rows of each test, and predict them; sorted by row."""
    parts, seconds = [], []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("always", RuntimeWarning)
        for k, fold in enumerate(held.folds):
            progress(f"fit {k + 1} of {len(held.folds)}", k / len(held.folds))
            begin = time.perf_counter()
            try:
                model = fit(fold)
            except ValueError as error:
                if getattr(error, "parameter", None) == "X":  # in all fits alike
                    raise
                remedy = "fewer folds, or leave out the smallest classes"
                if getattr(error, "parameter", None) == "max_error":
                    remedy = "more folds, which leave out fewer rows each"
                raise RefitError(
                    f"cross-validation: without the rows of fold {k + 1}, {error}; "
                    f"use {remedy}"
                ) from error
            seconds.append(time.perf_counter() - begin)
            X = safe_indexing(held.X, fold.tested)
            truth = held.codes[fold.tested]
            parts.append(Answers.of_rows(model, X, truth, held.classes))
        progress("done", 1.0)
    messages = {one.category: str(one.message) for one in caught[::-1]}
    order = held.order

    def joined(name: str) -> Array:
        whole: Array = np.concatenate([getattr(part, name) for part in parts])[order]
        return whole

    return Answers(
        joined("codes").astype(np.intp),
        joined("log_loss"),
        joined("brier"),
        joined("confidence"),
        float(np.mean(seconds)),
        tuple(messages.values())[::-1],
    )


def by_rows(model: Any, held: HeldOut) -> Fit:
    """Return the fit of a classifier: to statistics where these are enough, or rows."""
    by_sums = type(model) is GaussianLinearDiscriminant and model.shrinkage != "cv"
    if by_sums and model.covariance_estimator is None and held.statistics is not None:
        return lambda fold: _fit_statistics(model, fold)
    weights = held.weights
    takes_weights = weights is not None and has_fit_parameter(model, "sample_weight")
    copies = np.arange(len(held.codes))
    if weights is not None and not takes_weights:
        reason = f"{type(model).__name__} takes no weights, so rows are repeated"
        copies = copies_of_rows(copies, weights, reason)

    def fit(fold: Fold) -> Any:
        index = fold.fitted
        settings: dict[str, Any] = {}
        if takes_weights and weights is not None:
            settings["sample_weight"] = weights[index]
        elif weights is not None:
            index = copies[np.isin(copies, index)]
        labels = held.classes[held.codes[index]]
        return _for_classes(model, fold).fit(
            safe_indexing(held.X, index), labels, **settings
        )

    return fit


def _fit_statistics(model: Any, fold: Fold) -> Any:
    """Fit a discriminant to the statistics of a fold, and to its rows."""
    copy = _for_classes(model, fold)
    copy._validate_params()
    return copy._fit(fold.statistics, fold.rows)


def _for_classes(model: Any, fold: Fold) -> Any:
    """Return an unfitted copy whose parameters name the classes of the fit only."""
    copy, present = clone(model), fold.totals > 0
    if present.all():
        return copy
    labels = set(fold.held.classes[present].tolist())
    changed: dict[str, Any] = {}
    for name, value in copy.get_params().items():
        parameter = name.rpartition("__")[2]
        is_by_class = parameter in ("priors", "class_weight", "costs")
        if not is_by_class or value is None or isinstance(value, str):
            continue
        if isinstance(value, dict):
            changed[name] = _of_labels(value, labels)
        elif parameter == "costs":
            changed[name] = np.asarray(value)[np.ix_(present, present)]
        else:  # some classifiers want priors that sum to one
            shares = np.asarray(value, np.float64)[present]
            changed[name] = shares / shares.sum()
    return copy.set_params(**changed)


def _of_labels(values: dict[Any, Any], labels: set[Any]) -> dict[Any, Any]:
    return {
        label: _of_labels(value, labels) if isinstance(value, dict) else value
        for label, value in values.items()
        if label in labels
    }


@dataclass
class LDA:
    """Linear discriminant analysis from statistics, with priors or class weights."""

    priors: Any = None
    class_weight: Any = None

    def __call__(self, fold: Fold) -> Any:
        """Fit to a fold; with missing values, to the moments that EM finds."""
        kind = GaussianLinearDiscriminant(
            solver="fisher", shrinkage=1, missing="em", choose_on="model"
        ).set_params(priors=self.priors, class_weight=self.class_weight)
        model = _for_classes(kind, fold)
        if not fold.held.is_complete:
            rows = fold.rows
            return model.fit(rows.X, rows.labels, rows.weights)
        stats = fold.statistics
        given = model.priors, stats.classes, stats.weights, model.class_weight
        return PooledLDA(stats, check_priors(*given))


@dataclass(frozen=True)
class Constant:
    """The rule that always answers one class."""

    label: Any
    shares: Array  # of the classes in the rows of the fit

    @classmethod
    def of(
        cls, classes: NDArray[Any], shares: Array, costs: Array | None = None
    ) -> Constant:
        """Answer the likeliest class, or that of the least expected cost."""
        values = -shares if costs is None else shares @ costs
        return cls(classes[int(np.argmin(values))], shares)

    @classmethod
    def fit(cls, fold: Fold, costs: Array | None = None) -> Constant:
        """Find the class in the rows of a fit."""
        return cls.of(fold.held.classes, fold.totals / fold.totals.sum(), costs)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class for each row."""
        return np.full(X.shape[0] if hasattr(X, "shape") else len(X), self.label)

    def predict_proba(self, X: Any) -> Array:
        """Return the shares for each row."""
        return np.tile(self.shares, (len(self.predict(X)), 1))
