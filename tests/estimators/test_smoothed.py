"""The discriminant of smoothed rows: one fit, its odds and its attributes."""

import copy
import pickle
import re
import warnings

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import heterolda
from heterolda import GaussianLinearDiscriminant, SmoothedLinearDiscriminant
from heterolda.estimators import gathering, one_fit
from heterolda.estimators.base import host_of
from heterolda.estimators.power_transformer import ClassPowerTransformer
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import device_of, to_host
from heterolda.statistics import samples
from heterolda.statistics.completion import filled_rows
from heterolda.statistics.power import FARTHEST

pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.SmallClassWarning",
    "ignore::heterolda.exceptions.TrivialRuleWarning",
)


@pytest.fixture
def four(make_classes):
    X, y = make_classes(n_classes=4, n=50, d=3)
    return np.sign(X) * np.abs(X) ** 1.5, np.array(["a", "b", "c", "dd"])[y]


def unit(model):
    """Return rules whose normals have length one."""
    size = np.linalg.norm(model.coef_, axis=1)
    return np.column_stack([model.coef_, model.intercept_]) / size[:, None]


@pytest.mark.parametrize("shrinkage", ["auto", "cv", (0.4, 0.2)])
def test_width_1_is_the_optimum_for_gaussians(four, shrinkage):
    model = SmoothedLinearDiscriminant(1, transformation=None, shrinkage=shrinkage)
    other = GaussianLinearDiscriminant(shrinkage=shrinkage, choose_on="model")
    model.fit(*four)
    other.fit(*four)
    assert_allclose(unit(model), unit(other), rtol=0, atol=1e-9)
    assert_allclose(model.smoothed_error_, other.model_error_)
    assert_array_equal(model.widths_, 1)
    assert_allclose(model.gap_, other.gap_)
    assert np.isfinite(model.gap_).all()
    assert not model.ridge_weights_.any()
    assert np.isnan(model.set_params(width=0.9).fit(*four).gap_).all()


def test_auto_follows_the_rows_per_coefficient_and_a_number_is_the_width(four, rng):
    X, y = four
    model = SmoothedLinearDiscriminant().fit(X, y)
    assert_allclose(model.widths_, 1.75 * np.sqrt(4 / 100))
    few = SmoothedLinearDiscriminant().fit(X[::8], y[::8])
    assert_allclose(few.widths_, np.minimum(1.75 * np.sqrt(4 / 13), 0.85), atol=0.1)
    assert_allclose(few.ridge_weights_, 0.5)
    assert few.n_iter_.any()
    model.set_params(width=0.3).fit(X, y)
    assert_array_equal(model.widths_, 0.3)
    assert not model.ridge_weights_.any()
    # Weights count as copies for widths; a wide table has as many coefficients as rows.
    weights = rng.integers(1, 4, len(y))
    weighted = SmoothedLinearDiscriminant().fit(X, y, sample_weight=weights)
    copies = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    assert_allclose(weighted.widths_, SmoothedLinearDiscriminant().fit(*copies).widths_)
    wide = SmoothedLinearDiscriminant().fit(rng.normal(size=(40, 90)), y[:40] == y[0])
    assert_allclose((wide.widths_, wide.ridge_weights_), [[0.85], [0.5]])


def test_left_out_errors_are_near_those_of_new_rows(rng):
    """Of the rule with a ridge, from 4 to 16 rows per feature; below, optimistic."""
    gaps, gains = [], []
    for n in (40, 80, 160) * 10:
        y = np.arange(n + 1000) % 2
        X = rng.standard_t(4, size=(len(y), 10)) + 0.4 * y[:, None]
        model = SmoothedLinearDiscriminant(transformation=None).fit(X[:n], y[:n])
        truth = 1 - model.score(X[n:], y[n:])
        gaps.append(model.left_out_error_[0] - truth)
        gains.append(model.left_out_error_[0] - (1 - model.score(X[:n], y[:n])))
    assert np.mean(gains) > 0.02
    assert abs(np.mean(gaps)) < 0.03


def test_few_rows_decide_whether_features_keep_their_powers(rng):
    # A lone feature that is skewed, and one whose power would hide a tail that tells.
    y = np.arange(60) % 2
    skewed = np.exp(2 * rng.normal(size=(60, 3)) + y[:, None])
    assert SmoothedLinearDiscriminant().fit(skewed, y).transformation_ is not None
    plain = rng.normal(size=(60, 3)) + 0.8 * y[:, None]
    plain[:, 0] *= np.where(rng.random(60) < 0.1, 30, 1)
    both = [SmoothedLinearDiscriminant(transformation=t) for t in ("auto", None)]
    one = both[0].fit(plain, y)
    if one.transformation_ is None:
        assert_array_equal(one.coef_, both[1].fit(plain, y).coef_)


