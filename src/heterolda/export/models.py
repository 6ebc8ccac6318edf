"""What a model file says of a fitted model: one table, read and written.

`TABLE` has the kinds of all values, in the order in which they are written. A key is
the name of an attribute without its underscore, but for a few that `_values` and the
makers explain. What no table can say, whether values belong together, the makers check.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from heterolda.data.categories import (
    Category,
)
from heterolda.estimators.bounded_error import BoundedErrorClassifier, linear_form
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.fit_record import FitRecord, Judgement
from heterolda.estimators.local_search import LocalNeighborhoodSearch
from heterolda.estimators.posterior import SidedLogOdds
from heterolda.estimators.projection import HeteroscedasticProjection
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.estimators.starts import unfrozen
from heterolda.export.assembly import CLASSIFIERS, MAKERS, Values, attribute
from heterolda.export.parameters import names_of, parameters
from heterolda.export.schema import (
    Kind,
    Place,
    array,
    boolean,
    choice,
    count,
    labels,
    list_of,
    number,
    optional,
    packed,
    record,
    text,
)
from heterolda.solvers.rules import Rules, Status
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.moments import compressed
from heterolda.statistics.power import LEAST_POWER, MOST_POWER, PowerTransformation
from heterolda.statistics.shrinkage import Shrinkage


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


def without_statistics(model: Any) -> Any:
    """Return a copy of a model that has no class statistics, nor has a part of it."""
    bare = copy(model)
    vars(bare).pop("statistics_", None)
    if isinstance(model, Pipeline):
        bare.steps = [(name, without_statistics(step)) for name, step in model.steps]
    start = getattr(model, "estimator_", None)
    if start is not None:
        bare.estimator_ = without_statistics(unfrozen(start))
        if isinstance(start, FrozenEstimator):
            bare.estimator_ = FrozenEstimator(bare.estimator_)
        if unfrozen(getattr(model, "estimator", None)) is unfrozen(start):
            bare.estimator = bare.estimator_
    return bare


def _fitted(*classes: type) -> Kind:
    """Describe a fitted estimator, one of these."""

    def read(value: Any, at: Place) -> Any:
        name = value.get("estimator") if isinstance(value, dict) else None
        cls = choice({c.__name__: c for c in classes}).read(name, at / "estimator")
        at = Place(at.name)  # with lengths of its own
        values = _kind(cls).read(value, at)
        return MAKERS[cls](cls, values, at)

    def write(model: Any) -> Values:
        kind: Values = _kind(type(model)).write(_values(model))
        return kind

    return Kind("a model", read, write)


def _kind(cls: type) -> Kind:
    """Return the record of an estimator."""
    kept = record({"verbose": boolean()})  # of a pipeline
    kept = kept if cls is Pipeline else parameters(*names_of(cls))
    return record({"estimator": text(), "parameters": kept, **TABLE[cls]})


def _start() -> Kind:
    """Describe the discriminant that a model starts from, perhaps frozen."""
    kind = record({"frozen": boolean(), "model": _fitted(GaussianLinearDiscriminant)})

    def read(value: Any, at: Place) -> Any:
        found = kind.read(value, at)
        return FrozenEstimator(found["model"]) if found["frozen"] else found["model"]

    def write(start: Any) -> Any:
        frozen = isinstance(start, FrozenEstimator)
        return kind.write({"frozen": frozen, "model": unfrozen(start)})

    return Kind(kind.words, read, write)


def _checked_categories(categories: list[Category]) -> tuple[Category, ...]:
    """Return columns of categories, each of them once, whose levels are one thing."""
    for one in categories:
        every, features = [one.reference, *one.levels, *one.merged], one.features
        if len(one.place_of) < len(every) or len(set(features)) < len(features):
            raise ValueError(f"fit_record.categories must have each level once: {one}")
        if not features:
            raise ValueError(f"fit_record.categories must have a feature: {one}")
    if len({one.column for one in categories}) < len(categories):
        raise ValueError("fit_record.categories must be different columns")
    return tuple(categories)


def _names(names: list[str]) -> NDArray[Any]:
    """Return names as scikit-learn has them."""
    return np.array(names, dtype=object)


_TEXTS = list_of(text(), make=tuple)
_CATEGORY = {
    "column": text(),
    "reference": text(),
    "levels": _TEXTS,
    "merged": _TEXTS,
    "other": optional(text()),
}
_JUDGEMENT = {
    "method": text(),
    "n_rows": number(0),
    "accuracy": number(0, 1),
    "lda_accuracy": number(0, 1),
    "standard_error": number(0),
}
_FIT_RECORD = {
    "target": text(),
    "data": text(),
    "date": text(),
    "n_rows": number(0),
    "judgement": optional(record(_JUDGEMENT, Judgement)),
    "categories": list_of(record(_CATEGORY, Category), make=_checked_categories),
    "marks": _TEXTS,
    "n_columns": optional(count()),
}
_STATUS = {status.name.lower().replace("_", "-"): int(status) for status in Status}
_RULES = {
    "status": list_of(choice(_STATUS), "rules", np.array),
    "intercept": array("rules"),
    "coef": array("rules", "features"),
    "error": array("rules", low=0, high=1),
    "gap": array("rules", missing=True),
    "n_iter": array("rules", low=0, high=2**53, dtype=int),
    "means": array("rules", 2),
    "deviations": array("rules", 2, low=0),
}
_LOG_ODDS = {"offset": array(2, "rules", low=0), "slope": array(2, "rules", low=0)}
_VOTES = {
    "voting": optional(text("weighted", "majority")),
    "temperature": number(1e-9, 1e9),
    "log_odds": optional(record(_LOG_ODDS, SidedLogOdds)),
}
_SHRINKAGE = {"to_pooled": array("classes", low=0, high=1), "to_diagonal": number(0, 1)}
_STATISTICS = {
    "named": boolean(),
    "given": boolean(),
    "estimated_by": optional(text()),
    "weights": array("classes"),
    "means": array("classes", "features"),
    # One of the two is null: few rows of many features have factors.
    "scatters": optional(array("classes", "features", "features")),
    "factors": optional(list_of(packed("features"), "classes")),
}
_CANDIDATE = {
    "width": optional(number(0, 1)),
    "ridge": optional(number(0)),
    "error": number(0, 1, missing=True),
    "standard_error": number(0, missing=True),
    "weight": number(0, 1),
}
_POWERS = {
    "centre": array("features"),
    "scale": array("features", low=np.finfo(np.float64).smallest_subnormal),
    "lambdas": array("features", low=LEAST_POWER, high=MOST_POWER),
}
_BOUND = {
    "label": choice({"first": 0, "second": 1}),  # of the two classes
    "max_error": number(0, 1),
    "confidence": number(0, 1),
    "n_rows": count(),
    "rank": count(),
}
_RECORD = {"fit_record": optional(record(_FIT_RECORD, FitRecord))}
_DATA = {
    "classes": labels(),
    "n_features_in": count("features"),
    "feature_names_in": optional(list_of(text(), "features", _names)),
}
_CLASSIFIER = {
    **_RECORD,
    **_DATA,
    "pairs": array("rules", 2, low=-1, high=2**53, dtype=int),
    "rules": record(_RULES, Rules),
    "votes": record(_VOTES),
}
_PRIORS = array("classes", low=0, high=1)
_STEP = record(
    {"name": text(), "model": _fitted(HeteroscedasticProjection, *CLASSIFIERS)}
)
TABLE: dict[type, dict[str, Kind]] = {
    GaussianLinearDiscriminant: {
        **_CLASSIFIER,
        "priors": _PRIORS,
        "error_rates": array("rules", 2, low=0, high=1),
        "risk": array("rules", low=0),
        "guarded": array("rules", dtype=bool),
        "shrinkage": optional(record(_SHRINKAGE, Shrinkage)),
        "fitted_with": parameters("solver", "shrinkage", "criterion", "costs"),
        "statistics": optional(record(_STATISTICS)),
    },
    SmoothedLinearDiscriminant: {
        **_CLASSIFIER,
        "estimator_": _start(),
        "transformation": optional(record(_POWERS, PowerTransformation)),
        "priors": _PRIORS,
        "width": number(0, 1),
        "path": list_of(record(_CANDIDATE)),
        "held_out_error": number(0, 1, missing=True),
    },
    LocalNeighborhoodSearch: {
        **_CLASSIFIER,
        "estimator_": optional(_start()),
        "n_errors": array("rules", low=0, dtype=None),
        "n_errors_start": array("rules", low=0, dtype=None),
        "history": list_of(array(None, low=0), "rules"),
    },
    BoundedErrorClassifier: {
        **_RECORD,
        "estimator_": _start(),
        "threshold": number(),
        "bound": record(_BOUND),
    },
    HeteroscedasticProjection: {
        **_DATA,
        "priors": _PRIORS,
        "mean": array("features"),
        "scalings": array("features", "components"),
        "loadings": array("components", "features"),
        "explained": array("components", low=0),
        "guarded": number(0, 1),
        # What `set_output` was told: names of the features of a next step depend on it.
        "output": optional(text("default", "pandas", "polars")),
        "statistics": optional(record(_STATISTICS)),
    },
    Pipeline: {"steps": list_of(_STEP, "steps")},
}
MODEL = _fitted(*TABLE)


def _values(model: Any) -> Values:
    """Return what a file says of a fitted model, by key."""
    cls = type(model)
    if cls is Pipeline:
        return {
            "estimator": "Pipeline",
            "parameters": {"verbose": bool(model.verbose)},
            "steps": [{"name": name, "model": step} for name, step in model.steps],
        }
    given = model.get_params(deep=False)
    values: Values = {"estimator": cls.__name__, "parameters": given}
    values |= {key: getattr(model, attribute(key), None) for key in TABLE[cls]}
    start = unfrozen(values.get("estimator_"))
    if type(start) is not GaussianLinearDiscriminant:
        values["estimator_"] = None
    elif unfrozen(given.get("estimator")) is start:
        given["estimator"] = FrozenEstimator(None)  # it is the start
    if "statistics" in values:
        values["statistics"] = _statistics_values(values["statistics"])
    if "rules" in values:
        committee = model._committee
        values["rules"] = replace(
            committee.planes, coef=model.coef_, intercept=model.intercept_
        )
        values["votes"] = {
            "voting": getattr(committee, "voting", None),
            "temperature": committee.temperature,
            "log_odds": getattr(committee, "log_odds", None),
        }
    if cls is GaussianLinearDiscriminant:
        values["fitted_with"] = model._settings
    if cls is HeteroscedasticProjection:
        configured = getattr(model, "_sklearn_output_config", {})
        values["output"] = configured.get("transform")
    if cls is BoundedErrorClassifier:
        linear_form(model)  # says what cannot be kept
        place = model.classes_.tolist().index(model.bound_.label)
        values["bound"] = {**vars(model.bound_), "label": place}
    return values


def _statistics_values(stats: ClassStatistics | None) -> Values | None:
    """Return class statistics, without what the model says anyway."""
    if stats is None:
        return None
    factors = stats.factors
    parts = {
        "scatters": stats.scatters if factors is None else None,
        # Those that tell no more than the scatters.
        "factors": None if factors is None else [compressed(part) for part in factors],
    }
    return {**vars(stats), **parts, "named": stats.feature_names is not None}
