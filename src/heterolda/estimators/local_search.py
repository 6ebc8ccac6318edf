"""The meta-estimator that searches for fewer training errors (Algorithm 2)."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real

import numpy as np
from joblib import Parallel, delayed  # scikit-learn's set warning filters in threads
from sklearn.base import MetaEstimatorMixin

from heterolda.estimators.base import LinearClassifier, host_of, put_on
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.gathering import rows_in_memory
from heterolda.estimators.in_use import InUse
from heterolda.estimators.odds import fitted_log_odds, gaussian_log_odds
from heterolda.estimators.pair_rules import fit_initial, unfrozen
from heterolda.estimators.votes import committee_of
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import device_of
from heterolda.foundations.sklearn_private import (
    HasMethods,
    Interval,
    StrOptions,
    fit_context,
)
from heterolda.foundations.validation import LARGEST_WEIGHT
from heterolda.foundations.wording import VOTINGS
from heterolda.kernels.ordered_scores import linear_scores
from heterolda.search.algorithm2 import paper_search
from heterolda.search.scored import scored_rules
from heterolda.solvers import all_pairs
from heterolda.tradeoff.criteria import check_costs


class LocalNeighborhoodSearch(MetaEstimatorMixin, InUse, LinearClassifier):
    r"""Improve any linear classifier by searching for fewer training errors.

    This is Algorithm 2 of [1]_, for data that are not normal. It starts from the rule
    :math:`v = (w_0, w)` of a linear classifier. Each iteration moves to the neighbor
    :math:`v_i \pm 0.1 |v_i|` with the fewest training errors, even if it has no fewer
    than the current rule. The result is the best rule seen. With more than two classes,
    each pair is searched on its own rows.

    Parameters
    ----------
    estimator : classifier, default=None
        Linear classifier to start from. It is cloned and fitted. If None,
        `GaussianLinearDiscriminant()`. With more than two classes, any other classifier
        is fitted to each pair of classes. A fitted classifier wrapped in
        :class:`~sklearn.frozen.FrozenEstimator` is used as it is; the rule of two
        classes is then the difference of their scores. Priors affect only the fit of
        the classifier; to change the cost of errors, use `costs`.
    step : float in (0, 1], default=0.1
        Length of a step, relative to the coefficient.
    max_iter : int, default=1000
        Maximum number of iterations; the first evaluates the initial rule.
    patience : int, default=100
        Maximum number of iterations without a new lowest error count.
    voting : {"probability", "weighted", "majority"}, default="probability"
        How the pairs decide among more than two classes, as in
        :class:`GaussianLinearDiscriminant`, whatever the initial estimator does.
    costs : array-like of shape (n_classes, n_classes), dict or None, default=None
        Costs of errors, as in :class:`GaussianLinearDiscriminant`, but positive. They
        multiply the error counts, and are also those of an initial
        `GaussianLinearDiscriminant` without `costs` of its own. Of another initial
        estimator they multiply the priors (its sample weights, if it has no priors).
    n_jobs : int or None, default=None
        Number of threads to use across pairs; -1 means all processors. The result does
        not depend on it.

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
    A weighted vote of a pair has the weight :math:`1 - p_e` of the initial estimator if
    that is a `GaussianLinearDiscriminant`, and otherwise its accuracy on the training
    rows.
    The log-odds of `predict_proba` are a line in the score on each side of a threshold,
    fitted to the training rows, whose weights are those of the search; with few rows
    they are drawn toward those of Gaussian scores.

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
        "voting": [StrOptions(set(VOTINGS))],
        "costs": ["array-like", dict, None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator=None,
        *,
        step=0.1,
        max_iter=1000,
        patience=100,
        voting="probability",
        costs=None,
        n_jobs=None,
    ):
        self.estimator = estimator
        self.step = step
        self.max_iter = max_iter
        self.patience = patience
        self.voting = voting
        self.costs = costs
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Fit the initial estimator and improve its rules.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data that fit in memory. From a larger source, such as a Dask
            collection, pass a sample.
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
        rows = rows_in_memory(self, X, y, sample_weight)
        costs = _check_costs(self.costs, rows.classes)
        estimator = self.estimator
        if estimator is None:
            estimator = GaussianLinearDiscriminant()
        names = getattr(self, "feature_names_in_", None)
        start, coef, intercept = fit_initial(estimator, rows, costs, names, self.n_jobs)
        pairs = all_pairs(len(rows.classes))
        of_pairs = None if costs is None else costs[pairs, pairs[:, ::-1]]
        results = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._search)(
                _weighted(rows, pairs, of_pairs, k), np.append(w0, -w)
            )
            for k, (w, w0) in enumerate(zip(coef, intercept, strict=True))
        )
        is_weighted = rows.weights is not None or costs is not None
        dtype = np.float64 if is_weighted else np.int64
        for name in ("fit_record_", "evaluation_"):  # of an earlier fit
            vars(self).pop(name, None)
        self.classes_ = rows.classes
        self.estimator_ = start
        self.pairs_ = pairs
        self.coef_ = np.array([-r.v[1:] for r in results])
        self.intercept_ = np.array([r.v[0] for r in results])
        self.n_errors_start_ = np.array([r.errors_start for r in results], dtype)
        self.n_errors_ = np.array([r.errors for r in results], dtype)
        self.n_iter_ = np.array([r.n_iter for r in results])
        self.history_ = [r.history for r in results]
        fitted = host_of(unfrozen(start))
        error = getattr(fitted, "model_error_", None)
        if error is None:
            totals = rows.totals[pairs] * (1 if of_pairs is None else of_pairs)
            error = self.n_errors_ / totals.sum(axis=1)
        rules = scored_rules(rows, self.coef_, self.intercept_, error, self.n_iter_)
        factors = np.ones(pairs.shape) if of_pairs is None else of_pairs
        scores = list(_scores_of_pairs(rows, rules, pairs, factors))
        log_odds = partial(_log_odds, scores, rules)
        self._committee = committee_of(rules, pairs, self.voting, log_odds)
        if isinstance(start, GaussianLinearDiscriminant):
            put_on(start, device_of(X))
        return put_on(self, device_of(X))

    def _search(self, rows, v):
        """Search for the rule of two classes, from the rule v."""
        return paper_search(
            np.ascontiguousarray(rows.X, np.float64),
            rows.codes == 0,
            rows.weights,
            v,
            step=self.step,
            max_iter=self.max_iter,
            patience=self.patience,
        )


