"""Refinement of the rule of a pair: without the rows of each fold, or on all rows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from heterolda.foundations.types import Array, Index, Mask
from heterolda.kernels.descent import descend
from heterolda.kernels.log_odds import sides_of_log_odds
from heterolda.kernels.ordered_scores import ordered_scores
from heterolda.kernels.whitening import independent
from heterolda.search.algorithm2 import Reporter
from heterolda.search.pair_search import PairResult
from heterolda.search.selection import Candidate
from heterolda.search.smooth import Coordinates, median_size
from heterolda.search.training_data import TrainingData
from heterolda.solvers.hyperplanes import linear_scores

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
    sides : ndarray of shape (2, 2, n_candidates, n_folds + 1)
        Offsets and slopes of the log-odds on the two sides, in these units, that fit
        the rows held out in the other folds; last, those that fit all rows held out.
    error : ndarray of shape (n_candidates, n_folds + 1)
        Error rates among the same rows; 1 where there are none.
    moved : bool
        Whether any rule has left its start; if not, all candidates are the same.
    """

    coef: Array
    intercept: Array
    sides: Array
    error: Array
    moved: bool


def refine_folds(
    data: TrainingData,
    fold: Index,
    coef: Array,
    intercept: Array,
    candidates: list[Candidate],
) -> FoldRules:
    """Refine the rule of a pair by all candidates, without the rows of each fold.

    `fold` has the fold in which each row is held out, or -1. The starts, `coef` of
    shape (n_folds, n_features) and `intercept`, were fitted without its rows.
    """
    n_folds = len(coef)
    X, sign, weight = _arrays(data)
    counts = data.frequencies()
    scores = linear_scores(X, coef.T, intercept)
    starts = sign[:, None] * scores
    units, shifts = np.ones(n_folds), []
    for f in range(n_folds):
        rows = np.flatnonzero(fold != f)
        share = weight[rows] / weight[rows].sum()
        units[f] = median_size(starts[rows, f], share)
        arrays = X[rows], sign[rows], share, starts[rows, f] / units[f]
        problem = _Problem.from_rows(*arrays, float(counts[rows].sum()))
        if problem is not None:
            u = problem.shifts(candidates, tol=_ROUGHLY, max_iter=100)
            shifts.append((f, problem.space.rules(u)))
    shape = len(candidates), *coef.shape
    normals = np.broadcast_to(coef / units[:, None], shape)
    offsets = np.broadcast_to(intercept / units, shape[:2])
    if shifts:  # else all candidates share the memory of the starts
        normals, offsets = normals.copy(), offsets.copy()
    for f, (normal, offset) in shifts:
        normals[:, f] += normal
        offsets[:, f] += offset

    held = np.flatnonzero(fold >= 0)
    X, sign, fold = X[held], sign[held], fold[held]
    margins = np.empty((len(candidates), len(held)))
    margins[:] = starts[held, fold] / units[fold]
    for f, _ in shifts:
        rows = fold == f
        found = linear_scores(X[rows], normals[:, f].T, offsets[:, f])
        margins[:, rows] = sign[rows] * found.T
    # Class weights count, but do not make rows more or fewer than there are.
    weight = weight[held] * (counts[held].sum() / weight[held].sum())
    return FoldRules(
        coef=normals,
        intercept=offsets,
        sides=sides_of_log_odds(margins, sign, weight, fold, n_folds),
        error=_error_rates(margins <= 0, weight, fold, n_folds),
        moved=bool(shifts),
    )


def _error_rates(wrong: Mask, weight: Array, fold: Index, n_folds: int) -> Array:
    """Shares of wrong rows, without those of a fold, as `FoldRules` has them."""
    kept = weight * (fold != np.arange(n_folds + 1)[:, None])
    total = kept.sum(axis=1)
    rates = np.ones((len(wrong), n_folds + 1))
    np.divide(wrong @ kept.T, total, out=rates, where=total > 0)
    return rates


