"""The optimization problem of a discriminant: pairs of classes and a criterion."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.validation import check_priors, check_several_classes
from heterolda.solvers import Fisher, Global, all_pairs, resolve_solver, solve
from heterolda.solvers.fisher import PooledLDA
from heterolda.solvers.left_out import LeftOut
from heterolda.solvers.pencil import Moments
from heterolda.solvers.rules import Rules
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.covariances import against_all_others, two_amounts
from heterolda.statistics.rows import Rows
from heterolda.statistics.shrinkage import (
    FEW_FREEDOM,
    Shrinkage,
    freedom_per_feature,
)
from heterolda.statistics.wide import Span
from heterolda.tradeoff.criteria import Criterion
from heterolda.tradeoff.operating_points import Minimax, NeymanPearson

# In classes with fewer rows per feature than this, the guard leaves rows out.
ROWS_PER_FEATURE = 5


@dataclass(frozen=True)
class PairProblem:
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
    ) -> PairProblem:
        """Return the problem of a discriminant; `chosen` is from held-out rows."""
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
    def is_shrunk(self) -> bool:
        """Return whether covariances are shrunk more than small classes need."""
        amount = two_amounts(self.settings.shrinkage)[0]
        shrunk = amount not in ("auto", 0) or self.chosen is not None
        return shrunk and not self.one_vs_rest

    @cached_property
    def lda(self) -> PooledLDA:
        """Return linear discriminant analysis of all classes."""
        return PooledLDA(self.stats, to_diagonal=self.shrinkage.to_diagonal)

    @property
    def borrows(self) -> Mask:
        """Return a mask of the classes with too few rows for a separate covariance."""
        return self.stats.pooled_shares("auto") > 0

    @property
    def follows_optimum(self) -> bool:
        """Return whether rules are optimal under the model."""
        return isinstance(self.criterion.solver, Global | Minimax | NeymanPearson)

    @property
    def is_guarded(self) -> bool:
        """Return whether rules are compared with their rivals on rows."""
        return isinstance(self.criterion.solver, Global) and not self.has_few_rows

    @property
    def has_few_rows(self) -> bool:
        """Return whether left-out rows set thresholds, as they chose the shrinkage."""
        few = freedom_per_feature(self.stats) < FEW_FREEDOM
        by_rows = self.chosen is not None and not self.one_vs_rest
        return few and by_rows and self.follows_optimum

    def left_out(self, rows: Rows) -> LeftOut:
        """Return rows to be left out of the moments."""
        return LeftOut(
            rows,
            self.moments,
            self.lda,
            self.shrinkage.to_pooled,
            self.shrinkage.to_diagonal,
            self.settings.priors is None and self.settings.class_weight != "balanced",
        )

    def solve(self, moments: Moments | None = None) -> Rules:
        """Return the rules of all pairs, or those for other moments."""
        seed, solver = 0, self.criterion.solver
        if getattr(solver, "draws", True):  # others leave the random state untouched
            random_state = check_random_state(self.settings.random_state)
            seed = random_state.randint(2**31 - 1)
        return solve(self.moments if moments is None else moments, solver, seed)

    def rate(self, rules: Rules):
        """Return the rules with their error rates and risks."""
        rated = self.criterion.rate(rules, self.moments.priors, self.moments.pairs)
        if not self.one_vs_rest:
            return rated
        return replace(rated, planes=with_log_odds(rated.planes, self.moments))


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
