"""Smoothed distributions of scores, one row at a time."""

from math import ceil, erf, sqrt

import numpy as np

N_EDGES = 161


def phi(x):
    return 0.5 * (1 + erf(x / sqrt(2)))


def moments(s, w):
    """Mean and variance of finite scores, their share, and the number of rows."""
    finite = np.isfinite(s)
    n = w.sum() ** 2 / (w @ w)
    if not finite.any():
        return 0.0, 0.0, 0.0, n
    mean = np.average(s[finite], weights=w[finite])
    variance = np.average((s[finite] - mean) ** 2, weights=w[finite])
    return mean, variance, w[finite].sum() / w.sum(), n


def smoothed(scores, weights, centers, smoothing=0.0):
    """First threshold, step and distributions of the scores (n, G) of two classes.

    `centers` (2, G) are the scores of the class means.
    """
    h, G, low, high = [], scores[0].shape[1], np.inf, -np.inf
    spread, counts = [], []
    for s, w in zip(scores, weights, strict=True):
        counts.append(w.sum() ** 2 / (w @ w))
        h.append(min(smoothing or counts[-1] ** (-1 / 3), 1))
        x = s[:, [(G - 1) // 2, G // 2]]
        x = sorted(x[np.isfinite(x)])
        n = len(x)
        if not n:
            spread.append(0.0)
            continue
        spread.append(np.std(x))
        if x[n - 1 - n // 4] > x[n // 4]:
            spread[-1] = min(np.std(x), (x[n - 1 - n // 4] - x[n // 4]) / 1.349)
        low, high = min(low, x[n // 200]), max(high, x[n - 1 - n // 200])
    pooled = sqrt(np.average(np.square(spread), weights=counts))
    spread = [pooled if n < 5 else sd for n, sd in zip(counts, spread, strict=True)]
    reach = 3 * max(h[0] * spread[0], h[1] * spread[1])
    margin = max(reach, 0.05 * (high - low))
    low, step = low - margin, (high - low + 2 * margin) / 160
    F = np.zeros((2, G, N_EDGES))
    for g, k in np.ndindex(G, 2):
        edges, share = np.arange(N_EDGES), weights[k] / weights[k].sum()
        if h[k] == 1:
            mean, variance, finite, n = moments(scores[k][:, g], weights[k])
            sigma = max((pooled if n < 5 else sqrt(variance)) / step, 0.3)
            F[k, g] = [
                finite * phi((low + b * step - mean) / step / sigma) for b in edges
            ]
            F[k, g] += (k == 0) * (1 - finite)
            continue
        center, c = centers[k][g], sqrt(1 - h[k] ** 2)
        x = (center + c * (scores[k][:, g] - center) - low) / step
        sigma = max(h[k] * spread[k] / step, 0.3)
        for cell, q in zip(np.clip(x, 0, N_EDGES), share, strict=True):
            F[k, g] += [q * phi((b - ceil(cell) + 0.5) / sigma) for b in edges]
    return low, step, F
