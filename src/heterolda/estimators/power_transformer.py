"""The transformer of features that the discriminant of smoothed rows uses."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from heterolda.estimators.base import Estimator, accepts_lazy
from heterolda.estimators.gathering import forget_fit, rows_in_memory
from heterolda.estimators.votes import rounded
from heterolda.foundations.arrays import device_of, to_host
from heterolda.foundations.validation import (
    NUMERIC_TYPES,
    missing_values_as,
    validate_more_rows,
)
from heterolda.statistics.power import PowerTransformation
from heterolda.statistics.rows import validate_device_rows


class ClassPowerTransformer(OneToOneFeatureMixin, TransformerMixin, Estimator):
    """Yeo and Johnson's powers, which make features symmetric within the classes.

    It is the `transformation_` of a :class:`SmoothedLinearDiscriminant`, which has the
    formula. Values farther than ten deviations from the center count as ten.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,)
        Mean of each feature, with outliers clipped.
    scale_ : ndarray of shape (n_features,)
        Standard deviation of each feature, with outliers clipped; 1 if it is 0.
    lambdas_ : ndarray of shape (n_features,)
        Power of each feature, from -2 to 4; 1 leaves its shape as it is.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str of shape (n_features,)
        Names of the features, if X had string column names.
    """

    def fit(self, X, y, sample_weight=None):
        """Estimate the powers that make features Gaussian within the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in memory.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like, default=None
            Frequencies: a row of weight 3 counts as three copies.

        Returns
        -------
        ClassPowerTransformer
            The fitted transformer.
        """
        forget_fit(self)
        rows = rows_in_memory(self, X, y, sample_weight)
        return self._keep(PowerTransformation.fit(rows.X, rows.codes, rows.weights))

    def _keep(self, powers: PowerTransformation):
        """Write the fitted attributes."""
        self.center_ = powers.center
        self.scale_ = powers.scale
        self.lambdas_ = powers.lambdas
        return self

    @property
    def _powers(self) -> PowerTransformation:
        """Return the function of arrays, without validation."""
        return PowerTransformation(self.center_, self.scale_, self.lambdas_)

    @accepts_lazy
    def transform(self, X):
        """Transform features.

        Parameters
        ----------
        X : array-like or dask collection of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The transformed features, computed in float64; float32 if X is.
        """
        self._check_ready()
        device = device_of(X)
        if device is None:
            with missing_values_as(None, remedy=""):
                X = validate_more_rows(self, X, dtype=NUMERIC_TYPES)
            return rounded(self._powers.apply(X), X)
        checks = {"reset": False, "ensure_all_finite": True}
        X = validate_device_rows(device, self, X, **checks)
        if not device.has_float64:
            return device.put(self.transform(to_host(X)))
        rows = device.xp.astype(X, device.xp.float64, copy=False)
        return rounded(self._powers.apply(rows), X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def transformer_of(
    powers: PowerTransformation | None, model
) -> ClassPowerTransformer | None:
    """Return a fitted transformer of the features of a model; None without powers."""
    if powers is None:
        return None
    transformer = ClassPowerTransformer()._keep(powers)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(transformer, name, getattr(model, name))
    return transformer
