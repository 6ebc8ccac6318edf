"""Simultaneous diagonalisation of a batch of pairs of covariances.

Conventions
-----------
For every pair, class 1 and class 2 have means m1, m2, covariances S1, S2 and priors
p1, p2; delta = m1 - m2. A rule (w, w0) decides class 1 when w.x >= w0. The pencil is
a basis V of the space that both classes span, with

    V'(S1 + S2)V = I,   V'S1 V = diag(alpha),   V'S2 V = diag(beta),   c = V'delta

and alpha + beta = 1. Any w in that space is V u; its coordinates u give

    D = w.delta = c.u,   sigma1^2 = sum alpha u^2,   sigma2^2 = sum beta u^2

so (a S2 + b S1)^-1 delta = V (c / (b alpha + a beta)) costs O(d) for any (a, b), and
with it every method of the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from heterolda.foundations.types import Array, Index, Mask

EPS = float(np.finfo(float).eps)
# Directions in which S1 + S2, with unit diagonal, has an eigenvalue below this share
# of the largest are rounding noise (float32 data that is linearly dependent leaves
# 1e-15) and do not count. Conditions up to 1e12 stay untouched.
RANK_TOLERANCE = 1e-13
# Up to this trace of the inverse of S1 + S2, with unit diagonal, the condition is so
# moderate that a Cholesky factor does all that the eigenvectors do.
_REGULAR = 1e8
# A class variance that cannot be told from zero is raised to this share of
# S1 + S2. The pair with raised variances is the model from there on.
VARIANCE_FLOOR = 1e-7
# Means that differ by this many standard deviations, where the deviation is itself
# rounding noise, differ for real; Phi(-20) is below any error of interest.
_REAL_SEPARATION = 40.0
# Means that differ by less than this many standard deviations are equal, if rounding
# may have made the difference: a million million rows could not tell it from zero.
_NO_DIFFERENCE = 1e-6
# Means further apart than this, in standard deviations, are separated for good: the
# error is zero long before, and squares would overflow.
_FARTHEST = 1e50


@dataclass(frozen=True)
class Pencil:
    """A batch of pairs in diagonal form (see the module's conventions).

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
        The diagonal forms, with vanishing variances raised to `VARIANCE_FLOOR`.
    alpha0, beta0 : ndarray of shape (n_pairs, n_features)
        The same before raising: exactly zero where a class has no variance.
    c : ndarray of shape (n_pairs, n_features)
        V'delta; zero beyond the rank.
    separation : ndarray of shape (n_pairs, n_features)
        A w with w.delta = 2 and no variance in either class, or zeros.
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

    @classmethod
    def from_moments(
        cls,
        means: Array,
        covariances: Array,
        priors: Array,
        weights: Array,
        *,
        moore_penrose: bool = False,
    ) -> Pencil:
        """Diagonalise a batch of pairs.

        The arguments are those of the record. Features are scaled to unit variance
        first, so that the result does not depend on units. With `moore_penrose`, where
        S1 + S2 is singular, the basis spans its range in the given units instead, and
        V diag(1 / (b alpha + a beta)) V' is the Moore-Penrose inverse of a S2 + b S1.
        """
        delta = means[:, 0] - means[:, 1]
        total = np.einsum("pkii->pi", covariances)
        offset = np.abs(means).max(axis=1)
        constant = total == 0
        differs = np.zeros_like(constant)
        scale = np.sqrt(total)
        if constant.any():
            differs = constant & (np.abs(delta) > 16 * EPS * offset)
            delta = np.where(constant & ~differs, 0.0, delta)
            scale[constant] = np.where(differs, np.abs(delta), 1.0)[constant]
        rounding = np.minimum(4 * EPS * offset, _NO_DIFFERENCE * scale)
        rounding += 64 * EPS * scale
        delta = np.where(np.abs(delta) > rounding, delta, 0.0)

        scaled = _scaled(covariances, scale)
        whitening, ill = _whiten_regular(scaled[:, 0] + scaled[:, 1], constant)
        ill |= differs.any(axis=1)
        rank = np.count_nonzero(~constant, axis=1)
        separation = np.zeros_like(delta)
        if ill.any():
            careful, eigenvalues, axes = _whiten(scaled[ill])
            rank[ill] = np.count_nonzero(careful.any(axis=1), axis=1)
            separation[ill] = _separation(
                delta[ill], offset[ill], scale[ill], eigenvalues, axes, rank[ill]
            )
            # Dropping constant features is the Moore-Penrose inverse in any units.
            redo = rank[ill] < np.count_nonzero(~constant[ill], axis=1)
            if moore_penrose and redo.any():
                pairs = np.flatnonzero(ill)[redo]
                scale[pairs] = scale[pairs].max(axis=1, keepdims=True)
                scaled[pairs] = _scaled(covariances[pairs], scale[pairs])
                careful[redo] = _whiten(scaled[pairs], rank[pairs])[0]
                rank[pairs] = np.count_nonzero(careful[redo].any(axis=1), axis=1)
            whitening[ill] = np.where(constant[ill, :, None], 0.0, careful)

        basis, alpha, beta = _diagonalise(scaled, whitening, rank)
        c = ((delta / scale)[:, None, :] @ basis)[:, 0]
        far = np.abs(c).max(axis=1) > _FARTHEST
        if far.any():
            separation[far] = _along(c[far], basis[far]) / scale[far]
            c[far] = 0.0
        # Without any small variance, which is the rule, nothing is to be raised.
        alpha0, beta0 = alpha, beta
        if min(alpha.min(), beta.min()) <= VARIANCE_FLOOR or (rank < len(c.T)).any():
            noise = _noise(scaled, means / scale[:, None], basis)
            zero1, zero2 = alpha <= noise[:, 0], beta <= noise[:, 1]
            alpha0 = _raised(alpha, zero1, zero2, 0.0, rank)
            beta0 = _raised(beta, zero2, zero1, 0.0, rank)
            alpha = _raised(alpha, zero1, zero2, VARIANCE_FLOOR, rank)
            beta = _raised(beta, zero2, zero1, VARIANCE_FLOOR, rank)
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
            separation=np.where(constant & ~differs, 0.0, separation),
        )

    @property
    def log_tau(self) -> Array:
        """ln(p2 / p1), of shape (n_pairs,)."""
        log_priors = np.log(self.priors)
        return log_priors[:, 1] - log_priors[:, 0]

    def take(self, pairs: Index) -> Pencil:
        """Select pairs by index."""
        return Pencil(*(getattr(self, f.name)[pairs] for f in fields(self)))

    def noise(self) -> Array:
        """Variances that may be rounding errors, of shape (n_pairs, 2, n_features).

        A class has none in the directions of the basis where alpha or beta is not
        larger, see `_noise`.
        """
        scale = np.sqrt(np.einsum("pkii->pi", self.covariances))
        scale[scale == 0] = 1.0
        units = scale[:, None]
        scaled = self.covariances / units[..., None] / units[:, :, None]
        return _noise(scaled, self.means / units, self.basis * scale[:, :, None])

    def with_covariances(self, covariances: Array) -> Pencil:
        """The same pairs with other covariances."""
        return Pencil.from_moments(self.means, covariances, self.priors, self.weights)

    def project(self, u: Array) -> tuple[Array, Array, Array]:
        """Mean difference D and standard deviations sigma1, sigma2 along w = V u."""
        square = u * u
        return (
            np.einsum("p...i,pi->p...", u, self.c),
            np.sqrt(np.einsum("p...i,pi->p...", square, self.alpha)),
            np.sqrt(np.einsum("p...i,pi->p...", square, self.beta)),
        )


