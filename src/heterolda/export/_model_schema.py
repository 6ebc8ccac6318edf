"""What a model file says of a fitted model: one table for both directions.

Keys are written in the order of the tables. Lengths are numbers or the names of sizes,
which `labels`, `count` and `_multiclass` learn from the file.
"""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np

from heterolda.data.categories import LONGEST_LEVEL, MOST_LEVELS, Category
from heterolda.estimators.bounded_error import BoundedErrorClassifier
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.fit_record import FitRecord, Judgement
from heterolda.estimators.local_search import LocalNeighborhoodSearch
from heterolda.estimators.posterior import SidedLogOdds
from heterolda.estimators.projection import HeteroscedasticProjection
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.export._labels import labels
from heterolda.export._parameters import not_kept, parameters
from heterolda.export._schema import (
    Kind,
    Place,
    boolean,
    booleans,
    check_list,
    choice,
    count,
    distinct_texts,
    floats,
    integers,
    list_of,
    number,
    numbers,
    optional,
    packed,
    record,
    special,
    text,
)
from heterolda.foundations.wording import MISSING
from heterolda.solvers.rules import Status
from heterolda.statistics.power import LEAST_POWER, MOST_POWER, PowerTransformation
from heterolda.statistics.shrinkage import Shrinkage

DISCRIMINANT = GaussianLinearDiscriminant.__name__
SEARCH = LocalNeighborhoodSearch.__name__
SMOOTHED = SmoothedLinearDiscriminant.__name__
PROJECTION = HeteroscedasticProjection.__name__
BOUNDED = BoundedErrorClassifier.__name__
PIPELINE = "Pipeline"
_MOST_MARKS = 1000
VOTING = text(["weighted", "majority", "coupled"])


def _names(cls: Any) -> list[str]:
    """Names of constructor parameters that are not estimators."""
    return [name for name in cls().get_params(deep=False) if name != "estimator"]


def _multiclass() -> Kind:
    """How classes are compared, from which the number of rules follows."""
    kind = text(["ovo", "ova"])

    def read(value: Any, at: Place) -> Any:
        multiclass, k = kind.read(value, at), at.sizes["classes"]
        at.sizes["rules"] = k if multiclass == "ova" else k * (k - 1) // 2
        return multiclass

    return Kind(read, kind.write)


def _model(*names: str) -> Kind:
    """A fitted estimator, one of these."""

    def read(value: Any, at: Place) -> Any:
        name = value.get("estimator") if isinstance(value, dict) else None
        estimator = _FITTED[text(names).read(name, at / "estimator")]
        # The start of a search and the steps of a pipeline have sizes of their own.
        return estimator.read(value, Place(at.name))

    return Kind(read, lambda values: _FITTED[values["estimator"]].write(values))


def _steps() -> Kind:
    """Steps of a pipeline, one or more."""
    model = _model(PROJECTION, DISCRIMINANT, SEARCH, SMOOTHED)
    step = record({"name": text(), "model": model})

    def read(value: Any, at: Place) -> list[Any]:
        steps = check_list(value, at)
        if not steps:
            raise at.error("have one step or more", value)
        return [step.read(one, Place(f"{at.name}[{k}]")) for k, one in enumerate(steps)]

    return Kind(read, list_of(step).write)


def _classifier(name: str) -> Kind:
    """All that is said of a fitted classifier."""
    fields = {
        "estimator": text(),
        "fit_record": optional(record(FIT_RECORD, FitRecord)),
        "parameters": record(PARAMETERS[name]),
        "classes": labels(),
        "features": record(FEATURES),
        "rules": record(RULES),
        "committee": record(COMMITTEE),
        **ATTRIBUTES[name],
    }
    return record(fields, first=("classes", "features", "committee"))


def _category() -> Kind:
    """A column of categories, none of whose levels is two things."""
    levels = distinct_texts(MOST_LEVELS, LONGEST_LEVEL)
    fields = {
        "column": text(),
        "reference": text(),
        "levels": levels,
        "merged": levels,
        "other": optional(text()),
    }
    kind = record(fields, Category)

    def read(value: Any, at: Place) -> Category:
        found: Category = kind.read(value, at)
        every = [found.reference, *found.levels, *found.merged]
        features = found.features
        if len(found.place_of) < len(every) or len(set(features)) < len(features):
            raise at.error("have each level once", every)
        if not features:
            raise at.error("have a feature", value)
        return found

    return Kind(read, kind.write)


def _categories() -> Kind:
    """Columns of categories, each of them once."""
    kind = list_of(_category())

    def read(value: Any, at: Place) -> tuple[Category, ...]:
        found = tuple(kind.read(value, at))
        names = [category.column for category in found]
        if len(set(names)) < len(names):
            raise at.error("be different columns", names)
        return found

    return Kind(read, kind.write)


