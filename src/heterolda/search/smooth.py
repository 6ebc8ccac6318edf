r"""Anchored refinement of a linear rule by a smooth count of its errors.

Pure functions on arrays, for one pair of classes. Row j has the margin m_j, positive on
the right side of the rule, in units of the median of \|m_j\| at the start. The
refinement moves from the start to a minimum of

    mean_j loss(m_j / h) + lambda mean_j (m_j - start_j)^2,
    lambda = kappa (r + 1) / (n - r - 1),

where r is the rank of the data and all means are weighted. A rule with r + 1
coefficients moves the margins of new rows more than those of the n rows that it was
fitted to, by n / (n - r - 1) in the mean of squares. So the anchor says how far those
of new rows may move, and with n <= r + 1 the rule stays where it starts.

The loss "error" is the logistic step 1 / (1 + exp(x)), so that the first term is the
kernel estimate of width h of the error; "logistic" is log(1 + exp(-x)), which is
convex.

In coordinates in which the rows (1, x) have the unit matrix as their second moment, the
anchor is lambda times the squared distance from the start. So everything is invariant
to linear maps of the features, and the problems are well conditioned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.types import Array, Index
from heterolda.search.lbfgs import minimise

# Directions with less than this share of the variance, all features being scaled to
# variance one, are rounding errors.
_NO_VARIANCE = 1e-10
# A feature that varies less than this, relative to its size, is constant.
_CONSTANT = 1e-14


def smooth_step(x: Array) -> tuple[Array, Array]:
    """The logistic step 1 / (1 + exp(x)), and its derivative."""
    q = _expit(x)
    return q, q * (q - 1)


def logistic_loss(x: Array) -> tuple[Array, Array]:
    """The logistic loss log(1 + exp(-x)), and its derivative."""
    q = _expit(x)
    value = np.log(np.maximum(q, 1 - q))
    value += np.minimum(x, 0)
    return np.negative(value, out=value), np.negative(q, out=q)


def _expit(x: Array) -> Array:
    """The step 1 / (1 + exp(x))."""
    with np.errstate(over="ignore"):
        q = np.exp(x)
    q += 1
    return np.reciprocal(q, out=q)


# Of each loss the function, the largest second derivative and the customary width.
LOSSES: dict[str, tuple[Callable[[Array], tuple[Array, Array]], float, float]] = {
    "error": (smooth_step, 1 / (6 * np.sqrt(3)), 0.25),
    "logistic": (logistic_loss, 0.25, 0.5),
}


@dataclass(frozen=True)
class Coordinates:
    """Rows in coordinates of unit second moment: (1, ((x - centre) / size - mean) B).

    Attributes
    ----------
    Z : ndarray of shape (n, r + 1)
        The rows; the first column is one.
    centre, size, mean : ndarray of shape (d,)
        Middle and half of the range of each feature, and mean of the features so
        scaled. The size of a constant feature is infinite.
    basis : ndarray of shape (d, r)
        B.
    """

    Z: Array
    centre: Array
    size: Array
    mean: Array
    basis: Array

    @classmethod
    def from_rows(cls, X: Array, weight: Array) -> Coordinates:
        """Whiten rows with weights that sum to one."""
        low, high = X.min(axis=0), X.max(axis=0)
        centre, size = low / 2 + high / 2, high / 2 - low / 2
        size[size <= _CONSTANT * np.abs(centre)] = np.inf
        Z = (X - centre) / size
        mean = weight @ Z
        Z -= mean
        moments = (Z.T * weight) @ Z
        deviation = np.sqrt(np.diag(moments))
        deviation[deviation == 0] = 1.0
        values, vectors = np.linalg.eigh(moments / np.outer(deviation, deviation))
        kept = values > _NO_VARIANCE * max(values[-1], _NO_VARIANCE)
        basis = vectors[:, kept] / (deviation[:, None] * np.sqrt(values[kept]))
        Z = np.column_stack([np.ones(len(Z)), Z @ basis])
        return cls(Z, centre, size, mean, basis)

    def rules(self, u: Array) -> tuple[Array, Array]:
        """Normals (n_rules, d) and offsets (n_rules,) from coordinates of rules."""
        normals = u[:, 1:] @ self.basis.T
        offsets = u[:, 0] - normals @ self.mean
        normals /= self.size
        return normals, offsets - normals @ self.centre


def median_size(margins: Array, weight: Array) -> float:
    """Weighted median of the sizes of margins; 1 if that is zero."""
    sizes = np.abs(margins)
    order = np.argsort(sizes)
    total = np.cumsum(weight[order])
    median = sizes[order[np.searchsorted(total, 0.5 * total[-1] * (1 - 1e-12))]]
    return float(median) if median > 0 else 1.0


def objective(
    Z: Array,
    starts: Array,
    weights: Array,
    loss: NDArray[np.str_],
    h: Array,
    penalty: Array,
    which: Index,
    u: Array,
    active: Index,
) -> tuple[Array, Array]:
    """Values and gradients, at u, of the problems `active` of several.

    `Z`, of shape (n_starts, n, r + 1), has for each start the coordinates of its rows
    times +1 in the second class and -1 in the first. `starts` and `weights`, of shape
    (n_starts, n), have the margins at the starts, in their units, and the weights of
    the rows, which sum to one; rows of weight zero only fill up. Each problem has a
    loss, a width `h`, a factor lambda of its anchor, `penalty`, and in `which`, which
    ascends, its start. `u`, of shape (n_active, r + 1), has shifts from the start.
    """
    k, h, penalty = which[active], h[active, None], penalty[active]
    ends = np.searchsorted(k, np.arange(len(Z) + 1)).tolist()
    parts = [(rows, slice(*some)) for rows, some in zip(Z, pairwise(ends), strict=True)]
    m = starts[k]
    for rows, some in parts:
        m[some] += u[some] @ rows.T
    m *= 1 / h
    value, slope = np.empty_like(m), np.empty_like(m)
    for name, (function, *_) in LOSSES.items():
        own = loss[active] == name
        if own.any():
            value[own], slope[own] = function(m[own])
    w = weights[k]
    slope *= w
    total = np.einsum("pn,pn->p", value, w)
    total += penalty * np.einsum("pi,pi->p", u, u)
    gradient = np.empty_like(u)
    for rows, some in parts:
        np.matmul(slope[some], rows, out=gradient[some])
    return total, gradient / h + 2 * penalty[:, None] * u


def refine(
    Z: Array,
    starts: Array,
    weights: Array,
    loss: NDArray[np.str_],
    h: Array,
    penalty: Array,
    which: Index,
    *,
    tol: float = 1e-9,
    max_iter: int = 300,
    report: Callable[[Array], object] | None = None,
) -> Array:
    """Shifts of rules from their starts to a minimum of the objective.

    They have shape (n_problems, r + 1). The problems of the loss "error" are not
    convex, and the minimum is the one that descent from the start leads to.
    """
    problem = partial(objective, Z, starts, weights, loss, h, penalty, which)
    curvature = np.array([LOSSES[name][1] for name in loss]) / h**2 + 2 * penalty
    zero = np.zeros((len(which), Z.shape[2]))
    return minimise(problem, zero, curvature, tol=tol, max_iter=max_iter, report=report)
