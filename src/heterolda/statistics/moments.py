r"""Sums over the rows of classes: weights, means, and centered scatters or factors.

For few rows and many features, a factor F replaces the scatter :math:`T = F'F`: the
rows of deviations from the mean.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.sparse import issparse
from sklearn.utils import check_array

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Mask, to_host
from heterolda.foundations.rounding import IMPOSSIBLE, MERGED, NO_ENTRY, SAME_SUM
from heterolda.foundations.validation import missing_values_as
from heterolda.kernels.class_moments import (
    SMALLEST_SQUARE,
    SORTED_ROWS,
    class_moments,
)
from heterolda.statistics.rows import Rows, not_finite_row

Scatters = Array | list[Array]  # scatters of classes, or their factors
Sums = tuple[Array, Array, Any]  # weights, means and `Scatters`

# Up to this many features, scatters are faster than factors.
NARROW = 100
# Peak number of (d, d) matrices in a fit: per class, and for all classes together.
_PER_CLASS, _FIXED = 4, 8
# Fits that need no more bytes than this are never rejected.
_SMALL = 1 << 28
# A sparse column counts as dense in a class if its nonzeros have more than this share
# of the weight. Above it, dense products are also faster.
_DENSE = 0.1

_OVERFLOW = (
    "are so large that their squares overflow float64: divide the feature by a constant"
)
_UNDERFLOW = (
    "vary so little that their squares underflow float64: multiply the feature by a "
    "constant"
)


class RangeError(ParameterError):
    """Error for a feature whose squares are out of the range of float64."""

    def __init__(self, parameter: str, feature: int, problem: str) -> None:
        super().__init__(parameter, f": the values of feature {feature} {problem}")
        self.feature, self.problem = feature, problem

    def __reduce__(self) -> Any:  # for pickle, since it has other arguments
        return type(self), (self.parameter, self.feature, self.problem)


def check_range(squares: Array, varies: Mask | bool = False, name: str = "X") -> None:
    """Reject features whose squares overflow, or underflow where a feature `varies`."""
    vanished = varies & (squares < SMALLEST_SQUARE)
    for bad, problem in ((~np.isfinite(squares), _OVERFLOW), (vanished, _UNDERFLOW)):
        if bad.any():
            raise RangeError(name, int(np.argwhere(bad)[0, -1]), problem)


def check_means(means: Array) -> None:
    """Reject class means whose sums, or squared distances, overflow."""
    if len(means):
        with np.errstate(over="ignore"):
            sizes = np.ptp(means, axis=0) ** 2 + np.abs(means).sum(axis=0)
        check_range(sizes, name="means")


def available_memory() -> float:
    """Return the memory of the machine in bytes, infinity if unknown."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return np.inf


def check_memory(n_classes: int, n_features: int) -> None:
    """Reject covariances whose fit needs more than the memory."""
    matrix = 8 * n_features**2
    needed = (_PER_CLASS * n_classes + _FIXED) * matrix
    if needed <= _SMALL or needed <= (available := available_memory()):
        return
    raise ValueError(
        f"the covariances of {n_classes} classes and {n_features} features take "
        f"{n_classes * matrix / 1e9:.1f} GB, and a fit needs {needed / 1e9:.1f} GB, "
        f"but the machine has only {available / 1e9:.1f} GB of memory: use fewer "
        "features (by selection or PCA), merge classes, or use a machine with more "
        "memory"
    )


def is_wide(n_rows: int, n_features: int) -> bool:
    """Return whether factors with this many rows replace scatters."""
    return n_rows < n_features and n_features > NARROW


def class_sums(rows: Rows) -> Sums:
    """Return the weights, the means, and the scatters or factors of classes."""
    X, n_classes = rows.X, len(rows.classes)
    on_device = not isinstance(X, np.ndarray) and not issparse(X)
    if is_wide(*X.shape):
        if on_device:
            _reject_not_finite(X)
            rows = Rows(to_host(X), to_host(rows.codes), rows.weights, rows.classes)
        return _class_factors(rows)
    check_memory(n_classes, X.shape[1])
    if issparse(X):
        return _sparse_sums(rows)
    few = not on_device and len(X) <= SORTED_ROWS
    sorted_rows = rows.by_class if few else None
    sums = class_moments(X, rows.codes, rows.weights, n_classes, sorted_rows)
    with np.errstate(over="ignore", invalid="ignore"):
        overflowed = not np.isfinite(sums.scatters.sum())
    # Rows of weight zero are in no sum, but must also be finite.
    has_zero_weights = rows.weights is not None and not rows.weights.all()
    if on_device and (overflowed or has_zero_weights):
        _reject_not_finite(X)
    if overflowed:
        check_range(np.einsum("kjj->kj", sums.scatters))
    if sums.lost >= 0:
        raise RangeError("X", sums.lost, _UNDERFLOW)
    return sums[:3]


