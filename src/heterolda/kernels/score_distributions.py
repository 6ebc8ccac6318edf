"""Smoothed distributions of the scores of rows, each by rules fitted without it.

A pair has G directions w, with D = w.delta > 0 for the difference delta of the means,
and the matrices M = b S1 + a S2 = V^-T L diag(g) L' V^-1: V is a basis of the pair, and
the bidiagonal L has ones, and ratios below them. A score is the distance along w from
the midpoint of the means, in a unit, positive for the first class. Without a row x of
weight l in a class of weight W, with z = x - m, y = L^-1 V'z, e = l/(W - l) and the
multiple rho of l W/(W - l) z z' that M loses,

    A = z.w,   q = sum y_i^2 / g_i,   R = rho l (1 + e),   t = (R A -+ e) / (1 - R q)
    D' = D -+ e A + t (A -+ e q),   s = ((1 + e/2)(A + t q) +- (D + t A)/2) sqrt(D/D')

with the upper sign for the first class. Where 1 - R q or D' is not positive, there is
no rule, and the row counts as wrong.

A score s in a class whose mean has the score m becomes a Gaussian with mean
m + sqrt(1 - h^2) (s - m) and deviation h min(sd, IQR/1.349), for h = n^(-1/3) with n
rows; sd and IQR are those in the two middle directions. With h = 1 the distribution is
the Gaussian with the mean and deviation of the scores. In classes of fewer than `FEW`
rows, the deviation is that of both classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, Index

N_EDGES = 161  # thresholds at which distributions are known
FEW = 5.0
# With more features, NumPy's linear algebra is faster.
MAX_FEATURES = 128
# Smallest 1 - R q of a row that can be left out.
_NO_RULE = 1e-9
# The range of thresholds: between this quantile and its mirror image of the scores in
# the two middle directions, plus this share, or three deviations of the smoothing.
_QUANTILE, _MARGIN = 0.005, 0.05
_IQR = 1.349  # of a normal distribution
_LEAST_SIGMA = 0.3  # smallest deviation of the smoothing, in bins
_REACH = 6.0  # deviations beyond which a Gaussian ends


@dataclass(frozen=True)
class RowsByClass:
    """Rows of classes, and what is left when one of them is left out."""

    Z: Array  # rows less the means of their classes, sorted by class, (n, d)
    weight: Array | None  # of the rows
    bounds: Index  # class k is Z[bounds[k] : bounds[k + 1]], (n_classes + 1,)
    totals: Array  # weights of the classes


@dataclass(frozen=True)
class Directions:
    """Directions of pairs of classes, G of each."""

    pairs: Index  # (n_pairs, 2)
    w: Array  # (n_pairs, G, d)
    basis: Array  # V, (n_pairs, d, r); r may be 0 if no row is left out
    inverse: Array  # 1 / g, (n_pairs, G, r)
    ratio: Array  # of L, before each of its ones but the first, (n_pairs, G, r)
    lost: Array  # rho of both classes, (n_pairs, 2, G); NaN if no row is left out
    distance: Array  # D, (n_pairs, G)
    unit: Array  # of the scores, (n_pairs, G)


@dataclass(frozen=True)
class Distributions:
    """Shares of both classes of pairs with scores up to thresholds."""

    low: Array  # first threshold of each pair, (n_pairs,)
    step: Array
    F: Array  # (n_pairs, 2, G, N_EDGES)


def score_distributions(
    rows: RowsByClass, directions: Directions, smoothing: float = 0.0
) -> Distributions:
    """Return distributions of pairs; `smoothing` is h, or 0 for that of the rows."""
    n_pairs, G = directions.unit.shape
    low, step = np.empty((2, n_pairs))
    F = np.empty((n_pairs, 2, G, N_EDGES))
    if kernels.compiled is None or directions.basis.shape[2] > MAX_FEATURES:
        for p in range(n_pairs):
            low[p], step[p], F[p] = _of_pair(rows, directions, p, smoothing)
        return Distributions(low, step, F)
    inputs = (
        rows.Z,
        rows.weight,
        rows.bounds,
        directions.pairs,
        rows.totals,
        directions.w,
        directions.basis,
        directions.inverse,
        directions.ratio,
        directions.lost,
        directions.distance,
        directions.unit,
    )
    kernels.compiled.score_distributions(
        *map(kernels.ready, inputs), smoothing, low, step, F
    )
    return Distributions(low, step, F)


def _of_pair(
    rows: RowsByClass, directions: Directions, p: int, smoothing: float
) -> tuple[float, float, Array]:
    """Return first threshold, step and distributions of a pair."""
    parts = [left_out_scores(rows, directions, p, k) for k in range(2)]
    n = [w.sum() ** 2 / (w**2).sum() if len(w) else 1.0 for _, w in parts]
    h = [min(smoothing or count ** (-1 / 3), 1.0) for count in n]
    samples = [_sample(scores) for scores, _ in parts]
    deviations = np.array([_deviation(sample) for sample in samples])
    pooled = np.sqrt(np.average(deviations**2, weights=n))
    deviations = np.where(np.array(n) < FEW, pooled, deviations)
    low, step = _range(samples, 3 * (h * deviations).max())
    F = np.empty((2, directions.unit.shape[1], N_EDGES))
    for k, (scores, weight) in enumerate(parts):
        if h[k] < 1:
            mean = (0.5 - k) * directions.distance[p] / directions.unit[p]
            contracted = mean + np.sqrt(1 - h[k] ** 2) * (scores - mean)
            cells = np.clip(np.ceil((contracted - low) / step), 0, N_EDGES)
            share = weight / weight.sum()
            F[k] = [
                _smoothed(
                    np.bincount(cell, share, N_EDGES + 1), h[k] * deviations[k] / step
                )
                for cell in cells.T.astype(np.intp)
            ]
            continue
        mean, deviation, fine = _moments(scores, weight)
        sigma = np.maximum((pooled if n[k] < FEW else deviation) / step, _LEAST_SIGMA)
        z = np.arange(N_EDGES)[:, None] - (mean - low) / step
        F[k] = ((1 - fine) * (k == 0) + fine * ndtr(z / sigma)).T
    return low, step, F


def left_out_scores(
    rows: RowsByClass, directions: Directions, p: int, position: int
) -> tuple[Array, Array]:
    """Return scores (n, G) of a class of pair p without each row, and weights."""
    k = directions.pairs[p, position]
    part = slice(rows.bounds[k], rows.bounds[k + 1])
    z = rows.Z[part]
    weight = np.ones(len(z)) if rows.weight is None else rows.weight[part]
    lost = directions.lost[p, position]
    kept = (weight > 0) & (np.isnan(lost[0]) | (weight < rows.totals[k]))
    z, weight = z[kept], weight[kept]
    A, sign = z @ directions.w[p].T, 1.0 - 2 * position
    D, unit = directions.distance[p], directions.unit[p]
    if np.isnan(lost[0]):
        return (A + 0.5 * sign * D) / unit, weight
    y, ratio, inverse = (
        z @ directions.basis[p],
        directions.ratio[p],
        directions.inverse[p],
    )
    q = y**2 @ inverse.T if not ratio.any() else _squares(y, ratio, inverse)
    e = (weight / (rows.totals[k] - weight))[:, None]
    R = lost * weight[:, None] * (1 + e)
    return scores_without(A, q, e, R, D, sign) / unit, weight


def scores_without(A: Array, q: Array, e: Array, R: Array, D: Any, sign: Any) -> Array:
    """Return scores by rules without the rows, with unit 1; infinite ones are wrong."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        t = (R * A - sign * e) / (1 - R * q)
        left = D - sign * e * A + t * (A - sign * e * q)
        s = (1 + e / 2) * (A + t * q) + sign / 2 * (D + t * A)
        s *= np.sqrt(D / left)
    return np.where((1 - R * q > _NO_RULE) & (left > 0), s, -sign * np.inf)


