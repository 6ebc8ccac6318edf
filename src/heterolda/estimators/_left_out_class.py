"""The rows of one class, left out one by one of all its pairs."""

from __future__ import annotations

import numpy as np

from heterolda.estimators._left_out_fit import Fit
from heterolda.estimators._left_out_pairs import PairsWithoutRows
from heterolda.estimators.votes import vote_weights, winners_of_votes
from heterolda.foundations.types import Array, Index, Mask
from heterolda.kernels.votes import count_votes
from heterolda.solvers.rules import linear_scores

# A winner that leads by fewer votes, and this share of the errors, is in doubt as long
# as the rules are known roughly.
_LEAD = 1e-3
_INACCURACY = 0.1


class ClassWithoutRows:
    """The rows of class k, to be left out one by one."""

    def __init__(self, fit: Fit, k: int) -> None:
        self.fit, self.k, n_classes = fit, k, len(fit.priors)
        self.at, place = np.nonzero(fit.pairs == k)
        self.others = fit.pairs[self.at, 1 - place]
        self.sign = np.where(place == 0, 1.0, -1.0)[:, None]
        # Pairs of which an error costs nothing keep their trivial rule.
        searched, free = ~fit.guarded[self.at], fit.free[self.at]
        self.groups = [
            (some, PairsWithoutRows(fit, k, self.others[some], guarded=guarded))
            for mask, guarded in ((searched, False), (~searched, True))
            if len(some := np.flatnonzero(mask & ~free))
        ]
        # The pairs without the class keep their rules and votes.
        self.weights = vote_weights(fit.error, n_classes, fit.voting)
        self.weights[self.at] = 0.0

    def winners(self, rows: Array, weight: Array) -> tuple[Index, int]:
        """Winning classes of rows by votes without them; how often was solved anew.

        For most rows it suffices to know the rules roughly: where the winner leads by
        more votes than doubtful pairs have, and the inaccuracy of the others.
        """
        score, error, certain, _ = self._rules(rows, weight, nearby=True)
        winner, lead = self._vote(rows, score, error, certain)
        doubtful = np.flatnonzero(lead <= _LEAD + _INACCURACY * error.sum(axis=0))
        if not len(doubtful):
            return winner, 0
        rows, weight = rows[doubtful], weight[doubtful]
        score, error, certain, n_anew = self._rules(rows, weight, nearby=False)
        winner[doubtful], _ = self._vote(rows, score, error, certain)
        return winner, n_anew

    def _rules(
        self, rows: Array, weight: Array, *, nearby: bool
    ) -> tuple[Array, Array, Mask, int]:
        """Scores, positive for the other class, and errors of all pairs without rows.

        Unless it suffices to know them roughly, those in doubt are solved anew. Their
        number is the last result.
        """
        fit, k, n_anew = self.fit, self.k, 0
        left = np.minimum(weight, 1.0)
        gone = fit.covariances.is_gone(k, left)
        priors = fit.priors_without(k, left).T
        p_own = priors[k] / (priors[k] + priors[self.others])
        shape = len(self.others), len(rows)
        score = np.broadcast_to(self.sign * fit.intercept[self.at, None], shape).copy()
        error = np.where(score > 0, p_own, 1 - p_own)
        certain = np.ones(shape, bool)
        for some, group in self.groups:
            rules = group.rules(rows, weight, nearby=nearby)
            if not nearby:
                rules.certain[:, gone] = True
                n_anew += group.solve_anew(rules, rows, left)
            score[some] = rules.score
            error[some] = p_own[some] * rules.error_own
            error[some] += (1 - p_own[some]) * rules.error_other
            certain[some] = rules.certain | (not nearby)
            if group.guarded and fit.plain is not fit.covariances:
                # The model has other covariances: the error with all rows is kept.
                error[some] = fit.error[self.at[some], None]
        error[~certain] = 0.0
        # A class of which nothing is left gets no votes.
        score[:, gone], error[:, gone], certain[:, gone] = 1.0, 0.0, True
        return score, error, certain, n_anew

    def _vote(
        self, rows: Array, mine: Array, error: Array, certain: Mask
    ) -> tuple[Index, Array]:
        """Winners by the votes of all pairs, and their lead whatever the doubtful do.

        In the pairs of the class the scores `mine` and their errors take the place of
        those with all rows.
        """
        fit, k = self.fit, self.k
        scores = linear_scores(rows, fit.coef.T, fit.intercept)
        scores[:, self.at] = (self.sign * mine).T
        weights = vote_weights(error.ravel(), len(fit.priors), fit.voting)
        weights = weights.reshape(error.shape)
        unchanged = count_votes(scores, self.weights)

        def count(for_own: Mask, for_other: Mask) -> Array:
            votes = unchanged.copy()
            votes[:, k] += np.where(for_own, weights, 0.0).sum(axis=0)
            votes[:, self.others] += np.where(for_other, weights, 0.0).T
            return votes

        second = self.sign * mine > 0
        own = second == (self.sign < 0)
        votes = count(own, ~own)
        winner = winners_of_votes(votes, scores)
        least, most = votes, votes
        if not certain.all():
            least = count(own & certain, ~own & certain)
            most = count(own | ~certain, ~own | ~certain)
        at = np.arange(len(rows))
        lead = least[at, winner]
        most[at, winner] = -np.inf
        return winner, lead - most.max(axis=1)
