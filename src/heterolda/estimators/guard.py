"""Rows have the last word: where the model misleads, a pair takes Fisher's rule.

The certified optimum is that of the Gaussian model. On rows that the model does not fit
it may be far worse than the rule for equal covariances, which asks less of the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.rounding import SAME_VARIANCE
from heterolda.kernels.left_out_counts import left_out_counts
from heterolda.kernels.rule_counts import RowsOfPairs, rule_counts
from heterolda.solvers import Moments, solve_fisher
from heterolda.solvers.left_out import arc_weights, left_out_scores
from heterolda.solvers.rules import Rules, Status, bayes_error, linear_scores
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.rows import Rows
from heterolda.statistics.wide import Span

# A rule gives way to Fisher's if it makes this share more errors. Less than that is
# chance in most cases, and not worth giving the optimum of the model up for.
MORE = 0.03
_ROUNDING = 1e-12
# With fewer rows than this for each feature, a class is judged by rules that were
# fitted without the row in question. With more, all rows may stay: it is the same.
ROWS_PER_FEATURE = 5
# Numbers that the rules without a row take at a time.
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Verdict:
    """What rows say of the rules of pairs.

    Attributes
    ----------
    guarded : ndarray of bool of shape (n_pairs,)
        Pairs that take Fisher's rule.
    errors : ndarray of shape (2, n_pairs)
        Errors on rows of the model's rule and of Fisher's, with the priors and costs in
        force.
    deviation : ndarray of shape (n_pairs,)
        Standard error of their difference.
    claimed : ndarray of shape (n_pairs,)
        Error of the rule under the model.
    coef : ndarray of shape (n_pairs, n_features)
        Normals of the model's rules.
    """

    guarded: Mask
    errors: Array
    deviation: Array
    claimed: Array
    coef: Array

    def in_features(self, span: Span | None) -> Verdict:
        """The same with normals of features, if they were those of coordinates."""
        return self if span is None else replace(self, coef=self.coef @ span.basis.T)


@dataclass(frozen=True)
class Guard:
    """Evaluates the rules of pairs on rows of the classes, and replaces worse ones.

    Attributes
    ----------
    rows : Rows
        Rows of each class and their weights.
    pairs : ndarray of shape (n_pairs, 2)
        Classes of each pair; for one against all others, (-1, k).
    priors : ndarray of shape (n_classes,)
        Class priors.
    borrowed : ndarray of shape (n_classes,)
        Share of the pooled covariance in that of the class.
    borrows : ndarray of bool of shape (n_classes,)
        Classes that cannot stand alone; their pairs are not judged.
    unshrunk : ClassStatistics or None
        For Fisher's rules, if these are to have other covariances than the model's.
    frequencies : bool
        Whether priors are relative frequencies.
    leaves_out : bool
        Whether classes of few rows are judged by leaving rows out. An estimator's
        moments without a row do not follow from those with it.
    """

    rows: Rows
    pairs: Index
    priors: Array
    borrowed: Array
    borrows: Mask
    unshrunk: ClassStatistics | None
    frequencies: bool
    leaves_out: bool

    def review(self, rules: Rules, moments: Moments) -> tuple[Rules, Verdict]:
        """Return the rules of the pairs, some replaced by Fisher's, and the verdict."""
        judged = rules.status != Status.SEPARABLE
        if self.borrows.any():
            # What was borrowed has seen the rows: errors on these are too few.
            first, second = self.pairs.T  # -1 stands for all others
            judged &= ~self.borrows[second] & ((first < 0) | ~self.borrows[first])
        errors, deviation = np.zeros((2, len(judged))), np.zeros(len(judged))
        plain = _unshrunk(moments, self.unshrunk) if judged.any() else None
        if judged.any():
            errors, deviation = self._errors(moments, plain, rules, judged)
        # Weights are not always summed in the same order: rounding makes no errors.
        errors = np.where(errors > _ROUNDING, errors, 0.0)
        guarded = errors[0] > (1 + MORE) * errors[1]
        verdict = Verdict(guarded, errors, deviation, rules.error, rules.coef)
        return _with_fisher(np.flatnonzero(guarded), moments, plain, rules), verdict

    def _errors(
        self,
        moments: Moments,
        plain: Moments | None,
        rules: Rules,
        judged: Mask,
    ) -> tuple[Array, Array]:
        """Errors on rows of the rules and of Fisher's; deviations of the difference."""
        if self.pairs[0, 0] < 0:
            return self._errors_of_others(moments, rules, judged)
        fisher = (rules if plain is None else solve_fisher(plain)).fisher
        known, totals, pairs = self.rows, self.rows.totals, self.pairs
        least = 0 if rules.rank is None else ROWS_PER_FEATURE * rules.rank.max()
        few = (totals > 2) & (totals < least) & self.leaves_out
        where = known.X, known.weights, *known.by_class
        rows = RowsOfPairs(*where, ~few, pairs, judged)
        counts = rule_counts(rows, (rules.coef, rules.intercept), fisher)
        if few.any():
            rows = RowsOfPairs(*where, few, pairs, judged)
            counts += self._left_out(rows, moments, plain, rules)
        share = moments.pair_priors / totals[pairs]
        errors = (share[:, :, None] * counts).sum(axis=1)
        variance = (share**2 * counts[:, :, 2]).sum(axis=1)
        return errors.T[:2], np.sqrt(variance)

    def _errors_of_others(
        self, moments: Moments, planes: Rules, judged: Mask
    ) -> tuple[Array, Array]:
        """The same for one class against all others, which count by their priors."""
        n, one = len(self.priors), self.pairs[:, 1]
        kind, pair = np.tile(np.arange(n), len(one)), np.repeat(np.arange(len(one)), n)
        is_one = one[pair] == kind
        classes = np.column_stack(
            [np.where(is_one, -1, kind), np.where(is_one, kind, -1)]
        )
        known, chosen = self.rows, np.ones(n, bool)
        where = known.X, known.weights, *known.by_class
        rows = RowsOfPairs(*where, chosen, classes, judged[pair])
        coef, intercept = planes.fisher
        counts = rule_counts(
            rows,
            (planes.coef[pair], planes.intercept[pair]),
            (coef[pair], intercept[pair]),
        ).sum(axis=1)
        rest = np.where(np.eye(n), 0.0, self.priors).sum(axis=1)[one[pair]]
        part = np.where(is_one, 1.0, self.priors[kind] / rest)
        share = (
            moments.pair_priors[pair, is_one.astype(int)] * part / known.totals[kind]
        )
        errors = (share[:, None] * counts).reshape(-1, n, 3).sum(axis=1)
        variance = (share**2 * counts[:, 2]).reshape(-1, n).sum(axis=1)
        return errors.T[:2], np.sqrt(variance)

    def _left_out(
        self,
        rows: RowsOfPairs,
        moments: Moments,
        plain: Moments | None,
        planes: Rules,
    ) -> Array:
        """Counts of `rule_counts` by rules without the row in question."""
        careful = np.ones(rows.classes.shape, bool)
        counts = np.zeros((*careful.shape, 3))
        if plain is None and planes.floored is not None:
            first, second = np.log(moments.pair_priors).T
            arc = np.column_stack(arc_weights(planes))
            raised = planes.floored.any(axis=1) | np.any(planes.dropped, axis=1)
            counts, careful = left_out_counts(
                replace(rows, judged=rows.judged & ~raised),
                (moments.means, moments.covariances, moments.weights),
                first - second,
                (arc, planes.deviations, planes.trivial, planes.coef),
                planes.fisher[0],
                frequencies=self.frequencies,
            )
        for k in np.flatnonzero(rows.chosen).tolist():
            mine = rows.members(k)
            mine = mine[careful.ravel()[mine]]
            step = max(1, _BLOCK // (moments.means.shape[1] * int(self.rows.totals[k])))
            for start in range(0, len(mine), step):
                here = mine[start : start + step]
                counts.reshape(-1, 3)[here] = self._left_out_carefully(
                    k, here // 2, here % 2, moments, plain, planes
                )
        return counts

    def _left_out_carefully(
        self,
        k: int,
        some: Index,
        place: Index,
        moments: Moments,
        plain: Moments | None,
        planes: Rules,
    ) -> Array:
        """The same for some pairs of class k, by their pencils."""
        members = self.rows.of_class(k)
        rows, w = members.X, members.frequencies
        rules = planes.take(some)
        known = rules, place, rows, members.weights
        ours, fisher = left_out_scores(
            moments.take(some),
            *known,
            borrowed=self.borrowed[k],
            frequencies=self.frequencies,
        )
        if plain is not None:
            few = plain.take(some)
            fisher = left_out_scores(few, *known, frequencies=self.frequencies)[1]
        # Off the arc the rule with all rows stands in; where a row alone makes
        # Fisher's matrix regular, that rule is wrong about it.
        seen = linear_scores(rows, rules.coef.T, rules.intercept).T
        second = (place == 1)[:, None]
        one = (np.where(np.isnan(ours), seen, ours) > 0) != second
        two = ((fisher > 0) != second) | np.isnan(fisher)
        return np.array([one @ w, two @ w, (one != two) @ w]).T


def with_fisher(
    rules: Rules,
    moments: Moments,
    guarded: Mask,
    unshrunk: ClassStatistics | None = None,
) -> Rules:
    """Return rules with Fisher's for pairs that were guarded in another fit.

    `unshrunk` is as for `Guard`.
    """
    some = np.flatnonzero(guarded & (rules.status != Status.SEPARABLE))
    return _with_fisher(some, moments, _unshrunk(moments, unshrunk), rules)


def _unshrunk(moments: Moments, statistics: ClassStatistics | None) -> Moments | None:
    """Return the moments for Fisher's rules, if they are not those of the model."""
    if statistics is None:
        return None
    return replace(moments, covariances=statistics.covariances())


def _with_fisher(
    some: Index, moments: Moments, plain: Moments | None, rules: Rules
) -> Rules:
    """Return the rules, with Fisher's for some pairs."""
    if not len(some):
        return rules
    few, before = moments.take(some), rules.take(some)
    if plain is None:
        fisher, bad = _direct_fisher(few, before)
        if bad.any():
            again = np.flatnonzero(bad)
            fisher = fisher.replaced(again, solve_fisher(few.take(again)))
    else:
        fisher = _under_model(solve_fisher(plain.take(some)), few)
    # The bound that was proven for the optimum holds for any rule.
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = 1 - before.error * (1 - before.gap) / fisher.error
    fisher = replace(fisher, gap=np.where(fisher.error > 0, gap, 0.0))
    return rules.replaced(some, fisher)


def _direct_fisher(moments: Moments, rules: Rules) -> tuple[Rules, Mask]:
    """Return Fisher's rules without pencils, and for which pairs that will not do.

    These are pairs whose covariances, by the rules of the model (`rules`) or by
    Fisher's, are not those that the solver went by, since they are next to singular.
    """
    pairs, weights = moments.pairs, moments.weights[moments.pairs]
    coef, intercept = rules.fisher
    variances, ours = _variances(coef, moments), _variances(rules.coef, moments)
    D = ((moments.means[pairs[:, 1]] - moments.means[pairs[:, 0]]) * coef).sum(axis=1)
    share = weights / weights.sum(axis=1, keepdims=True)
    expected = rules.deviations**2
    good = (variances > 0) & (np.abs(ours - expected) <= SAME_VARIANCE * expected)
    bad = np.abs((share * variances).sum(axis=1) - D) > SAME_VARIANCE * D
    priors = moments.pair_priors
    t = 0.5 * D + np.log(priors[:, 1]) - np.log(priors[:, 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        deviations = np.sqrt(variances)
        error = bayes_error(t, D, *deviations.T, *priors.T)
    fisher = replace(
        rules,
        coef=coef,
        intercept=intercept,
        error=error,
        n_iter=np.ones(len(D), np.intp),
        status=np.full(len(D), Status.CLOSED_FORM, np.intp),
        means=np.array([t - D, t]).T,
        deviations=deviations,
    )
    return fisher, bad | ~good.all(axis=1)


def _under_model(rules: Rules, moments: Moments) -> Rules:
    """Return rules with deviations and errors under the covariances of the model."""
    deviations = np.sqrt(np.maximum(_variances(rules.coef, moments), 0.0))
    usable = (deviations > 0).all(axis=1) & ~rules.trivial
    t, D = rules.means[:, 1], rules.means[:, 1] - rules.means[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        error = bayes_error(t, D, *deviations.T, *moments.pair_priors.T)
    return replace(
        rules,
        deviations=np.where(usable[:, None], deviations, rules.deviations),
        error=np.where(usable, error, rules.error),
    )


def _variances(normals: Array, moments: Moments) -> Array:
    """Return variances of both classes of each pair along its normal, (n_pairs, 2)."""
    variances = np.empty(moments.pairs.shape)
    for k in np.unique(moments.pairs):
        pair, place = np.nonzero(moments.pairs == k)
        w = normals[pair]
        product = w @ moments.covariances[k]
        variances[pair, place] = np.einsum("pi,pi->p", product, w)
    return variances
