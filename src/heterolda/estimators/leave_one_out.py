"""Leave-one-out in closed form: how often the rules err on rows they have not seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.estimators._left_out_lda import lda_winners
from heterolda.estimators.votes import Ballot, vote_weights, vote_winners
from heterolda.exceptions import ParameterError, Setting
from heterolda.foundations.types import Array, Index, Mask
from heterolda.foundations.validation import encode
from heterolda.solvers import Fisher, Global, Solver, resolve_solver, solve_pairs
from heterolda.solvers.arc import Arc
from heterolda.solvers.hyperplanes import linear_scores
from heterolda.solvers.left_out import LeftOut
from heterolda.solvers.left_out_optimum import BestRules, Minima, best_rules
from heterolda.solvers.pencil import EPS, Pencil
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.shrinkage import class_covariances
from heterolda.tradeoff.criteria import Criterion, error_rates

MOST_ROWS = 20_000
# Rows are worked on in blocks of so many numbers, and pairs solved anew in batches.
_BLOCK_SIZE = 1 << 17
_BATCH_SIZE = 1 << 22
# A winner that leads by fewer votes, and this share of the errors, is in doubt as long
# as the rules are known roughly.
_LEAD = 1e-3
_INACCURACY = 0.1
# What is left of a variance is rounding error below this share.
_VANISHED = 64 * EPS


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Predictions of rows by the model fitted without them.

    Attributes
    ----------
    rows : ndarray of int of shape (n_rows,)
        Indices of the rows that were judged: all of positive weight, or an even sample.
    predictions : ndarray of shape (n_rows,)
        Labels that the model without the row predicts for it.
    error : float
        Share of the weight of these rows that is predicted wrong.
    standard_error : float
        Its standard error.
    lda_predictions : ndarray of shape (n_rows,)
        The same for linear discriminant analysis with the same priors.
    lda_error : float
        Share of the weight that it predicts wrong.
    n_solved_anew : int
        How many rules were not followed from the fit with all rows, but solved anew.
    """

    rows: Index
    predictions: NDArray[Any]
    error: float
    standard_error: float
    lda_predictions: NDArray[Any]
    lda_error: float
    n_solved_anew: int


def leave_one_out(
    model: Any, X: NDArray[Any], y: NDArray[Any], weight: Array | None
) -> LeaveOneOut:
    """Leave each row out of a fitted discriminant; X, y and weight are its rows."""
    classes = model.classes_
    codes = encode(y, classes).astype(np.intp)
    weight = _same_rows(model.statistics_, classes[codes] == y, codes, weight)
    rows = np.flatnonzero(weight > 0)
    if len(rows) > MOST_ROWS:
        rows = np.sort(rows[_hashes(X[rows]).argsort(kind="stable")[:MOST_ROWS]])
    some = codes[rows], weight[rows]
    winners, lda, n_solved_anew = winners_without(model, X[rows], *some)
    share = weight[rows] / weight[rows].sum()
    error = float(share @ (winners != codes[rows]))
    return LeaveOneOut(
        rows=rows,
        predictions=classes[winners],
        error=error,
        standard_error=float(np.sqrt(error * (1 - error) / weight[rows].sum())),
        lda_predictions=classes[lda],
        lda_error=float(share @ (lda != codes[rows])),
        n_solved_anew=n_solved_anew,
    )


