"""Convert fitted models from and to JSON values.

`TABLE` has the kind of each key, from which reader, writer and documentation follow. A
key that ends in an underscore is an attribute of the model. Values must be consistent,
and the model must compute finite numbers; it need not be a good one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from heterolda.estimators.bounded_error import BoundedErrorClassifier, linear_form
from heterolda.estimators.chosen import Position
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.error_bound import ErrorBound
from heterolda.estimators.fit_record import Category, FitRecord, Judgement
from heterolda.estimators.local_search import LocalNeighborhoodSearch
from heterolda.estimators.pair_rules import unfrozen
from heterolda.estimators.power_transformer import transformer_of
from heterolda.estimators.projection import HeteroscedasticProjection
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.estimators.votes import committee_of
from heterolda.export.curves import arc_weights, check_reach, log_odds, rows_curve
from heterolda.export.parameters import parameters, unfitted
from heterolda.export.schema import (
    TINY,
    Kind,
    Place,
    array,
    choice,
    count,
    label,
    labels,
    list_of,
    number,
    optional,
    record,
    statistics,
    text,
)
from heterolda.foundations.wording import VOTINGS
from heterolda.solvers import all_pairs
from heterolda.solvers.rules import Rules, Status
from heterolda.statistics.power import MAX_POWER, MIN_POWER, PowerTransformation
from heterolda.statistics.shrinkage import Shrinkage

CLASSIFIERS = (
    GaussianLinearDiscriminant,
    SmoothedLinearDiscriminant,
    LocalNeighborhoodSearch,
)


def _fitted_with(cls: Any) -> Kind:
    """Return the kind of the parameters that set_params does not change in a model."""
    return parameters(cls, *cls._fitted_with)


def _model_of(*classes: type) -> Kind:
    """Return the kind of fitted estimators of these classes."""
    by_name = {cls.__name__: cls for cls in classes}

    def read(value: Any, at: Place) -> Any:
        name = value.get("estimator") if isinstance(value, dict) else None
        cls = by_name[choice(*by_name).read(name, at / "estimator")]
        at = Place(at.name)  # with its own lengths
        values = record({"estimator": text, **TABLE[cls]}).read(value, at)
        if cls is Pipeline:
            return _pipeline(values["steps"], at)
        model: Any = unfitted(cls, values["parameters"])
        for key, part in values.items():
            if key.endswith("_") and (part is not None or key not in _OPTIONAL):
                setattr(model, key, part)
        _COMPLETE.get(cls, _complete_classifier)(model, values, at)
        if (stats := values.get("statistics_")) is not None:
            _check_part(model, stats.classes, stats.n_features, at / "statistics_")
        if (start := values.get("estimator_")) is not None:
            _check_part(model, start.classes_, start.n_features_in_, at / "estimator_")
        return model

    return Kind(f"fitted {' or '.join(by_name)}", read)


_TEXTS = list_of(text, make=tuple)
_CATEGORY = {
    "column": text,
    "reference": text,
    "levels": _TEXTS,
    "merged": _TEXTS,
    "other": optional(text),
}
_JUDGEMENT = {
    "method": text,
    "n_rows": number(0),
    "accuracy": number(0, 1),
    "lda_accuracy": number(0, 1),
    "standard_error": number(0),
}
_FIT_RECORD = {
    "target": text,
    "data": text,
    "date": text,
    "n_rows": number(0),
    "judgement": optional(record(_JUDGEMENT, Judgement)),
    "categories": list_of(record(_CATEGORY, Category), make=tuple),
    "marks": _TEXTS,
    "n_columns": optional(count()),
}
_RULES = {
    "status": array("rules", low=min(Status), high=max(Status), dtype=int),
    "intercept": array("rules"),
    "coef": array("rules", "features"),
    "error": array("rules", low=0, high=1),
    "gap": array("rules", missing=True),
    "n_iter": array("rules", low=0, high=2**53, dtype=int),
    "means": array("rules", 2),
    "deviations": array("rules", 2, low=0),
}
_VOTES = {
    # Null for two classes or one-vs-rest rules.
    "voting": optional(choice(*VOTINGS)),
    "log_odds": log_odds,
}
_SHRINKAGE = {"to_pooled": array("classes", low=0, high=1), "to_diagonal": number(0, 1)}
_POWERS = {
    "center": array("features"),
    "scale": array("features", low=TINY),
    "lambdas": array("features", low=MIN_POWER, high=MAX_POWER),
}
_BOUND = {
    "label": label,
    "max_error": number(0, 1),
    "confidence": number(0, 1),
    "n_rows": count(),
    "rank": count(),
}
_RECORD = {"fit_record_": optional(record(_FIT_RECORD, FitRecord))}
_DATA = {
    "classes_": labels,
    "n_features_in_": count("features"),
    "feature_names_in_": optional(
        list_of(text, "features", lambda names: np.array(names, dtype=object))
    ),
}
_CLASSIFIER = {
    **_RECORD,
    **_DATA,
    "rules": record(_RULES, Rules),
    "votes": record(_VOTES),
}
_PRIORS = array("classes", low=TINY, high=1)
_LEFT_OUT = array("rules", low=0, high=1, missing=True)
_CURVES = {
    "left_out_error_": _LEFT_OUT,
    "left_out_error_rates_": array("rules", 2, low=0, high=1, missing=True),
    "weights": arc_weights,
    # Of two classes whose rows chose, if there are class statistics.
    "rows_curve": optional(rows_curve),
    "shrinkage_": optional(record(_SHRINKAGE, Shrinkage)),
    "statistics_": optional(statistics),
}
_START = _model_of(GaussianLinearDiscriminant)
_STEP = {"name": text, "model": _model_of(HeteroscedasticProjection, *CLASSIFIERS)}
TABLE: dict[type, dict[str, Kind]] = {
    GaussianLinearDiscriminant: {
        "parameters": parameters(GaussianLinearDiscriminant),
        **_CLASSIFIER,
        "priors_": _PRIORS,
        "error_rates_": array("rules", 2, low=0, high=1),
        "expected_cost_": array("rules", low=0),
        "chosen_on_rows_": array("rules", dtype=bool),
        "fitted_with": _fitted_with(GaussianLinearDiscriminant),
        **_CURVES,
    },
    SmoothedLinearDiscriminant: {
        "parameters": parameters(SmoothedLinearDiscriminant),
        **_CLASSIFIER,
        "transformation_": optional(record(_POWERS, PowerTransformation)),
        "priors_": _PRIORS,
        "widths_": array("rules", low=TINY, high=1),
        "ridge_weights_": array("rules", low=0, high=0.5),
        "fitted_with": _fitted_with(SmoothedLinearDiscriminant),
        **_CURVES,
    },
    LocalNeighborhoodSearch: {
        "parameters": parameters(LocalNeighborhoodSearch),
        **_CLASSIFIER,
        "estimator_": optional(_START),
        "n_errors_": array("rules", low=0, dtype=None),
        "n_errors_start_": array("rules", low=0, dtype=None),
        "history_": list_of(array(None, low=0), "rules"),
    },
    BoundedErrorClassifier: {
        "parameters": parameters(BoundedErrorClassifier),
        **_RECORD,
        "estimator_": _START,
        "threshold_": number(),
        "bound_": record(_BOUND, ErrorBound),
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
        # Set by `set_output`; the feature names of the next step depend on it.
        "output": optional(choice("default", "pandas", "polars")),
        "statistics_": optional(statistics),
    },
    Pipeline: {"steps": list_of(record(_STEP), "steps")},
}
# Attributes that may be absent; their value in a file is then null.
_OPTIONAL = {"fit_record_", "feature_names_in_", "statistics_", "estimator_"}
# Attributes that are arrays of `Rules`.
_PLANES = {"coef_": "coef", "intercept_": "intercept"}
_OF_RULES: dict[type, dict[str, str]] = {
    GaussianLinearDiscriminant: {
        **_PLANES,
        "model_error_": "error",
        "gap_": "gap",
        "trivial_": "trivial",
        "n_iter_": "n_iter",
    },
    SmoothedLinearDiscriminant: {
        "transformed_coef_": "coef",
        "transformed_intercept_": "intercept",
        "smoothed_error_": "error",
        "gap_": "gap",
        "n_iter_": "n_iter",
    },
    LocalNeighborhoodSearch: {**_PLANES, "n_iter_": "n_iter"},
}
# Functions that return the values that are not attributes.
_COMPUTED: dict[str, Callable[[Any], Any]] = {
    "parameters": lambda model: model.get_params(deep=False),
    "fitted_with": lambda model: model._settings,
    "output": lambda model: getattr(model, "_sklearn_output_config", {}).get(
        "transform"
    ),
    # Coefficients may have been changed after the fit, and predict as changed.
    "rules": lambda model: replace(
        model._committee.planes, coef=model._rules[0], intercept=model._rules[1]
    ),
    "transformation_": lambda model: model._rules[2],
    "votes": lambda model: {
        "voting": getattr(model._committee, "voting", None),
        "log_odds": model._committee.curve,
    },
    "weights": lambda model: model._position.weights,
    "rows_curve": lambda model: model._position.curve,
}

read_model = _model_of(*TABLE).read


def file_contents(name: str) -> str:
    """Return documentation of the content of a model file."""
    kinds = next(table for cls, table in TABLE.items() if cls.__name__ == name)
    return record(kinds).words.replace("record", name, 1)


def model_to_json(model: Any, include_statistics: bool) -> dict[str, Any]:
    """Return the JSON value of a fitted model."""
    cls = type(model)
    if cls is not Pipeline:
        model._check_ready()
    if cls is BoundedErrorClassifier:
        linear_form(model)  # raises if its estimator cannot be saved
    written = {"estimator": cls.__name__}
    for key, kind in TABLE[cls].items():
        compute = _COMPUTED.get(key)
        value = compute(model) if compute else getattr(model, key, None)
        if key == "steps":
            value = [
                {"name": name, "model": model_to_json(step, include_statistics)}
                for name, step in model.steps
            ]
        elif key == "estimator_":
            start = unfrozen(value)
            kept = type(start) is GaussianLinearDiscriminant
            value = model_to_json(start, include_statistics) if kept else None
        elif key in ("statistics_", "rows_curve") and not include_statistics:
            value = None
        written[key] = kind.write(value)
    return written


def own_steps(model: Pipeline, remedy: str) -> list[tuple[str, Any]]:
    """Return the steps of a pipeline; raise TypeError if one is not from heterolda.

    `remedy` is the alternative to leaving that step out.
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


