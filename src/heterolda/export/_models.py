"""Fitted classifiers as the values that a model file names, and back.

`_model_schema` has the types, shapes and ranges of the values. Here is what no table
can say: where the values stand in an estimator, and whether they belong together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from heterolda.data.categories import raw_columns
from heterolda.estimators.bounded_error import BoundedErrorClassifier, linear_form
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.error_bound import ErrorBound
from heterolda.estimators.fit_record import FitRecord
from heterolda.estimators.local_search import LocalNeighborhoodSearch
from heterolda.estimators.posterior import LogOdds
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.estimators.starts import unfrozen
from heterolda.estimators.votes import Binary, OneVsAll, OneVsOne
from heterolda.export._model_schema import (
    ATTRIBUTES,
    BOUNDED,
    DISCRIMINANT,
    SEARCH,
    SMOOTHED,
    VOTING,
)
from heterolda.export._parameters import NotKept
from heterolda.export._schema import Place, text
from heterolda.solvers import resolve_solver
from heterolda.solvers.rules import Rules
from heterolda.statistics.arrays import check_covariance, check_factors
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.moments import compressed
from heterolda.tradeoff.criteria import check_costs

Values = dict[str, Any]

# The attributes of keys that are not the attribute without its underscore.
_ATTRIBUTE_OF = {"fitted_with": "_settings", "start": "estimator_"}
# Attributes that not every fitted model has; null stands for their absence.
_MAY_LACK = "statistics", "start"


def classifier_values(model: Any, *, statistics: bool) -> Values:
    """What a file says of a fitted classifier, perhaps without its class statistics."""
    committee, name = model._committee, type(model).__name__
    own = {key: getattr(model, _attribute(key), None) for key in ATTRIBUTES[name]}
    if type(model) is GaussianLinearDiscriminant:
        own["fitted_with"] = _with_costs(model._settings, model.classes_)
        own["statistics"] = statistics_values(model) if statistics else None
    else:
        own["start"] = _start_of(model, statistics)
    return own | {
        "estimator": name,
        "fit_record": getattr(model, "fit_record_", None),
        "parameters": {
            **_with_costs(model.get_params(deep=False), model.classes_),
            "estimator": _start_parameter(model),
        },
        "classes": model.classes_,
        "features": feature_values(model),
        "rules": {
            **vars(committee.planes),
            "pairs": model.pairs_,
            "intercept": model.intercept_,
            "coef": model.coef_,
        },
        "committee": {
            "multiclass": "ova" if isinstance(committee, OneVsAll) else "ovo",
            "voting": getattr(committee, "voting", None),
            "temperature": committee.temperature,
            "log_odds": getattr(committee, "log_odds", None),
        },
    }


def feature_values(model: Any) -> Values:
    """Number and names of the features of a model."""
    names = getattr(model, "feature_names_in_", None)
    return {"count": model.n_features_in_, "names": names}


def fitted_features(values: Values) -> Values:
    """The attributes that are the inverse of `feature_values`."""
    names = values["features"]["names"]
    fitted = {"n_features_in_": values["features"]["count"]}
    if names is not None:
        fitted["feature_names_in_"] = np.array(names, dtype=object)
    return fitted


def classifier_of(values: Values, where: str) -> Any:
    """The fitted classifier of which a file says this, at a place for messages."""
    planes = _planes(values["rules"], f"{where}.rules")
    fitted = {
        "classes_": values["classes"],
        **fitted_features(values),
        "pairs_": values["rules"]["pairs"],
        "coef_": planes.coef,
        "intercept_": planes.intercept,
        "n_iter_": planes.n_iter,
        "_committee": _committee(values, planes, where),
    }
    _keep_record(fitted, values["fit_record"], where)
    makers = {DISCRIMINANT: _discriminant, SEARCH: _search, SMOOTHED: _smoothed}
    model = makers[values["estimator"]](values, fitted, where)
    for key in ATTRIBUTES[values["estimator"]]:
        if values[key] is not None or key not in _MAY_LACK:
            fitted[_attribute(key)] = values[key]
    vars(model).update(fitted)
    return model


def _attribute(key: str) -> str:
    """The attribute of an estimator that a key of the file stands for."""
    return _ATTRIBUTE_OF.get(key, f"{key}_")


def _planes(rules: Values, where: str) -> Rules:
    """The record of the rules."""
    arrays = {key: np.asarray(value) for key, value in rules.items() if key != "pairs"}
    planes = Rules(**arrays)
    with np.errstate(over="ignore"):
        reach = np.abs(planes.coef).sum(axis=1) + np.abs(planes.intercept)
    if not np.isfinite(reach).all():
        raise ValueError(f"{where}.coef has numbers that are too large")
    return planes


def _committee(
    values: Values, planes: Rules, where: str
) -> Binary | OneVsOne | OneVsAll:
    """How the rules decide together; no prediction of theirs is NaN."""
    k, pairs = len(values["classes"]), values["rules"]["pairs"]
    found = values["committee"]
    one_vs_all = found["multiclass"] == "ova"
    if one_vs_all:
        expected = np.column_stack([np.full(k, -1), np.arange(k)])
    else:
        expected = np.column_stack(np.triu_indices(k, 1))
    if (one_vs_all and k == 2) or not np.array_equal(pairs, expected):
        raise ValueError(f"{where}.rules.pairs are not those of {k} classes")
    log_odds, evidence = found["log_odds"], found["temperature"]
    if log_odds is None:
        _check_gaussian(planes, f"{where}.rules")
    where = f"{where}.committee"
    if k > 2 and not one_vs_all:
        voting = VOTING.read(found["voting"], Place(f"{where}.voting"))
        return OneVsOne(planes, k, voting, log_odds, evidence=evidence)
    if found["voting"] is not None:
        raise ValueError(f"{where} has a voting, but there are no votes")
    if k == 2:
        return Binary(planes, log_odds, evidence=evidence)
    if log_odds is not None:
        raise ValueError(f"{where}.log_odds must be null for 'ova'")
    return OneVsAll(planes, evidence=evidence)


def _check_gaussian(planes: Rules, where: str) -> None:
    """Reject means and deviations from which no probabilities can be computed."""
    if not (planes.trivial | (planes.deviations > 0).all(axis=1)).all():
        raise ValueError(f"{where}.deviations must be positive")
    with np.errstate(all="ignore"):
        odds = LogOdds.from_rules(planes)
    usable = np.isfinite(odds.bend) & np.isfinite(odds.slope) & (odds.low <= odds.high)
    if not usable.all():
        raise ValueError(f"{where}.means and deviations are too far apart")


def _discriminant(values: Values, fitted: Values, where: str) -> Any:
    """A discriminant, and its attributes in the place of their values."""
    model = unfitted(GaussianLinearDiscriminant, values["parameters"])
    planes = fitted["_committee"].planes
    check_priors(values["priors"], where)
    fitted["bayes_error_"] = planes.error
    fitted["gap_"] = planes.gap
    fitted["trivial_"] = planes.trivial
    fitted["_by_pattern"] = {}
    unfitted(GaussianLinearDiscriminant, values["fitted_with"])
    if values["statistics"] is not None:
        values["statistics"] = statistics_from(values, fitted, f"{where}.statistics")
    return model


def check_priors(priors: NDArray[Any], where: str) -> None:
    """Refuse priors that are not probabilities of all classes."""
    if not (priors > 0).all() or abs(priors.sum() - 1) > 1e-6:
        raise ValueError(f"{where}.priors must be positive and sum to one")


def statistics_values(model: Any) -> Values | None:
    """The class statistics of a model, without what the model says anyway."""
    known = getattr(model, "statistics_", None)
    if known is None:
        return None
    factors = known.factors
    parts = {
        "scatters": known.scatters if factors is None else None,
        # Those that tell no more than the scatters.
        "factors": None if factors is None else [compressed(part) for part in factors],
    }
    return {**vars(known), **parts, "named": known.feature_names is not None}


def statistics_from(values: Values, fitted: Values, where: str) -> ClassStatistics:
    """The inverse of `statistics_values`."""
    found, classes = values["statistics"], fitted["classes_"]
    if not (found["weights"] > 0).all():
        raise ValueError(f"{where}.weights must be positive")
    scatters, factors = found.pop("scatters"), found.pop("factors")
    if (scatters is None) == (factors is None):
        raise ValueError(f"{where} must have either scatters or factors")
    if factors is None:
        for label, scatter in zip(classes.tolist(), scatters, strict=True):
            check_covariance(label, scatter)
    else:
        check_factors(np.concatenate(factors))
    names = fitted.get("feature_names_in_") if found.pop("named") else None
    parts = scatters if factors is None else factors
    return ClassStatistics(classes, scatters=parts, **found, feature_names=names)


def _read_start(found: Values, fitted: Values, where: str) -> Any:
    """Return the discriminant that a model starts from."""
    start = classifier_of(found["model"], f"{where}.start.model")
    alike = np.array_equal(start.classes_, fitted["classes_"])
    if not alike or start.n_features_in_ != fitted["n_features_in_"]:
        raise ValueError(f"{where}.start has other classes or features than the model")
    return FrozenEstimator(start) if found["frozen"] else start


def _smoothed(values: Values, fitted: Values, where: str) -> Any:
    """Return a smoothed discriminant; its attributes take the place of their values."""
    committee = fitted["_committee"]
    check_priors(values["priors"], where)
    values["start"] = _read_start(values["start"], fitted, where)
    fitted["smoothed_error_"] = committee.planes.error
    del fitted["n_iter_"]
    return unfitted(SmoothedLinearDiscriminant, values["parameters"])


def _search(values: Values, fitted: Values, where: str) -> Any:
    """A search, and its attributes in the place of their values."""
    found, parameters = values["start"], values["parameters"]
    if found is not None:
        values["start"] = _read_start(found, fitted, where)
    parameters["estimator"] = _read_start_parameter(
        parameters["estimator"], values["start"], f"{where}.parameters.estimator"
    )
    for errors, length in zip(values["history"], fitted["n_iter_"], strict=True):
        if len(errors) != length:
            raise Place(f"{where}.history").error(f"have {length} entries", len(errors))
    return unfitted(LocalNeighborhoodSearch, parameters)


def bounded_values(model: Any, *, statistics: bool) -> Values:
    """What a file says of a discriminant with a bounded error rate."""
    linear_form(model)  # says what cannot be kept
    place = model.classes_.tolist().index(model.bound_.label)
    parameters = model.get_params(deep=False)
    return {
        "estimator": BOUNDED,
        "fit_record": getattr(model, "fit_record_", None),
        "parameters": {**parameters, "estimator": _start_parameter(model)},
        "start": _start_of(model, statistics),
        "threshold": model.threshold_,
        "bound": {**vars(model.bound_), "label": place},
    }


def bounded_of(values: Values, where: str) -> Any:
    """The inverse of `bounded_values`."""
    found, bound, parameters = values["start"], values["bound"], values["parameters"]
    start = classifier_of(found["model"], f"{where}.start.model")
    if len(start.classes_) != 2:
        raise ValueError(f"{where}.start must have two classes")
    if bound["rank"] > bound["n_rows"]:
        raise ValueError(f"{where}.bound.rank is larger than the number of rows")
    label = start.classes_.tolist()[bound["label"]]
    start = FrozenEstimator(start) if found["frozen"] else start
    parameters["estimator"] = _read_start_parameter(
        parameters["estimator"], start, f"{where}.parameters.estimator"
    )
    model = unfitted(BoundedErrorClassifier, parameters)
    with np.errstate(over="ignore"):
        model._keep(start, values["threshold"], ErrorBound(**bound | {"label": label}))
    planes = model._moved._committee.planes
    if not (np.isfinite(planes.intercept) & np.isfinite(planes.means).all()).all():
        raise ValueError(f"{where}.threshold is too large")
    _check_gaussian(planes, f"{where}.start.model.rules")
    _keep_record(vars(model), values["fit_record"], where)
    return model


def _keep_record(fitted: Values, found: FitRecord | None, where: str) -> None:
    """Add the record of the fit, whose categories must be features of the model."""
    if found is None:
        return
    names = fitted.get("feature_names_in_", ())
    try:
        raw_columns(names, found.categories)
    except ValueError as error:
        raise ValueError(f"{where}.fit_record.categories: {error}") from None
    fitted["fit_record_"] = found


def _start_of(model: Any, statistics: bool) -> Values | None:
    """The fitted start of a search, if it is one that is kept."""
    start = getattr(model, "estimator_", None)
    if type(unfrozen(start)) is not GaussianLinearDiscriminant:
        return None
    frozen = isinstance(start, FrozenEstimator)
    return {
        "frozen": frozen,
        "model": classifier_values(unfrozen(start), statistics=statistics),
    }


def _start_parameter(model: Any) -> Values | None:
    """The parameter `estimator` of a search: parameters, or a name."""
    given = getattr(model, "estimator", None)
    if given is None:
        return None
    bare, ours = unfrozen(given), type(unfrozen(given)) is GaussianLinearDiscriminant
    return {
        "name": bare.name if isinstance(bare, NotKept) else type(bare).__name__,
        "frozen": isinstance(given, FrozenEstimator),
        # A frozen start is one and the same model in both places.
        "is_start": ours and bare is unfrozen(getattr(model, "estimator_", None)),
        "parameters": _with_costs(bare.get_params(), model.classes_) if ours else None,
    }


def _read_start_parameter(found: Values | None, start: Any, where: str) -> Any:
    """The inverse of `_start_parameter`."""
    if found is None:
        return None
    estimator: Any = NotKept(found["name"])
    if found["parameters"] is not None:
        text([DISCRIMINANT]).read(found["name"], Place(f"{where}.name"))
        estimator = unfitted(GaussianLinearDiscriminant, found["parameters"])
    if found["is_start"]:
        if start is None:
            raise ValueError(f"{where} is said to be the start, but there is none")
        estimator = unfrozen(start)
    return FrozenEstimator(estimator) if found["frozen"] else estimator


def unfitted(cls: Any, parameters: Values) -> Any:
    """An estimator of parameters that it accepts."""
    estimator = cls(**parameters)
    estimator._validate_params()
    if "solver" in parameters:
        resolve_solver(parameters["solver"])
    return estimator


def _with_costs(parameters: Values, classes: NDArray[Any]) -> Values:
    """Parameters, with costs of a data frame in the order of the classes."""
    costs = parameters.get("costs")
    if hasattr(costs, "columns"):
        return {**parameters, "costs": check_costs(costs, classes)}
    return parameters
