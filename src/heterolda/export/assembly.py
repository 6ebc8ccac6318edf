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

from heterolda.data.categories import raw_columns
from heterolda.estimators.bounded_error import BoundedErrorClassifier
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.error_bound import ErrorBound
from heterolda.estimators.fit_record import FitRecord
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
_OF_RULES = {
    GaussianLinearDiscriminant: {
        "coef_": "coef",
        "intercept_": "intercept",
        "bayes_error_": "error",
        "gap_": "gap",
        "trivial_": "trivial",
        "n_iter_": "n_iter",
    },
    SmoothedLinearDiscriminant: {
        "coef_": "coef",
        "intercept_": "intercept",
        "smoothed_error_": "error",
    },
    LocalNeighborhoodSearch: {
        "coef_": "coef",
        "intercept_": "intercept",
        "n_iter_": "n_iter",
    },
}


def attribute(key: str) -> str:
    """Return the attribute that a key stands for; only `estimator_` is no other key."""
    return key if key.endswith("_") else f"{key}_"


def _make_classifier(cls: Any, values: Values, at: Place) -> Any:
    """Return a fitted classifier."""
    fitted = _make_fitted(values, at)
    rules = values.pop("rules")
    fitted["pairs_"] = values.pop("pairs")
    fitted["_committee"] = _committee(rules, values.pop("votes"), fitted, at)
    fitted |= {key: getattr(rules, name) for key, name in _OF_RULES[cls].items()}
    given, start = values.pop("parameters"), values.get("estimator_")
    if start is not None:
        inside = unfrozen(start)
        alike = np.array_equal(inside.classes_, fitted["classes_"])
        if not alike or inside.n_features_in_ != fitted["n_features_in_"]:
            raise ValueError(f"{at.name}.estimator_ has other classes or features")
    elif "estimator_" in values:
        del values["estimator_"]
    if cls is LocalNeighborhoodSearch:
        for errors, length in zip(values["history"], rules.n_iter, strict=True):
            if len(errors) != length:
                raise (at / "history").error(f"have {length} entries", len(errors))
    if cls is GaussianLinearDiscriminant:
        fitted["_settings"] = values.pop("fitted_with")
        fitted["_by_pattern"] = {}
        unfitted(cls, fitted["_settings"])
    model = unfitted(cls, _with_start(given, start, at))
    vars(model).update(fitted)
    vars(model).update({attribute(key): one for key, one in values.items()})
    return model


def _make_fitted(values: Values, at: Place) -> Values:
    """Return the attributes of classes, features and the fit, out of all values."""
    fitted = {f"{key}_": values.pop(key) for key in ("classes", "n_features_in")}
    names = values.pop("feature_names_in")
    if names is not None:
        fitted["feature_names_in_"] = names
    stats = values.pop("statistics", None)
    if stats is not None:
        fitted["statistics_"] = _statistics(stats, fitted, at / "statistics")
    priors = values.get("priors")
    if priors is not None and not (priors.min() > 0 and abs(priors.sum() - 1) < 1e-6):
        raise ValueError(f"{at.name}.priors must be positive and sum to one")
    kept = values.pop("fit_record", None)
    if kept is not None:
        fitted["fit_record_"] = _checked_record(kept, fitted, at)
    del values["estimator"]
    return fitted


def _checked_record(kept: FitRecord, fitted: Values, at: Place) -> FitRecord:
    """Return the record of a fit, whose categories must be features of the model."""
    try:
        raw_columns(fitted.get("feature_names_in_", ()), kept.categories)
    except ValueError as error:
        raise ValueError(f"{at.name}.fit_record.categories: {error}") from None
    return kept


def _statistics(stats: Values, fitted: Values, at: Place) -> ClassStatistics:
    """Return class statistics, the inverse of `_statistics_values`."""
    if not (stats["weights"] > 0).all():
        raise ValueError(f"{at.name}.weights must be positive")
    scatters, factors = stats.pop("scatters"), stats.pop("factors")
    if (scatters is None) == (factors is None):
        raise ValueError(f"{at.name} must have either scatters or factors")
    classes = fitted["classes_"]
    if factors is None:
        for label, scatter in zip(classes.tolist(), scatters, strict=True):
            check_covariance(label, scatter)
    else:
        check_factors(np.concatenate(factors))
    names = fitted.get("feature_names_in_") if stats.pop("named") else None
    parts = scatters if factors is None else factors
    return ClassStatistics(classes, scatters=parts, **stats, feature_names=names)


