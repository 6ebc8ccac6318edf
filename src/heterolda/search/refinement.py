"""Refinement of the rule of a pair: without the rows of each fold, or on all rows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from heterolda.foundations.types import Array, Index, Mask
from heterolda.kernels.descent import descend
from heterolda.kernels.log_odds import sides_of_log_odds
from heterolda.kernels.whitening import independent
from heterolda.search.algorithm2 import Reporter
from heterolda.search.pair_search import PairResult
from heterolda.search.selection import Candidate
from heterolda.search.smooth import Coordinates, median_size
from heterolda.search.training_data import TrainingData
from heterolda.solvers.hyperplanes import linear_scores, settle_ties

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
    """

    coef: Array
    intercept: Array
    sides: Array
    error: Array


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
    units = np.ones(n_folds)
    shifts = []
    for f in range(n_folds):
        one = _Problem.from_data(data.take(fold != f), coef[f], intercept[f])
        units[f] = one.unit
        if one.able:
            u = one.shifts(candidates, tol=_ROUGHLY, max_iter=100)
            shifts.append((f, one.space.rules(u)))
    normals, offsets = coef / units[:, None], intercept / units
    # Where no pair of rows and start can move, all candidates share their rules.
    shape = len(candidates), *coef.shape
    normals, offsets = np.broadcast_to(normals, shape), np.broadcast_to(offsets, shape[:2])
    if shifts:
        normals, offsets = normals.copy(), offsets.copy()
    for f, (normal, offset) in shifts:
        normals[:, f] += normal
        offsets[:, f] += offset

    held = data.take(fold >= 0)
    fold = fold[fold >= 0]
    X, sign, weight = _arrays(held)
    margins = np.empty((len(candidates), len(X)))
    for f in range(n_folds):
        rows = fold == f
        scores = linear_scores(X[rows], normals[:, f].T, offsets[:, f])
        margins[:, rows] = sign[rows] * scores.T
    # Class weights count, but do not make rows more or fewer than there are.
    weight *= held.frequencies().sum()
    return FoldRules(
        coef=normals,
        intercept=offsets,
        sides=sides_of_log_odds(margins, sign, weight, fold, n_folds),
        error=_error_rates(margins <= 0, weight, fold, n_folds),
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

    problem = _Problem.from_data(data, coef, intercept)
    if candidate.moves and problem.able:
        shift = np.zeros((1, problem.Z.shape[1]))
        costs = data.error_weights()
        costs = np.ones(len(data.codes)) if costs is None else costs
        with suppress(KeyboardInterrupt):
            problem.shifts([candidate], costs=costs, report=watch, out=shift)
        if np.any(shift):
            normals, offsets = problem.space.rules(problem.unit * shift)
            coef, intercept = coef + normals[0], intercept + float(offsets[0])
            errors = _count(data, coef, intercept)
    return PairResult.from_rows(
        data,
        np.append(intercept, -coef),
        errors_start=errors_start,
        errors=errors,
        history=np.array(history or [errors_start]),
        unit=problem.unit,
    )


@dataclass(frozen=True)
class _Problem:
    """A start and the rows that it is refined on, in coordinates of their own.

    Rows held out must have no part in the coordinates: only by their labels are they
    rows of this pair, and where rows are few for the features that would tell.

    Attributes
    ----------
    start, weight : ndarray of shape (n,)
        Margins at the start in units of their median size, and weights of sum one.
    unit : float
        That median.
    able : bool
        Whether there are rows enough to leave the start.
    space : Coordinates or None
        The coordinates, in which the rows have unit second moment; None if not able.
    Z : ndarray of shape (n, r + 1) or None
        The rows there, times +1 in the second class and -1 in the first.
    penalty : float
        Factor lambda of the anchor for kappa = 1; infinite if not able.
    """

    start: Array
    weight: Array
    unit: float
    able: bool
    space: Any = None
    Z: Any = None
    penalty: float = np.inf

    @classmethod
    def from_data(cls, data: TrainingData, coef: Array, intercept: float) -> _Problem:
        """The rows of two classes."""
        X, sign, weight = _arrays(data)
        start = sign * linear_scores(X, coef[:, None], np.array([intercept]))[:, 0]
        unit = median_size(start, weight)
        n = float(data.totals().sum())
        few = n <= len(X) and independent(X, weight)
        space = None if few else Coordinates.from_rows(X, weight)
        if space is None or n <= space.Z.shape[1]:
            return cls(start / unit, weight, unit, False)
        size = space.Z.shape[1]
        Z = sign[:, None] * space.Z
        return cls(start / unit, weight, unit, True, space, Z, size / (n - size))

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
    normals, offsets = coef[None], np.array([intercept])
    scores = linear_scores(X, normals.T, offsets)
    scores = settle_ties(scores, X, normals, offsets)
    wrong = (scores[:, 0] > 0) != (data.codes == 1)
    weight = data.error_weights()
    return float(np.count_nonzero(wrong) if weight is None else weight[wrong].sum())


def _arrays(data: TrainingData) -> tuple[Array, Array, Array]:
    """Rows, +1 for the second class and -1 for the first, and weights of sum one."""
    X = data.float_rows()
    sign = np.where(data.codes == 1, 1.0, -1.0)
    weight = data.error_weights()
    if weight is None:
        weight = np.ones(len(X))
    return X, sign, weight / weight.sum()
