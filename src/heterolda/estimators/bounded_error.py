"""A bound on the error rate of one class that holds on new rows, without a model."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import column_or_1d, get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from heterolda.estimators.base import Estimator, host_of
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.error_bound import ErrorBound, rows_needed, smallest_rank
from heterolda.estimators.gathering import forget_fit
from heterolda.estimators.odds import gaussian_log_odds
from heterolda.estimators.pair_rules import unfrozen
from heterolda.estimators.warn import warn
from heterolda.exceptions import ParameterError, TrivialRuleWarning
from heterolda.foundations.arrays import Array, reject_device
from heterolda.foundations.draws import drawn_of
from heterolda.foundations.sklearn_private import (
    HasMethods,
    Interval,
    fit_context,
    safe_indexing,
)
from heterolda.foundations.validation import (
    check_labels,
    check_priors,
    check_several_classes,
    check_unmasked,
    label_array,
)
from heterolda.kernels.coupling import MAX_LOG_ODDS, MIN_LOG_ODDS
from heterolda.solvers import Global, resolve_solver
from heterolda.statistics.rows import check_frequencies, copies_of_rows
from heterolda.tradeoff.criteria import check_max_error, error_rates

# Scores that differ by less than this share of their size count as equal: the score of
# a row may differ slightly in another batch, in single precision or in C.
_SAME_SCORE = 1e-6
# Infinite scores are replaced by this.
_LARGEST_SCORE = 1e300


def _inner_has(method):
    """Return a check whether the inner classifier has a method."""
    return lambda self: hasattr(getattr(self, "estimator_", self._unwrapped()), method)


class BoundedErrorClassifier(ClassifierMixin, MetaEstimatorMixin, Estimator):
    r"""Keep the error rate of one of two classes below a bound on new rows.

    This is the Neyman-Pearson umbrella algorithm [1]_. It holds out some rows of the
    bounded class and fits a classifier to all other rows. The threshold is one of the n
    sorted scores of the held-out rows, the one with the smallest rank k such that

    .. math:: \sum_{j=k}^n \binom nj (1 - q)^j q^{n-j} \le 1 - \text{confidence},

    where q is the largest allowed error rate of the class. With this confidence (in 19
    of 20 fits, if it is 0.95) the error rate of the class on new rows is at most q.
    This holds for any distribution and any classifier, provided that rows are
    independent and new rows of the class come from the same distribution. Rows are
    drawn by number, whatever their values are, so the result depends on their order.

    Parameters
    ----------
    estimator : classifier, default=None
        Any binary classifier with `predict_proba` or `decision_function`. It is cloned
        and fitted. If None, `GaussianLinearDiscriminant()`. A fitted classifier wrapped
        in :class:`~sklearn.frozen.FrozenEstimator` is used as it is. Then all rows of
        the bounded class set the threshold, so it must not have been fitted to any of
        them; the other class needs no rows.
    max_error : dict or float
        ``{label: q}``, the largest allowed error rate of one class, between 0 and 1. A
        float bounds the positive class, ``classes_[1]``.
    confidence : float in (0, 1), default=0.95
        Probability, over the draw of the training rows, that the bound holds.
    set_aside : float in (0, 1), default=0.5
        Share of the rows of the bounded class to hold out.
    random_state : int, RandomState instance or None, default=0
        Seed for drawing the held-out rows by their numbers. Choosing among the results
        of several seeds voids the guarantee.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Class labels, sorted.
    estimator_ : classifier
        The fitted classifier, with its own threshold.
    threshold_ : float
        Scores of `estimator_` above it mean ``classes_[1]``. Scores are the log-odds of
        its `predict_proba`, or its `decision_function` if it has no probabilities or is
        a `GaussianLinearDiscriminant`.
    bound_ : ErrorBound
        The guarantee.
    n_features_in_ : int
        Number of features, if `estimator_` knows it.
    feature_names_in_ : ndarray of str of shape (n_features,)
        Names of the features, if `estimator_` knows them.

    See Also
    --------
    GaussianLinearDiscriminant : Its ``criterion="neyman-pearson"`` bounds the error
        rate under the fitted model, using all rows.
    sklearn.model_selection.TunedThresholdClassifierCV : Threshold chosen by a score.

    Notes
    -----
    A `GaussianLinearDiscriminant` with ``solver="global"``, and without `criterion` and
    `costs`, is fitted as the Neyman-Pearson rule for the expected error rate, which may
    also have another direction. In other classifiers only the threshold moves.

    A row at the threshold, up to rounding, is assigned to the bounded class, so the
    bound also holds for discrete features. The held-out rows must satisfy
    ``(1 - q) ** n <= 1 - confidence``: 59 rows for q = 0.05 and a confidence of 0.95,
    and by default twice as many in all. With few more rows the expected error rate is
    well below q; it approaches q as their number grows.

    The seed stands for a random order of the rows. If their order has to do with their
    values, as in a table sorted by a feature, or of distinct rows with their counts as
    weights, draw it: ``random_state=None``.

    Put preprocessing inside, ``BoundedErrorClassifier(make_pipeline(...), ...)``: steps
    before it would learn from the held-out rows.

    A row of weight 3 counts as three copies, some of which may be held out. Weights of
    the other class may be any numbers. If the mean of all is below one, they are first
    scaled to a mean of one.

    Rows with missing values, with ``missing="em"`` inside, count like all others: the
    bound is on the mean over new rows with missing values like those held out.

    `predict_proba` refers to the priors for which the threshold is optimal, so
    `predict` is its argmax; ``estimator_.predict_proba`` has the priors of the data.

    References
    ----------
    .. [1] X. Tong, Y. Feng and J. J. Li (2018), "Neyman-Pearson classification
       algorithms and NP receiver operating characteristics", Science Advances 4,
       eaao1659.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from heterolda import BoundedErrorClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)  # 0 is malignant
    >>> model = BoundedErrorClassifier(max_error={0: 0.05}).fit(X, y)
    >>> model.bound_.n_rows, model.bound_.rank
    (106, 105)
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        "estimator": [
            HasMethods(["fit", "predict_proba"]),
            HasMethods(["fit", "decision_function"]),
            None,
        ],
        "max_error": [dict, Interval(Real, 0, 1, closed="neither")],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "set_aside": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        max_error,
        confidence=0.95,
        set_aside=0.5,
        random_state=0,
    ):
        self.estimator = estimator
        self.max_error = max_error
        self.confidence = confidence
        self.set_aside = set_aside
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Fit the classifier and find the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Frequencies; whole numbers for the bounded class.

        Returns
        -------
        BoundedErrorClassifier
            The fitted estimator.
        """
        forget_fit(self)
        _check_rows(X)
        X, y = indexable(X, label_array(y))
        y = column_or_1d(y, warn=True)
        weight = check_frequencies(sample_weight, len(y))
        weights = np.ones(len(y)) if weight is None else weight
        frozen = isinstance(self.estimator, FrozenEstimator)
        classes = self._frozen_classes(y) if frozen else _two_classes(y, weights)
        bounded, q = self._check_bound(classes)
        label = classes.tolist()[bounded]
        is_bounded = y == classes[bounded]

        copies = copies_of_rows(
            np.flatnonzero(is_bounded),
            weight,
            f"the bound counts rows of class {label!r}, and a weight is how often a "
            "row was seen. Weights of the other class may be any number. If the mean "
            "of all is below one, they are scaled to a mean of one",
        )
        n = len(copies) if frozen else int(self.set_aside * len(copies))
        if n < rows_needed(q, self.confidence):
            self._reject_few_rows(label, q, len(copies), frozen)
        rank = smallest_rank(n, q, self.confidence)
        bound = ErrorBound(label, q, float(self.confidence), n, rank)
        if frozen:
            held_out, inner = copies, host_of(self.estimator)
        else:
            drawn = drawn_of(len(copies), n, self.random_state)
            held_out, remaining = copies[drawn], np.delete(copies, drawn)
            model = self._unfitted(bound, y, classes, weights)
            weights = np.where(is_bounded, 0.0, weights)
            np.add.at(weights, remaining, 1)
            inner = _fitted(model, X, y, weights, weighted=weight is not None)

        side = 1.0 if bounded == 0 else -1.0
        scores = np.sort(side * _scores(inner, safe_indexing(X, held_out)))
        # Scores above this one, and not equal to it, mean the other class.
        score = scores[rank - 1]
        size = max(abs(score), np.median(np.abs(scores)))
        score += max(_SAME_SCORE * size, np.spacing(abs(score)))
        self._keep(inner, float(side * score), bound)
        others = np.flatnonzero(~is_bounded & (weights > 0))
        if len(others) and np.all(self.predict(safe_indexing(X, others)) == label):
            warn(
                "the rule assigns all training rows of the other class to "
                f"{label!r}, which is bounded: it keeps the bound, but separates "
                f"nothing. Use more rows of {label!r}, a larger bound, or a classifier "
                "with more distinct scores",
                TrivialRuleWarning,
            )
        return self

    def _keep(self, inner, threshold: float, bound: ErrorBound) -> None:
        """Write the fitted attributes."""
        self.estimator_ = inner
        self.classes_ = inner.classes_
        self.threshold_ = threshold
        self.bound_ = bound
        classifier, self._moved = unfrozen(inner), None
        if isinstance(classifier, GaussianLinearDiscriminant):
            self._moved = _at_threshold(classifier, threshold)
            self._moved.bound_ = bound
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))

    def _check_bound(self, classes) -> tuple[int, float]:
        """Return the index of the bounded class, and its bound."""
        bound = self.max_error
        if not isinstance(bound, dict):
            bound = {classes.tolist()[1]: bound}
        if len(bound) != 1:
            raise ParameterError(
                "max_error",
                f"must bound one of the two classes, as {{label: bound}}, got {bound}",
            )
        return check_max_error(bound, classes)

    def _reject_few_rows(self, label, q, n_rows, frozen) -> None:
        """Raise an error that says how many rows of the class are needed."""
        needed = rows_needed(q, self.confidence)
        wanted = f"{needed:.12g} independent rows of class {label!r}"
        if not frozen:
            n = np.ceil(needed / self.set_aside)
            wanted = f"{n:.12g} rows of class {label!r}, {needed:.12g} of them held out"
        raise ParameterError(
            "max_error",
            f"of {q:g} with confidence={self.confidence!r} needs {wanted}, but "
            f"there are {n_rows}: use more rows, a larger bound or less confidence",
        )

    def _unwrapped(self):
        """Return the inner classifier, not fitted."""
        if self.estimator is None:
            return GaussianLinearDiscriminant()
        return self.estimator

    def _frozen_classes(self, y) -> np.ndarray:
        """Return the classes of a fitted classifier; y may lack one of them."""
        check_is_fitted(self.estimator)
        labels, fitted = check_labels(y), np.asarray(host_of(self.estimator).classes_)
        if len(fitted) != 2 or not np.isin(labels, fitted).all():
            raise ValueError(
                f"estimator was fitted to classes {fitted.tolist()}, but y has "
                f"{labels.tolist()}: the bound needs two classes, and rows of them"
            )
        return fitted

    def _unfitted(self, bound: ErrorBound, y, classes, weights):
        """Return the classifier to fit; a discriminant gets the priors of all rows."""
        model = clone(self._unwrapped())
        if isinstance(model, GaussianLinearDiscriminant):
            if model.priors is None:
                totals = np.array([weights[y == label].sum() for label in classes])
                priors = check_priors(None, classes, totals, model.class_weight)
                model.set_params(priors=priors, class_weight=None)
            is_bayes = model.criterion == "bayes" and model.costs is None
            if is_bayes and isinstance(resolve_solver(model.solver), Global):
                level = {bound.label: bound.expected_error}
                model.set_params(criterion="neyman-pearson", max_error=level)
        return model

    def decision_function(self, X):
        """Return the scores of the classifier minus the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive for ``classes_[1]``.
        """
        self._check_ready()
        _check_rows(X)
        if self._moved is not None:
            return self._moved.decision_function(X)
        return _scores(self.estimator_, X) - self.threshold_

    def predict(self, X):
        """Predict class labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        scores = self.decision_function(X)
        return self.classes_.take(scores > 0)

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X):
        """Return probabilities for the priors for which the threshold is optimal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities; the larger is that of the class that `predict` returns.
        """
        self._check_ready()
        _check_rows(X)
        if self._moved is not None:
            return self._moved.predict_proba(X)
        scores = self.decision_function(X)
        sizes = np.clip(np.abs(scores), MIN_LOG_ODDS, MAX_LOG_ODDS)
        log_odds = np.where(scores > 0, sizes, -sizes)
        return np.column_stack([expit(-log_odds), expit(log_odds)])

    @available_if(_inner_has("predict_proba"))
    def predict_log_proba(self, X):
        """Return the logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Log probabilities.
        """
        return np.log(self.predict_proba(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner_tags = get_tags(self._unwrapped()).input_tags
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = inner_tags.sparse
        tags.input_tags.allow_nan = inner_tags.allow_nan
        return tags


def _check_rows(X) -> None:
    """Reject rows on a device, and masked entries."""
    reject_device(X, "BoundedErrorClassifier")
    check_unmasked("X", X)


def _two_classes(y, weights) -> np.ndarray:
    """Return the labels; reject data without rows of exactly two classes."""
    labels = check_labels(y)
    check_several_classes(len(labels))
    if len(labels) > 2:
        raise ValueError(
            f"Only binary classification is supported. y has {len(labels)} "
            "classes: merge all but the bounded one"
        )
    if len(np.unique(y[weights > 0])) < 2:
        raise ParameterError(
            "sample_weight",
            "is zero for all rows of a class: give rows of both classes positive "
            "weights",
        )
    return labels


def _fitted(model, X, y, weights, *, weighted):
    """Fit a classifier to the rows of positive weight."""
    rows, params = np.flatnonzero(weights), {}
    if weighted:
        if not has_fit_parameter(model, "sample_weight"):
            raise ValueError(
                f"estimator {type(model).__name__} cannot be fitted with "
                "sample_weight: leave it out"
            )
        params["sample_weight"] = weights[rows]
    return model.fit(safe_indexing(X, rows), y[rows], **params)


def _scores(estimator, X) -> Array:
    """Return finite scores: decisions of a discriminant, or log-odds if available."""
    classifier = unfrozen(estimator)
    if isinstance(classifier, GaussianLinearDiscriminant):
        scores = _at_threshold(classifier, 0.0).decision_function(X)
    elif hasattr(estimator, "predict_proba"):
        p = np.asarray(estimator.predict_proba(X), dtype=np.float64)
        logs = np.log(np.maximum(p, np.finfo(np.float64).tiny))
        scores = logs[:, 1] - logs[:, 0]
    else:
        scores = estimator.decision_function(X)
    scores = np.asarray(scores, dtype=np.float64)
    if np.isnan(scores).any():
        name = type(classifier).__name__
        raise ValueError(f"estimator {name} has scores that are NaN")
    return np.clip(scores, -_LARGEST_SCORE, _LARGEST_SCORE)


def _at_threshold(model: GaussianLinearDiscriminant, threshold: float):
    """Return a copy of a discriminant that decides at another threshold."""
    rules = replace(model._committee.planes.minus(threshold), gap=np.full(1, np.nan))
    rates = error_rates(rules)
    rules = replace(rules, error=rates @ model.priors_)
    moved = copy(model)
    moved._decide_by(rules, rates, rules.error, partial(gaussian_log_odds, rules))
    moved._settings = {**model._settings, "costs": None}
    moved._moved_from = model, threshold  # for incomplete rows
    return moved


def linear_form(model: Any) -> Any:
    """Return the discriminant inside a bounded classifier, at its threshold.

    It has `bound_` and the model's record. Other models are returned unchanged. Raise
    TypeError for another classifier inside.
    """
    if not isinstance(model, BoundedErrorClassifier):
        return model
    model._check_ready()
    if type(model._moved) is not GaussianLinearDiscriminant:
        name = type(unfrozen(model.estimator_)).__name__
        raise TypeError(
            f"model is a BoundedErrorClassifier around {name}, but model files and "
            "other formats can only hold one around a GaussianLinearDiscriminant, not "
            "a subclass: save it with skops"
        )
    form = copy(model._moved)
    for name in ("feature_names_in_", "fit_record_", "evaluation_"):
        if hasattr(model, name):
            setattr(form, name, getattr(model, name))
    return form
