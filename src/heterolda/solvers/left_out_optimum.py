"""The best rule of a pair without one row, followed from the minima with all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from scipy.special import expit, ndtr

from heterolda.foundations.roots import newton_roots
from heterolda.foundations.types import Array, Index, Mask
from heterolda.solvers.arc import Arc
from heterolda.solvers.left_out import LeftOut, sums

# Points between which minima are looked for, in x of the arc.
_HALF = np.concatenate([np.arange(0.25, 8, 0.25), [8, 9, 10, 12, 16, 24, 48]])
_GRID = np.concatenate([-_HALF[::-1], [0.0], _HALF])
# A minimum is found where the next step of theta would be smaller than this: the error
# is that of the minimum up to the square, and the score up to a rounding error.
_CLOSE = 1e-8
_MOST_STEPS = 8
_RESOLVED = 1e-6  # steps of theta that change the slope by more than rounding errors
# Where the slope is smaller than this and turns back, another minimum may come into
# being; it does not where this share of the slope is still there without the row.
_NEAR_ZERO = 2.0
_STILL = 0.3
# Two rules whose errors differ by a smaller share than this are compared by solving the
# pair anew.
_ALIKE = 1e-6
# The same for errors that are known up to a few per cent.
_NEARLY_ALIKE = 0.1
# A step is small if it changes b S_own + a S_other by less than this share in every
# direction, and a score is clear of the change if it is so many times as large.
_SMALL_STEP = 0.1
_CLEAR = 5.0
_PROBE = 1e-3  # share by which a step changes that matrix, to see what the score does


@dataclass(frozen=True)
class Angles:
    """Angles on some arcs, with b = cos(theta) and a = sin(theta).

    Attributes
    ----------
    pair : ndarray of shape (m,)
        The arc; it may have several, or none.
    theta : ndarray of shape (m,)
        The angle.
    value : ndarray of shape (m,)
        A number that belongs to it.
    """

    pair: Index
    theta: Array
    value: Array

    def of_pairs(self, pairs: Index) -> Angles:
        """Those of some pairs, which are numbered anew."""
        most = max(pairs.max(initial=0), self.pair.max(initial=0))
        place = np.full(most + 1, -1)
        place[pairs] = np.arange(len(pairs))
        at = place[self.pair]
        mine = np.flatnonzero(at >= 0)
        mine = mine[at[mine].argsort(kind="stable")]
        return Angles(at[mine], self.theta[mine], self.value[mine])

    def by_turns(self, out: LeftOut) -> Iterator[tuple[Index, LeftOut, Array, Array]]:
        """First one angle of each pair that has any, then another, and so on.

        With the pairs come what is left of them without rows, the angles from the
        point of view of these rows' class, and the values, both of shape (P, 1).
        """
        n_pairs = len(out.sign)
        count = np.bincount(self.pair, minlength=n_pairs)
        turn = np.arange(len(self.pair)) - (count.cumsum() - count)[self.pair]
        for k in range(count.max(initial=0)):
            now = turn == k
            pairs = self.pair[now]
            part = out if len(pairs) == n_pairs else out.of_pairs(pairs)
            theta, value = self.theta[now][:, None], self.value[now][:, None]
            yield pairs, part, np.where(part.sign > 0, theta, np.pi / 2 - theta), value


@dataclass(frozen=True)
class Minima:
    """Local minima of the error on some arcs, and where others may come into being.

    Attributes
    ----------
    lowest : Angles
        The minima, each with the derivative of the slope with respect to theta.
    nearly : Angles
        Where the slope comes near zero and turns back, each with the slope: if it
        reaches zero there is another minimum.
    """

    lowest: Angles
    nearly: Angles

    @classmethod
    def on(cls, arc: Arc) -> Minima:
        """Find them between the points of a fixed grid."""
        n_pairs = len(arc.low)
        points = arc.evaluate(np.arange(n_pairs), np.tile(_GRID, (n_pairs, 1)))
        slope = points.slope.reshape(n_pairs, -1)
        pair, left = np.nonzero((slope[:, :-1] <= 0) & (slope[:, 1:] > 0))
        low, high = _GRID[left], _GRID[left + 1]
        x = newton_roots(
            lambda index, x: arc.slopes(pair[index], x), low, high, 0.5 * (low + high)
        )[0]
        length = (arc.low + arc.high)[pair] + 0.5 * np.pi
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rise = arc.slopes(pair, x)[1] / (length * expit(x) * expit(-x))
        _, cos, sin = arc.coordinates(pair, x)
        lowest = Angles(pair, np.arctan2(sin, cos), rise)

        size = np.abs(slope)
        inner = size[:, 1:-1]
        turns = (inner <= size[:, :-2]) & (inner <= size[:, 2:]) & (inner < _NEAR_ZERO)
        turns &= (slope[:, :-2] > 0) == (slope[:, 2:] > 0)
        pair, place = np.nonzero(turns)
        _, cos, sin = arc.coordinates(pair, _GRID[place + 1])
        nearly = Angles(pair, np.arctan2(sin, cos), slope[pair, place + 1])
        return cls(lowest, nearly)

    def of_pairs(self, pairs: Index) -> Minima:
        """Those of some pairs, which are numbered anew."""
        return Minima(self.lowest.of_pairs(pairs), self.nearly.of_pairs(pairs))


@dataclass(frozen=True)
class BestRules:
    """The best rules of P pairs, each without one of n rows; arrays of shape (P, n).

    Attributes
    ----------
    score : ndarray
        That of the row which is left out, positive for the other class.
    error_own, error_other : ndarray
        Error rates of both classes under the model without the row.
    certain : ndarray of bool
        Whether the rule is the best without a doubt. Others are to be solved anew.
    """

    score: Array
    error_own: Array
    error_other: Array
    certain: Mask

    @classmethod
    def fisher(cls, out: LeftOut) -> BestRules:
        """Fisher's rules, which need no search."""
        rules = out.fisher_rules()
        with np.errstate(invalid="ignore", divide="ignore"):
            t = 0.5 * rules.distance - out.log_odds
            own = ndtr((t - rules.distance) / np.sqrt(rules.variance_own))
            other = ndtr(-t / np.sqrt(rules.variance_other))
        return cls(rules.score, own, other, rules.regular)

    @staticmethod
    def concatenate(one: BestRules, two: BestRules, order: Index) -> BestRules:
        """Rules of two groups of pairs together, in some order."""
        return BestRules(
            *(
                np.concatenate([getattr(one, f.name), getattr(two, f.name)])[order]
                for f in fields(one)
            )
        )


