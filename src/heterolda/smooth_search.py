"""The choice of a smooth refinement by cross-validation over whole fits."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.hyperplanes import Hyperplanes, linear_scores
from heterolda.posterior import LogOdds
from heterolda.selection import Candidate, assign_folds, choose
from heterolda.smooth_pairs import HeldOut, refine_folds
from heterolda.starts import Start, TrainingData
from heterolda.votes import Binary, Committee, OneVsOne

Array = NDArray[np.float64]
Index = NDArray[np.intp]
# Does the work of all pairs, perhaps in threads; None if that was interrupted.
Run = Callable[[Callable[[int], Any]], list[Any] | None]

_N_FOLDS = 5
# Numbers of scores that are formed at a time.
_BLOCK_SIZE = 1 << 20


@dataclass(frozen=True)
class Choice:
    """The refinement that was chosen.

    Attributes
    ----------
    candidate : Candidate
        The refinement.
    voting : str
        How the pairs decide together.
    slope : ndarray of shape (n_pairs,) or None
        Slopes of the log-odds, in units of the median margin at the start; None if
        no row could be held out.
    error : ndarray of shape (n_pairs,) or None
        Errors of the pairs among the rows held out.
    estimate : float
        Estimated error.
    table : list of dict
        All candidates with their estimated errors.
    """

    candidate: Candidate
    voting: str
    slope: Array | None = None
    error: Array | None = None
    estimate: float = np.nan
    table: tuple[dict[str, Any], ...] = ()

    def record(self) -> dict[str, Any]:
        """What the user sees."""
        chosen = _row(self.candidate, self.voting, self.estimate)
        return {**chosen, "candidates": list(self.table)}


def cross_validate(
    data: TrainingData,
    fit_start: Callable[[TrainingData], Start],
    pairs: Index,
    candidates: list[Candidate],
    votings: list[str],
    rng: np.random.RandomState,
    run: Run,
) -> Choice:
    """Choose among refinements, and calibrate the chosen one, by rows held out.

    The start is fitted and all pairs are refined without the rows of each fold, and
    the errors of the votes on those rows decide.

    Parameters
    ----------
    data : TrainingData
        The data.
    fit_start : callable
        Fits the rules to start from.
    pairs : ndarray of shape (n_pairs, 2)
        Classes of the pairs.
    candidates : list of Candidate
        The refinements. The first is taken if no row can be held out.
    votings : list of str
        Ways in which the pairs may decide together.
    rng : RandomState
        For the folds.
    run : callable
        Does the work of all pairs.

    Returns
    -------
    Choice
        The choice.
    """
    X = np.ascontiguousarray(data.X, dtype=np.float64)
    fold = assign_folds(X, data.codes, data.weight, _N_FOLDS, rng)
    numbers = np.unique(fold[fold >= 0])
    if not len(numbers):
        return Choice(candidates[0], votings[0])
    fold = np.where(fold < 0, -1, np.searchsorted(numbers, fold))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        starts = [fit_start(data.take(fold != f)) for f in range(len(numbers))]
    coef = np.array([start.coef for start in starts])
    intercept = np.array([start.intercept for start in starts])

    def work(k: int) -> HeldOut:
        i, j = pairs[k]
        inside = (data.codes == i) | (data.codes == j)
        two = data.pair(i, j)
        return refine_folds(two, fold[inside], coef[:, k], intercept[:, k], candidates)

    refined = run(work)
    if refined is None:
        return Choice(candidates[0], votings[0])
    held = np.flatnonzero(fold >= 0)
    options = [(c, voting) for c in range(len(candidates)) for voting in votings]
    wrong = np.zeros((len(options), len(held)), dtype=bool)
    for f, start in enumerate(starts):
        for rows in _blocks(np.flatnonzero(fold[held] == f), len(pairs)):
            part, truth = X[held[rows]], data.codes[held[rows]]
            for c in range(len(candidates)):
                normals = np.array([r.coef[c, f] for r in refined])
                offsets = np.array([r.intercept[c, f] for r in refined])
                scores = linear_scores(part, normals.T, offsets)
                slope, error = _column(refined, c)
                error = error if start.error is None else start.error
                planes = _planes(normals, offsets, error)
                for v, voting in enumerate(votings):
                    votes = committee(
                        planes, pairs, len(data.classes), voting, slope
                    ).winners(scores)
                    wrong[c * len(votings) + v, rows] = votes != truth
    counts = np.ones(len(X)) if data.weight is None else data.weight
    costs = np.ones(len(X))
    if data.class_weight is not None:
        costs = data.class_weight[data.codes]
    anchors = np.array([candidates[c].anchor for c, _ in options])
    best, errors, _ = choose(wrong, counts[held], costs[held], anchors)
    table = tuple(
        _row(candidates[c], voting, float(error))
        for (c, voting), error in zip(options, errors, strict=True)
    )
    c, voting = options[best]
    return Choice(
        candidates[c], voting, *_column(refined, c), float(errors[best]), table
    )


def committee(
    planes: Hyperplanes,
    pairs: Index,
    n_classes: int,
    voting: str,
    slope: Array | None,
) -> Committee:
    """How rules decide together.

    Parameters
    ----------
    planes : Hyperplanes
        The rules.
    pairs : ndarray of shape (n_pairs, 2)
        Their classes.
    n_classes : int
        Number of classes.
    voting : {"weighted", "majority", "coupled"}
        As for :class:`heterolda.votes.OneVsOne`.
    slope : ndarray of shape (n_pairs,) or None
        Slopes of the log-odds; None stands for the Gaussian model.

    Returns
    -------
    Committee
        The committee.
    """
    log_odds = None if slope is None else LogOdds.proportional(slope)
    if n_classes == 2:
        return Binary(planes, log_odds)
    return OneVsOne(planes, pairs, n_classes, voting, log_odds)


def _row(candidate: Candidate, voting: str, error: float) -> dict[str, Any]:
    """A candidate as a row of the table."""
    return {
        "loss": candidate.loss,
        "bandwidth": candidate.bandwidth,
        "anchor": candidate.anchor,
        "voting": voting,
        "error": error,
    }


def _column(refined: list[HeldOut], c: int) -> tuple[Array, Array]:
    """Slopes and errors of all pairs, for one candidate."""
    slope = np.array([r.slope[c] for r in refined])
    return slope, np.array([r.error[c] for r in refined])


def _planes(coef: Array, intercept: Array, error: Array) -> Hyperplanes:
    """Rules of which only the votes are wanted."""
    two = np.ones((len(coef), 2))
    n_iter = np.zeros(len(coef), dtype=np.intp)
    return Hyperplanes.from_projections(
        coef, intercept, error, n_iter=n_iter, means=two, deviations=two
    )


def _blocks(rows: Index, n_pairs: int) -> Iterator[Index]:
    """Parts of the rows, so that their scores stay small."""
    step = max(1, _BLOCK_SIZE // n_pairs)
    for begin in range(0, len(rows), step):
        yield rows[begin : begin + step]
