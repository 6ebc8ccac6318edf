"""Additive class statistics, which are all that a fit needs to know of the data."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Amount, Array, Index, on_host
from heterolda.foundations.files import PathOrFile, read_npz, unreadable, write_npz
from heterolda.foundations.rounding import SINGULAR
from heterolda.foundations.sklearn_private import get_feature_names
from heterolda.foundations.validation import check_number, has_missing_values
from heterolda.foundations.wording import MISSING, listed
from heterolda.statistics.arrays import (
    arrays_of,
    checked_moments,
    read_moments,
    union_of_labels,
)
from heterolda.statistics.covariances import (
    pooled_freedom,
    reject_small_classes,
    too_small,
    two_amounts,
)
from heterolda.statistics.moments import (
    Sums,
    check_means,
    check_memory,
    check_range,
    class_sums,
    expanded,
    merged,
    without,
)
from heterolda.statistics.rows import Rows, validated

if TYPE_CHECKING:
    from heterolda.statistics.missing import Passes

# Smallest weight of a decayed class. Its square is in the range of float64.
_MIN_WEIGHT = 1e-100


class Coordinates(NamedTuple):
    """Properties of the original features, for statistics in coordinates of a span."""

    target: Array  # diagonal of the pooled covariance, in coordinates
    rank: int  # rank of the features
    n_features: int
    n_outside: int  # number of directions with variance outside the span


def check_decay(name: str, value: object) -> None:
    """Reject a decay factor that is not a number above 0 and at most 1."""
    if not isinstance(value, Real) or not 0 < value <= 1:  # type: ignore[operator]
        raise ParameterError(
            name, f"must be a number above 0 and at most 1, got {value!r}"
        )


class ClassStatistics:
    """Weight, mean and centered scatter of every class.

    The statistics of two disjoint data sets add up to those of their union
    (``a + b``), so they can be gathered in chunks, in parallel, or at sites that
    may not share rows. Scatter is centered, never a raw sum of squares: merging
    follows Chan, Golub and LeVeque, and stays accurate for data far from the origin.

    Rows can be removed: ``a - b`` has the statistics of the rows of a without those of
    b. Rounding errors are relative to a: the result may lose all its digits if it
    varies by less than about 1e-14 of a. Classes that lose all rows disappear. It is an
    error if b cannot have been part of a. To forget gradually, use :meth:`decayed`.

    Weights are frequencies: a row of weight 3 counts as three copies, a row of
    weight 0 as none.

    With fewer rows than features, and more than 100 features, classes have factors of
    few rows instead of scatters. These can be added, but rows cannot be removed.

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
        :math:`F'F`. The attribute is always an array of scatters.
    feature_names : ndarray of str of shape (n_features,) or None, default=None
        Names of the features, if they have any.
    given : bool, default=False
        Whether to treat the moments as exact, like those of `from_moments`: no class
        then borrows from others, however small its weight.
    estimated_by : str or None, default=None
        Name of the estimator of the moments, if they are not sums over rows. Such
        statistics cannot be added to others.
    coordinates : Coordinates or None, default=None
        Properties of the original features, if the statistics are in coordinates of the
        span of few rows (:mod:`heterolda.statistics.wide`).

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
        coordinates: Coordinates | None = None,
    ) -> None:
        k, d = means.shape
        # The scatter of each class, or its factor.
        self._parts = scatters if isinstance(scatters, np.ndarray) else list(scatters)
        shapes = [part.shape for part in self._parts]
        fits = [shape[-1] for shape in shapes] == [d] * k
        if isinstance(self._parts, np.ndarray):
            fits = self._parts.shape == (k, d, d)
        if not classes.shape == weights.shape == (k,) or not fits:
            raise ValueError(
                f"classes, weights, means and scatters must describe the same classes "
                f"and features, got shapes {classes.shape}, {weights.shape}, "
                f"{means.shape} and {shapes}"
            )
        check_means(means[weights > 0])
        self.classes = classes
        self.weights = weights
        self.means = means
        self.feature_names = feature_names
        self.given = given
        self.estimated_by = estimated_by
        self.coordinates = coordinates

    @property
    def n_classes(self) -> int:
        """Return the number of classes."""
        return len(self.classes)

    @property
    def n_features(self) -> int:
        """Return the number of features."""
        return int(self.means.shape[1])

    @property
    def factors(self) -> list[Array] | None:
        """Return the factors of the scatters, or None if scatters are stored."""
        return None if isinstance(self._parts, np.ndarray) else self._parts

    @property
    def scatters(self) -> Array:
        """Return the class scatters, of shape (n_classes, n_features, n_features)."""
        if isinstance(self._parts, np.ndarray):
            return self._parts
        check_memory(self.n_classes, self.n_features)
        return expanded(self._parts)

    @property
    def squares(self) -> Array:
        """Return the diagonals of the scatters, of shape (n_classes, n_features)."""
        if isinstance(self._parts, np.ndarray):
            squares: Array = np.einsum("kjj->kj", self._parts)
            return squares
        columns = [np.einsum("ij,ij->j", factor, factor) for factor in self._parts]
        return np.reshape(columns, self.means.shape)

    @property
    def rank(self) -> int:
        """Return the number of features, not counting constant and dependent ones."""
        if self.coordinates is not None:
            return self.coordinates.rank
        squares = self.squares.sum(axis=0)
        varies = squares > 0
        rank = int(np.count_nonzero(varies))
        if 1 < rank <= pooled_freedom(self.weights):
            scale = np.sqrt(squares[varies])
            pooled = self.scatters.sum(axis=0)[np.ix_(varies, varies)]
            spectrum = np.linalg.eigvalsh(pooled / scale / scale[:, None])
            rank = int(np.count_nonzero(spectrum > SINGULAR * spectrum[-1]))
        return max(rank, 1)

    def __repr__(self) -> str:
        weights = np.array2string(self.weights, threshold=8, precision=6)
        return (
            f"ClassStatistics(n_classes={self.n_classes}, "
            f"n_features={self.n_features}, weights={weights})"
        )

    def copy(self) -> Self:
        """Return an independent copy."""
        return copy.deepcopy(self)

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
        if missing not in MISSING:
            problem = f"must be one of {list(MISSING)}, got {missing!r}"
            raise ParameterError("missing", problem)
        if missing == "em":
            X, y = on_host(X, y)
        names = None if type(X) is np.ndarray else get_feature_names(X)
        rows = validated(X, y, sample_weight, missing=missing, sums=True)
        if missing == "em" and has_missing_values(rows.X):
            sizes = rows.weights, len(rows.classes)
            from heterolda.statistics.incomplete_rows import IncompleteRows

            incomplete = IncompleteRows.from_arrays(rows.X, rows.codes, *sizes)
            return cls.from_incomplete([incomplete], rows.classes, names)
        return cls.from_rows(rows, names)

    @classmethod
    def from_rows(cls, rows: Rows, feature_names: NDArray[Any] | None = None) -> Self:
        """Gather the statistics of validated rows; classes may have no rows."""
        return cls(rows.classes, *class_sums(rows), feature_names)

    @classmethod
    def from_incomplete(
        cls, passes: Passes, classes: NDArray[Any], names: NDArray[Any] | None = None
    ) -> Self:
        """Estimate the statistics of rows with missing values by EM."""
        from heterolda.statistics.missing import em_moments

        moments = em_moments(passes, classes, names)
        return cls(classes, *moments, names, estimated_by="EM")

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
        moments = checked_moments(classes, counts, means, covariances)
        return cls(*moments, given=True)

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
        vars(self).update(vars(self + self.from_data(X, y, sample_weight)))
        return self

    def _sums(self, *, wide: bool) -> Sums:
        """Return weights, means, and the stored factors if `wide`, else scatters."""
        return self.weights, self.means, self._parts if wide else self.scatters

    def __add__(self, other: object) -> Self:
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        names, given = self._common(other)
        classes = union_of_labels(self.classes, other.classes)
        wide = self.factors is not None and other.factors is not None
        both = (part.with_classes(classes)._sums(wide=wide) for part in (self, other))
        return type(self)(classes, *merged(*both), names, given)

    def __radd__(self, other: object) -> Self:
        return self.copy() if other == 0 else NotImplemented  # for sum(list)

    def __sub__(self, other: object) -> Self:
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        if self.factors is not None:
            raise ValueError(
                "rows cannot be removed from statistics of fewer rows than features: "
                "gather the statistics of the other rows again"
            )
        names, given = self._common(other)
        union_of_labels(self.classes, other.classes)  # raises if types mix
        removed = other.classes[other.weights > 0]
        absent = np.setdiff1d(removed, self.classes[self.weights > 0])
        if len(absent):
            raise ValueError(
                f"rows of classes {listed(absent)} cannot be removed, because these "
                "statistics have none: subtract only what was added"
            )
        part = other.with_classes(self.classes)._sums(wide=False)
        sums = without(self._sums(wide=False), part, self.classes)
        index = np.flatnonzero((sums[0] > 0) | (self.weights == 0))
        remaining = type(self)(self.classes, *sums, names, given)
        return remaining.with_entries(index, self.classes[index])

    def _common(self, other: ClassStatistics) -> tuple[NDArray[Any] | None, bool]:
        """Return the common feature names, and whether both are `given`."""
        self._check_sums()
        other._check_sums()
        if self.n_features != other.n_features:
            raise ValueError(
                f"statistics of {self.n_features} and of {other.n_features} features "
                "cannot be combined: they must describe the same columns"
            )
        names, other_names = self.feature_names, other.feature_names
        if names is None or other_names is None:
            names = other_names if names is None else names
        elif not np.array_equal(names, other_names):
            raise ValueError(
                "statistics of different features cannot be combined, "
                f"{listed(names)} and {listed(other_names)}: reorder or rename the "
                "columns first"
            )
        return names, self.given and other.given

    def _check_sums(self) -> None:
        """Reject statistics that are not sums over rows."""
        if self.estimated_by is not None:
            raise ValueError(
                f"these statistics were estimated by {self.estimated_by} and are not "
                "sums, so no rows can be added or removed: combine all rows and fit "
                "again"
            )

    def with_classes(self, classes: NDArray[Any]) -> Self:
        """Return the statistics of exactly these labels, with weight 0 for new ones."""
        if np.array_equal(classes, self.classes):
            return self
        position = {label: k for k, label in enumerate(self.classes.tolist())}
        index = [position.get(label, -1) for label in classes.tolist()]
        return self.with_entries(np.array(index, np.intp), classes)

    def without_empty_classes(self) -> Self:
        """Leave out classes of weight zero, unless all have weight zero."""
        present = self.weights > 0
        if present.all() or not present.any():
            return self
        return self.with_entries(np.flatnonzero(present), self.classes[present])

    def with_entries(self, index: Index, classes: NDArray[Any]) -> Self:
        """Return the classes of these indices, empty for -1, under these labels."""
        d, present = self.n_features, index >= 0
        weights = np.append(self.weights, 0.0)[index]  # index -1 is the added zero
        means = np.concatenate([self.means, np.zeros((1, d))])[index]
        parts: Any
        if isinstance(self._parts, np.ndarray):
            parts = np.zeros((len(index), d, d))
            parts[present] = self._parts[index[present]]
        else:
            factors = [*self._parts, np.zeros((0, d))]
            parts = [factors[k] for k in index]
        return self._replaced(classes, weights, means, parts)

    def decayed(self, factor: float) -> Self:
        """Return statistics in which every row counts less, for classes that drift.

        Weights and scatters are multiplied by the factor; means do not change. If you
        decay before adding each chunk of n rows, the total weight tends to
        ``n / (1 - factor)``.

        Parameters
        ----------
        factor : float in (0, 1]
            Factor by which the weight of each row is multiplied.

        Returns
        -------
        ClassStatistics
            New statistics. However often a class decays, it keeps a weight of 1e-100,
            so no class disappears.
        """
        check_decay("factor", factor)
        self._check_sums()
        result = self.scaled(factor)
        smallest = np.where(self.weights > 0, _MIN_WEIGHT, 0.0)
        result.weights = np.maximum(result.weights, smallest)
        return result

    def scaled(self, factor: float) -> Self:
        """Return the statistics of rows whose weights are multiplied by a factor."""
        check_number("factor", factor, 0, np.finfo(float).max)
        factor = float(factor)  # not a fraction, which would turn arrays into objects
        parts: Any
        if isinstance(self._parts, np.ndarray):
            parts = self._parts * factor
        else:
            parts = [part * np.sqrt(factor) for part in self._parts]
        return self._replaced(self.classes, self.weights * factor, self.means, parts)

    def _replaced(self, classes: NDArray[Any], *sums: Any) -> Self:
        """Return a copy with other classes and sums."""
        other = copy.copy(self)
        other.classes, (other.weights, other.means, other._parts) = classes, sums
        return other

    def covariances(self, shrinkage: Amount = "auto") -> Array:
        """Return class covariances with divisor W_k - 1, shrunk if rows are too few.

        With shrinkage, the covariance of class k becomes
        ``(1 - rho_k) S_k + rho_k S_pooled``. If the pooled covariance has fewer than
        two degrees of freedom per feature, it is first shrunk toward its diagonal.

        Parameters
        ----------
        shrinkage : float in [0, 1], pair of floats, "auto" or None, default="auto"
            - "auto", which is not Ledoit and Wolf's: with the rank r of the features,
              which does not count features that are constant or depend on others, it is
              ``r / (W_k + r)`` for classes of weight at most r + 1, too small for a
              covariance of full rank, and 0 for others. A class of a single row gets
              the pooled covariance;
            - None or 0: none. The covariance of a class of weight at most r + 1 is then
              singular, and a class of a single row has none, which is an error;
            - float: ``rho_k`` for all classes;
            - ``(to_pooled, to_diagonal)``: the two parameters of regularized
              discriminant analysis [1]_, in units of the features. The first is
              ``rho_k``; by the second, the pooled covariance is first shrunk toward
              its diagonal, however many rows there are.

        Returns
        -------
        ndarray of shape (n_classes, n_features, n_features)
            The covariances.

        References
        ----------
        .. [1] J. H. Friedman (1989), "Regularized discriminant analysis", Journal of
           the American Statistical Association 84, 165-175.
        """
        return self.mixed(*self.amounts(shrinkage))

    def amounts(self, shrinkage: Amount) -> tuple[Array, float]:
        """Return the shares rho_k of the pooled covariance, and of its diagonal."""
        reject_small_classes(
            self.classes, self.weights, too_small(self.weights, shrinkage)
        )
        rho, gamma = self.pooled_shares(shrinkage), two_amounts(shrinkage)[1]
        if gamma is None and rho.any():
            rank, freedom = self.rank, pooled_freedom(self.weights)
            gamma = rank / (freedom + rank) if freedom < 2 * rank else None
        return rho, gamma or 0.0

    def mixed(self, rho: Array, gamma: float) -> Array:
        """Return covariances with these shares of the pooled one and its diagonal."""
        scatters, freedom = self.scatters, self.weights - 1
        if not rho.any():
            unshrunk: Array = scatters / freedom[:, None, None]
            return unshrunk
        pooled = scatters.sum(axis=0) / pooled_freedom(self.weights)
        if gamma:
            span = self.coordinates
            diagonal = np.diag(pooled) if span is None else span.target
            pooled = (1 - gamma) * pooled + gamma * np.diag(diagonal)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(rho < 1, (1 - rho) / freedom, 0.0)[:, None, None]
        mixed: Array = share * scatters + rho[:, None, None] * pooled
        return mixed

    def pooled_shares(self, shrinkage: Amount) -> Array:
        """Return the share of the pooled covariance in that of each class."""
        weights, share = self.weights, two_amounts(shrinkage)[0]
        if isinstance(share, Real) and 0 <= share <= 1:  # type: ignore[operator]
            rho = np.full(len(weights), float(share))
        elif isinstance(share, str) and share == "auto":
            enough = weights.min(initial=np.inf) > self.n_features + 1
            if enough and self.coordinates is None:
                return np.zeros(len(weights))
            # Given moments are exact, however small the weight.
            rank = self.rank
            small = weights <= (1 if self.given else rank + 1)
            rho = np.where(small, rank / (weights + rank), 0.0)
        else:
            raise ParameterError(
                "shrinkage",
                "must be 'auto', None, a number in [0, 1] or two of them, got "
                f"{shrinkage!r:.80}",
            )
        return np.where((weights <= 1) & (rho > 0), 1.0, rho)

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
        check_number("min_count", min_count, 0, np.inf)
        few = (self.weights > 0) & (self.weights < min_count)
        if few.any():
            raise ValueError(
                f"classes {listed(self.classes[few])} have fewer rows than min_count="
                f"{min_count}, so their statistics could reveal them: leave these "
                "classes out"
            )
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
            stats = cls(**read_moments(content))
            with np.errstate(over="ignore"):
                squares = stats.squares
            smallest = squares / np.maximum(stats.weights, 1.0)[:, None]
            check_range(smallest, squares > 0, "scatters")
        except (KeyError, TypeError, ValueError) as error:
            raise unreadable(path, "class statistics", error) from error
        return stats
