"""The certified global optimum: branch and bound on the arc of admissible rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from heterolda.arc import Arc, ArcPoints
from heterolda.hyperplanes import Hyperplanes, Status
from heterolda.pencil import Pencil, bayes_error, best_threshold
from heterolda.roots import bracketed_roots
from heterolda.validation import check_number

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

_START = np.array([-48.0, -24.0, -12.0, -6.0, -3.0, -1.5, -0.5])
_START = np.concatenate([_START, [0.0], -_START[::-1]])
_PARTS = 4  # an open piece is cut into so many
_MOST_ROUNDS = 100
_NEGLIGIBLE = 1e-9  # gain that is not worth a search for another bracket
_FARTHEST = 700.0  # beyond this x, a distance from the end underflows
_NO_GAIN = 1e-12  # a rule must beat the trivial one by this share to be preferred


@dataclass(frozen=True)
class Pieces:
    """Pieces of arcs with a proven lower bound of the error on each.

    Attributes
    ----------
    pair : ndarray of shape (m,)
        Which arc a piece belongs to.
    a, b : ArcPoints of length m
        Its ends, a before b.
    log_bound : ndarray of shape (m,)
        No rule on the piece has a log error below this.
    """

    pair: Index
    a: ArcPoints
    b: ArcPoints
    log_bound: Array

    def take(self, index: Index | Mask) -> Pieces:
        """Select pieces by index or mask."""
        a, b = self.a.take(index), self.b.take(index)
        return Pieces(self.pair[index], a, b, self.log_bound[index])

    @staticmethod
    def concatenate(parts: list[Pieces]) -> Pieces:
        """Join lists of pieces."""
        return Pieces(
            np.concatenate([part.pair for part in parts]),
            ArcPoints.concatenate([part.a for part in parts]),
            ArcPoints.concatenate([part.b for part in parts]),
            np.concatenate([part.log_bound for part in parts]),
        )


@dataclass(frozen=True)
class Global:
    """The linear rule of least error for two Gaussians, with a certificate.

    Every admissible rule lies on a bounded arc on which the two class errors are
    monotone. On a piece of it from theta_a to theta_b no rule has an error below

        p1 e1(theta_a) + p2 e2(theta_b)

    and none below its ends where the error is provably monotone. Branch and bound
    with these bounds closes in on the global minimum; ``gap_`` is what was proven,
    by pieces that cover the whole arc. The minimum is then polished to machine
    precision by solving condition (29).

    Parameters
    ----------
    gap : float, default=1e-3
        Relative gap to prove, from 1e-8 to 0.5. What is found is usually the optimum
        to machine precision in any case; a smaller gap makes the proof tighter.

    Notes
    -----
    The bounds are evaluated in floating point, so the certificate holds up to
    rounding errors: about 1e-12 of the error for well-conditioned covariances, and
    about 1e-16 times their condition number for others. A smaller gap than that
    means nothing.

    References
    ----------
    T. W. Anderson and R. R. Bahadur (1962), "Classification into two multivariate
    normal distributions with different covariance matrices", The Annals of
    Mathematical Statistics 33, 420-431.

    Examples
    --------
    >>> from heterolda import GaussianLinearDiscriminant, Global
    >>> GaussianLinearDiscriminant(solver=Global(gap=1e-8))
    GaussianLinearDiscriminant(solver=Global(gap=1e-08))
    """

    gap: float = 1e-3

    moore_penrose = False

    def __post_init__(self) -> None:
        check_number("Global", "gap", self.gap, 1e-8, 0.5)

    def solve(self, pencil: Pencil, rng: Generator) -> Hyperplanes:
        """Rules for a batch of pairs; `rng` is not used."""
        arc = Arc.from_pencil(pencil)
        pieces, best, n_iter = branch_and_bound(arc, self.gap)
        x = _polish(arc, pieces, best)

        u, cos, sin = arc.coordinates(np.arange(len(x)), x)
        # The scale of (11), with weights that sum to one: for equal covariances the
        # score is then the log-odds, as in linear discriminant analysis.
        size = np.where(cos + sin > 0, cos + sin, 1.0)
        u *= size[:, None]
        D, sigma1, sigma2 = pencil.project(u)
        p1, p2 = pencil.priors.T
        t = best_threshold(D, sigma1, sigma2, pencil.log_tau)
        t = np.where(np.isnan(t), sin / size * sigma2**2, t)
        error = bayes_error(t, D, sigma1, sigma2, p1, p2)

        trivial_error = np.minimum(p1, p2)
        trivial = error >= trivial_error * (1 - _NO_GAIN)
        with np.errstate(divide="ignore"):
            log_error = np.log(np.where(trivial, trivial_error, error))
        on_arc = arc.evaluate(np.arange(len(x)), x).log_error
        log_error = np.where(trivial, log_error, np.maximum(log_error, on_arc))
        lower = proven_bound(pieces, len(x))
        gap = np.where(error == 0, 0.0, -np.expm1(np.minimum(lower - log_error, 0.0)))
        proven = gap <= self.gap
        return Hyperplanes.from_coordinates(
            pencil,
            u,
            np.where(trivial, np.nan, t),
            error,
            status=np.where(proven, Status.CERTIFIED, Status.MAX_ITER),
            n_iter=n_iter,
            gap=gap,
        )


def branch_and_bound(arc: Arc, gap: float) -> tuple[Pieces, Array, Index]:
    """Cut the arcs into pieces until the error is bounded to a relative gap.

    Parameters
    ----------
    arc : Arc
        A batch of arcs.
    gap : float
        Relative gap to prove.

    Returns
    -------
    pieces : Pieces
        Pieces that cover the arcs.
    best : ndarray of shape (n_pairs,)
        Position x of the best point evaluated on each arc.
    n_evaluations : ndarray of shape (n_pairs,)
        Number of points evaluated on each arc.
    """
    n_pairs, n_start = len(arc.c), len(_START)
    pair = np.repeat(np.arange(n_pairs), n_start)
    points = arc.evaluate(pair, np.tile(_START, n_pairs))
    best = np.zeros(n_pairs)
    best_log = np.full(n_pairs, np.inf)
    _update_best(best, best_log, pair, points)
    n_evaluations = np.full(n_pairs, n_start)
    # The trivial rules are the ends of the arc: they bound the optimum as well.
    floor = arc.log_priors.min(axis=1)

    low, high = arc.ends(np.arange(n_pairs))
    fresh = _consecutive(arc, low, high, points, np.arange(n_pairs), n_start)
    closed: list[Pieces] = []
    for _ in range(_MOST_ROUNDS):
        log_best = np.minimum(best_log, floor)
        is_open = _is_open(arc, fresh, log_best, gap)
        closed.append(fresh.take(~is_open))
        work = fresh.take(is_open)
        if not len(work.pair):
            break
        inner = _cut(work.a.x, work.b.x)
        pair = np.repeat(work.pair, _PARTS - 1)
        points = arc.evaluate(pair, inner.ravel())
        _update_best(best, best_log, pair, points)
        np.add.at(n_evaluations, pair, 1)
        fresh = _consecutive(arc, work.a, work.b, points, work.pair, _PARTS - 1)
    else:
        closed.append(fresh)
    return Pieces.concatenate(closed), best, n_evaluations


def proven_bound(pieces: Pieces, n_pairs: int) -> Array:
    """Lower bound of the log error on each arc, if the pieces cover all of it.

    Parameters
    ----------
    pieces : Pieces
        Pieces in any order.
    n_pairs : int
        Number of arcs.

    Returns
    -------
    ndarray of shape (n_pairs,)
        The least bound of the pieces of each arc.

    Raises
    ------
    ValueError
        If a part of some arc is covered by no piece: then nothing is proven.
    """
    order = np.lexsort((pieces.a.x, pieces.pair))
    pair, a, b = pieces.pair[order], pieces.a.x[order], pieces.b.x[order]
    first = np.append(True, pair[1:] != pair[:-1]) if len(pair) else np.zeros(0, bool)
    last = np.roll(first, -1)
    holes = np.where(first, a != -np.inf, a != np.roll(b, 1))
    holes |= last & (b != np.inf)
    missing = np.bincount(pair, minlength=n_pairs) == 0
    if holes.any() or missing.any():
        where = pair[np.argmax(holes)] if holes.any() else np.argmax(missing)
        raise ValueError(
            f"the pieces do not cover the arc of pair {where}: no bound is proven"
        )
    bound = np.full(n_pairs, np.inf)
    np.minimum.at(bound, pieces.pair, pieces.log_bound)
    return bound


def _consecutive(
    arc: Arc, a: ArcPoints, b: ArcPoints, inner: ArcPoints, pair: Index, count: int
) -> Pieces:
    """Pieces between consecutive points: a, `count` inner ones, b; for each pair."""
    m = len(pair)
    joined = ArcPoints.concatenate([a, inner, b])
    starts = np.arange(m)[:, None]
    middle = m + np.arange(m * count).reshape(m, count)
    index = np.hstack([starts, middle, starts + m * (count + 1)])
    left, right = joined.take(index[:, :-1].ravel()), joined.take(index[:, 1:].ravel())
    pair = np.repeat(pair, count + 1)
    # On any piece p_e >= p1 e1(a) + p2 e2(b), by monotonicity of e1 and e2; where
    # the sign of the slope is known the error is least at an end.
    bound = np.logaddexp(left.log_error1, right.log_error2)
    lower, upper = arc.slope_bounds(pair, left, right)
    monotone = (lower > 0) | (upper < 0)
    bound = np.where(monotone, np.minimum(left.log_error, right.log_error), bound)
    return Pieces(pair, left, right, bound)


def _is_open(arc: Arc, pieces: Pieces, log_best: Array, gap: float) -> Mask:
    """Pieces that may hide a better rule than the gap allows."""
    bound, best = pieces.log_bound, log_best[pieces.pair]
    with np.errstate(invalid="ignore"):
        unproven = bound < best + np.log1p(-gap)
        # A piece that could be better than the best point, by however little, is cut
        # until it brackets a minimum, for `_polish` to find.
        brackets = arc.slope(pieces.pair, pieces.a) < 0
        brackets &= arc.slope(pieces.pair, pieces.b) > 0
        hiding = ~brackets & (bound < best - _NEGLIGIBLE)
        width = pieces.b.x - pieces.a.x
        scale = np.maximum(np.abs(pieces.a.x), np.abs(pieces.b.x))
        splittable = np.where(
            np.isinf(scale),
            np.minimum(np.abs(pieces.a.x), np.abs(pieces.b.x)) < _FARTHEST,
            width > 1e-14 * (1 + scale),
        )
    is_open: Mask = (unproven | hiding) & splittable
    return is_open


def _cut(a: Array, b: Array) -> Array:
    """Inner points of the pieces, evenly spaced; geometrically towards an end."""
    share = np.arange(1, _PARTS) / _PARTS
    outward = np.abs(np.where(np.isinf(a), b, a))[:, None]
    outward = np.minimum(outward + 4.0 ** np.arange(1, _PARTS), _FARTHEST + share)
    with np.errstate(invalid="ignore"):
        inner = a[:, None] + (b - a)[:, None] * share
    inner = np.where(np.isinf(a)[:, None], -outward[:, ::-1], inner)
    return np.where(np.isinf(b)[:, None], outward, inner)


def _update_best(best: Array, best_log: Array, pair: Index, points: ArcPoints) -> None:
    """Replace the best point of each arc, in place, where a new one is better."""
    log_error = points.log_error
    order = np.lexsort((points.x, log_error, pair))
    pair = pair[order]
    first = order[np.append(True, pair[1:] != pair[:-1])]
    pair = pair[np.append(True, pair[1:] != pair[:-1])]
    better = log_error[first] < best_log[pair]
    best[pair[better]] = points.x[first[better]]
    best_log[pair[better]] = log_error[first[better]]


def _polish(arc: Arc, pieces: Pieces, best: Array) -> Array:
    """Solve (29) in every piece that brackets a minimum; return the best point.

    All brackets that could hold the optimum are solved, not only the one at the
    best point so far: two minima may differ by less than the gap.
    """
    pair = np.arange(len(best))
    incumbent = arc.evaluate(pair, best)
    falls = arc.slope(pieces.pair, pieces.a) < 0
    rises = arc.slope(pieces.pair, pieces.b) > 0
    hopeful = pieces.log_bound < incumbent.log_error[pieces.pair]
    bracket = pieces.take(falls & rises & hopeful)
    if not len(bracket.pair):
        return best

    def slope(index: Index, x: Array) -> Array:
        rows = bracket.pair[index]
        return arc.slope(rows, arc.evaluate(rows, x))

    x = bracketed_roots(
        slope,
        bracket.a.x,
        bracket.b.x,
        arc.slope(bracket.pair, bracket.a),
        arc.slope(bracket.pair, bracket.b),
    )
    best = best.copy()
    # A root is at least as good as the point it replaces, up to rounding.
    best_log = np.nextafter(incumbent.log_error, np.inf)
    _update_best(best, best_log, bracket.pair, arc.evaluate(bracket.pair, x))
    return best
