"""Rows have the last word: where the model misleads, a pair takes Fisher's rule.

The certified optimum is that of the Gaussian model. On rows that the model does not fit
it may be far worse than the rule for equal covariances, which asks less of the model.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import numpy as np

from heterolda.foundations.types import Array, Index, Mask
from heterolda.kernels.left_out_counts import left_out_counts
from heterolda.kernels.rule_counts import RowsOfPairs, rule_counts
from heterolda.solvers import Fisher, PairMoments, generator
from heterolda.solvers.hyperplanes import Hyperplanes, Status, linear_scores
from heterolda.solvers.left_out import arc_weights, left_out_scores
from heterolda.solvers.threshold import bayes_error
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
# How far variances may be from those that the solver went by, some of which it raised.
_SAME = 1e-6


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
    """Judges the rules of pairs by rows of the classes, and replaces the worse ones.

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
    verdicts : list of Verdict
        Those of the batches of pairs so far.
    """

    rows: Rows
    pairs: Index
    priors: Array
    borrowed: Array
    borrows: Mask
    unshrunk: ClassStatistics | None
    frequencies: bool
    leaves_out: bool
    verdicts: list[Verdict] = field(default_factory=list)

    def __call__(
        self, moments: PairMoments, planes: Hyperplanes, at: slice
    ) -> Hyperplanes:
        """The rules of a batch of pairs, some replaced by Fisher's."""
        judged = planes.status != Status.SEPARABLE
        if self.borrows.any():
            # What was borrowed has seen the rows: errors on these are too few.
            first, second = self.pairs[at].T  # -1 stands for all others
            judged &= ~self.borrows[second] & ((first < 0) | ~self.borrows[first])
        errors, deviation = np.zeros((2, len(judged))), np.zeros(len(judged))
        plain = moments
        if judged.any():
            if self.unshrunk is not None:
                plain = moments.with_covariances(self.unshrunk.covariances())
            errors, deviation = self._errors(moments, plain, planes, judged, at)
        # Weights are not always summed in the same order: rounding makes no errors.
        errors = np.where(errors > _ROUNDING, errors, 0.0)
        guarded = errors[0] > (1 + MORE) * errors[1]
        self.verdicts.append(
            Verdict(guarded, errors, deviation, planes.error, planes.coef)
        )
        if not guarded.any():
            return planes
        return _with_fisher(np.flatnonzero(guarded), moments, plain, planes)

    def _errors(
        self,
        moments: PairMoments,
        plain: PairMoments,
        planes: Hyperplanes,
        judged: Mask,
        at: slice,
    ) -> tuple[Array, Array]:
        """Errors on rows of the rules and of Fisher's; deviations of the difference."""
        known, fisher = self.rows, plain.fisher
        totals, pairs = known.totals, self.pairs[at]
        if self.pairs[0, 0] < 0:
            return self._errors_of_others(moments, planes, judged, pairs[:, 1])
        least = ROWS_PER_FEATURE * moments.rank.max()
        few = (totals > 2) & (totals < least) & self.leaves_out
        where = known.X, known.weights, *known.by_class
        rows = RowsOfPairs(*where, ~few, pairs, judged)
        counts = rule_counts(rows, (planes.coef, planes.intercept), fisher)
        if few.any():
            rows = RowsOfPairs(*where, few, pairs, judged)
            counts += self._left_out(rows, moments, plain, planes)
        share = moments.priors / totals[pairs]
        errors = (share[:, :, None] * counts).sum(axis=1)
        variance = (share**2 * counts[:, :, 2]).sum(axis=1)
        return errors.T[:2], np.sqrt(variance)

    def _errors_of_others(
        self, moments: PairMoments, planes: Hyperplanes, judged: Mask, one: Index
    ) -> tuple[Array, Array]:
        """The same for one class against all others, which count by their priors."""
        n = len(self.priors)
        kind, pair = np.tile(np.arange(n), len(one)), np.repeat(np.arange(len(one)), n)
        is_one = one[pair] == kind
        classes = np.column_stack(
            [np.where(is_one, -1, kind), np.where(is_one, kind, -1)]
        )
        known, chosen = self.rows, np.ones(n, bool)
        where = known.X, known.weights, *known.by_class
        rows = RowsOfPairs(*where, chosen, classes, judged[pair])
        coef, intercept = moments.fisher
        counts = rule_counts(
            rows,
            (planes.coef[pair], planes.intercept[pair]),
            (coef[pair], intercept[pair]),
        ).sum(axis=1)
        rest = np.where(np.eye(n), 0.0, self.priors).sum(axis=1)[one[pair]]
        part = np.where(is_one, 1.0, self.priors[kind] / rest)
        share = moments.priors[pair, is_one.astype(int)] * part / known.totals[kind]
        errors = (share[:, None] * counts).reshape(-1, n, 3).sum(axis=1)
        variance = (share**2 * counts[:, 2]).reshape(-1, n).sum(axis=1)
        return errors.T[:2], np.sqrt(variance)

    def verdict(self) -> Verdict:
        """The verdict on all pairs."""
        return Verdict(
            *(
                np.concatenate([getattr(v, f.name) for v in self.verdicts], axis=-1)
                if f.name != "coef"
                else np.concatenate([v.coef for v in self.verdicts])
                for f in fields(Verdict)
            )
        )

    def _left_out(
        self,
        rows: RowsOfPairs,
        moments: PairMoments,
        plain: PairMoments,
        planes: Hyperplanes,
    ) -> Array:
        """Counts of `rule_counts` by rules without the row in question."""
        careful = np.ones(rows.classes.shape, bool)
        counts = np.zeros((*careful.shape, 3))
        if self.unshrunk is None and planes.floored is not None:
            first, second = np.log(moments.priors).T
            arc = np.column_stack(arc_weights(planes))
            raised = planes.floored.any(axis=1) | np.any(planes.dropped, axis=1)
            counts, careful = left_out_counts(
                replace(rows, judged=rows.judged & ~raised),
                (moments.means, moments.covariances, moments.weights),
                first - second,
                (arc, planes.deviations, planes.trivial, planes.coef),
                moments.fisher[0],
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
        moments: PairMoments,
        plain: PairMoments,
        planes: Hyperplanes,
    ) -> Array:
        """The same for some pairs of class k, by their pencils."""
        members = self.rows.of_class(k)
        rows, w = members.X, members.frequencies
        rules = planes.take(some)
        known = rules, place, rows, members.weights
        ours, fisher = left_out_scores(
            moments.take(some).pencil,
            *known,
            borrowed=self.borrowed[k],
            frequencies=self.frequencies,
        )
        if self.unshrunk is not None:
            pencil = plain.take(some).pencil
            fisher = left_out_scores(pencil, *known, frequencies=self.frequencies)[1]
        # Off the arc the rule with all rows stands in; where a row alone makes
        # Fisher's matrix regular, that rule is wrong about it.
        seen = linear_scores(rows, rules.coef.T, rules.intercept).T
        second = (place == 1)[:, None]
        one = (np.where(np.isnan(ours), seen, ours) > 0) != second
        two = ((fisher > 0) != second) | np.isnan(fisher)
        return np.array([one @ w, two @ w, (one != two) @ w]).T


