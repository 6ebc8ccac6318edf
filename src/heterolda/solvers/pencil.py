"""Simultaneous diagonalization of a batch of pairs of covariances.

Conventions
-----------
For every pair, class 1 and class 2 have means m1, m2, covariances S1, S2 and priors
p1, p2; delta = m1 - m2. A rule (w, w0) decides class 1 when w.x >= w0. The pencil is
a basis V of the space that both classes span, with

    V'(S1 + S2)V = I,   V'S1 V = diag(alpha),   V'S2 V = diag(beta),   c = V'delta

and alpha + beta = 1. Any w in that space is V u; its coordinates u give

    D = w.delta = c.u,   sigma1^2 = sum alpha u^2,   sigma2^2 = sum beta u^2

so in coordinates (a S2 + b S1)^-1 delta is c / (b alpha + a beta), which costs O(d)
for any (a, b). All methods of the paper build on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.rounding import (
    EPS,
    FARTHEST_MEANS,
    RANK_TOLERANCE,
    REGULAR,
    VARIANCE_FLOOR,
    ZERO_SUM,
)
from heterolda.solvers.axes import PrincipalAxes, Units, scaled_by


@dataclass(frozen=True)
class Pencil:
    """Batch of pairs in diagonal form (see the module's conventions).

    Attributes
    ----------
    priors, weights : ndarray of shape (n_pairs, 2)
        Priors of the two classes, summing to one; total weights n1 and n2.
    means : ndarray of shape (n_pairs, 2, n_features)
        Class means m1 and m2.
    covariances : ndarray of shape (n_pairs, 2, n_features, n_features)
        S1 and S2, as given.
    basis : ndarray of shape (n_pairs, n_features, n_features)
        V, with zero columns beyond the rank of S1 + S2.
    alpha, beta : ndarray of shape (n_pairs, n_features)
        Diagonal forms, with vanishing variances raised to `VARIANCE_FLOOR`.
    alpha0, beta0 : ndarray of shape (n_pairs, n_features)
        Diagonal forms before raising: exactly zero where a class has no variance.
    c : ndarray of shape (n_pairs, n_features)
        V'delta; zero beyond the rank.
    separation : ndarray of shape (n_pairs, n_features)
        A w with w.delta = 2 and no variance in either class, or zeros.
    dropped : ndarray of shape (n_pairs, n_features)
        A w along which the means differ but the variance is lost to rounding, so that
        it is outside the span of the basis; or zeros. It is scaled to a variance of
        about one, as far as that is known.
    floored : ndarray of bool of shape (n_pairs, 2)
        Whether a variance of class 1 or of class 2 was raised to `VARIANCE_FLOOR`.
    blurred : ndarray of bool of shape (n_pairs,)
        Whether rounding affects the errors so much that nothing can be certified.
    """

    priors: Array
    weights: Array
    means: Array
    covariances: Array
    basis: Array
    alpha: Array
    beta: Array
    alpha0: Array
    beta0: Array
    c: Array
    separation: Array
    dropped: Array
    floored: Mask
    blurred: Mask

    @classmethod
    def from_moments(
        cls,
        means: Array,
        covariances: Array,
        priors: Array,
        weights: Array,
        *,
        moore_penrose: bool = False,
        axes: PrincipalAxes | None = None,
    ) -> Pencil:
        """Diagonalize a batch of pairs, using their principal axes if given.

        Features are first scaled to unit variance, so that the result does not depend
        on units. With `moore_penrose`, the basis of a singular S1 + S2 spans its range
        in the given units instead, and V diag(1 / (b alpha + a beta)) V' is the
        Moore-Penrose inverse of a S2 + b S1.
        """
        units = Units.of(means, np.einsum("pkii->pi", covariances))
        constant, scale = units.constant, units.scale
        scaled = scaled_by(covariances, scale)
        total = scaled.sum(axis=1)
        whitening, ill = np.empty_like(total), np.ones(len(total), bool)
        if axes is None:
            whitening, ill = _whiten_regular(total.copy(), constant)
            ill |= units.differs.any(axis=1)
        rank = np.count_nonzero(~constant, axis=1)
        separation, dropped = np.zeros((2, *scale.shape))
        blurred = np.zeros(len(scale), bool)
        if ill.any():
            if axes is None:
                axes = PrincipalAxes.of(total[ill], units.take(ill), weights[ill])
            blurred[ill] = axes.blurred()
            resolved, rank[ill] = axes.whitening(), axes.rank
            separation[ill], dropped[ill] = axes.separation(), axes.dropped()
            # Dropping constant features is the Moore-Penrose inverse in any units.
            redo = rank[ill] < np.count_nonzero(~constant[ill], axis=1)
            if moore_penrose and redo.any():
                pairs = np.flatnonzero(ill)[redo]
                scale = scale.copy()
                scale[pairs] = scale[pairs].max(axis=1, keepdims=True)
                scaled[pairs] = scaled_by(covariances[pairs], scale[pairs])
                resolved[redo] = _moore_penrose(scaled[pairs], rank[pairs])
                rank[pairs] = np.count_nonzero(resolved[redo].any(axis=1), axis=1)
            whitening[ill] = np.where(constant[ill, :, None], 0.0, resolved)

        basis, alpha, beta = _diagonalize(scaled, whitening, rank)
        c = ((units.delta / scale)[:, None, :] @ basis)[:, 0]
        far = np.abs(c).max(axis=1) > FARTHEST_MEANS
        if far.any():
            separation[far] = _along(c[far], basis[far]) / scale[far]
            c[far] = 0.0
        # Usually no variance is small, and nothing needs to be raised.
        alpha0, beta0 = alpha, beta
        floored = np.zeros((len(c), 2), bool)
        if min(alpha.min(), beta.min()) <= VARIANCE_FLOOR or (rank < len(c.T)).any():
            noise = rounding_noise(scaled, means / scale[:, None], basis)
            zero = np.stack([alpha, beta], axis=1) <= noise
            used: Mask = np.any(basis, axis=1)
            floored = np.any(zero & used[:, None], axis=2)
            alpha0, beta0 = _raised(alpha, beta, zero, 0.0, rank)
            alpha, beta = _raised(alpha, beta, zero, VARIANCE_FLOOR, rank)
        separation[constant & ~units.differs] = 0.0
        separable = separation.any(axis=1, keepdims=True)
        return cls(
            priors=priors,
            weights=weights,
            means=means,
            covariances=covariances,
            basis=basis * (1 / scale)[:, :, None],
            alpha=alpha,
            beta=beta,
            alpha0=alpha0,
            beta0=beta0,
            c=c,
            separation=separation,
            dropped=np.where(separable, 0.0, dropped),
            floored=floored & ~separable,
            blurred=blurred & ~separable[:, 0],
        )

    @property
    def log_tau(self) -> Array:
        """Return ln(p2 / p1), of shape (n_pairs,)."""
        log_priors = np.log(self.priors)
        return log_priors[:, 1] - log_priors[:, 0]

    @property
    def rank(self) -> Index:
        """Return the number of directions in which either class of each pair varies."""
        rank: Index = np.count_nonzero(self.basis.any(axis=1), axis=1)
        return rank

    @property
    def fisher_coordinates(self) -> Array:
        """Return coordinates of Fisher's w for the pooled covariance of each pair."""
        with np.errstate(divide="ignore", invalid="ignore"):
            share = self.weights / self.weights.sum(axis=1, keepdims=True)
            g = share[:, :1] * self.alpha0 + share[:, 1:] * self.beta0
            u: Array = self.c / g
        return u

    def project(self, u: Array) -> tuple[Array, Array, Array]:
        """Return D and the deviations sigma1, sigma2 along w = V u."""
        square = u * u
        return (
            np.einsum("p...i,pi->p...", u, self.c),
            np.sqrt(np.einsum("p...i,pi->p...", square, self.alpha)),
            np.sqrt(np.einsum("p...i,pi->p...", square, self.beta)),
        )


@dataclass(frozen=True)
class Moments:
    """Moments of Gaussian classes, and the pairs of classes to separate."""

    means: Array  # (n_classes, d)
    covariances: Array  # (n_classes, d, d)
    priors: Array  # (n_classes,)
    weights: Array  # (n_classes,)
    pairs: Index  # indices of the first and the second class, (n_pairs, 2)
    shares: Array | None = None  # priors times costs, replacing the priors of pairs

    @property
    def pair_priors(self) -> Array:
        """Return the priors of each pair, summing to one, of shape (n_pairs, 2)."""
        shares = self.priors[self.pairs] if self.shares is None else self.shares
        priors: Array = shares / shares.sum(axis=1, keepdims=True)
        return priors

    def take(self, index: Index | slice) -> Moments:
        """Select pairs."""
        shares = None if self.shares is None else self.shares[index]
        return replace(self, pairs=self.pairs[index], shares=shares)

    def axes(self) -> PrincipalAxes:
        """Return the principal axes of the pairs."""
        covariances = self.covariances[self.pairs]
        units = Units.of(self.means[self.pairs], np.einsum("pkii->pi", covariances))
        total = scaled_by(covariances, units.scale).sum(axis=1)
        return PrincipalAxes.of(total, units, self.weights[self.pairs])

    def pencil(
        self, *, moore_penrose: bool = False, axes: PrincipalAxes | None = None
    ) -> Pencil:
        """Diagonalize the pairs, using their principal axes if given."""
        return Pencil.from_moments(
            self.means[self.pairs],
            self.covariances[self.pairs],
            self.pair_priors,
            self.weights[self.pairs],
            moore_penrose=moore_penrose,
            axes=axes,
        )


def _whiten_regular(total: Array, constant: Mask) -> tuple[Array, Mask]:
    """Return a basis in which regular S1 + S2 is the identity, and a mask of others.

    It is the transposed inverse of the Cholesky factor, with zero columns for constant
    features.
    """
    if constant.any():
        np.einsum("pii->pi", total)[constant] = 1.0
    factor, ill = _cholesky(total)
    inverse: Array = np.linalg.inv(factor).astype(np.float64, copy=False)
    # The sum of squares is the trace of the inverse of S1 + S2.
    ill |= np.einsum("pij,pij->p", inverse, inverse) > REGULAR
    if constant.any():
        inverse *= ~constant[:, :, None]
    return inverse.mT, ill


def _cholesky(matrices: Array) -> tuple[Array, Mask]:
    """Return Cholesky factors, and a mask of failures, which get the identity."""
    try:
        factors: Array = np.linalg.cholesky(matrices).astype(np.float64, copy=False)
        return factors, np.zeros(len(matrices), bool)
    except np.linalg.LinAlgError:  # at least one matrix is not definite
        if len(matrices) == 1:
            return np.eye(matrices.shape[1])[None], np.ones(1, bool)
        a, b = (_cholesky(half) for half in np.array_split(matrices, 2))
        return np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])


