"""What a model file says of a fitted model: one table, read, written and documented.

`TABLE` has the kinds of all values, in the order in which they are written. A key with
an underscore at its end is an attribute of the model; `assembly` says what becomes of
the others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from heterolda.estimators.bounded_error import BoundedErrorClassifier, linear_form
from heterolda.estimators.categories import Category
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.fit_record import FitRecord, Judgement
from heterolda.estimators.local_search import LocalNeighborhoodSearch
from heterolda.estimators.posterior import SidedLogOdds
from heterolda.estimators.projection import HeteroscedasticProjection
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.estimators.starts import unfrozen
from heterolda.export.assembly import CLASSIFIERS, Values, made
from heterolda.export.parameters import FROZEN, parameters
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
    record,
    statistics,
    text,
)
from heterolda.solvers.rules import Rules, Status
from heterolda.statistics.power import LEAST_POWER, MOST_POWER, PowerTransformation
from heterolda.statistics.shrinkage import Shrinkage

_TINY = float(np.finfo(np.float64).smallest_subnormal)


def _fitted(*classes: type) -> Kind:
    """Describe a fitted estimator, one of these."""
    names = choice(**{cls.__name__: cls for cls in classes})

    def read(value: Any, at: Place) -> Any:
        name = value.get("estimator") if isinstance(value, dict) else None
        cls = names.read(name, at / "estimator")
        at = Place(at.name)  # with lengths of its own
        values = record({"estimator": names, **TABLE[cls]}).read(value, at)
        del values["estimator"]
        return made(cls, values, at)

    def write(model: Any) -> Any:
        kinds = {"estimator": names, **TABLE[type(model)]}
        return record(kinds).write({"estimator": type(model), **_values(model)})

    return Kind("a model", read, write)


def _start() -> Kind:
    """Describe the discriminant that a model starts from, perhaps frozen."""
    kind = record({"frozen": boolean(), "model": _fitted(GaussianLinearDiscriminant)})

    def read(value: Any, at: Place) -> Any:
        frozen, model = kind.read(value, at).values()
        return FrozenEstimator(model) if frozen else model

    def write(start: Any) -> Any:
        frozen = isinstance(start, FrozenEstimator)
        return kind.write({"frozen": frozen, "model": unfrozen(start)})

    return Kind(kind.words, read, write)


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
    "categories": list_of(record(_CATEGORY, Category), make=tuple),
    "marks": _TEXTS,
    "n_columns": optional(count()),
}
_STATUS = {status.name.lower().replace("_", "-"): int(status) for status in Status}
_RULES = {
    "status": list_of(choice(**_STATUS), "rules", np.array),
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
    # Null if two classes need no votes, or each class has a rule against all others.
    "voting": optional(choice("weighted", "majority")),
    "temperature": number(0.1, 1e9),
    "log_odds": optional(record(_LOG_ODDS, SidedLogOdds)),
}
_SHRINKAGE = {"to_pooled": array("classes", low=0, high=1), "to_diagonal": number(0, 1)}
_CANDIDATE = {
    "width": optional(number(0, 1)),
    "ridge": optional(number(0)),
    "error": number(0, 1, missing=True),
    "standard_error": number(0, missing=True),
    "weight": number(0, 1),
}
_POWERS = {
    "center": array("features"),
    "scale": array("features", low=_TINY),
    "lambdas": array("features", low=LEAST_POWER, high=MOST_POWER),
}
_BOUND = {
    "label": choice(first=0, second=1),  # of the two classes
    "max_error": number(0, 1),
    "confidence": number(0, 1),
    "n_rows": count(),
    "rank": count(),
}
_RECORD = {"fit_record_": optional(record(_FIT_RECORD, FitRecord))}
_DATA = {
    "classes_": labels(),
    "n_features_in_": count("features"),
    "feature_names_in_": optional(list_of(text(), "features", _names)),
}
_CLASSIFIER = {
    **_RECORD,
    **_DATA,
    "rules": record(_RULES, Rules),
    "votes": record(_VOTES),
}
_PRIORS = array("classes", low=_TINY, high=1)
_STEP = {"name": text(), "model": _fitted(HeteroscedasticProjection, *CLASSIFIERS)}
TABLE: dict[type, dict[str, Kind]] = {
    GaussianLinearDiscriminant: {
        "parameters": parameters(GaussianLinearDiscriminant),
        **_CLASSIFIER,
        "priors_": _PRIORS,
        "error_rates_": array("rules", 2, low=0, high=1),
        "risk_": array("rules", low=0),
        "guarded_": array("rules", dtype=bool),
        "shrinkage_": optional(record(_SHRINKAGE, Shrinkage)),
        "fitted_with": parameters(
            GaussianLinearDiscriminant, "solver", "shrinkage", "criterion", "costs"
        ),
        "statistics_": optional(statistics()),
    },
    SmoothedLinearDiscriminant: {
        "parameters": parameters(SmoothedLinearDiscriminant),
        **_CLASSIFIER,
        "estimator_": _start(),
        "transformation_": optional(record(_POWERS, PowerTransformation)),
        "priors_": _PRIORS,
        "width_": number(0, 1),
        "path_": list_of(record(_CANDIDATE)),
        "held_out_error_": number(0, 1, missing=True),
    },
    LocalNeighborhoodSearch: {
        "parameters": parameters(LocalNeighborhoodSearch),
        **_CLASSIFIER,
        "estimator_": optional(_start()),
        "n_errors_": array("rules", low=0, dtype=None),
        "n_errors_start_": array("rules", low=0, dtype=None),
        "history_": list_of(array(None, low=0), "rules"),
    },
    BoundedErrorClassifier: {
        "parameters": parameters(BoundedErrorClassifier),
        **_RECORD,
        "estimator_": _start(),
        "threshold_": number(),
        "bound_": record(_BOUND),
    },
    HeteroscedasticProjection: {
        "parameters": parameters(HeteroscedasticProjection),
        **_DATA,
        "priors_": _PRIORS,
        "mean_": array("features"),
        "scalings_": array("features", "components"),
        "loadings_": array("components", "features"),
        "explained_": array("components", low=0),
        "guarded_": number(0, 1),
        # What `set_output` was told: names of the features of a next step depend on it.
        "output": optional(choice("default", "pandas", "polars")),
        "statistics_": optional(statistics()),
    },
    Pipeline: {
        "verbose": boolean(),
        "steps": list_of(record(_STEP), "steps"),
    },
}
MODEL = _fitted(*TABLE)


def _values(model: Any) -> Values:
    """Return what a file says of a fitted model, by key."""
    if type(model) is Pipeline:
        steps = [{"name": name, "model": step} for name, step in model.steps]
        return {"verbose": model.verbose, "steps": steps}
    given = model.get_params(deep=False)
    values = {key: getattr(model, key, None) for key in TABLE[type(model)]}
    values["parameters"] = given
    start = unfrozen(values.get("estimator_"))
    if type(start) is not GaussianLinearDiscriminant:
        values["estimator_"] = None
    elif unfrozen(given.get("estimator")) is start:
        given["estimator"] = FROZEN
    if isinstance(model, CLASSIFIERS):
        committee = model._committee
        values["rules"] = replace(
            committee.planes, coef=model.coef_, intercept=model.intercept_
        )
        values["votes"] = {
            key: getattr(committee, key, None)
            for key in ("voting", "temperature", "log_odds")
        }
    values["fitted_with"] = getattr(model, "_settings", None)
    values["output"] = getattr(model, "_sklearn_output_config", {}).get("transform")
    if isinstance(model, BoundedErrorClassifier):
        linear_form(model)  # says what cannot be kept
        place = model.classes_.tolist().index(model.bound_.label)
        values["bound_"] = {**vars(model.bound_), "label": place}
    return values
