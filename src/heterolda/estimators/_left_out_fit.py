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
from heterolda.statistics.shrinkage import class_covariances
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
            borrowed=_borrowed(statistics, settings["shrinkage"], chosen),
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
        """Whether the covariances are mixtures of two scatters.

        Then they are so without a row, too, and have the same eigenvectors.
        """
        if len(self.priors) != 2 or not self.borrowed.any():
            return False
        weights, scatters = self.statistics.weights, self.statistics.scatters
        mixtures = np.tensordot(self.factors(weights[None])[0], scatters, axes=1)
        return bool(np.allclose(mixtures, self.covariances, rtol=1e-12, atol=0))

    def factors(self, weights: Array) -> Array:
        """Factors of both scatters in both covariances, for rows of class weights.

        Of shape (n, 2, 2). An amount that was chosen counts for as many rows as before.
        """
        borrowed = self.shrunk_by(weights)
        pooled = borrowed / (weights.sum(axis=1, keepdims=True) - 2)
        own = (1 - borrowed) / (weights - 1)
        factors: Array = pooled[:, :, None] + own[:, :, None] * np.eye(2)
        return factors

    def shrunk_by(self, weights: Array) -> Array:
        """The shares of the pooled covariance for rows of class weights."""
        d = self.coef.shape[1]
        share: Array = np.broadcast_to(self.borrowed, weights.shape)
        if self.shrinkage == "auto":
            share = d / (weights + d)
        if self.shrinkage != "cv":
            return share
        before = self.statistics.weights - 1
        with np.errstate(divide="ignore"):
            rows = self.borrowed * before / (1 - self.borrowed)
            share = 1 / (1 + (weights - 1) / rows)
        return share

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


def _borrowed(statistics: ClassStatistics, shrinkage: Any, chosen: Any) -> Array:
    """Share of the pooled covariance in the covariance of each class."""
    weights, d = statistics.weights, statistics.n_features
    if chosen is not None:
        shares: Array = chosen.to_pooled
        return shares
    if shrinkage == "auto":
        return d / (weights + d)
    return np.full(len(weights), 0.0 if shrinkage is None else float(shrinkage))