def test_a_sample_of_very_many_rows_takes_part(rng, monkeypatch):
    y = np.arange(9000) % 3
    X = rng.exponential(size=(9000, 3)) + 0.8 * y[:, None] * [1, 0, -1]
    settings = {"width": 0.1, "transformation": None}
    every = SmoothedLinearDiscriminant(**settings).fit(X, y)
    monkeypatch.setattr(one_fit, "_MAX_ROWS", 400)
    some = SmoothedLinearDiscriminant(**settings).fit(X, y)
    assert not np.array_equal(some.coef_, every.coef_)
    assert_allclose(unit(some), unit(every), atol=0.5)
    assert_allclose(some.score(X, y), every.score(X, y), atol=0.01)


@pytest.mark.parametrize("kind", ["sparse", "dask", "device"])
def test_of_many_rows_some_are_drawn_and_the_moments_are_those_of_all(
    rng, monkeypatch, kind, request
):
    y = np.arange(4000) % 4
    X = (
        rng.exponential(size=(4000, 3)) * (rng.random((4000, 3)) < 0.7)
        + np.eye(4)[y, 1:]
    )
    w = rng.integers(0, 3, len(y)).astype(float)
    if kind == "device":
        xp = pytest.importorskip("array_api_strict")
        request.getfixturevalue("dispatch")
        device = device_of(xp.zeros(1), always=True)
        given = device.put(X), device.put(y), w
    elif kind == "dask":
        given = [da.from_array(values, chunks=900) for values in (X, y, w)]
    else:
        given = csr_array(X), y, w
    whole = SmoothedLinearDiscriminant().fit(X, y, w)
    every = SmoothedLinearDiscriminant().fit(*given)
    assert_allclose(to_host(every.transformed_coef_), whole.transformed_coef_)
    monkeypatch.setattr(gathering, "FEW_NUMBERS", 0)
    monkeypatch.setattr(gathering, "MANY_ROWS", 600)
    monkeypatch.setattr(gathering, "_BLOCK", 2000)
    monkeypatch.setattr(samples, "MAX_ROWS", 150)
    some = SmoothedLinearDiscriminant().fit(*given)
    assert to_host(some.widths_)[0] > 1.5 * whole.widths_[0]
    moved = host_of(some).transformation_.transform(X)
    means = [np.average(moved[y == k], 0, w[y == k]) for k in range(4)]
    assert_allclose(some.statistics_.means, means)
    assert_allclose(to_host(some.priors_), whole.priors_)
    assert abs(some.score(*given) - whole.score(X, y, w)) < 0.03
    if kind == "sparse":
        assert_array_equal(some.predict(given[0]), some.predict(X))
        monkeypatch.setattr(gathering, "_MAX_DENSE", 1000)
        with pytest.raises(ParameterError, match=r"0 GB as dense rows: pass fewer"):
            some.fit(*given)


POINTS = [
    {"costs": {0: 4}},
    {"class_weight": {1: 3}},
    {"priors": [0.2, 0.8]},
    {"criterion": "minimax"},
    {"criterion": "neyman-pearson", "max_error": {1: 0.1}},
]


@pytest.mark.parametrize("point", POINTS, ids=repr)
def test_operating_points_are_those_of_the_discriminant(rng, tmp_path, point):
    """Of Gaussian classes with nearly the same shape; the rates are those of rows."""
    y = np.arange(12_000) % 3 // 2
    X = (rng.normal(size=(len(y), 3)) + 0.8) * (1 + 0.2 * y[:, None])
    fit, new = np.s_[:6000], np.s_[6000:]
    models = [
        kind(**settings).fit(X[fit], y[fit])
        for kind in (SmoothedLinearDiscriminant, GaussianLinearDiscriminant)
        for settings in (point, {})
    ]
    dial, plain, gld, _ = models
    if "class_weight" in point:
        point = {"priors": dial.priors_}
    moved = plain.with_operating_point(**point)
    heterolda.save(moved, tmp_path / "m.json")
    loaded = heterolda.load(tmp_path / "m.json")
    assert_allclose(loaded.predict_proba(X), moved.predict_proba(X))
    assert_array_equal(moved.predict(X), moved.predict_proba(X).argmax(axis=1))
    assert_array_equal(moved.widths_, plain.widths_)
    rates = [
        [np.mean(model.predict(X[new])[y[new] == k] != k) for k in (0, 1)]
        for model in (gld, dial, moved, loaded.with_operating_point(**point))
    ]
    assert_allclose(rates[1:3], [rates[0]] * 2, atol=0.06)
    assert_allclose(dial.left_out_error_rates_[0], rates[1], atol=0.05)
    if "criterion" in point:
        assert_allclose(dial.predict(X), moved.predict(X))
        assert_allclose(dial.left_out_error_rates_, moved.left_out_error_rates_)
    assert_allclose(dial.left_out_error_rates_ @ dial.priors_, dial.left_out_error_)


