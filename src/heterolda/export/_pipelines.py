"""Projections and pipelines as the values that a model file names, and back.

Classifiers, which may be their last step, are in `_models`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from heterolda.estimators.bounded_error import BoundedErrorClassifier
from heterolda.estimators.projection import HeteroscedasticProjection
from heterolda.export._model_schema import (
    BOUNDED,
    OF_PROJECTION,
    PIPELINE,
    PROJECTION,
)
from heterolda.export._models import (
    Values,
    bounded_of,
    bounded_values,
    check_priors,
    classifier_of,
    classifier_values,
    feature_values,
    fitted_features,
    statistics_from,
    statistics_values,
    unfitted,
)


def values_of(model: Any, *, statistics: bool) -> Values:
    """What a file says of a fitted model, perhaps without its class statistics."""
    if type(model) is Pipeline:
        return {
            "estimator": PIPELINE,
            "parameters": {"verbose": bool(model.verbose)},
            "steps": [
                {"name": name, "model": values_of(step, statistics=statistics)}
                for name, step in model.steps
            ],
        }
    if type(model) is BoundedErrorClassifier:
        return bounded_values(model, statistics=statistics)
    if type(model) is not HeteroscedasticProjection:
        return classifier_values(model, statistics=statistics)
    arrays = {key: getattr(model, f"{key}_", None) for key in OF_PROJECTION}
    output = getattr(model, "_sklearn_output_config", {})
    return arrays | {
        "estimator": PROJECTION,
        "parameters": model.get_params(),
        "classes": model.classes_,
        "features": feature_values(model),
        "components": {
            "count": model.scalings_.shape[1],
            "output": output.get("transform"),
        },
        "statistics": statistics_values(model) if statistics else None,
    }


def model_of(values: Values, where: str) -> Any:
    """The fitted model of which a file says this, at a place for messages."""
    makers = {PIPELINE: _pipeline, PROJECTION: _projection, BOUNDED: bounded_of}
    return makers.get(values["estimator"], classifier_of)(values, where)


def _projection(values: Values, where: str) -> Any:
    """A projection whose components are finite numbers, and its attributes."""
    model = unfitted(HeteroscedasticProjection, values["parameters"])
    found = {key: values[key] for key in OF_PROJECTION if key != "statistics"}
    n = values["components"]["count"]
    if n > values["features"]["count"]:
        raise ValueError(f"{where}.components.count is more than there are features")
    check_priors(found["priors"], where)
    if found["explained"].sum() > 1 + 1e-6:
        raise ValueError(f"{where}.explained must be shares, of at most one in all")
    with np.errstate(over="ignore"):
        reach = (1 + np.abs(found["mean"])) @ np.abs(found["scalings"])
        back = np.abs(found["mean"]) + np.abs(found["loadings"]).sum(axis=0)
    for key, sums in (("scalings", reach), ("loadings", back)):
        if not np.isfinite(sums).all():
            raise ValueError(f"{where}.{key} has numbers that are too large")
    fitted = {"classes_": values["classes"], **fitted_features(values)}
    if values["statistics"] is not None:
        kept = statistics_from(values, fitted, f"{where}.statistics")
        fitted["statistics_"] = kept
    vars(model).update({f"{key}_": value for key, value in found.items()}, **fitted)
    return model.set_output(transform=values["components"]["output"])


def _pipeline(values: Values, where: str) -> Pipeline:
    """A pipeline in which each step takes what the one before it returns."""
    places = [f"{where}.steps[{k}]" for k in range(len(values["steps"]))]
    steps = [
        (step["name"], model_of(step["model"], f"{place}.model"))
        for step, place in zip(values["steps"], places, strict=True)
    ]
    model = Pipeline(steps, **values["parameters"])
    names = [name for name, _ in steps]
    taken = [*model.get_params(deep=False), *names]
    for name in names:
        if "__" in name or taken.count(name) > 1:
            raise ValueError(
                f"{where}.steps must have distinct names without '__' that are not "
                f"parameters of a pipeline, got {name!r}"
            )
    for place, ((_, before), (_, after)) in zip(
        places[1:], pairwise(steps), strict=True
    ):
        _check_follows(before, after, place)
    return model


def _check_follows(before: Any, after: Any, where: str) -> None:
    """Refuse a step that cannot take what the step before it returns."""
    if type(before) is not HeteroscedasticProjection:
        raise ValueError(f"{where} follows a step that is not a {PROJECTION}")
    n = before.scalings_.shape[1]
    if after.n_features_in_ != n:
        raise ValueError(
            f"{where}.model.features.count must be {n}, the number of components of "
            f"the step before it, got {after.n_features_in_}"
        )
    names = getattr(after, "feature_names_in_", None)
    if names is not None and not np.array_equal(names, before.get_feature_names_out()):
        raise ValueError(f"{where}.model.features.names are not those of components")
