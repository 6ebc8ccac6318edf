"""Fewer rows than features: all that looks at a fit, against matrices of features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from helpers.problems import wide_rows
from heterolda import (
    BoundedErrorClassifier,
    ClassStatistics,
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
    compare,
    heteroscedasticity_report,
)
from heterolda.inspection import (
    BoundaryDisplay,
    ClassMapDisplay,
    ErrorCurveDisplay,
    FrontierDisplay,
    ProjectionDisplay,
)


def test_report_says_why_there_is_no_test_of_covariances(rng, monkeypatch):
    rows, auto = wide_rows(rng), {"shrinkage": "auto"}
    wide = heteroscedasticity_report(ClassStatistics.from_data(*rows), **auto)
    monkeypatch.setattr("heterolda.statistics.moments.NARROW", 10**9)
    square = heteroscedasticity_report(ClassStatistics.from_data(*rows), **auto)
    for name in ("lda_error", "best_error", "ratio"):
        assert_allclose(getattr(wide, name), getattr(square, name), rtol=1e-8)
    assert np.isnan(wide.box.p_value)
    assert "are singular" in str(wide)
    for text in map(str, (wide, heteroscedasticity_report(*rows))):
        assert "fewer rows than features any labels" in text


@pytest.mark.filterwarnings("ignore")  # of few rows, and of a singular QDA
def test_no_matrix_of_features(rng, monkeypatch):
    def reject(factors):
        raise AssertionError("a matrix of features")

    monkeypatch.setattr("heterolda.statistics.class_statistics.expanded", reject)
    X, y = wide_rows(rng)
    model = GaussianLinearDiscriminant(shrinkage="auto").fit(X, y)
    for display in (FrontierDisplay, BoundaryDisplay, ProjectionDisplay):
        display.from_estimator(model, X, y, pair=(1, 3))
    ErrorCurveDisplay.from_estimator(model)
    ClassMapDisplay.from_estimator(model, X, y)
    heteroscedasticity_report(model.statistics_)
    assert "QDA" in str(compare(X, y, models={"GLD": model, "QDA": None}, cv=2))
    LocalNeighborhoodSearch(model, max_iter=5).fit(X, y)
    two = y < 2
    BoundedErrorClassifier(model, max_error=0.3, confidence=0.6).fit(X[two], y[two])
    assert np.isfinite(SmoothedLinearDiscriminant().fit(X, y).coef_).all()