def _reject_not_finite(X: Any) -> None:
    """Reject rows on a device with NaN or infinity."""
    row = not_finite_row(X)
    if row is not None:
        with missing_values_as(None):
            check_array(row, input_name="X")


# Sparse rows


def _sparse_sums(rows: Rows) -> Sums:
    r"""Return the sums of classes of rows in CSR format.

    The scatter of a class of weight W and mean m is :math:`\sum w x x' - W m m'`. If
    the nonzeros of a column have a share p of the weight, then
    :math:`W m^2 \leq p \sum w x^2` (Cauchy and Schwarz), so for small p the difference
    loses no digits. Columns with larger p are made dense and centered.
    """
    n, d = len(rows.classes), rows.X.shape[1]
    weights, means, scatters = np.zeros(n), np.zeros((n, d)), np.zeros((n, d, d))
    order, bounds = rows.by_class
    for k in np.flatnonzero(np.diff(bounds)):
        part = rows.take(order[bounds[k] : bounds[k + 1]])
        weights[k] = part.frequencies.sum()
        part.X.sum_duplicates()
        part.X.eliminate_zeros()
        X = part.X.astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            varies = _add_sparse(X, part.frequencies, means[k], scatters[k])
        check_range(np.diag(scatters[k]), varies)
    return weights, means, scatters


def _add_sparse(X: Any, w: Array, mean: Array, scatter: Array) -> Mask:
    """Write the moments of one class; return a mask of the features that vary."""
    sizes, total = np.diff(X.indptr), w.sum()
    weight_of_nonzeros = np.bincount(X.indices, np.repeat(w, sizes), X.shape[1])
    is_dense = weight_of_nonzeros > _DENSE * total
    sparse, dense = np.flatnonzero(~is_dense), np.flatnonzero(is_dense)
    z, X = X[:, dense].toarray(), X[:, sparse]
    mean[sparse], mean[dense] = X.T @ w / total, z[0]
    z -= mean[dense]  # centering on a row makes the scatter of a constant column zero
    shift = w @ z / total
    mean[dense] += shift
    z -= shift
    varies = weight_of_nonzeros > 0
    varies[dense] = z.any(axis=0)
    root = np.sqrt(w)
    z *= root[:, None]
    X.data *= np.repeat(root, np.diff(X.indptr))
    across = X.T @ z  # of centered columns, because z sums to zero
    scatter[np.ix_(dense, dense)] = z.T @ z
    scatter[np.ix_(sparse, dense)], scatter[np.ix_(dense, sparse)] = across, across.T
    between = np.sqrt(total) * mean[sparse]
    products = (X.T.tocsr() @ X).toarray()  # in C order
    products -= np.outer(between, between)
    scatter[sparse[:, None], sparse] = products
    return varies


# Factors of few rows


def _class_factors(rows: Rows) -> Sums:
    """Return weights, means and factors of classes."""
    n_classes, d = len(rows.classes), rows.X.shape[1]
    weights, means = np.zeros(n_classes), np.zeros((n_classes, d))
    factors: list[Array] = []
    for k in range(n_classes):
        part = rows.of_class(k)
        z = np.ascontiguousarray(part.X)
        if len(z):
            w = part.frequencies
            weights[k] = w.sum()
            with np.errstate(over="ignore", invalid="ignore"):
                means[k] = z[0]  # centering on a row makes constant columns zero
                z -= means[k]
                shift = w @ z / weights[k]
                means[k] += shift
                z -= shift
                z *= np.sqrt(w)[:, None]
                squares = np.einsum("ij,ij->j", z, z)
            check_range(squares, (z != 0).any(axis=0))
        factors.append(z if len(z) > 1 else z[:0])
    return weights, means, factors


