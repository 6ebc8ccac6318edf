"""The best rule of a pair without one row, followed from the minima with all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, ndtr

from heterolda.foundations.roots import newton_roots
from heterolda.foundations.types import Array, Index, Mask
from heterolda.solvers.arc import Arc
from heterolda.solvers.left_out import LeftOut, sums
from heterolda.solvers.pencil import rounding_noise

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
class Minima:
    """Local minima of the error on some arcs, and where others may come into being.

    They are given by their angle theta, b = cos(theta) and a = sin(theta).

    Attributes
    ----------
    pair, theta, rise : ndarray of shape (m,)
        Arc and angle of each minimum, and the derivative of the slope with respect to
        theta. An arc may have several minima, or none.
    nearly_pair, nearly_theta, nearly_slope : ndarray of shape (k,)
        Where the slope comes near zero and turns back: if it reaches zero there is
        another minimum.
    """

    pair: Index
    theta: Array
    rise: Array
    nearly_pair: Index
    nearly_theta: Array
    nearly_slope: Array

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

        size = np.abs(slope)
        inner = size[:, 1:-1]
        turns = (inner <= size[:, :-2]) & (inner <= size[:, 2:]) & (inner < _NEAR_ZERO)
        turns &= (slope[:, :-2] > 0) == (slope[:, 2:] > 0)
        near, place = np.nonzero(turns)
        _, nearly_cos, nearly_sin = arc.coordinates(near, _GRID[place + 1])
        return cls(
            pair,
            np.arctan2(sin, cos),
            rise,
            near,
            np.arctan2(nearly_sin, nearly_cos),
            slope[near, place + 1],
        )

    def turns(self) -> list[Index]:
        """Numbers of the first minimum of each pair, then of the second, and so on."""
        turn = np.arange(len(self.pair)) - np.searchsorted(self.pair, self.pair)
        return [np.flatnonzero(turn == k) for k in range(turn.max(initial=-1) + 1)]


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


def fisher_rules(out: LeftOut) -> BestRules:
    """Fisher's rules, which need no search."""
    rules = out.fisher_rules()
    with np.errstate(invalid="ignore", divide="ignore"):
        t = 0.5 * rules.distance - out.log_odds
        own = ndtr((t - rules.distance) / np.sqrt(rules.variance_own))
        other = ndtr(-t / np.sqrt(rules.variance_other))
    return BestRules(rules.score, own, other, rules.regular)


def best_rules(out: LeftOut, minima: Minima, *, nearby: bool = False) -> BestRules:
    """Rules of least error, by following all minima and comparing them.

    The minima are those of the same pairs with all rows. The trivial rule competes.
    With `nearby` the minima are not followed: a rule is then certain where the step to
    the minimum is small and does not change the sign of the score, and where no other
    minimum comes near. Its error is known up to a few per cent.
    """
    follow, alike = (_stay, _NEARLY_ALIKE) if nearby else (_follow, _ALIKE)
    p_own, p_other = expit(out.log_odds), expit(-out.log_odds)
    best = BestRules(
        score=-out.log_odds,
        error_own=(out.log_odds < 0).astype(float),
        error_other=(out.log_odds >= 0).astype(float),
        certain=_well_posed(out),
    )
    least, second = np.minimum(p_own, p_other), np.full(p_own.shape, np.inf)
    score, y1, y2, found = follow(
        _of_pairs(out, minima.pair), minima.theta[:, None], minima.rise[:, None]
    )
    own, other = ndtr(-y1), ndtr(-y2)
    error = p_own[minima.pair] * own + p_other[minima.pair] * other
    for k in minima.turns():
        p = minima.pair[k]
        better = error[k] < least[p]
        runner_up = np.where(better, least[p], error[k])
        second[p] = np.fmin(second[p], runner_up)
        for mine, new in (
            (least, error),
            (best.score, score),
            (best.error_own, own),
            (best.error_other, other),
        ):
            mine[p] = np.where(better, new[k], mine[p])
        best.certain[p] &= found[k]
    best.certain[...] &= second > least * (1 + alike)
    slope = _evaluate(_of_pairs(out, minima.nearly_pair), minima.nearly_theta[:, None])[
        0
    ]
    with np.errstate(invalid="ignore"):
        still = slope / minima.nearly_slope[:, None] > _STILL
    np.logical_and.at(best.certain, minima.nearly_pair, still)
    return best


