"""Fitted models, made of the values that a model file has for them.

`schema` has checked types, shapes and ranges. Here is what no table can say: whether
the values belong together, so that what is computed from them is finite.
"""

from __future__ import annotations

from collections.abc import Callable
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
from heterolda.estimators.posterior import LogOdds
from heterolda.estimators.projection import HeteroscedasticProjection
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.estimators.starts import unfrozen
from heterolda.estimators.votes import OneVsOne, committee_of
from heterolda.export.parameters import unfitted
from heterolda.export.schema import Place
from heterolda.solvers.rules import Rules
from heterolda.statistics.arrays import check_covariance, check_factors
from heterolda.statistics.class_statistics import ClassStatistics

Values = dict[str, Any]

CLASSIFIERS = (
    GaussianLinearDiscriminant,
    SmoothedLinearDiscriminant,
    LocalNeighborhoodSearch,
)
# Attributes that are arrays of the rules.
_COEF = {"coef_": "coef", "intercept_": "intercept"}
_OF_RULES: dict[type, dict[str, str]] = {
    GaussianLinearDiscriminant: {
        **_COEF,
        "bayes_error_": "error",
        "gap_": "gap",
        "trivial_": "trivial",
        "n_iter_": "n_iter",
    },
    SmoothedLinearDiscriminant: {**_COEF, "smoothed_error_": "error"},
    LocalNeighborhoodSearch: {**_COEF, "n_iter_": "n_iter"},
}
# Attributes that some models lack; their value in a file is null then.
_IF_ANY = {"fit_record_", "feature_names_in_", "statistics_", "estimator_"}


def _statistics(stats: Values, fitted: Values, at: Place) -> ClassStatistics:
    """Return class statistics, the inverse of `_statistics_values`."""
    scatters, factors = stats.pop("scatters"), stats.pop("factors")
    if (scatters is None) == (factors is None):
        raise ValueError(f"{at.name} must have either scatters or factors")
    classes = fitted["classes_"]
    if factors is None:
        for label, scatter in zip(classes.tolist(), scatters, strict=True):
            check_covariance(label, scatter)
    else:
        check_factors(np.concatenate(factors))
    names = fitted["feature_names_in_"] if stats.pop("named") else None
    parts = scatters if factors is None else factors
    return ClassStatistics(classes, scatters=parts, **stats, feature_names=names)


def _make(cls: Any, given: Values, fitted: Values, at: Place) -> Any:
    """Return an estimator with parameters and attributes."""
    if fitted.get("statistics_") is not None:
        stats = _statistics(fitted["statistics_"], fitted, at / "statistics_")
        fitted["statistics_"] = stats
    fitted = {k: v for k, v in fitted.items() if v is not None or k not in _IF_ANY}
    start = fitted.get("estimator_")
    estimator = given.get("estimator")
    if isinstance(estimator, FrozenEstimator) and estimator.estimator is None:
        if not isinstance(start, FrozenEstimator):
            raise ValueError(f"{at.name}.parameters.estimator is frozen, and not saved")
        given["estimator"] = start
    model = unfitted(cls, given)
    vars(model).update(fitted)
    return model


def _check_record(model: Any, at: Place) -> None:
    """Reject a record of a fit whose categories are not features of the model."""
    kept = getattr(model, "fit_record_", None)
    if kept is not None:
        try:
            raw_columns(getattr(model, "feature_names_in_", ()), kept.categories)
        except ValueError as error:
            raise ValueError(f"{at.name}.fit_record_.categories: {error}") from None


def _make_classifier(cls: Any, values: Values, at: Place) -> Any:
    """Return a fitted classifier."""
    given, rules = values.pop("parameters"), values.pop("rules")
    committee = _committee(rules, values.pop("votes"), values, at)
    values |= {key: getattr(rules, name) for key, name in _OF_RULES[cls].items()}
    start = unfrozen(values.get("estimator_"))
    if start is not None:
        alike = np.array_equal(start.classes_, values["classes_"])
        if not alike or start.n_features_in_ != values["n_features_in_"]:
            raise ValueError(f"{at.name}.estimator_ has other classes or features")
    for errors, length in zip(values.get("history_", ()), rules.n_iter, strict=False):
        if len(errors) != length:
            raise (at / "history_").error(f"have {length} entries", len(errors))
    if cls is GaussianLinearDiscriminant:
        values |= {"_settings": values.pop("fitted_with"), "_by_pattern": {}}
        unfitted(cls, values["_settings"])
    model = _make(cls, given, values | {"_committee": committee}, at)
    _check_record(model, at)
    return model


