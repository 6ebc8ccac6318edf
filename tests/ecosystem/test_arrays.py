"""Models whose arrays are on a device, in all that reads models."""

import copy
import json
import pickle
import re
import unittest
from contextlib import suppress
from functools import partial

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
from heterolda.foundations.devices import device_of, to_host
from heterolda.inspection.model_facts import ModelFacts
from heterolda.inspection.model_text import describe_model

RNG = np.random.default_rng(0)
LABELS = np.repeat([2, 3, 5, 7], 40)
ROWS = RNG.normal(size=(160, 3)) * (1 + LABELS[:, None] % 3) + LABELS[:, None]
DISCRIMINANT = GaussianLinearDiscriminant().fit(ROWS, LABELS)
BINARY = GaussianLinearDiscriminant(priors="equal").fit(ROWS[:80], LABELS[:80])
SEARCH = LocalNeighborhoodSearch(max_iter=5).fit(ROWS, LABELS)
PROJECTION = HeteroscedasticProjection(2).fit(ROWS, LABELS)
PIPELINE = make_pipeline(
    PROJECTION, GaussianLinearDiscriminant().fit(PROJECTION.transform(ROWS), LABELS)
)
BOUNDED = BoundedErrorClassifier(max_error=0.3).fit(ROWS[:80], LABELS[:80])
OTHER_BOUNDED = clone(BOUNDED).set_params(estimator=LogisticRegression())
OTHER_BOUNDED.fit(ROWS[:80], LABELS[:80])
MODELS = {
    "discriminant": DISCRIMINANT,
    "search": SEARCH,
    "projection": PROJECTION,
    "pipeline": PIPELINE,
}


def on(device, model):
    """A copy of a fitted model with its arrays on a device."""
    if hasattr(model, "steps"):
        return type(model)([(name, on(device, step)) for name, step in model.steps])
    model = settle(copy.deepcopy(model), device)
    if hasattr(model, "estimator_"):
        settle(model.estimator_, device)
    return model


def as_text(model, tmp_path):
    """All that a text says of a model, and so a card, which asks the same facts."""
    facts = ModelFacts(model)
    return describe_model(facts, "model", facts.pairs)


def saved(model, tmp_path):
    heterolda.save(model, tmp_path / "model.json")
    return json.loads((tmp_path / "model.json").read_text())


def in_c(model, tmp_path):
    header = export_c(model, tmp_path / "model.h", "double")
    return header.path.read_text(), header.constant_bytes


def as_onnx(model, tmp_path):
    pytest.importorskip("skl2onnx")
    return to_onnx(model).graph.SerializeToString()


def picture(model, tmp_path):
    """The numbers of two pictures."""
    along = ProjectionDisplay.from_estimator(model, ROWS, LABELS, pair=(3, 5))
    map_ = ClassMapDisplay.from_estimator(model, ROWS, LABELS)
    plt.close("all")
    return [*along.panels[0]["scores"], map_.means, map_.covariances, *map_.points]


def bounded(model, tmp_path):
    one = BoundedErrorClassifier(FrozenEstimator(model), max_error=0.2)
    return one.fit(ROWS[:80], LABELS[:80]).predict(ROWS[:80])


def other_point(model, tmp_path):
    return model.with_operating_point("minimax")


def fewer_features(model, tmp_path):
    return model.for_features([0, 2])


ENTRANCES = [
    ("discriminant", saved),
    ("search", saved),
    ("projection", saved),
    ("pipeline", saved),
    ("discriminant", in_c),
    ("search", in_c),
    ("pipeline", in_c),
    ("projection", as_onnx),
    ("pipeline", as_onnx),
    ("discriminant", as_text),
    ("search", as_text),
    ("discriminant", picture),
    ("discriminant", other_point),
    ("discriminant", fewer_features),
    ("discriminant", lambda model, _: model.summary()),
    ("search", lambda model, _: model.summary()),
    ("discriminant", lambda model, _: model.means_),
    ("discriminant", lambda model, _: model.covariance_),
    ("discriminant", lambda model, _: model.frontier_[2].roc_curve(5)),
    ("discriminant", lambda model, _: "<div" in model._repr_html_()),
    ("discriminant", lambda model, _: clone(model)),
    ("discriminant", lambda model, _: pickle.loads(pickle.dumps(model))),
    ("search", lambda model, _: pickle.loads(pickle.dumps(model))),
    ("discriminant", lambda model, _: copy.deepcopy(model)),
    ("projection", lambda model, _: model.get_feature_names_out()),
    ("binary", bounded),
    ("discriminant", lambda m, _: heteroscedasticity_report(m.statistics_).excess),
    ("binary", lambda m, _: Frontier.from_statistics(m.statistics_).roc_curve(5)),
]