def test_minimax_of_many_classes_and_points_that_there_are_not(four):
    X, y = four
    model = SmoothedLinearDiscriminant(criterion="minimax").fit(X, y)
    larger = SmoothedLinearDiscriminant().fit(X, y).left_out_error_rates_.max(axis=1)
    assert np.all(model.left_out_error_rates_.max(axis=1) <= larger + 0.03)
    with pytest.raises(ValueError, match=r"two classes, and there are 4: fit with"):
        model.with_operating_point()
    model.set_params(criterion="neyman-pearson", max_error={"a": 0.1})
    with pytest.raises(ParameterError, match="criterion='neyman-pearson' is for two"):
        model.fit(X, y)


def test_missing_values_are_completed_alike_in_fit_and_predict(rng, tmp_path):
    y = np.arange(3000) % 3
    X = rng.normal(size=(3000, 4)) @ rng.normal(size=(3, 4, 4))[0] + 2 * np.eye(3, 4)[y]
    holes = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    fit, new = np.s_[:1500], np.s_[1500:]
    model = SmoothedLinearDiscriminant(missing="em")
    gld = GaussianLinearDiscriminant(missing="em", choose_on="model")
    for one in (model, gld):
        one.fit(holes[fit], y[fit])
    accuracies = [one.score(holes[new], y[new]) for one in (model, gld)]
    assert abs(np.diff(accuracies)) < 0.03
    p = model.predict_proba(holes[new])
    T = model.transformation_
    T = holes[new] if T is None else T._powers.apply(holes[new])
    complete = filled_rows(T, model.statistics_)
    scores = complete @ model.transformed_coef_.T + model.transformed_intercept_
    assert_allclose(model._committee.probabilities(scores, T), p)
    # Complete rows of the same call do not change, nor do fits to complete rows.
    seen = ~np.isnan(holes[new]).any(axis=1)
    assert_array_equal(model.predict_proba(holes[new][seen]), p[seen])
    plain, same = SmoothedLinearDiscriminant(), SmoothedLinearDiscriminant(missing="em")
    both = [one.fit(X, y).transformed_coef_ for one in (plain, same)]
    assert_array_equal(*both)
    # Powers are those of the values that are seen.
    skewed = np.where(np.isnan(holes), np.nan, np.exp(X))
    powers = model.fit(skewed, y).transformation_.lambdas_
    alone = [
        ClassPowerTransformer().fit(x[~np.isnan(x), None], y[~np.isnan(x)]).lambdas_[0]
        for x in skewed.T
    ]
    assert_allclose(powers, alone, atol=0.3)  # of as many rows, drawn anew
    heterolda.save(model, tmp_path / "m.json")
    loaded = heterolda.load(tmp_path / "m.json")
    assert_array_equal(loaded.predict(skewed), model.predict(skewed))
    with pytest.raises(
        ValueError, match=r"completes rows by missing=.em., which C and"
    ):
        heterolda.to_c(model, tmp_path / "m.h")
    with pytest.raises(ParameterError, match=r"contains NaN.*missing=.em."):
        plain.predict(skewed)
    with pytest.raises(ParameterError, match="sparse"):
        model.fit(csr_array(holes), y)


def test_costs_multiply_the_priors(rng):
    y = np.arange(3000) % 2
    X = rng.normal(size=(3000, 2)) * (1 + y[:, None]) + 2 * y[:, None]
    models = [
        SmoothedLinearDiscriminant(**settings).fit(X, y)
        for settings in (
            {"costs": {0: 3}},
            {"priors": [3, 1]},
            {"class_weight": {0: 3}},
        )
    ]
    gld = GaussianLinearDiscriminant(costs={0: 3}).fit(X, y)
    for model in models:
        assert_allclose(model.transformed_coef_, models[0].transformed_coef_)
        assert np.mean(model.predict(X) == gld.predict(X)) > 0.95
    assert_allclose(models[0].priors_, 0.5)


