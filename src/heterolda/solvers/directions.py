"""Directions of rules on the arcs of pairs, and rows that are left out of them.

A direction is the position theta of a rule on its arc, at which its matrix is
M = cos(theta) S1 + sin(theta) S2. Without a row, the divisors of the covariances and
theta stay the same, so M loses a multiple of z z' for the deviation z of the row from
the mean of its class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dtrtri

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.rounding import VARIANCE_FLOOR
from heterolda.kernels.pair_solver import DONE, SINGULAR, Fan, arc_directions
from heterolda.kernels.score_distributions import MAX_FEATURES, Directions
from heterolda.solvers.arc import Arc
from heterolda.solvers.pencil import Moments
from heterolda.solvers.rules import Rules, best_threshold
from heterolda.statistics.covariances import pooled_freedom

# Positions ln(p / q) on the arc, with the distances p and q from its ends.
POSITIONS = np.linspace(-4.5, 4.5, 15)
_FARTHEST = 40.0  # position of an end of the arc, but for rounding
# Signs of the mean scores of the two classes of a pair.
_SIGNS = np.array([-1.0, 1.0])
# Share of the variances that is added to them before a matrix is factored.
_RIDGE = 1e-10
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class ArcDirections:
    """Directions of a block of pairs, in ascending order of theta."""

    directions: Directions
    weights: Array  # cos(theta) and sin(theta), (n_pairs, 2, G)
    optimum: Index  # index of the direction of the optimum
    variances: Array  # of both classes along w, (n_pairs, 2, G)

    def rules(self, moments: Moments) -> tuple[Array, Array, Array]:
        """Return coefficients, and the line of the intercepts in the threshold.

        Their shapes are (n_pairs, G, d) and twice (n_pairs, G); a positive score means
        the second class. In this scale, scores of equal covariances are log-odds.
        """
        of, size = self.directions, np.maximum(self.weights.sum(axis=1), 0.0)
        size[size == 0] = 1.0
        w = size[:, :, None] * of.w
        middle = 0.5 * moments.means[moments.pairs].sum(axis=1)
        return -w, np.einsum("pgd,pd->pg", w, middle), size * of.unit

    def thresholds(self, rules: Rules) -> Array:
        """Return the thresholds of the optima, NaN for trivial rules."""
        D = rules.means[:, 1] - rules.means[:, 0]
        pairs, of = np.arange(len(D)), self.directions
        distance, unit = (a[pairs, self.optimum] for a in (of.distance, of.unit))
        with np.errstate(divide="ignore", invalid="ignore"):
            t = 0.5 * rules.means.sum(axis=1) / D * distance / unit
        return np.where(rules.trivial, np.nan, t)


def direction_weights(rules: Rules, moments: Moments) -> Array:
    """Return the weights of optima, or those of Fisher's rules for trivial ones."""
    trivial = rules.trivial[:, None]
    return np.where(trivial, moments.weights[moments.pairs], arc_weights(rules))


def arc_weights(rules: Rules) -> Array:
    """Return cos(theta) and sin(theta) of optima, from t = sin(theta) sigma2^2."""
    trivial = rules.trivial[:, None]
    variances = np.where(trivial, 1.0, rules.deviations) ** 2
    weights: Array = np.where(trivial, 0.5, _SIGNS * rules.means / variances)
    return weights


def lost_by(moments: Moments, to_pooled: Array, to_diagonal: float) -> Array:
    """Return what covariances lose with a row of their class, and of another class.

    They are multiples of l W/(W - l) z z', of shape (2, n_classes).
    """
    freedom = max(pooled_freedom(moments.weights), _TINY)
    to_pooled = np.resize(to_pooled, len(moments.means))  # of one-vs-rest
    pooled = to_pooled * (1 - to_diagonal) / freedom
    own = (1 - to_pooled) / np.maximum(moments.weights - 1, _TINY) + pooled
    return np.array([own, pooled])


def rules_at(moments: Moments, weights: Array, log_tau: Array) -> tuple[Array, Array]:
    """Return the best rules in directions, for priors with the log-ratios `log_tau`.

    If always choosing the likelier class is best, the threshold is between the means.
    """
    arcs = single_directions(moments, weights)
    of = arcs.directions
    D, (sigma1, sigma2) = of.distance[:, 0], np.sqrt(arcs.variances[:, :, 0].T)
    t = best_threshold(D, sigma1, sigma2, log_tau)
    coef, intercept, unit = (part[:, 0] for part in arcs.rules(moments))
    t = np.where(np.isnan(t), 0.0, t - D / 2)
    return coef, intercept + unit / of.unit[:, 0] * t


def curve_directions(
    moments: Moments,
    rules: Rules,
    lost: Array,
    positions: Array = POSITIONS,
    leaves_out: bool = True,
) -> ArcDirections:
    """Return directions at positions of the arcs, those of the optima included.

    If no row is left out, no basis is needed.
    """
    optima = direction_weights(rules, moments)
    pairs, large = np.arange(len(optima)), moments.means.shape[1] > MAX_FEATURES
    if large and not len(positions):  # no diagonal form is needed
        return single_directions(moments, optima, lost)
    if kernels.compiled is None or large:
        fan = _fan(moments, optima, positions)
    else:
        fan, outcome = _compiled_fan(moments, optima, positions, leaves_out)
        singular = pairs[outcome == SINGULAR]
        if len(singular):
            part = moments.take(singular)
            given = optima[singular], positions, leaves_out, part.axes().whitening()
            of_singular, outcome[singular] = _compiled_fan(part, *given)
            fan.replaced(singular, of_singular)
        unsolved = pairs[outcome != DONE]
        if len(unsolved):
            solved = _fan(moments.take(unsolved), optima[unsolved], positions)
            basis = solved.basis[:, :, : fan.basis.shape[2]]
            fan.replaced(unsolved, solved._replace(basis=basis))
    return _directions(moments, fan if leaves_out else fan.without_basis(), lost)