def _moore_penrose(scaled: Array, rank: Index) -> Array:
    """Return a basis in which S1 + S2, in given units, is the identity on its range."""
    variances, axes = np.linalg.eigh(scaled.sum(axis=1))
    d = scaled.shape[-1]
    keep = variances > RANK_TOLERANCE * variances[:, -1:]
    keep &= np.arange(d) >= d - rank[:, None]
    inverse_root = np.zeros_like(variances)
    inverse_root[keep] = variances[keep] ** -0.5
    whitening: Array = axes * inverse_root[:, None, :]
    return whitening


def _diagonalize(
    scaled: Array, whitening: Array, rank: Index
) -> tuple[Array, Array, Array]:
    """Return the basis V in scaled units, alpha and beta; zero beyond the rank."""
    first = whitening.mT @ scaled[:, 0] @ whitening
    empty = np.arange(first.shape[1]) >= rank[:, None]
    if empty.any():
        # An eigenvalue outside [0, 1] sorts the null space last, unmixed.
        np.einsum("pii->pi", first)[...] += 2.0 * ~whitening.any(axis=1)
    basis = whitening @ np.linalg.eigh(first)[1]
    if empty.any():
        basis *= ~empty[:, None, :]
    # Rayleigh quotients with the matrices themselves keep the relative precision of
    # small alpha and beta, which the eigenvalues and 1 - alpha have lost.
    quotient = np.einsum("pkij,pij->pkj", scaled @ basis[:, None], basis)
    np.maximum(quotient, 0.0, out=quotient)
    norm = quotient.sum(axis=1)
    norm[norm == 0] = 1.0
    basis /= np.sqrt(norm)[:, None, :]
    return basis, quotient[:, 0] / norm, quotient[:, 1] / norm