def _committee(rules: Rules, votes: Values, fitted: Values, at: Place) -> Any:
    """Return how rules decide together; no prediction of theirs is NaN."""
    pairs = fitted["pairs_"]
    k, n = len(fitted["classes_"]), len(pairs)
    expected = None
    if n == k * (k - 1) // 2 and pairs[0, 0] == 0:
        expected = np.column_stack(np.triu_indices(k, 1))
    elif n == k > 2:
        expected = np.column_stack([np.full(k, -1), np.arange(k)])
    if expected is None or not np.array_equal(pairs, expected):
        raise ValueError(f"{at.name}.pairs_ are not those of {k} classes")
    log_odds, voting = votes["log_odds"], votes["voting"]
    if log_odds is None:
        _check_gaussian(rules, at / "rules")
    result = committee_of(rules, pairs, voting, votes["temperature"], log_odds)
    if (voting is None) == isinstance(result, OneVsOne):
        must = "be null" if voting else "say how to vote"
        raise (at / "votes.voting").error(must, voting)
    return result


def _check_gaussian(rules: Rules, at: Place) -> None:
    """Reject means and deviations from which no probabilities can be computed."""
    if not (rules.trivial | (rules.deviations > 0).all(axis=1)).all():
        raise ValueError(f"{at.name}.deviations must be positive")
    with np.errstate(all="ignore"):
        odds = LogOdds.from_rules(rules)
    usable = np.isfinite(odds.bend) & np.isfinite(odds.slope) & (odds.low <= odds.high)
    if not usable.all():
        raise ValueError(f"{at.name}.means and deviations are too far apart")


def _make_bounded(cls: Any, values: Values, at: Place) -> Any:
    """Return a discriminant with a bounded error rate."""
    start, bound = values["estimator_"], values.pop("bound_")
    classes = unfrozen(start).classes_.tolist()
    if len(classes) != 2:
        raise ValueError(f"{at.name}.estimator_ must have two classes")
    bound = ErrorBound(**bound | {"label": classes[bound["label"]]})
    threshold = values.pop("threshold_")
    model = _make(cls, values.pop("parameters"), values, at)
    with np.errstate(over="ignore"):
        model._keep(start, threshold, bound)
    rules = model._moved._committee.planes
    if not (np.isfinite(rules.intercept) & np.isfinite(rules.means).all()).all():
        raise ValueError(f"{at.name}.threshold_ is too large")
    _check_gaussian(rules, at / "estimator_.model.rules")
    _check_record(model, at)
    return model


def _make_projection(cls: Any, values: Values, at: Place) -> Any:
    """Return a projection whose components are finite numbers."""
    if at.sizes["components"] > at.sizes["features"]:
        raise ValueError(f"{at.name}.scalings_ are more than there are features")
    size = np.abs(values["mean_"])
    with np.errstate(over="ignore"):
        reach = (1 + size) @ np.abs(values["scalings_"])
        back = size + np.abs(values["loadings_"]).sum(axis=0)
    for key, sums in (("scalings_", reach), ("loadings_", back)):
        if not np.isfinite(sums).all():
            raise ValueError(f"{at.name}.{key} has numbers that are too large")
    output = values.pop("output")
    model = _make(cls, values.pop("parameters"), values, at)
    return model.set_output(transform=output)


def _make_pipeline(cls: Any, values: Values, at: Place) -> Pipeline:
    """Return a pipeline in which each step takes what the one before it returns."""
    steps = [(step["name"], step["model"]) for step in values["steps"]]
    model = Pipeline(steps, **values["parameters"])
    names = [name for name, _ in steps]
    taken = [*model.get_params(deep=False), *names]
    for name in names:
        if "__" in name or taken.count(name) > 1:
            raise ValueError(
                f"{at.name}.steps must have distinct names without '__' that are not "
                f"parameters of a pipeline, got {name!r}"
            )
    for k, ((_, before), (_, after)) in enumerate(pairwise(steps), 1):
        _check_follows(before, after, at / f"steps[{k}]")
    return model


def _check_follows(before: Any, after: Any, at: Place) -> None:
    """Reject a step that cannot take what the step before it returns."""
    if type(before) is not HeteroscedasticProjection:
        raise ValueError(f"{at.name} follows a step that is not a projection")
    n = before.scalings_.shape[1]
    if after.n_features_in_ != n:
        raise ValueError(
            f"{at.name}.model.n_features_in_ must be {n}, the number of components of "
            f"the step before it, got {after.n_features_in_}"
        )
    names = getattr(after, "feature_names_in_", None)
    if names is not None and not np.array_equal(names, before.get_feature_names_out()):
        raise ValueError(
            f"{at.name}.model.feature_names_in_ are not those of components"
        )


MAKERS: dict[type, Callable[[Any, Values, Place], Any]] = {
    **dict.fromkeys(CLASSIFIERS, _make_classifier),
    BoundedErrorClassifier: _make_bounded,
    HeteroscedasticProjection: _make_projection,
    Pipeline: _make_pipeline,
}