JUDGEMENT = {
    "method": text(),
    "n_rows": number(0),
    "accuracy": number(0, 1),
    "lda_accuracy": number(0, 1),
    "standard_error": number(0),
}
FIT_RECORD = {
    "target": text(),
    "data": text(),
    "date": text(),
    "n_rows": number(0),
    "judgement": optional(record(JUDGEMENT, Judgement)),
    "categories": _categories(),
    "marks": distinct_texts(_MOST_MARKS, LONGEST_LEVEL),
    "n_columns": optional(count("columns")),
}
STATUS = {status.name.lower().replace("_", "-"): int(status) for status in Status}
FEATURES = {"count": count("features"), "names": optional(list_of(text(), "features"))}
RULES = {
    "pairs": integers("rules", 2, low=-1),
    "status": list_of(choice(STATUS), "rules"),
    "intercept": floats("rules"),
    "coef": floats("rules", "features"),
    "error": floats("rules", low=0, high=1),
    "gap": list_of(special(number(), nan, None), "rules"),
    "n_iter": integers("rules", low=0),
    "means": floats("rules", 2),
    "deviations": floats("rules", 2, low=0),
}
LOG_ODDS = {"offset": floats(2, "rules", low=0), "slope": floats(2, "rules", low=0)}
COMMITTEE = {
    "multiclass": _multiclass(),
    "voting": optional(VOTING),
    "temperature": number(1e-9, 1e9),
    "log_odds": optional(record(LOG_ODDS, make=SidedLogOdds)),
}
SHRINKAGE = {"to_pooled": floats("classes", low=0, high=1), "to_diagonal": number(0, 1)}
STATISTICS = {
    "named": boolean(),
    "given": boolean(),
    "estimated_by": optional(text()),
    "weights": floats("classes"),
    "means": floats("classes", "features"),
    # One of the two is null: few rows of many features have factors.
    "scatters": optional(floats("classes", "features", "features")),
    "factors": optional(list_of(packed("features"), "classes")),
}
CANDIDATE = {
    "width": optional(number(0, 1)),
    "ridge": optional(number(0)),
    "error": special(number(0, 1), nan, None),
    "standard_error": special(number(0), nan, None),
    "weight": number(0, 1),
}
TRANSFORMATION = {
    "centre": floats("features"),
    "scale": floats("features", low=np.finfo(np.float64).smallest_subnormal),
    "lambdas": floats("features", low=LEAST_POWER, high=MOST_POWER),
}
START = {"frozen": boolean(), "model": _model(DISCRIMINANT)}
OF_DISCRIMINANT = {
    **parameters(_names(GaussianLinearDiscriminant)),
    "guard": boolean(),
    "covariance_estimator": not_kept("covariance_estimator"),
    "missing": text(MISSING),
}
FITTED_WITH = parameters(["solver", "shrinkage", "criterion", "costs"])
START_PARAMETER = {
    "name": text(),
    "frozen": boolean(),
    "is_start": boolean(),
    "parameters": optional(record(OF_DISCRIMINANT)),
}
PARAMETERS = {
    DISCRIMINANT: OF_DISCRIMINANT,
    SEARCH: {
        **parameters(_names(LocalNeighborhoodSearch)),
        "estimator": optional(record(START_PARAMETER)),
    },
    SMOOTHED: parameters(_names(SmoothedLinearDiscriminant)),
}
# What only one of the classifiers has.
ATTRIBUTES: dict[str, dict[str, Kind]] = {
    DISCRIMINANT: {
        "priors": floats("classes", low=0, high=1),
        "error_rates": floats("rules", 2, low=0, high=1),
        "risk": floats("rules", low=0),
        "guarded": booleans("rules"),
        "shrinkage": optional(record(SHRINKAGE, make=Shrinkage)),
        "fitted_with": record(FITTED_WITH),
        "statistics": optional(record(STATISTICS)),
    },
    SEARCH: {
        "start": optional(record(START)),
        "n_errors": numbers("rules", low=0),
        "n_errors_start": numbers("rules", low=0),
        "history": list_of(floats(None, low=0), "rules"),
    },
    SMOOTHED: {
        "start": record(START),
        "transformation": optional(record(TRANSFORMATION, PowerTransformation)),
        "priors": floats("classes", low=0, high=1),
        "width": number(0, 1),
        "path": list_of(record(CANDIDATE)),
        "held_out_error": special(number(0, 1), nan, None),
    },
}
COMPONENTS = {
    "count": count("components"),
    # What `set_output` was told; the names of the features of a next step hang on it.
    "output": optional(text(["default", "pandas", "polars"])),
}
OF_PROJECTION = {
    "priors": floats("classes", low=0, high=1),
    "mean": floats("features"),
    "scalings": floats("features", "components"),
    "loadings": floats("components", "features"),
    "explained": floats("components", low=0),
    "guarded": number(0, 1),
    "statistics": optional(record(STATISTICS)),
}
_PROJECTION = {
    "estimator": text(),
    "parameters": record(parameters(_names(HeteroscedasticProjection))),
    "classes": labels(),
    "features": record(FEATURES),
    "components": record(COMPONENTS),
    **OF_PROJECTION,
}
_BOUNDED = {
    "estimator": text(),
    "fit_record": optional(record(FIT_RECORD, FitRecord)),
    "parameters": record(
        {
            **parameters(["max_error", "confidence", "set_aside", "random_state"]),
            "estimator": optional(record(START_PARAMETER)),
        }
    ),
    "start": record(START),
    "threshold": number(),
    "bound": record(
        {
            "label": choice({"first": 0, "second": 1}),  # of the two classes
            "max_error": number(0, 1),
            "confidence": number(0, 1),
            "n_rows": count("bound"),
            "rank": count("rank"),
        }
    ),
}
_PIPELINE = {
    "estimator": text(),
    "parameters": record({"verbose": boolean()}),
    "steps": _steps(),
}
_FITTED = {name: _classifier(name) for name in ATTRIBUTES}
_FITTED[PROJECTION] = record(_PROJECTION, first=("classes", "features", "components"))
_FITTED[PIPELINE] = record(_PIPELINE)
_FITTED[BOUNDED] = record(_BOUNDED)
MODEL = _model(*_FITTED)
