"""Warnings about the rows and the rules of a fit."""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone

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
from heterolda.statistics.shrinkage import ENOUGH_FREEDOM
from heterolda.statistics.wide import Span

# Distance of neighboring numbers, in standard deviations, that draws no warning.
_MOST_ROUNDING = 0.01
# Distance of the means, in deviations of both classes, that counts as several.
_SEVERAL = 2.0
# Entries of a direction below this share of the largest are rounding errors.
_NO_PART = 1e-10
# Error of a rule so small that there is nothing to gain.
_LITTLE = 1e-3
_CHANCE = 0.02
_MOST_NAMED = 5
_MOST_FEATURES = 3


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the user's line, outside the package and scikit-learn."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and _is_inside(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_inside(frame: FrameType) -> bool:
    package = frame.f_globals.get("__name__", "").partition(".")[0]
    return package in ("heterolda", "sklearn")


def warn_of_rows(stats: ClassStatistics, problem: PairProblem) -> None:
    """Warn of few rows, and of features with few digits."""
    if problem.settings.shrinkage is None and problem.chosen is None:
        warn_of_small_classes(stats, problem.shrinkage.to_pooled)
    elif problem.settings.shrinkage is None:
        warn(
            f"there are fewer than {ENOUGH_FREEDOM:g} rows per feature, so left-out "
            "rows choose the shrinkage, as with shrinkage='cv'; use shrinkage=0 for "
            "none",
            SmallClassWarning,
        )
    warn_of_coarse_features(stats)


def warn_of_small_classes(
    statistics: ClassStatistics, borrowed: Array, remedy: str = "cv"
) -> None:
    """Warn of classes that borrow from others, or else of classes with few samples.

    `borrowed` is the share of the pooled covariance in that of each class; `remedy` is
    the value of `shrinkage` to suggest.
    """
    if statistics.given:
        return
    varies = np.count_nonzero(statistics.squares.any(axis=0))
    few = statistics.weights < ROWS_PER_FEATURE * varies
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
            f"classes {listed(statistics.classes[few])} have {problem}: use "
            f"shrinkage={remedy!r}, more samples or fewer features",
            SmallClassWarning,
        )


def warn_of_coarse_features(statistics: ClassStatistics) -> None:
    """Warn of features that have lost their digits to rounding."""
    own = statistics.weights > 1
    means, freedom = statistics.means[own], statistics.weights[own] - 1
    variances = statistics.squares[own] / freedom[:, None]
    coarse = np.spacing(np.abs(means)) > _MOST_ROUNDING * np.sqrt(variances)
    far = np.flatnonzero(np.any(coarse & (variances > 0), axis=0))
    if len(far):
        warn(
            f"features {listed(far)} vary by little more than float64 rounding at "
            "their magnitude: subtract a constant before converting them",
            PrecisionWarning,
        )


def warn_of_misfit(
    statistics: ClassStatistics, pairs: Index, verdict: Verdict, span: Span | None
) -> None:
    """Warn that the model misleads for some pairs, and name the features.

    The errors must differ by more than chance: with Gaussian classes, a few fits in a
    hundred draw a warning, counting all pairs together.
    """
    excess = verdict.errors[0] - verdict.errors[1]
    limit = ndtri(1 - _CHANCE / len(pairs)) * verdict.deviation
    clear = np.flatnonzero(verdict.guarded & (excess > limit))
    if not len(clear):
        return
    coef = verdict.coef[clear[excess[clear].argmax()]]
    features = leading_features(statistics, coef if span is None else span.basis @ coef)
    warn(
        "the classes are not Gaussian: for the pairs of guarded_, the best rule of the "
        "Gaussian model makes more errors on the rows than the rule for equal "
        f"covariances, which they now use. Check {features}, on which the model "
        "relies: transform such features, leave them out, or use recommended()",
        ModelMisfitWarning,
    )


def warn_of_discarded_rows(model: Any, statistics: ClassStatistics, rows: Rows) -> None:
    """Warn that a covariance estimator makes clearly more errors than Fisher's rules.

    Fisher's rules use the statistics of all rows. A robust rule errs on outliers, so
    the data alone cannot tell which is right; nor can few rows.
    """
    enough = statistics.weights.min() >= ROWS_PER_FEATURE * statistics.n_features
    if not enough or (model.criterion, model.costs) != ("bayes", None):
        return
    plain = clone(model).set_params(covariance_estimator=None, solver="fisher")
    with warnings.catch_warnings(action="ignore"):
        plain.fit_statistics(statistics)
    wrong, also = (
        m._blockwise(rows.X, "winners") != rows.codes for m in (model, plain)
    )
    weight = rows.frequencies / rows.totals.sum()
    ours, fishers = wrong @ weight, also @ weight
    deviation = np.sqrt((wrong != also) @ weight / rows.totals.sum())
    if ours - fishers <= max(MORE * fishers, -ndtri(_CHANCE) * deviation):
        return
    name = model.statistics_.estimated_by
    warn(
        f"covariance_estimator {name} misclassifies more of the training rows than "
        "Fisher's rules fitted to all of them. This is as it should be if these rows "
        f"are outliers. If not, {name} does not describe the classes: transform skewed "
        "features, choose another estimator, or leave it out",
        ModelMisfitWarning,
    )


def leading_features(statistics: ClassStatistics, coef: Array) -> str:
    """Return the few features on which a rule relies most."""
    spread = np.sqrt(statistics.squares.sum(axis=0))
    sizes = np.abs(coef) * spread
    leading = np.argsort(-sizes, kind="stable")[:_MOST_FEATURES]
    leading = leading[sizes[leading] >= 0.5 * sizes.max()]
    names = statistics.feature_names
    return f"features {listed(leading if names is None else names[leading])}"


