"""Which steps the pipelines may have that a model file or a C header can hold."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.local_search import LocalNeighborhoodSearch
from heterolda.estimators.projection import HeteroscedasticProjection
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant

_LAST = (
    HeteroscedasticProjection,
    GaussianLinearDiscriminant,
    SmoothedLinearDiscriminant,
    LocalNeighborhoodSearch,
)


def own_steps(model: Pipeline, remedy: str) -> list[tuple[str, Any]]:
    """Names and estimators of a pipeline; TypeError if one of them is not ours.

    `remedy` says what else to do than to leave that step out.
    """
    *before, (name, last) = model.steps
    wrong = [step for step in before if type(step[1]) is not HeteroscedasticProjection]
    if type(last) not in _LAST:
        wrong.append((name, last))
    if wrong:
        name, step = wrong[0]
        kind = repr(step) if isinstance(step, str) else type(step).__name__
        raise TypeError(
            f"model has the step {name!r}, {kind}, but may have only "
            "HeteroscedasticProjection, and GaussianLinearDiscriminant, "
            "SmoothedLinearDiscriminant or LocalNeighborhoodSearch as its last step: "
            f"fit without it, or {remedy}"
        )
    return [*before, (name, last)]
