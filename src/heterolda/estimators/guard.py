"""Replace rules that make more errors on rows than rules for equal covariances.

The certified optimum is that of the Gaussian model. Where the model does not fit the
rows, it may be far worse than a simpler rule: the pair's Fisher rule or, with few rows
per feature, linear discriminant analysis of all classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from heterolda.estimators.pair_problem import ROWS_PER_FEATURE, PairProblem
from heterolda.estimators.votes import committee_of
from heterolda.estimators.warn import leading_features, warn
from heterolda.exceptions import ModelMisfitWarning
from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.rounding import NO_SPREAD
from heterolda.kernels.ordered_scores import linear_scores
from heterolda.kernels.rule_counts import RowsOfPairs, rule_counts
from heterolda.solvers import solve_fisher
from heterolda.solvers.left_out import LeftOutScores
from heterolda.solvers.pencil import Moments
from heterolda.solvers.rules import Rules, Status, bayes_error
from heterolda.statistics.rows import Rows

# A rule is replaced if its errors exceed its rival's by this share. A smaller excess is
# mostly chance, and not worth giving up the optimum of the model for.
MAX_EXCESS = 0.03
# Share of fits to Gaussian classes that may draw a warning.
_CHANCE = 0.02
# Errors are summed over the classes in the order of their labels.
_ROUNDING = 1e-12

# Weights and scores of left-out rows, by class.
ScoresByClass = dict[int, tuple[Array, Array]]


@dataclass(frozen=True)
class Verdict:
    """Errors that the rules of all pairs and their rivals make on rows."""

    guarded: Mask  # pairs whose rival is better
    errors: Array  # of the model's rule and its rival, (2, n_pairs)
    deviation: Array  # standard error of the difference, (n_pairs,)
    left_out: ScoresByClass  # of small classes, by the better rules


def compare_with_rivals(rules: Rules, problem: PairProblem, rows: Rows) -> Verdict:
    """Compare rules with their rivals on rows.

    Pairs whose covariances borrow from other classes are not compared: the pooled
    covariance was estimated from the rows.
    """
    first, second = problem.pairs.T  # -1 stands for all others
    compared = rules.status != Status.SEPARABLE
    compared &= ~problem.borrows[second] & ((first < 0) | ~problem.borrows[first])
    few, rivals = _small_classes(rules, problem), _rivals(rules, problem)
    together, left_out = np.zeros(2), {}
    if problem.one_vs_rest:
        errors, variance = _errors_of_one_vs_rest(rules, rivals, problem, rows)
    else:
        given = rows.X, rows.weights, *rows.by_class, ~few, problem.pairs, compared
        counts = rule_counts(RowsOfPairs(*given), (rules.coef, rules.intercept), rivals)
        if few.any():
            small = compared & few[problem.pairs].any(axis=1)
            left_out = _left_out(rules, rivals, problem, rows, few, small)
            rules_of_both = rules, with_rivals(rules, problem, small)
            parts = left_out, rules_of_both, problem, compared, counts
            together = _count_left_out(*parts)
        share = problem.moments.pair_priors / rows.totals[problem.pairs]
        errors = np.einsum("pk,pkr->rp", share, counts[:, :, :2])
        variance = np.einsum("pk,pk->p", share**2, counts[:, :, 2])
    errors = np.where(compared, errors, 0.0)
    worse = errors[0] > (1 + MAX_EXCESS) * errors[1]
    if together[0] >= max(together[1] - _ROUNDING, _ROUNDING):
        # Few rows say little about one pair, but more about all classes together.
        worse |= compared & few[problem.pairs].any(axis=1)
    scores = {k: (w, np.where(worse, *both)) for k, (w, *both) in left_out.items()}
    return Verdict(worse, errors, np.sqrt(variance), scores)


def guarded_rules(
    rules: Rules, problem: PairProblem, rows: Rows
) -> tuple[Rules, Mask, ScoresByClass]:
    """Replace rules that make more errors on rows than their rivals do.

    Also return a mask of these pairs, and scores of left-out rows by the new rules.
    """
    verdict = compare_with_rivals(rules, problem, rows)
    _warn_of_misfit(problem, verdict, rules)
    rules = with_rivals(rules, problem, verdict.guarded)
    return rules, verdict.guarded, verdict.left_out


def with_rivals(rules: Rules, problem: PairProblem, guarded: Mask) -> Rules:
    """Return the rules, with rivals in place of those of guarded pairs."""
    pairs = np.flatnonzero(guarded & (rules.status != Status.SEPARABLE))
    if not len(pairs):
        return rules
    coef, intercept = _rivals(rules, problem)
    before, moments = rules.take(pairs), problem.moments.take(pairs)
    rivals = _with_errors(coef[pairs], intercept[pairs], before, moments)
    return with_rules(rules, pairs, rivals, moments)


def with_rules(rules: Rules, pairs: Index, rivals: Rules, moments: Moments) -> Rules:
    """Return the rules with rivals in place of those of some pairs; update gaps."""
    before = rules.take(pairs)
    # The bound that was proven for the optimum holds for any rule.
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = 1 - before.error * (1 - before.gap) / rivals.error
    rivals = replace(rivals, gap=np.where(rivals.error > 0, gap, 0.0))
    return rules.replaced(pairs, rivals.with_rounding(moments))


def _warn_of_misfit(problem: PairProblem, verdict: Verdict, rules: Rules) -> None:
    """Warn about rules that are worse than their rivals by more than chance.

    At most 2 % of fits to Gaussian classes draw a warning, for any number of pairs.
    """
    excess = verdict.errors[0] - verdict.errors[1]
    limit = ndtri(1 - _CHANCE / len(excess)) * verdict.deviation
    clear = np.flatnonzero(verdict.guarded & (excess > limit))
    if not len(clear):
        return
    normal, span = rules.coef[clear[excess[clear].argmax()]], problem.span
    normal = normal if span is None else span.basis @ normal
    features = leading_features(problem.features, normal)
    warn(
        "the classes are not Gaussian: for the pairs in guarded_, the best rule of the "
        "Gaussian model makes more errors on the rows than the rule for equal "
        f"covariances, which replaces it. Transform or leave out {features}, on which "
        "the model relies, or use SmoothedLinearDiscriminant()",
        ModelMisfitWarning,
    )


def scores_by_class(
    records: Iterable[LeftOutScores], coef: Array, intercept: Array, pairs: Index
) -> ScoresByClass:
    """Return, for each class, the weights of its rows and their scores by all rules.

    In pairs that include the class of a row, the rule is fitted without that row. Where
    a matrix is singular without the row, the row counts as wrong.
    """
    classes: ScoresByClass = {}
    for record in records:
        k = int(pairs[record.pairs[0], record.position[0]])
        if k not in classes:
            scores = linear_scores(record.rows.X, coef.T, intercept)
            classes[k] = record.rows.frequencies, scores
        wrong = np.where(record.position == 1, -1.0, 1.0)[:, None]
        score = np.where(np.isnan(record.score), wrong, record.score)
        classes[k][1][:, record.pairs] = score.T
    return classes


# Rivals


def _rivals(rules: Rules, problem: PairProblem) -> tuple[Array, Array]:
    """Return Fisher's rules, unshrunk, or LDA's where a class has few rows."""
    if problem.one_vs_rest:
        return rules.fisher
    few: Mask = np.logical_or(*_small_classes(rules, problem)[problem.pairs].T)
    coef, intercept = rules.fisher
    if problem.is_shrunk and not few.all():
        unshrunk = replace(problem.moments, covariances=problem.stats.covariances())
        coef, intercept = solve_fisher(unshrunk).fisher
    if few.any():
        pooled = problem.lda.rules(problem.moments)
        coef = np.where(few[:, None], pooled[0], coef)
        intercept = np.where(few, pooled[1], intercept)
    return coef, intercept


def _small_classes(rules: Rules, problem: PairProblem) -> Mask:
    """Return a mask of the classes whose errors are counted on left-out rows."""
    weights = problem.moments.weights
    if problem.stats.estimated_by or problem.one_vs_rest or rules.rank is None:
        return np.zeros(len(weights), bool)
    few: Mask = weights < ROWS_PER_FEATURE * rules.rank.max()
    return few


def _with_errors(
    coef: Array, intercept: Array, before: Rules, moments: Moments
) -> Rules:
    """Return the rivals as rules, with their errors under the model."""
    priors, means = moments.pair_priors, moments.means[moments.pairs]
    D = np.einsum("pi,pi->p", coef, means[:, 1] - means[:, 0])
    t = 0.5 * D + np.log(priors[:, 1]) - np.log(priors[:, 0])
    variances = np.empty(moments.pairs.shape)
    for k in np.unique(moments.pairs):  # class by class, to save memory
        pair, position = np.nonzero(moments.pairs == k)
        w = coef[pair]
        variances[pair, position] = np.einsum("pi,pi->p", w @ moments.covariances[k], w)
    floor = NO_SPREAD * np.abs(D)[:, None]
    deviations = np.sqrt(np.maximum(variances, floor**2))
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


# Errors on rows


def _left_out(
    rules: Rules,
    rivals: tuple[Array, Array],
    problem: PairProblem,
    rows: Rows,
    few: Mask,
    pooled: Mask,
) -> dict[int, tuple[Array, Array, Array]]:
    """Return weights of left-out rows of small classes, and scores by rivals and rules.

    Only `pooled` pairs have rivals; others have the scores of their rule for both.
    """
    pairs, small = problem.pairs, few[problem.pairs]
    left_out = problem.left_out(rows.take(np.flatnonzero(few[rows.codes])))
    records = left_out.of_arcs(rules, small)
    by_rules = scores_by_class(records, rules.coef, rules.intercept, pairs)
    by_rivals = scores_by_class(left_out.of_lda(small), *rivals, pairs)
    return {
        k: (weights, np.where(pooled, by_rivals[k][1], scores), scores)
        for k, (weights, scores) in by_rules.items()
    }


def _count_left_out(
    left_out: dict[int, tuple[Array, Array, Array]],
    rules_of_both: tuple[Rules, Rules],
    problem: PairProblem,
    compared: Mask,
    counts: Array,
) -> Array:
    """Add left-out errors to counts; return those of all pairs together.

    These are the errors of the rules and of their rivals, zero for two classes.
    """
    pairs, errors = problem.pairs, np.zeros(2)
    committees = [
        committee_of(rules, pairs, problem.settings.voting) for rules in rules_of_both
    ]
    for k, (weights, by_rivals, by_rules) in left_out.items():
        both = by_rules, by_rivals
        pair, position = np.nonzero((pairs == k) & compared[:, None])
        wrong, rival_wrong = ((s[:, pair] > 0) != (position == 1) for s in both)
        sums = weights @ wrong, weights @ rival_wrong, weights @ (wrong != rival_wrong)
        counts[pair, position] = np.transpose(sums)
        if len(pairs) > 1:
            share = problem.priors[k] * weights / max(weights.sum(), 1.0)
            answers = zip(committees, both, strict=True)
            errors += [share @ (each.winners(s, s) != k) for each, s in answers]
    return errors


def _errors_of_one_vs_rest(
    rules: Rules, rivals: tuple[Array, Array], problem: PairProblem, rows: Rows
) -> tuple[Array, Array]:
    """Return errors of both rules of each class, and variances of their difference."""
    rows = rows.take(np.flatnonzero(rows.frequencies))
    is_member = rows.codes[:, None] == problem.pairs[:, 1]
    wrong, rival_wrong = (
        (linear_scores(rows.X, coef.T, intercept) > 0) != is_member
        for coef, intercept in ((rules.coef, rules.intercept), rivals)
    )
    share = (problem.priors / rows.totals)[rows.codes]
    weights = rows.frequencies * share
    variance = weights * share @ (wrong != rival_wrong)
    return np.array([weights @ wrong, weights @ rival_wrong]), variance
