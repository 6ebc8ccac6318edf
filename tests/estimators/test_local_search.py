"""The meta-estimator: its starts, its weights, and what users do with it."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.multiclass import OneVsOneClassifier
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from helpers.problems import count_errors, literal_search
from heterolda import (
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
)
from heterolda.estimators.placement import host_of
from heterolda.foundations.arrays import device_of, to_host
from heterolda.search import pair_search

STARTS = [
    GaussianLinearDiscriminant(),
    GaussianLinearDiscriminant(solver="fixed-point", voting="majority"),
    LinearDiscriminantAnalysis(),
    LogisticRegression(),
    LinearSVC(),
    RidgeClassifier(),
    SGDClassifier(random_state=0),
    Perceptron(),
    SVC(kernel="linear"),
]


def names(estimators):
    return [type(estimator).__name__ for estimator in estimators]


@pytest.fixture
def four(make_classes):
    """Four classes that are neither normal nor separable."""
    X, y = make_classes(n_classes=4, n=70, d=3)
    return np.sign(X) * np.abs(X) ** 1.5, np.array(["a", "b", "c", "dd"])[y]


@pytest.fixture
def two(four):
    X, y = four
    rows = (y == "a") | (y == "c")
    return X[rows], y[rows]


def literal_predictions(rules, weights, classes, X):
    """One-vs-one votes, row by row; ties go to the larger sum of scores."""
    k = len(classes)
    labels = []
    for x in X:
        votes, scores = np.zeros(k), np.zeros(k)
        pair = 0
        for i in range(k):
            for j in range(i + 1, k):
                w0, *w = rules[pair]
                score = w0 - np.dot(w, x)
                votes[i if score <= 0 else j] += weights[pair]
                scores[j] += score
                scores[i] -= score
                pair += 1
        tied = np.isclose(votes, votes.max(), rtol=0, atol=1e-9)
        labels.append(classes[np.argmax(np.where(tied, scores, -np.inf))])
    return np.array(labels)


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
        weights.append(1 - model.bayes_error_[k] if own else accuracy)
    truth = literal_predictions(rules, weights, search.classes_, X)
    assert_array_equal(search.predict(X), truth)
    assert search.n_errors_.dtype.kind == "i"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("start", STARTS, ids=names(STARTS))
def test_any_linear_classifier_is_a_start(four, two, start):
    search = LocalNeighborhoodSearch(start, max_iter=50).fit(*two)
    X, y = two
    fitted = clone(start).fit(X, y)
    assert search.n_errors_start_ == np.count_nonzero(fitted.predict(X) != y)
    assert search.n_errors_ == np.count_nonzero(search.predict(X) != y)
    assert search.n_errors_ <= search.n_errors_start_
    assert_array_equal(search.estimator_.predict(X), fitted.predict(X))

    X, y = four
    search.fit(X, y)
    assert search.coef_.shape == (6, 3)
    assert np.all(search.n_errors_ <= search.n_errors_start_)
    alone = start if hasattr(start, "voting") else OneVsOneClassifier(clone(start))
    assert_array_equal(search.estimator_.predict(X), alone.fit(X, y).predict(X))
    for k, (i, j) in enumerate(search.pairs_):
        a, b = search.classes_[[i, j]]
        rows = (y == a) | (y == b)
        second = X[rows] @ search.coef_[k] + search.intercept_[k] > 0
        assert search.n_errors_[k] == np.count_nonzero(second != (y[rows] == b))


@pytest.mark.parametrize("voting", ["weighted", "majority"])
def test_votes_of_the_start(four, voting):
    X, y = four
    start = GaussianLinearDiscriminant(voting=voting)
    search = LocalNeighborhoodSearch(start, max_iter=1).fit(X, y)
    assert_array_equal(search.predict(X), start.fit(X, y).predict(X))
    assert_allclose(search.predict_proba(X), start.predict_proba(X), rtol=1e-6)


def test_one_vs_all_is_refined_as_one_vs_one(four):
    X, y = four
    ova = LocalNeighborhoodSearch(GaussianLinearDiscriminant(multiclass="ova"))
    assert_array_equal(ova.fit(X, y).coef_, LocalNeighborhoodSearch().fit(X, y).coef_)


FITTED = [
    LogisticRegression(),
    RidgeClassifier(),
    LinearSVC(),
    SVC(kernel="linear"),
    GaussianLinearDiscriminant(),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("start", FITTED, ids=names(FITTED))
def test_fitted_starts_are_taken_as_they_are(make_classes, start, n_classes):
    # With three classes there are three rules, one-vs-one or one-vs-rest.
    X, y = make_classes(n_classes=n_classes)
    start = clone(start).fit(X[::2], y[::2])
    kept = start.coef_.copy()
    search = LocalNeighborhoodSearch(FrozenEstimator(start), max_iter=20).fit(X, y)
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


def test_a_search_starts_where_another_ended(four):
    X, y = four
    one = LocalNeighborhoodSearch(max_iter=10).fit(X, y)
    two = LocalNeighborhoodSearch(FrozenEstimator(one)).fit(X, y)
    assert_array_equal(two.n_errors_start_, one.n_errors_)
    assert np.all(two.n_errors_ <= one.n_errors_)


def test_weights_are_repetitions(rng, four):
    X, y = four
    times = rng.integers(0, 4, len(y))
    for start in (GaussianLinearDiscriminant(), RidgeClassifier()):
        search = LocalNeighborhoodSearch(start)
        weighted = clone(search).fit(X, y, sample_weight=times)
        repeated = search.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        assert_array_equal(weighted.n_errors_, repeated.n_errors_)
        assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6)
        assert_array_equal(weighted.predict(X), repeated.predict(X))
        assert_allclose(
            weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-5, atol=1e-9
        )


def test_class_weight_multiplies_priors_and_errors_not_statistics(four):
    X, y = four
    costs = {"a": 5.0, "c": 0.5}
    plain = LocalNeighborhoodSearch().fit(X, y)
    search = LocalNeighborhoodSearch(class_weight=costs).fit(X, y)
    start = search.estimator_
    assert_array_equal(start.statistics_.weights, plain.estimator_.statistics_.weights)
    truth = np.array([5.0, 1.0, 0.5, 1.0])
    assert_allclose(start.priors_, truth / truth.sum())  # classes of equal size
    for k, (i, j) in enumerate(search.pairs_):
        rows = (y == search.classes_[i]) | (y == search.classes_[j])
        first = y[rows] == search.classes_[i]
        weight = np.where(first, truth[i], truth[j])
        v = np.append(search.intercept_[k], -search.coef_[k])
        errors = count_errors(X[rows], first, weight, v)
        assert search.n_errors_[k] == pytest.approx(errors)
    assert np.sum(search.predict(X) == "a") > np.sum(plain.predict(X) == "a")
    # A start with priors of its own keeps them, multiplied.
    shares = {"dd": 4, "c": 3, "b": 2, "a": 1}
    for priors, own in (([1, 2, 3, 4],) * 2, (shares, [1, 2, 3, 4]), ("equal", 1)):
        given = GaussianLinearDiscriminant(priors=priors)
        search = LocalNeighborhoodSearch(given, max_iter=1, class_weight=costs)
        found = search.fit(X, y).estimator_.priors_
        assert_allclose(found, truth * own / np.sum(truth * own))


@pytest.mark.parametrize("start", [LogisticRegression(), LinearDiscriminantAnalysis()])
def test_class_weight_of_other_starts(two, start):
    X, y = two
    search = LocalNeighborhoodSearch(start, class_weight={"a": 9.0}).fit(X, y)
    if isinstance(start, LogisticRegression):
        start.fit(X, y, sample_weight=np.where(y == "a", 9.0, 1.0))
    else:
        start.set_params(priors=[0.9, 0.1]).fit(X, y)
    wrong = start.predict(X) != y
    assert search.n_errors_start_ == 9 * sum(wrong & (y == "a")) + sum(
        wrong & (y > "a")
    )


def test_priors_of_other_starts_are_those_of_the_pair(four):
    X, y = four
    priors = np.array([4.0, 3.0, 2.0, 1.0])
    start = LinearDiscriminantAnalysis(priors=priors)
    search = LocalNeighborhoodSearch(start, max_iter=1).fit(X, y)
    for model, pair in zip(search.estimator_.estimators_, search.pairs_, strict=True):
        assert_allclose(model.priors_, priors[pair] / priors[pair].sum())


@pytest.mark.parametrize("labels", [[0, 1, 2], ["a", "b", "c"]])
def test_class_weight_of_the_start_keeps_its_labels(make_classes, labels):
    X, y = make_classes(n_classes=3)
    y = np.array(labels)[y]
    costs = dict(zip(labels, [1.0, 3.0, 20.0], strict=True))
    start = LogisticRegression(class_weight=costs)
    search = LocalNeighborhoodSearch(start, max_iter=1).fit(X, y)
    for k, pair in enumerate(search.pairs_):
        two = [labels[i] for i in pair]
        rows = np.isin(y, two)
        alone = LogisticRegression(class_weight={label: costs[label] for label in two})
        alone.fit(X[rows], y[rows])
        assert_allclose(search.coef_[[k]], alone.coef_, rtol=1e-4)


@pytest.mark.parametrize("size", [1e-303, 1e-160, 1e160, 1e300])
def test_the_length_of_the_rule_does_not_matter(two, size):
    X, y = two
    start = LogisticRegression().fit(X, y)
    plain = LocalNeighborhoodSearch(FrozenEstimator(start)).fit(X, y)
    start.coef_, start.intercept_ = size * start.coef_, size * start.intercept_
    search = LocalNeighborhoodSearch(FrozenEstimator(start)).fit(X, y)
    assert_array_equal(search.n_errors_start_, plain.n_errors_start_)
    assert_allclose(search.n_errors_, plain.n_errors_, atol=2)
    assert_allclose(search.predict_proba(X).sum(axis=1), 1)
    assert_allclose(search.predict_proba(X), plain.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-290, 1e-303, 1e90])
def test_the_unit_of_weights_does_not_matter(two, scale):
    X, y = two
    start = FrozenEstimator(LogisticRegression().fit(X, y))
    plain = LocalNeighborhoodSearch(start).fit(X, y)
    search = LocalNeighborhoodSearch(start).fit(X, y, np.full(len(y), scale))
    unit = max(scale, 1.0)  # below a mean of one, weights are scaled
    assert_allclose(search.n_errors_ / unit, plain.n_errors_)
    assert_array_equal(search.coef_, plain.coef_)


def test_predictions_are_what_was_counted_on_a_lattice(rng):
    # Rules with round coefficients, so that many rows lie on the threshold.
    for _ in range(100):
        d = rng.integers(2, 7)
        X = rng.integers(0, 6, size=(100, d)).astype(float)
        y = (X.sum(axis=1) + 2 * rng.normal(size=100) > 2.5 * d).astype(int)
        start = LogisticRegression().fit(X, y)
        start.coef_ = np.round(rng.normal(size=(1, d)), 1) + 0.1
        start.intercept_ = -np.round(2.5 * start.coef_.sum(axis=1), 1)
        search = LocalNeighborhoodSearch(FrozenEstimator(start), max_iter=50).fit(X, y)
        assert search.n_errors_[0] == np.count_nonzero(search.predict(X) != y)
        rule = np.append(search.intercept_, -search.coef_)
        assert search.n_errors_[0] == count_errors(X, y == 0, None, rule)


def test_balanced_classes_cost_the_same(rng, two):
    X, y = two
    rows = np.append(np.flatnonzero(y == "a"), np.flatnonzero(y == "c")[:10])
    search = LocalNeighborhoodSearch(class_weight="balanced").fit(X[rows], y[rows])
    same = LocalNeighborhoodSearch(class_weight={"a": 80 / 140, "c": 80 / 20})
    same.fit(X[rows], y[rows])
    assert_array_equal(search.coef_, same.coef_)
    assert_allclose(search.estimator_.priors_, 0.5)


@pytest.mark.check
@pytest.mark.parametrize("start", [None, LogisticRegression()])
def test_result_is_deterministic_whatever_the_jobs(four, start):
    X, y = four
    searches = [
        LocalNeighborhoodSearch(start, n_jobs=jobs, max_iter=50).fit(X, y)
        for jobs in (None, 1, 2, -1)
    ]
    for other in searches[1:]:
        assert_array_equal(other.coef_, searches[0].coef_)
        assert_array_equal(other.predict_proba(X), searches[0].predict_proba(X))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("start", [None, RidgeClassifier()])
def test_predictions_scores_and_probabilities_agree(make_classes, n_classes, start):
    X, y = make_classes(n_classes=n_classes)
    search = LocalNeighborhoodSearch(start).fit(X, y)
    far = np.concatenate([X, 1e3 * X, 1e150 * X, -1e150 * X, 0 * X])
    p = search.predict_proba(far)
    labels = search.predict(far)
    assert_allclose(p.sum(axis=1), 1)
    assert_array_equal(labels, search.classes_[p.argmax(axis=1)])
    score = search.decision_function(far)
    winner = score.argmax(axis=1) if n_classes > 2 else (score > 0).astype(int)
    assert_array_equal(labels, search.classes_[winner])
    assert np.all(np.isfinite(search.predict_log_proba(far)))


def test_data_frames(four):
    X, y = four
    frame = pd.DataFrame(X, columns=["one", "two", "three"])
    search = LocalNeighborhoodSearch().fit(frame, y)
    assert_array_equal(search.feature_names_in_, frame.columns)
    plain = LocalNeighborhoodSearch().fit(X, y)
    assert_array_equal(search.predict(frame), plain.predict(X))
    assert search.estimator_.score(frame, y) > 0.5  # it knows the names, too
    with pytest.raises(ValueError, match="feature names"):
        search.predict(frame[["two", "one", "three"]])


def test_verbose_tells_the_course(four, capsys):
    X, y = four
    search = LocalNeighborhoodSearch(verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    before, after = search.n_errors_start_[0], search.n_errors_[0]
    assert lines[0] == (
        f"[1/6] 'a' and 'b': {before} -> {after} errors in {search.n_iter_[0]} "
        "iterations"
    )
    search.set_params(verbose=0).fit(X, y)
    assert not capsys.readouterr().out


def test_a_failing_pair_raises_its_error(four, monkeypatch):
    X, y = four

    def fails(*args, **kwargs):
        raise FloatingPointError("no such rule")

    monkeypatch.setattr(pair_search, "paper_search", fails)
    with pytest.raises(FloatingPointError, match="no such rule"):
        LocalNeighborhoodSearch(n_jobs=2).fit(X, y)


BAD_SETTINGS = [
    ({"step": 0}, "'step'"),
    ({"step": 1.5}, "'step'"),
    ({"max_iter": 0}, "'max_iter'"),
    ({"patience": 0}, "'patience'"),
    ({"class_weight": "equal"}, "'class_weight'"),
    ({"class_weight": {"e": 2.0}}, r"labels \['e'\] that are not among"),
    ({"class_weight": {"a": -1.0}}, "class_weight must be positive"),
    ({"class_weight": {"a": np.nan}}, "class_weight contains NaN"),
    ({"class_weight": {"a": 1e101}}, "at most 1e"),
    ({"class_weight": {"a": 1e20}}, "too unequal to count errors"),
    ({"n_jobs": 0}, "n_jobs"),
    ({"estimator": 3}, "'estimator'"),
]


@pytest.mark.parametrize(("settings", "message"), BAD_SETTINGS)
def test_bad_settings_are_named(four, settings, message):
    with pytest.raises(ValueError, match=message):
        LocalNeighborhoodSearch(**settings).fit(*four)


BAD_STARTS = [
    (DecisionTreeClassifier(), TypeError, "has no coef_ and intercept_"),
    (SVC(kernel="rbf"), TypeError, "has no coef_ and intercept_"),
    (make_pipeline(StandardScaler(), LinearSVC()), TypeError, "before the search"),
    (LinearRegression(), TypeError, "must be a linear classifier, got LinearRegr"),
    (FrozenEstimator(LinearSVC()), ValueError, "not fitted"),
    (OneVsOneClassifier(LinearSVC()), TypeError, "OneVsOneClassifier has no coef_"),
    (NearestCentroid(), TypeError, "has no coef_ and intercept_"),
]


@pytest.mark.parametrize(("start", "error", "message"), BAD_STARTS)
def test_bad_starts_are_named(four, start, error, message):
    with pytest.raises(error, match=message):
        LocalNeighborhoodSearch(start).fit(*four)


def test_starts_fitted_on_other_data_are_refused(four):
    X, y = four
    frame = pd.DataFrame(X, columns=["one", "two", "three"])

    def search(start):
        return LocalNeighborhoodSearch(FrozenEstimator(start))

    with pytest.raises(ValueError, match="fitted to 2 features, but X has 3"):
        search(LogisticRegression().fit(X[:, :2], y)).fit(X, y)
    named = search(LogisticRegression().fit(frame, y))
    with pytest.raises(ValueError, match="same columns in the same order"):
        named.fit(frame[["two", "one", "three"]], y)
    with pytest.raises(ValueError, match=r"fitted to classes \['a', 'b', 'c', 'dd'\]"):
        named.fit(frame[y != "b"], y[y != "b"])
    start = GaussianLinearDiscriminant(multiclass="ova").fit(X, y)
    with pytest.raises(ValueError, match="4 rules for 4 classes"):
        search(start).fit(X, y)
    start = LogisticRegression().fit(X, y)
    start.coef_[0, 0] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        search(start).fit(X, y)


def test_bad_data_are_named(four, two):
    X, y = four
    search = LocalNeighborhoodSearch()
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        search.fit(csr_array(X), y)
    with pytest.raises(ValueError, match="NaN"):
        search.fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match="at least 2 classes"):
        search.fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="zero for all rows of classes"):
        search.fit(X, y, sample_weight=0)
    with pytest.raises(ValueError, match="cannot be fitted with sample_weight"):
        LocalNeighborhoodSearch(LinearDiscriminantAnalysis()).fit(
            X, y, sample_weight=np.ones(len(y))
        )


def test_memory_is_less_than_a_copy_of_the_data(rng):
    X = rng.normal(size=(50_000, 20))
    y = rng.integers(2, size=50_000)
    search = LocalNeighborhoodSearch(max_iter=10)
    search.fit(X[:100], y[:100])  # imports
    tracemalloc.start()
    search.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes


def put(device, *arrays):
    """Arrays on a device, None as it is."""
    return [None if one is None else device.put(one) for one in arrays]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"estimator": RidgeClassifier()},
        {"estimator": "frozen"},
    ],
    ids=["paper", "other start", "frozen"],
)
def test_rows_on_a_device_have_the_same_rules(make_classes, rng, device, settings):
    X, y = make_classes(n_classes=4, n=60, d=3, spread=0.8)
    X[:, 0] = np.abs(X[:, 0]) ** 1.5
    weight = rng.integers(0, 3, len(y)) * 1.0
    search = LocalNeighborhoodSearch(max_iter=60, **settings)
    if settings.get("estimator") == "frozen":
        start = GaussianLinearDiscriminant().fit(*put(device, X, y))
        search.set_params(estimator=FrozenEstimator(start))
    there = clone(search).fit(*put(device, X, y, weight))
    if settings.get("estimator") == "frozen":
        assert there.estimator_.coef_ is start.coef_
        search.set_params(estimator=FrozenEstimator(host_of(start)))
    here = search.fit(X, y, weight)
    for name in ("coef_", "intercept_", "n_errors_", "n_errors_start_", "classes_"):
        value = getattr(there, name)
        assert device_of(value) == device
        assert_array_equal(to_host(value), getattr(here, name))
    for one, other in zip(there.history_, here.history_, strict=True):
        assert_array_equal(one, other)
    assert_array_equal(host_of(there).predict(X), here.predict(X))
    if not settings:
        assert device_of(there.estimator_.coef_) == device


def test_labels_and_weights_of_rows_on_a_device_may_be_anywhere(make_classes, device):
    X, y = make_classes(n_classes=2, n=100, d=3, spread=0.8)
    weight = np.arange(len(y)) % 3 * 1.0
    text = np.array(["no", "yes"])[y]
    search = LocalNeighborhoodSearch(max_iter=30)
    expected = search.fit(X, text, weight).history_[0]
    search.fit(device.put(X), text, device.put(weight))
    assert_array_equal(search.history_[0], expected)
    assert_array_equal(search.classes_, ["no", "yes"])


def test_dask_collections_are_refused_in_one_line(two):
    da = pytest.importorskip("dask.array")
    X, y = two
    with pytest.raises(TypeError, match=r"needs rows in memory\. Draw a sample, .*$"):
        LocalNeighborhoodSearch().fit(da.from_array(X), y)