def _committee(rules: Rules, votes: Values, fitted: Values, at: Place) -> Any:
    """Return how rules decide together; no prediction of theirs is NaN."""
    with np.errstate(over="ignore"):
        reach = np.abs(rules.coef).sum(axis=1) + np.abs(rules.intercept)
    if not np.isfinite(reach).all():
        raise ValueError(f"{at.name}.rules.coef has numbers that are too large")
    pairs = fitted["pairs_"]
    k, n = len(fitted["classes_"]), len(pairs)
    expected = None
    if n == k * (k - 1) // 2 and pairs[0, 0] == 0:
        expected = np.column_stack(np.triu_indices(k, 1))
    elif n == k > 2:
        expected = np.column_stack([np.full(k, -1), np.arange(k)])
    if expected is None or not np.array_equal(pairs, expected):
        raise ValueError(f"{at.name}.pairs are not those of {k} classes")
    log_odds, voting = votes["log_odds"], votes["voting"]
    if log_odds is None:
        _check_gaussian(rules, at / "rules")
    found = committee_of(rules, pairs, voting, votes["temperature"], log_odds)
    if (voting is None) == isinstance(found, OneVsOne):
        must = "be null" if voting else "say how to vote"
        raise (at / "votes.voting").error(must, voting)
    return found


def _check_gaussian(rules: Rules, at: Place) -> None:
    """Reject means and deviations from which no probabilities can be computed."""
    if not (rules.trivial | (rules.deviations > 0).all(axis=1)).all():
        raise ValueError(f"{at.name}.deviations must be positive")
    with np.errstate(all="ignore"):
        odds = LogOdds.from_rules(rules)
    usable = np.isfinite(odds.bend) & np.isfinite(odds.slope) & (odds.low <= odds.high)
    if not usable.all():
        raise ValueError(f"{at.name}.means and deviations are too far apart")


def _with_start(given: Values, start: Any, at: Place) -> Values:
    """Return parameters, with the start in the place of one that is frozen."""
    estimator = given.get("estimator")
    if isinstance(estimator, FrozenEstimator) and estimator.estimator is None:
        if not isinstance(start, FrozenEstimator):
            raise ValueError(f"{at.name}.parameters.estimator is frozen, and not saved")
        return given | {"estimator": start}
    return given


def _make_bounded(cls: Any, values: Values, at: Place) -> Any:
    """Return a discriminant with a bounded error rate."""
    start, bound = values["estimator_"], values["bound"]
    inside = unfrozen(start)
    if len(inside.classes_) != 2:
        raise ValueError(f"{at.name}.estimator_ must have two classes")
    if bound["rank"] > bound["n_rows"]:
        raise ValueError(f"{at.name}.bound.rank is larger than the number of rows")
    label = inside.classes_.tolist()[bound["label"]]
    model = unfitted(cls, _with_start(values["parameters"], start, at))
    with np.errstate(over="ignore"):
        model._keep(start, values["threshold"], ErrorBound(**bound | {"label": label}))
    rules = model._moved._committee.planes
    if not (np.isfinite(rules.intercept) & np.isfinite(rules.means).all()).all():
        raise ValueError(f"{at.name}.threshold is too large")
    _check_gaussian(rules, at / "estimator_.model.rules")
    kept = values["fit_record"]
    if kept is not None:
        model.fit_record_ = _checked_record(kept, vars(model), at)
    return model


def _make_projection(cls: Any, values: Values, at: Place) -> Any:
    """Return a projection whose components are finite numbers."""
    fitted = _make_fitted(values, at)
    model = unfitted(cls, values.pop("parameters"))
    output = values.pop("output")
    if at.sizes["components"] > at.sizes["features"]:
        raise ValueError(f"{at.name}.scalings are more than there are features")
    if values["explained"].sum() > 1 + 1e-6:
        raise ValueError(f"{at.name}.explained must be shares, of at most one in all")
    size = np.abs(values["mean"])
    with np.errstate(over="ignore"):
        reach = (1 + size) @ np.abs(values["scalings"])
        back = size + np.abs(values["loadings"]).sum(axis=0)
    for key, sums in (("scalings", reach), ("loadings", back)):
        if not np.isfinite(sums).all():
            raise ValueError(f"{at.name}.{key} has numbers that are too large")
    vars(model).update(fitted)
    vars(model).update({f"{key}_": one for key, one in values.items()})
    return model.set_output(transform=output)


def _make_pipeline(_: Any, values: Values, at: Place) -> Pipeline:
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
            f"{at.name}.model.n_features_in must be {n}, the number of components of "
            f"the step before it, got {after.n_features_in_}"
        )
    names = getattr(after, "feature_names_in_", None)
    if names is not None and not np.array_equal(names, before.get_feature_names_out()):
        raise ValueError(
            f"{at.name}.model.feature_names_in are not those of components"
        )


MAKERS: dict[type, Callable[[Any, Values, Place], Any]] = {
    **dict.fromkeys(CLASSIFIERS, _make_classifier),
    BoundedErrorClassifier: _make_bounded,
    HeteroscedasticProjection: _make_projection,
    Pipeline: _make_pipeline,
}
