"""C headers and ONNX graphs decide as the classifiers do, up to rounding."""

import warnings
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from helpers.exported import (
    MODELS,
    Exporter,
    certain_if_transformed,
    data,
    fitted,
    random_rows,
    rows_for_transformed,
    scaled,
    transformed,
)
from heterolda import (
    BoundedErrorClassifier,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    SmoothedLinearDiscriminant,
)
from heterolda.experiments.datasets import CATALOG, load_dataset
from heterolda.export.rules import describe
from heterolda.kernels.votes import count_votes

N = 10_000
FORMS = [("C", "float"), ("C", "double"), ("ONNX", "float32"), ("ONNX", "float64")]


@pytest.fixture(params=FORMS, ids=" ".join)
def exporter(request, tmp_path):
    return Exporter(*request.param, tmp_path)


@pytest.mark.check
@pytest.mark.parametrize("name", MODELS)
def test_labels_are_those_of_predict_beyond_rounding(name, exporter, rng):
    model = fitted(name)
    X = random_rows(name, N, rng)
    place = exporter.check(model, X, 0.99 if exporter.single else 0.9999)
    # Bounds are pessimistic.
    assert np.mean(model.classes_[place] == model.predict(X)) > 0.999
    assert len(np.unique(place)) == len(model.classes_)