def same(found, expected, device):
    """Compare results, of which those on a device come to the host."""
    if isinstance(expected, np.ndarray) and expected.dtype.kind in "biuf":
        np.testing.assert_array_equal(to_host(found), expected)
    elif hasattr(expected, "equals"):
        assert found.equals(expected)
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other, device)
    elif isinstance(expected, GaussianLinearDiscriminant | LocalNeighborhoodSearch):
        if hasattr(expected, "coef_"):
            assert place_of(found) == device
            assert device_of(found.coef_, always=True) == device
        for name, value in vars(expected).items():
            if isinstance(value, np.ndarray):
                same(vars(found)[name], value, device)
    elif isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected


@pytest.mark.parametrize(("name", "ask"), ENTRANCES)
def test_what_a_model_on_a_device_gives_is_what_it_gives_in_numpy(
    device, name, ask, tmp_path
):
    model = {**MODELS, "binary": BINARY}[name]
    same(ask(on(device, model), tmp_path), ask(model, tmp_path), device)


@pytest.mark.filterwarnings(
    "ignore::heterolda.SmallClassWarning", "ignore::heterolda.ModelMisfitWarning"
)
@pytest.mark.parametrize(
    "estimator",
    [
        GaussianLinearDiscriminant(),
        HeteroscedasticProjection(),
        LocalNeighborhoodSearch(),
    ],
    ids=repr,
)
def test_checks_of_scikit_learn(dispatch, estimator):
    assert get_tags(estimator).array_api_support
    n_passed = 0
    for check in estimator_checks._yield_array_api_checks(estimator):
        if check.keywords.get("dtype_name") == "float64":  # types are those of float32
            check = partial(check, check_values=True)
        with (
            sklearn.config_context(array_api_dispatch=False),
            suppress(unittest.SkipTest),  # libraries that are not installed
        ):
            check(type(estimator).__name__, estimator)
            n_passed += 1
    assert n_passed >= 4  # of NumPy and array-api-strict


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


def test_scikit_learn_moves_models(device):
    array_api = pytest.importorskip("sklearn.utils._array_api")
    if not hasattr(array_api, "move_estimator_to"):
        pytest.skip("this scikit-learn does not move models")
    model = GaussianLinearDiscriminant(priors=[0.1, 0.2, 0.3, 0.4]).fit(ROWS, LABELS)
    for one in (model, SEARCH, PROJECTION):
        there = array_api.move_estimator_to(one, device.xp, device.device)
        assert place_of(there) == device
        assert place_of(one) is None
        back = array_api.move_estimator_to(there, np, "cpu")
        assert place_of(back) is None
        method = "transform" if one is PROJECTION else "predict"
        found = getattr(there, method)(device.put(ROWS))
        np.testing.assert_allclose(to_host(found), getattr(back, method)(ROWS))


REFUSED = {
    "compare": lambda X, y: heterolda.compare(X, y),
    "display": lambda X, y: ProjectionDisplay.from_estimator(DISCRIMINANT, X, y),
    "map": lambda X, y: ClassMapDisplay.from_estimator(DISCRIMINANT, X, y),
    "bound": lambda X, y: BoundedErrorClassifier(max_error=0.1).fit(X, y),
    "bounded": lambda X, y: BOUNDED.predict(X),
    "bounded score": lambda X, y: BOUNDED.decision_function(X),
    "bounded probability": lambda X, y: BOUNDED.predict_proba(X),
    "other bounded": lambda X, y: OTHER_BOUNDED.predict(X),
}