@dataclass(frozen=True)
class KeptFisher:
    """Gives Fisher's rules to pairs that were guarded in another fit.

    Attributes
    ----------
    guarded : ndarray of bool of shape (n_pairs,)
        These pairs.
    unshrunk : ClassStatistics or None
        As for `Guard`.
    """

    guarded: Mask
    unshrunk: ClassStatistics | None

    def __call__(
        self, moments: PairMoments, planes: Hyperplanes, at: slice
    ) -> Hyperplanes:
        """The rules of a batch of pairs, some replaced by Fisher's."""
        some = np.flatnonzero(self.guarded[at] & (planes.status != Status.SEPARABLE))
        if not len(some):
            return planes
        plain = moments
        if self.unshrunk is not None:
            plain = moments.with_covariances(self.unshrunk.covariances())
        return _with_fisher(some, moments, plain, planes)


def _with_fisher(
    some: Index, moments: PairMoments, plain: PairMoments, planes: Hyperplanes
) -> Hyperplanes:
    """The rules, with Fisher's for some pairs."""
    few, before = moments.take(some), planes.take(some)
    if plain is moments:
        coef, intercept = moments.fisher
        fisher, bad = _direct_fisher(coef[some], intercept[some], few, before)
        if bad.any():
            again = np.flatnonzero(bad)
            fisher = _replaced(fisher, again, _solved_fisher(few.take(again)))
    else:
        fisher = _under_model(_solved_fisher(plain.take(some)), few)
    # The bound that was proven for the optimum holds for any rule.
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = 1 - before.error * (1 - before.gap) / fisher.error
    fisher = replace(fisher, gap=np.where(fisher.error > 0, gap, 0.0))
    return _replaced(planes, some, fisher)


