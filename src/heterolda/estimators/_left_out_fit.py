"""What leaving rows out needs to know of a fitted discriminant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from heterolda.exceptions import ParameterError, Setting
from heterolda.foundations.types import Array, Index, Mask
from heterolda.solvers import Fisher, Global, Solver, resolve_solver
from heterolda.solvers.arc import Arc
from heterolda.solvers.left_out_optimum import Minima
from heterolda.solvers.pencil import Pencil
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.moments import rank_of_features
from heterolda.statistics.shrinkage import class_covariances, shares_of_pooled
from heterolda.tradeoff.criteria import Criterion

# Pencils of all pairs are kept if their bases have at most so many numbers.
_MOST_NUMBERS = 1 << 22


@dataclass(frozen=True)
class Fit:
    """The moments, rules and settings of a discriminant.

    Attributes
    ----------
    statistics, covariances, priors
        What was fitted, for each class.
    shrinkage, borrowed
        The parameter, and the share of the pooled covariance in that of each class.
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
    covariances: Array
    shrinkage: Any
    borrowed: Array
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
        settings = model._settings
        solver = resolve_solver(settings["solver"])
        _refuse_others(solver, settings["criterion"], model.pairs_)
        statistics = model.statistics_
        chosen = model.shrinkage_
        guarded = getattr(model, "guarded_", None)
        fisher = np.full(len(model.pairs_), isinstance(solver, Fisher))
        return cls(
            statistics=statistics,
            covariances=class_covariances(statistics, settings["shrinkage"], chosen),
            shrinkage=settings["shrinkage"],
            borrowed=shares_of_pooled(statistics, settings["shrinkage"], chosen),
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

    def solved(self, at: Index | slice) -> tuple[Pencil, Minima]:
        """Pencils of some pairs, and the minima on their arcs."""
        pairs = self.pairs[at]
        weighted = self.criterion.cost_weighted_priors(self.priors, pairs)
        shares = self.priors[pairs] if weighted is None else weighted
        pencil = Pencil.from_moments(
            self.statistics.means[pairs],
            self.covariances[pairs],
            shares / shares.sum(axis=1, keepdims=True),
            self.statistics.weights[pairs],
        )
        return pencil, Minima.on(Arc.from_pencil(pencil))

    @cached_property
    def mixed(self) -> bool:
        """Whether the covariances are mixtures of two scatters, or may become so.

        Then they are so without a row, too, and have the same eigenvectors.
        """
        weights, scatters = self.statistics.weights, self.statistics.scatters
        if len(weights) != 2 or not self.shares_without(weights[None] - 1).any():
            return False
        mixtures = np.tensordot(self.factors(weights[None])[0], scatters, axes=1)
        return bool(np.allclose(mixtures, self.covariances, rtol=1e-12, atol=0))

    def factors(self, weights: Array) -> Array:
        """Factors of both scatters in both covariances, for rows of class weights.

        Of shape (n, 2, 2).
        """
        borrowed, freedom = self.shares_without(weights), np.maximum(weights - 1, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            pooled = borrowed / freedom.sum(axis=1, keepdims=True)
            own = np.where(borrowed < 1, (1 - borrowed) / freedom, 0.0)
        factors: Array = pooled[:, :, None] + own[:, :, None] * np.eye(2)
        return factors

    def shares_without(self, weights: Array) -> Array:
        """Shares of the pooled covariance for rows of class weights.

        An amount that was chosen counts for as many rows as before.
        """
        statistics, freedom = self.statistics, self.statistics.weights - 1
        if self.shrinkage == "cv" and self.borrowed.any():
            with np.errstate(divide="ignore"):
                rows = self.borrowed * freedom / (1 - self.borrowed)
                share: Array = 1 / (1 + np.maximum(weights - 1, 0.0) / rows)
            return share
        rank = self.rank
        share = np.broadcast_to(self.borrowed, weights.shape)
        if self.shrinkage in (None, "auto", "cv") and not statistics.given:
            share = rank / (weights + rank)
            if self.shrinkage != "auto":
                share = np.where(weights <= rank + 1, share, 0.0)
        return np.where((weights <= 1) & (share > 0), 1.0, share)

    @cached_property
    def rank(self) -> int:
        """The number of features, less those that depend on others."""
        return rank_of_features(self.statistics.scatters, self.statistics.weights)

    @cached_property
    def own_covariances(self) -> Array:
        """Covariances of the classes as they are, zero for single rows."""
        freedom = np.maximum(self.statistics.weights - 1, 0.0)
        freedom[freedom == 0] = 1.0
        own: Array = self.statistics.scatters / freedom[:, None, None]
        return own

    @cached_property
    def plain(self) -> tuple[Array, Array]:
        """Covariances for Fisher's rules of guarded pairs, and what they borrow.

        The guard compares with rules that are not shrunk, but for small classes.
        """
        if not self.shrinkage or isinstance(self.criterion.solver, Fisher):
            return self.covariances, self.borrowed
        shares = shares_of_pooled(self.statistics, None, None)
        return self.statistics.covariances(), shares

    def weights_without(self, k: int, left: Array) -> Array:
        """Class weights without a part of each of some rows of class k."""
        weights = np.repeat(self.statistics.weights[None], len(left), axis=0)
        weights[:, k] -= left
        return weights

    @property
    def is_small(self) -> bool:
        """Whether the pencils of all pairs take little memory."""
        return bool(self.coef.size * self.coef.shape[1] <= _MOST_NUMBERS)

    @cached_property
    def known(self) -> tuple[Pencil, Minima]:
        """What is solved of all pairs at once."""
        return self.solved(slice(None))

    @cached_property
    def free(self) -> Mask:
        """Pairs in which one of the two errors costs nothing: their rule is trivial."""
        costs, pairs = self.criterion.costs, self.pairs
        if costs is None:
            return np.zeros(len(pairs), bool)
        mask: Mask = (costs[pairs, pairs[:, ::-1]] == 0).any(axis=1)
        return mask


def _refuse_others(solver: Solver, criterion: str, pairs: Index) -> None:
    """Say for which models there is no closed form."""
    remedy = ": use scikit-learn's cross_val_predict or cross_val_score"
    if not isinstance(solver, Global | Fisher):
        raise ParameterError(
            Setting("solver"),
            f" {solver!r} has no leave-one-out in closed form, only ",
            Setting("solver", "global"),
            " and ",
            Setting("solver", "fisher"),
            f" have{remedy}",
        )
    if criterion != "bayes":
        raise ParameterError(
            Setting("criterion", criterion),
            " has no leave-one-out in closed form, only ",
            Setting("criterion", "bayes"),
            f" has{remedy}",
        )
    if pairs[0, 0] < 0:
        raise ParameterError(
            Setting("multiclass", "ova"),
            " has no leave-one-out in closed form, only ",
            Setting("multiclass", "ovo"),
            f" has{remedy}",
        )