def test_reports_of_rows_on_a_device(device):
    for n, d in ((160, 3), (32, 120)):  # fewer rows than features, too
        X = np.hstack([ROWS] * 40)[:: 160 // n, :d] + RNG.normal(size=(n, d))
        expected = heteroscedasticity_report(X, LABELS[:: 160 // n])
        found = heteroscedasticity_report(device.put(X), LABELS[:: 160 // n])
        assert str(found) == str(expected)
        assert found.judgement == expected.judgement


@pytest.mark.parametrize("ask", REFUSED.values(), ids=REFUSED)
def test_what_needs_numpy_says_so(device, ask):
    with pytest.raises((TypeError, ValueError), match=r"numpy\.asarray\(X"):
        ask(device.put(ROWS), LABELS)


WIDE = np.hstack([ROWS] * 40)[::4] + RNG.normal(size=(40, 120))
TEXT = np.array(["a", "b", "b", "c", "c", "d", "d", "d"])[LABELS]
OPTIONS = {
    "votes of one against all": GaussianLinearDiscriminant(multiclass="ova"),
    "minimax": GaussianLinearDiscriminant(criterion="minimax"),
    "cross-validation": GaussianLinearDiscriminant(shrinkage="cv"),
    "estimator": GaussianLinearDiscriminant(covariance_estimator=LedoitWolf()),
    "gaps": GaussianLinearDiscriminant(missing="em"),
    "fisher": HeteroscedasticProjection(2, method="fisher"),
    "early stopping": LocalNeighborhoodSearch(max_iter=5, early_stopping=True),
    "balanced": LocalNeighborhoodSearch(max_iter=5, class_weight="balanced"),
    "logistic": LocalNeighborhoodSearch(LogisticRegression(), max_iter=5),
    "start of NumPy": LocalNeighborhoodSearch(FrozenEstimator(DISCRIMINANT)),
}


@pytest.mark.filterwarnings(
    "ignore::heterolda.TrivialRuleWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)
@pytest.mark.parametrize("few_numbers", [gathering.FEW_NUMBERS, 0])
@pytest.mark.parametrize("estimator", OPTIONS.values(), ids=OPTIONS)
def test_options_do_as_in_numpy(device, estimator, few_numbers, monkeypatch):
    monkeypatch.setattr(gathering, "FEW_NUMBERS", few_numbers)
    frozen = isinstance(getattr(estimator, "estimator", None), FrozenEstimator)
    for X, y in ((ROWS, LABELS), (ROWS, TEXT), (WIDE, LABELS[::4]))[
        : 1 if frozen else 3
    ]:
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


def test_labels_and_weights_on_a_device_beside_rows_of_numpy(device):
    y, weight = device.put(LABELS), device.put(np.ones(len(LABELS)))
    for model in (DISCRIMINANT, PROJECTION, SEARCH):
        again = clone(model).fit(ROWS, y, weight)
        assert place_of(again) is None
        np.testing.assert_array_equal(again.classes_, model.classes_)
    assert DISCRIMINANT.score(ROWS, y, weight) == DISCRIMINANT.score(ROWS, LABELS)
    known = heterolda.ClassStatistics.from_data(ROWS, y, weight)
    known.update(ROWS, y, weight)
    np.testing.assert_array_equal(known.weights, 80)
    assert clone(BOUNDED).fit(ROWS[:80], y[:80]).bound_ == BOUNDED.bound_


def test_tensors_unlike_arrays_are_refused(dispatch):
    torch = pytest.importorskip("torch")
    for rows, way in (
        (torch.eye(160).to_sparse_coo(), "to_dense"),
        (torch.asarray(ROWS).bfloat16(), "float()"),
    ):
        for ask in (DISCRIMINANT.predict, lambda X: clone(SEARCH).fit(X, LABELS)):
            with pytest.raises(TypeError, match=re.escape(way)):
                ask(rows)


def test_rows_with_gaps_are_predicted_in_numpy(device):
    X = np.where(RNG.random(ROWS.shape) < 0.1, np.nan, ROWS)
    model = GaussianLinearDiscriminant(missing="em").fit(device.put(X), LABELS)
    with pytest.raises(ValueError, match=r"numpy\.asarray"):
        model.predict(device.put(X))
    expected = GaussianLinearDiscriminant(missing="em").fit(X, LABELS).predict(X)
    np.testing.assert_array_equal(host_of(model).predict(X), expected)