def warn_of_trivial_rules(problem: PairProblem, rules: Rules) -> None:
    """Warn once of the pairs without a useful hyperplane."""
    pairs = problem.pairs[rules.trivial]
    if not len(pairs):
        return
    labels = _labels(problem)
    names = "; ".join(f"{labels[i]} and {labels[j]}" for i, j in pairs[:_MOST_NAMED])
    if len(pairs) > _MOST_NAMED:
        names += f" and {len(pairs) - _MOST_NAMED} more"
    warn(
        "the solver found no hyperplane that beats always predicting the likelier "
        f"class, by priors and costs, for: {names}. Pass other priors or costs if the "
        "rarer class matters more than its frequency",
        TrivialRuleWarning,
    )


def warn_of_raised_variances(problem: PairProblem, rules: Rules) -> None:
    """Warn once of classes without variance in a direction in which others vary."""
    floored = rules.floored
    if floored is None or not floored.any():
        return
    labels = _labels(problem)
    k, first = (int(place) for place in np.argwhere(floored)[0])
    flat, varied = (labels[i] for i in problem.pairs[k, [first, 1 - first]])
    others = np.count_nonzero(floored.any(axis=1)) - 1
    more = f" (similarly in {others} more pairs of classes)" if others else ""
    warn(
        f"class {flat} has almost no variance in a direction in which {varied} "
        f"varies{more}, so the Gaussian model does not fit: the rule, bayes_error_ and "
        "gap_ are for a variance raised to 1e-7 of that of both classes. Use "
        "fit(X, y), which checks the rule on the rows, or leave out features that are "
        "constant in a class",
        ModelMisfitWarning,
    )


def warn_of_unresolved_directions(
    problem: PairProblem, rules: Rules, rows: Rows | None, span: Span | None
) -> None:
    """Warn once of directions that rounding hides or blurs."""
    told = span is None and _warn_of_dropped_directions(problem, rules, rows)
    if not told and problem.follows_optimum and not problem.has_few_rows:
        _warn_of_blurred_directions(problem, rules)


def _warn_of_dropped_directions(
    problem: PairProblem, rules: Rules, rows: Rows | None
) -> bool:
    """Warn of features whose differences were ignored but matter; return if so.

    Rows, if there are any, have the deviations that moments lost.
    """
    dropped, moments, pairs = rules.dropped, problem.moments, problem.pairs
    if dropped is None or not dropped.any():
        return False
    for k in np.flatnonzero(dropped.any(axis=1) & (rules.error > _LITTLE)):
        two = moments.pairs[k]
        variances = np.einsum("kii->i", moments.covariances[two])
        part = np.abs(dropped[k]) * np.sqrt(variances)
        # Small entries are rounding errors of the large ones.
        w = np.where(part > _NO_PART * part.max(), dropped[k], 0.0)
        distance = abs(float(w @ (moments.means[two[0]] - moments.means[two[1]])))
        if rows is not None:
            i, j = pairs[k]
            others = range(len(problem.priors)) if i < 0 else [i]
            first = [rows.of_class(c).X for c in others if c != j]
            distance = _distance(np.concatenate(first), rows.of_class(j).X, w)
        if distance <= _SEVERAL:
            continue
        labels = _labels(problem)
        features = np.flatnonzero(part > 0.1 * part.max())
        warn(
            f"features {listed(features)} are linearly dependent up to float64 "
            f"rounding, so their smallest differences were ignored, but "
            f"{labels[pairs[k, 0]]} and {labels[pairs[k, 1]]} differ there by several "
            "standard deviations: subtract one of the nearly equal features from the "
            "other before fitting",
            PrecisionWarning,
        )
        return True
    return False


def _warn_of_blurred_directions(problem: PairProblem, rules: Rules) -> None:
    """Warn of pairs without a certificate, if their means differ where rounding blurs.

    It matters if the rule errs and the difference is a deviation or more.
    """
    blurred = np.flatnonzero(np.isnan(rules.gap) & (rules.error > _LITTLE))
    if len(blurred):
        axes = problem.moments.take(blurred).axes()
        blurred = blurred[axes.blurred_distance() > 1]
    if not len(blurred):
        return
    first, second = (_labels(problem)[k] for k in problem.pairs[blurred[0]])
    others = "" if len(blurred) == 1 else " and other pairs"
    warn(
        f"{first} and {second}{others} differ along directions in which they vary by "
        "little more than float64 rounding, so gap_ is NaN and proves nothing: leave "
        "out features that follow from others, or subtract one of two nearly equal "
        "features from the other",
        PrecisionWarning,
    )


def _labels(problem: PairProblem) -> list[str]:
    """Return the labels of the classes; the last stands for all others."""
    return [*map(repr, problem.stats.classes.tolist()), "the rest"]


def _distance(first: Array, second: Array, w: Array) -> float:
    """Return the distance of the means of two groups along w, in deviations."""
    a, b = (first - first[0]) @ w, (second - first[0]) @ w
    deviation = np.sqrt(a.var() + b.var())
    return float(abs(a.mean() - b.mean()) / deviation) if deviation else 0.0


def warn_of_plug_in() -> None:
    """Warn that errors under the model are not those of rows."""
    warn(
        "with fewer rows than features any labels can be separated: error rates and "
        "thresholds under the fitted model mean little; use cross-validation",
        ModelMisfitWarning,
    )