def _scaled(covariances: Array, scale: Array) -> Array:
    """S1 and S2 in units of `scale`."""
    inverse = 1 / scale
    scaled: Array = covariances * inverse[:, None, :, None]
    scaled *= inverse[:, None, None, :]
    return scaled


def _whiten_regular(total: Array, constant: Mask) -> tuple[Array, Mask]:
    """Basis in which S1 + S2 is the identity, where that takes no care.

    Returns the inverse of the Cholesky factor, transposed, with zero columns for
    constant features; and a mask of the pairs that are too near to singular for it.
    """
    if constant.any():
        np.einsum("pii->pi", total)[constant] = 1.0
    try:
        factor: Array = np.linalg.cholesky(total).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return np.zeros_like(total), np.ones(len(total), bool)
    inverse = _inverse_of_lower(factor)
    # The sum of squares is the trace of the inverse of S1 + S2.
    ill = np.einsum("pij,pij->p", inverse, inverse) > _REGULAR
    if constant.any():
        inverse *= ~constant[:, :, None]
    return inverse.mT, ill


def _inverse_of_lower(factor: Array) -> Array:
    """Inverse of lower triangular matrices, by halves.

    The general inverse does not know of the zeros and takes twice as long.
    """
    d = factor.shape[1]
    inverse: Array = np.zeros_like(factor)
    if d <= 12:
        inverse[...] = np.linalg.inv(factor)
        return inverse
    h = d // 2
    a = inverse[:, :h, :h] = _inverse_of_lower(factor[:, :h, :h])
    c = inverse[:, h:, h:] = _inverse_of_lower(factor[:, h:, h:])
    inverse[:, h:, :h] = -c @ factor[:, h:, :h] @ a
    return inverse


