"""Refinement of the rule of a pair: without the rows of each fold, or on all rows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from heterolda.foundations.types import Array, Index, Mask
from heterolda.search.algorithm2 import Reporter
from heterolda.search.calibration import sides_of_log_odds
from heterolda.search.pair_search import PairResult
from heterolda.search.selection import Candidate
from heterolda.search.smooth import Coordinates, median_size, refine
from heterolda.search.training_data import TrainingData
from heterolda.solvers.hyperplanes import linear_scores, settle_ties

# Decrease of the objective that is not worth a step while candidates are compared.
_ROUGHLY = 1e-5
# Numbers of a pair from which on folds are refined one after the other, which takes
# less memory. Of fewer, refining all folds at once takes less time.
_MANY_NUMBERS = 1 << 18


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
    normals = np.empty((len(candidates), *coef.shape))
    offsets = np.empty((len(candidates), n_folds))
    size = n_folds if data.X.size < _MANY_NUMBERS else 1
    for group in (range(f, f + size) for f in range(0, n_folds, size)):
        problems = [
            _Problem.from_data(data.take(fold != f), coef[f], intercept[f])
            for f in group
        ]
        shifts = _shifts(problems, candidates, tol=_ROUGHLY, max_iter=100)
        for f, one, u in zip(group, problems, shifts, strict=True):
            normals[:, f], offsets[:, f] = one.space.rules(u)
            normals[:, f] += coef[f] / one.unit
            offsets[:, f] += intercept[f] / one.unit

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
    costs = data.error_weights()
    costs = np.ones(len(data.codes)) if costs is None else costs
    errors_start = _count(data, coef, intercept)
    history: list[float] = []
    problem = _Problem.from_data(data, coef, intercept)
    shift = np.zeros((1, problem.Z.shape[1]))

    def watch(u: Array) -> None:
        nonlocal shift
        shift = u
        errors = float(costs[problem.start + problem.Z @ u[0] <= 0].sum())
        history.append(errors if history else errors_start)
        report(len(history), history[-1], min(history))

    with suppress(KeyboardInterrupt):
        (shift,) = _shifts([problem], [candidate], report=watch)
    if np.any(shift):
        normals, offsets = problem.space.rules(problem.unit * shift)
        coef, intercept = coef + normals[0], intercept + float(offsets[0])
    return PairResult.from_rows(
        data,
        np.append(intercept, -coef),
        errors_start=errors_start,
        errors=_count(data, coef, intercept),
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
    space : Coordinates
        The coordinates, in which the rows have unit second moment.
    Z : ndarray of shape (n, r + 1)
        The rows there, times +1 in the second class and -1 in the first.
    start, weight : ndarray of shape (n,)
        Margins at the start in units of their median size, and weights of sum one.
    unit : float
        That median.
    penalty : float
        Factor lambda of the anchor for kappa = 1; infinite if the rows are too few.
    """

    space: Coordinates
    Z: Array
    start: Array
    weight: Array
    unit: float
    penalty: float

    @classmethod
    def from_data(cls, data: TrainingData, coef: Array, intercept: float) -> _Problem:
        """The rows of two classes."""
        X, sign, weight = _arrays(data)
        start = sign * linear_scores(X, coef[:, None], np.array([intercept]))[:, 0]
        unit = median_size(start, weight)
        space = Coordinates.from_rows(X, weight)
        size, n = space.Z.shape[1], float(data.totals().sum())
        penalty = size / (n - size) if n > size else np.inf
        return cls(space, sign[:, None] * space.Z, start / unit, weight, unit, penalty)


def _shifts(
    problems: list[_Problem], candidates: list[Candidate], **settings: Any
) -> list[Array]:
    """Shifts (n_candidates, r + 1) of each problem's start, all found together."""
    Z = _padded([one.Z for one in problems])
    starts = _padded([one.start for one in problems])
    weights = _padded([one.weight for one in problems])
    found = np.zeros((len(problems), len(candidates), Z.shape[2]))
    moving = [c for c, candidate in enumerate(candidates) if candidate.moves]
    able = [k for k, one in enumerate(problems) if one.penalty < np.inf]
    if moving and able:
        which = np.repeat(able, len(moving))
        some = [candidates[c] for c in moving] * len(able)
        loss = np.array([it.loss for it in some])
        h = np.array([it.bandwidth for it in some])
        penalty = np.array([it.anchor for it in some])
        penalty *= np.array([one.penalty for one in problems])[which]
        u = refine(Z, starts, weights, loss, h, penalty, which, **settings)
        found[np.ix_(able, moving)] = u.reshape(len(able), len(moving), -1)
    return [u[:, : one.Z.shape[1]] for u, one in zip(found, problems, strict=True)]


def _padded(arrays: list[Array]) -> Array:
    """Arrays as one, with zeros where some are smaller than others."""
    if len(arrays) == 1:
        return arrays[0][None]
    shape = np.max([a.shape for a in arrays], axis=0)
    joined = np.zeros((len(arrays), *shape))
    for k, a in enumerate(arrays):
        joined[k][tuple(slice(n) for n in a.shape)] = a
    return joined


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
