"""Models whose arrays are on a device, in all that reads models."""

import copy
import pickle
import re
import unittest
from contextlib import suppress
from functools import partial
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.covariance import LedoitWolf
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks, get_tags

import heterolda
from heterolda import (
    BoundedErrorClassifier,
    ClassMapDisplay,
    Frontier,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
    ProjectionDisplay,
    heteroscedasticity_report,
)
from heterolda.estimators import gathering
from heterolda.estimators.placement import host_of, place_of, settle
from heterolda.export import export_c, to_onnx
from heterolda.foundations.arrays import device_of, to_host
from heterolda.inspection.model_facts import ModelFacts
from heterolda.inspection.model_text import describe_model

RNG = np.random.default_rng(0)
LABELS = np.repeat([2, 3, 5, 7], 40)
ROWS = RNG.normal(size=(160, 3)) * (1 + LABELS[:, None] % 3) + LABELS[:, None]
TWO = ROWS[:80], LABELS[:80]
WIDE = np.hstack([ROWS] * 40)[::4] + RNG.normal(size=(40, 120))
TEXT = np.array(["a", "b", "b", "c", "c", "d", "d", "d"])[LABELS]


def test_tensors_go_in_and_come_out(dispatch):
    torch = pytest.importorskip("torch")
    here = GaussianLinearDiscriminant().fit(ROWS, LABELS)
    rows, labels = torch.asarray(ROWS), torch.asarray(LABELS)
    there = GaussianLinearDiscriminant().fit(rows, labels)
    for method in ("predict", "predict_proba"):
        found = getattr(there, method)(rows)
        assert isinstance(found, torch.Tensor)
        same_numbers(found.numpy(), getattr(here, method)(ROWS))


@pytest.fixture(scope="module")
def models():
    """Fitted models of each kind, in NumPy."""
    plane = HeteroscedasticProjection(2).fit(ROWS, LABELS)
    last = GaussianLinearDiscriminant().fit(plane.transform(ROWS), LABELS)
    return SimpleNamespace(
        discriminant=GaussianLinearDiscriminant().fit(ROWS, LABELS),
        binary=GaussianLinearDiscriminant(priors="equal").fit(*TWO),
        search=LocalNeighborhoodSearch(max_iter=5).fit(ROWS, LABELS),
        projection=plane,
        pipeline=make_pipeline(plane, last),
        bounded=BoundedErrorClassifier(max_error=0.3).fit(*TWO),
    )


def on(device, model):
    """A copy of a fitted model with its arrays on a device."""
    if hasattr(model, "steps"):
        return type(model)([(name, on(device, step)) for name, step in model.steps])
    model = settle(copy.deepcopy(model), device)
    if hasattr(model, "estimator_"):
        settle(model.estimator_, device)
    return model


def as_text(model, _):
    facts = ModelFacts(model)
    return describe_model(facts, "model", facts.pairs)


def saved(model, tmp_path):
    heterolda.save(model, tmp_path / "model.json")
    return (tmp_path / "model.json").read_text()


def in_c(model, tmp_path):
    return export_c(model, tmp_path / "model.h", "double").path.read_text()


def as_onnx(model, _):
    pytest.importorskip("skl2onnx")
    return to_onnx(model).graph.SerializeToString()


def pictures(model, _):
    along = ProjectionDisplay.from_estimator(model, ROWS, LABELS, pair=(3, 5))
    map_ = ClassMapDisplay.from_estimator(model, ROWS, LABELS)
    plt.close("all")
    return [*along.panels[0]["scores"], map_.means, map_.covariances, *map_.points]


def bounded(model, _):
    one = BoundedErrorClassifier(FrozenEstimator(model), max_error=0.2)
    return one.fit(*TWO).predict(TWO[0])


ENTRANCES = {
    "discriminant": [
        *(saved, in_c, as_text, pictures),
        lambda model, _: "<div" in model._repr_html_(),
        lambda model, _: (model.means_, model.covariance_),
        lambda model, _: model.frontier_[2].roc_curve(5),
        lambda model, _: heteroscedasticity_report(model.statistics_).excess,
        lambda model, _: model.with_operating_point("minimax"),
        lambda model, _: model.for_features([0, 2]),
        lambda model, _: [clone(model), copy.deepcopy(model)],
    ],
    "binary": [
        bounded,
        lambda model, _: Frontier.from_statistics(model.statistics_).roc_curve(5),
    ],
    "search": [
        *(saved, in_c, as_text),
        lambda model, _: model.summary(),
        lambda model, _: pickle.loads(pickle.dumps(model)),
    ],
    "projection": [saved, as_onnx, lambda model, _: model.get_feature_names_out()],
    "pipeline": [saved, in_c, as_onnx],
}


