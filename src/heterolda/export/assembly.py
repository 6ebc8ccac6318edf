"""Fitted models, made of the values of a model file.

`models` has checked types, shapes and ranges. Here the values must belong together, and
the model must compute finite numbers; nothing says that it is any good.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from heterolda.estimators.bounded_error import BoundedErrorClassifier
from heterolda.estimators.categories import raw_columns
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.error_bound import ErrorBound
from heterolda.estimators.local_search import LocalNeighborhoodSearch
from heterolda.estimators.projection import HeteroscedasticProjection
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.estimators.starts import unfrozen
from heterolda.estimators.votes import committee_of
from heterolda.export.parameters import FROZEN, unfitted
from heterolda.export.schema import Place
from heterolda.solvers import all_pairs

Values = dict[str, Any]

CLASSIFIERS = (
    GaussianLinearDiscriminant,
    SmoothedLinearDiscriminant,
    LocalNeighborhoodSearch,
)
# Attributes that are arrays of the rules.
_OF_RULES: dict[type, dict[str, str]] = {
    GaussianLinearDiscriminant: {
        "bayes_error_": "error",
        "gap_": "gap",
        "trivial_": "trivial",
        "n_iter_": "n_iter",
    },
    SmoothedLinearDiscriminant: {"smoothed_error_": "error"},
    LocalNeighborhoodSearch: {"n_iter_": "n_iter"},
}
# Attributes that some models lack; their value in a file is null then.
_IF_ANY = {"fit_record_", "feature_names_in_", "statistics_", "estimator_"}


def own_steps(model: Pipeline, remedy: str) -> list[tuple[str, Any]]:
    """Return the steps of a pipeline; TypeError if a file or header cannot hold one.

    `remedy` says what else to do than to leave that step out.
    """
    for place, (name, step) in enumerate(model.steps, 1):
        last = CLASSIFIERS if place == len(model.steps) else ()
        if type(step) not in (HeteroscedasticProjection, *last):
            kind = repr(step) if isinstance(step, str) else type(step).__name__
            raise TypeError(
                f"model has the step {name!r}, {kind}, but may have only "
                "HeteroscedasticProjection, and GaussianLinearDiscriminant, "
                "SmoothedLinearDiscriminant or LocalNeighborhoodSearch as its last "
                f"step: fit without it, or {remedy}"
            )
    return list(model.steps)


def made(cls: Any, values: Values, at: Place) -> Any:
    """Return a fitted model of the values of a file, which must belong together."""
    if cls is Pipeline:
        return _pipeline(values, at)
    given, start = values.pop("parameters"), values.get("estimator_")
    if given.get("estimator") is FROZEN:
        if not isinstance(start, FrozenEstimator):
            raise ValueError(f"{at.name}.parameters.estimator is frozen, and not saved")
        given["estimator"] = start
    model = unfitted(cls, given)
    attributes = {k: v for k, v in values.items() if v is not None or k not in _IF_ANY}
    if cls is BoundedErrorClassifier:
        _bound(model, attributes, at)
    elif cls is HeteroscedasticProjection:
        model.set_output(transform=attributes.pop("output"))
        vars(model).update(attributes)
        mean, ones = np.abs(model.mean_), np.ones(len(model.loadings_))
        _check_reach(at / "scalings_", 1 + mean, model.scalings_, 0)
        _check_reach(at / "loadings_", ones, model.loadings_, mean)
    else:
        _classify(model, attributes, at)
    _check_parts(model, at)
    return model


def _classify(model: Any, values: Values, at: Place) -> None:
    """Set the attributes of a classifier."""
    rules, votes = values.pop("rules"), values.pop("votes")
    k, voting = len(values["classes_"]), votes["voting"]
    one_vs_all = k > 2 and voting is None
    pairs = np.column_stack([np.full(k, -1), np.arange(k)])
    pairs = pairs if one_vs_all else all_pairs(k)
    if len(rules.coef) != len(pairs) or (k == 2 and voting):
        raise ValueError(
            f"{at.name}.rules are not those of {k} classes with voting {voting!r}"
        )
    evidence = votes["temperature"], votes["log_odds"]
    if "fitted_with" in values:
        settings = values.pop("fitted_with")
        unfitted(type(model), settings)
        vars(model).update(_settings=settings, _by_pattern={})
    vars(model).update(
        values,
        pairs_=pairs,
        coef_=rules.coef,
        intercept_=rules.intercept,
        _committee=committee_of(rules, pairs, voting, *evidence),
    )
    for key, name in _OF_RULES[type(model)].items():
        setattr(model, key, getattr(rules, name))
    _check_scores(model, at / "rules")


def _bound(model: Any, values: Values, at: Place) -> None:
    """Set the attributes of a discriminant with a bounded error rate."""
    start, bound = values.pop("estimator_"), values.pop("bound_")
    classes = unfrozen(start).classes_.tolist()
    if len(classes) != 2:
        raise ValueError(f"{at.name}.estimator_ must have two classes")
    vars(model).update(values)
    bound = ErrorBound(**bound | {"label": classes[bound["label"]]})
    with np.errstate(over="ignore"):
        model._keep(start, values["threshold_"], bound)
    _check_scores(model._moved, at / "threshold_")


def _pipeline(values: Values, at: Place) -> Pipeline:
    """Return a pipeline in which each step takes what the one before it returns."""
    steps = [(step["name"], step["model"]) for step in values["steps"]]
    model = Pipeline(steps, verbose=values["verbose"])
    try:
        model._validate_steps()
        own_steps(model, "save it with skops")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{at.name}.steps: {error}") from error
    for k, ((_, before), (_, after)) in enumerate(pairwise(steps), 1):
        n, place = before.scalings_.shape[1], at / f"steps[{k}].model.n_features_in_"
        if after.n_features_in_ != n:
            raise place.error(f"be {n}, the components before it", after.n_features_in_)
    return model


def _check_scores(model: Any, at: Place) -> None:
    """Reject rules from which no finite scores or probabilities follow."""
    _check_reach(at, np.ones(model.coef_.shape[1]), model.coef_.T, model.intercept_)
    scores = np.outer([-1e300, -1.0, 0.0, 1.0, 1e300], np.ones(len(model.coef_)))
    with np.errstate(all="ignore"):
        log_odds = model._committee.posterior(scores)
    if not np.isfinite(log_odds).all():
        raise ValueError(f"{at.name} gives no probabilities: see means and deviations")


def _check_reach(at: Place, row: Any, coef: Any, offset: Any) -> None:
    """Reject numbers with which a small row becomes infinite."""
    with np.errstate(over="ignore"):
        reach = np.abs(row) @ np.abs(coef) + np.abs(offset)
    if not np.isfinite(reach).all():
        raise ValueError(f"{at.name} has numbers that are too large")


def _check_parts(model: Any, at: Place) -> None:
    """Reject parts of a model with other classes or features than its own."""
    parts = {"estimator_": unfrozen(getattr(model, "estimator_", None))}
    parts["statistics_"] = getattr(model, "statistics_", None)
    for key, part in parts.items():
        if part is None:
            continue
        classes = part.classes if key == "statistics_" else part.classes_
        n = part.n_features if key == "statistics_" else part.n_features_in_
        if not np.array_equal(classes, model.classes_) or n != model.n_features_in_:
            raise ValueError(f"{at.name}.{key} has other classes or features")
    fit_record = getattr(model, "fit_record_", None)
    if fit_record is not None:
        try:
            raw_columns(getattr(model, "feature_names_in_", ()), fit_record.categories)
        except ValueError as error:
            raise ValueError(f"{at.name}.fit_record_.categories: {error}") from None
