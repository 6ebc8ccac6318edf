"""All pairs of the discriminant of smoothed rows, fitted once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from heterolda.estimators.chosen import Chosen, RowsCurve
from heterolda.estimators.gathering import Powers, Transformed
from heterolda.estimators.gaussians import Gaussians, gaussians
from heterolda.estimators.in_use import distances_of
from heterolda.estimators.odds import fitted_log_odds
from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.draws import sample_of
from heterolda.kernels.score_distributions import (
    Directions,
    RowsByClass,
    score_distributions,
)
from heterolda.search.scored import scored_rules
from heterolda.search.smoothed import (
    MANY_ROWS,
    ClassRows,
    PairFit,
    crowding,
    ridge_weights_of,
    widths_of,
)
from heterolda.solvers.directions import lost_by
from heterolda.statistics.power import PowerTransformation
from heterolda.statistics.rows import Rows
from heterolda.statistics.samples import drawn_rows
from heterolda.statistics.shrinkage import Shrinkage
from heterolda.statistics.typicality import FarRows, far_rows
from heterolda.statistics.wide import Span

# With more rows of a class per coefficient, a sample takes part in descent: the width
# is then the smallest.
_MAX_ROWS = 2500
# Maximum number of pairs that decide between transformations.
_MAX_PAIRS = 20
_SHOWN = 500  # pairs between reports of progress
_MIN_WIDTH = 1e-12  # smaller ones change nothing, but underflow
# Nodes and weights of the Gauss-Hermite quadrature of a smoothed score.
_NODES, _SHARES = np.sqrt([3.0, 0.0, 3.0]) * [-1, 0, 1], np.array([1.0, 4.0, 1.0]) / 6


@dataclass(frozen=True)
class OneFit:
    """Rules of all pairs, which are fitted when they are asked for."""

    powers: Powers
    model: Gaussians
    span: Span | None
    classes: ClassRows  # rows that take part in descent, without optima
    widths: Array
    ridge_weights: Array
    crowding: Array  # coefficients per effective row
    show: Callable[[str], Any]  # is called at each stage
    # Returns the distances of left-out rows from their classes.
    far_rows: Callable[[], list[FarRows] | None]
    _fits: dict[int, PairFit] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        transformed: Transformed,
        discriminant: Any,
        width: float | None,
        powers: Powers,
        show: Callable[[str], Any],
        chosen: Shrinkage | None = None,
    ) -> OneFit:
        """Prepare the fit for a width or, if it is None, for those that suit the rows.

        The discriminant has the priors and the shrinkage of the optimum. The function
        `show` is called at each stage. The shrinkage may have been chosen before.
        """
        show(f"estimating Gaussian classes {'with' if powers else 'without'} powers")
        model, rows = gaussians(discriminant, *transformed(powers), chosen)
        # Rows drawn now, so that not all are kept.
        far = partial(far_rows, distances_of(model), rows.take(drawn_rows(rows)))
        moments = model.moments
        totals = rows.totals  # statistics may be of more rows
        if rows.weights is None and moments.weights.max() > _MAX_ROWS:
            rows = rows.take(sample_of(rows.codes, _MAX_ROWS * (model.stats.rank + 1)))
        # The coordinates of a span have the units of standardized features.
        variances = model.stats.squares.sum(axis=0) / moments.weights.sum()
        units = np.sqrt(variances) if model.span is None else np.ones(len(variances))
        units[units == 0] = 1.0
        shrinkage = model.shrinkage
        lost = lost_by(moments, shrinkage.to_pooled, shrinkage.to_diagonal)
        classes = ClassRows.of(rows, moments, None, units, lost)
        drawn = replace(moments, weights=totals)
        crowd = crowding(drawn, classes.basis.shape[1])
        if width is None:
            widths, ridge = widths_of(crowd), ridge_weights_of(crowd)
        else:
            widths = np.full(len(crowd), max(float(width), _MIN_WIDTH))
            ridge = np.zeros(len(crowd))
        return cls(powers, model, model.span, classes, widths, ridge, crowd, show, far)

    @property
    def n_pairs(self) -> int:
        """Return the number of pairs."""
        return len(self.crowding)

    @property
    def has_few_rows(self) -> bool:
        """Return whether rows are so few that powers may do harm."""
        return bool(np.median(self.crowding) > MANY_ROWS)

    def _with_optima(self, pairs: Index) -> ClassRows:
        """Return the classes with the optima of some pairs."""
        moments = self.model.moments.take(pairs)
        model = replace(self.model, moments=moments, pairs=self.model.pairs[pairs])
        optimum, priors = model.rate(model.solve())[0], moments.pair_priors
        return replace(self.classes, moments=moments, priors=priors, optimum=optimum)

    def _fit(self, classes: ClassRows, place: int, pair: int) -> PairFit:
        """Return the rule of a pair, which has a place among those with optima."""
        parts = self.widths[pair], self.ridge_weights[pair], self.crowding[pair]
        return classes.fit(place, *parts)

    @cached_property
    def evidence(self) -> float:
        """Return the log-likelihood of left-out rows in some pairs.

        Each row is in one pair less than there are classes.
        """
        pairs = np.linspace(0, self.n_pairs - 1, min(self.n_pairs, _MAX_PAIRS))
        classes = self._with_optima(pairs := pairs.astype(np.intp))
        for place, pair in enumerate(pairs.tolist()):
            self._fits[pair] = self._fit(classes, place, pair)
        return sum(fit.log_likelihood for fit in self._fits.values())

    def solve(self, *, along: bool) -> Chosen:
        """Return the rules for transformed features, with their log-odds.

        Error rates are shares of left-out rows on the wrong side of each rule. Log-odds
        are fitted to their smoothed scores. With `along`, also return curves of rules
        in the same directions.
        """
        records, curves = [], []
        self.show("solving Gaussian classes")
        classes = self._with_optima(np.arange(self.n_pairs))

        def smoothed_scores() -> Iterator[tuple[Array, Mask, Array, Array]]:
            """Yield scores pair by pair, so that one pair has its rows in memory."""
            for pair in range(self.n_pairs):
                if pair % _SHOWN == 0:
                    self.show(f"fitting pair {pair + 1} of {self.n_pairs}")
                fit = self._fits.pop(pair, None) or self._fit(classes, pair, pair)
                wrong = fit.weight * ((fit.scores > 0) != fit.second)
                counts = np.bincount(fit.second, fit.weight)
                rates = np.bincount(fit.second, wrong) / counts
                records.append((fit.plane, fit.error, fit.n_iter, rates))
                if along:
                    n_first = int(np.count_nonzero(~fit.second))
                    curves.append(parallels(fit.plane, fit.scores, n_first, fit.weight))
                nodes = _smoothed(fit, self.widths[pair])
                second, weight = np.tile(fit.second, 3), np.outer(_SHARES, fit.weight)
                yield nodes.ravel(), second, weight.ravel(), fit.factors

        curve = fitted_log_odds(smoothed_scores())
        planes, error, n_iter, rates = map(np.array, zip(*records, strict=True))
        coef, intercept = planes[:, :-1].copy(), planes[:, -1].copy()
        # Of pairs that no feature separates, the log-odds are those of the priors.
        first, second = np.log(self.model.moments.pair_priors).T
        intercept = np.where(coef.any(axis=1), intercept, second - first)
        rules = scored_rules(self.classes.rows, coef, intercept, error, n_iter)
        gap = np.where(self.widths == 1, classes.optimum.gap, np.nan)
        rest = rates, np.ones((len(gap), 2)), np.zeros(len(gap)), curve
        on_rows = np.ones(len(gap), bool)
        choice = Chosen(replace(rules, gap=gap), on_rows, *rest)
        if not along:
            return choice
        rows_curve = RowsCurve.concatenate(curves)
        if self.span is not None:
            rows_curve = rows_curve.converted(self.span.rules)
        return replace(choice, curve=rows_curve)


def _smoothed(fit: PairFit, h: float) -> Array:
    """Return nodes of scores, each of which becomes a Gaussian, as the rows do."""
    nodes = np.empty((len(_NODES), len(fit.scores)))
    for part in (fit.second, ~fit.second):
        s, share = fit.scores[part], fit.weight[part] / fit.weight[part].sum()
        mean = share @ s
        deviation = np.sqrt(share @ (s - mean) ** 2)
        center = mean + np.sqrt((1 - h) * (1 + h)) * (s - mean)
        nodes[:, part] = center + _NODES[:, None] * (h * deviation)
    return nodes


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


def parallels(plane: Array, scores: Array, n_first: int, weight: Array) -> RowsCurve:
    """Return the rules of a pair that are parallel to a plane, as its rows see them.

    Rows begin with the `n_first` of the first class. A positive score means the second.
    """
    x, one = -scores, np.ones((1, 1))
    bounds = np.array([0, n_first, len(x)])
    sums = [weight, weight * x, weight**2]
    totals, means, squares = (np.add.reduceat(part, bounds[:-1]) for part in sums)
    means = means / totals
    Z = x - np.repeat(means, np.diff(bounds))
    rows = RowsByClass(Z[:, None], weight, bounds, totals)
    directions = Directions(
        pairs=np.array([[0, 1]]),
        w=one[None],
        **dict.fromkeys(("basis", "inverse", "ratio"), np.ones((1, 1, 0))),
        lost=np.full((1, 2, 1), np.nan),
        distance=one * (means[0] - means[1]),
        unit=one,
    )
    found = score_distributions(rows, directions)
    return RowsCurve(
        coef=plane[None, None, :-1],
        intercept=one * (plane[-1] + means.mean()),
        unit=one,
        weights=np.ones((1, 2, 1)),
        optimum=np.zeros(1, np.intp),
        low=found.low,
        step=found.step,
        F=found.F,
        counts=totals[None] ** 2 / squares,
    )
