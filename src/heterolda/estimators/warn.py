"""Warnings about the rows and the rules of a fit."""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone

from heterolda.estimators.component_guard import Judged
from heterolda.estimators.guard import MORE, ROWS_PER_FEATURE, Verdict
from heterolda.estimators.pair_problem import PairProblem
from heterolda.exceptions import (
    ModelMisfitWarning,
    PrecisionWarning,
    SmallClassWarning,
    TrivialRuleWarning,
)
from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.wording import listed
from heterolda.solvers.rules import Rules
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.rows import Rows
from heterolda.statistics.samples import sampled
from heterolda.statistics.shrinkage import ENOUGH_FREEDOM, Shrinkage

# Distance of neighbouring numbers, in standard deviations, that draws no warning.
_MOST_ROUNDING = 0.01
# Distance of the means, in deviations of both classes, that counts as several.
_SEVERAL = 2.0
# Entries of a direction below this share of the largest are rounding errors.
_NO_PART = 1e-10
# Error of a rule so small that there is nothing to gain.
_LITTLE = 1e-3
_CHANCE = 0.02
_MOST_FEATURES = 3


def _warn(message: str, category: type[Warning]) -> None:
    """Warn at the user's line, outside the package and scikit-learn."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and _is_inside(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_inside(frame: FrameType) -> bool:
    package = frame.f_globals.get("__name__", "").partition(".")[0]
    return package in ("heterolda", "sklearn")


def warn_of_rows(
    stats: ClassStatistics,
    problem: PairProblem,
    shrinkage: Any,
    chosen: Shrinkage | None,
) -> None:
    """Warn of few rows, and of features with few digits.

    `shrinkage` is the parameter, and `chosen` the shrinkage that rows chose.
    """
    if shrinkage is None and chosen is None:
        warn_of_small_classes(stats, problem.shrinkage.to_pooled)
    elif shrinkage is None:
        _warn_of_few_rows()
    warn_of_coarse_features(stats)


def warn_of_rules(
    stats: ClassStatistics,
    problem: PairProblem,
    rules: Rules,
    rows: Rows | None,
    verdict: Verdict | None,
    *,
    unchecked: bool,
) -> None:
    """Warn of rules that are trivial or misleading, and of directions not resolved.

    `unchecked` means that there were no rows to check the rules on.
    """
    _warn_of_trivial_rules(problem, rules)
    if verdict is not None:
        _warn_of_misfit(stats, problem.pairs, verdict)
    told = _warn_of_dropped_directions(problem, rules, rows)
    if not told and problem.follows_optimum and not problem.has_few_rows:
        _warn_of_blurred_directions(problem, rules)
    if unchecked:
        _warn_of_raised_variances(problem, rules)


def _warn_of_few_rows() -> None:
    """Warn that left-out rows have chosen the shrinkage by default."""
    _warn(
        f"there are fewer than {ENOUGH_FREEDOM:g} rows per feature, so left-out rows "
        "choose the shrinkage, as with shrinkage='cv'; use shrinkage=0 for none",
        SmallClassWarning,
    )


def warn_of_small_classes(
    statistics: ClassStatistics, borrowed: Array, remedy: str = "cv"
) -> None:
    """Warn of classes that borrow from others, or else of classes with few samples.

    `borrowed` is the share of the pooled covariance in that of each class; `remedy` is
    the value of `shrinkage` to suggest.
    """
    enough = ROWS_PER_FEATURE * statistics.n_features
    if statistics.given or (statistics.weights.min() >= enough and not borrowed.any()):
        return
    varies = np.count_nonzero(statistics.squares.any(axis=0))
    few = statistics.weights < ROWS_PER_FEATURE * varies
    what = (
        f"fewer than {ROWS_PER_FEATURE} samples per feature, so their covariances are "
        "uncertain and errors under the model too low"
    )
    if borrowed.any():
        few = borrowed > 0
        what = (
            "no more samples than features plus one, too few for a covariance of their "
            "own, and borrow from the pooled covariance"
        )
    if few.any():
        _warn(
            f"classes {listed(statistics.classes[few])} have {what}: use "
            f"shrinkage={remedy!r}, more samples or fewer features",
            SmallClassWarning,
        )


def warn_of_coarse_features(statistics: ClassStatistics) -> None:
    """Warn of features that have lost their digits to rounding."""
    own = statistics.weights > 1
    means, freedom = statistics.means[own], statistics.weights[own] - 1
    variances = statistics.squares[own] / freedom[:, None]
    # Most fits pass this test of all features at once.
    if np.spacing(np.abs(means).max()) <= _MOST_ROUNDING * np.sqrt(variances.min()):
        return
    coarse = np.spacing(np.abs(means)) > _MOST_ROUNDING * np.sqrt(variances)
    far = np.flatnonzero(np.any(coarse & (variances > 0), axis=0))
    if len(far):
        _warn(
            f"features {listed(far)} vary by little more than float64 rounding at "
            "their magnitude: subtract a constant before converting them",
            PrecisionWarning,
        )


def _warn_of_misfit(
    statistics: ClassStatistics, pairs: Index, verdict: Verdict
) -> None:
    """Warn that the model misleads for some pairs, and name the features.

    The errors must differ by more than chance: with Gaussian classes, a few fits in a
    hundred draw a warning, counting all pairs together.
    """
    if not verdict.guarded.any():
        return
    excess = verdict.errors[0] - verdict.errors[1]
    limit = ndtri(1 - _CHANCE / len(pairs)) * verdict.deviation
    clear = np.flatnonzero(verdict.guarded & (excess > limit))
    if not len(clear):
        return
    worst = clear[excess[clear].argmax()]
    _warn(
        "the classes are not Gaussian: for the pairs of guarded_, the best rule of the "
        "Gaussian model makes more errors on the rows than the rule for equal "
        "covariances, which they now use. Check "
        f"{_leading_features(statistics, verdict.coef[worst])}, on which the model "
        "relies: transform such features, leave them out, or use recommended()",
        ModelMisfitWarning,
    )


def warn_of_discarded_rows(
    model: Any, statistics: ClassStatistics, rows: Rows | None
) -> None:
    """Warn that a covariance estimator makes clearly more errors than Fisher's rules.

    Fisher's rules use the statistics of all rows. A robust rule errs on outliers, so
    the data alone cannot tell which is right; nor can few rows.
    """
    enough = statistics.weights.min() >= ROWS_PER_FEATURE * statistics.n_features
    if rows is None or not enough or (model.criterion, model.costs) != ("bayes", None):
        return
    plain = clone(model).set_params(covariance_estimator=None, solver="fisher")
    with warnings.catch_warnings(action="ignore"):
        plain.fit_statistics(statistics)
    wrong = np.array(
        [one._blockwise(rows.X, "winners") != rows.codes for one in (model, plain)]
    )
    weight = rows.frequencies
    ours, fisher = (wrong @ weight / weight.sum()).tolist()
    deviation = np.sqrt((wrong[0] != wrong[1]) @ weight) / weight.sum()
    if ours - fisher <= max(MORE * fisher, -ndtri(_CHANCE) * deviation):
        return
    name = model.statistics_.estimated_by
    _warn(
        f"covariance_estimator {name} misclassifies more of the training rows than "
        "Fisher's rules fitted to all of them. This is as it should be if these rows "
        f"are outliers. If not, {name} does not describe the classes: transform skewed "
        "features, choose another estimator, or leave it out",
        ModelMisfitWarning,
    )


def warn_of_bad_components(statistics: ClassStatistics, tried: list[Judged]) -> None:
    """Warn that the model misleads, and say what the guard did about it.

    There is no warning if the difference may be chance.
    """
    first, last = tried[0], tried[-1]
    if not (first.is_worse and first.is_clear):
        return
    done = "The class covariances were shrunk towards the pooled one"
    if last.added == 1:
        done = "The components of linear discriminant analysis now come first"
    elif last is first:
        done = "Shrinking covariances towards the pooled one does not help"
    remedy = ", or use fewer components" if last.is_worse else ""
    features = _leading_features(statistics, first.subspace.scalings[:, 0])
    _warn(
        "the classes are not Gaussian: more training rows are misclassified in the "
        "components of the Gaussian model than in those of linear discriminant "
        f"analysis. {done}. Check {features}, on which the model relies: transform "
        f"such features or leave them out{remedy}",
        ModelMisfitWarning,
    )


def _leading_features(statistics: ClassStatistics, coef: Array) -> str:
    """Return the few features on which a rule relies most."""
    spread = np.sqrt(statistics.squares.sum(axis=0))
    sizes = np.abs(coef) * spread
    leading = np.argsort(-sizes, kind="stable")[:_MOST_FEATURES]
    leading = leading[sizes[leading] >= 0.5 * sizes.max()]
    names = statistics.feature_names
    return f"features {listed(leading if names is None else names[leading])}"


def _warn_of_trivial_rules(problem: PairProblem, rules: Rules) -> None:
    """Warn once of the pairs without a useful hyperplane."""
    classes, pairs = problem.stats.classes, problem.pairs[rules.trivial]
    if len(pairs):
        labels = [*map(repr, classes.tolist()), "the rest"]
        names = "; ".join(f"{labels[i]} and {labels[j]}" for i, j in pairs[:5])
        more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
        answer, remedy = (
            "predicting the likelier class",
            "Pass other priors if the rarer class matters more than its frequency",
        )
        if problem.criterion.costs is not None:
            answer, remedy = (
                "predicting the same class, under these priors and costs,",
                "Pass less unequal costs, or other priors, if both classes matter",
            )
        _warn(
            f"the solver found no hyperplane that beats always {answer} for: "
            f"{names}{more}. {remedy}",
            TrivialRuleWarning,
        )


def _warn_of_raised_variances(problem: PairProblem, rules: Rules) -> None:
    """Warn once of classes without variance in a direction in which others vary."""
    classes, pairs, floored = problem.stats.classes, problem.pairs, rules.floored
    if floored is None or not floored.any():
        return
    labels = [*map(repr, classes.tolist()), "the rest"]
    k, first = (int(place) for place in np.argwhere(floored)[0])
    flat, varied = (labels[i] for i in pairs[k, [first, 1 - first]])
    others = np.count_nonzero(floored.any(axis=1)) - 1
    more = f" (similarly in {others} more pairs of classes)" if others else ""
    _warn(
        f"class {flat} has almost no variance in a direction in which {varied} "
        f"varies{more}, so the Gaussian model does not fit: the rule, bayes_error_ and "
        "gap_ are for a variance raised to 1e-7 of that of both classes. Use "
        "fit(X, y), which checks the rule on the rows, or leave out features that are "
        "constant in a class",
        ModelMisfitWarning,
    )


def _warn_of_dropped_directions(
    problem: PairProblem, rules: Rules, rows: Rows | None
) -> bool:
    """Warn once of features whose differences were ignored but matter.

    Rows, if there are any, have the deviations that moments lost. Return whether there
    was a warning.
    """
    dropped, moments = rules.dropped, problem.moments
    classes, pairs = problem.stats.classes, problem.pairs
    if dropped is None or not dropped.any():
        return False
    means, covariances = moments.means, moments.covariances
    rows = None if rows is None else sampled(rows)
    for k in np.flatnonzero(dropped.any(axis=1) & (rules.error > _LITTLE)):
        two = moments.pairs[k]
        part = np.abs(dropped[k]) * np.sqrt(np.einsum("kii->i", covariances[two]))
        # Small entries are rounding errors of the large ones.
        w = np.where(part > _NO_PART * part.max(), dropped[k], 0.0)
        distance = abs(float(w @ (means[two[0]] - means[two[1]])))
        if rows is not None:
            i, j = pairs[k]
            first = range(len(classes)) if i < 0 else [i]
            others = [rows.of_class(place).X for place in first if place != j]
            distance = _distance(np.concatenate(others), rows.of_class(j).X, w)
        if distance > _SEVERAL:
            break
    else:
        return False
    names = [*map(repr, classes.tolist()), "the rest"]
    i, j = pairs[k]
    features = np.flatnonzero(part > 0.1 * part.max())
    _warn(
        f"features {listed(features)} are linearly dependent up to float64 rounding, "
        f"so their smallest differences were ignored, but {names[i]} and {names[j]} "
        "differ there by several standard deviations: subtract one of the nearly equal "
        "features from the other before fitting",
        PrecisionWarning,
    )
    return True


def _warn_of_blurred_directions(problem: PairProblem, rules: Rules) -> None:
    """Warn once of pairs whose errors are blurred by rounding, if that matters.

    It does if the rule errs and the means differ by a deviation in such directions.
    """
    blurred = np.flatnonzero(np.isnan(rules.gap) & (rules.error > _LITTLE))
    if len(blurred):
        far = problem.moments.take(blurred).axes().blurred_distance() > 1
        blurred = blurred[far]
    if not len(blurred):
        return
    i, j = problem.pairs[blurred[0]]
    names = [*map(repr, problem.stats.classes.tolist()), "the rest"]
    others = "" if len(blurred) == 1 else " and other pairs"
    _warn(
        f"{names[i]} and {names[j]}{others} differ along directions in which they vary "
        "by little more than float64 rounding, so gap_ is NaN and proves nothing: "
        "leave out features that follow from others, or subtract one of two nearly "
        "equal features from the other",
        PrecisionWarning,
    )


def _distance(first: Array, second: Array, w: Array) -> float:
    """Return the distance of the means of two classes along w, in deviations."""
    origin = first[0].astype(float)
    a, b = (first - origin) @ w, (second - origin) @ w
    deviation = np.sqrt(a.var() + b.var())
    return float(abs(a.mean() - b.mean()) / deviation) if deviation else 0.0


def warn_of_plug_in() -> None:
    """Warn that errors under the model are not those of rows."""
    _warn(
        "with fewer rows than features any labels can be separated: error rates and "
        "thresholds under the fitted model mean little; use cross-validation",
        ModelMisfitWarning,
    )
