"""Rows have the last word: where the model misleads, a pair takes Fisher's rule.

The certified optimum is that of the Gaussian model. On rows that the model does not fit
it may be far worse than the rule for equal covariances, which asks less of the model.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from heterolda.foundations.types import Array, Index, Mask
from heterolda.solvers import Fisher, PairMoments, generator
from heterolda.solvers.fisher import fisher_rules
from heterolda.solvers.hyperplanes import Hyperplanes, Status, linear_scores
from heterolda.solvers.left_out import left_out_scores
from heterolda.solvers.pencil import Pencil
from heterolda.solvers.threshold import bayes_error
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.row_sample import ClassRows

# A rule gives way to Fisher's if it makes this share more errors. Less than that is
# chance in most cases, and not worth giving the optimum of the model up for.
_MORE = 0.03
# With fewer rows than this for each feature, a class is judged by rules that were
# fitted without the row in question. With more, all rows may stay: it is the same.
ROWS_PER_FEATURE = 5
# Numbers that the rules without a row take at a time, and rows of a class.
_BLOCK = 1 << 20
_ROWS = 1 << 13


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
        plain = pencil = moments.pencil
        if self.unshrunk is not None:
            plain = pencil.with_covariances(self.unshrunk.covariances()[self.pairs[at]])
        errors, deviation = self._errors(pencil, plain, planes, at)
        guarded = errors[0] > (1 + _MORE) * errors[1]
        guarded &= planes.status != Status.SEPARABLE
        if self.borrows.any():
            # What was borrowed has seen the rows: errors on these are too few.
            first, second = self.pairs[at].T  # -1 stands for all others
            guarded &= ~self.borrows[second] & ((first < 0) | ~self.borrows[first])
        self.verdicts.append(
            Verdict(guarded, errors, deviation, planes.error, planes.coef)
        )
        if not guarded.any():
            return planes
        fisher = Fisher().solve(plain, generator(Fisher()))
        if self.unshrunk is not None:
            fisher = _under_model(fisher, pencil)
        # The bound that was proven for the optimum holds for any rule.
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = 1 - planes.error * (1 - planes.gap) / fisher.error
        fisher = replace(fisher, gap=np.where(fisher.error > 0, gap, 0.0))
        return Hyperplanes.where(guarded, fisher, planes)

    def _errors(
        self, pencil: Pencil, plain: Pencil, planes: Hyperplanes, at: slice
    ) -> tuple[Array, Array]:
        """Errors on rows of the rules and of Fisher's; deviations of the difference."""
        coef, intercept = fisher_rules(plain)
        normals = np.array([planes.coef, coef])
        offsets = np.array([planes.intercept, intercept])
        rank = int(pencil.basis.any(axis=1).sum(axis=1).max())
        least = ROWS_PER_FEATURE * rank
        second = self.rows.all_of_two() if pencil.weights.min() >= least else None
        if second is not None:
            rules = normals[:, 0].T, offsets[:, 0]
            counts, totals = _counts_of_two(self.rows, second, *rules)
            share = pencil.priors[0] / totals
            errors, variance = share @ counts[:, :2], share**2 @ counts[:, 2]
            return errors[:, None], np.sqrt([variance])
        errors, variance = np.zeros((2, len(coef))), np.zeros(len(coef))
        for k in range(len(self.priors)):
            mine, place, part = self._members(k, at)
            if not len(mine):
                continue  # its pairs are in other batches
            at_rows, given = self.rows.places(k), self.rows.weight
            # Counts of rows are exact in single precision, which is much faster.
            w: Any = np.ones(len(at_rows), np.float32)
            if given is not None:
                w = given[at_rows]
            total = float(w.sum())
            if 2 < total < least and self.pairs[0, 0] >= 0:
                left_out = self._left_out(k, pencil, plain, planes, mine, place)
                tally = _second(left_out > 0, w)
            else:
                some, there = normals[:, mine], offsets[:, mine].ravel()
                some = some.reshape(-1, coef.shape[1]).T
                tally = np.zeros((3, len(mine)))
                for start in range(0, len(at_rows), _ROWS):
                    here = slice(start, start + _ROWS)
                    rows = self.rows.X.take(at_rows[here], axis=0)
                    rows = rows.astype(np.float64, copy=False)
                    positive = linear_scores(rows, some, there) > 0
                    tally += _second(np.split(positive, 2, axis=1), w[here])
            share = pencil.priors[mine, place] * part / total
            wrong = np.where(place == 1, total - tally[:2], tally[:2])
            errors[:, mine] += share * wrong
            variance[mine] += share**2 * tally[2]
        return errors, np.sqrt(variance)

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

    def _members(self, k: int, at: slice) -> tuple[Index, Index, Array | float]:
        """Pairs of a batch with class k, its place there, and its part of the side."""
        pairs = self.pairs[at]
        if self.pairs[0, 0] >= 0:
            mine, place = np.nonzero(pairs == k)
            return mine, place, 1.0
        one = pairs[:, 1]
        rest = np.where(np.eye(len(self.priors)), 0.0, self.priors).sum(axis=1)[one]
        part = np.where(one == k, 1.0, self.priors[k] / rest)
        return np.arange(len(pairs)), (one == k).astype(np.intp), part

    def _left_out(
        self,
        k: int,
        pencil: Pencil,
        plain: Pencil,
        planes: Hyperplanes,
        mine: Index,
        place: Index,
    ) -> Array:
        """Scores of rows of class k by rules without them, (2, n_rows, n_pairs)."""
        rows, weight = self.rows[k]
        step = max(1, _BLOCK // rows.size)
        blocks = []
        for start in range(0, len(mine), step):
            some, there = mine[start : start + step], place[start : start + step]
            few, rules = pencil.take(some), planes.take(some)
            known = rules, there, rows, weight
            ours, fisher = left_out_scores(
                few, *known, borrowed=self.borrowed[k], frequencies=self.frequencies
            )
            if self.unshrunk is not None:
                fisher = left_out_scores(
                    plain.take(some), *known, frequencies=self.frequencies
                )[1]
            # Off the arc the rule with all rows stands in; where a row alone makes
            # Fisher's matrix regular, that rule is wrong about it.
            seen = linear_scores(rows, rules.coef.T, rules.intercept).T
            ours = np.where(np.isnan(ours), seen, ours)
            bad = np.where(there == 1, -1.0, 1.0)[:, None]
            blocks.append([ours.T, np.where(np.isnan(fisher), bad, fisher).T])
        return np.concatenate(blocks, axis=2)


def _second(answers: Any, w: Any) -> Array:
    """Weight of the rows that each of two rules, and that only one, gives to second."""
    ours, other = answers
    return np.array([w @ one.astype(w.dtype) for one in (ours, other, ours != other)])


def _counts_of_two(
    rows: ClassRows, second: Mask, normals: Array, offsets: Array
) -> tuple[Array, Array]:
    """Rows of two classes that either rule gets wrong, and that just one of them does.

    `second` says which rows are of the second class, `normals` has the two rules in
    its columns. The result has one row for each class, and the total weights of the
    classes. Nothing is gathered.
    """
    table = np.zeros(8)
    step = max(1, _BLOCK // rows.X.shape[1])
    for start in range(0, len(rows.X), step):
        here = slice(start, start + step)
        block = rows.X[here].astype(np.float64, copy=False)
        positive = linear_scores(block, normals, offsets) > 0
        code = second[here] * np.int64(4)
        code += positive[:, 0]
        code += positive[:, 1] * np.int64(2)
        weight = None if rows.weight is None else rows.weight[here]
        table += np.bincount(code, weight, minlength=8)
    one, two = table.reshape(2, 2, 2)  # class, answer of Fisher's rule, answer of ours
    counts = [
        [one[:, 1].sum(), one[1].sum(), one[0, 1] + one[1, 0]],
        [two[:, 0].sum(), two[0].sum(), two[0, 1] + two[1, 0]],
    ]
    return np.array(counts), np.array([one.sum(), two.sum()])


def _under_model(planes: Hyperplanes, pencil: Pencil) -> Hyperplanes:
    """The rules with deviations and errors under the covariances of the pencil."""
    w = -planes.coef
    squares = np.einsum("pi,pkij,pj->kp", w, pencil.covariances, w)
    deviations = np.sqrt(np.maximum(squares, 0.0)).T
    usable = (deviations > 0).all(axis=1) & ~planes.trivial
    t, D = planes.means[:, 1], planes.means[:, 1] - planes.means[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        error = bayes_error(t, D, *deviations.T, *pencil.priors.T)
    return replace(
        planes,
        deviations=np.where(usable[:, None], deviations, planes.deviations),
        error=np.where(usable, error, planes.error),
    )
