"""Choose the width and the transformation by errors on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from heterolda.estimators.calibration import best_temperature, fitted_log_odds
from heterolda.estimators.pair_problem import PairProblem
from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.draws import folds_of
from heterolda.foundations.threads import no_warnings, one_blas_thread
from heterolda.kernels.coupling import Curve, couple
from heterolda.kernels.ordered_scores import linear_scores
from heterolda.search.smoothed import Path, ridge_rules, smoothed_rules
from heterolda.solvers import all_pairs
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.power import PowerTransformation
from heterolda.statistics.rows import Rows
from heterolda.statistics.shrinkage import Shrinkage, chosen_on_rows
from heterolda.statistics.wide import Span, in_coordinates

# Number of folds. There are fewer with this many rows in total and per coefficient,
# as two thirds are then enough to fit rules. With very many rows, the last fold is
# never held out.
_N_FOLDS, _FEW_FOLDS = 5, 3
_MANY_ROWS, _MANY_ROWS_PER_COEFFICIENT, _VERY_MANY_ROWS = 2000, 20, 8000
# Candidates within this many standard errors of the fewest errors are averaged;
# features stay untransformed only if that is better by this many standard errors.
_MAX_SIGMAS = 1.0
_MIN_GAIN = 0.5
_ROUNDING = 1e-12
_ALL = slice(None)

Powers = PowerTransformation | None  # None leaves features as they are


@dataclass(frozen=True)
class Candidates:
    """Candidate rules, and how to fit them."""

    discriminant: Any  # unfitted, for the optimum of Gaussian classes; with priors
    widths: tuple[float, ...]  # a path, decreasing from 1
    n_skipped: int = 0  # widths at the start of the path that are not candidates
    ridges: tuple[float, ...] = ()  # penalties of logistic rules, decreasing

    @property
    def settings(self) -> list[dict[str, Any]]:
        """Return the settings of each candidate."""
        widths = self.widths[self.n_skipped :]
        return [{"width": float(width), "ridge": None} for width in widths] + [
            {"width": None, "ridge": float(ridge)} for ridge in self.ridges
        ]

    def needed(self, chosen: Index) -> Candidates:
        """Return the part of the path that the chosen candidates need."""
        last = self.n_skipped + int(chosen.max()) + 1
        if last > len(self.widths):
            return self
        return replace(self, widths=self.widths[:last], ridges=())

    def problem(
        self, rows: Rows, chosen: Shrinkage | None = None
    ) -> tuple[PairProblem, Rows, Span | None]:
        """Return the problem for the rows, the rows in its coordinates, and their span.

        Shrinkage is chosen on these rows, unless `chosen` is given.
        """
        amount, stats = self.discriminant.shrinkage, ClassStatistics.from_rows(rows)
        inside, span, coordinates = in_coordinates(stats, amount, rows)
        rows = coordinates or rows
        chosen = chosen or chosen_on_rows(amount, inside, rows)
        return PairProblem.of(self.discriminant, stats, chosen, span), rows, span

    def fit(self, rows: Rows, chosen: Shrinkage | None = None) -> Path:
        """Return the rules of all candidates."""
        problem, rows, span = self.problem(rows, chosen)
        optimum, moments = problem.rate(problem.solve()).planes, problem.moments
        path = smoothed_rules(rows, moments, optimum, np.array(self.widths))
        path = Path(*(part[self.n_skipped :] for part in path))
        if self.ridges:
            deviations = np.sqrt(problem.stats.squares.sum(axis=0))
            size = deviations / np.sqrt(rows.totals.sum())
            units = np.where(deviations > 0, size, 1.0)
            ridges = ridge_rules(rows, moments, units, np.array(self.ridges))
            path = Path(*map(np.concatenate, zip(path, ridges, strict=True)))
        if span is None:
            return path
        rules = map(span.rules, path.coef, path.intercept)
        coef, intercept = map(np.array, zip(*rules, strict=True))
        return Path(coef, intercept, path.error)


class Choice(NamedTuple):
    """Choice made on held-out rows."""

    chosen: Index  # candidates whose rules are averaged
    powers: Powers
    errors: Array  # of the candidates on held-out rows, (n_candidates,)
    deviations: Array  # their standard errors
    estimate: float = np.nan  # expected error on new rows
    log_odds: Curve | None = None  # of pairs; None if no row can be held out
    temperature: float = 1.0


def choose(
    rows: Rows, candidates: Candidates, *, transforms: bool, n_jobs: int | None
) -> Choice:
    """Choose among candidates by their errors on held-out rows.

    With `transforms`, power transformations compete with untransformed features; powers
    are estimated without the held-out rows. Shrinkage is chosen on all rows.
    """
    fold_of_row = held_out_folds(rows)
    overall = transformations_of(rows) if transforms else (None, None)
    held = np.flatnonzero(fold_of_row >= 0)
    if not len(held):
        unknown = np.full(len(candidates.settings), np.nan)
        return Choice(np.zeros(1, np.intp), overall[1], unknown, unknown)
    n_folds = int(fold_of_row.max()) + 1
    parts = [rows.take(fold_of_row != f) for f in range(n_folds)]
    transformations: list[tuple[Powers, ...]] = [(None,) * n_folds]
    if transforms:
        transformations = list(zip(*map(transformations_of, parts), strict=True))
        if transformations[0] == transformations[1]:
            transformations.pop()
    with no_warnings(), one_blas_thread():
        amounts = [
            candidates.problem(transformed(rows, overall[k]))[0].chosen
            for k in range(len(transformations))
        ]
        paths = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(candidates.fit)(transformed(part, powers), amount)
            for fold_powers, amount in zip(transformations, amounts, strict=True)
            for part, powers in zip(parts, fold_powers, strict=True)
        )
    out, fold = rows.take(held), fold_of_row[held]
    priors = candidates.discriminant.priors
    cost = (priors * rows.totals.sum() / rows.totals)[out.codes]
    contests = [
        _Contest.of(out, fold, cost, powers, paths[k * n_folds : (k + 1) * n_folds])
        for k, powers in enumerate(transformations)
    ]

    def decide(f: int) -> tuple[int, Index, Mask]:
        """Return the choice made on the other folds, and the errors of its rule."""
        counted = fold != f if (fold != f).any() else fold == f
        chosen = [contest.near_best(counted) for contest in contests]
        both = zip(contests, chosen, strict=True)
        wrong = [contest.wrong(c, counted) for contest, c in both]
        untransformed_wins = contests[0].is_clearly_better(wrong[0], wrong[-1], counted)
        k = 0 if untransformed_wins else len(contests) - 1
        return k, chosen[k], wrong[k]

    # Each fold is predicted with the choice made on the others: the smallest of several
    # errors would be optimistic.
    weight = out.frequencies * cost
    n_wrong = sum(weight[decide(f)[2] & (fold == f)].sum() for f in range(n_folds))
    k, chosen, _ = decide(-1)
    total, each_wrong = weight.sum(), contests[k].each_wrong
    errors, squares = each_wrong @ weight / total, each_wrong @ (weight * cost) / total
    variance = np.maximum(squares - errors**2, 0.0) / out.frequencies.sum()
    estimate, calibration = float(n_wrong / total), contests[k].calibrated(chosen)
    return Choice(chosen, overall[k], errors, np.sqrt(variance), estimate, *calibration)


def transformations_of(rows: Rows) -> tuple[Powers, Powers]:
    """Return transformations of features without powers and with powers.

    Without powers, only outliers are clipped. With no more rows than features that
    vary, there is no transformation.
    """
    if rows.totals.sum() <= _n_varying(rows):
        return None, None
    powers = PowerTransformation.fit(rows.X, rows.codes, rows.weights)
    clipped = powers.without_powers() if powers.has_outliers(rows.X) else None
    return clipped, powers if (powers.lambdas != 1).any() else clipped


def _n_varying(rows: Rows) -> int:
    """Return the number of features that are not constant."""
    return int(np.count_nonzero((rows.X[0] != rows.X).any(axis=0)))


def transformed(rows: Rows, powers: Powers) -> Rows:
    """Return rows with transformed features."""
    return rows if powers is None else replace(rows, X=powers.apply(rows.X))


def held_out_folds(rows: Rows) -> Index:
    """Return the fold of each row, or -1 for rows that are never held out."""
    counts, needed = rows.frequencies, len(rows.classes) * (_n_varying(rows) + 1)
    many = rows.totals.sum() >= max(_MANY_ROWS, _MANY_ROWS_PER_COEFFICIENT * needed)
    n_folds = _FEW_FOLDS if many else _N_FOLDS
    fold = folds_of(rows.codes, n_folds)
    for k, total in enumerate(rows.totals):
        members = rows.codes == k
        parts = np.bincount(fold[members], counts[members], minlength=n_folds)
        if total - parts.max() <= 1:  # too few rows would remain
            fold[members] = -1
    if many and rows.totals.sum() >= _VERY_MANY_ROWS:
        fold[fold == n_folds - 1] = -1
    held = fold >= 0
    fold[held] = np.unique(fold[held], return_inverse=True)[1]  # consecutive
    return fold


@dataclass(frozen=True)
class _Contest:
    """Candidates fitted without each fold, for one transformation."""

    rows: Rows  # held out, and transformed as estimated without their fold
    fold: Index
    cost: Array  # of an error on each row
    paths: list[Path]  # rules of all candidates, by fold

    @classmethod
    def of(
        cls,
        rows: Rows,
        fold: Index,
        cost: Array,
        transformations: tuple[Powers, ...],
        paths: list[Path],
    ) -> _Contest:
        """Transform the rows of each fold."""
        X = np.array(rows.X, np.float64)
        for f, powers in enumerate(transformations):
            if powers is not None:
                X[fold == f] = powers.apply(rows.X[fold == f])
        return cls(replace(rows, X=X), fold, cost, paths)

    @cached_property
    def weight(self) -> Array:
        """Return the weights of the rows, times the costs of errors."""
        counts = self.rows.frequencies
        weight: Array = counts * self.cost
        return weight * float(counts.sum() / weight.sum())

    def scores(self, chosen: Index) -> Array:
        """Return scores of rows by the mean rules of chosen candidates."""
        scores = np.empty((len(self.fold), len(all_pairs(len(self.rows.classes)))))
        for f, path in enumerate(self.paths):
            rows = self.fold == f
            coef, intercept, _ = path.mean(chosen)
            scores[rows] = linear_scores(self.rows.X[rows], coef.T, intercept)
        return scores

    def log_odds(self, scores: Array, counted: Mask | slice = _ALL) -> Curve:
        """Return log-odds fitted to the scores of some rows."""
        codes, weight = self.rows.codes[counted], self.weight[counted]
        pairs = all_pairs(len(self.rows.classes))
        return fitted_log_odds(scores[counted], codes, weight, pairs)

    def wrong(self, chosen: Index, counted: Mask | slice = _ALL) -> Mask:
        """Return a mask of the rows that the mean of chosen candidates gets wrong.

        Log-odds are those of the counted rows.
        """
        scores = self.scores(chosen)
        winners = scores[:, 0] > 0
        if scores.shape[1] > 1:
            winners = couple(scores, self.log_odds(scores, counted)).argmax(axis=1)
        wrong: Mask = winners != self.rows.codes
        return wrong

    @cached_property
    def each_wrong(self) -> Mask:
        """Return the errors of the candidates, (n_candidates, n)."""
        candidates = range(len(self.paths[0].error))
        return np.array([self.wrong(np.array([c])) for c in candidates])

    def near_best(self, counted: Mask) -> Index:
        """Return the candidates within a standard error of the best, on some rows."""
        wrong, cost = self.each_wrong[:, counted], self.cost[counted]
        weight = self.rows.frequencies[counted] * cost
        error = wrong @ weight
        least = error.min() + _ROUNDING * weight.sum()
        best = wrong[np.argmax(error <= least)]  # the first of equally good ones
        deviation = np.sqrt((wrong ^ best) @ (weight * cost))
        return np.flatnonzero(error <= least + _MAX_SIGMAS * deviation)

    def is_clearly_better(self, wrong: Mask, other: Mask, counted: Mask) -> bool:
        """Return whether a rule makes clearly fewer errors than another."""
        wrong, other, cost = wrong[counted], other[counted], self.cost[counted]
        weight = self.rows.frequencies[counted] * cost
        gain = (other.astype(np.float64) - wrong) @ weight
        deviation = np.sqrt((wrong ^ other) @ (weight * cost))
        return bool(gain > _MIN_GAIN * deviation + _ROUNDING * weight.sum())

    def calibrated(self, chosen: Index) -> tuple[Curve, float]:
        """Return the log-odds and the temperature that fit the rows best."""
        scores = self.scores(chosen)
        log_odds = self.log_odds(scores)
        if scores.shape[1] == 1:
            return log_odds, 1.0
        p = couple(scores, log_odds)
        return log_odds, best_temperature(p, self.rows.codes, self.weight)
