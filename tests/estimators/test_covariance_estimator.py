"""Class moments by any estimator of covariances."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.covariance import EmpiricalCovariance, LedoitWolf

from heterolda import ClassStatistics
from heterolda import GaussianLinearDiscriminant as GLD


class Median(EmpiricalCovariance):
    """An estimator with a location of its own."""

    def fit(self, X, y=None):
        super().fit(X)
        self.location_ = np.median(X, axis=0)
        return self


@pytest.mark.parametrize("estimator", [LedoitWolf(), Median()])
def test_rules_are_those_of_moments_estimated_by_hand(estimator, make_classes, rng):
    X, y = make_classes(4)
    weight = rng.integers(0, 3, len(y))  # weights are copies
    rows = np.repeat(np.arange(len(y)), weight)
    kept, labels = X[rows], y[rows]
    before = vars(estimator).copy()
    settings = {"choose_on": "model", "priors": [0.1, 0.2, 0.3, 0.4]}
    model = GLD(covariance_estimator=estimator, **settings).fit(X, y, weight)
    assert vars(estimator) == before  # it was a copy that was fitted
    fits = [clone(estimator).fit(kept[labels == k]) for k in range(4)]
    means = [kept[labels == k].mean(axis=0) for k in range(4)]
    moments = ClassStatistics.from_moments(
        *np.unique(labels, return_counts=True),
        [getattr(fit, "location_", m) for fit, m in zip(fits, means, strict=True)],
        [fit.covariance_ for fit in fits],
    )
    expected = GLD(**settings).fit_statistics(moments)
    assert_allclose(model.coef_, expected.coef_, rtol=1e-6, atol=1e-8)
    assert_allclose(model.intercept_, expected.intercept_, rtol=1e-6, atol=1e-8)
    assert_allclose(model.statistics_.scatters, moments.scatters)
    assert model.statistics_.given
    assert model.statistics_.estimated_by == type(estimator).__name__
    p = model.predict_proba(X)
    assert_allclose(p, expected.predict_proba(X), rtol=1e-4, atol=1e-4)
    points = [m.with_operating_point("minimax").coef_ for m in (model, expected)]
    assert_allclose(*points, rtol=1e-5)
    assert_allclose(model.frontier_[3].auc, expected.frontier_[3].auc, rtol=1e-6)
    (first,) = model.frontier_[3:4]
    assert first.auc == model.frontier_[3].auc
