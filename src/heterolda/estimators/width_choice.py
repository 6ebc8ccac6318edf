"""Choose the width and the transformation by errors on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from heterolda.estimators.calibration import Sides
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.held_out import deal
from heterolda.estimators.pair_problem import PairProblem
from heterolda.estimators.posterior import SidedLogOdds
from heterolda.estimators.temperature import best_temperature
from heterolda.estimators.votes import swap_largest_to_winner, vote_weights
from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.threads import no_warnings, one_blas_thread
from heterolda.kernels.coupling import couple
from heterolda.kernels.ordered_scores import linear_scores
from heterolda.kernels.votes import count_votes, winners_of_votes
from heterolda.search.smoothed import Path, ridge_rules, smoothed_rules
from heterolda.solvers import all_pairs
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.power import PowerTransformation
from heterolda.statistics.rows import Rows
from heterolda.statistics.shrinkage import Shrinkage, chosen_by_rows
from heterolda.statistics.wide import in_coordinates

# Number of folds: the smaller one with this many rows in all and per coefficient, where
# rules hardly miss a third of the rows. With very many rows, the last fold is never
# held out.
_N_FOLDS, _FEW_FOLDS = 5, 3
_MANY_ROWS, _MANY_EACH, _VERY_MANY_ROWS = 2000, 20, 8000
# The rules of candidates within this many standard errors of the fewest errors are
# averaged; features stay as they are only if that saves errors by more than this many.
_NEAR = 1.0
_CLEARLY_FEWER = 0.5
# Least temperature, and weight of a row of any class that is added to those held out.
_LEAST_TEMPERATURE = 0.1
_WRONG = 0.5

Shape = PowerTransformation | None


@dataclass(frozen=True)
class Candidates:
    """Candidates, and how they are fitted.

    Attributes
    ----------
    widths : tuple of float
        A path of widths, decreasing from 1.
    ridges : tuple of float
        Penalties of logistic rules, in decreasing order.
    shrinkage : object
        Shrinkage parameter of the covariances.
    priors : ndarray of shape (n_classes,)
        Class priors.
    n_skipped : int
        Number of widths at the start of the path that are no candidates.
    """

    widths: tuple[float, ...]
    ridges: tuple[float, ...]
    shrinkage: Any
    priors: Array
    n_skipped: int = 0

    @property
    def names(self) -> list[dict[str, float | None]]:
        """Settings of each candidate."""
        widths = self.widths[self.n_skipped :]
        return [{"width": float(width), "ridge": None} for width in widths] + [
            {"width": None, "ridge": float(ridge)} for ridge in self.ridges
        ]

    def needed(self, chosen: Index) -> Candidates:
        """Return the part of the path that the chosen candidates need."""
        n_widths = len(self.widths) - self.n_skipped
        if chosen.max() >= n_widths:
            return self
        last = self.n_skipped + int(chosen.max()) + 1
        return replace(self, widths=self.widths[:last], ridges=())

    def discriminant(self) -> Any:
        """Return the unfitted estimator of the optimum for Gaussian classes."""
        make: Any = GaussianLinearDiscriminant
        return make(shrinkage=self.shrinkage, priors=self.priors, guard=False)

    def amounts(self, rows: Rows) -> Shrinkage | None:
        """Return the shrinkage that rows choose; None if the parameter gives it."""
        stats = ClassStatistics.from_rows(rows)
        inside, _, inside_rows = in_coordinates(stats, self.shrinkage, rows)
        return chosen_by_rows(self.shrinkage, inside, inside_rows or rows)

    def fit(self, rows: Rows, chosen: Shrinkage | None = None) -> Path:
        """Fit the rules of all candidates.

        If the rows should choose the shrinkage, and it is not given, they do so.
        """
        stats = ClassStatistics.from_rows(rows)
        inside, span, inside_rows = in_coordinates(stats, self.shrinkage, rows)
        rows = inside_rows or rows
        chosen = chosen or chosen_by_rows(self.shrinkage, inside, rows)
        problem = PairProblem.of(self.discriminant(), inside, chosen)
        optimum = problem.rate(problem.solve()).planes
        path = smoothed_rules(rows, problem.moments, optimum, np.array(self.widths))
        path = path.without(self.n_skipped)
        if self.ridges:
            deviations = np.sqrt(inside.squares.sum(axis=0))
            units = np.where(
                deviations > 0, deviations / np.sqrt(rows.totals.sum()), 1.0
            )
            ridges = ridge_rules(rows, problem.moments, units, np.array(self.ridges))
            path = Path.joined(path, ridges)
        if span is None:
            return path
        rules = [
            span.rules(*one) for one in zip(path.coef, path.intercept, strict=True)
        ]
        coef, intercept = map(np.array, zip(*rules, strict=True))
        return replace(path, coef=coef, intercept=intercept)


@dataclass(frozen=True)
class Choice:
    """The choice made by held-out rows.

    Attributes
    ----------
    chosen : ndarray of int
        Candidates whose rules are averaged.
    shape : PowerTransformation or None
        Transformation of the features.
    amount : Shrinkage or None
        Shrinkage that all transformed rows chose; None if the parameter gives it.
    errors, deviations : ndarray of shape (n_candidates,)
        Errors of the candidates on held-out rows, and their standard errors.
    estimate : float
        Expected error on new rows.
    log_odds : SidedLogOdds or None
        Log-odds of the pairs as functions of the scores; None if no row can be held
        out.
    temperature : float
        Number by which the logarithms of coupled probabilities are divided.
    """

    chosen: Index
    shape: Shape
    amount: Shrinkage | None
    errors: Array
    deviations: Array
    estimate: float
    log_odds: SidedLogOdds | None
    temperature: float

    def table(self, candidates: Candidates) -> list[dict[str, float | None]]:
        """Return the candidates with their errors and their weights in the mean."""
        weights = np.bincount(self.chosen, minlength=len(self.errors)) / len(
            self.chosen
        )
        columns = {
            "error": self.errors,
            "standard_error": self.deviations,
            "weight": weights,
        }
        return [
            name | {key: float(column[k]) for key, column in columns.items()}
            for k, name in enumerate(candidates.names)
        ]


def choose(
    rows: Rows, candidates: Candidates, *, transforms: bool, n_jobs: int | None
) -> Choice:
    """Choose among candidates by their errors on held-out rows.

    With `transforms`, power transformations compete with features as they are; powers
    are found without the held-out rows. The amount of shrinkage is that of all rows.
    """
    held = _Held.of(rows, candidates.priors)
    whole = shapes_of(rows) if transforms else (None, None)
    if not len(held.rows):
        empty = np.full(len(candidates.names), np.nan)
        first = np.zeros(1, np.intp)
        return Choice(first, whole[1], None, empty, empty, np.nan, None, 1.0)
    parts = [rows.take(held.fold_of_all != f) for f in range(held.n_folds)]
    shapes: list[tuple[Shape, ...]] = [(None,) * held.n_folds]
    if transforms:
        shapes = list(zip(*map(shapes_of, parts), strict=True))
        if shapes[0] == shapes[1]:
            shapes.pop()
    with no_warnings(), one_blas_thread():
        amounts = [
            candidates.amounts(transformed(rows, whole[k])) for k in range(len(shapes))
        ]
        paths = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(candidates.fit)(transformed(part, one), amount)
            for shape, amount in zip(shapes, amounts, strict=True)
            for part, one in zip(parts, shape, strict=True)
        )
    contests = [
        _Contest.of(rows, held, shape, paths[k * len(parts) : (k + 1) * len(parts)])
        for k, shape in enumerate(shapes)
    ]
    return _decide(
        contests, held, list(zip(whole[: len(shapes)], amounts, strict=True))
    )


def shapes_of(rows: Rows) -> tuple[Shape, Shape]:
    """Return transformations of features without powers and with powers.

    None leaves features as they are. Without powers, only outliers are moved closer.
    With no more rows than features, there is no transformation.
    """
    if rows.totals.sum() <= rows.X.shape[1]:
        return None, None
    powers = PowerTransformation.fit(rows.X, rows.codes, rows.weights)
    plain = powers.without_powers() if powers.has_outliers(rows.X) else None
    return plain, powers if (powers.lambdas != 1).any() else plain


def transformed(rows: Rows, shape: Shape) -> Rows:
    """Return rows with transformed features."""
    return rows if shape is None else replace(rows, X=shape.apply(rows.X))


@dataclass(frozen=True)
class _Held:
    """Held-out rows.

    Attributes
    ----------
    fold_of_all : ndarray of shape (n,)
        Fold in which each row is held out, or -1.
    rows : ndarray of int of shape (n_held,)
        Indices of the held-out rows.
    codes, fold, counts, costs : ndarray of shape (n_held,)
        Their classes, folds, frequencies, and costs of an error.
    """

    fold_of_all: Index
    rows: Index
    codes: Index
    fold: Index
    counts: Array
    costs: Array

    @classmethod
    def of(cls, rows: Rows, priors: Array) -> _Held:
        """Assign rows to folds; rows of very small classes are never held out."""
        counts, needed = rows.frequencies, len(rows.classes) * (rows.X.shape[1] + 1)
        many = rows.totals.sum() >= max(_MANY_ROWS, _MANY_EACH * needed)
        n_folds = _FEW_FOLDS if many else _N_FOLDS
        fold = deal(rows.X, rows.codes, counts, n_folds)
        for k, total in enumerate(rows.totals):
            own = rows.codes == k
            parts = np.bincount(fold[own], counts[own], minlength=n_folds)
            if total - parts.max() <= 1:
                fold[own] = -1
        if many and rows.totals.sum() >= _VERY_MANY_ROWS:
            fold[fold == n_folds - 1] = -1
        held = np.flatnonzero(fold >= 0)
        numbers = np.unique(fold[held])  # consecutive
        fold[held] = np.searchsorted(numbers, fold[held])
        costs = priors * rows.totals.sum() / rows.totals
        codes = rows.codes[held]
        return cls(fold, held, codes, fold[held], counts[held], costs[codes])

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max()) + 1

    @property
    def weight(self) -> Array:
        """Cost of an error at each row, times its frequency."""
        return self.counts * self.costs

    def but(self, f: int) -> Mask:
        """Return rows outside fold f; all if there are none, or if f is -1."""
        others: Mask = self.fold != f
        return others if others.any() else ~others

    def near_best(self, wrong: Mask, counted: Mask) -> Index:
        """Return the candidates within a standard error of the best.

        `wrong` has the errors of each candidate; only the rows in `counted` count.
        """
        wrong, weight = wrong[:, counted], self.weight[counted]
        error = wrong @ weight
        best = wrong[np.argmin(error)]
        deviation = np.sqrt((wrong ^ best) @ (weight * self.costs[counted]))
        limit = error.min() + _NEAR * deviation + 1e-12 * weight.sum()
        return np.flatnonzero(error <= limit)

    def has_fewer(self, one: Mask, other: Mask, counted: Mask) -> bool:
        """Return whether one rule makes clearly fewer errors than another."""
        one, other, weight = one[counted], other[counted], self.weight[counted]
        gain = (other.astype(np.float64) - one) @ weight
        deviation = np.sqrt((one ^ other) @ (weight * self.costs[counted]))
        return bool(gain > _CLEARLY_FEWER * deviation + 1e-12 * weight.sum())


@dataclass(frozen=True)
class _Contest:
    """Candidates fitted without each fold, for one transformation.

    Attributes
    ----------
    held : _Held
        The held-out rows.
    X : list of ndarray
        Their transformed features, by fold.
    paths : list of Path
        Rules of all candidates, by fold.
    n_classes : int
        Number of classes.
    wrong : ndarray of bool of shape (n_candidates, n_held)
        Errors of the candidates.
    means : dict
        Errors of averaged rules, by the candidates averaged.
    """

    held: _Held
    X: list[Array]
    paths: list[Path]
    n_classes: int
    wrong: Mask
    means: dict[tuple[int, ...], Mask] = field(default_factory=dict)

    @classmethod
    def of(
        cls, rows: Rows, held: _Held, shape: tuple[Shape, ...], paths: list[Path]
    ) -> _Contest:
        """Predict the held-out rows by all candidates."""
        parts = [rows.take(held.rows[held.fold == f]) for f in range(held.n_folds)]
        X = [transformed(*one).X for one in zip(parts, shape, strict=True)]
        k, wrong = (
            len(rows.classes),
            np.zeros((len(paths[0].error), len(held.rows)), bool),
        )
        for f, (x, path) in enumerate(zip(X, paths, strict=True)):
            n, n_pairs, d = path.coef.shape
            normals = path.coef.reshape(-1, d).T
            scores = linear_scores(x, normals, path.intercept.ravel())
            scores = scores.reshape(len(x), n, n_pairs)
            mask = held.fold == f
            for c in range(n):
                winners = _winners(scores[:, c], path.error[c], k)
                wrong[c, mask] = winners != held.codes[mask]
        return cls(held, X, paths, k, wrong)

    def scored(self, chosen: Index, f: int) -> tuple[Array, Array]:
        """Return scores of a fold's rows by averaged rules, and errors of the rules."""
        coef, intercept, error = self.paths[f].mean(chosen)
        return linear_scores(self.X[f], coef.T, intercept), error

    def errors_of(self, chosen: Index) -> Mask:
        """Return the rows that the average of the chosen candidates gets wrong."""
        key = tuple(chosen.tolist())
        if key not in self.means:
            wrong = np.zeros(len(self.held.rows), bool)
            for f in range(self.held.n_folds):
                rows = self.held.fold == f
                winners = _winners(*self.scored(chosen, f), self.n_classes)
                wrong[rows] = winners != self.held.codes[rows]
            self.means[key] = wrong
        return self.means[key]

    def winner(self, f: int) -> tuple[Index, Mask]:
        """Return the candidates chosen without fold f, and the errors of their mean."""
        chosen = self.held.near_best(self.wrong, self.held.but(f))
        return chosen, self.errors_of(chosen)

    def calibrated(self, chosen: Index) -> tuple[SidedLogOdds, float]:
        """Return the log-odds and temperature that fit the held-out rows best."""
        held, folds = self.held, range(self.held.n_folds)
        order = np.concatenate([np.flatnonzero(held.fold == f) for f in folds])
        parts = [self.scored(chosen, f) for f in folds]
        scores = np.concatenate([part for part, _ in parts])
        codes, weight = held.codes[order], held.weight[order]
        weight = weight * (held.counts.sum() / weight.sum())
        sides, pairs = [], all_pairs(self.n_classes)
        for pair, (i, j) in enumerate(pairs):
            two = np.flatnonzero((codes == i) | (codes == j))
            sides.append(Sides.of(scores[two, pair], codes[two] == j, weight[two]))
        log_odds = Sides.stacked(sides).log_odds()
        if self.n_classes == 2:
            return log_odds, 1.0
        curve, coupled = log_odds.curve, []
        for part, error in parts:
            winners = _winners(part, error, self.n_classes)
            coupled.append(swap_largest_to_winner(couple(part, curve), winners))
        doubt = _WRONG / (weight.sum() + _WRONG)
        given = np.concatenate(coupled), codes, weight, _LEAST_TEMPERATURE, doubt
        return log_odds, best_temperature(*given)


