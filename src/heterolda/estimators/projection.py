"""Dimension reduction: the directions in which classes differ."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from heterolda.estimators.base import PRIORS, Estimator, OnDevices, accepts_lazy, put_on
from heterolda.estimators.component_guard import try_components, warn_of_bad_components
from heterolda.estimators.gathering import (
    check_has_statistics,
    check_statistics,
    forget_fit,
    keep_statistics,
    training_rows,
    with_chunk,
)
from heterolda.estimators.in_use import Typical
from heterolda.estimators.votes import rounded
from heterolda.estimators.warn import warn_of_coarse_features
from heterolda.foundations.arrays import blocks, dense, device_of, same_device, xp_of
from heterolda.foundations.collections import lazy_backend
from heterolda.foundations.sklearn_private import Interval, StrOptions, fit_context
from heterolda.foundations.threads import one_blas_thread, silent
from heterolda.foundations.validation import (
    NUMERIC_TYPES,
    all_finite,
    check_priors,
    check_several_classes,
    missing_values_as,
    readable_rows,
    validate_more_rows,
)
from heterolda.foundations.wording import PROJECTIONS, listed
from heterolda.statistics.covariances import too_small
from heterolda.statistics.rows import Rows, not_finite_row, validate_device_rows
from heterolda.statistics.samples import as_frequencies, sampled
from heterolda.statistics.shrinkage import Shrinkage
from heterolda.statistics.typicality import ClassDistances, far_rows
from heterolda.statistics.wide import in_coordinates, in_span
from heterolda.subspaces import TooFewDirectionsError, find_subspace

# Number of values centered at a time, so that no copy of X is made.
_BLOCK_SIZE, _BLOCK_SIZE_ON_GPU = 1 << 17, 1 << 25


class HeteroscedasticProjection(
    Typical, OnDevices, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator
):
    r"""Linear dimension reduction for classes with unequal covariances.

    It finds the linear combinations of the features that separate the classes best, by
    their means and by their covariances. There can be as many components as features,
    even for two classes. Only the weight, mean and covariance of each class are needed,
    gathered in one pass over the data.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, at most the number of features. If None, one fewer than
        the number of classes, as in linear discriminant analysis, but at least two.
    method : {"error", "chernoff", "fisher"}, default="error"
        - "error": the subspace A that minimizes the sum of the Bhattacharyya bounds on
          the errors of all pairs of classes:

          .. math::
              \min_A \sum_{i<j} \sqrt{p_i p_j} \exp(-B_{ij}(A)), \quad
              B_{ij} = \tfrac18 \delta' A S^{-1} A' \delta + \tfrac12 \ln |S|
              - \tfrac14 \ln |A' S_i A| - \tfrac14 \ln |A' S_j A|

          with :math:`\delta = m_i - m_j` and :math:`S = A' (S_i + S_j) A / 2`;
        - "chernoff": the closed form of Loog and Duin [1]_, faster but less accurate;
        - "fisher": linear discriminant analysis, which uses the means only and has
          fewer components than there are classes.
    shrinkage : float in [0, 1], pair of floats, "auto" or None, default="auto"
        How far to shrink the class covariances toward the pooled one. With "auto",
        which is not Ledoit and Wolf's, its weight is ``r / (W_k + r)``, with the weight
        :math:`W_k` of the class and the rank r of the features: otherwise a direction
        in which one class hardly varies could be a component. The others are those of
        :meth:`ClassStatistics.covariances`; with 1 only the means matter.
    priors : array-like of shape (n_classes,), dict, "equal" or None, default=None
        As for :class:`GaussianLinearDiscriminant`.
    guard : bool, default=True
        Whether to check the components against the training rows. If the quadratic rule
        makes over 3 % more errors in them than in the components of linear discriminant
        analysis, the class covariances are shrunk further toward the pooled one, by
        0.1, 0.3 and 0.9, until it does not. As a last resort, the components of linear
        discriminant analysis come first, followed by others of the method if more are
        wanted. `guarded_` records this; a :class:`ModelMisfitWarning` follows if the
        difference is beyond chance. The guard acts only in `fit`, with at least as many
        rows as features.

    Attributes
    ----------
    scalings_ : ndarray of shape (n_features, n_components)
        ``transform(X)`` is ``(X - mean_) @ scalings_``. Within classes the components
        are uncorrelated and have variance one, as measured by the pooled covariance.
    mean_ : ndarray of shape (n_features,)
        Mean of the class means, weighted by the priors.
    explained_ : ndarray of shape (n_components,)
        Share of the separation that each component adds,
        :math:`(E_{c-1} - E_c) / (E_0 - E_d)`, where :math:`E_c` is the bound above for
        the Gaussian model in the first c components. With fewer rows than features it
        means little.
    guarded_ : float
        Weight of the pooled covariance that the guard added: 0 if the rows gave no
        reason to add any, or if nothing was better; 1 if the components of linear
        discriminant analysis come first.
    loadings_ : ndarray of shape (n_components, n_features)
        Amount that `inverse_transform` adds to `mean_` per unit of each component.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    priors_ : ndarray of shape (n_classes,)
        Class priors.
    statistics_ : ClassStatistics
        Weights, means and scatter of the classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    GaussianLinearDiscriminant : The classifier.
    ClassMapDisplay : Plot of all classes in two components.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Equal covariances.

    Notes
    -----
    The method "error" minimizes the bound from several initial values, the closed forms
    and the normals of the best rules of all pairs, and keeps the best result, so its
    bound is never above theirs. The first component is the best single one within the
    subspace, the second the best one to add, and so on. The components for a smaller
    `n_components` are not simply the first of those for a larger one.

    References
    ----------
    .. [1] M. Loog and R. P. W. Duin (2004), "Linear dimensionality reduction via a
       heteroscedastic extension of LDA: the Chernoff criterion", IEEE Transactions on
       Pattern Analysis and Machine Intelligence 26, 732-739.

    Examples
    --------
    Two classes with equal means, which linear discriminant analysis cannot separate:

    >>> import numpy as np
    >>> from heterolda import HeteroscedasticProjection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 5))
    >>> y = np.repeat(["ring", "core"], 300)
    >>> X[:300, :2] *= 4
    >>> projection = HeteroscedasticProjection(n_components=2).fit(X, y)
    >>> projection.transform(X).shape
    (600, 2)
    >>> float(projection.explained_.sum().round(2))
    0.99
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "method": [StrOptions(set(PROJECTIONS))],
        "shrinkage": [
            StrOptions({"auto"}),
            Interval(Real, 0, 1, closed="both"),
            tuple,
            list,
            None,
        ],
        "priors": PRIORS,
        "guard": ["boolean"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        method="error",
        shrinkage="auto",
        priors=None,
        guard=True,
    ):
        self.n_components = n_components
        self.method = method
        self.shrinkage = shrinkage
        self.priors = priors
        self.guard = guard

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Find the components.

        Parameters
        ----------
        X : {array-like, sparse, dask collection} of shape (n_samples, n_features)
            Training data.
        y : array-like or dask collection of shape (n_samples,)
            Class labels.
        sample_weight : array-like or dask collection, default=None
            Frequencies: a row of weight 3 counts as three copies. If the mean of the
            positive weights is below one, the weights are scaled to a mean of one.

        Returns
        -------
        HeteroscedasticProjection
            The fitted estimator.
        """
        forget_fit(self)
        lazy = lazy_backend(X)
        if lazy is not None:
            return self._fit_sampled(*lazy.statistics_and_sample(X, y, sample_weight))
        statistics, rows = training_rows(self, X, y, sample_weight)
        return put_on(self._solve(statistics, rows), device_of(X))

    def _fit_sampled(self, statistics, sample, progress=silent):
        """Fit to statistics and a sample of rows that are not in memory."""
        self._validate_params()
        stats, sample = as_frequencies(statistics.without_empty_classes(), sample)
        rows = sample.rows(stats.classes)
        self._solve(stats, rows, progress)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None, *, decay=None):
        """Add a chunk of data to the statistics and find the components again.

        Parameters
        ----------
        X : {array-like, sparse, dask collection} of shape (n_samples, n_features)
            A chunk of data. It may be empty, and need not contain every class.
        y : array-like or dask collection of shape (n_samples,)
            Class labels, which may include new ones.
        sample_weight : array-like or dask collection, default=None
            Frequencies. Unlike in `fit`, they are never scaled.
        decay : float in (0, 1] or None, default=None
            Factor by which the weight of all earlier rows is multiplied first, to
            forget them gradually. See :meth:`ClassStatistics.decayed`.

        Returns
        -------
        HeteroscedasticProjection
            The estimator. It cannot transform until it has rows of two classes, or of
            all classes in `priors`, that vary in at least `n_components` directions.
        """
        if hasattr(self, "scalings_"):
            check_has_statistics(self)
        statistics = with_chunk(self, X, y, sample_weight, decay)
        has_priors = self.priors is not None and not isinstance(self.priors, str)
        n_classes = len(self.priors) if has_priors else 2
        lacks_rows = statistics.n_classes < n_classes
        lacks_rows |= bool(too_small(statistics.weights, self.shrinkage).any())
        try:
            if not lacks_rows:
                self._solve(statistics)
        except TooFewDirectionsError:  # later chunks may have more
            lacks_rows = True
        if lacks_rows:
            forget_fit(self)
        keep_statistics(self, statistics)
        return put_on(self, device_of(X))

    @fit_context(prefer_skip_nested_validation=True)
    def fit_statistics(self, statistics):
        """Find the components from class statistics instead of data.

        Parameters
        ----------
        statistics : ClassStatistics
            Statistics gathered in chunks, merged from several sites, or given as
            moments.

        Returns
        -------
        HeteroscedasticProjection
            The fitted estimator.
        """
        return self._solve(check_statistics(statistics))

    def _solve(self, statistics, rows: Rows | None = None, progress=silent):
        """Find the subspace and write the fitted attributes."""
        check_several_classes(statistics.n_classes)
        stats, span, inside = in_coordinates(statistics, self.shrinkage, rows)
        amounts = _shrinkage(stats, self.shrinkage)
        cov = amounts.covariances(stats)
        self._far_rows = far_rows(ClassDistances(stats, amounts, span), inside)
        priors = check_priors(self.priors, statistics.classes, statistics.weights)
        warn_of_coarse_features(statistics)
        moments = stats.means, cov, priors, stats.weights
        args = self.n_components, self.method, progress
        guarded = 0.0
        with one_blas_thread():  # the matrices are small, and there are many
            if span is not None:  # the guard needs as many rows as features
                subspace = find_subspace(*moments, *args, coordinates=stats.coordinates)
                subspace = subspace.in_features(span, statistics, priors)
            elif rows is None or not self.guard or self.method == "fisher":
                subspace = find_subspace(*moments, *args)
            else:
                trials = try_components(moments, *args, sampled(rows))
                warn_of_bad_components(statistics, trials)
                subspace, guarded = trials[-1].subspace, trials[-1].added
        self.priors_ = priors
        self.mean_ = subspace.mean
        self.scalings_ = subspace.scalings
        self.loadings_ = subspace.loadings
        self.explained_ = subspace.explained
        self.guarded_ = guarded
        keep_statistics(self, statistics)
        return self

    @property
    def _n_features_out(self):
        """Return the number of components, for the names of the columns."""
        return self.scalings_.shape[1]

    @accepts_lazy
    def transform(self, X):
        """Project rows onto the components.

        Parameters
        ----------
        X : {array-like, sparse, dask collection} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The components of each row, computed in float64; float32 if X is.
        """
        self._check_ready()
        device = same_device(X, self.scalings_, self, "transform")
        if device is None:
            X = _complete_rows(self, X)
        else:
            X = validate_device_rows(device, self, X, reset=False)
        on_gpu = device is not None and device.is_gpu
        size = _BLOCK_SIZE_ON_GPU if on_gpu else _BLOCK_SIZE
        xp = xp_of(self.scalings_)
        parts = []
        for rows in blocks(X.shape[0], max(1, size // X.shape[1])):
            block = xp.astype(dense(X[rows, :]), self.scalings_.dtype, copy=False)
            with np.errstate(all="ignore"):
                parts.append((block - self.mean_) @ self.scalings_)
            if device is not None and not all_finite(parts[-1]):
                row = not_finite_row(block)
                if row is not None:
                    _complete_rows(self, row)  # raises the error
        return rounded(xp.concat(parts), X)

    def inverse_transform(self, X):
        """Reconstruct rows from their components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Components.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The best linear prediction of the features from these components, based on
            the pooled covariance within classes and that of the class means.
            `transform` returns the same components.
        """
        self._check_ready()
        device = same_device(X, self.scalings_, self, "inverse_transform")
        if device is None:
            with readable_rows(X):
                X = check_array(X, dtype=NUMERIC_TYPES, input_name="X")
        else:
            X = validate_device_rows(device, None, X, ensure_all_finite=True)
        n = self.loadings_.shape[0]
        if X.shape[1] != n:
            raise ValueError(
                f"X has {X.shape[1]} columns, but there are {n} components: pass the "
                "output of transform"
            )
        rows = xp_of(X).astype(X, self.loadings_.dtype, copy=False)
        return rounded(rows @ self.loadings_ + self.mean_, X)

    def _classes(self):
        """Return the estimator that knows the classes, and distances from them."""
        check_has_statistics(self, "typicality")
        stats, span = in_span(self.statistics_, self.shrinkage)
        return self, ClassDistances(stats, _shrinkage(stats, self.shrinkage), span)

    def _check_ready(self):
        """Raise an error before `fit`, or before all classes have rows."""
        check_is_fitted(self, ["statistics_", "scalings_"], all_or_any=any)
        if not hasattr(self, "scalings_"):
            raise NotFittedError(
                "this HeteroscedasticProjection cannot transform yet: it has "
                f"{self.statistics_.weights.sum():g} rows of {listed(self.classes_)}, "
                "which vary in fewer than n_components directions or do not cover "
                "all classes; call partial_fit with more samples"
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = True
        return tags


def _complete_rows(projection, X):
    """Return validated rows to project; reject missing values."""
    with missing_values_as(None, remedy=""):
        checks = {"dtype": NUMERIC_TYPES, "accept_sparse": "csr"}
        return validate_more_rows(projection, X, **checks)


def _shrinkage(stats, shrinkage):
    """Return how far the covariances of the classes are shrunk."""
    if shrinkage != "auto":
        return Shrinkage(*stats.amounts(shrinkage))
    share, weights = stats.rank / (stats.weights + stats.rank), stats.weights
    return Shrinkage(np.where(weights > 1, share, 1.0), stats.amounts(0.5)[1])
