"""Replace rules that rows contradict by rules for equal covariances.

The certified optimum is that of the Gaussian model. Where the model does not fit the
rows, it may be far worse than a rule that assumes less: the pair's Fisher rule or, with
few rows per feature, linear discriminant analysis of all classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from heterolda.estimators.pair_problem import PairProblem
from heterolda.estimators.temperature import Evidence
from heterolda.estimators.thresholds import Thresholds
from heterolda.estimators.votes import vote_weights
from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.rounding import NO_SPREAD
from heterolda.kernels.ordered_scores import linear_scores
from heterolda.kernels.rule_counts import RowsOfPairs, rule_counts
from heterolda.kernels.votes import count_votes, winners_of_votes
from heterolda.solvers import Global, Moments, solve_fisher
from heterolda.solvers.left_out import LeftOutScores
from heterolda.solvers.rules import Rules, Status, bayes_error
from heterolda.statistics.rows import Rows
from heterolda.statistics.shrinkage import Shrinkage
from heterolda.statistics.wide import Span

# A rule gives way to its rival if it makes this share more errors. A smaller share is
# mostly chance, and not worth giving up the optimum of the model for.
MORE = 0.03
_ROUNDING = 1e-12
# With fewer rows per feature than this, each row is classified by rules fitted without
# it. With more rows that makes no difference.
ROWS_PER_FEATURE = 5


@dataclass(frozen=True)
class Verdict:
    """Errors of the rules of pairs on rows, and which pairs change their rule.

    Attributes
    ----------
    guarded : ndarray of bool of shape (n_pairs,)
        Pairs that take their rival's rule.
    errors : ndarray of shape (2, n_pairs)
        Errors on rows of the model's rule and of its rival, with the priors and costs
        in force.
    deviation : ndarray of shape (n_pairs,)
        Standard error of their difference.
    coef : ndarray of shape (n_pairs, n_features)
        Normals of the model's rules.
    """

    guarded: Mask
    errors: Array
    deviation: Array
    coef: Array

    def in_features(self, span: Span | None) -> Verdict:
        """Return the verdict with normals of features, if there are coordinates."""
        return self if span is None else replace(self, coef=self.coef @ span.basis.T)


class Chosen(NamedTuple):
    """Choices made by the rows of a fit.

    Attributes
    ----------
    shrinkage : Shrinkage or None
        Amounts of shrinkage; None if the parameter gives them.
    guarded : ndarray of bool of shape (n_pairs,) or None
        Pairs that take their rival's rule.
    thresholds : Thresholds or None
        Left-out scores that set the thresholds, if rows are few.
    evidence : Evidence or float
        Rows that determine the temperature of the probabilities, or the temperature.
    """

    shrinkage: Shrinkage | None = None
    guarded: Mask | None = None
    thresholds: Thresholds | None = None
    evidence: Evidence | float = 1.0


NOTHING = Chosen()


def reviewed(
    problem: PairProblem, rows: Rows | None, chosen: Chosen
) -> tuple[Rules, Chosen, Verdict | None]:
    """Solve pairs, then apply what rows say about them, or said in an earlier fit."""
    thresholds, verdict = chosen.thresholds, None
    left_out: list[LeftOutScores] = []
    if thresholds is None and rows is not None and problem.has_few_rows:
        thresholds, left_out = Thresholds.of(problem, rows)
    guarded = np.zeros(len(problem.pairs), bool)
    scores: dict[int, tuple[Array, Array]] = {}
    if thresholds is not None:
        rules = thresholds.at(problem.criterion.solver, problem.moments.pair_priors)
        moved = thresholds.moved(left_out, rules)
        scores = _by_class(moved, rules.coef, rules.intercept, problem.pairs)
    else:
        rules = problem.solve()
        if rows is not None and isinstance(problem.criterion.solver, Global):
            rules, verdict, scores = evaluated(rules, problem, rows)
            guarded = verdict.guarded
        elif chosen.guarded is not None:
            guarded = chosen.guarded
            rules = with_rivals(rules, problem, guarded)
    evidence = chosen.evidence
    # Rows filled in by regression are less sure of their class than they look.
    complete = problem.stats.estimated_by != "EM"
    if rows is not None and problem.follows_optimum and complete:
        evidence = Evidence.of(rules, problem, rows, scores)
    return rules, Chosen(chosen.shrinkage, guarded, thresholds, evidence), verdict


def evaluated(
    rules: Rules, problem: PairProblem, rows: Rows
) -> tuple[Rules, Verdict, dict[int, tuple[Array, Array]]]:
    """Replace rules that make more errors on rows than their rivals do.

    Pairs whose covariances borrow from other classes are not evaluated: what they have
    borrowed has seen the rows. The last result has the weights and scores of left-out
    rows of small classes.
    """
    judged = rules.status != Status.SEPARABLE
    first, second = problem.pairs.T  # -1 stands for all others
    judged &= ~problem.borrows[second] & ((first < 0) | ~problem.borrows[first])
    errors, deviation = np.zeros((2, len(judged))), np.zeros(len(judged))
    together = np.zeros(2)
    left_out: dict[int, tuple[Array, Array, Array]] = {}
    if problem.one_vs_all:
        errors, deviation = _errors_of_others(rules, problem, rows, judged)
    else:
        found = _errors_of_pairs(rules, problem, rows, judged)
        errors, deviation, together, left_out = found
    # Weights may be summed in any order: rounding must not count as an error.
    errors = np.where(errors > _ROUNDING, errors, 0.0)
    worse = errors[0] > (1 + MORE) * errors[1]
    if len(problem.priors) > 2 and together[0] >= max(together[1], _ROUNDING):
        # Few rows say little about one pair, but more about all classes together.
        worse |= judged & np.logical_or(*_few(rules, problem)[problem.pairs].T)
    verdict = Verdict(worse, errors, deviation, rules.coef)
    scores = {k: (w, np.where(worse, *both)) for k, (w, *both) in left_out.items()}
    return with_rivals(rules, problem, worse), verdict, scores


def with_rivals(rules: Rules, problem: PairProblem, guarded: Mask) -> Rules:
    """Return the rules with those of guarded pairs replaced by their rivals."""
    pairs = np.flatnonzero(guarded & (rules.status != Status.SEPARABLE))
    if not len(pairs):
        return rules
    coef, intercept = _rivals(rules, problem)
    before, moments = rules.take(pairs), problem.moments.take(pairs)
    return with_rules(
        rules, pairs, _rated(coef[pairs], intercept[pairs], before, moments)
    )


def with_rules(rules: Rules, pairs: Index, rivals: Rules) -> Rules:
    """Return rules in which rivals replace those of some pairs, with their gaps."""
    before = rules.take(pairs)
    # The bound that was proven for the optimum holds for any rule.
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = 1 - before.error * (1 - before.gap) / rivals.error
    rivals = replace(rivals, gap=np.where(rivals.error > 0, gap, 0.0))
    return rules.replaced(pairs, rivals)


def _rivals(rules: Rules, problem: PairProblem) -> tuple[Array, Array]:
    """Return coefficients and intercepts of the rules to compare with.

    They are Fisher's of the pair, or of all classes pooled where a class of it has few
    rows. Fisher's rules are not shrunk.
    """
    moments = problem.moments
    few: Mask = np.logical_or(*_few(rules, problem)[problem.pairs].T)
    coef, intercept = rules.fisher
    if problem.is_shrunk and not few.all():
        plain = replace(moments, covariances=problem.stats.covariances())
        coef, intercept = solve_fisher(plain).fisher
    if few.any():
        pooled = problem.lda.rules(moments)
        coef = np.where(few[:, None], pooled[0], coef)
        intercept = np.where(few, pooled[1], intercept)
    return coef, intercept


def _few(rules: Rules, problem: PairProblem) -> Mask:
    """Return which classes have few rows for each direction in which they vary."""
    few = np.zeros(len(problem.moments.weights), bool)
    if problem.leaves_out and not problem.one_vs_all and rules.rank is not None:
        few |= problem.moments.weights < ROWS_PER_FEATURE * rules.rank.max()
    return few


def _errors_of_pairs(
    rules: Rules, problem: PairProblem, rows: Rows, judged: Mask
) -> tuple[Array, Array, Array, dict[int, tuple[Array, Array, Array]]]:
    """Return errors on rows of rules and rivals, and deviations of the difference.

    The third result has the errors of both on left-out rows of small classes, by votes;
    the last has the weights of these rows, and their scores by rivals and rules.
    """
    few: Mask = _few(rules, problem)
    pairs = problem.pairs
    own = rules.coef, rules.intercept
    coef, intercept = _rivals(rules, problem)
    of_pairs = rows.X, rows.weights, *rows.by_class, ~few, pairs, judged
    counts = rule_counts(RowsOfPairs(*of_pairs), own, (coef, intercept))
    together, left_out = np.zeros(2), {}
    places = few[pairs]
    if places.any():
        small = rows.take(np.flatnonzero(few[rows.codes]))
        without, pooled = problem.left_out(small), judged & np.logical_or(*places.T)
        votes = vote_weights(rules.error, len(few), problem.voting)
        models = _by_class(without.of_arcs(rules, places), *own, pairs)
        rivals = _by_class(without.of_lda(places), coef, intercept, pairs)
        for k, (weights, one) in models.items():
            two = np.where(pooled, rivals[k][1], one)
            left_out[k] = weights, two, one
            pair, place = np.nonzero((pairs == k) & judged[:, None])
            second = place == 1
            wrong, also = ((scores[:, pair] > 0) != second for scores in (one, two))
            sums = weights @ wrong, weights @ also, weights @ (wrong != also)
            counts[pair, place] = np.transpose(sums)
            share = problem.priors[k] * weights / max(weights.sum(), 1.0)
            lost = [
                winners_of_votes(count_votes(scores, votes), scores) != k
                for scores in (one, two)
            ]
            together += np.array(lost) @ share
    share = problem.moments.pair_priors / rows.totals[pairs]
    errors = (share[:, :, None] * counts).sum(axis=1)
    variance = (share**2 * counts[:, :, 2]).sum(axis=1)
    return errors.T[:2], np.sqrt(variance), together, left_out


def _by_class(
    records: Iterable[LeftOutScores], coef: Array, intercept: Array, pairs: Index
) -> dict[int, tuple[Array, Array]]:
    """Return, for each class, the weights of its rows and their scores by all rules.

    Rules of its own class are fitted without the row. Where a matrix is singular
    without the row, the row counts as wrong.
    """
    classes: dict[int, tuple[Array, Array]] = {}
    for one in records:
        k = int(pairs[one.pairs[0], one.place[0]])
        if k not in classes:
            scores = linear_scores(one.rows.X, coef.T, intercept)
            classes[k] = one.rows.frequencies, scores
        wrong = np.where(one.place == 1, -1.0, 1.0)[:, None]
        score = np.where(np.isnan(one.score), wrong, one.score)
        classes[k][1][:, one.pairs] = score.T
    return classes


def _errors_of_others(
    rules: Rules, problem: PairProblem, rows: Rows, judged: Mask
) -> tuple[Array, Array]:
    """Count errors of one class against all others, weighted by their priors."""
    n, one = len(problem.priors), problem.pairs[:, 1]
    kind, pair = np.tile(np.arange(n), len(one)), np.repeat(np.arange(len(one)), n)
    is_one = one[pair] == kind
    classes = np.column_stack([np.where(is_one, -1, kind), np.where(is_one, kind, -1)])
    every = np.ones(n, bool)
    of_pairs = rows.X, rows.weights, *rows.by_class, every, classes, judged[pair]
    coef, intercept = rules.fisher
    counts = rule_counts(
        RowsOfPairs(*of_pairs),
        (rules.coef[pair], rules.intercept[pair]),
        (coef[pair], intercept[pair]),
    ).sum(axis=1)
    others = np.where(np.eye(n), 0.0, problem.priors).sum(axis=1)[one[pair]]
    part = np.where(is_one, 1.0, problem.priors[kind] / others)
    priors = problem.moments.pair_priors[pair, is_one.astype(int)]
    share = priors * part / rows.totals[kind]
    errors = (share[:, None] * counts).reshape(-1, n, 3).sum(axis=1)
    variance = (share**2 * counts[:, 2]).reshape(-1, n).sum(axis=1)
    return errors.T[:2], np.sqrt(variance)


def _rated(coef: Array, intercept: Array, before: Rules, moments: Moments) -> Rules:
    """Return the rivals as rules, with their errors under the model."""
    priors, means = moments.pair_priors, moments.means[moments.pairs]
    D = np.einsum("pi,pi->p", coef, means[:, 1] - means[:, 0])
    t = 0.5 * D + np.log(priors[:, 1]) - np.log(priors[:, 0])
    least = NO_SPREAD * np.abs(D)[:, None]
    deviations = np.sqrt(np.maximum(_variances(coef, moments), least**2))
    with np.errstate(divide="ignore", invalid="ignore"):
        error = bayes_error(t, D, *deviations.T, *priors.T)
    trivial = ~coef.any(axis=1)
    return replace(
        before,
        coef=coef,
        intercept=intercept,
        error=np.where(trivial, priors.min(axis=1), error),
        n_iter=np.ones(len(D), np.intp),
        status=np.where(trivial, Status.TRIVIAL, Status.CLOSED_FORM),
        means=np.column_stack([t - D, t]),
        deviations=deviations,
    )


def _variances(normals: Array, moments: Moments) -> Array:
    """Return variances of both classes of each pair along its normal, (n_pairs, 2)."""
    variances = np.empty(moments.pairs.shape)
    for k in np.unique(moments.pairs):
        pair, place = np.nonzero(moments.pairs == k)
        w = normals[pair]
        variances[pair, place] = np.einsum("pi,pi->p", w @ moments.covariances[k], w)
    return variances
