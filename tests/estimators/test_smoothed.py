"""The discriminant of smoothed rows, and what it chooses on held-out rows."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import heterolda
from heterolda import GaussianLinearDiscriminant, SmoothedLinearDiscriminant
from heterolda.estimators import smoothed
from heterolda.estimators.width_choice import _Contest, held_out_folds
from heterolda.statistics.power import FARTHEST
from heterolda.statistics.rows import Rows

pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.SmallClassWarning", "ignore::heterolda.TrivialRuleWarning"
)


@pytest.fixture
def four(make_classes):
    X, y = make_classes(n_classes=4, n=50, d=3)
    return np.sign(X) * np.abs(X) ** 1.5, np.array(["a", "b", "c", "dd"])[y]


@pytest.fixture
def pair(make_classes):
    """Two classes that are neither normal nor separable."""
    X, y = make_classes(n_classes=2, n=80, d=3, spread=0.7)
    return np.sign(X) * np.abs(X) ** 1.5, y


def unit(model):
    """Return rules whose normals have length one."""
    size = np.linalg.norm(model.coef_, axis=1)
    return np.column_stack([model.coef_, model.intercept_]) / size[:, None]


@pytest.mark.parametrize("shrinkage", ["cv", (0.4, 0.2)])
def test_width_1_is_the_optimum_for_gaussians(four, shrinkage):
    model = SmoothedLinearDiscriminant(1, transformation=None, shrinkage=shrinkage)
    other = GaussianLinearDiscriminant(shrinkage=shrinkage, guard=False)
    model.fit(*four)
    other.fit(*four)
    assert_allclose(unit(model), unit(other), rtol=0, atol=1e-9)
    assert_allclose(model.smoothed_error_, other.bayes_error_)
    assert model.width_ == 1


def test_the_path_has_all_candidates_and_rules_are_means_of_the_best(pair, monkeypatch):
    model = SmoothedLinearDiscriminant().fit(*pair)
    widths = [row["width"] for row in model.path_ if row["width"]]
    assert (widths[0], widths[-1]) == (1, 0.002)
    assert widths == sorted(widths, reverse=True)
    assert_allclose(sum(row["weight"] for row in model.path_), 1)
    best = min(row["error"] for row in model.path_)
    assert best in [row["error"] for row in model.path_ if row["weight"]]
    of_width = next(row for row in model.path_ if row["width"] == model.width_)
    assert of_width["error"] == min(r["error"] for r in model.path_ if r["width"])
    apart = SmoothedLinearDiscriminant().fit(pair[0] + 99 * pair[1][:, None], pair[1])
    assert apart.width_ == 1  # the largest of equally good ones
    monkeypatch.setattr(smoothed, "RIDGES", ())
    model = SmoothedLinearDiscriminant(transformation=None).fit(*pair)
    chosen = [row["width"] for row in model.path_ if row["weight"]]
    single = [
        SmoothedLinearDiscriminant(width, transformation=None).fit(*pair).coef_
        for width in chosen
    ]
    assert_allclose(model.coef_, np.mean(single, axis=0), rtol=1e-3, atol=1e-4)


def test_candidates_within_a_standard_error_are_averaged():
    rows = Rows(np.zeros((100, 1)), np.zeros(100, int), None, np.arange(2))
    contest = _Contest(rows, np.zeros(100, int), np.ones(100), [])
    best = np.arange(100) < 10
    near, far = best.copy(), best.copy()  # both differ in 16 rows, by 4 deviations
    near[[*range(3, 10), *range(20, 29)]] ^= True
    far[[*range(5), *range(20, 31)]] ^= True
    vars(contest)["each_wrong"] = np.array([far, best, near])
    every = np.ones(100, bool)
    assert contest.near_best(every).tolist() == [1, 2]
    assert contest.is_clearly_better(best, far, every)
    assert not contest.is_clearly_better(best, near, every)
    tied, more = best[::-1], best | (np.arange(100) // 4 == 5)
    vars(contest)["each_wrong"] = np.array([tied, best, more])
    contest.cost[best] -= 1e-15  # rounding does not decide which of two is the best
    assert contest.near_best(every).tolist() == [0, 1, 2]


def test_each_fold_is_predicted_by_what_the_others_choose(pair, monkeypatch):
    counted, near_best = [], _Contest.near_best

    def watched(contest, mask):
        counted.append(mask)
        return near_best(contest, mask)

    monkeypatch.setattr(_Contest, "near_best", watched)
    SmoothedLinearDiscriminant(transformation=None).fit(*pair)
    assert_allclose(sorted(np.mean(counted, axis=1)), [0.8] * 5 + [1], atol=0.02)
    assert np.sum(counted[:5], axis=0).tolist() == [4] * len(pair[1])


@pytest.mark.check
def test_the_estimate_is_the_truth(rng):
    """Also of noise: the fewest errors of all candidates would be too good."""
    off, deviations = [], []
    for apart in (0.0, 0.7):
        for _ in range(20):
            y = rng.permutation(np.arange(2200) % 2)
            X = rng.standard_t(3, size=(2200, 4)) * [1, 2, 1, 1] + apart * y[:, None]
            model = SmoothedLinearDiscriminant().fit(X[:200], y[:200])
            truth = 1 - model.score(X[200:], y[200:])
            off.append(model.held_out_error_ - truth)
            deviations.append(np.sqrt(truth * (1 - truth) * (1 / 200 + 1 / 2000)))
        assert np.abs(off).max() < 4 * np.max(deviations)
        assert abs(np.mean(off)) < 3 * np.mean(deviations) / np.sqrt(len(off)) + 0.01


def test_classes_too_small_to_hold_out(rng):
    for sizes in ((40, 30, 1, 1), (50, 1), (1, 1, 30)):
        y = np.repeat(np.arange(len(sizes)), sizes)
        X = rng.normal(size=(len(y), 2)) + 2 * y[:, None]
        model = SmoothedLinearDiscriminant().fit(X, y)
        assert np.isfinite(model.predict_proba(X)).all()
        assert np.isfinite(model.held_out_error_)
    # No row at all can be held out.
    X, y = rng.normal(size=(4, 2)), np.array([0, 0, 1, 1])
    model = SmoothedLinearDiscriminant().fit(X, y)
    assert np.isnan(model.held_out_error_)
    assert model.width_ == 1
    assert np.isfinite(model.predict_proba(X)).all()


def test_many_rows_are_held_out_in_fewer_folds(rng):
    for n, n_folds, n_parts in ((300, 5, 5), (2400, 3, 3), (9000, 2, 3)):
        rows = Rows(rng.normal(size=(n, 2)), np.arange(n) % 2, None, np.arange(2))
        fold = held_out_folds(rows)
        for f in range(n_folds):
            own = np.bincount(rows.codes[fold == f])
            assert_allclose(own, n / n_parts / 2, atol=1)
        assert fold.max() == n_folds - 1


def test_features_stay_as_they_are_where_more_of_them_vary_than_there_are_rows(rng):
    y = np.arange(80) % 2
    X = rng.exponential(size=(80, 60)) + 0.8 * y[:, None]
    model = SmoothedLinearDiscriminant().fit(X[:40], y[:40])
    assert model.transformation_ is None
    assert model.score(X[40:], y[40:]) > 0.8
    X = np.hstack([X, np.ones((80, 30))])
    assert SmoothedLinearDiscriminant().fit(X, y).transformation_ is not None


def test_priors_weigh_the_errors_and_probabilities_are_calibrated(rng):
    y = np.arange(4000) % 4 == 0
    X = rng.exponential(size=(4000, 2)) * (1 + y[:, None])
    plain = SmoothedLinearDiscriminant().fit(X[:1000], y[:1000])
    equal = SmoothedLinearDiscriminant(priors="equal").fit(X[:1000], y[:1000])
    X, y = X[1000:], y[1000:]
    assert equal.score(X[y], y[y]) > plain.score(X[y], y[y]) + 0.1
    missed = [1 - equal.score(X[part], y[part]) for part in (y, ~y)]
    assert_allclose(equal.held_out_error_, np.mean(missed), atol=0.1)
    assert_allclose(equal.priors_, 0.5)
    p = plain.predict_proba(X)[:, 1]
    for low in np.arange(0.1, 0.9, 0.2):
        part = (p >= low) & (p < low + 0.2)
        if part.sum() > 100:
            assert abs(p[part].mean() - y[part].mean()) < 0.12


@pytest.mark.parametrize("n_classes", [2, 4])
def test_of_features_that_say_nothing_the_priors_are_left(rng, n_classes):
    y = rng.permutation(np.repeat(np.arange(n_classes), [10, 21, 30, 41][:n_classes]))
    weight = rng.integers(1, 4, len(y)).astype(float)
    given = rng.dirichlet(np.full(n_classes, 9))
    for d, settings, weights, priors in (
        (3, {}, None, np.bincount(y) / len(y)),
        (3, {}, weight, np.bincount(y, weight) / weight.sum()),
        (3, {"priors": given}, weight, given),
        (3, {"width": 0.5, "transformation": None}, None, np.bincount(y) / len(y)),
        (2 * len(y), {}, weight, np.bincount(y, weight) / weight.sum()),
    ):
        X = np.full((len(y), d), 0.1)
        model = SmoothedLinearDiscriminant(**settings).fit(X, y, sample_weight=weights)
        rows = np.vstack([X[0], X[0] + 1])
        assert_allclose(model.predict_proba(rows), [priors] * 2)
        assert np.all(model.predict(X) == priors.argmax())
    # The pairs (0, 1) and (2, 3) are the same, the others are not.
    X = np.column_stack([y // 2, np.full(len(y), 0.1)])
    model = SmoothedLinearDiscriminant(transformation=None).fit(X, y)
    for k in np.flatnonzero(np.diff(model.pairs_ // 2) == 0):
        first, second = model.priors_[model.pairs_[k]]
        assert not model.coef_[k].any()
        assert_allclose(model.intercept_[k], np.log(second / first))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_coefficients_multiply_what_their_name_says(make_classes, tmp_path, n_classes):
    X, y = make_classes(n_classes, n=80)
    X = np.exp(2 * X)
    model = SmoothedLinearDiscriminant(0.5).fit(X, y)
    heterolda.save(model, tmp_path / "model.json")
    loaded = heterolda.load(tmp_path / "model.json")
    for one in (model, loaded, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert not hasattr(one, "coef_")
        for name in ("coef_", "intercept_"):
            remedy = rf"transformed_{name} with transformation_\.transform\(X\)"
            with pytest.raises(AttributeError, match=remedy):
                getattr(one, name)
        T = one.transformation_.transform(X)
        scores = T @ one.transformed_coef_.T + one.transformed_intercept_
        winners = one._committee.winners(scores, T)
        assert_array_equal(one.classes_[winners], one.predict(X))
    # The table of coefficients also has the powers.
    for row in model.summary().itertuples():
        assert row.power == model.transformation_.lambdas_[row.feature]
    model.set_params(transformation=None).fit(X, y)
    winners = model._committee.winners(X @ model.coef_.T + model.intercept_, X)
    assert_array_equal(model.classes_[winners], model.predict(X))
    assert model.coef_ is model.transformed_coef_
    assert "power" not in model.summary()
    with pytest.raises(NotFittedError):
        _ = SmoothedLinearDiscriminant().coef_


def test_the_transformation_is_a_transformer_of_data_frames(make_classes):
    X, y = make_classes(n=80)
    frame = pd.DataFrame(np.exp(2 * X), columns=[*"pqr"], index=np.arange(len(y)) + 7)
    powers = SmoothedLinearDiscriminant(0.5).fit(frame, y).transformation_
    assert powers.get_feature_names_out().tolist() == [*"pqr"]
    plain = powers.transform(frame)
    assert isinstance(plain, np.ndarray)
    single = frame.astype(np.float32)
    assert powers.transform(single).dtype == np.float32
    result = powers.set_output(transform="pandas").transform(frame)
    pd.testing.assert_frame_equal(result, frame * 0 + plain)
    with pytest.raises(ValueError, match="feature names should match"):
        powers.transform(frame[[*"rqp"]])
    with pytest.raises(ValueError, match="contains NaN"):
        powers.transform(frame.where(frame > 1))
    # It can be fitted alone, and stand before any classifier.
    with pytest.raises(NotFittedError):
        clone(powers).transform(frame)
    again = clone(powers).fit(frame, y)
    assert_array_equal(again.center_, powers.center_)
    assert_array_equal(again.scale_, powers.scale_)
    gld = GaussianLinearDiscriminant(guard=False)
    pipeline = make_pipeline(again, gld).set_output(transform="pandas").fit(frame, y)
    assert pipeline[-1].feature_names_in_.tolist() == [*"pqr"]


def test_an_outlier_is_brought_closer(rng):
    # A single broken value used to hide the separation of all other rows.
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 2)) + 1.5 * y[:, None]
    broken = X.copy()
    broken[0] = 1e5
    model = SmoothedLinearDiscriminant().fit(broken, y)
    assert model.transformation_._powers.has_outliers(broken)
    assert model.score(X, y) > SmoothedLinearDiscriminant().fit(X, y).score(X, y) - 0.02
    plain = model.transformation_._powers.without_powers().apply(broken)
    assert_allclose(np.abs(plain).max(), FARTHEST)