@pytest.mark.check
@pytest.mark.parametrize("name", CATALOG)
def test_public_sets(name, data_dir, tmp_path):
    X, y = load_dataset(name, data_dir)
    part = slice(None, None, len(X) // 2000 + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about data that fit no model
        model = GaussianLinearDiscriminant().fit(X, y)
        smoothed = SmoothedLinearDiscriminant(width=0.5).fit(X[part], y[part])
    for form in FORMS:
        exporter = Exporter(*form, tmp_path)
        # The classes of segmentation are singular: in single precision no row is
        # certain, and 0.4 % are lost.
        places_of = exporter.places if exporter.single else exporter.check
        place = places_of(model, X)
        share = 0.98 if exporter.single else 0.9999
        assert np.mean(model.classes_[place] == model.predict(X)) > share
        place = exporter.places(smoothed, X[part])
        expected = smoothed.predict(X[part])
        assert np.mean(smoothed.classes_[place] == expected) > 0.999


@pytest.mark.parametrize("name", ["d1", "digits-ovr"])
def test_data_far_from_zero_lose_only_what_their_format_loses(name, exporter, rng):
    """In single precision 1e4 + x keeps 3 digits of x; the scores keep all of them."""
    X, y = data(name.partition("-")[0])
    model = MODELS[name]().fit(X + 1e4, y)
    exact = (1e4 + random_rows(name, N, rng)).astype(np.float32).astype(np.float64)
    if not exporter.single:
        exporter.check(model, exact, 0.999)
        return
    exporter.check(model, exact, 0.999, exact_rows=True)
    # The same sums without centers would be off by far more than the bound.
    coef, intercept = (a.astype("f4") for a in (model.coef_.T, model.intercept_))
    plain = exact.astype("f4") @ coef + intercept
    scores = exact @ model.coef_.T + model.intercept_
    errors = exporter.errors(model, exact, exact_rows=True)
    assert np.abs(plain - scores).max() > 10 * errors.max()


@pytest.mark.parametrize("kind", [2, 4])
def test_transformed_features(kind, exporter, rng):
    model = transformed(kind)
    X = rows_for_transformed(model, 2000, rng).astype(exporter.dtype)
    exact = X.astype(np.float64)
    if exporter.form == "C":
        n_pairs = len(model.pairs_)
        cost = model.transformed_coef_.size + 3 * X.shape[1]
        cost += (10 * n_pairs + 8) * (n_pairs > 1)
        assert exporter.write(model).multiplications == cost
    place = exporter.places(model, X)
    clear = certain_if_transformed(model, exact, 1e-4 if exporter.single else 1e-11)
    assert clear.mean() > 0.95
    label = model.classes_[place[clear]]
    np.testing.assert_array_equal(label, model.predict(exact[clear]))


@pytest.mark.parametrize("name", ["d1", "digits", "powers"])
def test_rows_that_are_not_finite_have_no_class(name, exporter):
    model = transformed(4) if name == "powers" else fitted(name)
    powers = getattr(model, "transformation_", None)
    row = data(name.partition("-")[0])[0][0] if powers is None else powers.center_
    rows = np.repeat(row[None], 5, axis=0)
    rows[1, 2], rows[2, 0], rows[3, -1] = np.nan, np.inf, -np.inf
    place = exporter.places(model, rows)
    assert place[1:4].tolist() == [-1, -1, -1]
    assert place[0] == place[4] >= 0


def test_exactly_tied_votes_are_decided_by_scores(exporter, rng):
    model = fitted("digits-majority")
    X = random_rows("digits-majority", N, rng)
    scores = X @ model.coef_.T + model.intercept_
    votes = np.sort(count_votes(scores, model._committee.vote_weights))
    X = X[votes[:, -1] == votes[:, -2]]
    assert len(X) > 20
    exporter.check(model, X)


def test_a_bounded_discriminant_decides_ties_for_the_bounded_class(exporter, rng):
    X, y = rng.integers(0, 4, (600, 2)) / 10, np.repeat(["ill", "well"], 300)
    X[y == "well"] += 0.1
    model = BoundedErrorClassifier(max_error={"ill": 0.1}).fit(X, y)
    place = exporter.places(model, X)
    np.testing.assert_array_equal(model.classes_[place], model.predict(X))
    assert 0 < place.mean() < 1
    if exporter.form == "C":
        bound = "Bound: at most 10.0 % of ill are wrong on new rows"
        assert bound in exporter.comment(model)
    model.set_params(estimator=LogisticRegression()).fit(X, y)
    with pytest.raises(TypeError, match="only hold one around a Gaussian"):
        exporter.write(model)


@pytest.mark.parametrize("factor", [1e-14, 1, 1e4])
@pytest.mark.parametrize("name", ["digits-ovr", "line-ovr"])
def test_one_vs_rest_is_decided_by_small_and_large_log_odds(
    name, factor, exporter, rng
):
    """Where one score is positive its sign decides, elsewhere the log-odds do."""
    model = scaled(name, factor)
    X = random_rows(name, N, rng)
    scores = X @ model.coef_.T + model.intercept_
    sure, positive = np.abs(scores) > exporter.errors(model, X), scores > 0
    several = sure.all(axis=1) & (positive.sum(axis=1) != 1)
    assert several.sum() > 20
    if factor >= 1:
        exporter.check(model, X[several], 0.5)
        return
    several &= positive.any(axis=1)
    place = exporter.places(model, X[several])
    assert positive[several][np.arange(several.sum()), place].all()


def test_pipelines_of_projections(exporter):
    X, y = data("four")
    frame = pd.DataFrame(X + 1e3).add_prefix("pixel ")
    projections = HeteroscedasticProjection(9), HeteroscedasticProjection(3)
    model = make_pipeline(*projections, GaussianLinearDiscriminant()).fit(frame, y)
    place = exporter.places(model, frame)
    assert np.mean(model.classes_[place] == model.predict(frame)) > 0.995
    # In C they become rules on features.
    scores = model[:-1].transform(frame) @ model[-1].coef_.T + model[-1].intercept_
    rules = describe(model)
    actual = frame.to_numpy() @ rules.coef.T + rules.intercept
    np.testing.assert_allclose(actual, scores, rtol=1e-8, atol=1e-8)
    if exporter.form == "C":
        comment = exporter.comment(model)
        largest = f"{model[-1].model_error_.max():.4g} at most"
        for words in ("64 features and 4 classes", "pixel 63", largest):
            assert words in comment


def test_what_cannot_be_exported_is_rejected(exporter, make_classes):
    X, y = make_classes()
    tiny = GaussianLinearDiscriminant().fit(X * 1e-45, y)
    powers = transformed(4)
    small = deepcopy(powers)
    small.transformation_.scale_ *= 1e-42
    waiting = GaussianLinearDiscriminant().partial_fit(X[:1], y[:1], classes=[0, 1])
    rejected = [
        (GaussianLinearDiscriminant(), "not fitted"),
        (waiting, "cannot predict yet"),
    ]
    if exporter.single:
        rejected.append((tiny, "range of single precision"))
    else:
        label = tiny.classes_[exporter.places(tiny, X * 1e-45)]
        np.testing.assert_array_equal(label, tiny.predict(X * 1e-45))
    if exporter.form == "C":
        X = np.exp(X) @ np.ones((3, 5)) + np.exp(X[:, [0, 1, 2, 0, 1]])
        last = SmoothedLinearDiscriminant(0.5)
        pipeline = make_pipeline(HeteroscedasticProjection(2), last).fit(X, y)
        pipeline[-1].transformation_ = powers.transformation_
        rejected.append((pipeline, "model transforms components"))
        if exporter.single:
            rejected.append((small, "use dtype='double'"))
    for model, message in rejected:
        with pytest.raises(ValueError, match=message):
            exporter.write(model)


def test_rows_that_two_bounds_leave_undecided_are_not_exported(rng):
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 2)) + y[:, None]
    model = BoundedErrorClassifier(max_error={0: 0.05, 1: 0.05}).fit(X, y)
    assert model.thresholds_[0] < model.thresholds_[1]
    with pytest.raises(ValueError, match="model leaves rows undecided"):
        describe(model)
    model.fit(X + 9 * y[:, None], y)  # one threshold keeps both bounds
    assert len(describe(model).coef) == 1
