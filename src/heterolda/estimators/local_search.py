"""The meta-estimator that searches for fewer training errors (Algorithm 2)."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import MetaEstimatorMixin
from sklearn.utils.parallel import Parallel, delayed

from heterolda.estimators.base import LinearClassifier, settle
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.starts import fit_start
from heterolda.estimators.votes import committee_of
from heterolda.foundations.arrays import device_of, on_host
from heterolda.foundations.collections import lazy_backend
from heterolda.foundations.sklearn_private import (
    HasMethods,
    Interval,
    StrOptions,
    fit_context,
)
from heterolda.foundations.validation import validate_parameters
from heterolda.foundations.wording import VOTINGS
from heterolda.search.algorithm2 import paper_search
from heterolda.search.scored import scored_rules
from heterolda.search.training_data import TrainingData
from heterolda.solvers import all_pairs
from heterolda.statistics.rows import validated


class LocalNeighborhoodSearch(MetaEstimatorMixin, LinearClassifier):
    r"""Improve any linear classifier by searching for fewer training errors.

    Algorithm 2 of [1]_, for data that are not normal. It starts from the rule
    :math:`v = (w_0, w)` of a linear classifier. Each iteration moves to the neighbor
    :math:`v_i \pm 0.1 |v_i|` with the fewest training errors, even if it has no fewer
    than the current rule. The result is the best rule seen. More than two classes are
    searched pair by pair, on the rows of the pair.

    Parameters
    ----------
    estimator : classifier, default=None
        Linear classifier to start from. It is cloned and fitted. If None,
        `GaussianLinearDiscriminant()`. With more than two classes, any other classifier
        is fitted to each pair of classes. A fitted classifier wrapped in
        :class:`~sklearn.frozen.FrozenEstimator` is used as it is; the rule of two
        classes is then the difference of their scores. Its priors affect
        its own fit only; to change the cost of errors, use `class_weight`.
    step : float in (0, 1], default=0.1
        Length of a step, relative to the coefficient.
    max_iter : int, default=1000
        Maximum number of iterations; the first evaluates the initial rule.
    patience : int, default=100
        Maximum number of iterations without a new lowest error count.
    voting : {"auto", "weighted", "majority"}, default="auto"
        With more than two classes: a pair's vote has the weight :math:`1 - p_e`
        ("weighted") or one ("majority"). "auto" uses the `voting` of the initial
        estimator, or "weighted" if it has none.
    class_weight : dict, "balanced" or None, default=None
        Cost of an error in each class, ``{label: weight}``; missing labels have weight
        1. With "balanced" all classes have the same total cost. The weights multiply
        the error counts and the priors of the initial estimator (its sample weights, if
        it has no priors), but not the class statistics.
    n_jobs : int or None, default=None
        Number of threads over pairs; -1 means all processors. The result does not
        depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    estimator_ : classifier
        The fitted initial estimator; a :class:`~sklearn.multiclass.OneVsOneClassifier`
        if one was fitted to each pair.
    pairs_ : ndarray of shape (n_pairs, 2)
        Class indices (i, j), i < j, of each rule.
    coef_ : ndarray of shape (n_pairs, n_features)
        Normals of the hyperplanes; a positive score means the second class.
    intercept_ : ndarray of shape (n_pairs,)
        Offsets of the hyperplanes.
    n_errors_, n_errors_start_ : ndarray of shape (n_pairs,)
        Training errors of each rule, after and before the search, on the rows of its
        pair. Integers, unless there are weights.
    n_iter_ : ndarray of int of shape (n_pairs,)
        Number of iterations of each search.
    history_ : list of ndarray
        For each pair, the errors of the current rule at each iteration.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    GaussianLinearDiscriminant : The default initial estimator.
    SmoothedLinearDiscriminant : Few errors on new rows, for data that are not normal.

    Notes
    -----
    The vote of a pair has the weight :math:`1 - p_e` of the initial estimator if that
    is a `GaussianLinearDiscriminant`, and otherwise its accuracy on the training rows.
    `predict_proba` models the scores of each class along each normal as Gaussian, with
    the priors that put the threshold where the search put it.

    Steps are relative to the coefficients, so the result depends on the origin of the
    data, but not on their units. Rows on a device are copied to NumPy for the fit.

    References
    ----------
    .. [1] K. S. Gyamfi, J. Brusey, A. Hunt and E. Gaura (2017), "Linear classifier
       design under heteroscedasticity in Linear Discriminant Analysis", Expert
       Systems with Applications 79, 44-52.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from heterolda import LocalNeighborhoodSearch
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = LocalNeighborhoodSearch().fit(X, y)
    >>> bool(search.n_errors_[0] < search.n_errors_start_[0])
    True
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        "estimator": [HasMethods("fit"), None],
        "step": [Interval(Real, 0, 1, closed="right")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "voting": [StrOptions({"auto", *VOTINGS})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator=None,
        *,
        step=0.1,
        max_iter=1000,
        patience=100,
        voting="auto",
        class_weight=None,
        n_jobs=None,
    ):
        self.estimator = estimator
        self.step = step
        self.max_iter = max_iter
        self.patience = patience
        self.voting = voting
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _validate_params(self):
        validate_parameters(self)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Fit the initial estimator and improve its rules.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in memory. If they are larger, such as a Dask collection,
            pass a sample.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like, default=None
            Frequencies: a row of weight 3 counts as three copies. If the mean of the
            positive weights is below one, the weights are scaled to a mean of one.

        Returns
        -------
        LocalNeighborhoodSearch
            The fitted estimator.
        """
        if lazy_backend(X) is not None:
            raise TypeError(
                "LocalNeighborhoodSearch needs rows in memory. Draw a sample, such as "
                "X.sample(frac=0.01).compute() of a data frame or X[::100].compute() "
                "of an array, and fit it to that."
            )
        device = device_of(X)
        data = self._training_data(*on_host(X, y, sample_weight))
        given = self.estimator
        given = GaussianLinearDiscriminant() if given is None else given
        start = fit_start(given, data, self.n_jobs)
        results = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._search)(data, start, k, *pair)
            for k, pair in enumerate(all_pairs(len(data.classes)))
        )
        voting = self.voting
        if voting == "auto":
            voting = getattr(given, "voting", "weighted")
        self._set_fitted_attributes(data, start, results, voting)
        if isinstance(self.estimator_, GaussianLinearDiscriminant):
            settle(self.estimator_, device)
        return settle(self, device)

    def _training_data(self, X, y, sample_weight):
        """Return valid rows with their labels and weights."""
        rows = validated(X, y, sample_weight, estimator=self, sparse=False)
        names = getattr(self, "feature_names_in_", None)
        return TrainingData.from_rows(rows, self.class_weight, names)

    def _search(self, data, start, k, i, j):
        """Search for the rule of pair k, of the classes i and j."""
        rows = data.pair(i, j)
        return paper_search(
            np.ascontiguousarray(rows.X, np.float64),
            rows.codes == 0,
            rows.error_weights(),
            np.append(start.intercept[k], -start.coef[k]),
            step=self.step,
            max_iter=self.max_iter,
            patience=self.patience,
        )

    def _set_fitted_attributes(self, data, start, results, voting):
        """Write the fitted attributes."""
        classes, weights = data.classes, data.error_weights()
        kind = np.int64 if weights is None else np.float64
        vars(self).pop("fit_record_", None)  # of an earlier fit
        self.classes_ = classes
        self.estimator_ = start.estimator
        self.pairs_ = all_pairs(len(classes))
        self.coef_ = np.array([-r.v[1:] for r in results])
        self.intercept_ = np.array([r.v[0] for r in results])
        self.n_errors_start_ = np.array([r.errors_start for r in results], kind)
        self.n_errors_ = np.array([r.errors for r in results], kind)
        self.n_iter_ = np.array([r.n_iter for r in results])
        self.history_ = [r.history for r in results]
        error = start.error
        if error is None:
            totals = np.bincount(data.codes, weights, len(classes))
            error = self.n_errors_ / totals[self.pairs_].sum(axis=1)
        rules = scored_rules(data, self.coef_, self.intercept_, error, self.n_iter_)
        committee = getattr(start.estimator, "_committee", None)
        temperature = 1.0 if committee is None else committee.temperature
        self._committee = committee_of(rules, self.pairs_, voting, temperature)
