"""Rows have the last word: where the model misleads, a pair takes Fisher's rule.

The certified optimum is that of the Gaussian model. On rows that the model does not fit
it may be far worse than the rule for equal covariances, which asks less of the model.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, field, fields, replace
from functools import cached_property

import numpy as np

from heterolda.foundations.types import Array, Index, Mask
from heterolda.kernels.left_out_counts import left_out_counts
from heterolda.kernels.rule_counts import rule_counts
from heterolda.solvers import Fisher, PairMoments, generator
from heterolda.solvers.hyperplanes import Hyperplanes, Status, linear_scores
from heterolda.solvers.left_out import arc_weights, left_out_scores
from heterolda.solvers.threshold import bayes_error
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.row_sample import ClassRows

# A rule gives way to Fisher's if it makes this share more errors. Less than that is
# chance in most cases, and not worth giving the optimum of the model up for.
_MORE = 0.03
# With fewer rows than this for each feature, a class is judged by rules that were
# fitted without the row in question. With more, all rows may stay: it is the same.
ROWS_PER_FEATURE = 5
# Numbers that the rules without a row take at a time.
_BLOCK = 1 << 20
# How far variances may be from those that the solver went by.
_SAME = 1e-9


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


@dataclass(frozen=True)
class Guard:
    """Judges the rules of pairs by rows of the classes, and replaces the worse ones.

    Attributes
    ----------
    rows : ClassRows
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
    verdicts : list of Verdict
        Those of the batches of pairs so far.
    """

    rows: ClassRows
    pairs: Index
    priors: Array
    borrowed: Array
    borrows: Mask
    unshrunk: ClassStatistics | None
    frequencies: bool
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
        guarded = errors[0] > (1 + _MORE) * errors[1]
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
        rows, totals = self.rows, self.rows.totals
        least = ROWS_PER_FEATURE * int(moments.rank.max())
        members = self._members(at, judged)
        few = (totals > 2) & (totals < least) & (self.pairs[0, 0] >= 0)
        most = members
        if few.any():
            most = members.of_classes(~few)
        counts = rule_counts(
            *(rows.X, rows.weight, rows.order, rows.bounds),
            *((planes.coef, planes.intercept), plain.fisher),
            *(most.pair, most.starts),
        )
        if few.any():
            some = members.of_classes(few)
            counts = np.concatenate(
                [counts, self._left_out(some, moments, plain, planes)]
            )
            members = most + some
        total, second = totals[members.kind], members.place == 1
        share = moments.priors[members.pair, members.place] * members.part / total
        n = len(judged)
        errors = [
            np.bincount(members.pair, share * np.where(second, total - c, c), n)
            for c in counts.T[:2]
        ]
        variance = np.bincount(members.pair, share**2 * counts[:, 2], n)
        return np.array(errors), np.sqrt(variance)

    def verdict(self) -> Verdict:
        """The verdict on all pairs."""
        if len(self.verdicts) == 1:
            return self.verdicts[0]
        return Verdict(
            *(
                np.concatenate([getattr(v, f.name) for v in self.verdicts], axis=-1)
                if f.name != "coef"
                else np.concatenate([v.coef for v in self.verdicts])
                for f in fields(Verdict)
            )
        )

    def _members(self, at: slice, judged: Mask) -> Members:
        """The classes of the pairs of a batch that are judged."""
        pairs, n_classes = self.pairs[at], len(self.priors)
        if self.pairs[0, 0] >= 0:
            kind = np.where(judged[:, None], pairs, n_classes).ravel()
            order = kind.argsort(kind="stable")[: 2 * np.count_nonzero(judged)]
            one = np.ones(len(order))
            return Members(kind[order], order >> 1, order & 1, one, n_classes)
        mine = np.flatnonzero(judged)
        kind = np.repeat(np.arange(n_classes), len(mine))
        pair = np.tile(mine, n_classes)
        one = pairs[pair, 1]
        rest = np.where(np.eye(n_classes), 0.0, self.priors).sum(axis=1)[one]
        part = np.where(one == kind, 1.0, self.priors[kind] / rest)
        place = (one == kind).astype(np.intp)
        return Members(kind, pair, place, part, n_classes)

    def _left_out(
        self,
        members: Members,
        moments: PairMoments,
        plain: PairMoments,
        planes: Hyperplanes,
    ) -> Array:
        """Counts of `rule_counts` by rules without the row in question."""
        careful = np.ones(len(members.pair), bool)
        counts = np.zeros((len(careful), 3))
        if self.unshrunk is None and planes.floored is not None:
            first, second = np.log(moments.priors).T
            rows = self.rows
            counts, careful = left_out_counts(
                *(rows.X, rows.weight, rows.order, rows.bounds),
                (moments.means, moments.covariances, moments.weights),
                moments.pairs,
                first - second,
                (
                    np.column_stack(arc_weights(planes)),
                    planes.deviations,
                    planes.trivial,
                    planes.coef,
                ),
                moments.fisher[0],
                *(members.pair, members.starts),
                frequencies=self.frequencies,
            )
            raised = planes.floored.any(axis=1) | np.any(planes.dropped, axis=1)
            careful |= raised[members.pair]
        for k in np.unique(members.kind[careful]):
            mine = np.flatnonzero(careful & (members.kind == k))
            step = max(1, _BLOCK // self.rows[k][0].size)
            for start in range(0, len(mine), step):
                here = mine[start : start + step]
                some = members.pair[here], members.place[here]
                counts[here] = self._left_out_carefully(
                    k, *some, moments, plain, planes
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
        rows, weight = self.rows[k]
        w = np.ones(len(rows)) if weight is None else weight
        rules = planes.take(some)
        known = rules, place, rows, weight
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
        one = np.where(np.isnan(ours), seen, ours) > 0
        bad = np.where(place == 1, -1.0, 1.0)[:, None]
        two = np.where(np.isnan(fisher), bad, fisher) > 0
        return np.array([one @ w, two @ w, (one != two) @ w]).T


@dataclass(frozen=True)
class Members:
    """Classes of pairs, sorted by class; a class is a member of several pairs.

    Attributes
    ----------
    kind, pair, place : ndarray of shape (n,)
        The class, the pair, and whether the class is its first or second, 0 or 1.
    part : ndarray of shape (n,)
        The share of the class in its side of the pair.
    n_classes : int
        Number of classes.
    """

    kind: Index
    pair: Index
    place: Index
    part: Array
    n_classes: int

    @cached_property
    def starts(self) -> Index:
        """Where the members of each class begin, and where the last end."""
        counts = np.bincount(self.kind, minlength=self.n_classes)
        return np.append(0, counts.cumsum())

    def of_classes(self, chosen: Mask) -> Members:
        """Those of some classes."""
        mine = chosen[self.kind]
        columns = self.kind, self.pair, self.place, self.part
        return Members(*(column[mine] for column in columns), self.n_classes)

    def __add__(self, other: Members) -> Members:
        two = zip(astuple(self)[:4], astuple(other)[:4], strict=True)
        return Members(*map(np.concatenate, two), self.n_classes)


def _with_fisher(
    some: Index, moments: PairMoments, plain: PairMoments, planes: Hyperplanes
) -> Hyperplanes:
    """The rules, with Fisher's for some pairs."""
    few, before = moments.take(some), planes.take(some)
    fisher = None
    if plain is moments:
        fisher = _plain_fisher([a[some] for a in moments.fisher], few, before)
    if fisher is None:
        fisher = Fisher().solve(plain.take(some).pencil, generator(Fisher()))
        if plain is not moments:
            fisher = _under_model(fisher, few)
    # The bound that was proven for the optimum holds for any rule.
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = 1 - before.error * (1 - before.gap) / fisher.error
    fisher = replace(fisher, gap=np.where(fisher.error > 0, gap, 0.0))
    index = np.arange(len(planes.error))
    index[some] = len(index) + np.arange(len(some))
    return Hyperplanes.concatenate([planes, fisher]).take(index)