def _compiled_fan(
    moments: Moments,
    optima: Array,
    positions: Array,
    leaves_out: bool,
    whitening: Array | None = None,
) -> tuple[Fan, NDArray[np.uint8]]:
    """Return rules of arcs by the compiled code."""
    given = moments.means, moments.covariances, moments.pairs
    return arc_directions(*given, optima, positions, leaves_out, whitening)


def _fan(moments: Moments, optima: Array, positions: Array) -> Fan:
    """Return rules of arcs from the diagonal form of their pairs."""
    pencil, pairs = moments.pencil(), np.arange(len(optima))
    arc = Arc.from_pencil(pencil)
    theta = np.arctan2(optima[:, 1], optima[:, 0])
    p, q = theta + arc.low, np.pi / 2 + arc.high - theta
    optimum = np.log(np.maximum(p, _TINY)) - np.log(np.maximum(q, _TINY))
    optimum = np.clip(optimum, -_FARTHEST, _FARTHEST)
    x = np.column_stack([np.tile(positions, (len(pairs), 1)), optimum])
    place = np.count_nonzero(optimum[:, None] > positions, axis=1)
    x.sort(axis=1)
    g, circle, _ = arc._forms_at(pairs, x)
    used: Mask = np.any(pencil.basis, axis=1)
    inverse = np.where(used[:, None], 1 / g, 0.0)
    u = arc.c[:, None] * inverse
    diagonals = np.array([pencil.alpha, pencil.beta])
    return Fan(
        place,
        circle.swapaxes(0, 1),
        u @ pencil.basis.mT,
        pencil.basis,
        inverse,
        np.zeros_like(inverse),
        np.einsum("pgr,kpr->pkg", u * u, diagonals),
        np.einsum("pgr,pr->pg", u, pencil.c),
    )


def are_admissible(moments: Moments, weights: Array) -> Mask:
    """Return whether weights of both covariances give matrices with directions."""
    unit = weights / np.hypot(*weights.T)[:, None]
    least: Mask = np.linalg.eigvalsh(_mixtures(moments, unit)[0])[:, 0] > 0
    return least


def _mixtures(moments: Moments, weights: Array) -> tuple[Array, Array]:
    """Return mixtures of both covariances in scaled features, and the scales."""
    # Variances are raised to a share of S1 + S2, as in the pencil.
    raised = weights + VARIANCE_FLOOR * weights.sum(axis=1, keepdims=True)
    S = moments.covariances[moments.pairs]
    M = np.einsum("pk,pkij->pij", raised, S)
    scale = np.sqrt(np.abs(np.einsum("pii->pi", M)))
    scale[scale == 0] = 1.0
    M /= scale[:, :, None] * scale[:, None]
    return M + _RIDGE * np.eye(M.shape[1]), scale


def single_directions(
    moments: Moments, weights: Array, lost: Array | None = None
) -> ArcDirections:
    """Return one direction of each pair, by the weights of both covariances."""
    lost = np.zeros((2, len(moments.means))) if lost is None else lost
    weights = weights / np.hypot(*weights.T)[:, None]
    M, scale = _mixtures(moments, weights)
    try:
        factor = np.linalg.cholesky(M)
    except np.linalg.LinAlgError as error:  # weights of a file that was altered
        raise ValueError("the weights of the covariances are not admissible") from error
    inverse = np.array([dtrtri(one, lower=1)[0] for one in factor])
    basis = (inverse / scale[:, None]).mT
    first, second = moments.means[moments.pairs].swapaxes(0, 1)
    c = np.einsum("pdr,pd->pr", basis, first - second)
    w, ones = np.einsum("pdr,pr->pd", basis, c), np.ones((len(c), 1, c.shape[1]))
    S = moments.covariances[moments.pairs]
    variances = np.einsum("pd,pkdx->pkx", w, S @ w[:, None, :, None])
    fan = Fan(
        np.zeros(len(c), np.intp),
        weights[:, :, None],
        w[:, None],
        basis,
        ones,
        np.zeros_like(ones),
        variances,
        np.einsum("pr,pr->p", c, c)[:, None],
    )
    return _directions(moments, fan, lost)


def _directions(moments: Moments, fan: Fan, lost: Array) -> ArcDirections:
    """Return the record of these rules, given what covariances lose with a row."""
    variances = np.maximum(fan.variances, _TINY)
    pooled = np.einsum("pk,pkg->pg", moments.pair_priors, variances)
    own, other = lost[:, moments.pairs, None]
    directions = Directions(
        pairs=moments.pairs,
        w=fan.w,
        basis=fan.basis,
        inverse=fan.inverse,
        ratio=fan.ratio,
        lost=fan.weights * own + fan.weights[:, ::-1] * other[:, ::-1],
        distance=fan.distance,
        unit=np.sqrt(pooled),
    )
    return ArcDirections(directions, fan.weights, fan.optimum, variances)
