"""Golden model files are read, predict as they did, and are written as they were.

``python tests/export/test_golden_models.py`` writes all of them again, to tests/golden.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import heterolda
from heterolda import (
    BoundedErrorClassifier,
    ClassStatistics,
    FitRecord,
    GaussianLinearDiscriminant,
    Global,
    HeteroscedasticProjection,
    Judgement,
    LocalNeighborhoodSearch,
    recommended,
)
from heterolda.estimators.categories import Category
from heterolda.export.json_file import write_json
from heterolda.export.model_file import from_document, to_document

FOLDER = Path(__file__).parents[1] / "golden"
NAMES = (
    *("discriminant", "wide", "search", "smoothed"),
    *("projection", "pipeline", "bounded"),
)
METHODS = "predict", "predict_proba", "decision_function"


def file_of(name):
    return FOLDER / f"model_{name}.json"


def outputs(model, rows):
    """What a model computes from rows, by method."""
    if hasattr(model, "feature_names_in_"):
        rows = pd.DataFrame(rows, columns=model.feature_names_in_)
    methods = METHODS if hasattr(model, "predict") else ["transform"]
    return {name: np.asarray(getattr(model, name)(rows)).tolist() for name in methods}


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_model_predicts_as_it_did(name):
    expected = json.loads((FOLDER / "predictions.json").read_text())[name]
    found = outputs(heterolda.load(file_of(name)), np.array(expected.pop("rows")))
    assert found.pop("predict", None) == expected.pop("predict", None)
    assert found.keys() == expected.keys()
    for method, values in found.items():
        # Not to the last bit: another processor adds up in another order.
        np.testing.assert_allclose(values, expected[method], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_model_is_written_as_it_was(name):
    old = json.loads(file_of(name).read_text(encoding="utf-8"))
    new = to_document(from_document(old))
    old["heterolda"] = new["heterolda"]
    assert new == old, "The format has changed: see the top of this file."


def make_data(rng, n_classes, d, n=40):
    y = np.repeat(np.arange(n_classes), n)
    shapes = rng.normal(size=(n_classes, d, d))
    centers = 2 * rng.normal(size=(n_classes, d))
    return (rng.normal(size=(len(y), 1, d)) @ shapes[y])[:, 0] + centers[y], y


def make_models():
    """Name, model and rows to predict."""
    rng = np.random.default_rng(20)
    X, y = make_data(rng, 2, 3)
    frame = pd.DataFrame(X, columns=["Länge", "city=Lyon", "city=other"])
    discriminant = GaussianLinearDiscriminant(
        solver=Global(gap=1e-6),
        priors=[0.3, 0.7],
        costs={"ill": {"well": 5}},
        missing="em",
    )
    labels = np.array(["ill", "well"])[y]
    discriminant.fit(frame.mask(rng.random(X.shape) < 0.1), labels)
    discriminant.fit_record_ = FitRecord(
        "state",
        "patients.csv",
        "2026-11-30",
        80.0,
        Judgement("leave-one-out", 80.0, 0.9, 0.875, 0.0125),
        categories=(Category("city", "Paris", ("Lyon",), ("Metz", "Nîmes"), "other"),),
        marks=("?", "-999"),
        n_columns=4,
    )
    yield "discriminant", discriminant, X
    bounded = BoundedErrorClassifier(max_error={"ill": 0.2}, confidence=0.8)
    yield "bounded", bounded.fit(frame, labels), X
    X, y = rng.normal(size=(9, 8)), np.repeat([0, 1, 2], [4, 4, 1])
    parts = [X[y == k] for k in range(3)]
    means = np.array([part.mean(axis=0) for part in parts])
    factors = [part - mean for part, mean in zip(parts, means, strict=True)]
    few = ClassStatistics(np.arange(3), np.array([4.0, 4.0, 1.0]), means, factors)
    yield "wide", GaussianLinearDiscriminant(shrinkage="auto").fit_statistics(few), X
    X, y = make_data(rng, 4, 2)
    yield "search", LocalNeighborhoodSearch(max_iter=20).fit(X, y), X
    X = np.exp(X)
    yield "smoothed", recommended().fit(X, y), X
    X, y = make_data(rng, 4, 5)
    frame = pd.DataFrame(X, columns=["Länge", "width", "height", "age", "mass"])
    projection = HeteroscedasticProjection(3, priors=[0.1, 0.2, 0.3, 0.4])
    yield "projection", projection.fit(frame, np.array(["a", "b", "c", "d"])[y]), X
    pipeline = make_pipeline(
        HeteroscedasticProjection(4, method="chernoff"),
        HeteroscedasticProjection(shrinkage=None),
        GaussianLinearDiscriminant(shrinkage=0.1),
    )
    yield "pipeline", pipeline.set_output(transform="pandas").fit(X, y), X


def main():
    predictions = {}
    for name, model, X in make_models():
        heterolda.save(model, file_of(name))
        rows = X[::9].round(3)
        predictions[name] = {"rows": rows.tolist(), **outputs(model, rows)}
    assert predictions.keys() == set(NAMES)
    write_json(FOLDER / "predictions.json", predictions)


if __name__ == "__main__":
    main()