def refine_rows(
    data: TrainingData,
    coef: Array,
    intercept: float,
    candidate: Candidate,
    report: Reporter,
) -> PairResult:
    """Refine the rule of a pair on all its rows.

    `report` is called at each iteration with the number of iterations, the errors and
    the fewest so far. A KeyboardInterrupt that it raises ends the refinement with the
    rule reached so far.
    """
    errors_start = errors = _count(data, coef, intercept)
    history: list[float] = []

    def watch(n_iter: int, errors: float) -> None:
        history.append(errors if history else errors_start)
        report(n_iter, history[-1], min(history))

    X, sign, weight = _arrays(data)
    start = sign * linear_scores(X, coef[:, None], np.array([intercept]))[:, 0]
    share = weight / weight.sum()
    unit = median_size(start, share)
    problem = None
    if candidate.moves:
        n = float(data.frequencies().sum())
        problem = _Problem.from_rows(X, sign, share, start / unit, n)
    if problem is not None:
        shift = np.zeros((1, problem.Z.shape[1]))
        with suppress(KeyboardInterrupt):
            problem.shifts([candidate], costs=weight, report=watch, out=shift)
        if np.any(shift):
            normals, offsets = problem.space.rules(unit * shift)
            coef, intercept = coef + normals[0], intercept + float(offsets[0])
            errors = _count(data, coef, intercept)
    return PairResult.from_rows(
        data,
        np.append(intercept, -coef),
        errors_start=errors_start,
        errors=errors,
        history=np.array(history or [errors_start]),
        unit=unit,
    )


@dataclass(frozen=True)
class _Problem:
    """A start and the rows that it is refined on, in coordinates of their own.

    Rows held out must have no part in the coordinates: only by their labels are they
    rows of this pair, and where rows are few for the features that would tell.

    Attributes
    ----------
    space : Coordinates
        The coordinates, in which the rows have unit second moment.
    Z : ndarray of shape (n, r + 1)
        The rows there, times +1 in the second class and -1 in the first.
    start, weight : ndarray of shape (n,)
        Margins at the start in units of their median size, and weights of sum one.
    penalty : float
        Factor lambda of the anchor for kappa = 1.
    """

    space: Coordinates
    Z: Array
    start: Array
    weight: Array
    penalty: float

    @classmethod
    def from_rows(
        cls, X: Array, sign: Array, weight: Array, start: Array, n: float
    ) -> _Problem | None:
        """Rows of total frequency n; None if these are too few to leave the start."""
        if n <= len(X) and independent(X, weight):
            return None
        space = Coordinates.from_rows(X, weight)
        size = space.Z.shape[1]
        if n <= size:
            return None
        return cls(space, sign[:, None] * space.Z, start, weight, size / (n - size))

    def shifts(self, candidates: list[Candidate], **settings: Any) -> Array:
        """Shifts (n_candidates, r + 1) from the start."""
        moving = [c for c, candidate in enumerate(candidates) if candidate.moves]
        some = [candidates[c] for c in moving]
        found = np.zeros((len(candidates), self.Z.shape[1]))
        found[moving] = descend(
            self.Z,
            self.start,
            self.weight,
            np.array([it.loss for it in some]),
            np.array([it.bandwidth for it in some]),
            self.penalty * np.array([it.anchor for it in some]),
            **settings,
        )
        return found


def _count(data: TrainingData, coef: Array, intercept: float) -> float:
    """Weighted errors, on the sides that predictions take."""
    X = data.float_rows()
    scores = ordered_scores(X, coef[None], np.array([intercept]))
    wrong = (scores[:, 0] > 0) != (data.codes == 1)
    weight = data.error_weights()
    return float(np.count_nonzero(wrong) if weight is None else weight[wrong].sum())


def _arrays(data: TrainingData) -> tuple[Array, Array, Array]:
    """Rows, +1 for the second class and -1 for the first, and weights of errors."""
    X = data.float_rows()
    sign = np.where(data.codes == 1, 1.0, -1.0)
    weight = data.error_weights()
    return X, sign, np.ones(len(X)) if weight is None else weight