def _complete_classifier(model: Any, values: dict[str, Any], at: Place) -> None:
    """Set the rules of a classifier and their committee."""
    rules, votes = values["rules"], values["votes"]
    k, voting = len(model.classes_), votes["voting"]
    one_vs_rest = k > 2 and voting is None
    pairs = np.column_stack([np.full(k, -1), np.arange(k)])
    pairs = pairs if one_vs_rest else all_pairs(k)
    if len(rules.coef) != len(pairs) or (k == 2 and voting):
        raise ValueError(
            f"{at.name}.rules are not those of {k} classes with voting {voting!r}"
        )
    if "fitted_with" in values:
        unfitted(type(model), values["fitted_with"])
        model._settings = values["fitted_with"]
        if "chosen_on_rows_" in values:
            model._by_pattern = {}
        model._position = Position(values["weights"], values["rows_curve"])
    model.pairs_ = pairs
    model._committee = committee_of(rules, pairs, voting, votes["log_odds"])
    for key, name in _OF_RULES[type(model)].items():
        setattr(model, key, getattr(rules, name))
    if "transformation_" in values:
        model.transformation_ = transformer_of(values["transformation_"], model)
    _check_scores(model, at / "rules")


def _complete_bounded(model: Any, values: dict[str, Any], at: Place) -> None:
    """Move the threshold of a discriminant of two classes."""
    start, bound = values["estimator_"], values["bound_"]
    classes = start.classes_.tolist()
    if len(classes) != 2:
        raise ValueError(f"{at.name}.estimator_ must have two classes")
    if bound.label not in classes:
        raise (at / "bound_.label").error(f"be one of {classes}", bound.label)
    with np.errstate(over="ignore"):
        model._keep(start, values["threshold_"], bound)
    _check_scores(model._moved, at / "threshold_")


