"""Moments of Gaussian classes: checking, shrinking and mixing them."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heterolda.exceptions import ParameterError
from heterolda.foundations.long_work import available_memory
from heterolda.foundations.types import Amount, Array, Mask
from heterolda.foundations.validation import (
    check_covariance,
    check_finite,
    check_labels,
    label_array,
)
from heterolda.foundations.wording import listed
from heterolda.kernels.class_moments import SMALLEST_SQUARE

# A pooled covariance counts as singular if the eigenvalues of its correlation form
# spread further than this.
SINGULAR = 1e-10

# Matrices of all features that a fit holds at its peak: so many for each class, and so
# many besides.
_COPIES, _BESIDES = 4, 8
# What rounding does to sums of rows, as a share of them: to weights, and to squares and
# means; so many times that, the rows were never there.
_SAME_WEIGHT, _ROUNDING, _DOUBT = 1e-10, 2e-14, 1e4
# Bytes that every machine has.
_SMALL = 1 << 28


def check_room(n_classes: int, n_features: int, *, fit: bool = True) -> None:
    """Refuse covariances, or a fit to them, that exceed the memory that is there."""
    matrix = 8 * n_features**2
    size = needed = n_classes * matrix
    if fit:
        needed = _COPIES * size + _BESIDES * matrix
    if needed <= _SMALL:
        return
    there = available_memory()
    if there is None or needed <= there:
        return
    more = f", and a fit needs {needed / 1e9:.1f} GB" if fit else ""
    raise ValueError(
        f"the covariances of {n_classes} classes and {n_features} features take "
        f"{size / 1e9:.1f} GB{more}, but only {there / 1e9:.1f} GB of memory are "
        "available: use fewer features (by selection or PCA), merge classes, or use a "
        "machine with more memory"
    )


UNDERFLOW = (
    "vary so little that their squares underflow float64: multiply the feature by a "
    "constant"
)


class RangeError(ParameterError):
    """Squares of a feature have left the range of float64.

    `feature` is its index, `problem` what is the matter with its values.
    """

    feature: int
    problem: str

    @classmethod
    def of_feature(cls, name: str, feature: int, problem: str) -> RangeError:
        """The error for a feature of the parameter of that name."""
        error = cls(name, f": the values of feature {feature} {problem}")
        error.feature, error.problem = feature, problem
        return error


def check_range(squares: Array, varies: Mask, name: str = "X") -> None:
    """Refuse sums of squares of features that have left the range of float64.

    That of a feature that `varies` cannot be zero.
    """
    if not np.all(np.isfinite(squares)):
        raise RangeError.of_feature(
            name,
            int(np.argmin(np.isfinite(squares))),
            "are so large that their squares overflow float64: divide the feature by "
            "a constant",
        )
    vanished = varies & (squares < SMALLEST_SQUARE)
    if vanished.any():
        raise RangeError.of_feature(name, int(np.argmax(vanished)), UNDERFLOW)


def check_distances(means: Array) -> None:
    """Refuse class means whose squared distances overflow."""
    with np.errstate(over="ignore"):
        apart = np.ptp(means, axis=0) if len(means) else np.zeros(means.shape[1])
        squares = apart**2
    check_range(squares, np.zeros(len(squares), bool), "means")


def check_moments(
    classes: ArrayLike, counts: ArrayLike, means: ArrayLike, covariances: ArrayLike
) -> tuple[NDArray[Any], Array, Array, Array]:
    """Refuse moments that do not fit together; return them as arrays.

    Whether the matrices are covariances is checked elsewhere.
    """
    labels = np.asarray(label_array(classes, "classes"))
    if labels.ndim != 1 or len(check_labels(labels, "classes", warn=False)) != len(
        labels
    ):
        raise ValueError("classes must be a one-dimensional list of distinct labels")
    n = check_finite("counts", counts, 1)
    mean = check_finite("means", means, 2)
    cov = check_finite("covariances", covariances, 3)
    shape = (len(labels), mean.shape[1])
    if n.shape != shape[:1] or mean.shape[0] != shape[0]:
        raise ValueError(
            f"classes, counts and means must have one entry per class, got "
            f"{len(labels)}, {len(n)} and {mean.shape[0]}"
        )
    if shape[1] == 0:
        raise ValueError("means must have at least one feature")
    if cov.shape != (*shape, shape[1]):
        raise ValueError(
            f"covariances must have shape {(*shape, shape[1])} to match classes "
            f"and means, got {cov.shape}"
        )
    if np.any(n <= 1):
        raise ValueError(
            f"counts must exceed 1: classes {listed(labels[n <= 1])} have no more "
            "than one sample, from which no covariance can be estimated; leave "
            "them out or merge them"
        )
    check_distances(mean)
    return labels, n, mean, cov


def scatters_of(labels: NDArray[Any], n: Array, cov: Array) -> Array:
    """Scatters of unbiased covariances; refuse matrices that are none."""
    with np.errstate(over="ignore"):
        scatters: Array = 0.5 * (cov + cov.mT) * (n - 1)[:, None, None]
    for label, matrix, scatter in zip(labels.tolist(), cov, scatters, strict=True):
        check_covariance(label, matrix)
        check_range(np.diag(scatter), np.diag(matrix) > 0, "covariances")
    return scatters


class Coordinates(NamedTuple):
    """What the features were, of statistics that are in other coordinates.

    Attributes
    ----------
    target : ndarray of shape (n_coordinates,)
        Variances along the coordinates of the diagonal of the pooled covariance.
    rank : int
        Rank of the features.
    n_features : int
        Their number.
    n_outside : int
        Number of directions outside the coordinates in which features vary.
    """

    target: Array
    rank: int
    n_features: int
    n_outside: int


class Scatters(Protocol):
    """What shrinkage needs to know of class statistics."""

    weights: Array
    given: bool
    coordinates: Coordinates | None

    @property
    def scatters(self) -> Array:
        """Scatters of the classes."""
        ...

    @property
    def squares(self) -> Array:
        """Their diagonals."""
        ...

    @property
    def rank(self) -> int:
        """Rank of the features."""
        ...


def shrink(statistics: Scatters, shrinkage: Amount) -> Array:
    """Class covariances, moved towards the pooled covariance.

    Class k gets ``(1 - rho_k) S_k + rho_k S_pooled`` with the shares rho_k of
    `pooled_shares`. The pooled covariance is first shrunk towards its own diagonal: by
    the second of two numbers or else, if it has fewer than 2 r degrees of freedom f, by
    ``r / (f + r)``, where r is the rank of the features.
    """
    rho = pooled_shares(statistics, shrinkage)
    if not rho.any():
        own: Array = statistics.scatters / (statistics.weights - 1)[:, None, None]
        return own
    gamma = two_amounts(shrinkage)[1]
    if gamma is None:
        rank, freedom = statistics.rank, pooled_freedom(statistics.weights)
        gamma = rank / (freedom + rank) if freedom < 2 * rank else 0.0
    return mixtures(statistics, rho, gamma)


def mixtures(statistics: Scatters, rho: Array, gamma: float) -> Array:
    """`blend` of the scatters of class statistics."""
    known = statistics.coordinates
    target = None if known is None else known.target
    return blend(statistics.scatters, statistics.weights, rho, gamma, target)


def two_amounts(shrinkage: Any) -> tuple[Any, float | None]:
    """Share of the pooled covariance, and of its diagonal in it if that is given."""
    if not isinstance(shrinkage, tuple | list):
        return shrinkage, None
    if len(shrinkage) != 2 or not all(
        isinstance(amount, Real) and 0 <= float(amount) <= 1 for amount in shrinkage
    ):
        raise ParameterError(
            "shrinkage",
            "must be two numbers in [0, 1], (to_pooled, to_diagonal), got "
            f"{shrinkage!r:.80}",
        )
    return float(shrinkage[0]), float(shrinkage[1])


def pooled_shares(statistics: Scatters, shrinkage: Amount) -> Array:
    """Share of the pooled covariance in that of each class.

    `shrinkage` is the share of all classes, or begins with it; "auto" means
    ``r / (W_k + r)`` with the rank r of the features. None is that for a class that
    cannot stand alone, its weight being at most r + 1 (at most 1 if the moments are
    `given` as exact), and zero for others. A class of weight 1 or less has no
    covariance of its own.
    """
    weights = statistics.weights
    share = two_amounts(shrinkage)[0]
    if share is None:
        if (
            statistics.coordinates is None
            and weights.min(initial=np.inf) > statistics.scatters.shape[1] + 1
        ):
            return np.zeros(len(weights))
        rank = statistics.rank
        least = 1 if statistics.given else rank + 1
        rho = np.where(weights <= least, rank / (weights + rank), 0.0)
    elif isinstance(share, Real) and 0 <= float(share) <= 1:
        rho = np.full(len(weights), float(share))
    elif isinstance(share, str) and share == "auto":
        rank = statistics.rank
        rho = rank / (weights + rank)
    else:
        raise ParameterError(
            "shrinkage",
            "must be None, 'auto', a number in [0, 1] or two of them, got "
            f"{shrinkage!r:.80}",
        )
    return np.where((weights <= 1) & (rho > 0), 1.0, rho)


def pooled_freedom(weights: Array) -> float:
    """Degrees of freedom of the pooled covariance: the sum of W_k - 1."""
    return float(np.maximum(weights - 1, 0.0).sum())


def rank_of_features(statistics: Scatters) -> int:
    """Number of features without those that are constant or depend on others.

    The latter can be told only if there are rows enough. At least 1.
    """
    squares = statistics.squares.sum(axis=0)
    varies = squares > 0
    rank = int(np.count_nonzero(varies))
    if 1 < rank <= pooled_freedom(statistics.weights):
        scale = np.sqrt(squares[varies])
        pooled = statistics.scatters.sum(axis=0)[np.ix_(varies, varies)]
        spectrum = np.linalg.eigvalsh(pooled / scale / scale[:, None])
        rank = int(np.count_nonzero(spectrum > SINGULAR * spectrum[-1]))
    return max(rank, 1)


def blend(
    scatters: Array,
    weights: Array,
    rho: Array,
    gamma: float,
    target: Array | None = None,
) -> Array:
    """Mixtures of the class covariances with the pooled one and its diagonal.

    The pooled covariance has the weight rho_k in that of class k, and its diagonal, or
    that of the `target`, the weight `gamma` in the pooled one.
    """
    pooled = scatters.sum(axis=0) / pooled_freedom(weights)
    if gamma:
        diagonal = np.diag(pooled) if target is None else target
        pooled = (1 - gamma) * pooled + gamma * np.diag(diagonal)
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.where(rho < 1, (1 - rho) / (weights - 1), 0.0)[:, None, None]
    blended: Array = own * scatters + rho[:, None, None] * pooled
    return blended


def all_others(means: Array, covariances: Array, priors: Array) -> tuple[Array, Array]:
    """Means and covariances of the mixtures of all classes but one, by their priors.

    The covariance is that within and between the classes of the mixture.
    """
    share = np.tile(priors, (len(priors), 1))
    np.fill_diagonal(share, 0.0)
    share /= share.sum(axis=1, keepdims=True)
    origin = means.mean(axis=0)  # subtracted so that offsets cancel
    mixed = share @ (means - origin) + origin
    shifts = (means - mixed[:, None, :]) * np.sqrt(share)[:, :, None]
    within = np.tensordot(share, covariances, axes=1)
    return mixed, within + shifts.mT @ shifts


def total_moments(means: Array, scatters: Array, weights: Array) -> tuple[Array, Array]:
    """Mean and covariance of the rows of all classes together."""
    share = weights / weights.sum()
    mean = share @ means
    apart = (means - mean) * np.sqrt(share)[:, None]
    return mean, scatters.sum(axis=0) / weights.sum() + apart.T @ apart


def against_all_others(
    means: Array, covariances: Array, priors: Array, weights: Array
) -> tuple[Array, Array, Array, Array]:
    """Moments for one-vs-all: of all others of each class, then of each class."""
    rest_means, rest_cov = all_others(means, covariances, priors)
    others = np.where(np.eye(len(priors)), 0.0, priors).sum(axis=1)  # not 1 - priors
    return (
        np.concatenate([rest_means, means]),
        np.concatenate([rest_cov, covariances]),
        np.concatenate([others, priors]),
        np.concatenate([weights.sum() - weights, weights]),
    )


def check_decay(name: str, value: object) -> None:
    """Refuse a factor of decay that is not a number above 0 and at most 1."""
    if not isinstance(value, Real) or not 0 < float(value) <= 1:
        raise ParameterError(
            name, f"must be a number above 0 and at most 1, got {value!r}"
        )


def refuse_small(classes: NDArray[Any], weights: Array, lonely: Mask) -> None:
    """Refuse classes from which no covariance can be estimated."""
    if not lonely.any():
        return
    zero = "" if weights.any() else " (every sample_weight is zero)"
    raise ValueError(
        f"classes {listed(classes[lonely])} have a total weight (number of samples, or "
        f"sum of sample_weight) of 1 or less{zero}, from which no covariance can be "
        "estimated: add samples of these classes or leave them out"
    )


def too_small(weights: Array, shrinkage: Amount) -> Mask:
    """Return which classes have too little weight for a covariance.

    A class of weight 1 or less needs the pooled covariance of others to shrink to.
    """
    lonely: Mask = weights <= 1
    if lonely.all() or not lonely.any() or two_amounts(shrinkage)[0] == 0:
        return lonely
    return weights <= 0


Sums = tuple[Array, Array, Array]  # weights, means and scatters of classes


def without(whole: Sums, part: Sums, classes: NDArray[Any]) -> Sums:
    r"""Return the sums of classes without those of some of their rows.

    With the shift :math:`\delta = m_b - m_a` from the whole a to the part b, the rest
    has the weight :math:`W = W_a - W_b`, the mean :math:`m_a - \delta W_b / W` and the
    scatter :math:`S_a - S_b - \delta \delta' W_a W_b / W`. Differences that rounding
    may have made become zero.
    """
    weights = whole[0] - part[0]
    weights[np.abs(weights) <= _SAME_WEIGHT * whole[0]] = 0.0
    with np.errstate(all="ignore"):  # of classes that lose all rows
        shift = part[1] - whole[1]
        step = shift * (part[0] / weights)[:, None]
        outer = (whole[0][:, None] * shift)[:, :, None] * step[:, None]
        means, scatters = whole[1] - step, whole[2] - part[2] - outer
        left, squares = (np.einsum("kii->ki", one) for one in (scatters, whole[2]))
        error = _ROUNDING * (np.abs(whole[1]) + np.abs(step))
        means[np.abs(means) <= error] = 0.0
        far = error * np.sqrt(whole[0][:, None])
        noise = _ROUNDING * squares + far * (np.sqrt(squares) + far)
        wrong = (~np.isfinite(left) | (left < -_DOUBT * noise)).any(axis=1)
        impossible = (weights < 0) | (wrong & (weights > 0))
    if impossible.any():
        raise ValueError(
            f"removing these rows would leave class {classes[impossible].tolist()[0]!r}"
            " with a negative weight or variance: subtract only what was added, or "
            "gather the statistics of the other rows again"
        )
    constant = (left <= noise) & (part[0] > 0)[:, None]
    scatters[constant[:, :, None] | constant[:, None]] = 0.0
    return weights, means, scatters


def names_of_both(
    d: tuple[int, int], names: NDArray[Any] | None, others: NDArray[Any] | None
) -> NDArray[Any] | None:
    """Names of the features of two statistics; refuse those of different features."""
    if d[0] != d[1]:
        raise ValueError(
            f"statistics of {d[0]} and of {d[1]} features cannot be combined: they "
            "must describe the same columns"
        )
    if names is not None and others is not None and not np.array_equal(names, others):
        raise ValueError(
            "statistics of different features cannot be combined: feature_names "
            f"are {listed(names)} and {listed(others)}; reorder or rename the columns "
            "first"
        )
    return others if names is None else names


def check_sums(estimated_by: str | None) -> None:
    """Refuse to add to, take from or age what is not a sum over rows."""
    if estimated_by is not None:
        raise ValueError(
            f"these statistics were estimated by {estimated_by} and are not sums, so "
            "no rows can be added or removed: put all rows together and fit again"
        )