def same(found, expected):
    """Compare results, of which those on a device come to the host."""
    if isinstance(expected, (list, tuple)):
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    elif isinstance(expected, GaussianLinearDiscriminant | LocalNeighborhoodSearch):
        assert (place_of(found) is None) == (not hasattr(expected, "coef_"))
        for name, value in vars(expected).items():
            if isinstance(value, np.ndarray):
                same(vars(found)[name], value)
    elif hasattr(expected, "equals"):
        assert found.equals(expected)
    else:
        np.testing.assert_array_equal(to_host(found), expected)


@pytest.mark.parametrize("name", ENTRANCES)
def test_what_a_model_on_a_device_gives_is_what_it_gives_in_numpy(
    device, models, name, tmp_path
):
    model = getattr(models, name)
    for ask in ENTRANCES[name]:
        same(ask(on(device, model), tmp_path), ask(model, tmp_path))


@pytest.mark.check
@pytest.mark.filterwarnings(
    "ignore::heterolda.SmallClassWarning", "ignore::heterolda.ModelMisfitWarning"
)
@pytest.mark.parametrize(
    "kind",
    [GaussianLinearDiscriminant, HeteroscedasticProjection, LocalNeighborhoodSearch],
)
def test_checks_of_scikit_learn(dispatch, kind):
    pytest.importorskip("array_api_strict")
    estimator = kind()
    assert get_tags(estimator).array_api_support
    n_passed = 0
    for check in estimator_checks._yield_array_api_checks(estimator):
        if check.keywords.get("dtype_name") == "float64":  # types are those of float32
            check = partial(check, check_values=True)
        with (
            sklearn.config_context(array_api_dispatch=False),
            suppress(unittest.SkipTest),  # libraries that are not installed
        ):
            check(kind.__name__, estimator)
            n_passed += 1
    assert n_passed >= 4  # of NumPy and array-api-strict


@pytest.mark.check
def test_steps_and_searches_of_scikit_learn(dispatch):
    torch = pytest.importorskip("torch")
    rows, labels = torch.asarray(ROWS), torch.asarray(LABELS)
    pipeline = make_pipeline(StandardScaler(), GaussianLinearDiscriminant())
    expected = cross_val_score(pipeline, ROWS, LABELS, cv=3)
    np.testing.assert_allclose(cross_val_score(pipeline, rows, labels, cv=3), expected)
    grid = {"gaussianlineardiscriminant__shrinkage": [0.1, 0.9]}
    search = GridSearchCV(pipeline, grid, cv=3)
    there, here = clone(search).fit(rows, labels), search.fit(ROWS, LABELS)
    assert there.best_params_ == here.best_params_
    found = there.predict(rows)
    np.testing.assert_array_equal(to_host(found), here.predict(ROWS))
    assert device_of(found).library == "torch"
    graphs = [to_onnx(one.best_estimator_).graph for one in (there, here)]
    assert len(graphs[0].node) == len(graphs[1].node)


def test_scikit_learn_moves_models(device, models):
    array_api = pytest.importorskip("sklearn.utils._array_api")
    if not hasattr(array_api, "move_estimator_to"):
        pytest.skip("this scikit-learn does not move models")
    model = GaussianLinearDiscriminant(priors=[0.1, 0.2, 0.3, 0.4]).fit(ROWS, LABELS)
    for one in (model, models.search, models.projection):
        there = array_api.move_estimator_to(one, device.xp, device.device)
        assert place_of(there) == device
        assert place_of(one) is None
        back = array_api.move_estimator_to(there, np, "cpu")
        assert place_of(back) is None
        method = "transform" if one is models.projection else "predict"
        found = getattr(there, method)(device.put(ROWS))
        np.testing.assert_allclose(to_host(found), getattr(back, method)(ROWS))


