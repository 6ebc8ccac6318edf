"""Pairs with many features, solved in a subspace of few directions.

With c = L^-1 delta, A = L^-1 S1 L^-T and S1 + S2 = L L', the rule of the arc with the
weights a, b is w = L^-T x, x = (b A + a (I - A))^-1 c. Lanczos's method finds
orthonormal q_1 = c / |c|, q_2, ... in which A is a tridiagonal matrix T. The rules in
the span of the first m are those of a pair of m features with the covariances T and
I - T, and the means |c| e_1 and 0.

No other rule with y1, y2 >= 0 is better. Such a rule has F(a, b) >= y1^2/b + y2^2/a
for some a, b > 0, with F = c'x; and any y1, y2 that satisfy this belong to a rule. In
the subspace, x is the iterate of conjugate gradients, and F is too small by a share of
at most rho^2 / mu, where mu is the least eigenvalue of A and I - A, and rho |c| the
residual:

    rho = t_1 ... t_m / det(T + a / (b - a))  for a < b

with the off-diagonal elements t_i of T; for a > b, I - T replaces T. It is largest
where a or b is zero, so two numbers bound it for all these rules. All other rules, with
y1 or y2 below zero, have an error above p1/2 or p2/2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.blas import dnrm2, dsymv, dtrsv
from scipy.linalg.lapack import dpocon, dpotrf

from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.rounding import FARTHEST_MEANS, REGULAR, SOUND_CLASS
from heterolda.solvers.axes import Units
from heterolda.solvers.pencil import Moments
from heterolda.solvers.rules import Rules

# Residual at which to stop. Pairs that need more than _MAX_STEPS, or are not below
# _PROMISING after _FIRST_LOOK steps, are solved in all directions, which is as fast.
_CONVERGED = 1e-11
_MAX_STEPS = 96
_FIRST_LOOK, _PROMISING = 24, 0.1


@dataclass(frozen=True)
class _Space:
    """Subspace of a pair, in which S1 + S2 is the identity."""

    basis: Array  # directions, as rows
    covariance: Array  # covariance of class 1 in this basis
    distance: float  # distance of the means, along the first direction


class KrylovSpaces:
    """Solver of pairs of classes in Krylov subspaces."""

    def __init__(self, covariances: Array, pairs: Index) -> None:
        classes = np.unique(pairs)
        total = np.zeros(covariances.shape[1:])
        for k in classes:
            total += covariances[k]
        self.constant: Mask = total.diagonal() == 0
        self.inverse = np.where(self.constant, 1.0, total.diagonal()) ** -0.5
        # Classes that vary in every direction in which any class does.
        self.sound: Mask = np.zeros(len(covariances), bool)
        total *= SOUND_CLASS
        for k in classes:
            self.sound[k] = self._factor(covariances[k] - total) is not None

    def solve(
        self,
        moments: Moments,
        directly: Callable[[Moments], Rules],
        *,
        any_error: bool,
    ) -> Rules:
        """Return the rules of a batch; call `directly` for pairs without a subspace.

        Also call it if a rule with y1 or y2 below zero may be best, unless `any_error`.
        """
        spaces = self._spaces(moments)
        if not spaces:
            return directly(moments)
        pairs, records = np.array(list(spaces)), list(spaces.values())
        reduced = _reduced(moments.take(pairs), records)
        rules = directly(reduced)
        valid = any_error | (rules.error < 0.5 * reduced.pair_priors.min(axis=1))
        rules = self._in_features(rules, records, moments.take(pairs))
        if valid.all() and len(pairs) == len(moments.pairs):
            return rules
        unsolved = np.setdiff1d(np.arange(len(moments.pairs)), pairs[valid])
        order = np.concatenate([pairs[valid], unsolved]).argsort()
        full = directly(moments.take(unsolved))
        return Rules.concatenate([rules.take(valid), full]).take(order)

    def _spaces(self, moments: Moments) -> dict[int, _Space]:
        """Return the subspaces of pairs that need few directions, by index."""
        pairs, means = moments.pairs, moments.means[moments.pairs]
        variances = np.einsum("kii->ki", moments.covariances)[pairs].sum(axis=1)
        units = Units.of(means, variances)
        usable = self.sound[pairs].all(axis=1) & ~units.differs.any(axis=1)
        spaces = {}
        for p in np.flatnonzero(usable).tolist():
            first, second = (moments.covariances[k] for k in pairs[p])
            factor = self._factor(first + second)
            if factor is None or dpocon(factor, 1.0, uplo="L")[0] * REGULAR < 1:
                continue
            space = _krylov_space(first, factor, units.delta[p], self.inverse)
            if space is not None:
                spaces[p] = space
        return spaces

    def _in_features(
        self, rules: Rules, spaces: list[_Space], moments: Moments
    ) -> Rules:
        """Convert rules from the subspaces of pairs to features."""
        origin = moments.means[moments.pairs[:, 1]]

        def converted(coef: Array, intercept: Array) -> tuple[Array, Array]:
            normals = zip(coef, spaces, strict=True)
            full = np.array([w[: len(s.basis)] @ s.basis for w, s in normals])
            return full, intercept - np.einsum("pi,pi->p", full, origin)

        coef, intercept = converted(rules.coef, rules.intercept)
        fisher_coef, fisher_intercept = converted(*rules.fisher)
        return replace(
            rules,
            coef=coef,
            intercept=intercept,
            fisher_coef=fisher_coef,
            fisher_intercept=fisher_intercept,
            rank=np.full(len(coef), np.count_nonzero(~self.constant)),
            dropped=np.zeros_like(coef),
        )

    def _factor(self, matrix: Array) -> Array | None:
        """Overwrite a matrix with its Cholesky factor, in units of the features."""
        matrix *= self.inverse[:, None]
        matrix *= self.inverse
        np.einsum("ii->i", matrix)[self.constant] = 1.0
        # The transpose of a symmetric matrix is in Fortran order without a copy.
        factor, info = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        return None if info else factor


def _krylov_space(
    first: Array, factor: Array, delta: Array, inverse: Array
) -> _Space | None:
    """Find the subspace of a pair by Lanczos's method; None if it takes many steps."""
    c = dtrsv(factor, delta * inverse, lower=1)
    distance = dnrm2(c)
    if not 0 < distance < FARTHEST_MEANS:
        return None
    Q, basis = np.empty((2, _MAX_STEPS, len(c)))
    T = np.zeros((_MAX_STEPS + 1, _MAX_STEPS + 1))
    # Last pivots of T and I - T, and residuals where a or b is zero.
    pivots, residuals = np.full(2, np.inf), np.ones(2)
    q, off = c / distance, 0.0
    for m in range(1, _MAX_STEPS + 1):
        Q[m - 1] = q
        w = basis[m - 1] = dtrsv(factor, q, lower=1, trans=1) * inverse
        z = dtrsv(factor, dsymv(1.0, first.T, w, lower=1) * inverse, lower=1)
        variance = 0.0
        for _ in range(2):  # the second time removes rounding errors
            along = Q[:m] @ z
            z -= along @ Q[:m]
            variance += along[-1]
        pivots = np.array([variance, 1 - variance]) - off**2 / pivots
        off = dnrm2(z)
        residuals *= off / pivots
        T[m - 1, m - 1], T[m - 1, m], T[m, m - 1] = variance, off, off
        worst = residuals.max()
        if worst < _CONVERGED:
            return _Space(basis[:m], T[:m, :m], distance)
        if m == _FIRST_LOOK and worst > _PROMISING:
            return None
        q = z / off
    return None


def _reduced(moments: Moments, spaces: list[_Space]) -> Moments:
    """Return the pairs in their subspaces, with the second mean at the origin."""
    n, m = len(spaces), max(len(space.basis) for space in spaces)
    means, covariances = np.zeros((n, 2, m)), np.zeros((n, 2, m, m))
    for p, space in enumerate(spaces):
        size = len(space.basis)
        # Pad with features that do not separate, and vary as much as the first.
        T = covariances[p, 0]
        T[...] = space.covariance[0, 0] * np.eye(m)
        T[:size, :size] = space.covariance
        covariances[p, 1] = np.eye(m) - T
        means[p, 0, 0] = space.distance
    return Moments(
        means.reshape(-1, m),
        covariances.reshape(-1, m, m),
        moments.pair_priors.ravel(),
        moments.weights[moments.pairs].ravel(),
        np.arange(2 * n).reshape(-1, 2),
    )
