"""Test what fitted classifiers say of new rows."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import heterolda
from heterolda import (
    BoundedErrorClassifier,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
)
from heterolda.estimators.typical_rows import for_priors
from heterolda.exceptions import ParameterError
from heterolda.inspection import ExplanationDisplay

IRIS = load_iris(return_X_y=True)


def reloaded(model, path):
    heterolda.save(model, path)
    return heterolda.load(path)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "make",
    [
        GaussianLinearDiscriminant,
        lambda: GaussianLinearDiscriminant(multiclass="ovr"),
        lambda: GaussianLinearDiscriminant(voting="majority"),
        SmoothedLinearDiscriminant,
        LocalNeighborhoodSearch,
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_contributions_add_up_and_flips_flip(make, n_classes, tmp_path):
    X, y = IRIS[0][: 50 * n_classes], IRIS[1][: 50 * n_classes].astype(str)
    model = make().fit(X, y)
    for found in (model, reloaded(model, tmp_path / "model.json")):
        why = found.explain(X)
        total = why.offset + why.contributions.sum(axis=1)
        np.testing.assert_allclose(total, why.log_odds, atol=1e-9)
        np.testing.assert_array_equal(why.predicted, model.predict(X))
        assert (why.rival != why.predicted).all()
        if n_classes == 2:
            p = model.predict_proba(X).max(axis=1)
            np.testing.assert_allclose(why.log_odds, np.log(p / (1 - p)), rtol=1e-6)
        flips = np.flatnonzero(why.flip_feature >= 0)
        changed = X.copy()
        changed[flips, why.flip_feature[flips]] = why.flip_value[flips]
        assert (model.predict(changed)[flips] != why.predicted[flips]).all()
        assert len(flips) > 0
        assert np.isnan(why.flip_value[why.flip_feature < 0]).all()
        np.testing.assert_array_equal(why.typicality, model.typicality(X))
    assert len(why.to_frame()) == len(why.text()) == len(why) == len(X)


def test_contributions_start_between_the_means():
    """Where the segment crosses the hyperplane, x0 is on it; otherwise along S w."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 2)) + 3 * y[:, None]
    for priors in (None, [1e-9, 1 - 1e-9]):
        model = GaussianLinearDiscriminant(priors=priors, choose_on="model").fit(X, y)
        w, b = model.coef_[0], model.intercept_[0]
        first, second = model.means_
        at = [first @ w + b, second @ w + b]
        if at[0] < 0 < at[1]:
            zero = first + at[0] / (at[0] - at[1]) * (second - first)
        else:
            along = model.covariance_[0] @ w
            zero = first - at[0] / (w @ along) * along
        why = model.explain(X)
        sign = np.where(why.predicted == 1, 1.0, -1.0)
        ratio = sign[:, None] * why.contributions / (w * (X - zero))
        np.testing.assert_allclose(ratio, ratio[:, :1].repeat(2, axis=1), rtol=1e-6)


def test_the_feature_that_makes_a_row_unlike_is_found():
    data = load_breast_cancer(as_frame=True)
    model = GaussianLinearDiscriminant().fit(data.data, data.target)
    damaged = data.data.copy()
    damaged["mean texture"] *= 1000
    why = model.explain(damaged)
    assert why.typicality.max() < 2 / 213
    assert (why.features[why.unlike] == "mean texture").mean() > 0.95
    plain = data.data.to_numpy()
    model = GaussianLinearDiscriminant().fit(plain, data.target)
    for X in plain, plain.astype(np.float32), csr_array(plain):
        assert np.mean(model.typicality(X) < 0.05) < 0.07


def test_typicality_without_rows_follows_gaussian_classes():
    X, y = IRIS
    model = GaussianLinearDiscriminant().fit(X, y)
    moments = GaussianLinearDiscriminant().fit_statistics(model.statistics_)
    assert abs(model.typicality(X) - moments.typicality(X)).max() < 0.1
    projected = HeteroscedasticProjection().fit(X, y)
    assert np.mean(projected.typicality(X) < 0.05) < 0.07
    moved = model.with_operating_point(priors="equal")
    np.testing.assert_array_equal(model.typicality(X), moved.typicality(X))
    assert model.for_features([0, 1]).typicality(X[:, :2]).min() > 0


@pytest.mark.parametrize(
    ("n_classes", "frequencies"), [(2, [0.95, 0.05]), (3, [0.6, 0.3, 0.1])]
)
def test_frequencies_in_new_rows(n_classes, frequencies):
    rng = np.random.default_rng(0)
    centers = np.array([[0, 0], [2, 0], [0, 2.5]])

    def draw(y):
        return rng.normal(size=(len(y), 2)) + centers[y]

    inside = []
    for _ in range(40):
        y = np.arange(600) % n_classes
        model = GaussianLinearDiscriminant().fit(draw(y), y)
        found = model.estimate_priors(draw(rng.choice(n_classes, 1000, p=frequencies)))
        inside.append((found.low <= frequencies) & (frequencies <= found.high))
        assert found.estimate.sum() == pytest.approx(1)
    assert 0.85 <= np.mean(inside) <= 1
    assert found.changed
    assert sum(found.as_priors.values()) == pytest.approx(1)
    np.testing.assert_allclose(found.estimate, frequencies, atol=0.12)
    assert isinstance(found.to_frame(), pd.DataFrame)
    assert not model.estimate_priors(draw(np.arange(900) % n_classes)).changed


