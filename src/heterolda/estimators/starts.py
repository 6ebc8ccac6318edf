"""Rules for pairs of classes, from any linear classifier."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.multiclass import OneVsOneClassifier
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.exceptions import ParameterError, Setting
from heterolda.foundations.validation import (
    check_class_weight,
    check_labels,
    check_priors,
)
from heterolda.search.algorithm2 import check_range_of_weights
from heterolda.statistics.class_statistics import ClassStatistics

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Start:
    """Where a search starts: one rule for each pair of classes.

    Attributes
    ----------
    estimator : estimator
        The fitted classifier that the rules come from.
    coef : ndarray of shape (n_pairs, n_features)
        Normals; a positive score means the second class of the pair.
    intercept : ndarray of shape (n_pairs,)
        Offsets.
    error : ndarray of shape (n_pairs,) or None
        Errors p_e under the Gaussian model, where the classifier knows them.
    """

    estimator: Any
    coef: Array
    intercept: Array
    error: Array | None


@dataclass(frozen=True)
class TrainingData:
    """What a classifier is fitted on.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    y : ndarray of shape (n_samples,)
        Their labels.
    classes : ndarray of shape (n_classes,)
        Distinct labels, sorted.
    codes : ndarray of shape (n_samples,)
        Place of each label among the classes.
    weight : ndarray of shape (n_samples,) or None
        Frequencies of the rows.
    class_weight : ndarray of shape (n_classes,) or None
        What an error in each class costs, besides.
    names : ndarray of shape (n_features,) or None
        Names of the features.
    """

    X: NDArray[Any]
    y: NDArray[Any]
    classes: NDArray[Any]
    codes: Index
    weight: Array | None
    class_weight: Array | None
    names: NDArray[Any] | None = None

    def take(self, rows: NDArray[Any]) -> TrainingData:
        """Some of the rows, given as a mask or as indices."""
        weight = None if self.weight is None else self.weight[rows]
        X, y, codes = self.X[rows], self.y[rows], self.codes[rows]
        return replace(self, X=X, y=y, codes=codes, weight=weight)

    def pair(self, i: int, j: int) -> TrainingData:
        """The rows of two classes, which become the only ones, with labels 0 and 1."""
        if len(self.classes) == 2:
            return self
        two = [i, j]
        rows = np.flatnonzero((self.codes == i) | (self.codes == j))
        costs = None if self.class_weight is None else self.class_weight[two]
        part = self.take(rows)
        codes = (part.codes == j).astype(np.intp)
        return replace(
            part, y=codes, classes=np.arange(2), codes=codes, class_weight=costs
        )

    def error_weights(self) -> Array | None:
        """Weights of the errors: frequencies times class weights."""
        if self.class_weight is None:
            return self.weight
        costs: Array = self.class_weight[self.codes]
        return costs if self.weight is None else costs * self.weight

    def totals(self) -> Array:
        """Total weight of each class, without the class weights."""
        return np.bincount(self.codes, self.weight, minlength=len(self.classes))


def training_data(
    X: NDArray[Any],
    y: NDArray[Any],
    weight: Array | None,
    class_weight: Any,
    names: NDArray[Any] | None,
) -> TrainingData:
    """Data with labels, weights and class weights, without rows of weight zero.

    Parameters
    ----------
    X, y, weight, names
        As in the record.
    class_weight : dict, "balanced" or None
        What an error in each class costs.

    Returns
    -------
    TrainingData
        The record.
    """
    classes = check_labels(y)
    if len(classes) < 2:
        raise ValueError(
            f"a classifier needs at least 2 classes, got {len(classes)} class: "
            "pass data of two classes or more"
        )
    codes = np.searchsorted(classes, y)
    data = TrainingData(X, y, classes, codes, weight, None, names)
    totals = data.totals()
    if np.any(totals <= 0):
        raise ParameterError(
            Setting("sample_weight"),
            f" is zero for all rows of classes {classes[totals <= 0].tolist()}: leave "
            "these rows out",
        )
    if weight is not None and np.any(weight == 0):
        data = data.take(weight > 0)
    costs = check_class_weight(class_weight, classes, totals)
    data = replace(data, class_weight=costs)
    weights = data.error_weights()
    if weights is not None:
        check_range_of_weights(weights, float(weights.sum()))
    return data


def hold_out(
    data: TrainingData, fraction: float, random_state: Any
) -> tuple[TrainingData, TrainingData]:
    """Split data into rows for the fit and rows to choose by.

    Parameters
    ----------
    data : TrainingData
        The data.
    fraction : float
        Share of the rows of each class to hold out; at least one of each.
    random_state : RandomState
        For the choice of the rows.

    Returns
    -------
    rest, held : TrainingData
        The two parts.
    """
    held = np.zeros(len(data.codes), dtype=bool)
    for k, label in enumerate(data.classes.tolist()):
        rows = random_state.permutation(np.flatnonzero(data.codes == k))
        if len(rows) < 2:
            raise ValueError(
                f"early_stopping needs two rows of each class or more, one of them "
                f"to hold out, but class {label!r} has {len(rows)}"
            )
        share = round(fraction * len(rows))
        held[rows[: min(max(share, 1), len(rows) - 1)]] = True
    return data.take(~held), data.take(held)


def fit_start(estimator: Any, data: TrainingData, n_jobs: int | None) -> Start:
    """Fit a linear classifier and take its rules.

    Parameters
    ----------
    estimator : estimator
        A linear classifier, which is cloned. A `FrozenEstimator` is taken as it is.
        A discriminant of ours is fitted to all classes one-vs-one; any other
        classifier is fitted to each pair of classes.
    data : TrainingData
        The data. Class weights multiply the priors of a classifier that has priors,
        and the sample weights of any other.
    n_jobs : int or None
        Number of jobs that fit the pairs.

    Returns
    -------
    Start
        The rules.
    """
    if not is_classifier(estimator):
        raise TypeError(
            f"estimator must be a linear classifier, got {type(estimator).__name__}"
        )
    if isinstance(estimator, FrozenEstimator):
        shape = data.classes, data.X.shape[1], data.names
        return _frozen_start(estimator, *shape)
    k = len(data.classes)
    if isinstance(estimator, GaussianLinearDiscriminant):
        fitted = _fit(clone(estimator).set_params(multiclass="ovo"), data)
        _set_names(fitted, data)
        return Start(fitted, fitted.coef_, fitted.intercept_, fitted.bayes_error_)
    pairs = np.column_stack(np.triu_indices(k, 1))
    models = Parallel(n_jobs=n_jobs)(
        delayed(_fit)(_for_pair(estimator, data, pair), data.pair(*pair))
        for pair in pairs.tolist()
    )
    n_features = data.X.shape[1]
    rules = [_read_rules(m, n_features, 2) for m in models]
    coef = np.concatenate([coef for coef, _ in rules])
    intercept = np.concatenate([intercept for _, intercept in rules])
    joined = models[0] if k == 2 else _one_vs_one(estimator, models, data)
    _set_names(joined, data)
    return Start(joined, coef, intercept, None)


def fit_start_to_statistics(
    estimator: Any, statistics: ClassStatistics, class_weight: Array | None
) -> Start:
    """Fit a discriminant to class statistics and take its rules.

    Parameters
    ----------
    estimator : estimator
        A discriminant of ours, which is cloned; or any linear classifier that is
        fitted already, in a `FrozenEstimator`.
    statistics : ClassStatistics
        Those of the training data.
    class_weight : ndarray of shape (n_classes,) or None
        What an error in each class costs; multiplies the priors.

    Returns
    -------
    Start
        The rules.
    """
    if isinstance(estimator, FrozenEstimator):
        shape = statistics.classes, statistics.n_features, statistics.feature_names
        return _frozen_start(estimator, *shape)
    if not isinstance(estimator, GaussianLinearDiscriminant):
        name = type(estimator).__name__
        raise TypeError(
            f"estimator {name} cannot be fitted to rows that are not in memory: use a "
            f"GaussianLinearDiscriminant, or fit it yourself and pass "
            f"FrozenEstimator({name}(...))"
        )
    model = clone(estimator).set_params(multiclass="ovo")
    _set_priors(model, statistics.weights, class_weight)
    fitted = model.fit_statistics(statistics)
    return Start(fitted, fitted.coef_, fitted.intercept_, fitted.bayes_error_)


def _frozen_start(
    estimator: Any,
    classes: NDArray[Any],
    n_features: int,
    names: NDArray[Any] | None,
) -> Start:
    """Take the rules of a classifier that is fitted already, and leave it alone."""
    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise NotFittedError(
            "estimator is not fitted: fit it before the search. In cross-validation, "
            "where copies lose their fit, pass FrozenEstimator(estimator) instead of "
            "prefit=True"
        ) from error
    known = np.asarray(estimator.classes_)
    if not np.array_equal(known, classes):
        raise ValueError(
            f"estimator was fitted to classes {known.tolist()}, but y has "
            f"{classes.tolist()}: the search needs samples of the same classes"
        )
    coef, intercept = _read_rules(estimator, n_features, len(classes))
    own = getattr(estimator, "feature_names_in_", names)
    if names is not None and not np.array_equal(own, names):
        raise ValueError(
            f"estimator was fitted to features {list(own)}, but X has "
            f"{list(names)}: pass the same columns in the same order"
        )
    return Start(estimator, coef, intercept, getattr(estimator, "bayes_error_", None))


def _set_priors(model: Any, totals: Array, class_weight: Array | None) -> None:
    """Multiply the priors of a model by the class weights."""
    if class_weight is not None:
        priors = check_priors(model.priors, totals) * class_weight
        model.set_params(priors=priors / priors.sum())


def _for_pair(estimator: Any, data: TrainingData, pair: list[int]) -> Any:
    """A clone of the estimator, with the settings of two classes, now 0 and 1."""
    model = clone(estimator)
    if len(data.classes) == 2:
        return model
    priors = getattr(model, "priors", None)
    if priors is not None and not isinstance(priors, str):
        shares = check_priors(priors, data.totals())[pair]
        model.set_params(priors=shares / shares.sum())
    costs = getattr(model, "class_weight", None)
    if isinstance(costs, dict):
        labels = data.classes[pair].tolist()
        weights = {k: costs.get(label, 1.0) for k, label in enumerate(labels)}
        model.set_params(class_weight=weights)
    return model


def _set_names(model: Any, data: TrainingData) -> None:
    """Let the start know the names of the features, as if it had seen them."""
    if data.names is not None:
        model.feature_names_in_ = data.names


def _fit(model: Any, data: TrainingData) -> Any:
    """Fit to data, with the class weights as priors or else as sample weights."""
    weight = data.weight
    if data.class_weight is not None and "priors" in model.get_params(deep=False):
        _set_priors(model, data.totals(), data.class_weight)
    else:
        weight = data.error_weights()
    if weight is None:
        return model.fit(data.X, data.y)
    if not has_fit_parameter(model, "sample_weight"):
        name = type(model).__name__
        raise ValueError(
            f"estimator {name} cannot be fitted with sample_weight or class_weight: "
            f"leave them out, or fit it yourself and pass FrozenEstimator({name}(...))"
        )
    return model.fit(data.X, data.y, sample_weight=weight)


def _read_rules(estimator: Any, n_features: int, n_classes: int) -> tuple[Array, Array]:
    """Normals and offsets for all pairs, from `coef_` and `intercept_`."""
    name = type(_bare(estimator)).__name__
    if not hasattr(estimator, "coef_") or not hasattr(estimator, "intercept_"):
        raise TypeError(
            f"estimator {name} has no coef_ and intercept_ after fit: the search needs "
            "a linear classifier itself, not what is wrapped around one. Put other "
            "steps of a pipeline before the search: make_pipeline(StandardScaler(), "
            "LocalNeighborhoodSearch(classifier))"
        )
    coef = estimator.coef_.toarray() if issparse(estimator.coef_) else estimator.coef_
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    if coef.shape[1] != n_features:
        raise ValueError(
            f"estimator {name} was fitted to {coef.shape[1]} features, but X has "
            f"{n_features}: pass the features that it was fitted to"
        )
    offsets = np.asarray(estimator.intercept_, dtype=np.float64).ravel()
    intercept = np.broadcast_to(offsets, len(coef))
    if not np.isfinite(coef).all() or not np.isfinite(intercept).all():
        raise ValueError(f"estimator {name} has coefficients that are not finite")
    first, second = np.triu_indices(n_classes, 1)
    pairs = getattr(estimator, "pairs_", None)
    if n_classes == 2 and len(coef) == 1:
        return coef, intercept
    if pairs is not None and np.array_equal(pairs, np.column_stack([first, second])):
        return coef, intercept
    if pairs is None and _is_libsvm(estimator):
        return -coef, -intercept  # scores of its pairs are positive for the first class
    if pairs is None and len(coef) == n_classes:
        # The class of the largest score wins; so does the larger score of two.
        return coef[second] - coef[first], intercept[second] - intercept[first]
    raise ValueError(
        f"estimator {name} has {len(coef)} rules for {n_classes} classes, from which "
        "no rules for pairs of classes can be made: use one-vs-one, or pass it "
        "unfitted"
    )


def _bare(estimator: Any) -> Any:
    """What is in a `FrozenEstimator`."""
    frozen = isinstance(estimator, FrozenEstimator)
    return estimator.estimator if frozen else estimator


def _is_libsvm(estimator: Any) -> bool:
    """Whether this is a support vector machine of `sklearn.svm` on pairs."""
    from sklearn.svm import SVC, NuSVC

    return isinstance(_bare(estimator), SVC | NuSVC)


def _one_vs_one(estimator: Any, models: list[Any], data: TrainingData) -> Any:
    """The models of all pairs as one fitted classifier of scikit-learn."""
    joined = OneVsOneClassifier(estimator)
    joined.classes_ = data.classes
    joined.estimators_ = models
    joined.pairwise_indices_ = None
    joined.n_features_in_ = data.X.shape[1]
    return joined
