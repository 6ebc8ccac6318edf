r"""Fewer rows than features: one covariance for all classes, judged by rows left out.

So few rows separate the classes whatever they are, and covariances of single classes
say next to nothing. All classes get the covariance

.. math::
    P = (1 - r) S_{pooled} + r \operatorname{diag}(S_{pooled}), \qquad
    r = \frac{t d}{f + t d},

with f degrees of freedom and d features that vary. How far it is moved towards its
diagonal, and where the thresholds are, scores of rows that are left out decide: without
the row and its copies, the mean of its class and P change by multiples of the row, so
that all scores follow by the formula of Sherman and Morrison, at O(n) for each row.
(Only the units of the features keep the row, or this would not be so.)

The classes have few rows as long as the pooled covariance has fewer than two degrees of
freedom for each direction in which features vary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from heterolda.foundations.arrays import Array, Index, Mask, dense
from heterolda.foundations.validation import check_priors
from heterolda.solvers import Global, all_pairs
from heterolda.solvers.rules import Rules, Status, bayes_error, best_threshold
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.covariances import pooled_freedom
from heterolda.statistics.rows import Rows
from heterolda.statistics.samples import row_hashes
from heterolda.statistics.shrinkage import Shrinkage, choose_shrinkage, pooled_basis
from heterolda.statistics.wide import Span, in_span
from heterolda.tradeoff.operating_points import Minimax, NeymanPearson

# The candidates t. One is as if there were as many rows with the diagonal as features.
STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
# Least weight of a class whose scores have a variance of their own.
_LEAST = 5.0
# Least deviation of scores, in units of that under the model, which is less than it.
_LEAST_DEVIATION = 0.1
_TINY = float(np.finfo(float).tiny)
_ROUNDING = 1e-9
# Distance of means, in deviations, where rows that are left out show none.
_NO_DISTANCE = 0.05


@dataclass(frozen=True)
class LeftOutScores:
    """Scores of left-out rows of both classes of pairs, in units of their deviations.

    They move thresholds to where they are told apart best.

    Attributes
    ----------
    means, deviations : ndarray of shape (n_pairs, 2)
        Of the scores of the first and the second class, positive ones for the second.
        Zero is midway between the means without the row.
    judged : ndarray of bool of shape (n_pairs,)
        Pairs of classes that both have a row to leave out, and others besides.
    solver : object, default=None
        That of the pairs: `Minimax` and `NeymanPearson` want other thresholds.
    """

    means: Array
    deviations: Array
    judged: Mask
    solver: Any = None

    def for_solver(self, solver: Any) -> LeftOutScores | None:
        """The scores for rules of a solver, if its thresholds are to be moved."""
        moved = isinstance(solver, Global | Minimax | NeymanPearson)
        return replace(self, solver=solver) if moved else None

    def rules(self, priors: Array) -> tuple[Array, Array, Array]:
        """Thresholds t of the criterion, deviations that they are for, and errors.

        They are those of least error (39), of equal error rates, or where one error
        rate is the bound.
        """
        p1, p2 = priors.T
        log_tau = np.log(p2) - np.log(p1)
        distance = np.maximum(np.diff(self.means)[:, 0], _NO_DISTANCE)
        pooled = np.sqrt((self.deviations**2).mean(axis=1))
        known = np.array([self.deviations, np.column_stack([pooled, pooled])])
        first, second = known[:, :, 0], known[:, :, 1]
        t = best_threshold(distance, first, second, log_tau)
        error = bayes_error(t, distance, first, second, p1, p2)
        # With unequal deviations there may be no threshold better than none at all.
        own = error[0] < np.minimum(p1, p2)
        deviations = np.where(own[:, None], *known)
        t, error = np.where(own, t, t[::-1])[0], np.where(own, error, error[::-1])[0]
        if isinstance(self.solver, Minimax | NeymanPearson):
            deviations, (first, second) = self.deviations, self.deviations.T
            if isinstance(self.solver, Minimax):
                t = distance * second / (first + second)
            else:
                t = -ndtri(self.solver.q) * self.deviations[:, self.solver.k]
                t = distance - t if self.solver.k == 0 else t
            error = bayes_error(t, distance, first, second, p1, p2)
        return t, deviations, error

    def moved(self, planes: Rules, priors: Array) -> Rules:
        """Return the rules of the pairs with other thresholds."""
        known = (planes.status != Status.SEPARABLE) & ~planes.trivial
        moved = known & self.judged
        # Of a class of one row nothing is known: no rule has been seen to be better
        # than always choosing the likelier class.
        blind = known & ~self.judged
        error = np.where(blind, priors.min(axis=1), planes.error)
        gap = np.where(blind, np.nan, planes.gap)
        planes = replace(planes, error=error, gap=gap)
        t, deviations, error = self.rules(priors)
        unit = planes.deviations[:, :1]
        distance = np.maximum(np.diff(self.means)[:, 0], _NO_DISTANCE)
        # Means of the score from the threshold: t below that of the second class.
        means = unit * np.column_stack([t - distance, t])
        cut = self.means.mean(axis=1) + distance / 2 - t
        intercept = planes.intercept - planes.means.mean(axis=1) - unit[:, 0] * cut
        found = replace(
            planes,
            intercept=intercept,
            means=means,
            deviations=unit * deviations,
            error=error,
            gap=np.full(len(error), np.nan),
        )
        return planes.replaced(np.flatnonzero(moved), found.take(moved))


class Choice(NamedTuple):
    """What rows have chosen for a discriminant.

    Attributes
    ----------
    shrinkage : Shrinkage or None
        The amounts; None are those of the parameter.
    scores : LeftOutScores or None
        What moves the thresholds, if rows are few.
    span : Span or None
        The space of the rows, if the statistics have factors.
    guarded : ndarray of bool or None
        Pairs that are to have Fisher's rule.
    """

    shrinkage: Shrinkage | None = None
    scores: LeftOutScores | None = None
    span: Span | None = None
    guarded: Mask | None = None


NO_CHOICE = Choice()


def has_few_rows(model: Any) -> bool:
    """Whether a discriminant was fitted to few rows, or to fewer than features.

    Then units, target and amount of shrinkage all depend on the row that is left out.
    """
    chosen = model._settings["shrinkage"] is None and model.shrinkage_ is not None
    return chosen or model.statistics_.factors is not None


def choose_by_rows(model: Any, statistics: ClassStatistics, rows: Rows) -> Choice:
    """What the rows of the statistics, all of them, say of the shrinkage of a model.

    They are asked by "cv", and by default if they are few.
    """
    if statistics.estimated_by is not None and _are_all(rows, statistics):
        statistics = ClassStatistics.from_rows(rows)
    known, span = in_span(statistics, model.shrinkage)
    freedom = pooled_freedom(known.weights)
    few = (
        model.shrinkage is None
        and 0 < freedom < 2 * statistics.n_features
        and freedom < 2 * known.rank
        and _are_all(rows, statistics)
    )
    if not (few or model.shrinkage == "cv") or statistics.n_classes < 2:
        return Choice(span=span)
    known.covariances()  # says what is wrong with too small classes
    X = rows.X if span is None else span.coordinates(rows.X)
    if not few:
        return Choice(choose_shrinkage(replace(rows, X=X), known), None, span)
    priors = check_priors(model.priors, statistics.classes, statistics.weights)
    first, weight = _merged(copies_of(rows.X, rows.codes), rows.frequencies)
    X = dense(X[first]).astype(np.float64, copy=False)
    codes = rows.codes[first]
    return choose_few(priors, known, X, codes, weight)._replace(span=span)


def _are_all(rows: Rows, statistics: ClassStatistics) -> bool:
    """Return whether statistics are of these rows, and of no more."""
    return bool(np.isclose(rows.total, statistics.weights.sum()))


def copies_of(X: Any, codes: Index) -> Index:
    """For each row a number that it shares with its copies in the same class."""
    hashes = row_hashes(X)
    order = np.lexsort((hashes, codes))
    new = (np.diff(hashes[order]) != 0) | (np.diff(codes[order]) != 0)
    numbers = np.empty(len(codes), np.intp)
    numbers[order] = np.append(0, np.cumsum(new))[: len(codes)]
    return numbers


def _merged(numbers: Index, weight: Array) -> tuple[Index, Array]:
    """Places of one row of each number, and their weights together, if not zero."""
    _, first = np.unique(numbers, return_index=True)
    total = np.bincount(numbers, weight).astype(np.float64)
    return first[total > 0], total[total > 0]


def choose_few(
    priors: Array,
    statistics: ClassStatistics,
    X: Array,
    codes: Index,
    weight: Array,
) -> Choice:
    """One covariance for all classes, and the scores of rows that are left out of it.

    The amount is chosen that has the least mean error (9) of the pairs of classes, if
    the scores of left-out rows are Gaussian.
    """
    pairs = all_pairs(statistics.n_classes)
    shares = priors[pairs] / priors[pairs].sum(axis=1, keepdims=True)
    rows = _Rows.of(X, codes, weight, statistics)
    candidates = []
    for strength in STRENGTHS:
        part = strength * statistics.rank
        amount = part / (rows.freedom + part)
        scores = rows.scores(amount, pairs)
        if not scores.judged.any():  # nothing to choose by
            amount = statistics.rank / (rows.freedom + statistics.rank)
            return Choice(Shrinkage(np.ones(statistics.n_classes), amount), scores)
        error = scores.rules(shares)[2][scores.judged].sum()
        candidates.append((error, amount, scores))
    _, amount, scores = min(candidates, key=lambda candidate: candidate[0])
    return Choice(Shrinkage(np.ones(statistics.n_classes), amount), scores)


@dataclass(frozen=True)
class _Rows:
    """Rows of classes, in coordinates in which the pooled covariance is diagonal.

    Attributes
    ----------
    deviations : ndarray of shape (n, r)
        Rows less the means of their classes.
    codes : ndarray of shape (n,)
        Their classes.
    weight : ndarray of shape (n,)
        Their weights, which are left out as a whole.
    means : ndarray of shape (n_classes, r)
        Means of the classes.
    totals : ndarray of shape (n_classes,)
        Weights of the classes.
    spectrum : ndarray of shape (r,)
        Variances of the pooled covariance.
    """

    deviations: Array
    codes: Index
    weight: Array
    means: Array
    totals: Array
    spectrum: Array

    @classmethod
    def of(
        cls, X: Array, codes: Index, weight: Array, statistics: ClassStatistics
    ) -> _Rows:
        """The rows of statistics, in the same coordinates as these."""
        basis, spectrum = pooled_basis(statistics)
        # Without the only row of a class, or of all freedom, there is no rule.
        rest = np.minimum(statistics.weights[codes], pooled_freedom(statistics.weights))
        used = weight < (1 - _ROUNDING) * rest
        X, codes, weight = X[used], codes[used], weight[used]
        means = statistics.means - statistics.means.mean(axis=0)
        return cls(
            (X - statistics.means[codes]) @ basis,
            codes,
            weight,
            means @ basis,
            statistics.weights,
            spectrum,
        )

    @cached_property
    def freedom(self) -> float:
        """Degrees of freedom of the pooled covariance."""
        return pooled_freedom(self.totals)

    def scores(self, amount: float, pairs: Index) -> LeftOutScores:
        """Moments of the scores of left-out rows, for each of some pairs."""
        scores = self._scores(amount)
        means, sums = np.zeros(pairs.shape), np.zeros(pairs.shape)
        for p, pair in enumerate(pairs):
            for place, k in enumerate(pair):
                mine = self.codes == k
                score = (2 * place - 1) * scores[mine, pair[1 - place]]
                w = self.weight[mine]
                means[p, place] = w @ score / self.totals[k]
                sums[p, place] = w @ (score - means[p, place]) ** 2
        counts = np.bincount(self.codes, minlength=len(self.totals))[pairs]
        freedom = np.maximum(self.totals[pairs] - 1, _TINY)
        enough = (np.minimum(self.totals[pairs], counts) >= _LEAST).all(axis=1)
        both = np.broadcast_to(sums.sum(axis=1) / freedom.sum(axis=1), (2, len(pairs)))
        squares = np.where(np.atleast_1d(enough)[:, None], sums / freedom, both.T)
        deviations = np.maximum(np.sqrt(squares), _LEAST_DEVIATION)
        judged: Mask = np.logical_and(*(counts > 0).T) & (counts.sum(axis=1) > 2)
        return LeftOutScores(means, deviations, judged)

    def _scores(self, amount: float) -> Array:
        """Scores of rows against all classes by rules without them, (n, n_classes).

        They are positive for their own class, in units of their deviation.
        """
        scores = np.empty((len(self.codes), len(self.totals)))
        for left in np.unique(self.weight):
            some = np.flatnonzero(self.weight == left)
            scores[some] = self._scores_of(some, left, amount)
        return scores

    def _scores_of(self, some: Index, left: float, amount: float) -> Array:
        """Those of some rows of one weight."""
        z, codes = self.deviations[some], self.codes[some]
        total, freedom = self.totals[codes], self.freedom - left
        base = (1 - amount) * self.spectrum * self.freedom / freedom + amount
        # Without the row u from the mean, the covariance is base - taken u u', and the
        # mean of the class m - moved u.
        moved = (left / (total - left))[:, None]
        taken = (1 - amount) * total[:, None] * moved / freedom
        u = z / base
        uu = np.einsum("ij,ij->i", u, z)[:, None]
        inner = self.means / base @ self.means.T
        um = u @ self.means.T
        # Products in the inverse base: u with d, the difference of means; d with d.
        ud = um[np.arange(len(um)), codes][:, None] - um
        square = np.diag(inner)
        dd = square[codes][:, None] - 2 * inner[codes] + square
        # v = d - moved u is the difference without the row, and x = u + (d + moved u)/2
        # is the row from midway. Sherman and Morrison give their products.
        uv, vv = ud - moved * uu, dd - 2 * moved * ud + moved**2 * uu
        xv = uv + (dd - moved**2 * uu) / 2
        ux = uu * (1 + moved / 2) + ud / 2
        factor = taken / (1 - taken * uu)
        size = np.sqrt(np.maximum(vv + factor * uv**2, _TINY))
        scores: Array = (xv + factor * uv * ux) / size
        return scores
