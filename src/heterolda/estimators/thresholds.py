"""Thresholds and errors from the scores of left-out rows, for data of few rows.

Where the pooled covariance has fewer than two degrees of freedom per feature, almost
any labels are separable, and errors under the model say nothing. The moments of
left-out scores then replace those of the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from heterolda.estimators.pair_problem import PairProblem
from heterolda.foundations.arrays import Array, Mask
from heterolda.solvers import Global, solve
from heterolda.solvers.left_out import LeftOutScores
from heterolda.solvers.rules import Rules, Status, bayes_error, best_threshold
from heterolda.statistics.rows import Rows
from heterolda.statistics.shrinkage import FEW_FREEDOM, freedom_per_feature
from heterolda.tradeoff.operating_points import Minimax, NeymanPearson

# Least weight of a class whose scores have a variance of their own.
_LEAST = 5.0
# Least deviation of scores, in units of that under the model, which is too small.
_LEAST_DEVIATION = 0.1
# Distance of means, in deviations, if left-out rows show none.
_NO_DISTANCE = 0.05
_TINY = float(np.finfo(float).tiny)


def has_few_rows(model: Any) -> bool:
    """Return whether errors under the model of a discriminant mean little."""
    stats = model.statistics_
    few = freedom_per_feature(stats) < FEW_FREEDOM
    return stats.factors is not None or (few and model.shrinkage_ is not None)


@dataclass(frozen=True)
class Thresholds:
    """Rules of pairs, with the moments of the scores of left-out rows.

    Attributes
    ----------
    rules : Rules
        The rules of least error under the model.
    means, deviations : ndarray of shape (n_pairs, 2)
        Moments of the scores in the first and the second class, in units of the
        deviation under the model.
    judged : ndarray of bool of shape (n_pairs,)
        Pairs of classes that both have a row to leave out, and more rows to fit to.
    """

    rules: Rules
    means: Array
    deviations: Array
    judged: Mask

    @classmethod
    def of(
        cls, problem: PairProblem, rows: Rows
    ) -> tuple[Thresholds, list[LeftOutScores]]:
        """Solve pairs for equal priors, and leave rows out of their rules.

        Priors, costs and criterion then set only the threshold. The second result has
        the left-out scores, in units of the deviation under the model.
        """
        equal = replace(problem.moments, shares=np.ones(problem.pairs.shape))
        rules = solve(equal, Global())
        without, shape = problem.left_out(rows), problem.pairs.shape
        totals, counts, means, sums = np.zeros((4, *shape))
        left_out = []
        for one in without.of_arcs(rules, np.ones(shape, bool)):
            score = one.score / np.sqrt(one.distance)
            left_out.append(replace(one, score=score))
            w = np.where(np.isnan(score), 0.0, one.rows.frequencies)
            score = np.nan_to_num(score)
            total = w.sum(axis=1)
            mean = (w * score).sum(axis=1) / np.maximum(total, _TINY)
            where = one.pairs, one.place
            totals[where], counts[where] = total, np.count_nonzero(w, axis=1)
            means[where] = mean
            sums[where] = (w * (score - mean[:, None]) ** 2).sum(axis=1)
        freedom = np.maximum(totals - 1, _TINY)
        enough = (np.minimum(totals, counts) >= _LEAST).all(axis=1, keepdims=True)
        both = sums.sum(axis=1, keepdims=True) / freedom.sum(axis=1, keepdims=True)
        squares = np.where(enough, sums / freedom, both)
        deviations = np.maximum(np.sqrt(squares), _LEAST_DEVIATION)
        judged: Mask = (counts > 0).all(axis=1) & (counts.sum(axis=1) > 2)
        return cls(rules, means, deviations, judged), left_out

    def moved(self, left_out: list[LeftOutScores], rules: Rules) -> list[LeftOutScores]:
        """Return scores of left-out rows by rules with other thresholds."""
        unit = np.sqrt(np.maximum(np.diff(rules.means), 0.0))
        shift = (rules.intercept - self.rules.intercept)[:, None]
        return [
            replace(one, score=unit[one.pairs] * one.score + shift[one.pairs])
            for one in left_out
        ]

    def at(self, solver: Any, priors: Array) -> Rules:
        """Return the rules with the thresholds of a criterion.

        `priors` are those of each pair, times costs.
        """
        rules = self.rules
        usable = (rules.status != Status.SEPARABLE) & ~rules.trivial
        # With a class of one row, no rule is known to beat the likelier class.
        blind = usable & ~self.judged
        error = np.where(blind, priors.min(axis=1), rules.error)
        gap = np.where(blind, np.nan, rules.gap)
        rules = replace(rules, error=error, gap=gap)
        t, deviations, error = self._thresholds(solver, priors)
        unit = np.sqrt(np.maximum(np.diff(rules.means), 0.0))
        distance = np.maximum(np.diff(self.means)[:, 0], _NO_DISTANCE)
        cut = self.means.mean(axis=1) + distance / 2 - t
        moved = replace(
            rules,
            intercept=rules.intercept - unit[:, 0] * cut,
            # Means of the score from the threshold: t below that of the second class.
            means=unit * np.column_stack([t - distance, t]),
            deviations=unit * deviations,
            error=error,
            gap=np.full(len(error), np.nan),
        )
        pairs = np.flatnonzero(usable & self.judged)
        return rules.replaced(pairs, moved.take(pairs))

    def _thresholds(self, solver: Any, priors: Array) -> tuple[Array, Array, Array]:
        """Return thresholds t, the deviations assumed, and errors.

        The criterion is the least error (39), equal error rates, or a bound on one.
        """
        p1, p2 = priors.T
        distance = np.maximum(np.diff(self.means)[:, 0], _NO_DISTANCE)
        first, second = self.deviations.T
        if isinstance(solver, Minimax):
            t = distance * second / (first + second)
            return t, self.deviations, bayes_error(t, distance, first, second, p1, p2)
        if isinstance(solver, NeymanPearson):
            t = -ndtri(solver.q) * self.deviations[:, solver.k]
            t = distance - t if solver.k == 0 else t
            return t, self.deviations, bayes_error(t, distance, first, second, p1, p2)
        log_tau = np.log(p2) - np.log(p1)
        pooled = np.sqrt((self.deviations**2).mean(axis=1))
        both = np.array([self.deviations, np.column_stack([pooled, pooled])])
        first, second = both[:, :, 0], both[:, :, 1]
        t = best_threshold(distance, first, second, log_tau)
        error = bayes_error(t, distance, first, second, p1, p2)
        # With unequal deviations there may be no threshold better than none at all.
        own = error[0] < np.minimum(p1, p2)
        deviations = np.where(own[:, None], *both)
        t, error = np.where(own, t, t[::-1])[0], np.where(own, error, error[::-1])[0]
        return t, deviations, error
