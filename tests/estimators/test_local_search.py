"""The local search: its starts, its weights, and the literal algorithm."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC

from helpers.problems import count_errors, literal_search, winners_of
from heterolda import GaussianLinearDiscriminant, LocalNeighborhoodSearch

STARTS = [
    GaussianLinearDiscriminant(solver="fixed-point", voting="majority"),
    LinearDiscriminantAnalysis(),
    RidgeClassifier(),
    SVC(kernel="linear"),
]


def names(estimators):
    return [type(estimator).__name__ for estimator in estimators]


@pytest.fixture
def four(make_classes):
    """Four classes that are neither normal nor separable."""
    X, y = make_classes(n_classes=4, n=70, d=3)
    return np.sign(X) * np.abs(X) ** 1.5, np.array(["a", "b", "c", "dd"])[y]


@pytest.mark.parametrize("own", [True, False])
def test_four_classes_are_the_literal_algorithm(four, own):
    X, y = four
    start = GaussianLinearDiscriminant() if own else LinearDiscriminantAnalysis()
    search = LocalNeighborhoodSearch(start, max_iter=60).fit(X, y)
    rules, weights = [], []
    for k, (i, j) in enumerate([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]):
        a, b = search.classes_[[i, j]]
        rows = (y == a) | (y == b)
        first = y[rows] == a
        if own:
            model = clone(start).fit(X, y)
            v = np.append(model.intercept_[k], -model.coef_[k])
        else:
            model = clone(start).fit(X[rows], y[rows])
            v = np.append(model.intercept_, -model.coef_)
        truth = literal_search(X[rows], first, None, v, 0.1, 60, 100)
        assert_array_equal(np.append(search.intercept_[k], -search.coef_[k]), truth.v)
        assert_array_equal(search.history_[k], truth.history)
        assert search.n_errors_[k] == truth.errors
        assert search.n_errors_start_[k] == truth.history[0]
        assert search.n_iter_[k] == len(truth.history)
        rules.append(truth.v)
        accuracy = 1 - truth.errors / np.count_nonzero(rows)
        weights.append(1 - model.model_error_[k] if own else accuracy)
    p = search.predict_proba(X)
    w0, *w = np.transpose(rules)
    scores = w0 - X @ w
    truth = search.classes_[winners_of(scores, np.array(weights), 4)]
    assert search.n_errors_.dtype.kind == "i"
    assert_array_equal(search.predict(X), search.classes_[p.argmax(axis=1)])
    voting = clone(search).set_params(voting="weighted").fit(X, y)
    assert_array_equal(voting.predict(X), truth)
    assert_allclose(1 - voting._committee.planes.error, weights)
    equal = search.set_params(voting="majority").fit(X, y)
    truth = search.classes_[winners_of(scores, np.ones(6), 4)]
    assert_array_equal(equal.predict(X), truth)


@pytest.mark.parametrize("start", STARTS, ids=names(STARTS))
def test_any_linear_classifier_is_a_start(four, start):
    X, y = four
    for rows in (np.isin(y, ["a", "c"]), np.isin(y, ["a", "b", "c", "dd"])):
        search = LocalNeighborhoodSearch(start, max_iter=50)
        search.fit(X[rows], y[rows])
        assert np.all(search.n_errors_ <= search.n_errors_start_)
        alone = start if hasattr(start, "voting") else OneVsOneClassifier(start)
        alone = clone(alone).fit(X[rows], y[rows])
        assert_array_equal(search.estimator_.predict(X), alone.predict(X))
        for k, pair in enumerate(search.pairs_):
            a, b = search.classes_[pair]
            two = (y == a) | (y == b)
            second = X[two] @ search.coef_[k] + search.intercept_[k] > 0
            assert search.n_errors_[k] == np.count_nonzero(second != (y[two] == b))
    assert search.coef_.shape == (6, 3)
    assert search._committee.voting == "probability"


FITTED = [LogisticRegression(), SVC(kernel="linear"), GaussianLinearDiscriminant()]


@pytest.mark.parametrize("start", FITTED, ids=names(FITTED))
def test_fitted_starts_are_taken_as_they_are(make_classes, start):
    for n_classes in (2, 3):  # of three, there are three rules: one-vs-one or -rest
        X, y = make_classes(n_classes=n_classes)
        start = clone(start).fit(X[::2], y[::2])
        kept = start.coef_.copy()
        search = LocalNeighborhoodSearch(FrozenEstimator(start), max_iter=20)
        search.fit(X, y)
        assert_array_equal(start.coef_, kept)
        for k, (i, j) in enumerate(search.pairs_):
            rows = (y == i) | (y == j)
            if n_classes == 2:
                second = start.predict(X) == 1
            elif isinstance(start, SVC):
                start.set_params(decision_function_shape="ovo")
                second = start.decision_function(X[rows])[:, k] < 0
            elif isinstance(start, GaussianLinearDiscriminant):
                second = X[rows] @ start.coef_[k] + start.intercept_[k] > 0
            else:
                scores = start.decision_function(X[rows])
                second = scores[:, j] > scores[:, i]
            errors = np.count_nonzero(second != (y[rows] == j))
            assert search.n_errors_start_[k] == errors
        assert np.all(search.n_errors_ <= search.n_errors_start_)


def test_costs_multiply_priors_and_errors_not_statistics(four):
    X, y = four
    costs, twice = {"a": 5.0, "c": 0.5}, np.full(len(y), 2.0)
    plain = LocalNeighborhoodSearch().fit(X, y, twice)
    search = LocalNeighborhoodSearch(costs=costs).fit(X, y, twice)
    start = search.estimator_
    assert_array_equal(start.statistics_.weights, plain.estimator_.statistics_.weights)
    truth = np.array([5.0, 1.0, 0.5, 1.0])
    times = GaussianLinearDiscriminant(priors=truth).fit(X, y, twice)
    assert_allclose(start.coef_, times.coef_, rtol=1e-6)  # classes of equal size
    for k, (i, j) in enumerate(search.pairs_):
        rows = (y == search.classes_[i]) | (y == search.classes_[j])
        first = y[rows] == search.classes_[i]
        weight = 2 * np.where(first, truth[i], truth[j])
        v = np.append(search.intercept_[k], -search.coef_[k])
        errors = count_errors(X[rows], first, weight, v)
        assert search.n_errors_[k] == pytest.approx(errors)
    # A start with costs of its own keeps them; others get priors, multiplied.
    given = GaussianLinearDiscriminant(costs={"b": {"a": 7.0}})
    search = LocalNeighborhoodSearch(given, max_iter=1, costs=costs).fit(X, y)
    assert search.estimator_.costs == given.costs
    given = LinearDiscriminantAnalysis(priors=[0.1, 0.2, 0.3, 0.4])
    matrix = {"b": {"a": 7.0}, "a": {"b": 2.0}}
    search = LocalNeighborhoodSearch(given, max_iter=1, costs=matrix).fit(X, y)
    priors = search.estimator_.estimators_[0].priors_
    assert_allclose(priors, [2 / 16, 14 / 16])


def test_settings_of_the_start_keep_their_labels(make_classes):
    costs, priors = {"a": 1.0, "b": 3.0, "c": 20.0}, np.array([0.2, 0.3, 0.5])
    for labels in (["a", "b", "c"], ["b", "c"]):
        X, y = make_classes(n_classes=len(labels))
        y = np.array(labels)[y]
        start = LogisticRegression(class_weight={k: costs[k] for k in labels})
        search = LocalNeighborhoodSearch(start, max_iter=1).fit(X, y)
        for k, pair in enumerate(search.pairs_):
            two = [labels[i] for i in pair]
            rows = np.isin(y, two)
            alone = LogisticRegression(class_weight={k: costs[k] for k in two})
            alone.fit(X[rows], y[rows])
            assert_allclose(search.coef_[[k]], alone.coef_, rtol=1e-4)
    X, y = make_classes(n_classes=3)
    start = LinearDiscriminantAnalysis(priors=priors)
    search = LocalNeighborhoodSearch(start, max_iter=1).fit(X, y)
    for k, pair in enumerate(search.pairs_):
        rows = np.isin(y, pair)
        alone = LinearDiscriminantAnalysis(priors=priors[pair] / priors[pair].sum())
        errors = np.sum(alone.fit(X[rows], y[rows]).predict(X[rows]) != y[rows])
        assert search.n_errors_start_[k] == errors
    # Without priors, costs are weights of the rows.
    weight = np.array([1.0, 5.0, 1.0])[y]
    alone = LogisticRegression().fit(X[y < 2], y[y < 2], sample_weight=weight[y < 2])
    search = LocalNeighborhoodSearch(LogisticRegression(), max_iter=1)
    search.set_params(costs={1: 5.0}).fit(X, y)
    assert_allclose(search.coef_[0], alone.coef_[0], rtol=1e-4)
    errors = weight[y < 2][alone.predict(X[y < 2]) != y[y < 2]].sum()
    assert search.n_errors_start_[0] == errors
