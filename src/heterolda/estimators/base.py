"""Shared by all estimators: arrays on devices, prediction, a table of coefficients.

Fits run in NumPy, some from sums computed on the device of the rows; arrays that users
read are then moved to that device. Code that needs NumPy arrays calls `host_of`.
"""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

import copy
from functools import partial, wraps
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import (
    Array,
    Device,
    Index,
    dense,
    device_of,
    is_numpy,
    same_device,
    to_host,
    xp_of,
)
from heterolda.foundations.collections import lazy_backend
from heterolda.foundations.sklearn_private import Interval, StrOptions
from heterolda.foundations.threads import in_threads
from heterolda.foundations.validation import (
    NUMERIC_TYPES,
    all_finite,
    check_sample_weight,
    has_missing_values,
    label_array,
    missing_values_as,
    validate_more_rows,
    validate_parameters,
)
from heterolda.kernels.ordered_scores import ordered_scores
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.covariances import two_amounts
from heterolda.statistics.rows import not_finite_row, validate_device_rows

# Constraints on parameters that several estimators share.
PRIORS = ["array-like", dict, StrOptions({"equal"}), None]
CLASS_WEIGHT = [dict, StrOptions({"balanced"}), None]
SHRINKAGE = [
    Interval(Real, 0, 1, closed="both"),
    StrOptions({"auto", "cv"}),
    tuple,
    list,
    None,
]
# Label of all other classes in a one-vs-rest rule.
OTHERS = "the rest"
# Number of values in a block of scores, which should stay in cache.
_BLOCK_SIZE = 1 << 17
# On a GPU, blocks are larger, to keep it busy.
_GPU_BLOCK_SIZE = 1 << 25
# Number of values in the largest block, which a thread makes dense if it is sparse.
_LARGEST_BLOCK = 1 << 20
# Number of multiplications that justifies a thread.
_WORTH_A_THREAD = 1 << 22


def put_on(estimator, device: Device | None):
    """Move the fitted arrays of an estimator to a device, and return the estimator."""
    if device is not None:
        for name, value in list(vars(estimator).items()):
            if name.endswith("_") and isinstance(value, np.ndarray):
                setattr(estimator, name, device.put(value))
    return estimator


def host_of(estimator: Any) -> Any:
    """Return the estimator, or a copy with its arrays in NumPy if any are elsewhere."""
    if not isinstance(estimator, BaseEstimator):
        return estimator
    before = vars(estimator)
    after = {name: _value_on_host(name, value) for name, value in before.items()}
    if all(after[name] is before[name] for name in before):
        return estimator
    host = copy.copy(estimator)
    vars(host).update(after)
    return host


def _value_on_host(name: str, value: Any) -> Any:
    """Return an attribute of an estimator with its arrays in NumPy."""
    if name == "steps":  # of a pipeline
        return [(step, host_of(model)) for step, model in value]
    if name.endswith("_") and device_of(value, always=True) is not None:
        return to_host(value)
    return host_of(value)


def accepts_lazy(method):
    """Let a method take a lazy collection of rows and return a lazy result."""

    @wraps(method)
    def call(self, X):
        lazy = lazy_backend(X)
        if lazy is None:
            return method(self, X)
        self._check_ready()
        return lazy.apply(partial(method, self), X)

    return call


class Estimator(BaseEstimator):
    """An estimator that validates its parameters."""

    def _validate_params(self):
        validate_parameters(self)
        two_amounts(getattr(self, "shrinkage", None))

    def _check_ready(self):
        """Raise an error before `fit`."""
        check_is_fitted(self)


