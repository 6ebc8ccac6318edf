"""The strategy "smooth": refinement of all pairs, chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heterolda.estimators.posterior import SidedLogOdds
from heterolda.estimators.selection_text import explained
from heterolda.estimators.starts import Start
from heterolda.estimators.votes import Binary, Committee, OneVsOne
from heterolda.foundations.threads import no_warnings
from heterolda.foundations.types import Array, Index
from heterolda.search.calibration import power_of_probabilities
from heterolda.search.refinement import FoldRules, refine_folds
from heterolda.search.selection import (
    Candidate,
    assign_folds,
    choose,
    estimate_choice,
)
from heterolda.search.training_data import TrainingData
from heterolda.solvers.hyperplanes import Hyperplanes, linear_scores

# Does the work of all pairs, perhaps in threads.
Run = Callable[[Callable[[int], Any]], list[Any]]

# Folds; fewer where there are this many rows, and this many for each coefficient, so
# that the rules hardly suffer from the lack of a third of the rows. Of very many rows
# the last of these folds is never held out.
_N_FOLDS, _FEW_FOLDS = 5, 3
_MANY_ROWS, _MANY_EACH, _VERY_MANY_ROWS = 2000, 20, 8000
# Numbers of scores that are formed at a time.
_BLOCK_SIZE = 1 << 20
# Least slope of log-odds: where rows show none, distinct scores still rank rows.
_LEAST_SLOPE = 1e-5


@dataclass(frozen=True)
class Choice:
    """The refinement that was chosen.

    Attributes
    ----------
    candidate : Candidate
        The refinement.
    voting : str
        How the pairs decide together.
    log_odds : SidedLogOdds or None
        Log-odds as functions of scores in units of the median margin at the start;
        None if no row could be held out.
    sharpness : float
        Power of the coupled probabilities.
    error : ndarray of shape (n_pairs,) or None
        Errors of the pairs among the rows held out.
    estimate : float
        Estimated error of the whole.
    table : tuple of dict
        All candidates with their estimated errors.
    """

    candidate: Candidate
    voting: str
    log_odds: SidedLogOdds | None = None
    sharpness: float = 1.0
    error: Array | None = None
    estimate: float = np.nan
    table: tuple[dict[str, Any], ...] = ()

    def record(self) -> dict[str, Any]:
        """What the user sees."""
        chosen = _row(self.candidate, self.voting, self.estimate)
        return explained(**chosen, candidates=list(self.table))

    def committee(self, planes: Hyperplanes, pairs: Index, units: Array) -> Committee:
        """How rules with the given units decide together."""
        log_odds = self.log_odds
        if log_odds is not None:
            slope = np.maximum(log_odds.slope, _LEAST_SLOPE) / units
            log_odds = SidedLogOdds(log_odds.offset, slope)
        if len(pairs) == 1:
            return Binary(planes, log_odds)
        k = int(pairs.max()) + 1
        return OneVsOne(planes, pairs, k, self.voting, log_odds, self.sharpness)


@dataclass(frozen=True)
class _Folds:
    """All rules that were fitted without the rows of a fold."""

    X: Array
    fold: Index
    pairs: Index
    starts: list[Start]
    refined: list[FoldRules]

    def committees(
        self, c: int, choices: list[Choice]
    ) -> Iterator[tuple[Index, Array, list[Committee]]]:
        """Rows held out, their scores by candidate c, and committees of its rules.

        What committees know of rows held out, they know of those of the other folds.
        """
        for f, start in enumerate(self.starts):
            coef = np.array([r.coef[c, f] for r in self.refined])
            intercept = np.array([r.intercept[c, f] for r in self.refined])
            weights = self.error(c, f) if start.error is None else start.error
            planes = _planes(coef, intercept, weights)
            units, log_odds = np.ones(len(coef)), self.log_odds(c, f)
            joined = [
                replace(it, log_odds=log_odds).committee(planes, self.pairs, units)
                for it in choices
            ]
            rows = np.flatnonzero(self.fold == f)
            step = max(1, _BLOCK_SIZE // len(coef))
            for some in (rows[k : k + step] for k in range(0, len(rows), step)):
                yield some, linear_scores(self.X[some], coef.T, intercept), joined

    def log_odds(self, c: int, f: int) -> SidedLogOdds:
        """Log-odds of all pairs by candidate c, from rows held out but in fold f."""
        offset, slope = np.stack([r.sides[..., c, f] for r in self.refined], axis=-1)
        return SidedLogOdds(offset, slope)

    def error(self, c: int, f: int) -> Array:
        """Errors of all pairs by candidate c among rows held out but in fold f."""
        return np.array([r.error[c, f] for r in self.refined])


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
    the errors of the votes on those rows decide. The first candidate is taken if no row
    can be held out. `run` does the work of all pairs.
    """
    X = data.float_rows()
    n, needed = data.totals().sum(), _MANY_EACH * len(data.classes) * (X.shape[1] + 1)
    many = n >= max(_MANY_ROWS, needed)
    n_folds = _FEW_FOLDS if many else _N_FOLDS
    fold = assign_folds(X, data.codes, data.weight, n_folds, rng)
    if many and n >= _VERY_MANY_ROWS:
        fold[fold == n_folds - 1] = -1
    numbers = np.unique(fold[fold >= 0])
    if not len(numbers):
        return Choice(candidates[0], votings[0])
    fold = np.where(fold < 0, -1, np.searchsorted(numbers, fold))
    with no_warnings():
        fits = (fit_start(data.take(fold != f)) for f in range(len(numbers)))
        starts = [replace(fit, estimator=None) for fit in fits]  # it may be large
    coef = np.array([start.coef for start in starts])
    intercept = np.array([start.intercept for start in starts])

    def work(k: int) -> FoldRules:
        i, j = pairs[k]
        inside = (data.codes == i) | (data.codes == j)
        two = data.pair(i, j)
        return refine_folds(two, fold[inside], coef[:, k], intercept[:, k], candidates)

    folds = _Folds(X, fold, pairs, starts, run(work))
    return _choose(data, folds, candidates, votings)