def _plain_fisher(
    rules: list[Array], moments: PairMoments, planes: Hyperplanes
) -> Hyperplanes | None:
    """Fisher's rules, if all covariances are regular; `planes` are the model's."""
    coef, intercept = rules
    if planes.floored is None or planes.floored.any() or np.any(planes.dropped):
        return None
    pairs, weights = moments.pairs, moments.weights[moments.pairs]
    cov = moments.covariances[pairs]
    variances = _variances(coef, cov)
    delta = moments.means[pairs[:, 1]] - moments.means[pairs[:, 0]]
    D = np.einsum("pi,pi->p", coef, delta)
    same = (weights * variances).sum(axis=1) / weights.sum(axis=1)
    ours = np.where(planes.trivial[:, None], 0.0, _variances(planes.coef, cov))
    # Otherwise the variances are not those that the solver went by.
    if not (
        (variances > 0).all()
        and np.allclose(same, D, rtol=_SAME, atol=0.0)
        and np.allclose(ours, planes.deviations**2, rtol=_SAME, atol=0.0)
    ):
        return None
    log_priors = np.log(moments.priors)
    t = 0.5 * D + log_priors[:, 1] - log_priors[:, 0]
    deviations = np.sqrt(variances)
    return replace(
        planes,
        coef=coef,
        intercept=intercept,
        error=bayes_error(t, D, *deviations.T, *moments.priors.T),
        n_iter=np.ones(len(D), np.intp),
        status=np.full(len(D), Status.CLOSED_FORM, np.intp),
        means=np.array([t - D, t]).T,
        deviations=deviations,
    )


def _variances(w: Array, covariances: Array) -> Array:
    """Variances along w in both classes of each pair."""
    products = (covariances @ w[:, None, :, None])[..., 0]
    variances: Array = np.einsum("pi,pki->pk", w, products)
    return variances


def _under_model(planes: Hyperplanes, moments: PairMoments) -> Hyperplanes:
    """The rules with deviations and errors under the covariances of the model."""
    variances = _variances(planes.coef, moments.covariances[moments.pairs])
    deviations = np.sqrt(np.maximum(variances, 0.0))
    usable = (deviations > 0).all(axis=1) & ~planes.trivial
    t, D = planes.means[:, 1], planes.means[:, 1] - planes.means[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        error = bayes_error(t, D, *deviations.T, *moments.priors.T)
    return replace(
        planes,
        deviations=np.where(usable[:, None], deviations, planes.deviations),
        error=np.where(usable, error, planes.error),
    )