@pytest.mark.parametrize(
    ("sizes", "d", "message"),
    [
        ((30, 7, 30), 2, r"classes \[1\] have fewer than 10 rows, so rules stay near"),
        ((12, 12), 30, "for 30 features there are only 24 rows, so rules stay near"),
        ((10, 10), 2, None),
    ],
)
def test_tiny_data_draw_one_warning(rng, sizes, d, message):
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(y), d)) + y[:, None]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SmoothedLinearDiscriminant().fit(X, y)
    if message is None:
        assert not caught
    else:
        (one,) = caught
        assert re.search(message, str(one.message))
        assert one.filename == __file__


def test_classes_features_and_weights_of_all_kinds(rng):
    """Probabilities are finite, without a warning of NumPy."""
    kinds = []
    for sizes in ((40, 30, 1, 1), (50, 1), (1, 1, 30), (2, 2), (30, 30)):
        y = np.repeat(np.arange(len(sizes)), sizes)
        X = rng.normal(size=(len(y), 2)) + 2 * y[:, None]
        kinds += [(X, y), (X[:, :1], y), (X + 1e3 * y[:, None], y)]
        kinds += [(np.hstack([X, X, X[:, :1] * 0 + 3]), y)]
        kinds += [(rng.normal(size=(len(y), len(y))), y), (X * 0, y), (np.sign(X), y)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for X, y in kinds:
            for width in ("auto", 1, 0.02):
                model = SmoothedLinearDiscriminant(width).fit(X, y)
                p = model.predict_proba(np.vstack([X, 50 * X]))
                assert np.isfinite(p).all()
                assert_allclose(p.sum(axis=1), 1)
                assert np.isfinite(model.smoothed_error_).all()
                assert np.all(
                    (model.left_out_error_ >= 0) & (model.left_out_error_ <= 1)
                )


def test_weights_and_priors_change_no_more_than_they_should(rng):
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 3)) + 2 * np.eye(3)[y]
    model = SmoothedLinearDiscriminant()
    p = model.fit(X, y).predict_proba(X)
    # A row of hardly any weight; a rare class; copies.
    one, few = np.vstack([X, 20 * X[:1]]), np.append(np.ones(90), 1e-9)
    light = model.fit(one, np.append(y, 0), few).predict_proba(X)
    assert_allclose(light, p, atol=0.1)
    rare = [1e-3, 1e-5, 1e-9]
    for prior, smaller in zip(rare, [p[:, 0].mean(), *rare], strict=False):
        model.set_params(priors=[prior, (1 - prior) / 2, (1 - prior) / 2]).fit(X, y)
        assert model.predict_proba(X)[:, 0].mean() < max(0.1, smaller)
        # The third pair is without the rare class.
        assert np.all(model.left_out_error_[:2] < 0.1)
    plain = SmoothedLinearDiscriminant(0.3, transformation=None)
    X, y = np.tile(X, (3, 1)) + rng.normal(size=(270, 3)), np.tile(y, 3)
    weights = rng.integers(1, 3, len(y))
    copied = plain.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    rules, p = unit(copied), copied.predict_proba(X)
    assert_allclose(unit(plain.fit(X, y, weights)), rules, atol=1e-6)
    # A row of weight 2 is left out as a whole, copies one by one.
    assert_allclose(plain.predict_proba(X), p, atol=0.05)


def test_stages_are_printed(four, capsys):
    SmoothedLinearDiscriminant().fit(*four)
    assert not capsys.readouterr().out
    SmoothedLinearDiscriminant(verbose=1).fit(*four)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "estimating powers of the features"
    assert lines[-1] == "fitting pair 1 of 6"


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
    assert_allclose(equal.left_out_error_, np.mean(missed), atol=0.1)
    assert_allclose(equal.priors_, 0.5)
    p = plain.predict_proba(X)[:, 1]
    for low in np.arange(0.1, 0.9, 0.2):
        part = (p >= low) & (p < low + 0.2)
        if part.sum() > 100:
            assert abs(p[part].mean() - y[part].mean()) < 0.16


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
    for row in pd.DataFrame(model.summary()).itertuples():
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
    gld = GaussianLinearDiscriminant(choose_on="model")
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
    assert model.score(X, y) > SmoothedLinearDiscriminant().fit(X, y).score(X, y) - 0.05
    powers = model.transformation_
    powers.lambdas_ = np.ones(2)
    assert_allclose(np.abs(powers.transform(broken)).max(), FARTHEST)