def _choose(
    data: TrainingData, folds: _Folds, candidates: list[Candidate], votings: list[str]
) -> Choice:
    """The candidate and the voting of fewest errors, or nearly so, calibrated."""
    options = [
        (c, Choice(candidate, voting))
        for c, candidate in enumerate(candidates)
        for voting in votings
    ]
    wrong = np.zeros((len(candidates), len(votings), len(data.codes)), dtype=bool)
    moved = any(r.moved for r in folds.refined)  # else all candidates are the same
    for c in range(len(candidates)):
        if c and not moved:
            wrong[c] = wrong[0]
            continue
        choices = [choice for k, choice in options if k == c]
        for rows, scores, joined in folds.committees(c, choices):
            for v, one in enumerate(joined):
                wrong[c, v, rows] = one.winners(scores) != data.codes[rows]
    held = folds.fold >= 0
    counts = data.frequencies()
    costs = np.ones(len(held))
    if data.class_weight is not None:
        costs = data.class_weight[data.codes]
    anchors = np.array([choice.candidate.anchor for _, choice in options])
    judged = wrong.reshape(len(options), -1)[:, held], counts[held], costs[held]
    best, errors = choose(*judged, anchors)
    c, choice = options[best]
    table = tuple(
        _row(option.candidate, option.voting, float(error))
        for (_, option), error in zip(options, errors, strict=True)
    )
    return replace(
        choice,
        log_odds=folds.log_odds(c, -1),
        sharpness=_sharpness(data, folds, c, choice, counts * costs),
        error=folds.error(c, -1),
        estimate=estimate_choice(*judged, anchors, folds.fold[held]),
        table=table,
    )


def _sharpness(
    data: TrainingData, folds: _Folds, c: int, choice: Choice, weight: Array
) -> float:
    """Find the power that makes coupled probabilities fit the rows held out."""
    if len(folds.pairs) == 1:
        return 1.0
    held = np.flatnonzero(folds.fold >= 0)
    coupled = np.ones((len(data.codes), len(data.classes)))
    for rows, scores, (one,) in folds.committees(c, [choice]):
        coupled[rows] = one.probabilities(scores)
    return power_of_probabilities(coupled[held], data.codes[held], weight[held])


def _row(candidate: Candidate, voting: str, error: float) -> dict[str, Any]:
    """A candidate as a row of the table."""
    return {
        "loss": candidate.loss,
        "bandwidth": candidate.bandwidth,
        "anchor": candidate.anchor,
        "voting": voting,
        "error": error,
    }


def _planes(coef: Array, intercept: Array, error: Array) -> Hyperplanes:
    """Rules of which only the votes are wanted."""
    two = np.ones((len(coef), 2))
    n_iter = np.zeros(len(coef), dtype=np.intp)
    return Hyperplanes.from_projections(
        coef, intercept, error, n_iter=n_iter, means=two, deviations=two
    )
