r"""One temperature for the probabilities of a model, from rows of known class.

The final log probabilities are divided by it,

.. math::
    q_k = \frac{p_k^{1/T}}{\sum_j p_j^{1/T}},

so that the order of the classes stays, and so does one half at a threshold. A model
that is too sure of itself has a temperature above one. It maximizes the likelihood of
rows; those of small classes are scored by rules that have not seen them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from heterolda.estimators.pair_problem import PairProblem
from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.kernels.ordered_scores import linear_scores, ordered_scores
from heterolda.solvers import Global
from heterolda.solvers.rules import Rules
from heterolda.statistics.rows import Rows

HIGHEST = 1000.0
# Rows in use: more change the loss by less than 0.0005. With many classes, this many
# numbers, but no fewer rows of any class than the least.
_ENOUGH = 1000
_MOST_NUMBERS = 1 << 20
_LEAST = 20
_MIX = np.uint64(0x9E3779B97F4A7C15)
# Limit of the logarithm of ratios of effective priors.
_FARTHEST = 20.0
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Evidence:
    """Scores of rows by the rules of a model, for its temperature."""

    scores: Array  # (n, n_pairs)
    codes: Index  # classes of the rows
    weights: Array  # of the rows, in proportion to the priors of their classes

    @classmethod
    def of(
        cls,
        rules: Rules,
        problem: PairProblem,
        rows: Rows,
        left_out: dict[int, tuple[Array, Array]],
    ) -> Evidence:
        """Gather scores of some rows of each class.

        Left-out rows of some classes, with their weights and scores, replace the other
        rows of these classes.
        """
        priors = _effective_priors(rules, problem)
        others = np.ones(len(priors), bool)
        others[list(left_out)] = False
        sample = _thinned(rows, others, min(_ENOUGH, _MOST_NUMBERS // len(rules.coef)))
        scores = [linear_scores(sample.X, rules.coef.T, rules.intercept)]
        codes, weights = [sample.codes], [sample.frequencies]
        for k, (weight, score) in left_out.items():
            scores.append(score)
            codes.append(np.full(len(weight), k))
            weights.append(weight)
        code, weight = np.concatenate(codes), np.concatenate(weights)
        totals = np.maximum(np.bincount(code, weight, len(priors)), _TINY)
        return cls(np.concatenate(scores), code, weight * (priors / totals)[code])

    def temperature(self, probabilities: Array) -> float:
        """Return the temperature that fits the probabilities of the rows, at least 1.

        Smaller values would be worse for small sets.
        """
        return best_temperature(probabilities, self.codes, self.weights, 1.0)


def best_temperature(
    probabilities: Array, codes: Index, weights: Array, least: float, doubt: float = 0.0
) -> float:
    """Return the temperature of positive probabilities under which rows are likeliest.

    It lies between `least` and `HIGHEST`. The derivative of the log likelihood by the
    inverse temperature b is the mean of ``log p_y - E log p``, E by the probabilities
    at b, which falls with b. With a share of `doubt`, the class of a row could be any,
    so that b stays bounded if no row is wrong.
    """
    log_p = np.log(probabilities)
    true = (1 - doubt) * log_p[np.arange(len(log_p)), codes]
    true += doubt * log_p.mean(axis=1)

    def slope(b: float) -> float:
        q = np.exp(b * (log_p - log_p.max(axis=1, keepdims=True)))
        expected = (q * log_p).sum(axis=1) / q.sum(axis=1)
        return float(weights @ (true - expected))

    low, high = 1 / HIGHEST, 1 / least
    if slope(high) >= 0:
        return least
    return 1 / float(brentq(slope, low, high)) if slope(low) > 0 else HIGHEST


def _thinned(rows: Rows, classes: Mask, most: int) -> Rows:
    """Return about `most` rows of some classes, in proportion.

    Rows are chosen by a hash of their values: order does not matter, and copies stay
    together.
    """
    totals = rows.totals
    share = np.maximum(most / totals.sum(), _LEAST / np.maximum(totals, _TINY))
    share = np.where(classes, share, 0.0)
    kept = np.arange(len(rows.codes))
    if rows.weights is not None:
        kept = np.flatnonzero(rows.weights)
    if (share < 1).any():
        X = rows.X if rows.weights is None else rows.X[kept]
        X = X.astype(np.float64, copy=False)
        axis = np.random.default_rng(0).normal(size=(1, X.shape[1]))
        hashes = ordered_scores(X, axis, np.zeros(1))[:, 0].view(np.uint64) * _MIX
        kept = kept[hashes < (share * 2.0**64)[rows.codes[kept]]]
    return rows.take(kept)


def _effective_priors(rules: Rules, problem: PairProblem) -> Array:
    """Return the class priors to which probabilities refer.

    Costs multiply the priors of pairs; another criterion has those for which its
    thresholds are the best, (29). Ratios of several pairs are averaged.
    """
    if problem.one_vs_all or problem.criterion.costs is None:
        if isinstance(problem.criterion.solver, Global):
            given: Array = problem.priors
            return given
        with np.errstate(divide="ignore", invalid="ignore"):
            z, sigma = rules.means / rules.deviations, rules.deviations
            log_ratio = np.diff(0.5 * z**2 + np.log(sigma), axis=1)[:, 0]
    else:
        log_ratio = np.diff(np.log(problem.moments.pair_priors), axis=1)[:, 0]
    log_ratio = np.nan_to_num(np.clip(log_ratio, -_FARTHEST, _FARTHEST))
    first, second = problem.pairs.T
    n = len(problem.priors)
    logs = np.bincount(second, log_ratio, n) - np.bincount(first, log_ratio, n)
    priors: Array = np.exp((logs - logs.max()) / n)
    priors /= priors.sum()
    return priors
