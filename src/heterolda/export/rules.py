"""Describe a fitted classifier by linear rules, for export to C and ONNX."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from heterolda.estimators.base import OTHERS
from heterolda.estimators.bounded_error import BoundedErrorClassifier, linear_form
from heterolda.estimators.fit_record import feature_meanings, fewer_rows_than_features
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.estimators.votes import OneVsOne, OneVsRest
from heterolda.export.models import CLASSIFIERS, own_steps
from heterolda.foundations.arrays import Array
from heterolda.inspection.sentences import span
from heterolda.kernels.coupling import Curve
from heterolda.statistics.power import PowerTransformation

Array32 = NDArray[np.float32]

EXPORTED = (*CLASSIFIERS, BoundedErrorClassifier)


@dataclass(frozen=True)
class Description:
    """Linear rules, how they decide together, and facts about them."""

    kind: str  # "binary", "pairs", "votes" or "one-vs-rest"
    classes: NDArray[Any]
    coef: Array  # a positive score means the second class of a pair
    intercept: Array
    vote_weights: Array  # of the pairs; empty if they do not vote
    curve: Curve  # log-odds of each rule as a function of its score
    powers: PowerTransformation | None  # of the features that the rules take
    center: Array  # mean of the features, or zero
    features: list[str] | None  # names and categories
    origin: list[str]  # lines "Topic: text" on the origin of the rules

    def in_single(self) -> tuple[Array32, Array32, Array32]:
        """Return center, normals and offsets in single precision."""
        return in_single(self.center, self.coef, self.intercept)


def in_single(
    center: Array, coef: Array, intercept: Array
) -> tuple[Array32, Array32, Array32]:
    """Return center, normals and offsets in single precision.

    The scores are ``(x - center) @ coef.T + offset``. Without the center, large terms
    would have to cancel if the data are far from zero. The offsets correct for the
    rounding of the center.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        single = center.astype(np.float32)
        offset = (intercept + coef @ single).astype(np.float32)
        arrays = single, coef.astype(np.float32), offset
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError(
            "model has coefficients beyond the range of single precision: export "
            "in double precision, or scale the features before the fit"
        )
    return arrays


def describe(model: Any) -> Description:
    """Describe a fitted classifier, or a pipeline as rules on its features."""
    if type(model) is Pipeline:
        return _describe_pipeline(model)
    fitted: Any = linear_form(model)
    if not issubclass(type(fitted), EXPORTED):
        raise TypeError(
            "model must be a fitted GaussianLinearDiscriminant, "
            "SmoothedLinearDiscriminant, LocalNeighborhoodSearch or "
            "BoundedErrorClassifier, or a pipeline of projections that ends in one of "
            f"the first three, got {type(model).__name__}; for a parameter search, "
            "pass best_estimator_"
        )
    fitted._check_ready()
    if np.ptp(getattr(fitted, "thresholds_", 0.0)) > 0:
        raise ValueError(
            "model leaves rows undecided between two bounds, which C and ONNX cannot: "
            "bound the errors of one class, or predict with heterolda"
        )
    if isinstance(fitted, SmoothedLinearDiscriminant) and fitted.missing == "em":
        raise ValueError(
            "model completes rows by missing='em', which C and ONNX cannot: export its "
            "rules for complete rows after set_params(missing='error')"
        )
    committee, (coef, intercept, powers) = fitted._committee, fitted._rules
    weights, kind = np.ones(0), "binary"
    if isinstance(committee, OneVsRest):
        kind = "one-vs-rest"
    elif fitted._votes():
        kind, weights = "votes", committee.vote_weights
    elif isinstance(committee, OneVsOne):
        kind = "pairs"
    return Description(
        kind=kind,
        classes=fitted.classes_,
        coef=coef,
        intercept=intercept,
        vote_weights=weights,
        curve=committee.curve,
        powers=powers,
        center=_center(fitted),
        features=feature_meanings(model),
        origin=_origin(fitted),
    )


def _describe_pipeline(model: Pipeline) -> Description:
    """Describe the last step of a pipeline by rules on the features.

    Projections are linear, so a rule on components is a rule on features.
    """
    *projections, (_, last) = own_steps(model, "convert the whole by to_onnx")
    rules = describe(last)
    if not projections:
        return rules
    if rules.powers:
        raise ValueError(
            "model transforms components, so it has no linear rules on features: "
            "convert the whole pipeline with to_onnx, or fit it without transformation"
        )
    coef, intercept = rules.coef, rules.intercept
    with np.errstate(over="ignore", invalid="ignore"):
        for _, projection in reversed(projections):
            projection._check_ready()
            coef = coef @ projection.scalings_.T
            intercept = intercept - coef @ projection.mean_
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise ValueError(
            "model has scores too large or too small for other formats: fit it to "
            "features in other units"
        )
    return replace(
        rules,
        coef=coef,
        intercept=intercept,
        center=model[0].mean_,
        features=feature_meanings(model),
    )


def _center(model: Any) -> Array:
    """Return the mean of the features, or zero if it is unknown."""
    stats = getattr(getattr(model, "estimator_", model), "statistics_", None)
    if stats is None:
        return np.zeros(model.n_features_in_)
    with np.errstate(over="ignore", invalid="ignore"):
        center: Array = stats.weights / stats.weights.sum() @ stats.means
    return center


def _origin(model: Any) -> list[str]:
    """Return lines on the origin and the error of the rules."""
    if hasattr(model, "n_errors_"):
        return ["Rules: found by local search, Algorithm 2"]
    if hasattr(model, "widths_"):
        error = model.left_out_error_
        lines = [
            f"Rules: smoothed, of width {span(model.widths_)}",
            f"Error: {error.mean():.4g} of left-out rows on average over the rules, "
            f"{error.max():.4g} at most, which is optimistic",
        ]
        if model.transformation_ is not None:
            lines.append(
                "Transformation: a power of each feature, by a logarithm and an "
                "exponential of <math.h>: link with -lm"
            )
        return lines
    bounds, error = getattr(model, "bounds_", []), model.model_error_
    lines = [f"Bound: {bound}" for bound in bounds]
    lines += [f"Rules: {decider}" for decider in _deciders(model)]
    if fewer_rows_than_features(model, getattr(model, "statistics_", None)):
        return lines
    return [
        *lines,
        f"Error: {error.mean():.4g} on average over the rules, {error.max():.4g} at "
        "most, if the classes were exactly normal",
    ]


def _deciders(model: Any) -> list[str]:
    """Return the kinds of rules and their pairs of classes, most frequent first."""
    labels = [*map(str, model.classes_.tolist()), OTHERS]
    pairs = [f"{labels[i]} and {labels[j]}" for i, j in model.pairs_.tolist()]
    rule_of = np.where(
        model.trivial_,
        "always the likelier class",
        np.where(
            model.chosen_on_rows_,
            "on the curve of optimal rules, chosen by left-out rows",
            str(model._settings["solver"]),
        ),
    ).tolist()
    (main, n), *others = Counter(rule_of).most_common()
    lines = [main if n == len(pairs) else f"{main}, all pairs except those below"]
    for rule, n in others:
        pairs_of_rule = [
            pair for pair, name in zip(pairs, rule_of, strict=True) if name == rule
        ]
        lines.append(f"{rule}, {n} of {len(pairs)} pairs: {'; '.join(pairs_of_rule)}")
    return lines
