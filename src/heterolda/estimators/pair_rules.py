"""Rules for pairs of classes, from any linear classifier."""

from __future__ import annotations

from dataclasses import replace
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

from heterolda.estimators.base import host_of
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.foundations.arrays import Array
from heterolda.foundations.validation import check_priors
from heterolda.solvers import all_pairs
from heterolda.statistics.rows import Rows


def fit_initial(
    estimator: Any,
    rows: Rows,
    costs: Array | None,
    names: NDArray[Any] | None,
    n_jobs: int | None,
) -> tuple[Any, Array, Array]:
    """Fit a clone of a linear classifier, and return it and its rules for all pairs.

    A `GaussianLinearDiscriminant` is fitted to all classes one-vs-one, any other
    classifier to each pair of classes. A `FrozenEstimator` is used as it is. The costs
    of errors, (n_classes, n_classes), are those of a discriminant without its own; they
    multiply the priors of another classifier or, if it has none, sample weights. The
    rules are normals and offsets; a positive score means the second class.
    """
    if not is_classifier(unfrozen(estimator)):
        raise TypeError(
            f"estimator must be a linear classifier, got {type(estimator).__name__}"
        )
    if isinstance(estimator, FrozenEstimator):
        return estimator, *_frozen_rules(estimator, rows, names)
    if isinstance(estimator, GaussianLinearDiscriminant):
        model = clone(estimator).set_params(multiclass="ovo")
        if model.costs is None and model.criterion == "bayes":
            model.costs = costs
        fitted = _fit(model, rows, None)
        coef, intercept = fitted.coef_, fitted.intercept_
    else:
        models = Parallel(n_jobs=n_jobs)(
            delayed(_fit)(*_of_pair(estimator, rows, costs, pair))
            for pair in all_pairs(len(rows.classes)).tolist()
        )
        rules = [_read_rules(model, rows.X.shape[1], 2) for model in models]
        coef, intercept = map(np.concatenate, zip(*rules, strict=True))
        fitted = models[0]
        if len(models) > 1:
            fitted = OneVsOneClassifier(estimator)
            fitted.classes_ = rows.classes
            fitted.estimators_ = models
            fitted.pairwise_indices_ = None
            fitted.n_features_in_ = rows.X.shape[1]
    if names is not None:
        fitted.feature_names_in_ = names
    return fitted, coef, intercept


def _frozen_rules(
    estimator: Any, rows: Rows, names: NDArray[Any] | None
) -> tuple[Array, Array]:
    """Return the rules of a fitted classifier."""
    try:
        check_is_fitted(unfrozen(estimator))
    except NotFittedError as error:
        raise NotFittedError(
            "estimator is not fitted: fit it before the search, or pass it without "
            "FrozenEstimator"
        ) from error
    host = host_of(unfrozen(estimator))
    fitted = np.asarray(host.classes_)
    if not np.array_equal(fitted, rows.classes):
        raise ValueError(
            f"estimator was fitted to classes {fitted.tolist()}, but y has "
            f"{rows.classes.tolist()}: the search needs samples of the same classes"
        )
    rules = _read_rules(host, rows.X.shape[1], len(fitted))
    fitted_names: Any = getattr(estimator, "feature_names_in_", names)
    if names is not None and not np.array_equal(fitted_names, names):
        raise ValueError(
            f"estimator was fitted to features {list(fitted_names)}, but X has "
            f"{list(names)}: pass the same columns in the same order"
        )
    return rules


def _of_pair(
    estimator: Any, rows: Rows, costs: Array | None, pair: list[int]
) -> tuple[Any, Rows, Array | None]:
    """Return a clone, rows and costs of a pair; one of several is relabeled 0 and 1."""
    model = clone(estimator)
    of_pair = None if costs is None else costs[pair, pair[::-1]]
    if len(rows.classes) == 2:
        return model, rows, of_pair
    priors = getattr(model, "priors", None)
    if priors is not None and not isinstance(priors, str):
        shares = check_priors(priors, rows.classes, rows.totals)[pair]
        model.set_params(priors=shares / shares.sum())
    weights = getattr(model, "class_weight", None)
    if isinstance(weights, dict):
        labels = rows.classes[pair].tolist()
        weights = {k: weights.get(label, 1.0) for k, label in enumerate(labels)}
        model.set_params(class_weight=weights)
    two = replace(rows.pair(*pair), classes=np.arange(2))
    return model, two, of_pair


def _fit(model: Any, rows: Rows, costs: Array | None) -> Any:
    """Fit to rows, with the costs as priors or else as sample weights."""
    weights = rows.weights
    if costs is not None and "priors" in model.get_params(deep=False):
        priors = check_priors(model.priors, rows.classes, rows.totals) * costs
        model.set_params(priors=priors / priors.sum())
    elif costs is not None:
        weights = rows.frequencies * costs[rows.codes]
    if weights is None:
        return model.fit(rows.X, rows.labels)
    if not has_fit_parameter(model, "sample_weight"):
        name = type(model).__name__
        raise ValueError(
            f"estimator {name} cannot be fitted with sample_weight or costs: "
            f"leave them out, or fit it yourself and pass FrozenEstimator({name}(...))"
        )
    return model.fit(rows.X, rows.labels, sample_weight=weights)


def _read_rules(estimator: Any, n_features: int, n_classes: int) -> tuple[Array, Array]:
    """Return normals and offsets for all pairs, from `coef_` and `intercept_`."""
    name = type(unfrozen(estimator)).__name__
    if getattr(unfrozen(estimator), "transformation_", None) is not None:
        raise ValueError(
            f"estimator {name} transforms features, but the search needs rules on the "
            f"features themselves: pass {name}(transformation=None)"
        )
    if not hasattr(estimator, "coef_") or not hasattr(estimator, "intercept_"):
        raise TypeError(
            f"estimator {name} has no coef_ or intercept_ after fit: pass the linear "
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
        # In libsvm, a positive score means the first class of a pair.
        return -coef, -intercept
    if pairs is None and len(coef) == n_classes:
        # The class with the larger score wins.
        return coef[second] - coef[first], intercept[second] - intercept[first]
    raise ValueError(
        f"estimator {name} has {len(coef)} rules for {n_classes} classes, which cannot "
        "be converted to rules for pairs of classes: use one-vs-one, or pass it "
        "unfitted"
    )


def unfrozen(estimator: Any) -> Any:
    """Return the estimator inside a `FrozenEstimator`, and any other unchanged."""
    frozen = isinstance(estimator, FrozenEstimator)
    return estimator.estimator if frozen else estimator
