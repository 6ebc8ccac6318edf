"""What every classifier promises, whatever its settings: answers that agree."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score

from heterolda import (
    BoundedErrorClassifier,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
    evaluate,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.TrivialRuleWarning",
    "ignore::heterolda.exceptions.ModelMisfitWarning",
)
CLASSIFIERS = {
    "pairs": GaussianLinearDiscriminant(),
    "ovr": GaussianLinearDiscriminant(multiclass="ovr"),
    "search": LocalNeighborhoodSearch(RidgeClassifier(), max_iter=20),
    "smoothed": SmoothedLinearDiscriminant(),
    "bounded": BoundedErrorClassifier(LogisticRegression(), max_error=0.3),
}


def draw(rng, n_classes):
    y = np.arange(240) % n_classes
    return rng.normal(size=(240, 3)) * (1 + y[:, None]) + 6 * np.eye(4, 3)[y], y


def all_answers(model, rows):
    """Return winners, scores and probabilities, which agree."""
    scores, p = model.decision_function(rows), model.predict_proba(rows)
    logs = model.predict_log_proba(rows)
    winners = np.searchsorted(model.classes_, model.predict(rows))
    if scores.ndim == 1:
        assert_array_equal(winners, scores > 0)
    else:
        assert_array_equal(scores, logs)
    if getattr(model, "multiclass", "ovo") == "ovo":
        assert_array_equal(winners, p.argmax(axis=1))
    for values in (p, logs):  # rounding may make others equal
        assert_array_equal(values[np.arange(len(p)), winners], values.max(axis=1))
    assert_allclose(p.sum(axis=1, dtype=float), 1, rtol=1e-6)
    assert_allclose(logs, np.log(p), rtol=1e-6, atol=1e-9)
    assert np.all(p > 0)
    assert np.isfinite(scores).all()
    assert np.isfinite(logs).all()
    return winners, scores, p


@pytest.mark.filterwarnings("ignore::heterolda.exceptions.SmallClassWarning")
@pytest.mark.parametrize("name", ["pairs", "smoothed"])
def test_class_weight_multiplies_priors_and_no_statistics(rng, name):
    """Also in folds that lack a class."""
    X, y = draw(rng, 4)
    few = (y > 0) | (np.arange(len(y)) % 3 == 0)
    X, y = X[few], np.array([*"abcd"])[y[few]]
    shares = np.unique(y, return_counts=True)[1] * [5, 1, 1, 0.5]
    factors = {"a": 5, "d": 0.5}
    for given, weight, priors in (
        (None, factors, dict(zip("abcd", shares, strict=True))),
        ({"d": 1, "c": 2, "b": 3, "a": 4}, factors, [20, 3, 2, 0.5]),
        (None, "balanced", "equal"),
    ):
        model = clone(CLASSIFIERS[name]).set_params(class_weight=weight)
        other = clone(CLASSIFIERS[name]).set_params(priors=priors)
        model.set_params(priors=given).fit(X, y)
        other.fit(X, y)
        assert_allclose(model.priors_, other.priors_)
        assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-5)
        assert_array_equal(model.statistics_.scatters, other.statistics_.scatters)
        errors = [evaluate(m, X, y, cv=3).error for m in (model, other)]
        assert abs(errors[0] - errors[1]) < 0.05  # frequencies differ in folds
    lone = np.append(y, "e")  # a class of one row, absent from a fit
    model.set_params(class_weight={"e": 2.0})
    split = [(np.arange(0, len(y), 2), np.arange(1, len(lone), 2))]
    assert evaluate(model, np.vstack([X, X[:1]]), lone, cv=split).accuracy > 0


def test_a_bound_has_the_priors_of_all_rows_times_class_weights(rng):
    X, y = draw(rng, 2)
    kinds = ({"class_weight": {0: 4}}, {"priors": [0.8, 0.2]})
    bounded = (
        BoundedErrorClassifier(
            GaussianLinearDiscriminant(criterion="minimax", **given), max_error=0.3
        ).fit(X, y)
        for given in kinds
    )
    first, second = (model.estimator_.priors_ for model in bounded)
    assert_allclose(first, second)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_all_answers_agree_in_the_format_of_the_rows(rng, name):
    for n_classes in (2,) if name == "bounded" else (2, 4):
        X, y = draw(rng, n_classes)
        model = clone(CLASSIFIERS[name]).fit(X, y)
        rows = np.vstack([X, 1e4 * X, 1e30 * X, -1e30 * X, 1e-30 * X, 0 * X[:1]])
        if hasattr(model, "coef_"):  # next to a threshold
            w, w0 = model.coef_[0], model.intercept_[0]
            near = X[:20] - np.outer((X[:20] @ w + w0) / (w @ w), w)
            rows = np.vstack([rows, near, 1e150 * X])
        winners, scores, p = all_answers(model, rows)
        assert np.mean(winners[: len(X)] == y) > 0.5
        for k in range(n_classes) if n_classes > 2 else ():
            area = [roc_auc_score(y == k, v[: len(X), k]) for v in (scores, p)]
            assert abs(area[0] - area[1]) < 1e-12
        again = pickle.loads(pickle.dumps(model))
        assert_array_equal(again.predict_proba(X), p[: len(X)])
        if name == "bounded":  # scikit-learn's classifier has its own formats
            continue
        single = np.abs(rows).max(axis=1) < 1e35
        _, *answers = all_answers(model, rows[single].astype(np.float32))
        assert {one.dtype for one in answers} == {np.dtype("f4")}
        exact = model.predict_proba(rows[single].astype(np.float32).astype(float))
        assert_allclose(answers[1], exact, rtol=1e-6, atol=2e-38)
        for other in (np.float16, np.int8):
            assert model.decision_function(X.astype(other)).dtype == np.float64


@pytest.mark.usefixtures("kernels")
def test_a_row_alone_and_among_others_has_the_same_answers(rng, monkeypatch):
    """Also on thresholds, at exact ties, and beyond all ranges."""
    for n_classes in (2, 5):
        y = np.arange(60 * n_classes) % n_classes
        angle = 2 * np.pi * y / n_classes
        X = rng.normal(size=(len(y), 2))
        X += 2 * np.column_stack([np.cos(angle), np.sin(angle)])
        model = GaussianLinearDiscriminant(choose_on="model").fit(X, y)
        # All thresholds go through the middle.
        model.intercept_ = np.zeros(len(model.coef_))
        grid = np.arange(-3, 4) / 10
        rows = np.array([(a, b) for a in grid for b in grid] + [(1e308, -1e308)])
        rows = np.vstack([rows, X[:40], 1e300 * X[:9], 1e-310 * X[:9]])
        answers = all_answers(model, rows)
        for r in range(len(rows)):
            for one, among in zip(all_answers(model, rows[[r]]), answers, strict=True):
                if r % 7 == 0 or one.dtype == np.intp:
                    assert_allclose(one[0], among[r], rtol=1e-13)
        with monkeypatch.context() as patch:
            patch.setattr("heterolda.foundations.threads.n_threads", lambda: 3)
            patch.setattr("heterolda.estimators.base._WORTH_A_THREAD", 1)
            patch.setattr("heterolda.estimators.base._BLOCK_SIZE", 1)
            many = all_answers(model, np.tile(rows, (9, 1)))
        for them, few in zip(many, answers, strict=True):
            assert_allclose(them, np.concatenate([few] * 9), rtol=1e-13)


def test_notebooks_show_no_link_to_pages_that_may_not_exist():
    for model in (CLASSIFIERS["pairs"], HeteroscedasticProjection(2)):
        shown = model._repr_html_()
        assert "shrinkage" in shown
        assert "href=" not in shown


@pytest.mark.parametrize("name", ["pairs", "search", "smoothed", "projection"])
def test_data_frames(rng, name):
    X, y = draw(rng, 4)
    model = CLASSIFIERS.get(name, HeteroscedasticProjection(2))
    ask = "predict" if hasattr(model, "predict") else "transform"
    plain = clone(model).fit(X, y)
    for frame in (
        pd.DataFrame(X, columns=[*"abc"]),
        pl.DataFrame(X, schema=[*"abc"]),
    ):
        named = clone(model).fit(frame, y)
        for one in (named, getattr(named, "estimator_", named)):
            assert list(one.feature_names_in_) == [*"abc"]
        assert_array_equal(getattr(named, ask)(frame), getattr(plain, ask)(X))
        with pytest.raises(ValueError, match="feature names"):
            getattr(named, ask)(frame[["a", "c", "b"]])
        if hasattr(named, "partial_fit"):
            with pytest.raises(ValueError, match="feature names"):
                named.partial_fit(frame[["a", "c", "b"]], y)
    if ask == "transform":
        named.set_output(transform="pandas")
        answers = named.transform(frame.to_pandas())
        assert [*answers] == [f"heteroscedasticprojection{k}" for k in range(2)]