def best_rules(out: LeftOut, minima: Minima, *, nearby: bool = False) -> BestRules:
    """Rules of least error, by following all minima and comparing them.

    The minima are those of the same pairs with all rows. The trivial rule competes.
    With `nearby` the minima are not followed: a rule is then certain where the step to
    the minimum is small and does not change the sign of the score, and where no other
    minimum comes near. Its error is known up to a few per cent.
    """
    follow, alike = (_stay, _NEARLY_ALIKE) if nearby else (_follow, _ALIKE)
    shape = out.log_odds.shape
    trivial = expit(-np.abs(out.log_odds))
    best = BestRules(
        score=-out.log_odds,
        error_own=(out.log_odds < 0).astype(float),
        error_other=(out.log_odds >= 0).astype(float),
        certain=_well_posed(out),
    )
    least, second = trivial.copy(), np.full(shape, np.inf)
    p_own, p_other = expit(out.log_odds), expit(-out.log_odds)
    for pairs, part, theta, rise in minima.lowest.by_turns(out):
        at = slice(None) if part is out else pairs
        score, y1, y2, found = follow(part, theta, rise)
        own, other = ndtr(-y1), ndtr(-y2)
        error = p_own[at] * own + p_other[at] * other
        best.certain[at] &= found
        better = error < least[at]
        runner_up = np.where(better, least[at], error)
        second[at] = np.fmin(second[at], runner_up)
        for mine, new in (
            (least, error),
            (best.score, score),
            (best.error_own, own),
            (best.error_other, other),
        ):
            mine[at] = np.where(better, new, mine[at])
    best.certain[...] &= second > least * (1 + alike)
    for pairs, part, theta, slope in minima.nearly.by_turns(out):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            now = part.sign * _evaluate(part, theta[:, :, None])[0, :, 0]
            best.certain[pairs] &= now / slope > _STILL
    return best


