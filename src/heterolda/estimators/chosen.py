r"""Rules that the rows choose on the curve of optimal rules.

Every admissible rule of two Gaussian classes has a direction on their arc, and a
threshold. The model proposes the point of least error under the Gaussians; scores of
left-out rows show the error rates :math:`F_1` and :math:`1 - F_2` of all others. With
few rows, the rows only move the threshold of the optimum for equal priors, and the
distributions are Gaussian.

The rates are averaged over neighboring directions at equal thresholds. The least point
of the criterion replaces the optimum of the model if it gains more than one standard
error; as the two rules differ on at least the difference of their rates,

.. math::
    SE^2 = \sum_k p_k^2 \, |F_k - F_k'| / n_k.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from heterolda.estimators.gaussians import Gaussians
from heterolda.estimators.odds import (
    effective_priors,
    gaussian_log_odds,
    log_odds_of_shares,
)
from heterolda.foundations.arrays import Array, Index, Mask, dense
from heterolda.foundations.threads import in_threads
from heterolda.kernels.coupling import Curve
from heterolda.kernels.score_distributions import (
    N_EDGES,
    RowsByClass,
    score_distributions,
)
from heterolda.solvers import Solver
from heterolda.solvers.directions import (
    POSITIONS,
    ArcDirections,
    arc_weights,
    are_admissible,
    curve_directions,
    lost_by,
    rules_at,
    single_directions,
)
from heterolda.solvers.pencil import Moments
from heterolda.solvers.rules import Rules
from heterolda.statistics.rows import Rows
from heterolda.statistics.samples import rows_by_class
from heterolda.tradeoff.operating_points import Minimax, NeymanPearson

# Rows of all other classes in a one-vs-rest rule.
_MAX_OTHERS = 2000
# Pairs with fewer rows per feature keep the optimum of the model; in those with more
# than the second number, training rows serve.
_ROWS_PER_FEATURE, _MANY_ROWS = 3, 20
# Gains that are not larger are rounding.
_NO_GAIN = 1e-12
# Number of values of a block of pairs, and of operations that are worth a thread.
_BLOCK, _WORTH_A_THREAD = 1 << 23, 1 << 23
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class RowsCurve:
    """Rules on the curves of a block of pairs, and their error rates on left-out rows.

    Rule g with the threshold t is ``coef[g]`` with ``intercept[g] + unit[g] * t``, and
    a positive score means the second class.
    """

    coef: Array  # (n_pairs, G, d)
    intercept: Array  # (n_pairs, G)
    unit: Array  # (n_pairs, G)
    weights: Array  # of both covariances, (n_pairs, 2, G)
    optimum: Index  # direction of the optimum of the model
    low: Array  # first threshold, (n_pairs,)
    step: Array
    F: Array  # shares of both classes up to thresholds, (n_pairs, 2, G, N_EDGES)
    counts: Array  # numbers of rows of both classes, (n_pairs, 2)

    def chosen(self, solver: Solver, priors: Array, t: Array, movable: Mask) -> Point:
        """Return the best point for a criterion.

        `t` are the thresholds of the optima: NaN for a trivial rule, and infinite if
        there are none. They are kept where no point is better beyond chance, and in
        pairs that are not `movable`.
        """
        pairs, value = np.arange(len(t)), _criterion(solver, priors)
        anywhere = np.isinf(t)
        if isinstance(solver, Minimax | NeymanPearson):
            values, share = value(_averaged(_rates(self.F))), np.ones_like(priors)
        else:
            signed, share = priors * [1, -1], priors
            values = _averaged(np.einsum("pk,pkgs->pgs", signed, self.F))
            values += priors[:, 1, None, None]
        # Of equal values, the nearest to the midpoint and to the optimum is best.
        edges, directions = np.arange(N_EDGES), np.arange(values.shape[1])
        off = np.abs(edges + (self.low / self.step)[:, None]) / N_EDGES
        beside = np.abs(directions - self.optimum[:, None])
        values += _NO_GAIN * off[:, None]
        values += _NO_GAIN * beside[:, :, None]
        at = values.reshape(len(t), -1).argmin(axis=1)
        direction, edge = np.divmod(at, N_EDGES)
        best, least = self.F[pairs, :, direction, edge], values[pairs, direction, edge]
        best, own = _rates(best), _rates(self.F[pairs, :, self.optimum])
        if share is not priors:
            place = value(own).argmin(axis=1)
            t = np.where(movable, self.low + self.step * place, t)
        compared = ~anywhere & (share is priors)
        before = _interpolated(own, (t - self.low) / self.step)
        first_wins = priors[:, 0] >= priors[:, 1]
        trivial = np.column_stack([~first_wins, first_wins]).astype(np.float64)
        before = np.where(np.isnan(t)[:, None], trivial, before)
        error = np.sqrt((share**2 * np.abs(best - before) / self.counts).sum(axis=1))
        gain = value(before[:, :, None])[:, 0] - least
        moved = movable & ((gain > np.maximum(error, _NO_GAIN)) | anywhere)
        return Point(
            np.where(moved, direction, self.optimum),
            np.where(moved, self.low + self.step * edge, t),
            np.where(moved[:, None], best, before),
            moved | (movable & (share is not priors)),
            np.where(moved & compared, gain / np.maximum(error, _NO_GAIN), 0.0),
        )

    def at(
        self, point: Point, rules: Rules, moments: Moments, model: Gaussians
    ) -> Chosen:
        """Return rules at a point of the curves, in the coordinates of the moments.

        Where the point is that of the model, its rule is returned as given.
        """
        solver, few = model.criterion.solver, model.has_few_rows
        pairs, moved = np.arange(len(self.low)), point.moved.nonzero()[0]
        weights = self.weights[pairs, :, point.direction]
        if len(moved):
            coef, intercept, unit = (
                part[moved, point.direction[moved]]
                for part in (self.coef, self.intercept, self.unit)
            )
            planes = coef, intercept + unit * point.t[moved]
            new = rules.take(moved).along(*planes, moments.take(moved))
            rules = rules.replaced(moved, new)
        priors, t = moments.pair_priors, np.where(np.isnan(point.t), 0.0, point.t)
        unit, F = self.unit[pairs, point.direction], self.F[pairs, :, point.direction]
        binned = partial(_binned, F, unit, self.low - t, self.step)
        if few or isinstance(solver, Minimax | NeymanPearson):
            seen = _as_seen(rules, *binned())
        if isinstance(solver, Minimax | NeymanPearson):
            priors = effective_priors(seen)
        rest = self.counts, priors, seen if few else rules, len(model.pairs)
        log_odds = partial(_log_odds, binned, *rest)
        facts = point.moved, point.error_rates, weights, point.excess, log_odds
        return Chosen(rules, *facts, self if len(model.pairs) == 1 else None)

    @classmethod
    def concatenate(cls, curves: Sequence[RowsCurve]) -> RowsCurve:
        """Join the curves of several pairs."""
        parts = ([getattr(c, field.name) for c in curves] for field in fields(cls))
        return cls(*map(np.concatenate, parts))

    def converted(self, convert: Callable[..., tuple[Array, Array]]) -> RowsCurve:
        """Return the curve with rules in other coordinates."""
        coef, intercept = convert(self.coef, self.intercept)
        return replace(self, coef=coef, intercept=intercept)


@dataclass(frozen=True)
class Point:
    """Points on the curves of a block of pairs."""

    direction: Index
    t: Array  # threshold; NaN for a trivial rule
    error_rates: Array  # on left-out rows, (n_pairs, 2)
    moved: Mask  # whether the point is not that of the model
    excess: Array  # what the point gains in errors or costs, in standard errors


class Position(NamedTuple):
    """What a fitted discriminant keeps of its rules besides their attributes."""

    weights: Array  # of both covariances in the directions, (n_pairs, 2)
    curve: RowsCurve | None  # of two classes whose rows chose


@dataclass(frozen=True)
class Chosen:
    """Rules of all pairs, and what left-out rows say of them."""

    rules: Rules  # with errors under the model
    on_rows: Mask  # pairs whose rule is not that of the model
    error_rates: Array  # of both classes on left-out rows, (n_pairs, 2); or NaN
    weights: Array  # of both covariances in the directions, (n_pairs, 2)
    excess: Array  # what the rows gain on the rule of the model, in standard errors
    # A curve, a function that returns it, or None for that of the Gaussian model.
    log_odds: Any = None
    curve: RowsCurve | None = None  # of two classes


def chosen(model: Gaussians, rows: Rows | None) -> Chosen:
    """Return the rules that rows choose, or those of the model if there are none."""
    few = rows is not None and model.has_few_rows
    rules = model.solve(equal_priors=few)
    n = len(rules.coef)
    kept = np.zeros(n, bool), np.full((n, 2), np.nan), arc_weights(rules), np.zeros(n)
    if rows is None or not model.follows_optimum:
        return Chosen(rules, *kept)
    drawn = _drawn(model, rows)
    counts = np.diff(drawn.bounds)[model.moments.pairs]
    usable = (counts > 1).all(axis=1)  # a class keeps a row if one is left out
    usable &= ~rules.separable
    usable &= ~(rules.trivial & few)
    n_rows = model.moments.weights[model.moments.pairs].sum(axis=1)
    rank = 1 if rules.rank is None else rules.rank
    along = (n_rows >= _ROWS_PER_FEATURE * rank) & (not few)
    groups = (usable & ~along).nonzero()[0], (usable & along).nonzero()[0]
    pairs, d, blocks = np.concatenate(groups), drawn.Z.shape[1], []
    for group, G in zip(groups, (1, len(POSITIONS) + 1), strict=True):
        step = max(1, _BLOCK // (d * d + 3 * d * G + 6 * (G + 4) * N_EDGES))
        blocks += [(group[i : i + step], G > 1) for i in range(0, len(group), step)]
    at_once = len(blocks) == 1 and len(pairs) == n

    def solve_blocks(part: slice) -> list[Chosen]:
        return [_of_block(model, rules, drawn, at, few, g) for at, g in blocks[part]]

    n_tasks = int(counts[pairs].sum(axis=1) @ np.where(along[pairs], len(POSITIONS), 1))
    parts = in_threads(solve_blocks, len(blocks), n_tasks * d // _WORTH_A_THREAD)
    found = [block for part in parts for block in part]
    others = (~usable).nonzero()[0]
    if at_once:
        log_odds = found[0].log_odds
    else:
        curves = [block.log_odds for block in found]
        curves.append(partial(gaussian_log_odds, rules.take(others)))
        log_odds = partial(_joined, curves, np.concatenate([pairs, others]))
    if found:
        solved = Rules.concatenate([block.rules for block in found])
        rules = solved if at_once else rules.replaced(pairs, solved)
        facts = (
            (one.on_rows, one.error_rates, one.weights, one.excess) for one in found
        )
        for whole, new in zip(kept, zip(*facts, strict=True), strict=True):
            whole[pairs] = np.concatenate(new)
    curve = found[0].curve if n == 1 and found else None
    if curve is not None and model.span is not None:
        curve = curve.converted(model.span.rules)
    return Chosen(rules, *kept, log_odds, curve)


def _joined(curves: list[Callable[[], Curve]], pairs: Index) -> Curve:
    """Return the log-odds of all pairs, given functions for groups of these pairs."""
    columns = zip(*(curve() for curve in curves), strict=True)
    place = np.argsort(pairs)
    joined = (np.concatenate(column, axis=-1)[..., place] for column in columns)
    return Curve(*map(np.ascontiguousarray, joined))


def on_curve(model: Gaussians, curve: RowsCurve) -> Chosen:
    """Return the best rules on the curves of all pairs for the criterion."""
    solver, moments = model.criterion.solver, model.moments
    movable = np.asarray(curve.coef.any(axis=(1, 2)))
    anywhere = np.where(movable, np.inf, np.nan)
    point = curve.chosen(solver, moments.pair_priors, anywhere, movable)
    inside = curve if model.span is None else curve.converted(model.span.rules_inside)
    choice = inside.at(point, model.solve(), moments, model)
    return replace(choice, curve=curve if len(curve.low) == 1 else None)


def model_at(model: Gaussians, weights: Array, priors: Array, moved: Mask) -> Chosen:
    """Return the rules of the model, in some pairs those at positions of an arc.

    `weights` (n_pairs, 2) are those of the covariances, and the thresholds are best for
    these priors of the pairs.
    """
    rules = model.solve()
    first, second = model.moments.means[model.moments.pairs].swapaxes(0, 1)
    moved = moved & (first != second).any(axis=1)  # others have no direction
    moved &= ~(rules.trivial | rules.separable)
    pairs = moved.nonzero()[0]
    if len(pairs):  # rounding may leave no direction
        moved[pairs] = are_admissible(model.moments.take(pairs), weights[pairs])
        pairs = moved.nonzero()[0]
    if len(pairs):
        moments = model.moments.take(pairs)
        log_tau = np.diff(np.log(priors[pairs]))[:, 0]
        planes = rules_at(moments, weights[pairs], log_tau)
        rules = rules.replaced(pairs, rules.take(pairs).along(*planes, moments))
    unknown = np.full((len(moved), 2), np.nan), weights, np.zeros(len(moved))
    return Chosen(rules, moved, *unknown)


def _drawn(model: Gaussians, rows: Rows) -> RowsByClass:
    """Draw rows of the classes of the moments."""
    moments, n_classes = model.moments, len(rows.classes)
    order, bounds = rows_by_class(rows, model.settings.random_state)
    codes = rows.codes[order]
    weight = None if rows.weights is None else rows.weights[order]
    index = np.arange(len(order))
    if model.one_vs_rest:  # rows of other classes count by the priors
        weight = np.ones(len(order)) if weight is None else weight
        weight = weight * (model.priors / np.bincount(codes, weight, n_classes))[codes]
        some = index[:: max(1, len(index) // _MAX_OTHERS)]
        parts = [some[codes[some] != k] for k in range(n_classes)]
        parts += np.split(index, bounds[1:-1])
        bounds = np.append(0, np.cumsum([len(part) for part in parts]))
        index = np.concatenate(parts)
    X = dense(rows.X[order]).astype(np.float64, copy=False)
    Z = X[index] - np.repeat(moments.means, np.diff(bounds), axis=0)
    weight = None if weight is None else weight[index]
    return RowsByClass(Z, weight, bounds, moments.weights)


def _of_block(
    model: Gaussians, rules: Rules, rows: RowsByClass, at: Index, few: bool, along: bool
) -> Chosen:
    """Return the rules that rows choose for pairs with these indices, along the curve.

    Scores of training rows serve where a row cannot be left out of the moments, in
    one-vs-rest rules, after EM and with a covariance estimator; and where rows are so
    many that it does not matter.
    """
    moments = model.moments
    if len(at) < len(moments.pairs):
        moments, rules = moments.take(at), rules.take(at)
    solver, shrinkage = model.criterion.solver, model.shrinkage
    lost = np.zeros((2, len(moments.weights)))
    if not model.one_vs_rest:
        lost = lost_by(moments, shrinkage.to_pooled, shrinkage.to_diagonal)
    if few:
        arcs = single_directions(moments, arc_weights(rules), lost)
        t = np.full(len(at), np.inf)
    else:
        positions = POSITIONS if along else POSITIONS[:0]
        rank = 1 if rules.rank is None else rules.rank
        n_rows = moments.weights[moments.pairs].sum(axis=1)
        many = (n_rows >= _MANY_ROWS * rank) | (not model.leaves_out)
        left_out = not many.all()
        arcs = curve_directions(moments, rules, lost, positions, left_out)
        arcs.directions.lost[many] = np.nan
        t = arcs.thresholds(rules)
    movable = np.full(len(at), few or along)
    curve = _curve(arcs, moments, rows, 1.0 if few else 0.0)
    point = curve.chosen(solver, moments.pair_priors, t, movable)
    choice = curve.at(point, rules, moments, model)
    return choice if few or along else replace(choice, curve=None)


def _curve(
    arcs: ArcDirections, moments: Moments, rows: RowsByClass, smoothing: float
) -> RowsCurve:
    """Return the curves of a block of pairs, as left-out rows see them."""
    found = score_distributions(rows, arcs.directions, smoothing)
    coef, intercept, unit = arcs.rules(moments)
    if rows.weight is None:
        counts = np.diff(rows.bounds).astype(np.float64)
    else:
        w = np.append(rows.weight, 0.0)
        sums = [np.add.reduceat(values, rows.bounds[:-1]) for values in (w, w * w)]
        counts = sums[0] ** 2 / np.maximum(sums[1], _TINY)
    return RowsCurve(
        coef,
        intercept,
        unit,
        arcs.weights,
        arcs.optimum,
        found.low,
        found.step,
        found.F,
        counts[moments.pairs],
    )


def _binned(F: Array, unit: Array, low: Array, step: Array) -> tuple[Array, Array]:
    """Return scores in the bins between thresholds, and shares of both classes."""
    ends = np.zeros((*F.shape[:2], 1))
    shares = np.diff(F, prepend=ends, append=ends + 1)
    bins = np.arange(N_EDGES + 1) - 0.5
    scores: Array = -unit[:, None] * (low[:, None] + step[:, None] * bins)
    return scores, shares


def _log_odds(binned: Callable[[], tuple[Array, Array]], *rest: Any) -> Curve:
    """Return the log-odds of rules, given a function that returns scores in bins."""
    return log_odds_of_shares(*binned(), *rest)


def _as_seen(rules: Rules, scores: Array, shares: Array) -> Rules:
    """Return the rules with the moments of scores of left-out rows."""
    means = np.einsum("pm,pkm->pk", scores, shares)
    squares = np.einsum(
        "pkm,pkm->pk", (scores[:, None] - means[:, :, None]) ** 2, shares
    )
    return replace(rules, means=means, deviations=np.sqrt(squares))


def _rates(F: Array) -> Array:
    """Return the error rates of both classes, given their shares up to thresholds."""
    rates = F.copy()
    np.subtract(1, rates[:, 1], out=rates[:, 1])
    return rates


def _averaged(values: Array) -> Array:
    """Return means over directions, the last axis but one, and their neighbors."""
    total, n = values.copy(), values.shape[-2]
    lower, upper = (np.s_[..., a, :] for a in (np.s_[:-1], np.s_[1:]))
    total[upper] += values[lower]
    total[lower] += values[upper]
    counts = np.full(n, 3.0)
    np.subtract.at(counts, [0, -1], 1)  # twice if there is one direction
    total /= counts[:, None]
    return total


def _interpolated(rates: Array, position: Array) -> Array:
    """Return error rates (n_pairs, 2) at positions between the edges."""
    x: Array = np.minimum(np.where(position > 0, position, 0.0), N_EDGES - 1)
    left = np.minimum(x.astype(np.intp), N_EDGES - 2)
    pairs, share = np.arange(len(x)), (x - left)[:, None]
    lower: Array = rates[pairs, :, left] * (1 - share)
    value: Array = lower + rates[pairs, :, left + 1] * share
    return value


def _criterion(solver: Solver, priors: Array) -> Callable[[Array], Array]:
    """Return the function of error rates (n_pairs, 2, ...) that is minimized."""

    def value(rates: Array) -> Array:
        first, second = rates[:, 0], rates[:, 1]
        if isinstance(solver, Minimax):
            return np.maximum(first, second)
        if isinstance(solver, NeymanPearson):
            bounded, other = (first, second) if solver.k == 0 else (second, first)
            # If no threshold keeps the bound, the one nearest to it is best.
            return np.where(bounded <= solver.q, other, 1 + bounded)
        p = priors.reshape(*priors.shape, *[1] * (rates.ndim - 2))
        total: Array = p[:, 0] * first + p[:, 1] * second
        return total

    return value