def _of_pairs(out: LeftOut, pairs: Index) -> LeftOut:
    """Select pairs; one may come several times."""
    if np.array_equal(pairs, np.arange(len(out.v))):
        return out
    return replace(
        out,
        pencil=out.pencil.take(pairs),
        v=out.v[pairs],
        squares=out.squares[pairs],
        log_odds=out.log_odds[pairs],
        own=out.own[pairs],
    )


def _well_posed(out: LeftOut) -> Mask:
    """Return whether the class keeps its variance in all directions, (P, n).

    own - e - k v v' is positive definite if k sum v^2 / (own - e) < 1. Here e is
    what the pencil would take for rounding errors, so that nothing is raised. Of
    raised variances nothing is known if rows of several weights are left out.
    """
    pencil = out.pencil
    scale = np.sqrt(np.einsum("pkii->pi", pencil.covariances))
    scale[scale == 0] = 1.0
    units = scale[:, None]
    scaled = pencil.covariances / units[..., None] / units[:, :, None]
    noise = rounding_noise(scaled, pencil.means / units, pencil.basis * units.mT)
    raised = pencil.alpha0 < pencil.alpha
    rest = out.own - 2 * noise[:, 0] / out.grown.min()
    rest = np.where(raised, np.inf, np.where(rest > 0, rest, np.nan))
    posed: Mask = out.taken * sums(out.squares, 1 / rest[:, None]) < 1
    if len(out.left) > 1:
        posed &= ~raised.any(axis=1, keepdims=True)
    return posed


def _follow(
    out: LeftOut, theta: Array, rise: Array
) -> tuple[Array, Array, Array, Mask]:
    """The minima next to the angles theta, (P, 1), by the secant method.

    The slope rises by about `rise` per unit of theta. Returned are the score, the
    distances y of the threshold from both means, and whether the minimum was found.
    """
    slope, score, y1, y2 = _evaluate(out, theta)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        step = -slope / rise
        for _ in range(_MOST_STEPS):
            if not (np.abs(step) > _CLOSE).any():
                break
            theta, before = theta + step, slope
            slope, score, y1, y2 = _evaluate(out, theta)
            # The difference of neighbouring slopes is mostly rounding error.
            clear = np.abs(step) > _RESOLVED
            rise = np.where(clear, (slope - before) / step, rise)
            step = -slope / rise
        found = (np.abs(step) <= _CLOSE) & (rise > 0)
    return score, y1, y2, found


def _stay(out: LeftOut, theta: Array, rise: Array) -> tuple[Array, Array, Array, Mask]:
    """As `_follow`, at the angles themselves; found is whether that is near enough."""
    b, a = np.cos(theta), np.sin(theta)
    own, other = out.own, out.pencil.beta
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        turn = np.abs((b * other - a * own) / (b * own + a * other))
        speed = turn.max(axis=1, keepdims=True)
        probe = _PROBE / speed
        slope, score, y1, y2 = _evaluate(out, theta)
        step = np.abs(slope / rise)
        change = np.abs(_evaluate(out, theta + probe)[1] - score) * step / probe
        found = (step * speed < _SMALL_STEP) & (change * _CLEAR < np.abs(score))
    return score, y1, y2, found


def _evaluate(out: LeftOut, theta: Array) -> tuple[Array, Array, Array, Array]:
    """Slope, score and y1, y2 of the arc's rules; the slope is NaN off the arc.

    The weights of the score sum to one, as those of the solver.
    """
    b, a = np.cos(theta), np.sin(theta)
    rules = out.arc_rules(b, a)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        sigma1, sigma2 = np.sqrt(rules.variance_own), np.sqrt(rules.variance_other)
        y1, y2 = b * sigma1, a * sigma2
        slope = out.log_odds - np.log(sigma1 / sigma2) - 0.5 * (y1 * y1 - y2 * y2)
    slope = np.where(rules.regular, slope, np.nan)
    return slope, np.where(b + a > 0, b + a, 1.0) * rules.score, y1, y2
