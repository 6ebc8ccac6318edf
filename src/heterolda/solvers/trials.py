"""The best of many trial rules (a S2 + b S1)^-1 delta on each pair's pencil."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heterolda.hyperplanes import Hyperplanes, Status
from heterolda.pencil import Pencil, bayes_error

Array = NDArray[np.float64]

_BATCH_BYTES = 1 << 22


def best_trial(
    pencil: Pencil, a: Array, b: Array, extra: list[tuple[Array, float, float]]
) -> Hyperplanes:
    """Choose, for each pair, the trial (a, b) of least error.

    All of (10), (11) and (12) are w = (a S2 + b S1)^-1 delta with the threshold that
    divides D in the ratio of a sigma2^2 to b sigma1^2 (13); for a regular matrix
    D = a sigma2^2 + b sigma1^2, which makes it w.m1 - b sigma1^2 as in (10), (11).

    Parameters
    ----------
    pencil : Pencil
        The pairs.
    a, b : ndarray of shape (n_trials,)
        Weights of S2 and S1, tried on every pair.
    extra : list of (ndarray of shape (n_pairs, n_features), float, float)
        Further trials (u, a, b) whose coordinates are known already.

    Returns
    -------
    Hyperplanes
        The rules, each scaled so that its weights a and b sum to one. The first
        trial wins a tie.
    """
    n_pairs, d = pencil.c.shape
    best_u = np.zeros((n_pairs, d))
    best_t = np.full(n_pairs, np.nan)
    best_error = np.full(n_pairs, np.inf)

    def consider(u: Array, a: Array, b: Array) -> None:
        """Update the best with trials u of shape (n_pairs, n_trials, d)."""
        p1, p2 = pencil.priors.T[:, :, None]
        D, sigma1, sigma2 = pencil.project(u)
        share2, share1 = a * sigma2**2, b * sigma1**2
        t = D * (share2 / (share1 + share2))
        error = bayes_error(t, D, sigma1, sigma2, p1, p2)
        error[~np.isfinite(error)] = np.inf
        first = np.argmin(error, axis=1)
        rows = np.arange(n_pairs)
        better = error[rows, first] < best_error
        pick = rows[better], first[better]
        total = a[pick[1]] + b[pick[1]]
        size = np.where(total > 0, total, np.abs(a[pick[1]]) + np.abs(b[pick[1]]))
        best_u[better] = u[pick] * size[:, None]
        best_t[better] = t[pick] * size
        best_error[better] = error[pick]

    # A trial whose matrix is singular by chance gives infinities: it cannot win.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for u, one_a, one_b in extra:
            consider(u[:, None, :], np.array([one_a]), np.array([one_b]))
        step = max(1, _BATCH_BYTES // (8 * max(1, n_pairs * d)))
        for start in range(0, len(a), step):
            part_a, part_b = a[start : start + step], b[start : start + step]
            g = part_b[:, None] * pencil.alpha0[:, None, :]
            g += part_a[:, None] * pencil.beta0[:, None, :]
            consider(pencil.c[:, None, :] / g, part_a, part_b)
    return Hyperplanes.from_coordinates(
        pencil,
        best_u,
        best_t,
        best_error,
        status=np.full(n_pairs, Status.BEST_TRIAL, np.intp),
        n_iter=np.full(n_pairs, len(a) + len(extra), np.intp),
    )