def _log_odds(scores, rules):
    """Return log-odds fitted to training scores, drawn toward those of Gaussians."""
    return fitted_log_odds(scores, gaussian_log_odds(rules))


def _scores_of_pairs(rows, rules, pairs, factors):
    """Yield training scores of pairs, as `fitted_log_odds` needs them."""
    for k, (w, w0) in enumerate(zip(rules.coef, rules.intercept, strict=True)):
        two = rows.pair(*pairs[k])
        scores = linear_scores(two.X, w[:, None], np.array([w0]))[:, 0]
        yield scores, two.codes == 1, two.frequencies, factors[k]


def _weighted(rows, pairs, costs, k):
    """Return rows of pair k with their weights times the costs of its errors."""
    rows = rows.pair(*pairs[k])
    if costs is None:
        return rows
    return replace(rows, weights=rows.frequencies * costs[k][rows.codes])


def _check_costs(costs, classes):
    """Return positive costs, (n_classes, n_classes), or None."""
    if costs is None:
        return None
    costs = check_costs(costs, classes)
    if np.any(costs + np.eye(len(classes)) <= 0) or costs.max() > LARGEST_WEIGHT:
        raise ParameterError(
            "costs",
            f"must be positive and at most {LARGEST_WEIGHT:g} here, got {costs}: leave "
            "a class that does not matter out of the data",
        )
    return costs
