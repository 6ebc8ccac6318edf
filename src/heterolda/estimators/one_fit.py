"""All pairs of the discriminant of smoothed rows, fitted once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from heterolda.estimators.calibration import fitted_log_odds, sided_log_odds
from heterolda.estimators.pair_problem import PairProblem
from heterolda.foundations.arrays import Array, Mask
from heterolda.foundations.draws import sample_of
from heterolda.kernels.coupling import Curve
from heterolda.search.left_out_scores import log_likelihood
from heterolda.search.scored import scored_rules
from heterolda.search.smoothed import (
    ClassRows,
    PairFit,
    crowding,
    ridge_weights_of,
    widths_of,
)
from heterolda.solvers.rules import Rules, Status
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.power import PowerTransformation
from heterolda.statistics.rows import Rows
from heterolda.statistics.shrinkage import chosen_on_rows
from heterolda.statistics.wide import Span, in_coordinates

Powers = PowerTransformation | None  # None leaves features as they are

# With more rows of a class per coefficient, a sample takes part in descent: the width
# is then the smallest.
_MAX_ROWS = 2500
# With fewer coefficients per effective row, scores of training rows serve as they are.
_MANY_ROWS = 0.04
# With more, the optimum of two classes is left out in closed form.
_FEW_ROWS = 0.125
# Maximum number of pairs that decide between transformations.
_MAX_PAIRS = 20
_SHOWN = 500  # pairs between reports of progress
_MIN_WIDTH = 1e-12  # smaller ones change nothing, but underflow
# Means of scores that differ less, in deviations, differ by rounding.
_NO_DISTANCE = 1e-9
# Nodes and weights of the Gauss-Hermite quadrature of a smoothed score.
_NODES, _SHARES = np.sqrt([3.0, 0.0, 3.0]) * [-1, 0, 1], np.array([1.0, 4.0, 1.0]) / 6


@dataclass(frozen=True)
class OneFit:
    """Rules of all pairs, which are fitted when they are asked for."""

    powers: Powers
    problem: PairProblem
    span: Span | None
    rows: Rows  # that take part in descent, in the coordinates of the problem
    optimum: Rules
    classes: ClassRows
    widths: Array
    ridge_weights: Array
    crowding: Array  # coefficients per effective row
    show: Callable[[str], Any]  # is called at each stage
    _fits: dict[int, PairFit] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        rows: Rows,
        discriminant: Any,
        width: float | None,
        powers: Powers,
        show: Callable[[str], Any],
    ) -> OneFit:
        """Prepare the fit for a width or, if it is None, for those that suit the rows.

        The discriminant has the priors and the shrinkage of the optimum. The function
        `show` is called at each stage.
        """
        show(f"solving Gaussian classes {'with' if powers else 'without'} powers")
        if powers is not None:
            rows = replace(rows, X=powers.apply(rows.X))
        stats, amount = ClassStatistics.from_rows(rows), discriminant.shrinkage
        inside, span, coordinates = in_coordinates(stats, amount, rows)
        rows = coordinates or rows
        chosen = chosen_on_rows(amount, inside, rows)
        problem = PairProblem.of(discriminant, stats, chosen, span)
        optimum, moments = problem.rate(problem.solve()).planes, problem.moments
        if rows.weights is None and moments.weights.max() > _MAX_ROWS:
            rows = rows.take(
                sample_of(rows.codes, _MAX_ROWS * (problem.stats.rank + 1))
            )
        deviations = np.sqrt(problem.stats.squares.sum(axis=0))
        units = deviations / np.sqrt(moments.weights.sum())
        units[deviations == 0] = 1.0
        classes = ClassRows.of(rows, moments, optimum, units)
        crowd = crowding(moments, classes.basis.shape[1])
        if width is None:
            widths, ridge = widths_of(crowd), ridge_weights_of(crowd)
        else:
            widths = np.full(len(crowd), max(float(width), _MIN_WIDTH))
            ridge = np.zeros(len(crowd))
        parts = rows, optimum, classes, widths, ridge, crowd, show
        return cls(powers, problem, span, *parts)

    @property
    def n_pairs(self) -> int:
        """Return the number of pairs."""
        return len(self.crowding)

    @property
    def has_few_rows(self) -> bool:
        """Return whether rows are so few that powers may do harm."""
        return bool(np.median(self.crowding) > _MANY_ROWS)

    def pair(self, pair: int) -> PairFit:
        """Return the rule of a pair."""
        if pair not in self._fits:
            self._fits[pair] = self.classes.fit(
                pair,
                self.widths[pair],
                self.ridge_weights[pair],
                leave_out=bool(self.crowding[pair] > _MANY_ROWS),
                gaussian=self._gaussian_scores,
            )
        return self._fits[pair]

    @cached_property
    def evidence(self) -> float:
        """Return the log-likelihood of left-out rows in some pairs.

        Each row is in one pair less than there are classes.
        """
        pairs = np.linspace(0, self.n_pairs - 1, min(self.n_pairs, _MAX_PAIRS))
        return sum(
            log_likelihood(self.pair(pair).scores, *self.classes.pair_weights(pair)[:2])
            for pair in pairs.astype(int).tolist()
        )

    @cached_property
    def rules(self) -> Rules:
        """Return the rules for transformed features, with the moments of scores."""
        fits = []
        for pair in range(self.n_pairs):
            if pair % _SHOWN == 0:
                self.show(f"descending, pair {pair + 1} of {self.n_pairs}")
            fits.append(self.pair(pair))
        planes, error, n_iter = (
            np.array([getattr(fit, name) for fit in fits])
            for name in ("plane", "error", "n_iter")
        )
        coef, intercept = planes[:, :-1].copy(), planes[:, -1].copy()
        # Of pairs that no feature separates, the log-odds are those of the priors.
        first, second = np.log(self.problem.moments.pair_priors).T
        intercept = np.where(coef.any(axis=1), intercept, second - first)
        rules = scored_rules(self.rows, coef, intercept, error, n_iter)
        gap = np.where(self.widths == 1, self.optimum.gap, np.nan)
        rules = replace(rules, gap=gap)
        if self.span is None:
            return rules
        coef, intercept = self.span.rules(coef, intercept)
        return replace(rules, coef=coef, intercept=intercept)

    @property
    def left_out_error(self) -> Array:
        """Return the share of left-out rows on the wrong side of each rule."""
        errors = np.empty(self.n_pairs)
        for pair in range(self.n_pairs):
            second, weight, factors = self.classes.pair_weights(pair)
            wrong = (self.pair(pair).scores > 0) != second
            weight = weight * factors[second.astype(np.intp)]
            errors[pair] = np.average(wrong, weights=weight)
        return errors

    def log_odds(self) -> Curve:
        """Return log-odds of all pairs, fitted to smoothed scores of left-out rows."""
        self.show("fitting log-odds to left-out rows")
        curve = fitted_log_odds(map(self._smoothed, range(self.n_pairs)))
        trivial = ~self.rules.coef.any(axis=1)
        offset = np.where(trivial, 0.0, curve.offset)
        return sided_log_odds(offset, np.where(trivial, 1.0, curve.slope))

    @cached_property
    def _gaussian_scores(self) -> Array | None:
        """Return scores of the optimum of two classes, without each row in turn.

        None if there are many rows or more classes, or a class cannot do without a row.
        """
        chosen = (self.crowding > _FEW_ROWS) & self.optimum.coef.any(axis=1)
        chosen &= self.optimum.status != Status.SEPARABLE
        if self.n_pairs > 1 or not chosen.all():
            return None
        left_out, parts = self.problem.left_out(self.rows), np.ones((1, 2), bool)
        distance = abs(float(np.diff(self.optimum.means[0])[0]))
        if distance <= _NO_DISTANCE * self.optimum.deviations.max():
            return None
        scores = [
            np.nan_to_num(part.score[0] * np.sqrt(distance / part.distance[0]))
            for part in left_out.of_arcs(self.optimum, parts)
        ]
        joined = np.concatenate(scores)
        return joined if len(joined) == len(self.rows.codes) else None

    def _smoothed(self, pair: int) -> tuple[Array, Mask, Array, Array]:
        """Return nodes of smoothed scores of a pair, as `fitted_log_odds` needs them.

        Each score becomes a Gaussian, as the rows do.
        """
        h, scores = self.widths[pair], self.pair(pair).scores
        second, weight, factors = self.classes.pair_weights(pair)
        nodes = np.empty((len(_NODES), len(scores)))
        for part in (second, ~second):
            s = scores[part]
            mean = np.average(s, weights=weight[part])
            deviation = np.sqrt(np.average((s - mean) ** 2, weights=weight[part]))
            center = mean + np.sqrt((1 - h) * (1 + h)) * (s - mean)
            nodes[:, part] = center + _NODES[:, None] * (h * deviation)
        weights = _SHARES[:, None] * weight
        return nodes.ravel(), np.tile(second, len(_NODES)), weights.ravel(), factors


def powers_of(rows: Rows) -> Powers:
    """Return the transformation of features that are not Gaussian within classes.

    If no feature needs a power, outliers are clipped; if there are none, or no more
    rows than features that vary, there is no transformation.
    """
    n_varying = np.count_nonzero((rows.X[0] != rows.X).any(axis=0))
    if rows.totals.sum() <= n_varying:
        return None
    powers = PowerTransformation.fit(rows.X, rows.codes, rows.weights)
    needed = (powers.lambdas != 1).any() or powers.has_outliers(rows.X)
    return powers if needed else None
