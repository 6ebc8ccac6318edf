"""The strategy "smooth": refinement of all pairs, chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from heterolda.estimators.pooled_lda import PooledLDA
from heterolda.estimators.posterior import SidedLogOdds
from heterolda.estimators.selection_text import explained
from heterolda.estimators.starts import Start
from heterolda.estimators.votes import Binary, Committee, OneVsOne
from heterolda.foundations.threads import no_warnings
from heterolda.foundations.types import Array, Index, Mask
from heterolda.search.calibration import power_of_probabilities
from heterolda.search.refinement import FoldRules, refine_folds
from heterolda.search.selection import (
    Candidate,
    assign_folds,
    clearly_fewer,
    near_best,
)
from heterolda.search.training_data import TrainingData
from heterolda.solvers.hyperplanes import Hyperplanes, linear_scores
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.power import PowerTransformation

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
    """The refinement that was chosen: the mean of candidates.

    Attributes
    ----------
    candidates : tuple of Candidate
        The candidates, that of the fewest errors first.
    voting : str
        How the pairs decide together.
    transforms : bool
        Whether features are transformed.
    log_odds : SidedLogOdds or None
        Log-odds as functions of scores in units of the median margin at the start;
        None if no row could be held out.
    sharpness : float
        Power of the coupled probabilities.
    error : ndarray of shape (n_pairs,) or None
        Errors of the pairs among the rows held out.
    factors : ndarray of shape (n_pairs, n_candidates) or None
        Factors of the candidates in the mean, which make their margins comparable;
        None stands for a single candidate.
    estimate : float
        Estimated error of the whole.
    table : tuple of dict
        All candidates with their estimated errors.
    """

    candidates: tuple[Candidate, ...]
    voting: str
    transforms: bool = False
    log_odds: SidedLogOdds | None = None
    sharpness: float = 1.0
    error: Array | None = None
    factors: Array | None = None
    estimate: float = np.nan
    table: tuple[dict[str, Any], ...] = ()

    def record(self) -> dict[str, Any]:
        """What the user sees."""
        chosen = _row(self.candidates[0], self.voting, self.estimate)
        chosen["transformed"] = self.transforms
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
class Fitting:
    """How features are transformed and starts are fitted.

    Attributes
    ----------
    transformation : callable
        Finds the transformation of the features of rows; None if there is none.
    start : callable
        Fits the start to rows.
    """

    transformation: Callable[[TrainingData], PowerTransformation | None]
    start: Callable[[TrainingData], Start]


@dataclass(frozen=True)
class _Folds:
    """What was fitted without the rows of each fold.

    Attributes
    ----------
    X : list of ndarray of shape (n, n_features)
        All rows, transformed as the rows without the fold suggest.
    fold : ndarray of shape (n,)
        Fold in which each row is held out, or -1.
    pairs : ndarray of shape (n_pairs, 2)
        Classes of the pairs.
    starts : list of Start
        Where the rules start.
    refined : list of FoldRules
        The rules of each pair.
    """

    X: list[Array]
    fold: Index
    pairs: Index
    starts: list[Start]
    refined: list[FoldRules] = field(default_factory=list)

    def refine(
        self, data: TrainingData, candidates: list[Candidate], run: Run
    ) -> _Folds:
        """Refine all pairs by all candidates."""
        coef = np.array([start.coef for start in self.starts])
        intercept = np.array([start.intercept for start in self.starts])

        def work(k: int) -> FoldRules:
            i, j = self.pairs[k]
            inside = (data.codes == i) | (data.codes == j)
            two = data.pair(i, j), [X[inside] for X in self.X], self.fold[inside]
            return refine_folds(*two, coef[:, k], intercept[:, k], candidates)

        return replace(self, refined=run(work))

    def some(self, chosen: Index) -> _Folds:
        """Some of the candidates."""
        return replace(self, refined=[r.some(chosen) for r in self.refined])

    def mean(self, chosen: Index) -> _Folds:
        """The mean of some candidates, as a single one."""
        return replace(self, refined=[r.mean(chosen) for r in self.refined])

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
                yield some, linear_scores(self.X[f][some], coef.T, intercept), joined

    def log_odds(self, c: int, f: int) -> SidedLogOdds:
        """Log-odds of all pairs by candidate c, from rows held out but in fold f."""
        offset, slope = np.stack([r.sides[..., c, f] for r in self.refined], axis=-1)
        return SidedLogOdds(offset, slope)

    def error(self, c: int, f: int) -> Array:
        """Errors of all pairs by candidate c among rows held out but in fold f."""
        return np.array([r.error[c, f] for r in self.refined])

    def wrong(self, codes: Index, c: int, votings: list[str]) -> Mask:
        """Errors of candidate c by each way of voting, of shape (n_votings, n)."""
        choices = [Choice((), voting) for voting in votings]
        found = np.zeros((len(votings), len(codes)), dtype=bool)
        for rows, scores, joined in self.committees(c, choices):
            for v, one in enumerate(joined):
                found[v, rows] = one.winners(scores) != codes[rows]
        return found


@dataclass(frozen=True)
class _Judges:
    """Rows held out: their folds, frequencies and costs."""

    fold: Index
    counts: Array
    costs: Array

    @property
    def weight(self) -> Array:
        """Costs of errors."""
        return self.counts * self.costs

    def without(self, f: int) -> _Judges:
        """All but those of a fold, unless there are no others; all for -1."""
        some = self.fold != f
        if not some.any():
            return self
        return _Judges(self.fold[some], self.counts[some], self.costs[some])

    def near_best(self, wrong: Mask) -> Mask:
        """Which candidates nearly have the fewest errors."""
        return near_best(wrong, self.counts, self.costs)


def cross_validate(
    data: TrainingData,
    fitting: Fitting,
    pairs: Index,
    candidates: list[Candidate],
    votings: list[str],
    rng: np.random.RandomState,
    run: Run,
) -> Choice:
    """Choose among refinements, and calibrate the chosen ones, by rows held out.

    Features are transformed, the start is fitted and all pairs are refined without the
    rows of each fold, and the errors of the votes on those rows decide; whether
    features are transformed at all, those of linear discriminant analysis. The first
    candidate is taken if no row can be held out. `run` does the work of all pairs.
    """
    fold = _assign_folds(data, rng)
    if fold.max() < 0:
        return Choice((candidates[0],), votings[0])
    held = fold >= 0
    costs = np.ones(len(fold))
    if data.class_weight is not None:
        costs = data.class_weight[data.codes]
    judges = _Judges(fold[held], data.frequencies()[held], costs[held])
    parts = [data.take(fold != f) for f in range(int(fold.max()) + 1)]
    powers = [fitting.transformation(part) for part in parts]
    X, by_lda = _transformed(data, fold, parts, powers)
    by_lda = by_lda[:, held]
    possible = any(power is not None for power in powers)
    transforms = possible and _transforms(by_lda, judges)
    if not transforms:
        X, powers = [data.float_rows()] * len(parts), [None] * len(parts)
    with no_warnings():
        starts = [
            replace(fitting.start(part.transformed(power)), estimator=None)
            for part, power in zip(parts, powers, strict=True)  # they may be large
        ]
    folds = _Folds(X, fold, pairs, starts).refine(data, candidates, run)
    moved = np.any([r.moved for r in folds.refined], axis=0)
    moved[np.argmin(moved)] = True  # of those that have not, which are the same, one
    folds = folds.some(np.flatnonzero(moved))
    candidates = [candidates[c] for c in np.flatnonzero(moved)]
    wrong = np.array(
        [folds.wrong(data.codes, c, votings)[:, held] for c in range(len(candidates))]
    )
    means: dict[tuple[int, ...], tuple[_Folds, Mask]] = {}

    def choose(f: int) -> tuple[_Folds, Index, int, Mask]:
        """The mean that rows held out but in fold f choose, its voting and errors."""
        some, those = judges.without(f), _but(judges.fold, f)
        near = some.near_best(wrong.reshape(-1, wrong.shape[2])[:, those])
        chosen = np.flatnonzero(near.reshape(wrong.shape[:2]).any(axis=1))
        if (key := tuple(chosen.tolist())) not in means:
            mean = folds.mean(chosen)
            means[key] = mean, mean.wrong(data.codes, 0, votings)[:, held]
        mean, lost = means[key]
        v = int(np.argmin(lost[:, those] @ some.weight))
        return mean, chosen, v, lost[v]

    # Each fold is judged by what the others choose: the fewest errors of several
    # candidates would be too good to be true.
    lost = 0.0
    for f in range(len(starts)):
        others = possible and _transforms(
            by_lda[:, _but(judges.fold, f)], judges.without(f)
        )
        errors = choose(f)[3] if others == transforms else by_lda[int(others)]
        here = judges.fold == f
        lost += float(errors[here] @ judges.weight[here])
    mean, chosen, v, _ = choose(-1)
    rates = wrong @ judges.weight / judges.weight.sum()
    chosen = chosen[np.argsort(rates[chosen, v], kind="stable")]
    choice = Choice(tuple(candidates[c] for c in chosen), votings[v], transforms)
    return replace(
        choice,
        log_odds=mean.log_odds(0, -1),
        sharpness=_sharpness(data, mean, choice, data.frequencies() * costs),
        error=mean.error(0, -1),
        factors=np.array([r.factors(chosen) for r in folds.refined]),
        estimate=lost / float(judges.weight.sum()),
        table=tuple(
            _row(candidates[c], voting, float(rates[c, k]))
            | {"weight": float(c in chosen and k == v) / len(chosen)}
            for c in range(len(candidates))
            for k, voting in enumerate(votings)
        ),
    )


def _assign_folds(data: TrainingData, rng: np.random.RandomState) -> Index:
    """Fold in which each row is held out, from 0 without gaps; or -1."""
    X = data.float_rows()
    n, needed = data.totals().sum(), _MANY_EACH * len(data.classes) * (X.shape[1] + 1)
    many = n >= max(_MANY_ROWS, needed)
    n_folds = _FEW_FOLDS if many else _N_FOLDS
    fold = assign_folds(X, data.codes, data.weight, n_folds, rng)
    if many and n >= _VERY_MANY_ROWS:
        fold[fold == n_folds - 1] = -1
    numbers = np.unique(fold[fold >= 0])
    return np.where(fold < 0, -1, np.searchsorted(numbers, fold))


def _but(fold: Index, f: int) -> Mask:
    """Rows of other folds than f; all if there are no others."""
    others = fold != f
    return others if others.any() else np.ones(len(fold), dtype=bool)


def _transformed(
    data: TrainingData,
    fold: Index,
    parts: list[TrainingData],
    powers: list[PowerTransformation | None],
) -> tuple[list[Array], Mask]:
    """All rows as the rows without each fold transform them, and errors of LDA.

    These are of shape (2, n): with features as they are, and transformed; the same if
    none is transformed.
    """
    X, wrong = [], np.zeros((2, len(fold)), dtype=bool)
    for f, (part, power) in enumerate(zip(parts, powers, strict=True)):
        X.append(data.transformed(power).float_rows())
        if all(it is None for it in powers):
            continue
        for k, rows in enumerate((data.float_rows(), X[f])):
            known = ClassStatistics.from_data(
                rows[fold != f], part.codes, sample_weight=part.weight
            )
            here = fold == f
            wrong[k, here] = PooledLDA(known).winners(rows[here]) != data.codes[here]
    return X, wrong


def _transforms(wrong: Mask, judges: _Judges) -> bool:
    """Whether features as they are do not have clearly fewer errors."""
    plain, transformed = wrong
    return not clearly_fewer(plain, transformed, judges.counts, judges.costs)


def _sharpness(
    data: TrainingData, folds: _Folds, choice: Choice, weight: Array
) -> float:
    """Find the power that makes coupled probabilities fit the rows held out."""
    if len(folds.pairs) == 1:
        return 1.0
    held = np.flatnonzero(folds.fold >= 0)
    coupled = np.ones((len(data.codes), len(data.classes)))
    for rows, scores, (one,) in folds.committees(0, [choice]):
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