def _squares(z: Array, ratio: Array, inverse: Array) -> Array:
    """Return sums of squares of the solutions of bidiagonal systems, over pivots."""
    y, sums = np.zeros((2, len(z), len(ratio)))
    for column, r, share in zip(z.T, ratio.T, inverse.T, strict=True):
        y = column[:, None] - r * y
        sums += y**2 * share
    return sums


def _moments(scores: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Return means and deviations of the finite scores, and their share."""
    finite = np.isfinite(scores)
    w, s = weight[:, None] * finite, np.where(finite, scores, 0.0)
    total = w.sum(axis=0)
    divisor = np.where(total > 0, total, 1.0)
    mean = (w * s).sum(axis=0) / divisor
    variance = (w * (s - mean) ** 2).sum(axis=0) / divisor
    return mean, np.sqrt(variance), total / max(weight.sum(), 1e-300)


def _sample(scores: Array) -> Array:
    """Return the finite scores in the two middle directions, sorted."""
    G = scores.shape[1]
    x = scores[:, [(G - 1) // 2, G // 2]]
    return np.sort(x[np.isfinite(x)])


def _deviation(sample: Array) -> float:
    """Return a deviation that does not depend on outliers."""
    n = len(sample)
    if not n:
        return 0.0
    width = (sample[n - 1 - n // 4] - sample[n // 4]) / _IQR
    return float(min(width, sample.std()) if width > 0 else sample.std())


def _range(samples: list[Array], reach: float) -> tuple[float, float]:
    """Return the first threshold and the step."""
    low, high = np.inf, -np.inf
    for x in samples:
        tail = int(_QUANTILE * len(x))
        low, high = min([low, *x[tail:][:1]]), max([high, *x[: len(x) - tail][-1:]])
    if not high > low:
        low = low - 0.5 if np.isfinite(low) else -0.5
        high = low + 1
    margin = max(reach, _MARGIN * (high - low))
    return low - margin, (high - low + 2 * margin) / (N_EDGES - 1)


def _smoothed(mass: Array, sigma: float) -> Array:
    """Return shares up to all edges of a histogram of contracted scores."""
    sigma = max(sigma, _LEAST_SIGMA)
    distance = np.arange(N_EDGES)[:, None] - np.arange(N_EDGES + 1) + 0.5
    reach = int(min(_REACH * sigma, N_EDGES)) + 1
    kernel = np.where(np.abs(distance) < reach, ndtr(distance / sigma), distance > 0)
    smoothed: Array = np.clip(kernel @ mass, 0.0, 1.0)
    return smoothed
