"""Rules and components as arrays, all that an export to C or ONNX needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from heterolda.estimators.bounded_error import BoundedErrorClassifier, linear_form
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.local_search import LocalNeighborhoodSearch
from heterolda.estimators.posterior import LogOdds, SidedLogOdds
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.estimators.votes import OneVsAll, OneVsOne, vote_weights
from heterolda.export._steps import own_steps
from heterolda.foundations.arrays import Array
from heterolda.statistics.power import PowerTransformation

Array32 = NDArray[np.float32]

CLASSIFIERS = (
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
    BoundedErrorClassifier,
)

# A class is taken to reach so many standard deviations from its mean. By Chebyshev's
# inequality at most 1 row in 64 is farther away, whatever the distribution.
_REACH = 8.0
# Centres are multiples of the power of two that is so many digits below the range.
_GRID_BITS = 5
_EXTREME = (
    "model has scores too large or too small for other formats: fit it to features "
    "in other units"
)


@dataclass(frozen=True)
class Rules:
    """Linear rules and how they decide together.

    Attributes
    ----------
    kind : {"binary", "votes", "coupled", "one-vs-all"}
        What decides: the sign of the only score, the sums of votes, the coupled
        probabilities, or the log-odds of each class against all others.
    classes : ndarray of shape (n_classes,)
        Labels.
    coef : ndarray of shape (n_rules, n_features)
        Normals; a positive score means the second class of a pair.
    intercept : ndarray of shape (n_rules,)
        Offsets.
    vote_weights : ndarray of shape (n_rules,)
        What the vote of each pair counts.
    log_odds : LogOdds or SidedLogOdds
        Log-odds of each rule as a function of its score.
    temperature : float
        Number by which the logarithms of probabilities are divided.
    ranges : ndarray of shape (n_features, 2) or None
        Least and largest values that the features should take, by the means and
        variances of the classes; None if these are not known, or not of features.
    transformation : PowerTransformation or None
        What features are transformed by before the rules see them.
    """

    kind: str
    classes: NDArray[Any]
    coef: Array
    intercept: Array
    vote_weights: Array
    log_odds: LogOdds | SidedLogOdds
    temperature: float
    ranges: Array | None
    transformation: PowerTransformation | None = None

    @property
    def pairs(self) -> NDArray[np.intp]:
        """First and second class of each rule of one-vs-one, in order."""
        return np.column_stack(np.triu_indices(len(self.classes), 1))

    def centred(self) -> tuple[Array32, Array32, Array32]:
        """Centres of the features, normals and offsets in single precision.

        The scores are ``(x - centre) @ coef.T + offset``. Without the centres, sums of
        terms much larger than the score would have to cancel where the data are far
        from zero. Centres are multiples of a power of two, near the spread of the
        feature, so that the differences of most rows are exact.

        They are zero where the data are near zero, and where nothing is known of them.
        """
        return _in_single(self._centres(), self.coef, self.intercept)

    def _centres(self) -> Array:
        """Centres of the features, rounded to about their spread."""
        if self.ranges is None:
            return np.zeros(self.coef.shape[1])
        low, high = self.ranges.T
        middle, width = (low + high) / 2, high - low
        step = np.ldexp(1.0, np.frexp(width)[1] - _GRID_BITS)
        rounded: Array = np.where(width > 0, np.round(middle / step) * step, middle)
        return rounded


def centred_projection(model: Any) -> tuple[Array32, Array32, Array32]:
    """Centres, scalings and offsets of a projection in single precision.

    The components are ``(x - centre) @ scalings + offset``, where the offset makes up
    for the rounding of the mean; see :meth:`Rules.centred`.
    """
    coef = model.scalings_.T
    centre, coef32, offset = _in_single(model.mean_, coef, -coef @ model.mean_)
    return centre, coef32.T, offset


def _in_single(
    centre: Array, coef: Array, intercept: Array
) -> tuple[Array32, Array32, Array32]:
    """Centres, normals and offsets in single precision."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        single = centre.astype(np.float32)
        offset = (intercept + coef @ single).astype(np.float32)
        found = single, coef.astype(np.float32), offset
    if not all(np.isfinite(array).all() for array in found):
        raise ValueError(
            "model has coefficients beyond the range of single precision: export "
            "in double precision, or scale the features before the fit"
        )
    return found


def said_of_gaps(model: Any) -> str:
    """Which predictions of a model no other format has; empty if there are none."""
    last = model[-1] if isinstance(model, Pipeline) else model
    if not get_tags(last).input_tags.allow_nan:
        return ""
    return (
        "The Python model also predicts rows with missing values, and this does not: "
        "where the same features are always missing, export model.for_features(...)."
    )


def read_rules(model: Any) -> Rules:
    """Read the rules of a fitted classifier, or of a pipeline as rules on its features.

    Projections are linear, so that a rule on components is one on features.
    """
    if type(model) is Pipeline:
        return _rules_on_features(model)
    model = linear_form(model)
    if not isinstance(model, CLASSIFIERS):
        raise TypeError(
            "model must be a fitted GaussianLinearDiscriminant, "
            "SmoothedLinearDiscriminant, LocalNeighborhoodSearch or "
            "BoundedErrorClassifier, or a pipeline of projections that ends in one of "
            "the first three, "
            f"got {type(model).__name__}; of a parameter search, pass best_estimator_"
        )
    fitted: Any = model
    fitted._check_ready()
    committee = fitted._committee
    planes = committee.planes
    transformation = getattr(fitted, "transformation_", None)
    weights = np.ones(len(planes.error))
    kind = "binary"
    log_odds = committee.posterior
    if isinstance(log_odds, LogOdds) and np.any(log_odds.unit != 1):
        raise ValueError(_EXTREME)
    if isinstance(committee, OneVsAll):
        kind = "one-vs-all"
    elif isinstance(committee, OneVsOne):
        kind = "coupled" if committee.voting == "coupled" else "votes"
        weights = vote_weights(planes.error, committee.n_classes, committee.voting)
    return Rules(
        kind=kind,
        classes=fitted.classes_,
        coef=fitted.coef_,
        intercept=fitted.intercept_,
        vote_weights=weights,
        log_odds=log_odds,
        temperature=committee.temperature,
        ranges=None if transformation else _ranges(model),
        transformation=transformation,
    )


def _rules_on_features(model: Pipeline) -> Rules:
    """The rules of a pipeline's last step, as functions of the features."""
    *projections, (_, last) = own_steps(model, "convert the whole by to_onnx")
    rules = read_rules(last)
    if rules.transformation and projections:
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
        raise ValueError(_EXTREME)
    return replace(
        rules,
        coef=coef,
        intercept=intercept,
        ranges=_ranges(model[0]) if projections else rules.ranges,
    )


def _ranges(model: Any) -> Array | None:
    """What the class statistics say of the ranges of the features, if there are any."""
    start = getattr(model, "estimator_", model)
    statistics = getattr(start, "statistics_", None)
    if statistics is None:
        return None
    scatter = statistics.squares
    with np.errstate(over="ignore", invalid="ignore"):
        spread = _REACH * np.sqrt(scatter / (statistics.weights - 1)[:, None])
        low, high = statistics.means - spread, statistics.means + spread
        ranges = np.column_stack([low.min(axis=0), high.max(axis=0)])
        return ranges if np.isfinite(ranges[:, 1] - ranges[:, 0]).all() else None