def rounding_noise(scaled: Array, position: Array, basis: Array) -> Array:
    """Bound the rounding errors of v'S_k v, including those of data far from zero."""
    d = basis.shape[1]
    rounding = (64 + 4 * d) * EPS * np.einsum("pkii->pki", scaled)
    rounding += np.minimum(4 * EPS * np.abs(position), 1.0) ** 2
    noise: Array = np.clip(rounding @ basis**2, ZERO_SUM, VARIANCE_FLOOR)
    return noise


def _along(c: Array, basis: Array) -> Array:
    """Return w = V c = (S1 + S2)^-1 delta, scaled so that w.delta = 2."""
    size = np.max(np.abs(c), axis=1, keepdims=True)
    unit = c / size
    w: Array = (basis @ unit[:, :, None])[:, :, 0]
    w *= 2 / (size * np.sum(unit**2, axis=1, keepdims=True))
    return w


def _raised(
    alpha: Array, beta: Array, zero: Mask, low: float, rank: Index
) -> tuple[Array, Array]:
    """Raise zero variances to `low`; lower those of the other class to 1 - `low`."""

    def raised(values: Array, zero: Mask, one: Mask) -> Array:
        values = np.where(zero, low, np.where(one, 1 - low, values))
        # Beyond the rank, repeating the first value moves no end of an arc.
        first = np.where(rank > 0, values[:, 0], 0.5)[:, None]
        return np.where(np.arange(values.shape[1]) < rank[:, None], values, first)

    zero1, zero2 = zero[:, 0], zero[:, 1]
    return raised(alpha, zero1, zero2), raised(beta, zero2, zero1)