def test_reports_of_rows_on_a_device(device):
    for X, y in ((ROWS, LABELS), (WIDE, LABELS[::4])):  # fewer rows than features, too
        expected = heteroscedasticity_report(X, y)
        found = heteroscedasticity_report(device.put(X), device.put(y))
        assert str(found) == str(expected)
        assert found.judgement == expected.judgement


def test_what_needs_numpy_says_so(device, models):
    X = device.put(ROWS)
    for ask in (
        lambda: heterolda.compare(X, LABELS),
        lambda: ProjectionDisplay.from_estimator(models.discriminant, X, LABELS),
        lambda: ClassMapDisplay.from_estimator(models.discriminant, X, LABELS),
        lambda: BoundedErrorClassifier(max_error=0.1).fit(X, LABELS),
        lambda: models.bounded.predict(X),
        lambda: models.bounded.decision_function(X),
        lambda: models.bounded.predict_proba(X),
    ):
        with pytest.raises((TypeError, ValueError), match=r"numpy\.asarray\(X"):
            ask()


OPTIONS = [
    GaussianLinearDiscriminant(multiclass="ova"),
    GaussianLinearDiscriminant(criterion="minimax"),
    GaussianLinearDiscriminant(shrinkage="cv"),
    GaussianLinearDiscriminant(covariance_estimator=LedoitWolf()),
    GaussianLinearDiscriminant(missing="em"),
    HeteroscedasticProjection(2, method="fisher"),
    LocalNeighborhoodSearch(max_iter=5, class_weight="balanced"),
    LocalNeighborhoodSearch(LogisticRegression(), max_iter=5),
]


@pytest.mark.filterwarnings(
    "ignore::heterolda.TrivialRuleWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)
@pytest.mark.parametrize("estimator", OPTIONS, ids=repr)
def test_options_do_as_in_numpy(device, estimator, monkeypatch):
    monkeypatch.setattr(gathering, "FEW_NUMBERS", 0)
    for X, y in ((ROWS, TEXT), (WIDE, LABELS[::4])):
        here = clone(estimator).fit(X, y)
        there = clone(estimator).fit(device.put(X), device.put(y))
        assert place_of(there) == device
        for name in ("predict", "predict_proba", "decision_function"):
            if hasattr(here, name):
                found = getattr(there, name)(device.put(X))
                same_numbers(to_host(found), getattr(here, name)(X))


def same_numbers(found, expected):
    assert found.dtype == expected.dtype
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    else:
        np.testing.assert_array_equal(found, expected)


def test_labels_and_weights_on_a_device_beside_rows_of_numpy(device, models):
    y, weight = device.put(LABELS), device.put(np.ones(len(LABELS)))
    for model in (models.discriminant, models.projection, models.search):
        again = clone(model).fit(ROWS, y, weight)
        assert place_of(again) is None
        np.testing.assert_array_equal(again.classes_, model.classes_)
    score = models.discriminant.score
    assert score(ROWS, y, weight) == score(ROWS, LABELS)
    known = heterolda.ClassStatistics.from_data(ROWS, y, weight)
    known.update(ROWS, y, weight)
    np.testing.assert_array_equal(known.weights, 80)
    again = clone(models.bounded).fit(TWO[0], y[:80])
    assert again.bound_ == models.bounded.bound_


@pytest.mark.check
def test_tensors_unlike_arrays_are_refused(dispatch, models):
    torch = pytest.importorskip("torch")
    for rows, way in (
        (torch.eye(160).to_sparse_coo(), "to_dense"),
        (torch.asarray(ROWS).bfloat16(), "float()"),
    ):
        for ask in (
            models.discriminant.predict,
            lambda X: clone(models.search).fit(X, LABELS),
        ):
            with pytest.raises(TypeError, match=re.escape(way)):
                ask(rows)


def test_rows_with_gaps_are_predicted_in_numpy(device):
    X = np.where(RNG.random(ROWS.shape) < 0.1, np.nan, ROWS)
    model = GaussianLinearDiscriminant(missing="em").fit(device.put(X), LABELS)
    with pytest.raises(ValueError, match=r"missing values.*numpy\.asarray"):
        model.predict(device.put(X))
    expected = GaussianLinearDiscriminant(missing="em").fit(X, LABELS).predict(X)
    np.testing.assert_array_equal(host_of(model).predict(X), expected)