def _decide(
    contests: list[_Contest],
    held: _Held,
    whole: list[tuple[Shape, Shrinkage | None]],
) -> Choice:
    """Return the choice of the held-out rows, and its expected error.

    `whole` has the transformations and shrinkage of all rows, without and with powers.
    Each fold is predicted by what the other folds choose: the smallest of several
    errors would be optimistic.
    """

    def decide(f: int) -> tuple[int, Index, Mask]:
        winners = [contest.winner(f) for contest in contests]
        plain, best = winners[0][1], winners[-1][1]
        last = 0 if held.has_fewer(plain, best, held.but(f)) else len(contests) - 1
        return last, *winners[last]

    lost = sum(
        float(decide(f)[2][rows] @ held.weight[rows])
        for f in range(held.n_folds)
        for rows in [held.fold == f]
    )
    shape, chosen, _ = decide(-1)
    contest, total = contests[shape], held.weight.sum()
    errors = contest.wrong @ held.weight / total
    squares = contest.wrong @ (held.weight * held.costs) / total
    deviations = np.sqrt(np.maximum(squares - errors**2, 0.0) / held.counts.sum())
    log_odds, temperature = contest.calibrated(chosen)
    return Choice(
        chosen=chosen,
        shape=whole[shape][0],
        amount=whole[shape][1],
        errors=errors,
        deviations=deviations,
        estimate=float(lost / total),
        log_odds=log_odds,
        temperature=temperature,
    )


def _winners(scores: Array, error: Array, n_classes: int) -> Index:
    """Return the winners of weighted votes, given the errors of the rules."""
    if n_classes == 2:
        return (scores[:, 0] > 0).astype(np.intp)
    weights = vote_weights(error, n_classes, "weighted")
    winners: Index = winners_of_votes(count_votes(scores, weights), scores)
    return winners
