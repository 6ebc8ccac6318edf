"""The strategy "smooth": refinement of all pairs, chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from heterolda.estimators.posterior import SidedLogOdds
from heterolda.estimators.selection_text import explained
from heterolda.estimators.starts import Start
from heterolda.estimators.votes import Binary, Committee, OneVsOne
from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.threads import no_warnings
from heterolda.kernels.ordered_scores import linear_scores
from heterolda.search.log_odds import power_of_probabilities
from heterolda.search.refinement import FoldRules, refine_folds
from heterolda.search.selection import (
    Candidate,
    assign_folds,
    clearly_fewer,
    near_best,
)
from heterolda.search.training_data import TrainingData
from heterolda.solvers import all_pairs
from heterolda.solvers.fisher import PooledLDA
from heterolda.solvers.rules import Rules
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.power import PowerTransformation

# Does the work of all pairs, perhaps in threads.
Run = Callable[[Callable[[int], Any]], list[Any]]
# Finds the transformation of the features of rows; None if there is none.
Transform = Callable[[TrainingData], PowerTransformation | None]

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

    def committee(self, planes: Rules, pairs: Index, units: Array) -> Committee:
        """How rules with the given units decide together."""
        log_odds = self.log_odds
        if log_odds is not None:
            slope = np.maximum(log_odds.slope, _LEAST_SLOPE) / units
            log_odds = SidedLogOdds(log_odds.offset, slope)
        if len(pairs) == 1:
            return Binary(planes, log_odds)
        k = int(pairs.max()) + 1
        return OneVsOne(planes, k, self.voting, log_odds, evidence=1 / self.sharpness)


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
    """Rows held out.

    Attributes
    ----------
    rows : ndarray of int
        Which they are.
    fold, counts, costs : ndarray of shape (n_held,)
        Their folds, frequencies and costs.
    """

    rows: Index
    fold: Index
    counts: Array
    costs: Array

    @classmethod
    def of(cls, data: TrainingData, fold: Index) -> _Judges:
        """Those of a fold that is not -1."""
        rows = np.flatnonzero(fold >= 0)
        costs = np.ones(len(rows))
        if data.class_weight is not None:
            costs = data.class_weight[data.codes[rows]]
        return cls(rows, fold[rows], data.frequencies[rows], costs)

    @property
    def weight(self) -> Array:
        """What an error at each row costs."""
        return self.counts * self.costs

    def others(self, f: int) -> Mask:
        """Those of other folds than f; all if there are no others, or if f is -1."""
        found = self.fold != f
        return found if found.any() else np.ones(len(found), dtype=bool)


@dataclass(frozen=True)
class _Transformed:
    """Rows as they are transformed without the rows of each fold.

    Attributes
    ----------
    data : TrainingData
        The rows.
    fold : ndarray of shape (n,)
        Fold in which each row is held out, or -1.
    powers : list of PowerTransformation or None
        Transformations that rows without each fold have; None leaves features as they
        are.
    wrong : ndarray of bool of shape (2, n_held) or None
        Errors of linear discriminant analysis on rows held out, with features as they
        are and with transformed ones; None if no feature asks to be transformed.
    """

    data: TrainingData
    fold: Index
    powers: list[PowerTransformation | None]
    wrong: Mask | None = None

    @classmethod
    def fit(
        cls, data: TrainingData, fold: Index, judges: _Judges, transform: Transform
    ) -> _Transformed:
        """Find the transformations, and compare with none where there are any."""
        plain = cls(data, fold, [None] * (int(fold.max()) + 1))
        powers = [transform(plain.part(f)) for f in range(len(plain.powers))]
        if all(power is None for power in powers):
            return plain
        found = cls(data, fold, powers)
        wrong = np.array([it._wrong()[judges.rows] for it in (plain, found)])
        best = found if _transforms(wrong, judges, -1) else plain
        return replace(best, wrong=wrong)

    def part(self, f: int) -> TrainingData:
        """The rows without a fold, transformed."""
        return self.data.take(self.fold != f).transformed(self.powers[f])

    def rows(self) -> list[Array]:
        """All rows, transformed as without each fold."""
        return [self.data.transformed(power).float_rows() for power in self.powers]

    def _wrong(self) -> Mask:
        """Errors of linear discriminant analysis on rows held out."""
        wrong = np.zeros(len(self.fold), dtype=bool)
        for f, power in enumerate(self.powers):
            part, out = self.part(f), self.fold == f
            known = ClassStatistics.from_data(part.X, part.codes, part.weights)
            held = self.data.take(out).transformed(power)
            wrong[out] = PooledLDA(known).predict(held.float_rows()) != held.codes
        return wrong

    def errors(self, judges: _Judges, f: int) -> Mask | None:
        """Errors by what rows but those of fold f would have decided otherwise.

        None if they would not; else those of linear discriminant analysis, which has
        been fitted that way, too.
        """
        if self.wrong is None:
            return None
        now, other = (_transforms(self.wrong, judges, fold) for fold in (-1, f))
        return None if now == other else self.wrong[int(other)]


def _transforms(wrong: Mask, judges: _Judges, f: int) -> bool:
    """Whether rows but those of fold f say no word against the transformation.

    They do if features as they are have clearly fewer errors.
    """
    some = judges.others(f)
    plain, transformed = wrong[:, some]
    return not clearly_fewer(
        plain, transformed, judges.counts[some], judges.costs[some]
    )


@dataclass(frozen=True)
class _Contest:
    """Candidates and their errors on rows held out.

    Attributes
    ----------
    folds : _Folds
        Their rules.
    codes : ndarray of shape (n,)
        Classes of all rows.
    judges : _Judges
        The rows held out.
    votings : list of str
        Ways of voting.
    wrong : ndarray of bool of shape (n_candidates, n_votings, n_held)
        Errors of the candidates.
    means : dict
        Means that were tried, by their candidates: rules and errors.
    """

    folds: _Folds
    codes: Index
    judges: _Judges
    votings: list[str]
    wrong: Mask
    means: dict[tuple[int, ...], tuple[_Folds, Mask]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, folds: _Folds, codes: Index, judges: _Judges, votings: list[str]
    ) -> _Contest:
        """All candidates with all ways of voting."""
        n = len(folds.refined[0].coef)
        wrong = [folds.wrong(codes, c, votings)[:, judges.rows] for c in range(n)]
        return cls(folds, codes, judges, votings, np.array(wrong))

    def winner(self, f: int) -> tuple[_Folds, Index, int, Mask]:
        """Whon rows held out but in fold f choose.

        The mean of the candidates that are near the best, these candidates, the way of
        voting and its errors.
        """
        some = self.judges.others(f)
        counts, costs = self.judges.counts[some], self.judges.costs[some]
        wrong = self.wrong[..., some]
        near = near_best(wrong.reshape(-1, wrong.shape[2]), counts, costs)
        chosen = np.flatnonzero(near.reshape(wrong.shape[:2]).any(axis=1))
        if (key := tuple(chosen.tolist())) not in self.means:
            mean = self.folds.mean(chosen)
            errors = mean.wrong(self.codes, 0, self.votings)[:, self.judges.rows]
            self.means[key] = mean, errors
        mean, errors = self.means[key]
        v = int(np.argmin(errors[:, some] @ (counts * costs)))
        return mean, chosen, v, errors[v]


def cross_validate(
    data: TrainingData,
    transform: Transform,
    fit_start: Callable[[TrainingData], Start],
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
    judges = _Judges.of(data, fold)
    with no_warnings():
        given = _Transformed.fit(data, fold, judges, transform)
        fits = (fit_start(given.part(f)) for f in range(len(given.powers)))
        starts = [replace(start, estimator=None) for start in fits]  # it may be large
    pairs = all_pairs(len(data.classes))
    folds = _Folds(given.rows(), fold, pairs, starts).refine(data, candidates, run)
    moved = np.any([r.moved for r in folds.refined], axis=0)
    moved[np.argmin(moved)] = True  # of those that have not, which are the same, one
    candidates = [candidates[c] for c in np.flatnonzero(moved)]
    folds = folds.some(np.flatnonzero(moved))
    contest = _Contest.of(folds, data.codes, judges, votings)
    mean, chosen, v, _ = contest.winner(-1)
    weight = judges.weight
    rates = contest.wrong @ weight / weight.sum()
    chosen = chosen[np.argsort(rates[chosen, v], kind="stable")]
    transforms = any(power is not None for power in given.powers)
    choice = Choice(tuple(candidates[c] for c in chosen), votings[v], transforms)
    return replace(
        choice,
        log_odds=mean.log_odds(0, -1),
        sharpness=_sharpness(data, mean, choice, judges),
        error=mean.error(0, -1),
        factors=np.array([r.factors(chosen) for r in folds.refined]),
        estimate=_estimate(contest, given),
        table=tuple(
            _row(candidates[c], voting, float(rates[c, k]))
            | {"weight": float(c in chosen and k == v) / len(chosen)}
            for c in range(len(candidates))
            for k, voting in enumerate(votings)
        ),
    )


def _estimate(contest: _Contest, given: _Transformed) -> float:
    """Error to be expected at new rows.

    Each fold is judged by what the others choose: the fewest errors of several
    candidates would be too good to be true.
    """
    judges, lost = contest.judges, 0.0
    for f in range(int(judges.fold.max()) + 1):
        errors = given.errors(judges, f)
        if errors is None:
            errors = contest.winner(f)[3]
        here = judges.fold == f
        lost += float(errors[here] @ judges.weight[here])
    return lost / float(judges.weight.sum())


def _assign_folds(data: TrainingData, rng: np.random.RandomState) -> Index:
    """Fold in which each row is held out, from 0 without gaps; or -1."""
    X = data.float_rows()
    n, needed = data.totals.sum(), _MANY_EACH * len(data.classes) * (X.shape[1] + 1)
    many = n >= max(_MANY_ROWS, needed)
    n_folds = _FEW_FOLDS if many else _N_FOLDS
    fold = assign_folds(X, data.codes, data.weights, n_folds, rng)
    if many and n >= _VERY_MANY_ROWS:
        fold[fold == n_folds - 1] = -1
    numbers = np.unique(fold[fold >= 0])
    return np.where(fold < 0, -1, np.searchsorted(numbers, fold))


def _sharpness(
    data: TrainingData, folds: _Folds, choice: Choice, judges: _Judges
) -> float:
    """Find the power that makes coupled probabilities fit the rows held out."""
    if len(folds.pairs) == 1:
        return 1.0
    coupled = np.ones((len(data.codes), len(data.classes)))
    for rows, scores, (one,) in folds.committees(0, [choice]):
        coupled[rows] = one.probabilities(scores)
    held = judges.rows
    return power_of_probabilities(coupled[held], data.codes[held], judges.weight)


def _row(candidate: Candidate, voting: str, error: float) -> dict[str, Any]:
    """A candidate as a row of the table."""
    return {
        "loss": candidate.loss,
        "bandwidth": candidate.bandwidth,
        "anchor": candidate.anchor,
        "voting": voting,
        "error": error,
    }


def _planes(coef: Array, intercept: Array, error: Array) -> Rules:
    """Rules of which only the votes are wanted."""
    two = np.ones((len(coef), 2))
    n_iter = np.zeros(len(coef), dtype=np.intp)
    return Rules.from_projections(
        coef, intercept, error, n_iter=n_iter, means=two, deviations=two
    )
