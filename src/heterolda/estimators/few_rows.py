r"""Fewer rows than features: one covariance for all classes, judged by rows left out.

So few rows separate the classes whatever they are, and covariances of single classes
say next to nothing. All classes get the covariance

.. math::
    P = (1 - r) S_{pooled} + r \operatorname{diag}(S_{pooled}), \qquad
    r = \frac{t d}{f + t d},

with f degrees of freedom and d features that vary. How far it is moved towards its
diagonal, and where the thresholds are, scores of rows that are left out decide: without
the row, the mean of its class and P change by multiples of the row, so that all scores
follow by the formula of Sherman and Morrison, at O(n) for each row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from heterolda.foundations.priors import check_priors
from heterolda.foundations.sparse_rows import dense
from heterolda.foundations.types import Array, Index, Mask
from heterolda.foundations.validation import encode
from heterolda.solvers import PairMoments, all_pairs
from heterolda.solvers.hyperplanes import Hyperplanes, Status
from heterolda.solvers.threshold import bayes_error, best_threshold
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.moments import pooled_freedom
from heterolda.statistics.row_sample import ClassRows
from heterolda.statistics.shrinkage import Shrinkage, choose_shrinkage, pooled_basis
from heterolda.statistics.span import Span

# The candidates t. One is as if there were as many rows with the diagonal as features.
STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
# Least weight of a class whose scores have a variance of their own.
_LEAST = 5.0
# Least deviation of scores, in units of that under the model, which is less than it.
_LEAST_DEVIATION = 0.1
_TINY = float(np.finfo(float).tiny)
# Distance of means, in deviations, where rows that are left out show none.
_NO_DISTANCE = 0.05


@dataclass(frozen=True)
class LeftOutScores:
    """Scores of left-out rows of both classes of pairs, in units of their deviations.

    As a review of solved pairs, it moves their thresholds to where these scores are
    told apart best.

    Attributes
    ----------
    means, deviations : ndarray of shape (n_pairs, 2)
        Of the scores of the first and the second class, positive ones for the second.
        Zero is midway between the means without the row.
    judged : ndarray of bool of shape (n_pairs,)
        Pairs of classes that have rows enough to move a threshold.
    """

    means: Array
    deviations: Array
    judged: Mask

    def rules(self, priors: Array) -> tuple[Array, Array, Array]:
        """Thresholds of least error (39), deviations that they are for, and errors."""
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
        t, error = np.where(own, t, t[::-1])[0], np.where(own, error, error[::-1])[0]
        return t, np.where(own[:, None], *known), error

    def __call__(
        self, moments: PairMoments, planes: Hyperplanes, at: slice
    ) -> Hyperplanes:
        """The rules of a batch of pairs with other thresholds."""
        here = LeftOutScores(self.means[at], self.deviations[at], self.judged[at])
        moved = here.judged & (planes.status != Status.SEPARABLE) & ~planes.trivial
        if not moved.any():
            return planes
        t, deviations, error = here.rules(moments.priors)
        unit = planes.deviations[:, :1]
        distance = np.maximum(np.diff(here.means)[:, 0], _NO_DISTANCE)
        # Means of the score from the threshold: t below that of the second class.
        means = unit * np.column_stack([t - distance, t])
        cut = here.means.mean(axis=1) + distance / 2 - t
        intercept = planes.intercept - planes.means.mean(axis=1) - unit[:, 0] * cut
        found = replace(
            planes,
            intercept=intercept,
            means=means,
            deviations=unit * deviations,
            error=error,
            gap=np.full(len(error), np.nan),
        )
        return Hyperplanes.where(moved, found, planes)


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
    """

    shrinkage: Shrinkage | None = None
    scores: LeftOutScores | None = None
    span: Span | None = None


NO_CHOICE = Choice()


def has_few_rows(model: Any) -> bool:
    """Whether a discriminant was fitted to fewer rows than features.

    Then units, target and amount of shrinkage all depend on the row that is left out.
    """
    chosen = model._settings["shrinkage"] is None and model.shrinkage_ is not None
    return chosen or model.statistics_.factors is not None