def winners_without(
    model: Any, X: NDArray[Any], codes: Index, weight: Array
) -> tuple[Index, Index, int]:
    """Classes of rows by a fitted discriminant and by LDA, each without that row.

    The rows are some of those that the model was fitted to, with the places of their
    classes. The last result is the number of rules that were solved anew.
    """
    fit = _Fit.of(model)
    winners = np.empty(len(X), np.intp)
    n_solved_anew = 0
    step = max(1, _BLOCK_SIZE // (X.shape[1] * max(1, len(fit.priors) - 1)))
    for k in range(len(fit.priors)):
        mine = np.flatnonzero(codes == k)
        judge = _Class(fit, k)
        for start in range(0, len(mine), step):
            at = mine[start : start + step]
            found, n_anew = judge.winners(X[at].astype(np.float64), weight[at])
            winners[at] = found
            n_solved_anew += n_anew
    rows = np.arange(len(X))
    lda = lda_winners(X, codes, weight, rows, fit.statistics, fit.given_priors)
    return winners, lda, n_solved_anew


def _same_rows(
    statistics: ClassStatistics, known: Mask, codes: Index, weight: Array | None
) -> Array:
    """The weights of the rows; refuse rows that the model was not fitted to."""
    weight = np.ones(len(codes)) if weight is None else weight
    totals = np.bincount(codes, weight, statistics.n_classes)
    scale = statistics.weights.sum() / totals.sum() if totals.sum() > 0 else 1.0
    if not known.all() or not np.allclose(scale * totals, statistics.weights):
        raise ParameterError(
            Setting("X"),
            ", y and ",
            Setting("sample_weight"),
            " must be those that the model was fitted to: the classes have a total "
            f"weight of {totals.tolist()} here, and of {statistics.weights.tolist()} "
            "in the fit",
        )
    return scale * weight


def _hashes(X: NDArray[Any]) -> NDArray[np.uint64]:
    """Numbers that depend on the values of a row only, and seem random."""
    words = np.ascontiguousarray(X, np.float64).view(np.uint64)
    total = np.zeros(len(X), np.uint64)
    for column in words.T:
        total ^= column
        total *= np.uint64(0x9E3779B97F4A7C15)
        total ^= total >> np.uint64(29)
    return total


@dataclass(frozen=True)
class _Fit:
    """What leaving rows out needs of a fitted discriminant."""

    statistics: ClassStatistics
    covariances: Array
    borrowed: Array  # share of the pooled covariance in each class
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
    def of(cls, model: Any) -> _Fit:
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

    @property
    def is_small(self) -> bool:
        """Whether the pencils of all pairs take little memory."""
        return bool(self.coef.size * self.coef.shape[1] <= _BATCH_SIZE)

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


class _Class:
    """The rows of one class, to be left out one by one."""

    def __init__(self, fit: _Fit, k: int) -> None:
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
        # A direction without any variance, or that the features do not span: the
        # pencil has its own rules for these.
        rank = np.count_nonzero(pencil.basis.any(axis=1), axis=1)
        self.odd = (pencil.separation != 0).any(axis=1)
        self.odd |= (rank < len(pencil.c.T)) & fit.guarded[self.at]

    def winners(self, rows: Array, weight: Array) -> tuple[Index, int]:
        """Winning classes of rows by votes without them; how often was solved anew.

        For most rows it suffices to know the rules roughly: where the winner leads by
        more votes than doubtful pairs have, and the inaccuracy of the others.
        """
        fit, k = self.fit, self.k
        scores = linear_scores(rows, fit.coef.T, fit.intercept)
        left = np.minimum(weight, 1.0)
        out = LeftOut.from_pencil(
            self.pencil,
            self.place,
            rows,
            weight,
            borrowed=float(fit.borrowed[k]),
            frequencies=fit.given_priors is None,
        )
        gone = fit.statistics.weights[k] - left <= 1  # no covariance is left
        best = self._best(out, nearby=True)
        error = self._error(best, left)
        score = out.signed(best.score)
        winner, lead = self._vote(scores, score, error, best.certain)
        doubtful = (lead <= _LEAD + _INACCURACY * error.sum(axis=0)) & ~gone
        n_anew = 0
        if doubtful.any():
            few = np.flatnonzero(doubtful)
            best = self._best(out.of_rows(few))
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

    def _error(self, best: BestRules, left: Array) -> Array:
        """Errors of rules under the priors, which may be frequencies."""
        p_own = np.full(len(left), self.fit.priors[self.k])
        if self.fit.given_priors is None:
            p_own *= 1 - left / self.fit.statistics.weights[self.k]
        p_other = self.fit.priors[self.others][:, None]
        error: Array = p_own * best.error_own + p_other * best.error_other
        error /= p_own + p_other
        return error

    def _best(self, out: LeftOut, *, nearby: bool = False) -> BestRules:
        """The rules of all pairs without each row."""
        if not len(self.guarded):
            best = best_rules(out, self.minima, nearby=nearby)
        elif not len(self.searched):
            best = BestRules.fisher(out)
        else:
            some = best_rules(out.of_pairs(self.searched), self.minima, nearby=nearby)
            more = BestRules.fisher(out.of_pairs(self.guarded))
            order = np.concatenate([self.searched, self.guarded]).argsort()
            best = BestRules.concatenate(some, more, order)
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
        means[m, place] -= (left / (total - left))[:, None] * z
        weights[m, place] -= left
        cov[m, place] = self._covariances(z, left)
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
        guarded = fit.guarded[self.at[at]]
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
        sign = np.where(place == 0, 1.0, -1.0)
        return sign * score, rates[m, place], rates[m, 1 - place]

    def _covariances(self, z: Array, left: Array) -> Array:
        """The covariance of the class without each of some rows."""
        fit, k = self.fit, self.k
        total, borrowed = fit.statistics.weights[k], fit.borrowed[k]
        freedom, own = total - 1, 1 - borrowed
        taken = own / freedom * left * total / (total - left)
        grown = freedom / (freedom - own * left)
        cov: Array = fit.covariances[k] - taken[:, None, None] * (
            z[:, :, None] * z[:, None, :]
        )
        cov *= grown[:, None, None]
        # Where nothing is left but rounding errors, a feature is constant.
        squares = np.einsum("mii->mi", cov)
        vanished = squares <= _VANISHED * np.diag(fit.covariances[k])
        cov[vanished] = 0.0
        cov.mT[vanished] = 0.0
        return cov

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


def _batches(mask: Mask, d: int) -> Iterator[tuple[Index, Index]]:
    """Places where a mask is true, so many at a time that their matrices fit in."""
    first, second = mask.nonzero()
    step = max(1, _BATCH_SIZE // (2 * d * d))
    for start in range(0, len(first), step):
        yield first[start : start + step], second[start : start + step]
