"""Fewer rows than features: all that looks at a fit, against matrices of features."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.covariance import LedoitWolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from helpers.problems import wide_rows
from heterolda import (
    BoundaryDisplay,
    BoundedErrorClassifier,
    ClassMapDisplay,
    ClassStatistics,
    ErrorCurveDisplay,
    FrontierDisplay,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
    PrecisionWarning,
    ProjectionDisplay,
    compare,
    heteroscedasticity_report,
    recommended,
)
from heterolda.solvers.fisher import PooledLDA

MATRICES = "heterolda.statistics.moments.NARROW", 10**9


@pytest.fixture
def rows(rng):
    """Rows of four classes, in features of many units, one of them constant."""
    return wide_rows(rng)


def test_report_says_why_there_is_no_test_of_covariances(rows, monkeypatch):
    def report():
        statistics = ClassStatistics.from_data(*rows)
        return heteroscedasticity_report(statistics, shrinkage="auto")

    wide = report()
    monkeypatch.setattr(*MATRICES)
    square = report()
    for name in ("lda_error", "best_error", "ratio"):
        assert_allclose(getattr(wide, name), getattr(square, name), rtol=1e-8)
    assert np.all(wide.condition > 1)
    assert wide.box.df == square.box.df
    assert np.isnan(wide.box.p_value)
    assert "have too few samples for 150 features." in str(wide)
    assert not wide.dependent.any()
    for text in map(str, (wide, heteroscedasticity_report(*rows))):
        assert "fewer rows (80) than features (150) any labels" in text
        assert "'cv'" not in text


def test_lda_of_statistics_is_that_of_scikit_learn(rows, rng):
    X, y = rows
    new = X[rng.permutation(len(X))] + 0.5 * X.std(axis=0) * rng.normal(size=X.shape)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    ours = PooledLDA(ClassStatistics.from_data(X, y))
    assert np.array_equal(ours.predict(new), lda.predict(new))


def test_map_has_the_covariances_of_the_components(rows):
    projection = HeteroscedasticProjection(method="chernoff").fit(*rows)
    shown = ClassMapDisplay.from_estimator(projection, *rows)
    A = projection.scalings_[:, :2]
    cov = A.T @ projection.statistics_.covariances("auto") @ A
    assert_allclose(shown.covariances, cov, rtol=1e-8, atol=1e-10)


@pytest.mark.filterwarnings("ignore:with fewer rows than features")
def test_plane_through_a_boundary(rows):
    X, y = rows
    two = y < 2
    X, y = X[two], y[two]
    model = GaussianLinearDiscriminant(shrinkage=(0.5, 0.5)).fit(X, y)
    shown = BoundaryDisplay.from_estimator(model, X, y)
    points, (a, b, c) = np.concatenate(shown.points), shown.rules["GLD"]
    assert_allclose(points @ [a, b] + c, X @ model.coef_[0] + model.intercept_)
    # Along the plane the log-odds are a polynomial; its constant is the midpoint.
    s, t, odds = (part.ravel() for part in shown.quadratic)
    terms = np.column_stack([np.ones_like(s), s, t, s * s, s * t, t * t])
    varies = X.std(axis=0) > 0
    means, cov = model.means_[:, varies], model.covariance_[:, varies][:, :, varies]
    one, two = (
        multivariate_normal(mean, matrix).logpdf(means.mean(axis=0)) + np.log(prior)
        for mean, matrix, prior in zip(means, cov, model.priors_, strict=True)
    )
    assert_allclose(np.linalg.lstsq(terms, odds)[0][0], two - one, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:with fewer rows than features")
@pytest.mark.parametrize("solver", ["global", "fisher"])
def test_labels_tell_errors_of_left_out_scores_from_those_of_the_model(rows, solver):
    model = GaussianLinearDiscriminant(solver=solver).fit(*rows)
    plane = BoundaryDisplay.from_estimator(model)
    curve = FrontierDisplay.from_estimator(model)
    line = ProjectionDisplay.from_estimator(model, max_panels=1)
    names = [*plane.errors.values(), *curve.points, line.ax_.get_title()]
    about = " ".join(names)
    assert ("left-out" in about) == (solver == "global")
    assert ("if normal" in about) == (solver == "fisher")
    arc = ErrorCurveDisplay.from_estimator(model)
    for shown in (plane, curve, arc):
        assert shown.plot().ax_.get_title().endswith("under the model mean nothing")


@pytest.mark.filterwarnings("ignore:with fewer rows than features")
def test_pairs_that_a_feature_separates_have_errors_of_the_model(rows):
    X, y = rows
    model = GaussianLinearDiscriminant().fit(np.column_stack([X, y == 0]), y)
    for pair, word in (((0, 1), "if normal"), ((1, 2), "left-out")):
        plane = BoundaryDisplay.from_estimator(model, pair=pair)
        assert word in plane.errors["GLD"]


@pytest.mark.filterwarnings("ignore:with fewer rows than features")
def test_no_matrix_of_features(rows, monkeypatch):
    def refuse(factors):
        raise AssertionError("a matrix of features")

    monkeypatch.setattr("heterolda.statistics.class_statistics.expanded", refuse)
    X, y = rows
    model = GaussianLinearDiscriminant(shrinkage="auto").fit(X, y)
    for display in (FrontierDisplay, BoundaryDisplay, ProjectionDisplay):
        display.from_estimator(model, X, y, pair=(1, 3))
    ErrorCurveDisplay.from_estimator(model)
    ClassMapDisplay.from_estimator(model, X, y)
    heteroscedasticity_report(model.statistics_)
    with warnings.catch_warnings(action="ignore"):  # of a singular QDA
        assert "QDA" in str(compare(X, y, models={"GLD": model, "QDA": None}, cv=2))
    LocalNeighborhoodSearch(model, max_iter=5).fit(X, y)
    two = y < 2
    BoundedErrorClassifier(model, max_error=0.3, confidence=0.6).fit(X[two], y[two])
    assert np.isfinite(recommended().fit(X, y).coef_).all()


def test_coarse_features_are_named(rows):
    X, y = rows
    X = X.copy()
    X[:, 3] = 1e14 + (X[:, 3] - X[:, 3].mean()) / X[:, 3].std()
    with pytest.warns(PrecisionWarning, match=r"features \[3\] vary by little more"):
        GaussianLinearDiscriminant(shrinkage="auto").fit(X, y)


def test_estimators_of_covariances_need_room(rows, monkeypatch):
    model = GaussianLinearDiscriminant(covariance_estimator=LedoitWolf())
    assert model.fit(*rows).score(*rows) > 0.9
    monkeypatch.setattr("heterolda.statistics.moments._SMALL", 0)
    monkeypatch.setattr("heterolda.statistics.moments.available_memory", lambda: 4096)
    monkeypatch.setattr(LedoitWolf, "fit", lambda self, X: pytest.fail("too late"))
    with pytest.raises(ValueError, match="use fewer features"):
        model.fit(*rows)
