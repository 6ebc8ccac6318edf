"""Thresholds and errors from the scores of left-out rows, for data with few rows.

Where the pooled covariance has fewer than two degrees of freedom per feature, almost
any labels are separable, and errors under the model mean nothing. The moments of
left-out scores then replace those of the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from heterolda.estimators.guard import ScoresByClass, scores_by_class
from heterolda.estimators.pair_problem import PairProblem
from heterolda.foundations.arrays import Array, Mask
from heterolda.solvers import Global, solve
from heterolda.solvers.rules import Rules, Status, bayes_error, best_threshold
from heterolda.statistics.rows import Rows
from heterolda.statistics.shrinkage import FEW_FREEDOM, freedom_per_feature
from heterolda.tradeoff.operating_points import Minimax, NeymanPearson

# Smallest weight of a class whose scores have a variance of their own.
_MIN_WEIGHT = 5.0
# Smallest deviation of scores, in units of the deviation under the model.
_MIN_DEVIATION = 0.1
# Distance of means, in deviations, if left-out rows show none.
_NO_DISTANCE = 0.05
_TINY = float(np.finfo(float).tiny)


def has_few_rows(model: Any) -> bool:
    """Return whether errors under the model of a discriminant are unreliable."""
    stats = model.statistics_
    few = freedom_per_feature(stats) < FEW_FREEDOM
    return stats.factors is not None or (few and model.shrinkage_ is not None)


@dataclass(frozen=True)
class Thresholds:
    """Rules of least error under the model, and moments of the scores of left-out rows.

    The unit of the moments is the deviation under the model.
    """

    rules: Rules  # for equal priors
    means: Array  # of the first and the second class, (n_pairs, 2)
    deviations: Array
    estimated: Mask  # pairs with left-out rows of both classes, and more than two

    @classmethod
    def of(
        cls, problem: PairProblem, rows: Rows
    ) -> tuple[Thresholds, Rules, ScoresByClass]:
        """Solve pairs for equal priors, and leave rows out of their rules.

        Priors, costs and criterion then set only the threshold. Also return the rules
        with the thresholds of the problem, and their scores of left-out rows.
        """
        equal = replace(problem.moments, shares=np.ones(problem.pairs.shape))
        rules = solve(equal, Global())
        left_out, shape = problem.left_out(rows), problem.pairs.shape
        totals, counts, means, sums = np.zeros((4, *shape))
        records = []
        for record in left_out.of_arcs(rules, np.ones(shape, bool)):
            score = record.score / np.sqrt(record.distance)
            records.append(replace(record, score=score))
            w = np.where(np.isnan(score), 0.0, record.rows.frequencies)
            score = np.nan_to_num(score)
            total = w.sum(axis=1)
            mean = (w * score).sum(axis=1) / np.maximum(total, _TINY)
            where = record.pairs, record.position
            totals[where], counts[where] = total, np.count_nonzero(w, axis=1)
            means[where] = mean
            sums[where] = (w * (score - mean[:, None]) ** 2).sum(axis=1)
        freedom = np.maximum(totals - 1, _TINY)
        smallest = np.minimum(totals, counts).min(axis=1, keepdims=True)
        pooled = sums.sum(axis=1, keepdims=True) / freedom.sum(axis=1, keepdims=True)
        squares = np.where(smallest >= _MIN_WEIGHT, sums / freedom, pooled)
        deviations = np.maximum(np.sqrt(squares), _MIN_DEVIATION)
        estimated: Mask = (counts > 0).all(axis=1) & (counts.sum(axis=1) > 2)
        thresholds = cls(rules, means, deviations, estimated)
        moved = thresholds.at(problem.criterion.solver, problem.moments.pair_priors)
        unit = _unit(rules)
        shift = (moved.intercept - rules.intercept)[:, None]
        records = [
            replace(one, score=unit[one.pairs] * one.score + shift[one.pairs])
            for one in records
        ]
        scores = scores_by_class(records, moved.coef, moved.intercept, problem.pairs)
        return thresholds, moved, scores

    def at(self, solver: Any, priors: Array) -> Rules:
        """Return the rules with the thresholds of a criterion.

        `priors` are those of each pair, times costs.
        """
        rules = self.rules
        usable = (rules.status != Status.SEPARABLE) & ~rules.trivial
        # With a class of one row, no rule is known to beat the likelier class.
        no_gain = usable & ~self.estimated
        error = np.where(no_gain, priors.min(axis=1), rules.error)
        gap = np.where(no_gain, np.nan, rules.gap)
        rules = replace(rules, error=error, gap=gap)
        t, deviations, error = self._thresholds(solver, priors)
        unit, distance = _unit(rules), self._distance
        cut = self.means.mean(axis=1) + distance / 2 - t
        moved = replace(
            rules,
            intercept=rules.intercept - unit[:, 0] * cut,
            # Mean scores; the threshold is t below that of the second class.
            means=unit * np.column_stack([t - distance, t]),
            deviations=unit * deviations,
            error=error,
            gap=np.full(len(error), np.nan),
        )
        pairs = np.flatnonzero(usable & self.estimated)
        return rules.replaced(pairs, moved.take(pairs))

    @property
    def _distance(self) -> Array:
        """Return the distances between the means."""
        return np.maximum(np.diff(self.means)[:, 0], _NO_DISTANCE)

    def _thresholds(self, solver: Any, priors: Array) -> tuple[Array, Array, Array]:
        """Return thresholds t, the deviations that were assumed, and errors.

        The criterion is the least error (39), equal error rates, or a bound on one.
        """
        distance, deviations = self._distance, self.deviations
        if isinstance(solver, Minimax):
            t = distance * deviations[:, 1] / deviations.sum(axis=1)
        elif isinstance(solver, NeymanPearson):
            t = -ndtri(solver.q) * deviations[:, solver.k]
            t = distance - t if solver.k == 0 else t
        else:
            log_tau = np.log(priors[:, 1]) - np.log(priors[:, 0])
            t = best_threshold(distance, deviations[:, 0], deviations[:, 1], log_tau)
            error = bayes_error(t, distance, *deviations.T, *priors.T)
            # With unequal deviations, every threshold may be worse than none.
            useless = ~(error < priors.min(axis=1))[:, None]
            pooled = np.sqrt((deviations**2).mean(axis=1, keepdims=True))
            deviations = np.where(useless, pooled, deviations)
            t = best_threshold(distance, deviations[:, 0], deviations[:, 1], log_tau)
        return t, deviations, bayes_error(t, distance, *deviations.T, *priors.T)


def _unit(rules: Rules) -> Array:
    """Return the deviations of scores under the model, (n_pairs, 1)."""
    return np.sqrt(np.maximum(np.diff(rules.means), 0.0))
