"""The Gaussian classes of a discriminant, their pairs, and the criterion for rules."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.validation import check_priors, check_several_classes
from heterolda.solvers import Fisher, Global, all_pairs, resolve_solver, solve
from heterolda.solvers.pencil import Moments
from heterolda.solvers.rules import Rules
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.covariances import against_all_others
from heterolda.statistics.shrinkage import (
    FEW_FREEDOM,
    Shrinkage,
    chosen_on_rows,
    freedom_per_feature,
)
from heterolda.statistics.wide import Span, in_coordinates
from heterolda.tradeoff.criteria import Criterion
from heterolda.tradeoff.operating_points import Minimax, NeymanPearson

# Memory of a fit for each pair, and for each pair and feature, and the most of it.
_PAIR_BYTES, _FEATURE_BYTES, _MAX_BYTES = 2000, 200, 8 << 30


@dataclass(frozen=True)
class Gaussians:
    """Pairs of Gaussian classes, and the criterion for their rules."""

    settings: Any  # the discriminant; only its parameters are read
    features: ClassStatistics
    span: Span | None  # coordinates of few rows with many features
    stats: ClassStatistics  # in these coordinates, if there are any
    chosen: Shrinkage | None  # on held-out rows
    shrinkage: Shrinkage  # in use
    criterion: Criterion
    priors: Array  # of the classes
    pairs: Index  # classes of each pair, (n_pairs, 2); (-1, k) for one against all
    moments: Moments  # of the classes; in one-vs-rest, also of all others

    @classmethod
    def of(
        cls,
        model,
        features: ClassStatistics,
        chosen: Shrinkage | None = None,
        span: Span | None = None,
    ) -> Gaussians:
        """Return the classes of a discriminant; rows may have chosen the shrinkage."""
        stats = features if span is None else span.statistics
        k, classes, weights = stats.n_classes, stats.classes, stats.weights
        criterion = _criterion_of(model, classes)
        shrinkage = Shrinkage.of(stats, model.shrinkage, chosen)
        cov = shrinkage.covariances(stats)
        priors = check_priors(model.priors, classes, weights, model.class_weight)
        if model.multiclass == "ovr" and k > 2:
            pairs = np.column_stack([np.full(k, -1), np.arange(k)])
            solved = np.column_stack([np.arange(k), np.arange(k, 2 * k)])
            parts = against_all_others(stats.means, cov, priors, weights)
            moments = Moments(*parts, solved)
        else:
            _check_memory(k, stats.n_features)
            pairs = all_pairs(k)
            shares = criterion.cost_weighted_priors(priors, pairs)
            moments = Moments(stats.means, cov, priors, weights, pairs, shares)
        parts = chosen, shrinkage, criterion, priors, pairs, moments
        return cls(model, features, span, stats, *parts)

    @property
    def one_vs_rest(self) -> bool:
        """Return whether the rules set each class against all others."""
        return bool(self.pairs[0, 0] < 0)

    @property
    def leaves_out(self) -> bool:
        """Return whether rows can be left out of the moments."""
        return not (self.one_vs_rest or self.stats.estimated_by)

    @property
    def follows_optimum(self) -> bool:
        """Return whether rules are optimal under the model."""
        return isinstance(self.criterion.solver, Global | Minimax | NeymanPearson)

    @property
    def has_few_rows(self) -> bool:
        """Return whether rows move only thresholds, as they chose the shrinkage."""
        few = freedom_per_feature(self.stats) < FEW_FREEDOM
        chosen = self.chosen is not None and not self.one_vs_rest
        return few and chosen and self.follows_optimum

    def solve(self, *, equal_priors: bool = False) -> Rules:
        """Return the optima of all pairs, or those for equal priors."""
        seed, solver, moments = 0, self.criterion.solver, self.moments
        if getattr(solver, "draws", True):  # others leave the random state untouched
            random_state = check_random_state(self.settings.random_state)
            seed = random_state.randint(2**31 - 1)
        if not equal_priors:
            return solve(moments, solver, seed)
        rules = solve(replace(moments, shares=np.ones(self.pairs.shape)), Global())
        if not rules.trivial.any():
            return rules
        log_tau = np.diff(np.log(moments.pair_priors))[:, 0]
        trivial, column = rules.trivial, rules.trivial[:, None]
        return replace(
            rules,
            intercept=np.where(trivial, log_tau, rules.intercept),
            means=np.where(column, log_tau[:, None], rules.means),
            error=np.where(trivial, moments.pair_priors.min(axis=1), rules.error),
        )

    def rate(self, rules: Rules) -> tuple[Rules, Array, Array]:
        """Return the rules with their errors, error rates and expected costs."""
        priors, pairs = self.moments.priors, self.moments.pairs
        rules, *rest = self.criterion.rate(rules, priors, pairs)
        if self.one_vs_rest:
            rules = with_log_odds(rules, self.moments)
        return rules, *rest


def gaussians(model, stats, rows=None, chosen: Shrinkage | None = None):
    """Return the Gaussian classes of a discriminant, and rows in their coordinates.

    Rows choose the shrinkage, if there are any, the parameter leaves it to them and it
    was not `chosen` before.
    """
    check_several_classes(stats.n_classes)
    inside, span, rows = in_coordinates(stats, model.shrinkage, rows)
    chosen = chosen or chosen_on_rows(model.shrinkage, inside, rows)
    return Gaussians.of(model, stats, chosen, span), rows


def has_few_rows(fitted: Any) -> bool:
    """Return whether errors under the model of a discriminant are unreliable."""
    stats = fitted.statistics_
    few = freedom_per_feature(stats) < FEW_FREEDOM
    return stats.factors is not None or (few and fitted.shrinkage_ is not None)


def with_log_odds(rules: Rules, moments: Moments) -> Rules:
    """Return one-vs-rest rules in which trivial ones have the scores of Fisher's rule.

    A trivial rule gives all rows one score, so the order of the labels would decide
    among several such rules. Errors and risks are kept.
    """
    trivial = np.flatnonzero(rules.trivial)
    if not len(trivial):
        return rules
    fisher = solve(moments.take(trivial), Fisher())
    coef, intercept = rules.coef.copy(), rules.intercept.copy()
    coef[trivial], intercept[trivial] = fisher.coef, fisher.intercept
    return replace(rules, coef=coef, intercept=intercept)


def check_parameters(model, classes: NDArray[Any]) -> None:
    """Reject parameters of a discriminant that do not match its classes."""
    check_several_classes(len(classes))
    _criterion_of(model, classes)
    check_priors(model.priors, classes, np.ones(len(classes)), model.class_weight)


def _check_memory(n_classes: int, n_features: int) -> None:
    """Reject pairs of so many classes that their rules do not fit into memory."""
    n_pairs = n_classes * (n_classes - 1) // 2
    size = n_pairs * (_PAIR_BYTES + _FEATURE_BYTES * n_features)
    if size > _MAX_BYTES:
        raise ParameterError(
            "multiclass",
            f"='ovo' needs about {size / 2**30:.0f} GB for the {n_pairs:,} pairs of "
            f"{n_classes:,} classes: use multiclass='ovr', with one rule per class",
        )


def _criterion_of(model, classes: NDArray[Any]) -> Criterion:
    """Return the criterion of a discriminant."""
    solver = resolve_solver(model.solver)
    request = model.criterion, model.costs, model.max_error, classes, solver
    one_vs_rest = model.multiclass == "ovr" and len(classes) > 2
    if one_vs_rest and model.voting != "probability":
        raise ParameterError(
            "voting", "is for pairs of classes: use multiclass='ovo', or leave it out"
        )
    return Criterion.resolve(*request, one_vs_rest=one_vs_rest)
