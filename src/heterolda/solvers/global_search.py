"""Certified global optimum by branch and bound on the arc of admissible rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.roots import bracketed_roots
from heterolda.foundations.rounding import (
    FARTHEST_POSITION,
    LOG_ERROR_ROUNDING,
    NO_GAIN,
)
from heterolda.foundations.validation import check_number
from heterolda.solvers.arc import Arc, ArcPoints
from heterolda.solvers.pencil import Pencil
from heterolda.solvers.rules import Rules, Status, bayes_error, best_threshold

_HALF = np.array([-48.0, -24.0, -12.0, -6.0, -3.0, -1.5, -0.5])
_START = np.concatenate([_HALF, [0.0], -_HALF[::-1]])
_CUT_INTO = 4  # number of pieces that an open piece is cut into
_NEAREST = 1e-14  # smallest distance of points on the arc, relative to x
_MAX_ROUNDS = 100
_MAX_OPEN = 1 << 12  # if more pieces of an arc stay open, its errors hardly differ
_NEGLIGIBLE = 1e-9  # gains below this are not worth another bracket


@dataclass(frozen=True)
class Global:
    """Linear rule of minimum error for two Gaussian classes, with a certificate.

    All admissible rules are on a bounded arc, along which both class errors are
    monotone. Between theta_a and theta_b no rule has an error below

        p1 e1(theta_a) + p2 e2(theta_b),

    nor, where the error is provably monotone, below that at both ends. Branch and bound
    with these bounds, over pieces that cover the whole arc, encloses the global
    minimum; ``gap_`` is the proven gap. Solving condition (29) then refines the minimum
    to machine precision.

    Parameters
    ----------
    gap : float, default=1e-3
        Relative gap to prove, from 1e-8 to 0.5. A smaller gap makes the proof tighter;
        the rule is usually optimal to machine precision in any case.

    Notes
    -----
    The bounds are evaluated in floating point, so the certificate holds up to
    rounding errors: about 1e-12 of the error for well-conditioned covariances, and
    about 1e-16 times their condition number otherwise. Smaller gaps have no meaning.
    What rounding of the covariances may change of the error is added to ``gap_``,
    which is NaN if that is more than 1e-6.

    References
    ----------
    T. W. Anderson and R. R. Bahadur (1962), "Classification into two multivariate
    normal distributions with different covariance matrices", The Annals of
    Mathematical Statistics 33, 420-431.

    Examples
    --------
    >>> from heterolda import GaussianLinearDiscriminant
    >>> from heterolda.solvers import Global
    >>> GaussianLinearDiscriminant(solver=Global(gap=1e-8))
    GaussianLinearDiscriminant(solver=Global(gap=1e-08))
    """

    gap: float = 1e-3

    moore_penrose = False
    draws = False

    def __post_init__(self) -> None:
        check_number("gap", self.gap, 1e-8, 0.5)

    def solve(self, pencil: Pencil, rng: Generator) -> Rules:
        """Return rules for a batch of pairs; `rng` is not used."""
        arc = Arc.from_pencil(pencil)
        pieces, x, n_iter = branch_and_bound(arc, self.gap)
        u, on_arc = arc.rules(np.arange(len(x)), x)
        D, sigma1, sigma2 = pencil.project(u)
        p1, p2 = pencil.priors.T
        t = best_threshold(D, sigma1, sigma2, pencil.log_tau)
        t = np.where(np.isnan(t), on_arc, t)
        error = bayes_error(t, D, sigma1, sigma2, p1, p2)

        trivial_error = np.minimum(p1, p2)
        trivial = error >= trivial_error * (1 - NO_GAIN)
        # Unlike the error, its logarithm does not underflow.
        log_error = arc.evaluate(np.arange(len(x)), x).log_error
        log_error = np.where(trivial, np.log(trivial_error), log_error)
        lower = np.maximum(proven_bound(pieces, len(x)), _bound_if_similar(pencil))
        gap = 0.0 - np.expm1(np.minimum(lower - log_error, 0.0))
        gap[error == 0] = 0.0
        proven = gap <= self.gap
        return Rules.from_coordinates(
            pencil,
            u,
            np.where(trivial, np.nan, t),
            error,
            status=np.where(proven, Status.CERTIFIED, Status.MAX_ITER),
            n_iter=n_iter,
            gap=gap,
        )


@dataclass(frozen=True)
class Pieces:
    """Pieces of arcs, each with a proven lower bound of the error."""

    pair: Index  # pair of the arc
    a: ArcPoints  # low end of the piece
    b: ArcPoints  # high end
    log_bound: Array  # lower bound of the log error on the piece

    def take(self, index: Index | Mask) -> Pieces:
        """Select pieces by index or mask."""
        index = np.arange(len(self.pair))[index]
        a, b = self.a.take(index), self.b.take(index)
        return Pieces(self.pair[index], a, b, self.log_bound[index])

    @staticmethod
    def concatenate(records: list[Pieces]) -> Pieces:
        """Join several records of pieces."""
        return Pieces(
            np.concatenate([record.pair for record in records]),
            ArcPoints.concatenate([record.a for record in records]),
            ArcPoints.concatenate([record.b for record in records]),
            np.concatenate([record.log_bound for record in records]),
        )


def branch_and_bound(arc: Arc, gap: float) -> tuple[Pieces, Array, Index]:
    """Cut the arcs into pieces until the error is bounded to a relative gap.

    Return pieces that cover all arcs, and the position of the best point of each arc
    and the number of points evaluated there.
    """
    n_pairs = len(arc.low)
    pairs = np.arange(n_pairs)
    low, high = arc.ends(pairs)
    points = arc.evaluate(pairs, np.tile(_START, (n_pairs, 1)))
    latest = _cut_at(arc, pairs, low, points, high)
    # The ends of the arc are the trivial rules, which also bound the optimum.
    best_log = arc.log_priors.min(axis=0)
    np.minimum.at(best_log, pairs.repeat(len(_START)), points.log_error)
    n_evaluations = np.full(n_pairs, len(_START))
    closed: list[Pieces] = []
    for _ in range(_MAX_ROUNDS):
        is_open = _is_open(latest, best_log, gap)
        n_open = np.bincount(latest.pair[is_open], minlength=n_pairs)
        is_open &= (n_open <= _MAX_OPEN)[latest.pair]
        if not is_open.any():
            break
        closed.append(latest.take(~is_open))
        pieces = latest.take(is_open)
        points = arc.evaluate(pieces.pair, _inner(pieces.a.x, pieces.b.x))
        latest = _cut_at(arc, pieces.pair, pieces.a, points, pieces.b)
        pair = pieces.pair.repeat(_CUT_INTO - 1)
        np.minimum.at(best_log, pair, points.log_error)
        n_evaluations += np.bincount(pair, minlength=n_pairs)
    pieces = Pieces.concatenate([*closed, latest])
    return pieces, _best(arc, pieces, best_log), n_evaluations


def proven_bound(pieces: Pieces, n_pairs: int) -> Array:
    """Return the lower bound of the log error on each arc, if pieces cover it."""
    pair, a, b = pieces.pair, pieces.a.x, pieces.b.x
    if (pair[1:] < pair[:-1]).any() or (a[1:] < a[:-1])[pair[1:] == pair[:-1]].any():
        order = np.lexsort((b, a, pair))
        pair, a, b = pair[order], a[order], b[order]
    inner = pair[1:] == pair[:-1]
    holes = np.where(inner, a[1:] != b[:-1], (b[:-1] != np.inf) | (a[1:] != -np.inf))
    missing = np.bincount(pair, minlength=n_pairs) == 0
    if missing.any() or holes.any() or a[0] != -np.inf or b[-1] != np.inf:
        bad = np.argmax(missing) if missing.any() else pair[np.argmax(holes)]
        raise ValueError(
            f"the pieces do not cover the arc of pair {bad}: no bound is proven"
        )
    bound = np.full(n_pairs, np.inf)
    np.minimum.at(bound, pieces.pair, pieces.log_bound)
    return bound


def _cut_at(
    arc: Arc, pair: Index, a: ArcPoints, inner: ArcPoints, b: ArcPoints
) -> Pieces:
    """Return the pieces between a, equally many inner points, and b, on each arc."""
    m = len(pair)
    points = ArcPoints.concatenate([a, inner, b])
    starts = np.arange(m)[:, None]
    middle = np.arange(m, m + len(inner.x)).reshape(m, -1)
    index = np.hstack([starts, middle, starts + m + len(inner.x)])
    a, b = points.take(index[:, :-1].ravel()), points.take(index[:, 1:].ravel())
    pair = pair.repeat(index.shape[1] - 1)
    # On any piece p_e >= p1 e1(a) + p2 e2(b), because e1 and e2 are monotone; where the
    # sign of the slope is certain, the error is least at an end.
    bound = np.logaddexp(a.log_error1, b.log_error2)
    lower, upper = arc.slope_bounds(pair, a, b)
    monotone = (lower > 0) | (upper < 0)
    bound = np.where(monotone, np.minimum(a.log_error, b.log_error), bound)
    return Pieces(pair, a, b, bound)


def _bound_if_similar(pencil: Pencil) -> Array:
    """Bound the log error of any rule, tightly if the two classes are similar.

    No rule has an error below min(p1, p2) (1 - total variation), and Pinsker's
    inequality bounds that by the divergence of class 1 from class 2.
    """
    excess = (pencil.alpha - pencil.beta) / pencil.beta
    terms = excess - np.log1p(excess) + pencil.c**2 / pencil.beta
    variation = np.sqrt(0.25 * np.maximum(terms.sum(axis=1), 0.0))
    with np.errstate(divide="ignore"):
        min_log = np.log(pencil.priors.min(axis=1))
        bound: Array = min_log + np.log1p(-np.minimum(variation, 1.0))
    return bound


def _is_open(pieces: Pieces, best_log: Array, gap: float) -> Mask:
    """Return a mask of the pieces to cut further."""
    bound, best = pieces.log_bound, best_log[pieces.pair]
    a, b = pieces.a, pieces.b
    with np.errstate(invalid="ignore"):
        unproven = bound < best + np.log1p(-gap)
        # A piece that may be better than the best point is cut until it brackets a
        # minimum, which `_best` then finds.
        brackets = (a.slope <= 0) & (b.slope >= 0)
        is_open: Mask = unproven | (~brackets & (bound < best - _NEGLIGIBLE))
        if is_open.any():
            scale = np.maximum(np.abs(a.x), np.abs(b.x))
            is_open &= np.where(
                np.isinf(scale),
                np.minimum(np.abs(a.x), np.abs(b.x)) < FARTHEST_POSITION,
                b.x - a.x > _NEAREST * (1 + scale),
            )
    return is_open


def _inner(a: Array, b: Array) -> Array:
    """Return inner points of pieces, evenly spaced, or geometrically at an end."""
    share = np.arange(1, _CUT_INTO) / _CUT_INTO
    outward = np.abs(np.where(np.isinf(a), b, a))[:, None]
    outward = np.minimum(
        outward + 4.0 ** np.arange(1, _CUT_INTO), FARTHEST_POSITION + share
    )
    with np.errstate(invalid="ignore"):
        inner = a[:, None] + (b - a)[:, None] * share
    inner = np.where(np.isinf(a)[:, None], -outward[:, ::-1], inner)
    return np.where(np.isinf(b)[:, None], outward, inner)


def _best(arc: Arc, pieces: Pieces, best_log: Array) -> Array:
    """Return the best point of each arc, a minimum if there is one."""
    # Two minima may differ by less than the gap, so every bracket is solved.
    bracket = (pieces.a.slope < 0) & (pieces.b.slope > 0)
    bracket &= pieces.log_bound < best_log[pieces.pair]
    inside = pieces.take(bracket)
    a, b, pair = inside.a, inside.b, inside.pair
    minima = bracketed_roots(
        lambda i, x: arc.evaluate(pair[i], x).slope, a.x, b.x, a.slope, b.slope
    )
    minima_log = arc.evaluate(pair, minima).log_error
    best = np.zeros(len(best_log))
    _choose(best, best_log, pieces.pair, pieces.a.x, pieces.a.log_error)
    # A minimum is at least as good as any point, up to rounding.
    min_log = np.nextafter(best_log, np.inf) + LOG_ERROR_ROUNDING
    np.minimum.at(min_log, pair, minima_log)
    _choose(best, min_log, pair, minima, minima_log)
    return best


def _choose(
    best: Array, min_log: Array, pair: Index, x: Array, log_error: Array
) -> None:
    """Set `best` to the first x of each pair with the least error."""
    index = np.flatnonzero((log_error == min_log[pair]) & np.isfinite(x))
    index = index[np.argsort(-x[index])]
    best[pair[index]] = x[index]
