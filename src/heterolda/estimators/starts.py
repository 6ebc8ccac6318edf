"""Rules for pairs of classes, from any linear classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.multiclass import OneVsOneClassifier
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from heterolda.estimators.base import host_of
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.foundations.arrays import Array
from heterolda.foundations.validation import check_priors
from heterolda.search.training_data import TrainingData
from heterolda.solvers import all_pairs


@dataclass(frozen=True)
class Start:
    """Initial rules of a search, one for each pair of classes."""

    estimator: Any  # the fitted classifier that the rules come from
    coef: Array  # a positive score means the second class of the pair
    intercept: Array
    error: Array | None  # errors p_e under the Gaussian model, if known


def fit_start(estimator: Any, data: TrainingData, n_jobs: int | None) -> Start:
    """Clone a linear classifier, fit it and take its rules.

    A discriminant of ours is fitted to all classes one-vs-one; any other classifier is
    fitted to each pair of classes. A `FrozenEstimator` is taken as it is. Class weights
    multiply the priors of a classifier that has priors, and the sample weights of any
    other.
    """
    if not is_classifier(unfrozen(estimator)):
        raise TypeError(
            f"estimator must be a linear classifier, got {type(estimator).__name__}"
        )
    if isinstance(estimator, FrozenEstimator):
        return _frozen_start(estimator, data)
    if isinstance(estimator, GaussianLinearDiscriminant):
        fitted = _fit(clone(estimator).set_params(multiclass="ovo"), data)
        _set_names(fitted, data)
        return Start(fitted, fitted.coef_, fitted.intercept_, fitted.bayes_error_)
    models = Parallel(n_jobs=n_jobs)(
        delayed(_fit)(_for_pair(estimator, data, pair), data.pair(*pair))
        for pair in all_pairs(len(data.classes)).tolist()
    )
    n_features = data.X.shape[1]
    rules = [_read_rules(m, n_features, 2) for m in models]
    coef = np.concatenate([coef for coef, _ in rules])
    intercept = np.concatenate([intercept for _, intercept in rules])
    joined = models[0] if len(models) == 1 else _one_vs_one(estimator, models, data)
    _set_names(joined, data)
    return Start(joined, coef, intercept, None)


def _frozen_start(estimator: Any, data: TrainingData) -> Start:
    """Take the rules of a fitted classifier, without changing it."""
    try:
        check_is_fitted(unfrozen(estimator))
    except NotFittedError as error:
        raise NotFittedError(
            "estimator is not fitted: fit it before the search, or pass it without "
            "FrozenEstimator"
        ) from error
    host = host_of(unfrozen(estimator))
    fitted = np.asarray(host.classes_)
    if not np.array_equal(fitted, data.classes):
        raise ValueError(
            f"estimator was fitted to classes {fitted.tolist()}, but y has "
            f"{data.classes.tolist()}: the search needs samples of the same classes"
        )
    coef, intercept = _read_rules(host, data.X.shape[1], len(fitted))
    own: Any = getattr(estimator, "feature_names_in_", data.names)
    if data.names is not None and not np.array_equal(own, data.names):
        raise ValueError(
            f"estimator was fitted to features {list(own)}, but X has "
            f"{list(data.names)}: pass the same columns in the same order"
        )
    return Start(estimator, coef, intercept, getattr(host, "bayes_error_", None))


def _for_pair(estimator: Any, data: TrainingData, pair: list[int]) -> Any:
    """Return a clone of the estimator with the settings of two classes, 0 and 1."""
    model = clone(estimator)
    if len(data.classes) == 2:
        return model
    priors = getattr(model, "priors", None)
    if priors is not None and not isinstance(priors, str):
        shares = check_priors(priors, data.classes, data.totals)[pair]
        model.set_params(priors=shares / shares.sum())
    costs = getattr(model, "class_weight", None)
    if isinstance(costs, dict):
        labels = data.classes[pair].tolist()
        weights = {k: costs.get(label, 1.0) for k, label in enumerate(labels)}
        model.set_params(class_weight=weights)
    return model


def _set_names(model: Any, data: TrainingData) -> None:
    """Set the names of the features, as if the model had been fitted with them."""
    if data.names is not None:
        model.feature_names_in_ = data.names


def _fit(model: Any, data: TrainingData) -> Any:
    """Fit to data, with the class weights as priors or else as sample weights."""
    weight = data.weights
    if data.class_weight is not None and "priors" in model.get_params(deep=False):
        priors = check_priors(model.priors, data.classes, data.totals)
        priors = priors * data.class_weight
        model.set_params(priors=priors / priors.sum())
    else:
        weight = data.error_weights()
    if weight is None:
        return model.fit(data.X, data.labels)
    if not has_fit_parameter(model, "sample_weight"):
        name = type(model).__name__
        raise ValueError(
            f"estimator {name} cannot be fitted with sample_weight or class_weight: "
            f"leave them out, or fit it yourself and pass FrozenEstimator({name}(...))"
        )
    return model.fit(data.X, data.labels, sample_weight=weight)


def _read_rules(estimator: Any, n_features: int, n_classes: int) -> tuple[Array, Array]:
    """Return normals and offsets for all pairs, from `coef_` and `intercept_`."""
    name = type(unfrozen(estimator)).__name__
    if not hasattr(estimator, "coef_") or not hasattr(estimator, "intercept_"):
        raise TypeError(
            f"estimator {name} has no coef_ and intercept_ after fit: pass the linear "
            "classifier itself, and put other steps before the search: "
            "make_pipeline(StandardScaler(), LocalNeighborhoodSearch(classifier))"
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
    if n_classes == 2 and len(coef) == 1:
        return coef, intercept
    first, second = all_pairs(n_classes).T
    pairs = getattr(estimator, "pairs_", None)
    if pairs is not None and np.array_equal(pairs, all_pairs(n_classes)):
        return coef, intercept
    if pairs is None and hasattr(unfrozen(estimator), "support_vectors_"):
        # Of libsvm: scores of its pairs are positive for the first class.
        return -coef, -intercept
    if pairs is None and len(coef) == n_classes:
        # The class of the largest score wins; so does the larger score of two.
        return coef[second] - coef[first], intercept[second] - intercept[first]
    raise ValueError(
        f"estimator {name} has {len(coef)} rules for {n_classes} classes, which cannot "
        "be converted to rules for pairs of classes: use one-vs-one, or pass it "
        "unfitted"
    )


def unfrozen(estimator: Any) -> Any:
    """Return what is in a `FrozenEstimator`."""
    frozen = isinstance(estimator, FrozenEstimator)
    return estimator.estimator if frozen else estimator


def _one_vs_one(estimator: Any, models: list[Any], data: TrainingData) -> Any:
    """Return the models of all pairs as one fitted classifier of scikit-learn."""
    joined = OneVsOneClassifier(estimator)
    joined.classes_ = data.classes
    joined.estimators_ = models
    joined.pairwise_indices_ = None
    joined.n_features_in_ = data.X.shape[1]
    return joined
