"""Models whose arrays are on a device, in all that reads models."""

import copy
import json
import pickle

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

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
from heterolda.estimators.placement import place_of, settle
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
    ("discriminant", lambda model, _: model.get_feature_names_out()),
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
