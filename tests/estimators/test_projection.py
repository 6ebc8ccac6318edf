"""HeteroscedasticProjection as scikit-learn's users meet it."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from helpers.problems import wide_rows
from heterolda import ClassStatistics, HeteroscedasticProjection
from heterolda.estimators.component_guard import try_components, warn_of_bad_components
from heterolda.exceptions import ModelMisfitWarning
from heterolda.foundations.threads import silent
from heterolda.statistics.rows import validated
from heterolda.subspaces import Subspace

FITTED = "scalings_", "mean_", "explained_", "loadings_", "priors_"


def same(a, b, tolerance=0.0):
    """Whether two projections were fitted to the same."""
    return all(
        np.allclose(getattr(a, name), getattr(b, name), rtol=0, atol=tolerance)
        for name in FITTED
    )


def test_transform_and_back(make_classes):
    X, y = make_classes(4, d=5)
    X = X + 1e6
    model = HeteroscedasticProjection(2).fit(X, y)
    Z = model.transform(X)
    assert np.allclose(Z, (X - model.mean_) @ model.scalings_)
    assert np.allclose(model.transform(model.inverse_transform(Z)), Z)
    everything = HeteroscedasticProjection(5).fit(X, y)
    assert np.allclose(everything.inverse_transform(everything.transform(X)), X)
    assert np.allclose(model.transform(X.astype("f4")), Z, atol=0.5)
    assert model.transform(np.tile(X, (200, 1))).shape == (200 * len(X), 2)


def test_partial_fit_says_what_it_waits_for(make_classes):
    X, y = make_classes(4)
    model = HeteroscedasticProjection(2, priors={3: 4, 2: 3, 1: 2, 0: 1})
    with pytest.raises(NotFittedError, match="not fitted yet"):
        model.transform(X)
    model.partial_fit(X[y < 3], y[y < 3])
    with pytest.raises(NotFittedError, match=r"it has 180 rows of \[0, 1, 2\]"):
        model.transform(X)
    first = np.flatnonzero(y == 3)[0]
    single = HeteroscedasticProjection(2, shrinkage=0)
    single.partial_fit(np.vstack([X[y < 3], X[[first]]]), [*y[y < 3], 3])
    assert not hasattr(single, "scalings_")  # a class of one row has no covariance
    model.partial_fit(X[y == 3], y[y == 3])
    assert same(model, clone(model).set_params(guard=False).fit(X, y), 1e-6)
    assert model.priors_ == pytest.approx([0.1, 0.2, 0.3, 0.4])
    equal = HeteroscedasticProjection(2, priors="equal").partial_fit(X[y < 3], y[y < 3])
    assert equal.priors_.tolist() == [1 / 3] * 3
    equal.partial_fit(X[y == 3], y[y == 3], decay=0.5)
    assert equal.statistics_.weights.tolist() == [30, 30, 30, 60]


def test_chunks_of_too_few_directions_wait(make_classes):
    X, y = make_classes(4, d=6)
    flat = X * (np.arange(6) < 2)
    model = HeteroscedasticProjection(3, method="chernoff", shrinkage="auto")
    model.partial_fit(flat, y)
    assert not hasattr(model, "scalings_")
    model.partial_fit(X, y)
    whole = clone(model).set_params(guard=False)
    whole.fit(np.vstack([flat, X]), np.append(y, y))
    assert same(model, whole, 1e-6)


def skewed_classes(rng, n=600):
    """Two classes that one feature separates, and a feature far from Gaussian."""
    y = np.repeat([0, 1], n // 2)
    X = rng.normal(size=(n, 3))
    X[:, 0] += 1.5 * y
    X[:, 1] = (y == 1) & (rng.uniform(size=n) < 0.03)  # a rare dummy
    return X, y


def naive_error(model, X, y):
    """Error on rows of the Gaussian classes as seen in the components of a model."""
    Z = model.transform(X)
    cov = model.statistics_.covariances("auto")
    logs = [
        np.log(model.priors_[k])
        - 0.5 * np.linalg.slogdet(S)[1]
        - 0.5 * np.einsum("ij,jk,ik->i", Z - m, np.linalg.inv(S), Z - m)
        for k, (S, m) in enumerate(
            zip(
                model.scalings_.T @ cov @ model.scalings_,
                model.transform(model.statistics_.means),
                strict=True,
            )
        )
    ]
    return np.mean(model.classes_[np.argmax(logs, axis=0)] != y)


def test_errors_in_components_count_classes_by_their_priors(rng):
    X, y = skewed_classes(rng)
    rows = validated(X[:420], y[:420])  # 300 and 120
    stats = ClassStatistics.from_rows(rows)
    moments = stats.means, stats.covariances(0), np.array([0.2, 0.8])
    trial, *_ = try_components((*moments, stats.weights), 1, "error", silent, rows)
    model = HeteroscedasticProjection(1, shrinkage=0, guard=False, priors=[0.2, 0.8])
    model.fit(X[:420], y[:420])
    rates = [naive_error(model, X[:300], y[:300]), naive_error(model, X[300:420], 1)]
    assert trial.error == pytest.approx(np.dot([0.2, 0.8], rates))


def test_a_warning_of_components_needs_more_than_chance(rng):
    X, y = skewed_classes(rng)
    stats, rows = ClassStatistics.from_data(X, y), validated(X, y)
    moments = stats.means, stats.covariances("auto"), np.full(2, 0.5), stats.weights
    trial, *_ = try_components(moments, 1, "error", silent, rows)
    worse = replace(trial, error=0.3, fisher_error=0.2, deviation=0.02)
    with pytest.warns(ModelMisfitWarning, match="classes are not Gaussian"):
        warn_of_bad_components(stats, [worse])
    by_chance = replace(worse, deviation=0.05)
    warn_of_bad_components(stats, [by_chance])  # a warning would be an error


def test_if_no_components_are_as_good_as_those_of_lda_the_best_are_taken(
    rng, monkeypatch
):
    y = np.repeat([0, 1], 300)
    X = rng.normal(size=(600, 3)) + y[:, None] * [3, 0, 1.5]
    stats = ClassStatistics.from_data(X, y)
    moments = stats.means, stats.covariances(0), np.full(2, 0.5), stats.weights

    def axis(*arguments):
        method, to_pooled = arguments[5], [*arguments, 0][7:8]
        feature = 0 if method == "fisher" else 2 if to_pooled == [0.3] else 1
        return Subspace(moments[2] @ stats.means, np.eye(3)[:, [feature]], None, None)

    guard = "heterolda.estimators.component_guard.find_subspace"
    monkeypatch.setattr(guard, axis)
    trials = try_components(moments, 1, "error", silent, validated(X, y))
    assert all(trial.is_worse for trial in trials)
    assert trials[-1].added == 0.3


def test_rows_have_the_last_word(rng):
    X, y = skewed_classes(rng)
    pure = HeteroscedasticProjection(1, guard=False).fit(X, y)
    assert np.abs(pure.scalings_[:, 0]).argmax() == 1
    with pytest.warns(ModelMisfitWarning, match=r"leave out features \[1\]"):
        guarded = HeteroscedasticProjection(1).fit(X, y)
    assert pure.guarded_ == 0 < guarded.guarded_
    errors = [naive_error(model, X, y) for model in (pure, guarded)]
    assert errors[1] < errors[0] - 0.05
    # From statistics alone, nobody can tell.
    assert same(clone(guarded).fit_statistics(guarded.statistics_), pure)
    # With more components than LDA has, those of LDA come first.
    with pytest.warns(ModelMisfitWarning, match="or use fewer components"):
        both = HeteroscedasticProjection(2).fit(X, y)
    lda = HeteroscedasticProjection(method="fisher").fit(X, y)
    assert both.guarded_ == 1
    assert np.allclose(both.scalings_[:, :1], lda.scalings_)


@pytest.mark.parametrize("method", ["fisher", "chernoff", "error"])
def test_fewer_rows_than_features(rng, monkeypatch, method):
    X, y = wide_rows(rng)
    model = HeteroscedasticProjection(method=method, guard=False)
    wide = clone(model).fit(X, y)
    with pytest.raises(
        ValueError, match=r"fewer rows than the 150 features|classes dif"
    ):
        clone(model).set_params(n_components=120).fit(X, y)
    monkeypatch.setattr("heterolda.statistics.moments.NARROW", 10**9)
    square = model.fit(X, y)
    np.testing.assert_allclose(wide.mean_, square.mean_, rtol=1e-12)
    # A search ends where its tolerance says, in either.
    close = {"rtol": 1e-7, "atol": 1e-7 if method != "error" else 1e-3}
    np.testing.assert_allclose(wide.explained_, square.explained_, **close)
    projected = wide.transform(X)
    np.testing.assert_allclose(projected, square.transform(X), **close)
    units = X.std(axis=0) + 1
    two = (model.inverse_transform(projected) / units for model in (wide, square))
    np.testing.assert_allclose(*two, **close)