class OnDevices:
    """An estimator whose fitted arrays may be on a device."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    def __sklearn_array_api_convert__(self, converter):
        """Return a copy with arrays converted as scikit-learn asks."""
        device = device_of(converter(np.zeros(1)), always=True)
        return put_on(copy.copy(host_of(self)), device)


class LinearClassifier(OnDevices, ClassifierMixin, Estimator):
    """A classifier that holds linear rules and a committee of them.

    Fitting sets `classes_`, `pairs_`, the arrays that `_rules` returns (`coef_` and
    `intercept_`) and `_committee`, one of those in :mod:`heterolda.estimators.votes`.
    """

    @property
    def _rules(self):
        """Return normals, offsets, and the powers of the features or None."""
        return self.coef_, self.intercept_, None

    def _blockwise(self, X, method: str, public: str):
        """Apply a method of the committee to X; `public` is the method users call."""
        self._check_ready()
        device = same_device(X, self._rules[0], self, public)
        if device is None:
            checks = {"dtype": NUMERIC_TYPES, "accept_sparse": "csr"}
            X = validate_more_rows(self, X, ensure_all_finite=False, **checks)
            if getattr(self, "missing", None) == "em" and has_missing_values(X):
                return self._apply_to_incomplete(X, method)
            return self._apply_to_complete(X, method)
        X = validate_device_rows(device, self, X, reset=False)
        if device.has_float64:
            return self._apply_to_complete(X, method)
        return device.put(host_of(self)._apply_to_complete(to_host(X), method))

    def _apply_to_complete(self, X, method: str, fill=None):
        """Apply the method to rows, block by block, perhaps in threads.

        `fill` is a function that completes transformed rows.
        """
        coef, intercept, powers = self._rules
        committee, (n, d), xp = self._committee, X.shape, xp_of(coef)
        coef = xp.astype(coef, xp.float64, copy=False)
        intercept = xp.astype(intercept, xp.float64, copy=False)
        on_host = is_numpy(coef)
        step = _block_rows(committee, X, coef)

        def block(start, stop):
            rows = xp.astype(dense(X[start:stop, :]), xp.float64, copy=False)
            # Checked while in cache: a separate pass would take as long as the scores.
            if (on_host or powers is not None) and not all_finite(rows):
                self._reject(rows)
            if powers is not None:
                rows = powers.apply(rows)
            rows = rows if fill is None else fill(rows)
            if on_host:
                return committee.of_rows(method, rows, coef, intercept, X)
            scores = ordered_scores(rows, coef, intercept)
            if not all_finite(scores[:, 0]):  # rows that are not finite
                self._reject(rows)
            return getattr(committee, method)(scores, X)

        if n <= step:
            return block(0, n)

        def part(rows):
            ends = [*range(rows.start, rows.stop, step), rows.stop]
            return [block(*bounds) for bounds in pairwise(ends)]

        n_tasks = n * d * len(coef) // _WORTH_A_THREAD if on_host else 1
        parts = in_threads(part, n, n_tasks)
        return xp.concat([block for blocks in parts for block in blocks])

    def _reject(self, rows):
        """Reject rows that are not finite; finite rows with a huge sum pass."""
        missing, on_host = getattr(self, "missing", None), is_numpy(rows)
        rows = rows if on_host else not_finite_row(rows)
        if rows is None:
            return
        with missing_values_as(missing) as finite:
            check_array(rows, input_name="X", estimator=self, **finite)
        if not on_host:
            raise ParameterError(
                "X",
                "has missing values, which only NumPy arrays may have: fit and predict "
                "with numpy.asarray(X)",
            )

    def _apply_to_incomplete(self, X, method: str):
        """Apply the method to rows, some of which have missing values."""
        mask = np.isnan(X).any(axis=1)
        incomplete = X[mask].astype(np.float64)
        check_array(
            incomplete, input_name="X", estimator=self, ensure_all_finite="allow-nan"
        )
        from heterolda.estimators.missing import predict_incomplete

        answers = predict_incomplete(self, incomplete, method, X)
        result = np.empty((len(X), *answers.shape[1:]), answers.dtype)
        result[mask] = answers
        if not mask.all():
            result[~mask] = self._apply_to_complete(X[~mask], method)
        return result

    @accepts_lazy
    def decision_function(self, X):
        """Return the scores of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, ``X @ coef_[0] + intercept_[0]``, positive for the second
            class; if features are transformed, ``transformation_.transform(X) @
            transformed_coef_[0] + transformed_intercept_[0]``. For more, the output of
            `predict_log_proba`; with votes, their sums, plus less than a third of their
            smallest difference, to break ties. Computed in float64; float32 if X is.
        """
        self._check_ready()
        if self.classes_.shape[0] == 2 or self._votes():
            return self._blockwise(X, "decisions", "decision_function")
        return self.predict_log_proba(X)

    @accepts_lazy
    def predict(self, X):
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            For each row, the label with the largest probability, the first if several
            tie; or the one with most votes.
        """
        winners = self._blockwise(X, "winners", "predict")
        if is_numpy(self.classes_):  # text stays in NumPy
            return self.classes_.take(to_host(winners))
        return self.classes_[winners]

    def _votes(self):
        """Return whether votes decide, which have no probabilities."""
        decides = getattr(self, "_committee", self)  # before the fit, the parameter
        return getattr(decides, "voting", "probability") != "probability"

    def _has_probabilities(self):
        """Raise AttributeError if votes decide among more than two classes."""
        if self._votes():
            raise AttributeError(
                "votes have no probabilities for more than two classes: fit with "
                "voting='probability', the default"
            )
        return True

    @available_if(_has_probabilities)
    @accepts_lazy
    def predict_proba(self, X):
        """Predict class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            For two classes, the probability of each class given the score, which ranks
            rows as the score does. For more, those of all pairs together, or scaled
            (one-vs-rest); not available with votes. Computed in float64; float32 if X
            is, in which one-vs-rest probabilities near 1 may be equal.
        """
        return self._blockwise(X, "probabilities", "predict_proba")

    @available_if(_has_probabilities)
    @accepts_lazy
    def predict_log_proba(self, X):
        """Return the logarithms of `predict_proba`, finite everywhere.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log probabilities.
        """
        p = self._blockwise(X, "probabilities", "predict_log_proba")
        return xp_of(p).log(p)

    def score(self, X, y, sample_weight=None):
        """Return the accuracy on the given data and labels.

        Parameters
        ----------
        X : {array-like, sparse, dask collection} of shape (n_samples, n_features)
            Data.
        y : array-like or dask collection of shape (n_samples,)
            Labels.
        sample_weight : array-like or dask collection, default=None
            Weights.

        Returns
        -------
        float
            Weighted share of correct predictions.
        """
        lazy = lazy_backend(X)
        if lazy is not None:
            self._check_ready()
            return lazy.accuracy(self.predict, X, y, sample_weight)
        labels = column_or_1d(label_array(y), warn=True)
        weight = check_sample_weight(sample_weight, len(labels))
        if weight is not None and not weight.any():
            raise ParameterError(
                "sample_weight", "is zero for all rows: there is nothing to score"
            )
        predicted = to_host(self.predict(X))
        return float(accuracy_score(labels, predicted, sample_weight=weight))

    def summary(self):
        r"""Return the coefficients of all rules as a dictionary of columns.

        The standardized weight of a feature is its coefficient times its standard
        deviation within the two classes, from their scatters :math:`T` and total
        weights :math:`W`:

        .. math::
            w_j s_j, \quad s_j^2 = \frac{T_{1,jj} + T_{2,jj}}{W_1 + W_2 - 2}.

        It does not depend on the units of the features. For a one-vs-rest rule, it uses
        the deviation within all classes.

        Returns
        -------
        dict of ndarray
            Columns of a table by name, as in scikit-learn's `cv_results_`;
            ``pandas.DataFrame(model.summary())`` shows it. It has one row for each pair
            of classes and each feature. Pairs are in the order of `pairs_`; within a
            pair, the largest weight comes first.

            - "class 1" and "class 2": the labels of the pair; for a one-vs-all rule,
              "class 1" is "the rest";
            - "feature": its name or, without names, its index;
            - "coefficient": as in `coef_`; positive values favor class 2. If features
              are transformed, it multiplies the transformed feature, as in
              `transformed_coef_`, and a column "power" has the power of the feature;
            - "standardized": the weight above. NaN without class statistics: in a model
              loaded from a file without them, and in a search that starts from another
              type of classifier.
        """
        self._check_ready()
        self = host_of(self)
        coef, _, powers = self._rules
        n_pairs, d = coef.shape
        start = getattr(self, "estimator_", self)
        statistics = getattr(start, "statistics_", None)
        weights = np.full((n_pairs, d), np.nan)
        if isinstance(statistics, ClassStatistics):
            weights = coef * pooled_deviations(statistics, self.pairs_)
        order = np.argsort(-np.abs(weights), axis=1, kind="stable")
        first, second = np.repeat(self.pairs_, d, axis=0).T
        rest = np.full(len(first), OTHERS)
        names = getattr(self, "feature_names_in_", np.arange(d))
        columns = {
            "class 1": rest if first[0] < 0 else self.classes_[first],
            "class 2": self.classes_[second],
            "feature": names[order].ravel(),
            "coefficient": np.take_along_axis(coef, order, 1).ravel(),
            "standardized": np.take_along_axis(weights, order, 1).ravel(),
        }
        if powers is not None:
            columns["power"] = powers.lambdas[order].ravel()
        return columns


def _block_rows(committee, X, coef) -> int:
    """Return how many rows of X to predict at a time."""
    n_rules, d = coef.shape
    if is_numpy(coef):
        step = max(256, _BLOCK_SIZE // max(committee.values_per_row(), d))
        return max(1, min(step, _LARGEST_BLOCK // d))
    width = n_rules if X.dtype == coef.dtype else max(n_rules, d)
    gpu = device_of(X, always=True).is_gpu
    return max(1, (_GPU_BLOCK_SIZE if gpu else _BLOCK_SIZE) // width)


def pooled_deviations(statistics: ClassStatistics, pairs: Index) -> Array:
    """Return deviations of the features within the classes of each pair, (n_pairs, d).

    One-vs-rest rules, and pairs of classes of one row each, use all classes.
    """
    squares = statistics.squares
    dof = np.maximum(statistics.weights - 1, 0.0)
    first, second = pairs.T
    sums, counts = squares[first] + squares[second], dof[first] + dof[second]
    others = (first < 0) | (counts == 0)
    sums[others], counts[others] = squares.sum(axis=0), dof.sum()
    return np.sqrt(sums / counts[:, None])
