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

from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.validation import check_priors, check_several_classes
from heterolda.solvers import (
    Fisher,
    Global,
    Moments,
    all_pairs,
    draws,
    resolve_solver,
    solve,
)
from heterolda.solvers.fisher import PooledLDA
from heterolda.solvers.left_out import LeftOut
from heterolda.solvers.rules import Rules
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.covariances import against_all_others
from heterolda.statistics.rows import Rows
from heterolda.statistics.samples import without_copies
from heterolda.statistics.shrinkage import (
    FEW_FREEDOM,
    Shrinkage,
    freedom_per_feature,
    is_shrunk,
)
from heterolda.tradeoff.criteria import Criterion
from heterolda.tradeoff.operating_points import Minimax, NeymanPearson


@dataclass(frozen=True)
class PairProblem:
    """Pairs of Gaussian classes, and the criterion for their rules.

    Attributes
    ----------
    criterion : Criterion
        What the rules minimize.
    priors : ndarray of shape (n_classes,)
        Class priors.
    pairs : ndarray of shape (n_pairs, 2)
        Classes of each pair; for one against all others, (-1, k).
    moments : Moments
        Moments of the classes (one-vs-all: and of all others), with the indices of the
        pairs and their priors times costs.
    stats : ClassStatistics
        Statistics that the moments come from.
    shrinkage : Shrinkage
        Shrinkage of the covariances.
    is_shrunk : bool
        Whether it exceeds what small classes need.
    by_rows : bool
        Whether rows have chosen it.
    voting : str
        Weights of the votes, "weighted" or "majority".
    frequencies : bool
        Whether the priors are relative frequencies.
    seed : int
        For solvers that draw.
    """

    criterion: Criterion
    priors: Array
    pairs: Index
    moments: Moments
    stats: ClassStatistics
    shrinkage: Shrinkage
    is_shrunk: bool
    by_rows: bool
    voting: str
    frequencies: bool
    seed: int

    @classmethod
    def of(
        cls,
        model,
        stats: ClassStatistics,
        chosen: Shrinkage | None,
    ) -> PairProblem:
        """Return the problem of a discriminant, for class statistics."""
        k, classes = stats.n_classes, stats.classes
        one_vs_all = model.multiclass == "ova" and k > 2
        criterion = _criterion_of(model, classes)
        means, weights = stats.means, stats.weights
        shrinkage = Shrinkage.of(stats, model.shrinkage, chosen)
        cov = shrinkage.covariances(stats)
        priors = check_priors(model.priors, classes, weights)
        seed = 0  # deterministic solvers leave random_state untouched
        if draws(criterion.solver):
            seed = check_random_state(model.random_state).randint(2**31 - 1)
        if one_vs_all:
            pairs = np.column_stack([np.full(k, -1), np.arange(k)])
            solved = np.column_stack([np.arange(k), np.arange(k, 2 * k)])
            moments = Moments(*against_all_others(means, cov, priors, weights), solved)
        else:
            pairs = all_pairs(k)
            shares = criterion.cost_weighted_priors(priors, pairs)
            moments = Moments(means, cov, priors, weights, pairs, shares)
        return cls(
            criterion=criterion,
            priors=priors,
            pairs=pairs,
            moments=moments,
            stats=stats,
            shrinkage=shrinkage,
            is_shrunk=not one_vs_all
            and (is_shrunk(model.shrinkage) or chosen is not None),
            by_rows=chosen is not None,
            voting=model.voting,
            frequencies=model.priors is None,
            seed=seed,
        )

    @cached_property
    def lda(self) -> PooledLDA:
        """Linear discriminant analysis of all classes."""
        return PooledLDA(self.stats, to_diagonal=self.shrinkage.to_diagonal)

    @cached_property
    def borrows(self) -> Mask:
        """Return which classes have too few rows for a covariance of their own."""
        borrows: Mask = self.stats.pooled_shares(None) > 0
        return borrows

    @property
    def leaves_out(self) -> bool:
        """Return whether rows can be left out, unlike those of other estimators."""
        return self.stats.estimated_by is None

    @property
    def has_few_rows(self) -> bool:
        """Return whether left-out rows set the thresholds, having set the shrinkage."""
        few = freedom_per_feature(self.stats) < FEW_FREEDOM
        return self.by_rows and few and self.follows_optimum and not self.one_vs_all

    @property
    def follows_optimum(self) -> bool:
        """Return whether rules are optimal under the model."""
        return isinstance(self.criterion.solver, Global | Minimax | NeymanPearson)

    def left_out(self, rows: Rows) -> LeftOut:
        """Return rows to be left out of the moments."""
        return LeftOut(
            without_copies(rows),
            self.moments,
            self.lda,
            self.shrinkage.to_pooled,
            self.shrinkage.to_diagonal,
            self.frequencies,
        )

    def solve(self) -> Rules:
        """Return the rules of all pairs."""
        return solve(self.moments, self.criterion.solver, self.seed)

    def rate(self, planes: Rules):
        """Return the rules with their error rates and risks."""
        rated = self.criterion.rate(planes, self.moments.priors, self.moments.pairs)
        if not self.one_vs_all:
            return rated
        planes = with_log_odds(rated.planes, self.moments)
        return replace(rated, planes=planes)

    @property
    def one_vs_all(self) -> bool:
        """Whether the rules set each class against all others."""
        return bool(self.pairs[0, 0] < 0)


def with_log_odds(planes: Rules, moments: Moments) -> Rules:
    """Return one-vs-all rules whose scores depend on the row even if they are trivial.

    A trivial rule has one score for all rows, so the order of the labels would decide
    among several of them. They get Fisher's score, the log-odds of the class if its
    covariance equals that of all others; their errors and risks stay.
    """
    trivial = np.flatnonzero(planes.trivial)
    if not len(trivial):
        return planes
    fisher = solve(moments.take(trivial), Fisher())
    coef, intercept = planes.coef.copy(), planes.intercept.copy()
    coef[trivial], intercept[trivial] = fisher.coef, fisher.intercept
    return replace(planes, coef=coef, intercept=intercept)


def check_parameters(model, classes: NDArray[Any]) -> None:
    """Refuse parameters of a discriminant that do not fit its classes."""
    check_several_classes(len(classes))
    criterion = _criterion_of(model, classes)
    priors = check_priors(model.priors, classes, np.ones(len(classes)))
    criterion.cost_weighted_priors(priors, all_pairs(len(classes)))


def _criterion_of(model, classes: NDArray[Any]) -> Criterion:
    """Return the criterion of a discriminant."""
    solver = resolve_solver(model.solver)
    request = model.criterion, model.costs, model.max_error, classes, solver
    one_vs_all = model.multiclass == "ova" and len(classes) > 2
    return Criterion.resolve(*request, one_vs_all=one_vs_all)
