"""Additive class statistics: all that a fit needs to know about the data."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import check_X_y

from heterolda.foundations.devices import device_of, on_host
from heterolda.foundations.files import PathOrFile, read_npz, unreadable, write_npz
from heterolda.foundations.gaps import check_missing, gaps_as, has_gaps
from heterolda.foundations.sklearn_private import get_feature_names
from heterolda.foundations.types import Amount, Array, Index
from heterolda.foundations.validation import (
    NUMERIC_TYPES,
    check_sample_weight,
    encode,
    label_array,
    readable_rows,
    sound_arrays,
    union_of_labels,
)
from heterolda.foundations.wording import count, html, html_weights, listed
from heterolda.kernels.class_moments import class_moments
from heterolda.statistics.arrays import arrays_of, check_count, read_moments
from heterolda.statistics.device_rows import check_rows, device_labels, device_moments
from heterolda.statistics.factors import (
    class_factors,
    compact,
    expanded,
    is_wide,
    squares_of,
)
from heterolda.statistics.labels import coded_labels
from heterolda.statistics.missing import Passes, em_moments
from heterolda.statistics.moments import (
    UNDERFLOW,
    Coordinates,
    RangeError,
    check_decay,
    check_moments,
    check_range,
    check_room,
    check_sums,
    names_of_both,
    rank_of_features,
    refuse_small,
    scatters_of,
    shrink,
    too_small,
    without,
)
from heterolda.statistics.patterns import IncompleteRows
from heterolda.statistics.sparse_moments import sparse_moments

# Least weight of a class that has decayed. Its squares stay in the range of float64.
_TRACE = 1e-100


class ClassStatistics:
    """Weight, mean and centred scatter of every class.

    The statistics of two disjoint data sets add up to those of their union
    (``a + b``), so they can be gathered in chunks, in parallel, or at sites that
    may not share rows. Scatter is centred, never a raw sum of squares: merging
    follows Chan, Golub and LeVeque, and stays accurate for data far from the origin.

    Rows can be removed: ``a - b`` has the statistics of the rows of a without those of
    b. Rounding errors are relative to a, so what is left may lose all its digits if it
    varies by less than some 1e-14 of a. Classes that lose all rows disappear. It is an
    error if b cannot have been part of a. To forget gradually, use :meth:`decayed`.

    Weights are frequencies: a row of weight 3 counts as three copies, a row of
    weight 0 as none.

    With fewer rows than features, and more than 100 features, classes have factors of
    rows instead of scatters. These add up, too, but rows cannot be removed.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Distinct labels, sorted.
    weights : ndarray of shape (n_classes,)
        Total weight of each class.
    means : ndarray of shape (n_classes, n_features)
        Class means.
    scatters : ndarray of shape (n_classes, n_features, n_features) or list of ndarray
        Sums of weighted outer products of the deviations from the class mean; or one
        factor F for each class, of shape (n_rows, n_features), with the scatter
        :math:`F'F`. The attribute is always the former.
    feature_names : ndarray of str of shape (n_features,) or None, default=None
        Names of the columns, if they have any.
    given : bool, default=False
        Whether to treat the moments as exact, like those of `from_moments`: no class
        then borrows from others, however small its weight.
    estimated_by : str or None, default=None
        Name of the estimator of the moments, if they are not sums over rows. Such
        statistics cannot be added to others.

    References
    ----------
    T. F. Chan, G. H. Golub and R. J. LeVeque (1983), "Algorithms for computing the
    sample variance", The American Statistician 37, 242-247.

    Examples
    --------
    >>> from heterolda import ClassStatistics
    >>> a = ClassStatistics.from_data([[0.0], [2.0], [5.0]], ["no", "no", "yes"])
    >>> b = ClassStatistics.from_data([[7.0]], ["yes"])
    >>> both = a + b
    >>> both
    ClassStatistics(n_classes=2, n_features=1, weights=[2. 2.])
    >>> both.covariances()[:, 0, 0]
    array([2., 2.])
    >>> both - b
    ClassStatistics(n_classes=2, n_features=1, weights=[2. 1.])
    """

    def __init__(
        self,
        classes: NDArray[Any],
        weights: Array,
        means: Array,
        scatters: Array | Sequence[Array],
        feature_names: NDArray[Any] | None = None,
        given: bool = False,
        estimated_by: str | None = None,
    ) -> None:
        k, d = means.shape
        shapes: Any = [part.shape for part in scatters]
        fits = [shape[-1] for shape in shapes] == [d] * k
        if isinstance(scatters, np.ndarray):
            shapes, fits = scatters.shape, scatters.shape == (k, d, d)
        if not classes.shape == weights.shape == (k,) or not fits:
            raise ValueError(
                f"classes, weights, means and scatters must describe the same classes "
                f"and features, got shapes {classes.shape}, {weights.shape}, "
                f"{means.shape} and {shapes}"
            )
        self.classes = classes
        self.weights = weights
        self.means = means
        # Of each class its scatter, or the rows of its factor.
        self._parts = scatters if isinstance(scatters, np.ndarray) else list(scatters)
        self.coordinates: Coordinates | None = None
        self.feature_names = feature_names
        self.given = given
        self.estimated_by = estimated_by

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.means.shape[1])

    @property
    def factors(self) -> list[Array] | None:
        """Factors of the scatters, or None if there are scatters."""
        return None if isinstance(self._parts, np.ndarray) else self._parts

    @property
    def scatters(self) -> Array:
        """Scatters of the classes, of shape (n_classes, n_features, n_features)."""
        if isinstance(self._parts, np.ndarray):
            return self._parts
        check_room(self.n_classes, self.n_features, fit=False)
        return expanded(self._parts)

    @property
    def squares(self) -> Array:
        """Diagonals of the scatters, of shape (n_classes, n_features)."""
        if self.factors is not None:
            return squares_of(self.factors).reshape(self.means.shape)
        squares: Array = np.einsum("kjj->kj", self.scatters)
        return squares

    @property
    def rank(self) -> int:
        """Number of features, less those that are constant or depend on others."""
        if self.coordinates is not None:
            return self.coordinates.rank
        return rank_of_features(self)

    def __repr__(self) -> str:
        weights = np.array2string(self.weights, threshold=8, precision=6)
        return (
            f"ClassStatistics(n_classes={self.n_classes}, "
            f"n_features={self.n_features}, weights={weights})"
        )

    def _repr_html_(self) -> str:
        sizes = count(self.n_classes, "class"), count(self.n_features, "feature")
        head = f"Statistics of {sizes[0]} and {sizes[1]}"
        return html(head, html_weights(self.classes.tolist(), self.weights))

    def copy(self) -> Self:
        """Return an independent copy, which later updates do not change."""
        return copy.deepcopy(self)

    @classmethod
    def _empty(
        cls,
        classes: NDArray[Any],
        d: int,
        feature_names: NDArray[Any] | None,
        *,
        wide: bool = False,
    ) -> Self:
        """Statistics of no rows at all; factors of them if wide."""
        k = len(classes)
        none = [np.zeros((0, d))] * k if wide else np.zeros((k, d, d))
        return cls(classes, np.zeros(k), np.zeros((k, d)), none, feature_names)

    @classmethod
    def from_data(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        missing: str = "error",
    ) -> Self:
        """Gather the statistics of a data set in one pass, without copying it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Real numbers of any type, summed in float64. For sparse rows, in any of
            SciPy's formats, only products of nonzeros are computed. With scikit-learn's
            `array_api_dispatch`, PyTorch and CuPy arrays are summed on their device;
            the statistics are in NumPy.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative frequencies. They are never scaled.
        missing : {"error", "em"}, default="error"
            How to treat NaN. "em" treats it as missing at random and finds the
            maximum-likelihood means and covariances, see
            :mod:`heterolda.statistics.missing`. These are not sums over rows, so they
            cannot be added to others.

        Returns
        -------
        ClassStatistics
            The statistics.
        """
        check_missing(missing)
        data: Any = X
        labels: Any = y
        (sample_weight,) = on_host(sample_weight)
        if (device := device_of(X)) is not None:
            data = check_rows(device, data)
            if not is_wide(*data.shape) and missing == "error":
                classes, codes = device_labels(device, y, data.shape[0], warn=False)
                weight = check_sample_weight(sample_weight, data.shape[0])
                return cls.from_codes(data, codes, classes, weight)
            X, y = data, labels = on_host(data, y)
        names, gaps = None, False
        if not sound_arrays(X, y):
            names = get_feature_names(X)
            labels = label_array(y)
            with readable_rows(X), gaps_as(missing) as checks:
                checks |= {"accept_sparse": "csr", "ensure_min_samples": 0}
                data, labels = check_X_y(X, labels, dtype=NUMERIC_TYPES, **checks)
            gaps = missing == "em" and has_gaps(data)
        classes, codes = coded_labels(labels, warn=False)
        weight = check_sample_weight(sample_weight, data.shape[0])
        if gaps:
            rows = IncompleteRows.from_arrays(data, codes, weight, len(classes))
            return cls.from_incomplete([rows], classes, names)
        return cls.from_codes(data, codes, classes, weight, names)

    @classmethod
    def from_arrays(
        cls,
        X: NDArray[Any],
        y: NDArray[Any],
        classes: NDArray[Any],
        sample_weight: Array | None = None,
        feature_names: NDArray[Any] | None = None,
    ) -> Self:
        """`from_data` for arrays that have been validated already.

        Every label in `y` is one of `classes`, which are distinct and sorted; some may
        be absent from `y`.
        """
        codes = encode(y, classes).astype(np.int64)
        return cls.from_codes(X, codes, classes, sample_weight, feature_names)

    @classmethod
    def from_codes(
        cls,
        X: NDArray[Any],
        codes: Index,
        classes: NDArray[Any],
        sample_weight: Array | None = None,
        feature_names: NDArray[Any] | None = None,
    ) -> Self:
        """`from_arrays` with the place of each label in `classes`."""
        gather: Any = class_factors
        if not is_wide(*X.shape):
            check_room(len(classes), X.shape[1])
            gather = sparse_moments if issparse(X) else class_moments
            if not issparse(X) and not isinstance(X, np.ndarray):
                gather = device_moments
        weights, means, parts, lost = gather(X, codes, sample_weight, len(classes))
        with np.errstate(over="ignore", invalid="ignore"):
            doubtful = not np.isfinite(sum(part.sum() for part in parts))
            stats = cls(classes, weights, means, parts, feature_names)
            if doubtful:
                for squares in stats.squares:
                    check_range(squares, np.zeros(X.shape[1], bool))
        if lost >= 0:
            raise RangeError.of_feature("X", lost, UNDERFLOW)
        return stats

    @classmethod
    def from_incomplete(
        cls, passes: Passes, classes: NDArray[Any], names: NDArray[Any] | None = None
    ) -> Self:
        """Return statistics by EM of incomplete rows with codes of `classes`."""
        found = em_moments(passes, classes, names)
        return cls(classes, *found, names, estimated_by="EM")

    @classmethod
    def from_moments(
        cls,
        classes: ArrayLike,
        counts: ArrayLike,
        means: ArrayLike,
        covariances: ArrayLike,
    ) -> Self:
        """Create statistics from published or aggregated moments.

        Parameters
        ----------
        classes : array-like of shape (n_classes,)
            Distinct labels, in any order.
        counts : array-like of shape (n_classes,)
            Number of samples, or total weight, of each class; above 1.
        means : array-like of shape (n_classes, n_features)
            Class means.
        covariances : array-like of shape (n_classes, n_features, n_features)
            Unbiased class covariances (divisor: count - 1).

        Returns
        -------
        ClassStatistics
            The statistics.
        """
        labels, n, mean, cov = check_moments(classes, counts, means, covariances)
        scatter, order = scatters_of(labels, n, cov), np.argsort(labels)
        return cls(labels[order], n[order], mean[order], scatter[order], given=True)

    def update(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add the rows of another chunk of data, in place.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The chunk. It may have any of the classes, and new ones.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative frequencies. They are never scaled.

        Returns
        -------
        ClassStatistics
            The object itself. An invalid chunk leaves it unchanged.
        """
        self.__dict__.update((self + self.from_data(X, y, sample_weight)).__dict__)
        return self

    def __add__(self, other: object) -> Self:
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        classes = union_of_labels(self.classes, other.classes)
        merged = self._empty_of_both(other, classes)
        for one in (self, other):
            same = (one.factors is None) == (merged.factors is None)
            parts = one._parts if same else one.scatters
            for i, k in enumerate(np.searchsorted(classes, one.classes)):
                merged._add(k, one.weights[i], one.means[i], parts[i])
        if merged.factors is not None:
            merged._parts = compact(merged.factors)
        return merged

    def __sub__(self, other: object) -> Self:
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        if self.factors is not None:
            raise ValueError(
                "rows cannot be removed from statistics of fewer rows than features: "
                "gather the statistics of the other rows again"
            )
        both = self._empty_of_both(other, self.classes) + other
        taken = other.classes[other.weights > 0]
        absent = np.setdiff1d(taken, self.classes[self.weights > 0])
        if len(absent):
            raise ValueError(
                f"rows of classes {listed(absent)} cannot be removed, because these "
                "statistics have none: subtract only what was added"
            )
        part = both.with_entries(
            np.searchsorted(both.classes, self.classes), self.classes
        )
        weights, means, scatters = without(
            (self.weights, self.means, self.scatters),
            (part.weights, part.means, part.scatters),
            self.classes,
        )
        rest = both.with_entries(np.arange(len(weights)), self.classes)
        rest.weights, rest.means, rest._parts = weights, means, scatters
        kept = np.flatnonzero((weights > 0) | (self.weights == 0))
        return rest.with_entries(kept, self.classes[kept])

    def _empty_of_both(self, other: ClassStatistics, classes: NDArray[Any]) -> Self:
        """Statistics of no rows, for a sum or a difference; refused if none exists."""
        check_sums(self.estimated_by or other.estimated_by)
        sizes = self.n_features, other.n_features
        names = names_of_both(sizes, self.feature_names, other.feature_names)
        wide = self.factors is not None and other.factors is not None
        empty = self._empty(classes, self.n_features, names, wide=wide)
        empty.given = self.given and other.given
        return empty

    def __radd__(self, other: object) -> Self:
        return self.copy() if other == 0 else NotImplemented  # for sum(list)

    def _add(self, k: np.intp, weight: float, mean: Array, scatter: Array) -> None:
        """Merge moments into class k (Chan, Golub and LeVeque, pairwise update)."""
        if weight == 0:
            return
        if self.weights[k] == 0:
            self.means[k], self._parts[k] = mean, scatter
            self.weights[k] = weight
            return
        total = self.weights[k] + weight
        with np.errstate(over="ignore", invalid="ignore"):
            shift = mean - self.means[k]
            self.means[k] += shift * (weight / total)
            part = self.weights[k] * (weight / total)
            if self.factors is None:
                self._parts[k] += np.outer(shift, shift) * part
                self._parts[k] += scatter
                squares = np.diag(self._parts[k])
            else:
                rows = self._parts[k], scatter, shift[None] * np.sqrt(part)
                self._parts[k] = np.concatenate(rows)
                squares = np.einsum("ij,ij->j", self._parts[k], self._parts[k])
        check_range(squares, shift != 0, "other")
        self.weights[k] = total

    def without_empty_classes(self) -> Self:
        """The same without entries of weight zero, unless all are."""
        kept = self.weights > 0
        if kept.all() or not kept.any():
            return self
        return self.with_entries(np.flatnonzero(kept), self.classes[kept])

    def with_entries(self, entries: Index, classes: NDArray[Any]) -> Self:
        """The same with some entries, in that order, for these labels."""
        few = copy.copy(self)
        few.classes = classes
        few.weights, few.means = self.weights[entries], self.means[entries]
        if isinstance(self._parts, np.ndarray):
            few._parts = self._parts[entries]
        else:
            few._parts = [self._parts[k] for k in entries]
        return few

    def decayed(self, factor: float) -> Self:
        """Return statistics in which every row counts less, for classes that drift.

        Weights and scatters are multiplied by the factor; means stay. If you decay
        before adding each chunk of n rows, the total weight tends to
        ``n / (1 - factor)``.

        Parameters
        ----------
        factor : float in (0, 1]
            Factor by which the weight of each row is multiplied.

        Returns
        -------
        ClassStatistics
            New statistics. However often a class decays, it keeps a trace of its weight
            (1e-100), so no class is forgotten altogether.
        """
        check_decay("factor", factor)
        check_sums(self.estimated_by)
        aged = self.scaled(factor)
        there = np.where(self.weights > 0, _TRACE, 0.0)
        aged.weights = np.maximum(aged.weights, there)
        return aged

    def scaled(self, factor: float) -> Self:
        """Statistics of rows whose weights are multiplied by a factor."""
        other = self.copy()
        other.weights *= factor
        root = factor if self.factors is None else np.sqrt(factor)
        for part in other._parts:
            part *= root
        return other

    def covariances(self, shrinkage: Amount = None) -> Array:
        """Class covariances with divisor W_k - 1, optionally shrunk.

        With shrinkage, the covariance of class k becomes
        ``(1 - rho_k) S_k + rho_k S_pooled``. If the pooled covariance has fewer than
        two degrees of freedom per feature, it is first shrunk towards its diagonal.

        Parameters
        ----------
        shrinkage : float in [0, 1], pair of floats, "auto" or None, default=None
            - float: ``rho_k`` for all classes, 0 for no shrinkage;
            - ``(to_pooled, to_diagonal)``: the two parameters of regularized
              discriminant analysis [1]_, in units of the features. The first is
              ``rho_k``; by the second, the pooled covariance is first shrunk towards
              its diagonal, however many rows there are;
            - "auto": ``r / (W_k + r)`` with the rank r of the features, their number
              less those that are constant or depend on others;
            - None: that of "auto" for classes of weight at most r + 1, too few for a
              covariance of their own, and 0 for others. A class of a single row gets
              the pooled covariance.

        Returns
        -------
        ndarray of shape (n_classes, n_features, n_features)
            The covariances.

        References
        ----------
        .. [1] J. H. Friedman (1989), "Regularized discriminant analysis", Journal of
           the American Statistical Association 84, 165-175.
        """
        refuse_small(self.classes, self.weights, too_small(self.weights, shrinkage))
        if self.factors is not None:
            check_room(self.n_classes, self.n_features)
        return shrink(self, shrinkage)

    def save(self, path: PathOrFile, *, min_count: float = 0) -> None:
        """Write the statistics to a NumPy ``.npz`` file, whole or not at all.

        Parameters
        ----------
        path : str, path-like or binary file
            The file. It does not use pickle, so labels must be numbers, booleans or
            strings.
        min_count : float, default=0
            Smallest total weight allowed for a class, because statistics of a few rows
            can reveal them.
        """
        check_count(self.classes, self.weights, min_count)
        write_npz(path, arrays_of(self))

    @classmethod
    def load(cls, path: PathOrFile) -> Self:
        """Read statistics written by `save`.

        Parameters
        ----------
        path : str, path-like or binary file
            The file.

        Returns
        -------
        ClassStatistics
            The statistics.
        """
        content = read_npz(path, "class statistics")
        try:
            return cls(*read_moments(content))
        except (KeyError, TypeError, ValueError) as error:
            raise unreadable(path, "class statistics", error) from error
