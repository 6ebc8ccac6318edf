"""The smooth refinement of one pair of classes: on folds, and on all rows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heterolda.estimators.pair_search import Refined, summarise
from heterolda.estimators.starts import TrainingData
from heterolda.search.algorithm2 import Reporter
from heterolda.search.calibration import sides_of_log_odds
from heterolda.search.selection import Candidate
from heterolda.search.smooth import LOSSES, Coordinates, median_size, refine
from heterolda.solvers.hyperplanes import linear_scores, settle_ties

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Decrease of the objective that is not worth a step while candidates are compared.
_ROUGHLY = 1e-5


@dataclass(frozen=True)
class HeldOut:
    """Rules of a pair that were fitted without the rows of a fold.

    Attributes
    ----------
    coef : ndarray of shape (n_candidates, n_folds, n_features)
        Normals, in units of the median margin of their starts.
    intercept : ndarray of shape (n_candidates, n_folds)
        Offsets.
    sides : ndarray of shape (2, 2, n_candidates)
        Offsets and slopes of the log-odds on the two sides, in these units.
    error : ndarray of shape (n_candidates,)
        Error rates among the rows held out.
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
) -> HeldOut:
    """Refine the rule of a pair by all candidates, on all folds at once.

    Parameters
    ----------
    data : TrainingData
        Rows of two classes.
    fold : ndarray of shape (n,)
        Fold in which each row is held out, or -1.
    coef, intercept : ndarray of shape (n_folds, n_features) and (n_folds,)
        Starts, fitted without the rows of the fold.
    candidates : list of Candidate
        The refinements.

    Returns
    -------
    HeldOut
        The rules, and how they do on the rows held out.
    """
    n_folds = len(coef)
    X, sign, weight = _arrays(data)
    space = Coordinates.from_rows(X, weight)
    Z = sign[:, None] * space.Z
    weights = np.where(fold == np.arange(n_folds)[:, None], 0.0, weight)
    weights /= weights.sum(axis=1, keepdims=True)
    starts = sign * linear_scores(X, coef.T, intercept).T
    units = np.array(list(map(median_size, starts, weights)))
    starts /= units[:, None]
    counts = np.ones(len(X)) if data.weight is None else data.weight
    n = np.array([counts[fold != f].sum() for f in range(n_folds)])

    shift = np.zeros((len(candidates), n_folds, Z.shape[1]))
    for loss in LOSSES:
        part = [c for c, it in enumerate(candidates) if it.loss == loss and it.moves]
        if part:
            which = np.tile(np.arange(n_folds), len(part))
            h = np.repeat([candidates[c].bandwidth for c in part], n_folds)
            kappa = np.repeat([candidates[c].anchor for c in part], n_folds)
            penalty = kappa * Z.shape[1] / n[which]
            u = refine(
                Z, starts, weights, loss, h, penalty, which, tol=_ROUGHLY, max_iter=100
            )
            shift[part] = u.reshape(len(part), n_folds, -1)

    held = np.flatnonzero(fold >= 0)
    there = fold[held]
    margins = np.empty((len(candidates), len(held)))
    for f in range(n_folds):
        rows = held[there == f]
        margins[:, there == f] = starts[f, rows] + shift[:, f] @ Z[rows].T
    sides, error = np.ones((2, 2, len(candidates))), np.ones(len(candidates))
    if len(held):
        # Class weights count, but do not make rows more or fewer than there are.
        costs = weight[held] * (counts[held].sum() / weight[held].sum())
        sides = sides_of_log_odds(margins, sign[held], costs)
        error = (margins <= 0) @ weight[held] / weight[held].sum()
    normals, offsets = space.rules(shift.reshape(-1, Z.shape[1]))
    return HeldOut(
        coef=normals.reshape(*shift.shape[:2], -1) + coef / units[:, None],
        intercept=offsets.reshape(shift.shape[:2]) + intercept / units,
        sides=sides,
        error=error,
    )


def refine_rows(
    data: TrainingData,
    coef: Array,
    intercept: float,
    candidate: Candidate,
    report: Reporter,
) -> tuple[Refined, float]:
    """Refine the rule of a pair on all its rows.

    Parameters
    ----------
    data : TrainingData
        Rows of two classes.
    coef : ndarray of shape (n_features,)
        Normal of the start.
    intercept : float
        Its offset.
    candidate : Candidate
        The refinement.
    report : callable
        Called with the number of iterations, the errors and the fewest so far, at
        each iteration. A KeyboardInterrupt that it raises ends the refinement.

    Returns
    -------
    refined : Refined
        The rule. After a KeyboardInterrupt it is the one reached so far.
    unit : float
        Median of the sizes of the margins at the start.
    """
    X, sign, weight = _arrays(data)
    costs = data.error_weights()
    costs = np.ones(len(X)) if costs is None else costs
    start = sign * linear_scores(X, coef[:, None], np.array([intercept]))[:, 0]
    unit = median_size(start, weight)
    errors_start = _count(data, coef, intercept)
    history: list[float] = []
    shift = np.zeros((1, 1))
    space = Coordinates.from_rows(X, weight)
    Z = sign[:, None] * space.Z

    def watch(u: Array) -> None:
        nonlocal shift
        shift = u
        errors = float(costs[start / unit + Z @ u[0] <= 0].sum())
        history.append(errors if history else errors_start)
        report(len(history), history[-1], min(history))

    if candidate.moves:
        n = data.totals().sum()
        h = np.array([candidate.bandwidth])
        penalty = np.array([candidate.anchor * Z.shape[1] / n])
        margins, first = (start / unit)[None], np.zeros(1, dtype=np.intp)
        with suppress(KeyboardInterrupt):
            shift = refine(
                Z,
                margins,
                weight[None],
                candidate.loss,
                h,
                penalty,
                first,
                report=watch,
            )
    if np.any(shift):
        normals, offsets = space.rules(unit * shift)
        coef, intercept = coef + normals[0], intercept + float(offsets[0])
    errors = _count(data, coef, intercept)
    refined = summarise(
        data,
        np.append(intercept, -coef),
        errors_start,
        errors,
        np.nan,
        np.array(history or [errors_start]),
    )
    return refined, unit


def _count(data: TrainingData, coef: Array, intercept: float) -> float:
    """Weighted errors, on the sides that predictions take."""
    X = np.ascontiguousarray(data.X, dtype=np.float64)
    normals, offsets = coef[None], np.array([intercept])
    scores = linear_scores(X, normals.T, offsets)
    scores = settle_ties(scores, X, normals, offsets)
    wrong = (scores[:, 0] > 0) != (data.codes == 1)
    weight = data.error_weights()
    return float(np.count_nonzero(wrong) if weight is None else weight[wrong].sum())


def _arrays(data: TrainingData) -> tuple[Array, Array, Array]:
    """Rows, +1 for the second class and -1 for the first, and weights of sum one."""
    X = np.ascontiguousarray(data.X, dtype=np.float64)
    sign = np.where(data.codes == 1, 1.0, -1.0)
    weight = data.error_weights()
    if weight is None:
        weight = np.ones(len(X))
    return X, sign, weight / weight.sum()