def expanded(factors: list[Array]) -> Array:
    """Return the scatters, of shape (n_classes, n_features, n_features)."""
    d = factors[0].shape[1] if factors else 0
    scatters = np.empty((len(factors), d, d))
    for factor, scatter in zip(factors, scatters, strict=True):
        np.matmul(factor.T, factor, out=scatter)
    return scatters


def compressed(factor: Array) -> Array:
    """Return the pivoted Cholesky factor, which reveals no more than the scatter."""
    if not len(factor):
        return factor
    norms = np.sqrt(np.einsum("ij,ij->j", factor, factor))
    units = np.ldexp(1.0, np.frexp(norms)[1])  # powers of two, so division is exact
    R, order = qr(factor / units, mode="r", pivoting=True, check_finite=False)
    R[np.abs(R) <= NO_ENTRY] = 0.0
    R = R[R.any(axis=1)]
    R *= np.where(np.diag(R) < 0, -1.0, 1.0)[:, None]
    small: Array = np.empty_like(R)
    small[:, order] = R + 0.0  # -0.0 becomes 0.0
    small *= units
    return small


# Sums and differences


def merged(first: Sums, second: Sums) -> Sums:
    """Merge sums of the same classes by Chan, Golub and LeVeque's pairwise update."""
    weights = first[0] + second[0]
    means = np.where(first[0][:, None] > 0, first[1], second[1])
    wide = isinstance(first[2], list)
    parts: Any = [None] * len(weights) if wide else np.empty_like(first[2])
    for k, (a, b) in enumerate(zip(first[0], second[0], strict=True)):
        if not a or not b:
            parts[k] = (first if a else second)[2][k]
            continue
        share = b / weights[k]
        with np.errstate(over="ignore", invalid="ignore"):
            shift = second[1][k] - first[1][k]
            means[k] += shift * share
            if wide:
                between = shift[None] * np.sqrt(a * share)
                parts[k] = np.concatenate([first[2][k], second[2][k], between])
                squares = np.einsum("ij,ij->j", parts[k], parts[k])
            else:
                np.multiply(np.outer(shift, shift), a * share, out=parts[k])
                parts[k] += first[2][k]
                parts[k] += second[2][k]
                squares = np.diag(parts[k])
        check_range(squares, shift != 0, "other")
    if wide and not is_wide(sum(map(len, parts)), means.shape[1]):
        check_memory(*means.shape)
        parts = expanded(parts)
    return weights, means, parts


def without(whole: Sums, part: Sums, classes: NDArray[Any]) -> Sums:
    r"""Subtract the sums of a part of the rows from those of the whole.

    With the shift :math:`\delta = m_b - m_a` from the whole a to the part b, the
    remaining rows have the weight :math:`W = W_a - W_b`, the mean
    :math:`m_a - \delta W_b / W` and the scatter
    :math:`S_a - S_b - \delta \delta' W_a W_b / W`. Differences of the size of rounding
    errors become zero.
    """
    (a, mean, scatter), (b, part_mean, part_scatter) = whole, part
    weights = np.where(np.abs(a - b) <= SAME_SUM * a, 0.0, a - b)
    with np.errstate(all="ignore"):  # in classes that lose all rows
        step = (part_mean - mean) * (b / weights)[:, None]
        outer = (a[:, None] * (part_mean - mean))[:, :, None] * step[:, None]
        means, scatters = mean - step, scatter - part_scatter - outer
        error = MERGED * (np.abs(mean) + np.abs(step))
        means[np.abs(means) <= error] = 0.0
        diagonal, squares = (np.einsum("kii->ki", S) for S in (scatters, scatter))
        offset = error * np.sqrt(a[:, None])
        noise = MERGED * squares + offset * (np.sqrt(squares) + offset)
        wrong = (~np.isfinite(diagonal) | (diagonal < -IMPOSSIBLE * noise)).any(axis=1)
        impossible = (weights < 0) | (wrong & (weights > 0))
    if impossible.any():
        raise ValueError(
            f"removing these rows would leave class {classes[impossible].tolist()[0]!r}"
            " with a negative weight or variance: subtract only what was added, or "
            "gather the statistics of the other rows again"
        )
    constant = (diagonal <= noise) & (b > 0)[:, None]
    scatters[constant[:, :, None] | constant[:, None]] = 0.0
    return weights, means, scatters
