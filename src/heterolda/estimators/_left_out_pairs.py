"""Pairs of one class with others, without rows of that class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from heterolda.estimators._left_out_covariances import VANISHED
from heterolda.estimators._left_out_fit import Fit
from heterolda.foundations.types import Array, Index, Mask
from heterolda.solvers import Fisher, Moments, Solver, solve
from heterolda.solvers.arc import Arc
from heterolda.solvers.left_out import LeftOut
from heterolda.solvers.left_out_optimum import (
    BestRules,
    Minima,
    best_rules,
    fisher_rules,
)
from heterolda.solvers.pencil import Pencil
from heterolda.tradeoff.criteria import error_rates

# Pairs are solved anew in batches of so many numbers.
_BATCH_SIZE = 1 << 22
# Pairs of so few rows and features are always solved anew: a row may change everything,
# and it costs little.
_SMALL, _NARROW = 60, 10


class PairsWithoutRows:
    """Pairs of class k with others, all guarded or none; class k comes first."""

    def __init__(self, fit: Fit, k: int, others: Index, *, guarded: bool) -> None:
        self.fit, self.k, self.others, self.guarded = fit, k, others, guarded
        self.covariances = fit.plain if guarded else fit.covariances
        self.solver: Solver = Fisher() if guarded else fit.criterion.solver
        pairs = self.pairs = np.column_stack([np.full_like(others, k), others])
        self.pencil = pencil = Pencil.from_moments(
            fit.statistics.means[pairs],
            self.covariances.matrices[pairs],
            fit.shares(fit.priors, pairs),
            fit.statistics.weights[pairs],
        )
        if not guarded:
            self.minima = Minima.on(Arc.from_pencil(pencil))
        # There is no closed form for a direction without any variance, for Fisher's
        # rule if features depend on others, and for a target that changes with the row.
        self.odd = (pencil.separation != 0).any(axis=1)
        if guarded:
            rank = np.count_nonzero(pencil.basis.any(axis=1), axis=1)
            varying = np.einsum("pkii->pi", pencil.covariances) > 0
            self.odd |= rank < np.count_nonzero(varying, axis=1)
        if pencil.means.shape[2] <= _NARROW:
            self.odd |= pencil.weights.sum(axis=1) <= _SMALL
        self.odd |= self.covariances.mixed or self.covariances.begins_to_borrow(k)

    def rules(self, rows: Array, weight: Array, *, nearby: bool) -> BestRules:
        """The rules of the pairs without each of some rows; see `best_rules`."""
        out = LeftOut.from_pencil(
            self.pencil,
            rows,
            weight,
            borrowed=self.covariances.borrowed[self.k],
            frequencies=self.fit.given_priors is None,
        )
        if self.guarded:
            rules = fisher_rules(out)
        else:
            rules = best_rules(out, self.minima, nearby=nearby)
        rules.certain[self.odd] = False
        return rules

    def solve_anew(self, rules: BestRules, rows: Array, left: Array) -> int:
        """Solve the pairs whose rules are not certain; return how many."""
        for p, n in _batches(~rules.certain, rows.shape[1]):
            rules.score[p, n], rules.error_own[p, n], rules.error_other[p, n] = (
                self._solve(p, rows[n], left[n])
            )
        return int(np.count_nonzero(~rules.certain))

    def _solve(self, p: Index, rows: Array, left: Array) -> tuple[Array, Array, Array]:
        """Score and error rates of the pairs number p, each without one row."""
        fit, k, pairs = self.fit, self.k, self.pairs[p]
        means, weights = fit.statistics.means[pairs], fit.statistics.weights[pairs]
        own, other, z = means[:, 0], means[:, 1], rows - means[:, 0]
        moved = own - (left / (weights[:, 0] - left))[:, None] * z
        # Where the row alone makes a difference, rounding errors must not.
        same = np.abs(moved - other) <= VANISHED * (np.abs(own) + np.abs(z))
        means[:, 0] = np.where(same, other, moved)
        weights[:, 0] -= left
        cov = self.covariances.without(k, self.others[p], z, left)
        priors = fit.priors_without(k, left)
        shares = [
            fit.shares(one, two[None]) for one, two in zip(priors, pairs, strict=True)
        ]
        moments = Moments(
            means.reshape(-1, means.shape[2]),
            cov.reshape(-1, *cov.shape[2:]),
            np.ravel(shares),
            weights.ravel(),
            np.arange(2 * len(p)).reshape(-1, 2),
        )
        planes = solve(moments, self.solver)
        score = (planes.coef * rows).sum(axis=1) + planes.intercept
        return score, *error_rates(planes).T


def _batches(mask: Mask, d: int) -> Iterator[tuple[Index, Index]]:
    """Places where a mask is true, so many at a time that their matrices fit in."""
    first, second = mask.nonzero()
    step = max(1, _BATCH_SIZE // (2 * d * d))
    for start in range(0, len(first), step):
        yield first[start : start + step], second[start : start + step]
