"""The rows of one class, left out one by one of all its pairs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from heterolda.estimators._left_out_fit import Fit
from heterolda.estimators.votes import Ballot, vote_weights, vote_winners
from heterolda.foundations.types import Array, Index, Mask
from heterolda.solvers import Fisher, solve_pairs
from heterolda.solvers.hyperplanes import linear_scores
from heterolda.solvers.left_out import LeftOut, left_out_weight
from heterolda.solvers.left_out_optimum import BestRules, best_rules
from heterolda.solvers.pencil import Pencil
from heterolda.solvers.principal_axes import EPS
from heterolda.statistics.moments import pooled_freedom
from heterolda.tradeoff.criteria import error_rates

# Pairs are solved anew in batches of so many numbers.
_BATCH_SIZE = 1 << 22
# A winner that leads by fewer votes, and this share of the errors, is in doubt as long
# as the rules are known roughly.
_LEAD = 1e-3
_INACCURACY = 0.1
# What is left of a variance is rounding error below this share.
_VANISHED = 64 * EPS


class ClassWithoutRows:
    """The rows of one class, to be left out one by one."""

    def __init__(self, fit: Fit, k: int) -> None:
        self.fit, self.k = fit, k
        self.at = np.flatnonzero((fit.pairs == k).any(axis=1))
        self.pairs = fit.pairs[self.at]
        self.place = (self.pairs[:, 1] == k).astype(np.intp)
        self.others = self.pairs[np.arange(len(self.at)), 1 - self.place]
        self.guarded = np.flatnonzero(fit.guarded[self.at])
        self.searched = np.flatnonzero(~fit.guarded[self.at])
        if fit.is_small:
            pencil, minima = fit.known[0].take(self.at), fit.known[1].of_pairs(self.at)
        else:
            pencil, minima = fit.solved(self.at)
        self.pencil, self.minima = pencil, minima.of_pairs(self.searched)
        if fit.mixed:  # that of the scatters serves all mixtures of them
            self.pencil = pencil.with_covariances(fit.own_covariances[self.pairs])
        self.plain: Pencil | None = None
        if len(self.guarded) and fit.plain[0] is not fit.covariances:
            few = pencil.take(self.guarded)
            self.plain = few.with_covariances(fit.plain[0][self.pairs[self.guarded]])
        # A direction without any variance, or that the features do not span: the
        # pencil has its own rules for these. A class may begin to borrow, too.
        rank = np.count_nonzero(pencil.basis.any(axis=1), axis=1)
        self.odd = (pencil.separation != 0).any(axis=1)
        self.odd |= (rank < len(pencil.c.T)) & fit.guarded[self.at]
        weights = fit.statistics.weights[None] - np.eye(len(fit.priors))[k]
        begins = fit.borrowed[k] == 0 and fit.shares_without(weights)[0, k] > 0
        self.odd |= begins and not fit.mixed

    def winners(self, rows: Array, weight: Array) -> tuple[Index, int]:
        """Winning classes of rows by votes without them; how often was solved anew.

        For most rows it suffices to know the rules roughly: where the winner leads by
        more votes than doubtful pairs have, and the inaccuracy of the others.
        """
        fit = self.fit
        scores = linear_scores(rows, fit.coef.T, fit.intercept)
        left = np.minimum(weight, 1.0)
        out, plain = self._left_out(rows, weight), self._plain_left_out(rows, weight)
        gone = self._gone(left)
        best = self._best(out, plain, nearby=True)
        error = self._error(best, left)
        score = out.signed(best.score)
        winner, lead = self._vote(scores, score, error, best.certain)
        doubtful = (lead <= _LEAD + _INACCURACY * error.sum(axis=0)) & ~gone
        n_anew = 0
        if doubtful.any():
            few = np.flatnonzero(doubtful)
            fishers = None if plain is None else plain.of_rows(few)
            best = self._best(out.of_rows(few), fishers)
            anew = ~best.certain
            for p, n in _batches(anew, rows.shape[1]):
                best.score[p, n], best.error_own[p, n], best.error_other[p, n] = (
                    self._solve_anew(p, rows[few[n]], left[few[n]])
                )
            error, n_anew = self._error(best, left[few]), int(anew.sum())
            score = out.signed(best.score)
            winner[few], _ = self._vote(scores[few], score, error, best.certain | anew)
        if gone.any():
            score = np.where(self.place[:, None] == 0, 1.0, -1.0)
            score = np.broadcast_to(score, (len(self.at), gone.sum()))
            lost = np.zeros(score.shape), np.ones(score.shape, bool)
            winner[gone], _ = self._vote(scores[gone], score, *lost)
        return winner, n_anew

    def _left_out(self, rows: Array, weight: Array) -> LeftOut:
        """The pairs of the class without each of some rows."""
        fit, frequencies = self.fit, self.fit.given_priors is None
        if not fit.mixed:
            return LeftOut.from_pencil(
                self.pencil,
                self.place,
                rows,
                weight,
                borrowed=float(fit.borrowed[self.k]),
                frequencies=frequencies,
            )
        weights = fit.weights_without(self.k, left_out_weight(weight))
        both = np.array([self.k, 1 - self.k])
        factors = fit.factors(weights)[:, both[:, None], both]
        return LeftOut.from_mixtures(
            self.pencil,
            self.place,
            rows,
            weight,
            factors.transpose(1, 2, 0),
            frequencies=frequencies,
        )

    def _plain_left_out(self, rows: Array, weight: Array) -> LeftOut | None:
        """The guarded pairs without each of some rows, if they have a pencil."""
        if self.plain is None:
            return None
        return LeftOut.from_pencil(
            self.plain,
            self.place[self.guarded],
            rows,
            weight,
            borrowed=float(self.fit.plain[1][self.k]),
            frequencies=self.fit.given_priors is None,
        )

    def _gone(self, left: Array) -> Mask:
        """Rows without which the class has no covariance."""
        rest = self.fit.weights_without(self.k, left)
        lonely: Mask = rest[:, self.k] <= 1
        if lonely.any():
            lonely &= self.fit.shares_without(rest)[:, self.k] < 1
            lonely |= rest[:, self.k] <= 0
        return lonely

    def _error(self, best: BestRules, left: Array) -> Array:
        """Errors of rules under the priors, which may be frequencies."""
        p_own = np.full(len(left), self.fit.priors[self.k])
        if self.fit.given_priors is None:
            p_own *= 1 - left / self.fit.statistics.weights[self.k]
        p_other = self.fit.priors[self.others][:, None]
        error: Array = p_own * best.error_own + p_other * best.error_other
        error /= p_own + p_other
        return error

    def _best(
        self, out: LeftOut, plain: LeftOut | None, *, nearby: bool = False
    ) -> BestRules:
        """The rules of all pairs without each row.

        Fisher's rules of guarded pairs are those of `plain`, if there is one. Then the
        covariances of the model are others, and the error with all rows is kept.
        """
        if not len(self.guarded):
            best = best_rules(out, self.minima, nearby=nearby)
        else:
            fishers = BestRules.fisher(plain or out.of_pairs(self.guarded))
            if plain is not None:
                error = self.fit.error[self.at[self.guarded], None]
                fishers.error_own[...] = fishers.error_other[...] = error
            some = best_rules(out.of_pairs(self.searched), self.minima, nearby=nearby)
            order = np.concatenate([self.searched, self.guarded]).argsort()
            best = BestRules.concatenate(some, fishers, order)
        best.certain[self.odd] = False
        free = self.fit.free[self.at]
        if free.any():  # the rule stays trivial, whatever the rows
            score = (out.sign[free, 0] * self.fit.intercept[self.at[free]])[:, None]
            best.score[free] = score
            best.error_own[free], best.error_other[free] = score > 0, score <= 0
            best.certain[free] = True
        return best

    def _solve_anew(
        self, at: Index, rows: Array, left: Array
    ) -> tuple[Array, Array, Array]:
        """Score and error rates of the pairs number `at`, each without one row."""
        fit, k, m = self.fit, self.k, np.arange(len(at))
        place, total = self.place[at], fit.statistics.weights[k]
        means, weights, cov = (
            known[self.pairs[at]]
            for known in (fit.statistics.means, fit.statistics.weights, fit.covariances)
        )
        z = rows - fit.statistics.means[k]
        own, other = means[m, place], means[m, 1 - place]
        moved = own - (left / (total - left))[:, None] * z
        # Where the row alone makes a difference, rounding errors must not.
        same = np.abs(moved - other) <= _VANISHED * (np.abs(own) + np.abs(z))
        means[m, place] = np.where(same, other, moved)
        weights[m, place] -= left
        guarded = fit.guarded[self.at[at]]
        if fit.mixed:
            cov = self._mixtures(z, left)
        else:
            cov[m, place] = self._covariances(z, left, fit.covariances, fit.borrowed)
        if self.plain is not None and guarded.any():
            cov[guarded] = fit.plain[0][self.pairs[at[guarded]]]
            own_rows = z[guarded], left[guarded]
            cov[m[guarded], place[guarded]] = self._covariances(*own_rows, *fit.plain)
        priors = np.repeat(fit.priors[None], len(at), axis=0)
        if fit.given_priors is None:
            priors[:, k] *= (total - left) / total
        shares = priors[m[:, None], self.pairs[at]]
        if fit.criterion.costs is not None:
            shares = np.concatenate(
                [
                    fit.criterion.cost_weighted_priors(one, two[None])
                    for one, two in zip(priors, self.pairs[at], strict=True)
                ]
            )
        score, rates = np.empty(len(at)), np.empty((len(at), 2))
        for some, solver in ((guarded, Fisher()), (~guarded, fit.criterion.solver)):
            if some.any():
                two = np.arange(2 * some.sum()).reshape(-1, 2)
                planes = solve_pairs(
                    means[some].reshape(-1, means.shape[2]),
                    cov[some].reshape(-1, *cov.shape[2:]),
                    shares[some].ravel(),
                    weights[some].ravel(),
                    two,
                    solver,
                )
                score[some] = (planes.coef * rows[some]).sum(axis=1) + planes.intercept
                rates[some] = error_rates(planes)
        if self.plain is not None:
            rates[guarded] = fit.error[self.at[at[guarded]], None]
        sign = np.where(place == 0, 1.0, -1.0)
        return sign * score, rates[m, place], rates[m, 1 - place]

    def _covariances(
        self, z: Array, left: Array, covariances: Array, borrowed: Array
    ) -> Array:
        """The covariance of the class without each of some rows.

        What the class borrowed counts for as many rows as before. If it only begins to
        borrow, that is the pooled covariance with all rows.
        """
        fit, k = self.fit, self.k
        total, share = fit.statistics.weights[k], borrowed[k]
        freedom, own = total - 1, 1 - share
        taken = own / freedom * left * total / (total - left)
        cov: Array = covariances[k] - taken[:, None, None] * (
            z[:, :, None] * z[:, None, :]
        )
        cov = _cleaned(cov, covariances[k])
        with np.errstate(divide="ignore"):
            cov *= (freedom / (freedom - own * left))[:, None, None]
        begun = fit.shares_without(fit.weights_without(k, left))[:, k]
        if share == 0 and begun.any():
            scatters, weights = fit.statistics.scatters, fit.statistics.weights
            pooled = scatters.sum(axis=0) / pooled_freedom(weights)
            cov = np.where(begun[:, None, None] < 1, cov, 0.0)
            cov += begun[:, None, None] * (pooled - cov)
        return cov

    def _mixtures(self, z: Array, left: Array) -> Array:
        """Both covariances of a mixed fit without each of some rows."""
        fit, k = self.fit, self.k
        total, (first, second) = fit.statistics.weights[k], fit.statistics.scatters
        taken = (left * total / (total - left))[:, None, None]
        scatters = np.repeat(np.stack([first, second])[None], len(z), axis=0)
        rest = scatters[:, k] - taken * (z[:, :, None] * z[:, None, :])
        scatters[:, k] = _cleaned(rest, fit.statistics.scatters[k])
        factors = fit.factors(fit.weights_without(k, left))
        mixtures: Array = np.einsum("mkj,mjab->mkab", factors, scatters)
        return mixtures

    def _vote(
        self, scores: Array, mine: Array, error: Array, certain: Mask
    ) -> tuple[Index, Array]:
        """Winners by the votes of all pairs, and their lead whatever the doubtful do.

        In the pairs of the class the scores `mine` and their errors take the place of
        those with all rows.
        """
        fit, k, n_classes = self.fit, self.k, len(self.fit.priors)
        if n_classes == 2:
            lead = np.where(certain[0], np.inf, -np.inf)
            return (mine[0] > 0).astype(np.intp), lead
        scores[:, self.at] = mine.T
        votes = self.ballot.votes(scores)
        weights = vote_weights(error.ravel(), n_classes, fit.voting)
        weights = weights.reshape(error.shape)
        for_own = (mine > 0) == (self.place == 1)[:, None]
        own, other = np.where(for_own, weights, 0.0), np.where(for_own, 0.0, weights)
        votes[:, k] += own.sum(axis=0)
        votes[:, self.others] += other.T
        winner = vote_winners(votes, scores, fit.pairs)
        if not certain.all():
            # What doubtful pairs gave to the winner may go to others.
            own[certain] = other[certain] = 0.0
            of_winner = np.where(winner == k, own.sum(axis=0), 0.0)
            of_winner += (other * (winner == self.others[:, None])).sum(axis=0)
            votes[:, k] += other.sum(axis=0)
            votes[:, self.others] += own.T
        else:
            of_winner = np.zeros(len(winner))
        rows = np.arange(len(winner))
        lead = votes[rows, winner] - of_winner
        if not certain.all():
            lead -= np.where(winner == k, other.sum(axis=0), 0.0)
            lead -= (own * (winner == self.others[:, None])).sum(axis=0)
        votes[rows, winner] = -np.inf
        return winner, lead - votes.max(axis=1)

    @cached_property
    def ballot(self) -> Ballot:
        """The votes of the pairs without the class, which keep their rules."""
        fit, n_classes = self.fit, len(self.fit.priors)
        weights = vote_weights(fit.error, n_classes, fit.voting)
        weights[self.at] = 0.0
        return Ballot.of_weights(weights, fit.pairs, n_classes)


def _cleaned(matrices: Array, before: Array) -> Array:
    """Matrices less a row: a feature of which rounding errors are left is constant."""
    vanished = np.einsum("mii->mi", matrices) <= _VANISHED * np.diag(before)
    matrices[vanished] = 0.0
    matrices.mT[vanished] = 0.0
    return matrices


def _batches(mask: Mask, d: int) -> Iterator[tuple[Index, Index]]:
    """Places where a mask is true, so many at a time that their matrices fit in."""
    first, second = mask.nonzero()
    step = max(1, _BATCH_SIZE // (2 * d * d))
    for start in range(0, len(first), step):
        yield first[start : start + step], second[start : start + step]