def test_costs_do_not_change_frequencies():
    X, y = IRIS
    plain = GaussianLinearDiscriminant(choose_on="model").fit(X, y)
    costly = GaussianLinearDiscriminant(choose_on="model", costs={0: 9}).fit(X, y)
    np.testing.assert_allclose(
        costly.estimate_priors(X[:60]).estimate,
        plain.estimate_priors(X[:60]).estimate,
        atol=1e-6,
    )
    with pytest.raises(ParameterError, match="costs change the probabilities"):
        SmoothedLinearDiscriminant(costs={0: 9}).fit(X, y).estimate_priors(X)
    search = LocalNeighborhoodSearch().fit(X, y)
    assert search.estimate_priors(X[:50]).estimate[0] > 0.9


def test_rows_with_missing_values_have_typicality_but_no_reasons():
    X, y = IRIS
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = GaussianLinearDiscriminant(missing="em").fit(X, y)
    typical = model.typicality(X)
    assert np.mean(typical < 0.05) < 0.07
    far = X.copy()
    far[:, 2] = np.where(np.isnan(X[:, 2]), np.nan, 1000)
    assert (model.typicality(far)[~np.isnan(X[:, 2])] < 0.02).all()
    with pytest.raises(ParameterError, match="X has missing values"):
        model.explain(X)


def test_transformed_rules_are_exact_in_the_transformed_features():
    X, y = load_breast_cancer(return_X_y=True)
    model = SmoothedLinearDiscriminant().fit(X, y)
    assert model.transformation_ is not None
    why = model.explain(X)
    total = why.offset + why.contributions.sum(axis=1)
    np.testing.assert_allclose(total, why.log_odds, atol=1e-8)
    flips = np.flatnonzero(why.flip_feature >= 0)
    changed = X.copy()
    changed[flips, why.flip_feature[flips]] = why.flip_value[flips]
    assert (model.predict(changed)[flips] != why.predicted[flips]).all()
    assert len(flips) > 100
    far = X.copy()
    far[:, 3] *= 1e6  # beyond the limit of the transformation
    assert model.typicality(far).max() < 1e-6


@pytest.mark.parametrize("kind", ["plain", "scaled", "projected", "frozen"])
def test_a_bound_or_a_pipeline_is_asked_through_its_parts(kind):
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :8]
    inside = GaussianLinearDiscriminant(choose_on="model")
    if kind == "scaled":
        inside = make_pipeline(StandardScaler(), inside)
    elif kind == "projected":
        inside = make_pipeline(HeteroscedasticProjection(3), inside)
    elif kind == "frozen":
        inside = FrozenEstimator(inside.fit(X[:300], y[:300]))
    model = BoundedErrorClassifier(inside, max_error={0: 0.1}).fit(X[300:], y[300:])
    assert np.mean(model.typicality(X) < 0.05) < 0.1
    assert model.typicality(X + 1e4).max() < 0.02
    classifier, priors = for_priors(model)
    assert classifier.predict_proba(X).shape == (len(X), len(priors))
    costly = GaussianLinearDiscriminant(criterion="minimax").fit(X, y)
    assert for_priors(costly)[0] is not costly
    three = SmoothedLinearDiscriminant(costs={0: 9}).fit(*IRIS)
    assert for_priors(three) is None
    assert for_priors(LinearSVC().fit(X, y)) is None


def test_lazy_rows_and_starts_without_statistics():
    X, y = IRIS
    model = GaussianLinearDiscriminant().fit(X, y)
    lazy = model.typicality(da.from_array(X, chunks=50)).compute()
    np.testing.assert_array_equal(lazy, model.typicality(X))
    search = LocalNeighborhoodSearch(LogisticRegression()).fit(X, y)
    with pytest.raises(AttributeError, match="has no statistics of the classes"):
        search.typicality(X)


def test_the_picture_shows_what_adds_up():
    data = load_breast_cancer(as_frame=True)
    model = GaussianLinearDiscriminant().fit(data.data, data.target)
    shown = ExplanationDisplay.from_estimator(model, data.data[:1], n_features=4)
    assert len(shown.steps) == 6
    total = sum(size for _, size in shown.steps)
    assert total == pytest.approx(model.explain(data.data[:1]).log_odds[0])
    widths = [bar.get_width() for bar in shown.ax_.patches]
    np.testing.assert_allclose(widths, [size for _, size in shown.steps])
    with pytest.raises(ValueError, match="one row, got 2: pass"):
        ExplanationDisplay.from_estimator(model, data.data[:2])