def choose_by_rows(model: Any, statistics: ClassStatistics, rows: ClassRows) -> Choice:
    """What the rows of the statistics, all of them, say of the shrinkage of a model.

    They are asked by "cv", and by default if there are fewer of them than features.
    """
    few = model.shrinkage is None and rows.are_few and rows.are_all_of(statistics)
    if not (few or model.shrinkage == "cv") or statistics.n_classes < 2:
        return NO_CHOICE
    span = None if statistics.factors is None else Span.of(statistics)
    known = statistics if span is None else span.statistics
    known.covariances()  # says what is wrong with too small classes
    X = rows.X if span is None else span.coordinates(rows.X)
    if not few:
        return Choice(choose_shrinkage(X, rows.y, rows.weight, known), None, span)
    priors = check_priors(model.priors, statistics.classes, statistics.weights)
    codes = encode(rows.y, statistics.classes)
    X = dense(X).astype(np.float64, copy=False)
    return choose_few(priors, known, X, codes, rows.weight)._replace(span=span)


def choose_few(
    priors: Array,
    statistics: ClassStatistics,
    X: Array,
    codes: Index,
    weight: Array | None,
) -> Choice:
    """One covariance for all classes, and the scores of rows that are left out of it.

    The amount is chosen that has the least mean error (9) of the pairs of classes, if
    the scores of left-out rows are Gaussian.
    """
    pairs = all_pairs(statistics.n_classes)
    shares = priors[pairs] / priors[pairs].sum(axis=1, keepdims=True)
    rows = _Rows.of(X, codes, weight, statistics)
    # Classes of one row have none to leave out.
    told = (statistics.weights > 1)[pairs].all(axis=1)
    candidates = []
    for strength in STRENGTHS if told.any() else (1.0,):
        part = strength * statistics.rank
        amount = part / (rows.freedom + part)
        scores = rows.scores(amount, pairs)
        errors = scores.rules(shares)[2]
        candidates.append((errors[told].sum(), amount, scores))
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
    weight, left : ndarray of shape (n,)
        Their weights, and how much of that is left out: one copy at most.
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
    left: Array
    means: Array
    totals: Array
    spectrum: Array

    @classmethod
    def of(
        cls, X: Array, codes: Index, weight: Array | None, statistics: ClassStatistics
    ) -> _Rows:
        """The rows of statistics, in the same coordinates as these."""
        basis, spectrum = pooled_basis(statistics)
        weight = np.ones(len(codes)) if weight is None else weight
        # What is left of a class without its only row has no mean.
        used = (weight > 0) & (statistics.weights[codes] > 1)
        X, codes, weight = X[used], codes[used], weight[used]
        means = statistics.means - statistics.means.mean(axis=0)
        return cls(
            (X - statistics.means[codes]) @ basis,
            codes,
            weight,
            np.minimum(weight, 1.0),
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
        freedom = np.maximum(self.totals[pairs] - 1, 0.0)
        enough: Mask = np.logical_and(*(self.totals[pairs] >= _LEAST).T)
        both = np.maximum(freedom.sum(axis=1, keepdims=True), _TINY)
        squares = np.where(
            enough[:, None],
            sums / np.maximum(freedom, _TINY),
            sums.sum(axis=1, keepdims=True) / both,
        )
        deviations = np.maximum(np.sqrt(squares), _LEAST_DEVIATION)
        return LeftOutScores(means, deviations, enough)

    def _scores(self, amount: float) -> Array:
        """Scores of rows against all classes by rules without them, (n, n_classes).

        They are positive for their own class, in units of their deviation.
        """
        total = self.totals[self.codes]
        left = float(np.average(self.left, weights=self.weight))
        freedom = self.freedom - left
        base = (1 - amount) * self.spectrum * self.freedom / freedom + amount
        # Without the row u from the mean, the covariance is base - taken u u', and the
        # mean of the class m - moved u.
        taken = (1 - amount) * self.left * total / (total - self.left) / freedom
        moved = (self.left / (total - self.left))[:, None]
        u = self.deviations / base
        uu = np.einsum("ij,ij->i", u, self.deviations)[:, None]
        inner = self.means / base @ self.means.T
        um = u @ self.means.T
        # Products in the inverse base: u with d, the difference of means; d with d.
        ud = um[np.arange(len(um)), self.codes][:, None] - um
        square = np.diag(inner)
        dd = square[self.codes][:, None] - 2 * inner[self.codes] + square
        # v = d - moved u is the difference without the row, and x = u + (d + moved u)/2
        # is the row from midway. Sherman and Morrison give their products.
        uv, vv = ud - moved * uu, dd - 2 * moved * ud + moved**2 * uu
        xv = uv + (dd - moved**2 * uu) / 2
        ux = uu * (1 + moved / 2) + ud / 2
        factor = taken[:, None] / (1 - taken[:, None] * uu)
        size = np.sqrt(np.maximum(vv + factor * uv**2, _TINY))
        scores: Array = (xv + factor * uv * ux) / size
        return scores
