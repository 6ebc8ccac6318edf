"""Refinement of the rule of a pair: without the rows of each fold, or on all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.kernels.descent import descend
from heterolda.kernels.ordered_scores import linear_scores, ordered_scores
from heterolda.search.algorithm2 import Reporter
from heterolda.search.log_odds import sides_of_log_odds
from heterolda.search.pair_search import PairResult
from heterolda.search.selection import NONE, Candidate
from heterolda.search.smooth import Coordinates, median_size
from heterolda.search.training_data import TrainingData

# Decrease of the objective that is not worth a step while candidates are compared.
_ROUGHLY = 1e-5


@dataclass(frozen=True)
class FoldRules:
    """Rules of a pair that were fitted without the rows of a fold.

    Attributes
    ----------
    coef : ndarray of shape (n_candidates, n_folds, n_features)
        Normals, in units of the median margin of their starts.
    intercept : ndarray of shape (n_candidates, n_folds)
        Offsets.
    margins : ndarray of shape (n_candidates, n_held)
        Margins of the rows held out.
    sign, weight, fold : ndarray of shape (n_held,)
        Classes of these rows as -1 and +1, their weights and folds.
    moved : ndarray of bool of shape (n_candidates,)
        Which candidates may leave their start; all others are the same.
    """

    coef: Array
    intercept: Array
    margins: Array
    sign: Array
    weight: Array
    fold: Index
    moved: Mask

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.coef.shape[1])

    @cached_property
    def sides(self) -> Array:
        """Log-odds on the two sides, of shape (2, 2, n_candidates, n_folds + 1).

        Offsets and slopes that fit the rows held out in the other folds; last, those
        that fit all rows held out.
        """
        rows = self.sign, self.weight, self.fold
        return sides_of_log_odds(self.margins, *rows, self.n_folds)

    @cached_property
    def error(self) -> Array:
        """Error rates among the same rows, (n_candidates, n_folds + 1); 1 if none."""
        kept = self.weight * (self.fold != np.arange(self.n_folds + 1)[:, None])
        total = kept.sum(axis=1)
        rates = np.ones((len(self.margins), self.n_folds + 1))
        np.divide((self.margins <= 0) @ kept.T, total, out=rates, where=total > 0)
        return rates

    def some(self, chosen: Index) -> FoldRules:
        """Some of the candidates."""
        names = "coef", "intercept", "margins", "moved"
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def factors(self, chosen: Index) -> Array:
        """Factors of some candidates in their mean, in which all weigh the same.

        Each is divided by the median size of its margins at rows held out.
        """
        sizes = np.ones(len(chosen))
        if len(self.weight):  # some rows of the pair are held out
            share = self.weight / self.weight.sum()
            sizes[:] = [median_size(self.margins[c], share) for c in chosen]
        return np.asarray(sizes.mean() / sizes / len(sizes))

    def mean(self, chosen: Index) -> FoldRules:
        """The mean of some candidates, as a single one."""
        factors = self.factors(chosen)
        return replace(
            self,
            coef=np.tensordot(factors, self.coef[chosen], 1)[None],
            intercept=(factors @ self.intercept[chosen])[None],
            margins=(factors @ self.margins[chosen])[None],
        )


def refine_folds(
    data: TrainingData,
    X: list[Array],
    fold: Index,
    coef: Array,
    intercept: Array,
    candidates: list[Candidate],
) -> FoldRules:
    """Refine the rule of a pair by all candidates, without the rows of each fold.

    `fold` has the fold in which each row is held out, or -1. The starts, `coef` of
    shape (n_folds, n_features) and `intercept`, were fitted without its rows, and so
    were the transformations of the features, `X` for each fold.
    """
    sign, weight = _signs(data), _weights(data)
    counts = data.frequencies
    held = np.flatnonzero(fold >= 0)
    margins = np.empty((len(candidates), len(fold)))
    normals = np.empty((len(candidates), *coef.shape))
    offsets = np.empty((len(candidates), len(coef)))
    moved = np.zeros(len(candidates), dtype=bool)
    for f, rows_of in enumerate(X):
        rows, out = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        share = weight[rows] / weight[rows].sum()
        refinement = _Refinement.from_rows(
            *(rows_of[rows], sign[rows], share, float(counts[rows].sum())),
            *(coef[f], float(intercept[f])),
        )
        normals[:, f], offsets[:, f], moves = refinement.rules(
            candidates, tol=_ROUGHLY, max_iter=100
        )
        moved |= moves
        found = linear_scores(rows_of[out], normals[:, f].T, offsets[:, f])
        margins[:, out] = sign[out] * found.T
    # Class weights count, but do not make rows more or fewer than there are.
    weight = weight[held]
    if len(held):
        weight *= counts[held].sum() / weight.sum()
    here = sign[held], weight, fold[held]
    return FoldRules(normals, offsets, margins[:, held], *here, moved=moved)


def refine_rows(
    data: TrainingData,
    coef: Array,
    intercept: float,
    candidates: list[Candidate],
    factors: Array,
    report: Reporter,
) -> PairResult:
    """Refine the rule of a pair on all its rows: the sum of candidates with factors.

    `report` is called at each iteration with the number of iterations, the errors and
    the fewest so far. A KeyboardInterrupt that it raises ends the refinement with the
    rules reached so far.
    """
    errors_start = errors = _count(data, coef, intercept)
    history: list[float] = []

    def watch(_: int, errors: float) -> None:
        history.append(errors if history else errors_start)
        report(len(history), history[-1], min(history))

    X, sign, weight = data.float_rows(), _signs(data), _weights(data)
    n = float(data.frequencies.sum())
    start = X, sign, weight / weight.sum(), n, coef, intercept
    refinement = _Refinement.from_rows(*start)
    if any(refinement.problem(candidate) is not None for candidate in candidates):
        normals, offsets, _ = refinement.rules([NONE] * len(factors))
        interrupted = False
        try:
            for k, candidate in enumerate(candidates):
                problem = refinement.problem(candidate)
                if problem is None:
                    continue
                shift = np.zeros((1, problem.Z.shape[1]))
                settings = {"costs": weight, "report": watch, "out": shift}
                try:
                    problem.shifts(refinement.weight, [candidate], **settings)
                finally:
                    if shift.any():  # a rule of zeros is worse than the start
                        normals[k : k + 1], offsets[k : k + 1] = problem.rules(shift)
        except KeyboardInterrupt:
            interrupted = True
        normal = refinement.unit * (factors @ normals)
        offset = refinement.unit * float(factors @ offsets)
        errors = _count(data, normal, offset)
        if interrupted and errors > errors_start:
            errors = errors_start  # halfway from zero, a ridge rule may be worse
        else:
            coef, intercept = normal, offset
    return PairResult.from_rows(
        data,
        np.append(intercept, -coef),
        errors_start=errors_start,
        errors=errors,
        history=np.array(history or [errors_start]),
        unit=refinement.unit,
    )


@dataclass(frozen=True)
class _Problem:
    """Where a rule descends from and what holds it there.

    Attributes
    ----------
    space : Coordinates
        Coordinates of the rows.
    Z : ndarray of shape (n, r + 1)
        The rows there, times +1 in the second class and -1 in the first.
    start : ndarray of shape (n,)
        Margins where the descent begins.
    coef, intercept : ndarray and float
        The rule there.
    penalty : float
        Factor lambda of the anchor for kappa = 1.
    """

    space: Coordinates
    Z: Array
    start: Array
    coef: Array
    intercept: float
    penalty: float

    def rules(self, u: Array) -> tuple[Array, Array]:
        """Normals and offsets of rules at shifts from the anchor."""
        normals, offsets = self.space.rules(u)
        return self.coef + normals, self.intercept + offsets

    def shifts(
        self, weight: Array, candidates: list[Candidate], **settings: Any
    ) -> Array:
        """Shifts (n_candidates, r + 1) that the candidates lead to."""
        losses = ["logistic" if it.loss == "ridge" else it.loss for it in candidates]
        return descend(
            *(self.Z, self.start, weight, np.array(losses)),
            np.array([it.bandwidth for it in candidates]),
            self.penalty * np.array([it.anchor for it in candidates]),
            **settings,
        )


@dataclass(frozen=True)
class _Refinement:
    """A start and the rows that it is refined on.

    Rows held out must have no part in the coordinates: only by their labels are they
    rows of this pair, and where rows are few for the features that would tell.

    Attributes
    ----------
    X, sign, weight : ndarray
        Rows, +1 in the second class and -1 in the first, and weights of sum one.
    n : float
        Total frequency of the rows.
    coef, intercept : ndarray and float
        The start, in units of its median margin.
    unit : float
        That unit.
    """

    X: Array
    sign: Array
    weight: Array
    n: float
    coef: Array
    intercept: float
    unit: float

    @classmethod
    def from_rows(
        cls,
        X: Array,
        sign: Array,
        weight: Array,
        n: float,
        coef: Array,
        intercept: float,
    ) -> _Refinement:
        """Rows of total frequency n and a start in any units."""
        margins = sign * linear_scores(X, coef[:, None], np.array([intercept]))[:, 0]
        unit = median_size(margins, weight)
        return cls(X, sign, weight, n, coef / unit, intercept / unit, unit)

    def problem(self, candidate: Candidate) -> _Problem | None:
        """What a candidate solves; None if it keeps the start."""
        if not candidate.moves:
            return None
        return self._ridge if candidate.loss == "ridge" else self._anchored

    @cached_property
    def _anchored(self) -> _Problem | None:
        """From the start; None if rows are too few to leave it."""
        space = Coordinates.from_rows(self.X, self.weight)
        size = space.Z.shape[1]
        if self.n <= size:
            return None
        start = self.sign * (self.X @ self.coef + self.intercept)
        penalty = size / (self.n - size)
        rule = start, self.coef, self.intercept
        return _Problem(space, self.sign[:, None] * space.Z, *rule, penalty)

    @cached_property
    def _ridge(self) -> _Problem:
        """From zero, with features in units of their deviations."""
        space = Coordinates.standardised(self.X, self.weight)
        zero = np.zeros(len(self.X)), np.zeros(len(self.coef)), 0.0
        return _Problem(space, self.sign[:, None] * space.Z, *zero, 1 / self.n)

    def rules(
        self, candidates: list[Candidate], **settings: Any
    ) -> tuple[Array, Array, Mask]:
        """Normals and offsets of all candidates, and which may leave the start."""
        normals = np.tile(self.coef, (len(candidates), 1))
        offsets = np.full(len(candidates), self.intercept)
        problems = [self.problem(candidate) for candidate in candidates]
        for problem in {id(it): it for it in problems if it is not None}.values():
            some = [k for k, it in enumerate(problems) if it is problem]
            chosen = [candidates[k] for k in some]
            u = problem.shifts(self.weight, chosen, **settings)
            normals[some], offsets[some] = problem.rules(u)
        return normals, offsets, np.array([it is not None for it in problems])


def _count(data: TrainingData, coef: Array, intercept: float) -> float:
    """Weighted errors, on the sides that predictions take."""
    X = data.float_rows()
    scores = ordered_scores(X, coef[None], np.array([intercept]))
    wrong = (scores[:, 0] > 0) != (data.codes == 1)
    weight = data.error_weights()
    return float(np.count_nonzero(wrong) if weight is None else weight[wrong].sum())


def _signs(data: TrainingData) -> Array:
    """+1 for the second class and -1 for the first."""
    return np.where(data.codes == 1, 1.0, -1.0)


def _weights(data: TrainingData) -> Array:
    """Weights of errors."""
    weight = data.error_weights()
    return np.ones(len(data.codes)) if weight is None else weight
