"""The best of many trial rules (a S2 + b S1)^-1 delta on each pair's pencil."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from heterolda.foundations.types import Array
from heterolda.solvers.hyperplanes import Hyperplanes, Status
from heterolda.solvers.pencil import Pencil
from heterolda.solvers.threshold import bayes_error

_BATCH_BYTES = 1 << 20


def best_trial(
    pencil: Pencil, a: Array, b: Array, extra: list[tuple[Array, float, float]]
) -> Hyperplanes:
    """Choose, for each pair, the trial (a, b) of least error; the first of equals.

    All of (10), (11) and (12) are w = (a S2 + b S1)^-1 delta with the threshold that
    divides D in the ratio of a sigma2^2 to b sigma1^2 (13); for a regular matrix
    D = a sigma2^2 + b sigma1^2, which makes it w.m1 - b sigma1^2 as in (10), (11).

    The `extra` trials (u, a, b) are some whose coordinates are known already; they come
    first. The rules are scaled so that the weights a and b sum to one.
    """
    n_pairs = len(pencil.c)
    u, t = np.zeros_like(pencil.c), np.full(n_pairs, np.nan)
    error = np.full(n_pairs, np.inf)
    # A trial whose matrix is singular by chance gives infinities: it cannot win.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for k in range(n_pairs):
            for trials, of_2, of_1 in _batches(pencil, k, a, b, extra):
                errors, thresholds = _errors(pencil, k, trials, of_2, of_1)
                best = np.where(np.isnan(errors), np.inf, errors).argmin()
                if errors[best] < error[k]:
                    total = of_2[best] + of_1[best]
                    size = total if total > 0 else abs(of_2[best]) + abs(of_1[best])
                    u[k], t[k] = size * trials[best], size * thresholds[best]
                    error[k] = errors[best]
    return Hyperplanes.from_coordinates(
        pencil,
        u,
        t,
        error,
        status=np.full(n_pairs, Status.BEST_TRIAL, np.intp),
        n_iter=np.full(n_pairs, len(a) + len(extra), np.intp),
    )


def _batches(
    pencil: Pencil, k: int, a: Array, b: Array, extra: list[tuple[Array, float, float]]
) -> Iterator[tuple[Array, Array, Array]]:
    """Coordinates of trials of pair k, with their weights a and b."""
    if extra:
        known, of_2, of_1 = zip(*extra, strict=True)
        yield np.array([one[k] for one in known]), np.array(of_2), np.array(of_1)
    step = max(1, _BATCH_BYTES // (8 * max(1, len(pencil.c[k]))))
    for start in range(0, len(a), step):
        some = slice(start, start + step)
        g = b[some, None] * pencil.alpha0[k] + a[some, None] * pencil.beta0[k]
        yield pencil.c[k] / g, a[some], b[some]


def _errors(
    pencil: Pencil, k: int, u: Array, a: Array, b: Array
) -> tuple[Array, Array]:
    """The error and the threshold t of each rule of pair k."""
    square = u * u
    D = np.einsum("mi,i->m", u, pencil.c[k])
    variance1 = np.einsum("mi,i->m", square, pencil.alpha[k])
    variance2 = np.einsum("mi,i->m", square, pencil.beta[k])
    share1, share2 = b * variance1, a * variance2
    t = D * (share2 / (share1 + share2))  # (13)
    deviations = np.sqrt(variance1), np.sqrt(variance2)
    return bayes_error(t, D, *deviations, *pencil.priors[k]), t
