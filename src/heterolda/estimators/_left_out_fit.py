"""What leaving rows out needs to know of a fitted discriminant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from heterolda.estimators._left_out_covariances import Covariances
from heterolda.exceptions import ParameterError
from heterolda.foundations.types import Array, Index, Mask
from heterolda.solvers import Fisher, Global, Solver, resolve_solver
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.shrinkage import is_shrunk
from heterolda.tradeoff.criteria import Criterion

_REMEDY = ": use scikit-learn's cross_val_predict or cross_val_score"


@dataclass(frozen=True)
class Fit:
    """The moments, rules and settings of a discriminant.

    Attributes
    ----------
    statistics, priors
        What was fitted, for each class.
    covariances, plain : Covariances
        Those of the model, and those for Fisher's rules of guarded pairs: the guard
        compares with rules that are not shrunk, but for small classes.
    given_priors : ndarray or None
        The priors, unless they are relative frequencies.
    criterion : Criterion
        Solver and costs.
    pairs, coef, intercept, error
        The rules, one for each pair.
    guarded : ndarray of bool of shape (n_pairs,)
        Pairs with Fisher's rule.
    voting : str
        How votes count.
    """

    statistics: ClassStatistics
    covariances: Covariances
    plain: Covariances
    priors: Array
    given_priors: Array | None
    criterion: Criterion
    pairs: Index
    coef: Array
    intercept: Array
    error: Array
    guarded: Mask
    voting: str

    @classmethod
    def of(cls, model: Any) -> Fit:
        """Refuse a model for which there is no closed form."""
        settings, statistics = model._settings, model.statistics_
        solver = refuse_others(model)
        shrinkage = settings["shrinkage"]
        covariances = Covariances.of(statistics, shrinkage, model.shrinkage_)
        plain = covariances
        if is_shrunk(shrinkage) and not isinstance(solver, Fisher):
            plain = Covariances.of(statistics, None, None)
        guarded = getattr(model, "guarded_", None)
        fisher = np.full(len(model.pairs_), isinstance(solver, Fisher))
        return cls(
            statistics=statistics,
            covariances=covariances,
            plain=plain,
            priors=model.priors_,
            given_priors=None if model.priors is None else model.priors_,
            criterion=Criterion.resolve(
                "bayes", settings["costs"], None, statistics.classes, solver
            ),
            pairs=model.pairs_,
            coef=model.coef_,
            intercept=model.intercept_,
            error=model.bayes_error_,
            guarded=fisher if guarded is None else fisher | guarded,
            voting=model.voting,
        )

    def priors_without(self, k: int, left: Array) -> Array:
        """The priors without a part of each of some rows of class k, (n, n_classes)."""
        priors = np.repeat(self.priors[None], len(left), axis=0)
        if self.given_priors is None:
            priors[:, k] *= 1 - left / self.statistics.weights[k]
        return priors

    def shares(self, priors: Array, pairs: Index) -> Array:
        """The priors of pairs, weighted by costs and summing to one."""
        weighted = self.criterion.cost_weighted_priors(priors, pairs)
        shares = priors[pairs] if weighted is None else weighted
        normed: Array = shares / shares.sum(axis=1, keepdims=True)
        return normed

    @cached_property
    def free(self) -> Mask:
        """Pairs in which one of the two errors costs nothing: their rule is trivial."""
        costs, pairs = self.criterion.costs, self.pairs
        if costs is None:
            return np.zeros(len(pairs), bool)
        mask: Mask = (costs[pairs, pairs[:, ::-1]] == 0).any(axis=1)
        return mask


def refuse_others(model: Any) -> Solver:
    """Say for which models there is no closed form; return the solver of others."""
    settings, statistics = model._settings, model.statistics_
    solver = resolve_solver(settings["solver"])
    if statistics.estimated_by == "EM":
        raise ParameterError(
            "missing",
            f"='em' with missing values has no leave-one-out in closed form{_REMEDY}",
        )
    if statistics.estimated_by is not None:
        raise ParameterError(
            "covariance_estimator",
            f"{statistics.estimated_by} has no leave-one-out in closed form{_REMEDY}",
        )
    if not isinstance(solver, Global | Fisher):
        raise ParameterError(
            "solver",
            f"{solver!r} has no leave-one-out in closed form, only solver='global' "
            f"and solver='fisher' have{_REMEDY}",
        )
    multiclass = "ova" if model.pairs_[0, 0] < 0 else "ovo"
    for name, value, only in (
        ("criterion", settings["criterion"], "bayes"),
        ("multiclass", multiclass, "ovo"),
    ):
        if value != only:
            raise ParameterError(
                name,
                f"={value!r} has no leave-one-out in closed form, only "
                f"{name}={only!r} has{_REMEDY}",
            )
    return solver