def _whiten(scaled: Array, most: Index | None = None) -> tuple[Array, Array, Array]:
    """Basis in which S1 + S2 is the identity on its range.

    Returns the basis with zero columns for the null space, and the eigenvalues and
    eigenvectors of S1 + S2, in ascending order. At `most` so many eigenvalues count.
    """
    eigenvalues, axes = np.linalg.eigh(scaled.sum(axis=1))
    keep = eigenvalues > RANK_TOLERANCE * eigenvalues[:, -1:]
    if most is not None:
        d = scaled.shape[-1]
        keep &= np.arange(d) >= d - most[:, None]
    inverse_root = np.zeros_like(eigenvalues)
    inverse_root[keep] = eigenvalues[keep] ** -0.5
    return axes * inverse_root[:, None, :], eigenvalues, axes


def _diagonalise(
    scaled: Array, whitening: Array, rank: Index
) -> tuple[Array, Array, Array]:
    """The basis V in scaled units, with alpha and beta; zero beyond the rank."""
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


def _noise(scaled: Array, position: Array, basis: Array) -> Array:
    """Rounding errors of v'S_k v, and of data stored far from zero."""
    d = basis.shape[1]
    rounding = (64 + 4 * d) * EPS * np.einsum("pkii->pki", scaled)
    rounding += np.minimum(4 * EPS * np.abs(position), 1.0) ** 2
    noise: Array = np.clip(rounding @ basis**2, 64 * EPS, VARIANCE_FLOOR)
    return noise


def _along(c: Array, basis: Array) -> Array:
    """The direction V c = (S1 + S2)^-1 delta, with the length that makes w.delta 2."""
    size = np.max(np.abs(c), axis=1, keepdims=True)
    unit = c / size
    w: Array = (basis @ unit[:, :, None])[:, :, 0]
    w *= 2 / (size * np.sum(unit**2, axis=1, keepdims=True))
    return w


def _raised(values: Array, zero: Mask, one: Mask, low: float, rank: Index) -> Array:
    """Variances raised to `low` where there is none, lowered where it is all.

    Beyond the rank the first value is repeated: there it moves no end of an arc.
    """
    raised = np.where(zero, low, np.where(one, 1 - low, values))
    first = np.where(rank > 0, raised[:, 0], 0.5)[:, None]
    return np.where(np.arange(values.shape[1]) < rank[:, None], raised, first)


def _separation(
    delta: Array,
    offset: Array,
    scale: Array,
    eigenvalues: Array,
    axes: Array,
    rank: Index,
) -> Array:
    """The component of delta along which neither class varies, if it is real.

    It counts if it stands clear of the rounding of the means and of the noise that
    passes for variance in the null space of S1 + S2.
    """
    d = delta.shape[1]
    scaled = delta / scale
    component = (scaled[:, None, :] @ axes)[:, 0]
    deviation = np.sqrt(np.maximum(eigenvalues, 0) + d * EPS * eigenvalues[:, -1:])
    rounding = 64 * EPS * ((offset / scale)[:, None, :] @ np.abs(axes))[:, 0]
    threshold = np.maximum(
        _REAL_SEPARATION * deviation,
        np.maximum(rounding, 1e-8 * np.max(np.abs(scaled), axis=1, keepdims=True)),
    )
    null = np.arange(d) < d - rank[:, None]
    component = np.where(null & (np.abs(component) > threshold), component, 0.0)
    square = np.sum(component**2, axis=1, keepdims=True)
    w: Array = (axes @ component[:, :, None])[:, :, 0] / scale
    return 2.0 * w / np.where(square > 0, square, 1.0)
