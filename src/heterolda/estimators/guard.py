"""Rows have the last word: where the model misleads, a pair takes Fisher's rule.

The certified optimum is that of the Gaussian model. On rows that the model does not fit
it may be far worse than the rule for equal covariances, which asks less of the model.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.random import default_rng

from heterolda.foundations.types import Array, Index, Mask
from heterolda.solvers.fisher import Fisher
from heterolda.solvers.hyperplanes import Hyperplanes, Status, linear_scores
from heterolda.solvers.left_out import left_out_scores
from heterolda.solvers.pencil import Pencil
from heterolda.solvers.threshold import bayes_error
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.shrinkage import shares_of_pooled

# A rule gives way to Fisher's if it makes this share more errors. Less than that is
# chance in most cases, and not worth giving the optimum of the model up for.
_MORE = 0.03
# With fewer rows than this for each feature, a class is judged by rules that were
# fitted without the row in question. With more, all rows may stay: it is the same.
ROWS_PER_FEATURE = 5
# Numbers that the rules without a row take at a time.
_BLOCK = 1 << 20
_NO_DRAWS = default_rng(0)

# Of each class some rows and their weights.
Rows = list[tuple[Array, Array | None]]


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
    rows : list of (ndarray of shape (n, n_features), ndarray of shape (n,) or None)
        Rows of each class and their weights.
    pairs : ndarray of shape (n_pairs, 2)
        Classes of each pair; for one against all others, (-1, k).
    priors : ndarray of shape (n_classes,)
        Class priors.
    borrowed : ndarray of shape (n_classes,)
        Share of the pooled covariance in that of the class.
    unshrunk : ClassStatistics or None
        For Fisher's rules, if these are to have other covariances than the model's.
    frequencies : bool
        Whether priors are relative frequencies.
    verdicts : list of Verdict
        Those of the batches of pairs so far.
    """

    rows: Rows
    pairs: Index
    priors: Array
    borrowed: Array
    unshrunk: ClassStatistics | None
    frequencies: bool
    verdicts: list[Verdict] = field(default_factory=list)

    def __call__(self, pencil: Pencil, planes: Hyperplanes, at: slice) -> Hyperplanes:
        """The rules of a batch of pairs, some replaced by Fisher's."""
        plain = pencil
        if self.unshrunk is not None:
            plain = pencil.with_covariances(self.unshrunk.covariances()[self.pairs[at]])
        fisher = Fisher().solve(plain, _NO_DRAWS)
        if self.unshrunk is not None:
            fisher = _under_model(fisher, pencil)
        rank = int(pencil.basis.any(axis=1).sum(axis=1).max())
        errors, variance = np.zeros((2, len(planes.error))), np.zeros(len(planes.error))
        for k, (rows, weight) in enumerate(self.rows):
            mine, place, part = self._members(k, at)
            w = np.ones(len(rows)) if weight is None else weight
            few = 2 < w.sum() < ROWS_PER_FEATURE * rank
            if few and self.pairs[0, 0] >= 0:
                scores = self._left_out(k, pencil, plain, planes, mine, place)
            else:
                both = [planes.coef[mine], fisher.coef[mine]]
                offsets = [planes.intercept[mine], fisher.intercept[mine]]
                normals = np.concatenate(both).T
                scores = linear_scores(rows, normals, np.concatenate(offsets))
                scores = scores.T.reshape(2, len(mine), -1)
            wrong = (scores > 0) != (place == 1)[:, None]
            share = pencil.priors[mine, place] * part / w.sum()
            errors[:, mine] += share * (wrong @ w)
            variance[mine] += share**2 * ((wrong[0] != wrong[1]) @ w)
        guarded = errors[0] > (1 + _MORE) * errors[1]
        guarded &= planes.status != Status.SEPARABLE
        self.verdicts.append(
            Verdict(guarded, errors, np.sqrt(variance), planes.error, planes.coef)
        )
        if not guarded.any():
            return planes
        # The bound that was proven for the optimum holds for any rule.
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = 1 - planes.error * (1 - planes.gap) / fisher.error
        fisher = replace(fisher, gap=np.where(fisher.error > 0, gap, 0.0))
        return Hyperplanes.where(guarded, fisher, planes)

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
        """Scores of rows of class k by rules without them, (2, n_pairs, n_rows)."""
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
                own = shares_of_pooled(self.unshrunk, None, None)[k]
                fisher = left_out_scores(
                    plain.take(some), *known, borrowed=own, frequencies=self.frequencies
                )[1]
            # Off the arc the rule with all rows stands in; where a row alone makes
            # Fisher's matrix regular, that rule is wrong about it.
            seen = linear_scores(rows, rules.coef.T, rules.intercept).T
            ours = np.where(np.isnan(ours), seen, ours)
            bad = np.where(there == 1, -1.0, 1.0)[:, None]
            blocks.append([ours, np.where(np.isnan(fisher), bad, fisher)])
        return np.concatenate(blocks, axis=1)


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