def _complete_projection(model: Any, values: dict[str, Any], at: Place) -> None:
    """Set the output container of a projection, and check its reach."""
    model.set_output(transform=values["output"])
    mean, ones = np.abs(model.mean_), np.ones(len(model.loadings_))
    check_reach(at / "scalings_", 1 + mean, model.scalings_, 0)
    check_reach(at / "loadings_", ones, model.loadings_, mean)


_COMPLETE: dict[type, Callable[[Any, dict[str, Any], Place], None]] = {
    BoundedErrorClassifier: _complete_bounded,
    HeteroscedasticProjection: _complete_projection,
}


def _pipeline(values: list[dict[str, Any]], at: Place) -> Pipeline:
    """Return a pipeline whose steps fit together."""
    steps = [(step["name"], step["model"]) for step in values]
    model = Pipeline(steps)
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
    """Reject rules without finite scores."""
    coef, intercept, _ = model._rules
    check_reach(at, np.ones(coef.shape[1]), coef.T, intercept)


def _check_part(model: Any, classes: Any, n_features: int, at: Place) -> None:
    """Reject a part whose classes or features differ from those of the model."""
    has_classes = np.array_equal(classes, model.classes_)
    if not has_classes or n_features != model.n_features_in_:
        raise ValueError(f"{at.name} has other classes or features than the model")