def _follow(
    out: LeftOut, theta: Array, rise: Array
) -> tuple[Array, Array, Array, Mask]:
    """The minima next to the angles theta, (P, 1), by the secant method.

    The slope rises by about `rise` per unit of theta. Returned are the score, the
    distances y of the threshold from both means, and whether the minimum was found.
    """
    shape = out.log_odds.shape
    angle, rise = (np.broadcast_to(one, shape).copy() for one in (theta, rise))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        now = _evaluate(out, theta[:, :, None])[:, :, 0]
        step = -now[0] / rise
        for _ in range(_MOST_STEPS):
            far = np.abs(step) > _CLOSE
            if not far.any():
                break
            part = out if far.all() else out.pick(*far.nonzero())
            angle[far] += step[far]
            new = _evaluate(part, angle[far].reshape(part.log_odds.shape))
            new = new.reshape(len(new), -1)
            # The difference of neighbouring slopes is mostly rounding error.
            clear = np.abs(step[far]) > _RESOLVED
            secant = (new[0] - now[0, far]) / step[far]
            rise[far] = np.where(clear, secant, rise[far])
            now[:, far] = new
            step[far] = -new[0] / rise[far]
        found = (np.abs(step) <= _CLOSE) & (rise > 0)
    return now[1], now[2], now[3], found


def _stay(out: LeftOut, theta: Array, rise: Array) -> tuple[Array, Array, Array, Mask]:
    """As `_follow`, at the angles themselves; found is whether that is near enough.

    At angles that all rows share, sums over the features are products of matrices.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        b, a = np.cos(theta)[:, :, None], np.sin(theta)[:, :, None]
        own, other = out.own[:, :1], out.other[:, :1]
        speed = np.abs((b * other - a * own) / (b * own + a * other)).max(axis=2)
        probe = _PROBE / speed
        nodes = np.concatenate([theta, theta + probe], axis=1)
        values = _evaluate(out, nodes[:, :, None])
        slope, score, y1, y2 = values[:, :, 0]
        step = np.abs(slope / rise)
        change = np.abs(values[1, :, 1] - score) * step / probe
        found = (step * speed < _SMALL_STEP) & (change * _CLEAR < np.abs(score))
    return score, y1, y2, found


def _evaluate(out: LeftOut, theta: Array) -> Array:
    """Slope, score and y1, y2 of the arc's rules; the slope is NaN off the arc.

    The weights of the score sum to one, as those of the solver.
    """
    b, a = np.cos(theta), np.sin(theta)
    rules = out.arc_rules(b, a)
    log_odds = out.log_odds[:, None] if theta.ndim == 3 else out.log_odds
    deviation1, deviation2 = np.sqrt(rules.variance_own), np.sqrt(rules.variance_other)
    values = np.empty((4, *rules.score.shape))
    y1 = np.multiply(b, deviation1, out=values[2])
    y2 = np.multiply(a, deviation2, out=values[3])
    slope = log_odds - np.log(deviation1 / deviation2) - 0.5 * (y1 * y1 - y2 * y2)
    values[0] = np.where(rules.regular, slope, np.nan)
    values[1] = np.where(b + a > 0, b + a, 1.0) * rules.score
    return values


def _well_posed(out: LeftOut) -> Mask:
    """Whether the class keeps its variance in all directions without the row.

    own - e - k v v' is positive definite if k sum v^2 / (own - e) < 1.
    """
    posed: Mask = out.less_own * sums(out.squares, out.precision) < 1
    return posed
