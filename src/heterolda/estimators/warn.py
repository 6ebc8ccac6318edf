"""Warnings about the rows and the rules of a fit."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from itertools import chain
from types import FrameType

import numpy as np

from heterolda.estimators.chosen import Chosen
from heterolda.estimators.gaussians import Gaussians
from heterolda.exceptions import (
    ModelMisfitWarning,
    PrecisionWarning,
    SmallClassWarning,
    TrivialRuleWarning,
)
from heterolda.foundations.arrays import Array, Index, Mask, dense
from heterolda.foundations.wording import listed
from heterolda.solvers import solve
from heterolda.solvers.rules import Rules
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.rows import Rows
from heterolda.statistics.shrinkage import ENOUGH_FREEDOM

# Distance of neighboring numbers, in standard deviations, that draws no warning.
_MAX_ROUNDING = 0.01
# Distance of the means, in deviations of both classes, that draws a warning.
_LARGE_DISTANCE = 2.0
# Classes with fewer rows per feature have uncertain covariances.
ROWS_PER_FEATURE = 5
# Rows of a class that are too few for any estimate of its own.
_FEW_ROWS = 10
# Share of fits to Gaussian classes that may draw a warning of misfit.
_CHANCE = 0.02
# Gains that are chance exceed x standard errors in less than exp(-x / _MISFIT) of the
# pairs, in simulations: the errors are lower bounds, and the gains the best of many.
_MISFIT = 1.2
# Entries of a direction below this share of the largest are rounding errors.
_NO_PART = 1e-10
# Error of a rule below which there is nothing to gain.
_SMALL_ERROR = 1e-3
_MAX_NAMED = 5
_MAX_FEATURES = 3


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the user's line of code, outside the package and scikit-learn."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and _is_inside(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_inside(frame: FrameType) -> bool:
    package = frame.f_globals.get("__name__", "").partition(".")[0]
    return package in ("heterolda", "sklearn")


def warn_of_fit(model: Gaussians, choice: Chosen, rows: Rows | None) -> None:
    """Warn about few rows, lost digits, trivial rules, and missing variance."""
    is_default = model.settings.shrinkage == "auto"
    if is_default and model.chosen is None:
        _warn_of_small_classes(model.features, model.shrinkage.to_pooled)
    elif is_default:
        warn(
            f"there are fewer than {ENOUGH_FREEDOM:g} rows per feature, so left-out "
            "rows choose the shrinkage, as with shrinkage='cv'; use shrinkage=0 for "
            "none",
            SmallClassWarning,
        )
    rules = choice.rules
    _warn_of_misfit(model, choice)
    warn_of_coarse_features(model.features)
    warn_of_trivial_rules(model, rules)
    _warn_of_unresolved_directions(model, choice, rows)
    if rows is None:
        _warn_of_raised_variances(model, rules)


# Rows


def _warn_of_small_classes(stats: ClassStatistics, borrowed: Array) -> None:
    """Warn about classes that borrow from the pooled covariance, or have few rows."""
    if stats.given:
        return
    varies = np.count_nonzero(stats.squares.any(axis=0))
    few = stats.weights < ROWS_PER_FEATURE * varies
    problem = (
        f"fewer than {ROWS_PER_FEATURE} samples per feature, so their covariances are "
        "uncertain and errors under the model too low"
    )
    if borrowed.any():
        few = borrowed > 0
        problem = (
            "no more samples than features plus one, too few for a covariance of their "
            "own, and borrow from the pooled covariance"
        )
    if few.any():
        warn(
            f"classes {listed(stats.classes[few])} have {problem}: use "
            "shrinkage='cv', more samples or fewer features",
            SmallClassWarning,
        )


def warn_of_tiny_data(stats: ClassStatistics) -> None:
    """Warn once about classes of a few rows, or fewer rows than features."""
    tiny = stats.weights < _FEW_ROWS
    if tiny.any():
        problem = f"classes {listed(stats.classes[tiny])} have fewer than {_FEW_ROWS}"
    elif stats.weights.sum() < stats.n_features:
        problem = (
            f"for {stats.n_features} features there are only {stats.weights.sum():g}"
        )
    else:
        return
    warn(
        f"{problem} rows, so rules stay near the Gaussian optimum, lean on a covariance "
        "shared by the classes and on a ridge penalty: check them by cross-validation",
        SmallClassWarning,
    )


def warn_of_coarse_features(stats: ClassStatistics) -> None:
    """Warn about features that have lost their digits to rounding."""
    varying = stats.weights > 1
    variances = stats.squares[varying] / (stats.weights[varying] - 1)[:, None]
    spacing = np.spacing(np.abs(stats.means[varying]))
    coarse = spacing > _MAX_ROUNDING * np.sqrt(variances)
    features = np.flatnonzero(np.any(coarse & (variances > 0), axis=0))
    if len(features):
        warn(
            f"features {listed(features)} vary by little more than float64 rounding at "
            "their magnitude: subtract a constant before converting them",
            PrecisionWarning,
        )


def warn_of_plug_in() -> None:
    """Warn that errors under the model say little about new rows."""
    warn(
        "with fewer rows than features any labels can be separated: error rates and "
        "thresholds under the fitted model mean little; use cross-validation",
        ModelMisfitWarning,
    )


def leading_features(stats: ClassStatistics, coef: Array) -> str:
    """Return the few features on which a rule relies most."""
    sizes = np.abs(coef) * np.sqrt(stats.squares.sum(axis=0))
    leading = np.argsort(-sizes, kind="stable")[:_MAX_FEATURES]
    leading = leading[sizes[leading] >= 0.5 * sizes.max()]
    names = stats.feature_names
    return f"features {listed(leading if names is None else names[leading])}"


# Rules


def warn_of_trivial_rules(model: Gaussians, rules: Rules) -> None:
    """Warn once about the pairs without a useful hyperplane."""
    moments = model.moments
    rules = model.criterion.rate(rules, moments.priors, moments.pairs)[0]
    if not rules.trivial.any():
        return
    warn(
        "the solver found no hyperplane that beats always predicting the likelier "
        f"class, by priors and costs, for: {_names(model, rules.trivial)}. Pass other "
        "priors or costs if the rarer class matters more than its frequency",
        TrivialRuleWarning,
    )


def _warn_of_misfit(model: Gaussians, choice: Chosen) -> None:
    """Warn once about pairs in which rows contradict the model by more than chance.

    At most 2 % of fits to Gaussian classes draw a warning, for any number of pairs.
    """
    limit = _MISFIT * np.log(len(choice.excess) / _CHANCE)
    clear = choice.excess > limit
    if not clear.any():
        return
    worst = model.moments.take(np.argsort(choice.excess)[-1:])
    normal = solve(worst, model.criterion.solver).coef[0]
    normal = normal if model.span is None else model.span.basis @ normal
    warn(
        "the classes are not Gaussian: left-out rows chose rules with fewer errors "
        f"than those of the model for: {_names(model, clear)}. Transform or leave out "
        f"{leading_features(model.features, normal)}, on which the model relies, or "
        "use SmoothedLinearDiscriminant()",
        ModelMisfitWarning,
    )


def _warn_of_raised_variances(model: Gaussians, rules: Rules) -> None:
    """Warn once about classes without variance in a direction in which others vary."""
    floored = rules.floored
    if floored is None or not floored.any():
        return
    k, place = np.argwhere(floored)[0]
    labels = _labels(model, model.pairs[k])
    n_others = np.count_nonzero(floored.any(axis=1)) - 1
    more = f" (similarly in {n_others} more pairs of classes)" if n_others else ""
    warn(
        f"class {labels[place]} has almost no variance in a direction in which "
        f"{labels[1 - place]} varies{more}, so the Gaussian model does not fit: the "
        "rule, model_error_ and gap_ are for a variance raised to 1e-7 of that of both "
        "classes. Use fit(X, y), which checks the rule on the rows, or leave out "
        "features that are constant in a class",
        ModelMisfitWarning,
    )


def _warn_of_unresolved_directions(
    model: Gaussians, choice: Chosen, rows: Rows | None
) -> None:
    """Warn once about a pair that differs where float64 hardly resolves features."""
    pairs = chain(_ignored(model, choice.rules, rows), _blurred(model, choice))
    for k, features in pairs:
        first, second = _labels(model, model.pairs[k])
        warn(
            f"{first} and {second} differ along a direction in which {features} vary "
            "by little more than float64 rounding, at least in one class, where gap_ "
            "proves nothing: leave out features that follow from others, or subtract "
            "one of two nearly equal features from the other before fitting",
            PrecisionWarning,
        )
        return


def _ignored(
    model: Gaussians, rules: Rules, rows: Rows | None
) -> Iterator[tuple[int, str]]:
    """Yield pairs whose means differ along an ignored direction, and its features.

    Rows, if given, show the deviations that are lost in moments.
    """
    moments, dropped = model.moments, rules.dropped
    if dropped is None or model.stats.coordinates is not None:
        return
    pairs = np.flatnonzero(dropped.any(axis=1) & (rules.error > _SMALL_ERROR))
    for k in pairs.tolist():
        i, j = moments.pairs[k]
        variances = np.einsum("kii->i", moments.covariances[[i, j]])
        part = np.abs(dropped[k]) * np.sqrt(variances)
        w = np.where(part > _NO_PART * part.max(), dropped[k], 0.0)
        if rows is None:
            distance = abs(float(w @ (moments.means[i] - moments.means[j])))
        else:
            distance = _distance(rows, model.pairs[k], w)
        if distance > _LARGE_DISTANCE:
            yield k, f"features {listed(np.flatnonzero(part > 0.1 * part.max()))}"


def _blurred(model: Gaussians, choice: Chosen) -> Iterator[tuple[int, str]]:
    """Yield pairs without a certificate because rounding affects their errors."""
    if model.follows_optimum:
        blurred = np.isnan(choice.rules.gap) & ~choice.on_rows
        for k in np.flatnonzero(blurred).tolist():
            yield k, "features"


def _distance(rows: Rows, pair: Index, w: Array) -> float:
    """Return the distance of the class means of rows along w, in deviations."""
    X = dense(rows.X).astype(np.float64, copy=False)
    scores, (i, j) = (X - X[0]) @ w, pair
    first = scores[rows.codes != j if i < 0 else rows.codes == i]
    second = scores[rows.codes == j]
    deviation = np.sqrt(first.var() + second.var())
    return float(abs(first.mean() - second.mean()) / deviation) if deviation else 0.0


def _names(model: Gaussians, mask: Mask) -> str:
    """Return the names of some pairs."""
    pairs = model.pairs[mask]
    names = "; ".join(" and ".join(_labels(model, k)) for k in pairs[:_MAX_NAMED])
    more = len(pairs) - _MAX_NAMED
    return f"{names} and {more} more" if more > 0 else names


def _labels(model: Gaussians, pair: Index) -> list[str]:
    """Return the labels of a pair; -1 stands for all other classes."""
    labels = [*map(repr, model.stats.classes.tolist()), "the rest"]
    return [labels[k] for k in pair]
