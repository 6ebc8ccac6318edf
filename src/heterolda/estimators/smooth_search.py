"""The strategy "smooth": refinement of all pairs, chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heterolda.estimators.posterior import SidedLogOdds
from heterolda.estimators.starts import Start
from heterolda.estimators.votes import Binary, Committee, OneVsOne
from heterolda.foundations.threads import no_warnings
from heterolda.foundations.types import Array, Index
from heterolda.search.algorithm2 import Reporter
from heterolda.search.calibration import power_of_probabilities, sides_of_log_odds
from heterolda.search.pair_search import PairResult
from heterolda.search.selection import Candidate, assign_folds, choose
from heterolda.search.smooth import LOSSES, Coordinates, median_size, refine
from heterolda.search.training_data import TrainingData
from heterolda.solvers.hyperplanes import Hyperplanes, linear_scores, settle_ties

# Does the work of all pairs, perhaps in threads.
Run = Callable[[Callable[[int], Any]], list[Any]]

# Folds; fewer where there are this many rows, and this many for each coefficient, so
# that the rules hardly suffer from the lack of a third of the rows. Of very many rows
# the last of these folds is never held out.
_N_FOLDS, _FEW_FOLDS = 5, 3
_MANY_ROWS, _MANY_EACH, _VERY_MANY_ROWS = 2000, 20, 8000
# Numbers of scores that are formed at a time.
_BLOCK_SIZE = 1 << 20
# Decrease of the objective that is not worth a step while candidates are compared.
_ROUGHLY = 1e-5


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
        return {**chosen, "candidates": list(self.table)}

    def committee(self, planes: Hyperplanes, pairs: Index, units: Array) -> Committee:
        """How rules with the given units decide together."""
        log_odds = self.log_odds
        if log_odds is not None:
            log_odds = SidedLogOdds(log_odds.offset, log_odds.slope / units)
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
        """Rows held out, their scores by candidate c, and committees of its rules."""
        error = np.array([r.error[c] for r in self.refined])
        for f, start in enumerate(self.starts):
            coef = np.array([r.coef[c, f] for r in self.refined])
            intercept = np.array([r.intercept[c, f] for r in self.refined])
            weights = error if start.error is None else start.error
            planes = _planes(coef, intercept, weights)
            units = np.ones(len(coef))
            joined = [it.committee(planes, self.pairs, units) for it in choices]
            rows = np.flatnonzero(self.fold == f)
            step = max(1, _BLOCK_SIZE // len(coef))
            for some in (rows[k : k + step] for k in range(0, len(rows), step)):
                yield some, linear_scores(self.X[some], coef.T, intercept), joined

    def log_odds(self, c: int) -> SidedLogOdds:
        """Log-odds of all pairs by candidate c."""
        offset, slope = np.stack([r.sides[:, :, c] for r in self.refined], axis=-1)
        return SidedLogOdds(offset, slope)


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
        starts = [fit_start(data.take(fold != f)) for f in range(len(numbers))]
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
        (c, Choice(candidate, voting, folds.log_odds(c)))
        for c, candidate in enumerate(candidates)
        for voting in votings
    ]
    wrong = np.zeros((len(candidates), len(votings), len(data.codes)), dtype=bool)
    for c in range(len(candidates)):
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
    best, errors = choose(
        wrong.reshape(len(options), -1)[:, held], counts[held], costs[held], anchors
    )
    c, choice = options[best]
    table = tuple(
        _row(option.candidate, option.voting, float(error))
        for (_, option), error in zip(options, errors, strict=True)
    )
    return replace(
        _calibrate(data, folds, c, choice, counts * costs),
        error=np.array([r.error[c] for r in folds.refined]),
        estimate=float(errors[best]),
        table=table,
    )


def _calibrate(
    data: TrainingData, folds: _Folds, c: int, choice: Choice, weight: Array
) -> Choice:
    """Find the power that makes coupled probabilities fit the rows held out."""
    if len(folds.pairs) == 1:
        return choice
    held = np.flatnonzero(folds.fold >= 0)
    coupled = np.ones((len(data.codes), len(data.classes)))
    for rows, scores, (one,) in folds.committees(c, [choice]):
        coupled[rows] = one.probabilities(scores)
    power = power_of_probabilities(coupled[held], data.codes[held], weight[held])
    return replace(choice, sharpness=power)


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


@dataclass(frozen=True)
class FoldRules:
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
) -> FoldRules:
    """Refine the rule of a pair by all candidates, on all folds at once.

    `fold` has the fold in which each row is held out, or -1. The starts, `coef` of
    shape (n_folds, n_features) and `intercept`, were fitted without its rows.
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
    counts = data.frequencies()
    n = np.array([counts[fold != f].sum() for f in range(n_folds)])

    shift = np.zeros((len(candidates), n_folds, Z.shape[1]))
    for loss in LOSSES:
        some = [c for c, it in enumerate(candidates) if it.loss == loss and it.moves]
        if some:
            which = np.tile(np.arange(n_folds), len(some))
            h = np.repeat([candidates[c].bandwidth for c in some], n_folds)
            kappa = np.repeat([candidates[c].anchor for c in some], n_folds)
            penalty = kappa * Z.shape[1] / n[which]
            u = refine(
                Z, starts, weights, loss, h, penalty, which, tol=_ROUGHLY, max_iter=100
            )
            shift[some] = u.reshape(len(some), n_folds, -1)

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
    return FoldRules(
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
) -> PairResult:
    """Refine the rule of a pair on all its rows.

    `report` is called at each iteration with the number of iterations, the errors and
    the fewest so far. A KeyboardInterrupt that it raises ends the refinement with the
    rule reached so far.
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
    return PairResult.from_rows(
        data,
        np.append(intercept, -coef),
        errors_start=errors_start,
        errors=_count(data, coef, intercept),
        history=np.array(history or [errors_start]),
        unit=unit,
    )


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
