"""Bounds on the error rates of classes that hold on new rows, without a model."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from copy import copy
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
from heterolda.estimators.bound_thresholds import (
    at_threshold,
    finite_scores,
    threshold_of,
)
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.error_bound import ErrorBound, rows_needed, smallest_rank
from heterolda.estimators.gathering import forget_fit
from heterolda.estimators.pair_rules import unfrozen
from heterolda.estimators.typical_rows import knower_of, typical_rows
from heterolda.estimators.warn import warn
from heterolda.exceptions import ParameterError, TrivialRuleWarning
from heterolda.foundations.arrays import reject_device
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
from heterolda.tradeoff.criteria import check_max_error


def _inner_has(method):
    """Return a check whether the inner classifier has a method."""
    return lambda self: hasattr(getattr(self, "estimator_", self._unwrapped()), method)


class BoundedErrorClassifier(ClassifierMixin, MetaEstimatorMixin, Estimator):
    r"""Keep the error rates of one or both of two classes below bounds on new rows.

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
        ``{label: q}``, the largest allowed error rate of one class, between 0 and 1, or
        of both; rows are then left undecided where no threshold keeps both. A float
        bounds the positive class, ``classes_[1]``.
    confidence : float in (0, 1), default=0.95
        Probability, over the draw of the training rows, that all bounds hold.
    set_aside : float in (0, 1), default=0.5
        Share of the rows of a bounded class to hold out.
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
    thresholds_ : ndarray of shape (2,)
        Scores above the second mean ``classes_[1]``, and those not above the first
        ``classes_[0]``; between them, rows are undecided. With one bound, and where one
        threshold keeps both bounds, both are `threshold_`.
    bounds_ : list of ErrorBound
        The guarantees.
    undecided_rate_ : float
        Share of undecided rows among those of the fit that were not set aside; NaN if
        there are none.
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

    With bounds for both classes, each holds with the confidence
    :math:`1 - (1 - \text{confidence}) / 2`, so that both do with `confidence`. If the
    two thresholds leave a gap, rows in it are undecided: `predict_set` returns both
    classes, and `predict` one of them. If they overlap, every threshold between them
    keeps both bounds, and that of the classifier is moved there.

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
    >>> model.bounds_[0].n_rows, model.bounds_[0].rank
    (106, 105)
    >>> both = BoundedErrorClassifier(max_error={0: 0.05, 1: 0.05}).fit(X, y)
    >>> both.predict_set(X[:3])
    array([[ True, False],
           [ True, False],
           [ True, False]])
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
        bounds, held_out = [], []
        for k, q in self._check_bounds(classes):
            rows, bound = self._set_aside(y == classes[k], weight, classes, k, q)
            weights = np.where(y == classes[k], 0.0, weights)
            if not frozen:
                drawn = drawn_of(len(rows), bound.n_rows, self.random_state)
                np.add.at(weights, np.delete(rows, drawn), 1)
                rows = rows[drawn]
            bounds.append(bound)
            held_out.append(rows)
        if frozen:
            inner = host_of(self.estimator)
        else:
            model = self._unfitted(bounds, y, classes, weight)
            inner = _fitted(model, X, y, weights, weighted=weight is not None)
        ends = [
            threshold_of(finite_scores(inner, safe_indexing(X, rows)), bound, classes)
            for bound, rows in zip(bounds, held_out, strict=True)
        ]
        if len(bounds) == 1:
            self._keep(inner, ends[0], ends[0], bounds)
            self._warn_if_trivial(X, y, weights, bounds[0])
        else:
            # Without a gap, every threshold between the two keeps both bounds.
            own = float(np.clip(0.0, min(ends), max(ends)))
            self._keep(inner, own, ends[::-1] if ends[0] > ends[1] else own, bounds)
        self.undecided_rate_ = self._undecided_rate(X, y, weight, weights)
        return self

    def _set_aside(self, is_bounded, weight, classes, k, q):
        """Return copies of the rows of a class, and its bound; reject too few."""
        label = classes.tolist()[k]
        copies = copies_of_rows(
            np.flatnonzero(is_bounded),
            weight,
            f"the bound counts rows of class {label!r}, and a weight is how often a "
            "row was seen. Weights of the other class may be any number. If the mean "
            "of all is below one, they are scaled to a mean of one",
        )
        frozen = isinstance(self.estimator, FrozenEstimator)
        n = len(copies) if frozen else int(self.set_aside * len(copies))
        confidence = self._confidence
        if n < rows_needed(q, confidence):
            self._reject_few_rows(label, q, len(copies), frozen)
        rank = smallest_rank(n, q, confidence)
        return copies, ErrorBound(label, q, float(self.confidence), n, rank)

    @property
    def _confidence(self) -> float:
        """Return the confidence of each bound, with which all of them hold."""
        n = len(self.max_error) if isinstance(self.max_error, dict) else 1
        return 1 - (1 - self.confidence) / n

    def _keep(self, inner, threshold: float, ends, bounds) -> None:
        """Write the fitted attributes."""
        self.estimator_ = inner
        self.classes_ = inner.classes_
        self.threshold_ = threshold
        self.thresholds_ = np.resize(np.asarray(ends, np.float64), 2)
        self.bounds_ = bounds
        classifier, self._moved = unfrozen(inner), None
        if isinstance(classifier, GaussianLinearDiscriminant):
            self._moved = at_threshold(classifier, threshold)
            self._moved.bounds_ = bounds
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))

    def _warn_if_trivial(self, X, y, weights, bound) -> None:
        """Warn if all rows of the class without a bound are assigned to the other."""
        others = np.flatnonzero((y != bound.label) & (weights > 0))
        if len(others) and np.all(
            self.predict(safe_indexing(X, others)) == bound.label
        ):
            warn(
                "the rule assigns all training rows of the other class to "
                f"{bound.label!r}, which is bounded: it keeps the bound, but separates "
                f"nothing. Use more rows of {bound.label!r}, a larger bound, or a "
                "classifier with more distinct scores",
                TrivialRuleWarning,
            )

    def _undecided_rate(self, X, y, weight, left) -> float:
        """Return the share of undecided rows, estimated on those not set aside."""
        if self.thresholds_[0] == self.thresholds_[1]:
            return 0.0
        used = np.flatnonzero(left)
        if not len(used):
            return np.nan
        undecided = self.predict_set(safe_indexing(X, used)).all(axis=1)
        rates = [
            np.average(undecided[mask], weights=left[used][mask])
            for mask in (y[used] == label for label in self.classes_)
        ]
        totals = [
            np.sum((y == label) * (1 if weight is None else weight))
            for label in self.classes_
        ]
        return float(np.average(rates, weights=totals))

    def _check_bounds(self, classes) -> list[tuple[int, float]]:
        """Return the indices of the bounded classes, and their bounds."""
        given = self.max_error
        if not isinstance(given, dict):
            given = {classes.tolist()[1]: given}
        if not 1 <= len(given) <= 2:
            raise ParameterError(
                "max_error",
                "must bound one of the two classes, or both, as {label: bound}, got "
                f"{given}",
            )
        return sorted(check_max_error({k: q}, classes) for k, q in given.items())

    def _reject_few_rows(self, label, q, n_rows, frozen) -> None:
        """Raise an error that says how many rows of the class are needed."""
        needed = rows_needed(q, self._confidence)
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

    def _unfitted(self, bounds, y, classes, weight):
        """Return the classifier to fit; a discriminant gets the priors of all rows."""
        weights = np.ones(len(y)) if weight is None else weight
        model = clone(self._unwrapped())
        if isinstance(model, GaussianLinearDiscriminant):
            if model.priors is None:
                totals = np.array([weights[y == label].sum() for label in classes])
                priors = check_priors(None, classes, totals, model.class_weight)
                model.set_params(priors=priors, class_weight=None)
            is_bayes = model.criterion == "bayes" and model.costs is None
            moves = isinstance(resolve_solver(model.solver), Global)
            if is_bayes and moves and len(bounds) == 1:
                level = {bounds[0].label: bounds[0].expected_error}
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
        return finite_scores(self.estimator_, X) - self.threshold_

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

    def predict_set(self, X):
        """Return which classes a row may have: both, if it is undecided.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of bool of shape (n_samples, 2)
            With bounds for both classes, at most these shares of their rows are without
            their class. The set of a single class is that of `predict`.
        """
        scores = self.decision_function(X)
        low, high = self.thresholds_ - self.threshold_
        return np.column_stack([scores <= high, scores > low])

    @available_if(lambda self: knower_of(self) is not None)
    def typicality(self, X):
        """Return how typical rows are of the class that they are most typical of.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            As :meth:`GaussianLinearDiscriminant.typicality`, by the classifier inside,
            or a step of its pipeline.
        """
        self._check_ready()
        return typical_rows(self, X)[0]

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


def linear_form(model: Any) -> Any:
    """Return the discriminant inside a bounded classifier, at its threshold.

    It has `bounds_` and the model's record. Other models are returned unchanged. Raise
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
    form.thresholds_ = model.thresholds_ - model.threshold_
    for name in ("feature_names_in_", "fit_record_", "evaluation_"):
        if hasattr(model, name):
            setattr(form, name, getattr(model, name))
    return form
