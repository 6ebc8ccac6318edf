"""Intervals of 95 % for shares, of independent rows or of rows in groups."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from heterolda.foundations.arrays import Array

_NORMAL = 1.959964


def critical_value(n_groups: int) -> float:
    """Return the half width in standard errors: normal without groups, or Student's."""
    return float(stdtrit(n_groups - 1, 0.975)) if n_groups > 1 else _NORMAL


def wilson(shares: Array, n: Array, z: Array | float = _NORMAL) -> Array:
    """Return Wilson's intervals of shares among n rows, (..., 2); (0, 1) if n is 0."""
    n = np.where(n > 0, n, np.nan)
    center = shares + z * z / (2 * n)
    half = z * np.sqrt(shares * (1 - shares) / n + z * z / (4 * n * n))
    ends = np.stack([center - half, center + half], axis=-1)
    ends = ends / (1 + z * z / n)[..., None]
    return np.clip(np.where(np.isnan(ends), [0.0, 1.0], ends), 0.0, 1.0)


def share_intervals(
    parts: Array,
    wholes: Array,
    groups: tuple[Array, Array] | None = None,
    share: float = 1.0,
) -> Array:
    r"""Return the intervals of the shares `parts` / `wholes`, of shape (k, 2).

    `groups` has parts and wholes of each group, both (n_groups, k). Rows of a group are
    alike, so that n rows are worth

    .. math::
        \frac{p (1 - p)}{v}, \quad
        v = \frac{g}{g - 1} \frac{\sum_j (a_j - p b_j)^2}{(\sum_j b_j)^2}

    independent ones, where :math:`a_j` of the :math:`b_j` rows of group j count, and g
    groups have any; if all of them or none count, g. Wilson's interval for so many rows
    has Student's quantile.

    Tests of fits that share rows are not independent: only a `share` of them counts.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(wholes > 0, parts / wholes, 0.0)
        if groups is None:
            return wilson(shares, share * wholes)
        n_groups = np.count_nonzero(groups[1], axis=0)
        variance = ((groups[0] - shares * groups[1]) ** 2).sum(axis=0) / wholes**2
        worth = shares * (1 - shares) / (variance * n_groups / (n_groups - 1))
    constant = (shares <= 0) | (shares >= 1)
    worth = np.where(constant, n_groups, np.fmin(worth, wholes))
    # A single group says nothing about others.
    z = np.array([critical_value(int(g)) for g in n_groups])
    return wilson(shares, share * np.where(n_groups > 1, worth, 0), z)