def _replaced(planes: Hyperplanes, some: Index, rules: Hyperplanes) -> Hyperplanes:
    """Rules of which some are replaced."""
    if len(some) == len(planes.error):
        return rules
    index = np.arange(len(planes.error))
    index[some] = np.arange(len(index), len(index) + len(some))
    return Hyperplanes.concatenate([planes, rules]).take(index)


def _solved_fisher(moments: PairMoments) -> Hyperplanes:
    """Fisher's rules by the pencils of the pairs."""
    return Fisher().solve(moments.pencil, generator(Fisher()))


def _direct_fisher(
    coef: Array, intercept: Array, moments: PairMoments, planes: Hyperplanes
) -> tuple[Hyperplanes, Mask]:
    """Fisher's rules without pencils, and for which pairs that will not do.

    These are pairs whose covariances, by the rules of the model (`planes`) or by
    Fisher's, are not those that the solver went by, since they are next to singular.
    """
    pairs, weights = moments.pairs, moments.weights[moments.pairs]
    both = np.array([coef, planes.coef]).swapaxes(0, 1)[:, None]  # (n, 1, 2, d)
    products = both @ moments.covariances[pairs]
    variances, ours = np.einsum("pkri,pkri->rpk", products, both)
    D = ((moments.means[pairs[:, 1]] - moments.means[pairs[:, 0]]) * coef).sum(axis=1)
    share = weights / weights.sum(axis=1, keepdims=True)
    expected = planes.deviations**2
    good = (variances > 0) & (np.abs(ours - expected) <= _SAME * expected)
    bad = np.abs((share * variances).sum(axis=1) - D) > _SAME * D
    log_priors = np.log(moments.priors)
    t = 0.5 * D + log_priors[:, 1] - log_priors[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        deviations = np.sqrt(variances)
        error = bayes_error(t, D, *deviations.T, *moments.priors.T)
    fisher = replace(
        planes,
        coef=coef,
        intercept=intercept,
        error=error,
        n_iter=np.ones(len(D), np.intp),
        status=np.full(len(D), Status.CLOSED_FORM, np.intp),
        means=np.array([t - D, t]).T,
        deviations=deviations,
    )
    return fisher, bad | ~good.all(axis=1)


def _under_model(planes: Hyperplanes, moments: PairMoments) -> Hyperplanes:
    """The rules with deviations and errors under the covariances of the model."""
    w, cov = planes.coef, moments.covariances[moments.pairs]
    deviations = np.sqrt(np.maximum(np.einsum("pi,pkij,pj->pk", w, cov, w), 0.0))
    usable = (deviations > 0).all(axis=1) & ~planes.trivial
    t, D = planes.means[:, 1], planes.means[:, 1] - planes.means[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        error = bayes_error(t, D, *deviations.T, *moments.priors.T)
    return replace(
        planes,
        deviations=np.where(usable[:, None], deviations, planes.deviations),
        error=np.where(usable, error, planes.error),
    )
