"""How typical rows are, by the part of a classifier that knows its classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from heterolda.estimators.in_use import InUse, Typical
from heterolda.estimators.pair_rules import unfrozen
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Index


def knower_of(model: Any) -> Any:
    """Return the part of a classifier that says how typical rows are, or None.

    It is the classifier itself or the one inside; of a pipeline its first step, or else
    its last one.
    """
    if hasattr(model, "bounds_"):
        model = unfrozen(getattr(model, "estimator_", model))
    if isinstance(model, Pipeline):
        first, last = model.steps[0][1], model.steps[-1][1]
        model = first if isinstance(first, Typical) else last
    start = getattr(model, "estimator_", model)
    knows = isinstance(model, Typical) and isinstance(start, Typical)
    return model if knows and hasattr(start, "statistics_") else None


def typical_rows(model: Any, X: Any) -> tuple[Array, Index]:
    """Return how typical rows are, and the features that make them most unlike."""
    knower = knower_of(model)
    inner = unfrozen(getattr(model, "estimator_", model))
    if isinstance(inner, Pipeline) and knower is inner.steps[-1][1]:
        X = inner[:-1].transform(X)
    typical, worst = knower._typical(knower._numbers(X))
    return typical, worst


def for_priors(model: Any) -> tuple[Any, Array] | None:
    """Return a classifier and the priors of its probabilities, if it has any."""
    if hasattr(model, "bounds_"):
        model = unfrozen(getattr(model, "estimator_", model))
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if not (hasattr(model, "predict_proba") and hasattr(last, "priors_")):
        return None
    plain: Any = last
    try:
        if isinstance(last, InUse):
            plain = last._for_priors()  # type: ignore[no-untyped-call]
    except ParameterError:  # on account of costs
        return None
    return (plain if last is model else model), np.asarray(plain.priors_)
