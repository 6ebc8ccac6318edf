"""What the rules of a discriminant are the answer to."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.validation import check_priors, check_several_classes
from heterolda.solvers import Fisher, Moments, Solver, all_pairs, draws, solve
from heterolda.solvers.rules import Rules
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.covariances import against_all_others
from heterolda.statistics.shrinkage import Shrinkage, class_covariances, is_shrunk
from heterolda.tradeoff.criteria import Criterion


class PairProblem(NamedTuple):
    """Pairs of Gaussian classes, and what their rules are to be optimal for.

    Attributes
    ----------
    criterion : Criterion
        What for.
    priors : ndarray of shape (n_classes,)
        Class priors.
    pairs : ndarray of shape (n_pairs, 2)
        Classes of each pair; for one against all others, (-1, k).
    moments : Moments
        Those of classes, and of all others of each, with the places of the pairs and
        their priors times costs.
    unshrunk : ClassStatistics or None
        For Fisher's rules in the place of others, if the moments are shrunk.
    seed : int
        For solvers that draw.
    """

    criterion: Criterion
    priors: Array
    pairs: Index
    moments: Moments
    unshrunk: ClassStatistics | None
    seed: int

    @classmethod
    def of(
        cls,
        model,
        statistics: ClassStatistics,
        solver: Solver,
        chosen: Shrinkage | None,
    ) -> PairProblem:
        """That of a discriminant with its parameters, for some class statistics."""
        k, classes = statistics.n_classes, statistics.classes
        one_vs_all = model.multiclass == "ova" and k > 2
        criterion = _criterion_of(model, classes, solver)
        means, weights = statistics.means, statistics.weights
        cov = class_covariances(statistics, model.shrinkage, chosen)
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
        shrunk = is_shrunk(model.shrinkage) and not one_vs_all
        unshrunk = statistics if shrunk else None
        return cls(criterion, priors, pairs, moments, unshrunk, seed)

    def solve(self) -> Rules:
        """Rules of all pairs, not rated yet."""
        return solve(self.moments, self.criterion.solver, self.seed)

    def rate(self, planes: Rules):
        """The rules with what they cost."""
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

    A trivial rule has one score for all rows, so among several of them the order of the
    labels would decide. They get Fisher's score, which is the log-odds of the class if
    its covariance is that of all others; what the rule costs stays as it is.
    """
    some = np.flatnonzero(planes.trivial)
    if not len(some):
        return planes
    fisher = solve(moments.take(some), Fisher())
    coef, intercept = planes.coef.copy(), planes.intercept.copy()
    coef[some], intercept[some] = fisher.coef, fisher.intercept
    return replace(planes, coef=coef, intercept=intercept)


def check_parameters(model, classes: NDArray[Any], solver: Solver) -> None:
    """Refuse parameters of a discriminant that do not suit its classes."""
    check_several_classes(len(classes))
    criterion = _criterion_of(model, classes, solver)
    priors = check_priors(model.priors, classes, np.ones(len(classes)))
    criterion.cost_weighted_priors(priors, all_pairs(len(classes)))


def _criterion_of(model, classes: NDArray[Any], solver: Solver) -> Criterion:
    """Return what the rules of a discriminant are to be optimal for."""
    request = model.criterion, model.costs, model.max_error, classes, solver
    one_vs_all = model.multiclass == "ova" and len(classes) > 2
    return Criterion.resolve(*request, one_vs_all=one_vs_all)
