"""Moments and coefficients under the names that users of LDA know."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

import numpy as np

from heterolda.estimators.gathering import check_has_statistics
from heterolda.estimators.placement import in_numpy
from heterolda.foundations.arrays import Array, Index, import_pandas
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.shrinkage import class_covariances

# Stands for all other classes in a rule of one against the rest.
OTHERS = "the rest"
# Covariances of few rows are not put together if there are more numbers in them.
_MOST_NUMBERS = 4_000_000


class MomentsMixin:
    """The moments of a discriminant, by the names that scikit-learn gives them."""

    @property
    def means_(self):
        """Class means, of shape (n_classes, n_features)."""
        self._check_ready()
        check_has_statistics(self)
        return self.statistics_.means

    @property
    @in_numpy
    def covariance_(self):
        """Class covariances, of shape (n_classes, n_features, n_features).

        Covariances after shrinkage. With fewer rows than features, and so many features
        that the matrices would be large, there is no such attribute: use
        ``statistics_.covariances()``.
        """
        self._check_ready()
        check_has_statistics(self)
        known = self.statistics_
        # `dir` and the HTML of an estimator ask for all attributes.
        if known.factors and known.n_classes * known.n_features**2 > _MOST_NUMBERS:
            raise AttributeError(
                f"covariance_ of {known.n_features} features would be large: use "
                "statistics_.covariances()"
            )
        how = self._settings["shrinkage"], self.shrinkage_
        return class_covariances(known, *how)


class SummaryMixin:
    """A table of the coefficients of a classifier with linear rules."""

    @in_numpy
    def summary(self):
        r"""Return the coefficients of all rules as a pandas DataFrame.

        The standardised weight of a feature is its coefficient times its standard
        deviation within the two classes, from their scatters :math:`T` and total
        weights :math:`W`:

        .. math::
            w_j s_j, \quad s_j^2 = \frac{T_{1,jj} + T_{2,jj}}{W_1 + W_2 - 2}.

        It does not depend on the units of the features: it is the change of the score
        per standard deviation of the feature. For a rule of one class against all
        others, the deviation is that within all classes.

        Returns
        -------
        pandas.DataFrame
            One row for each pair of classes and each feature. Pairs are in the order of
            `pairs_`; within a pair, the largest weight comes first.

            - "class 1" and "class 2": the labels of the pair;
            - "feature": its name or, without names, its index;
            - "coefficient": as in `coef_`; positive values favour class 2. If a search
              transforms features, it is that of the transformed feature;
            - "standardised": the weight above. NaN if the class statistics are not
              known: in a model loaded from a file without them, and in a search that
              starts from another classifier.
        """
        pd = import_pandas("summary")
        self._check_ready()
        n_pairs, d = self.coef_.shape
        start = getattr(self, "estimator_", self)
        statistics = getattr(start, "statistics_", None)
        weights = np.full((n_pairs, d), np.nan)
        if isinstance(statistics, ClassStatistics):
            weights = self.coef_ * pooled_deviations(statistics, self.pairs_)
        order = np.argsort(-np.abs(weights), axis=1, kind="stable")
        first, second = np.repeat(self.pairs_, d, axis=0).T
        labels = [*self.classes_.tolist(), OTHERS]
        names = getattr(self, "feature_names_in_", np.arange(d))
        return pd.DataFrame(
            {
                "class 1": [labels[k] for k in first],
                "class 2": [labels[k] for k in second],
                "feature": names[order].ravel(),
                "coefficient": np.take_along_axis(self.coef_, order, 1).ravel(),
                "standardised": np.take_along_axis(weights, order, 1).ravel(),
            }
        )


def pooled_deviations(statistics: ClassStatistics, pairs: Index) -> Array:
    """Deviations of the features within the classes of each pair, (n_pairs, d).

    They are those within all classes for one class against all others, and for two
    classes of a single row each.
    """
    squares = statistics.squares
    freedom = np.maximum(statistics.weights - 1, 0.0)
    first, second = pairs.T
    sums, counts = squares[first] + squares[second], freedom[first] + freedom[second]
    others = (first < 0) | (counts == 0)
    sums[others], counts[others] = squares.sum(axis=0), freedom.sum()
    return np.sqrt(sums / counts[:, None])
