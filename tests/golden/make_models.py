"""Write the model files of the current version, and what they predict.

Run it when the version rises or there is another kind of model: ``python
tests/golden/make_models.py``. Files that exist stay as they are.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
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
from heterolda.data.categories import Category
from heterolda.export._json_file import write_json
from heterolda.export.model_file import VERSION

FOLDER = Path(__file__).parent


def make_data(rng, n_classes, d, n=40):
    y = np.repeat(np.arange(n_classes), n)
    shapes, centres = (
        rng.normal(size=(n_classes, d, d)),
        rng.normal(size=(n_classes, d)),
    )
    return (rng.normal(size=(len(y), 1, d)) @ shapes[y])[:, 0] + 2 * centres[y], y


def make_models():
    """Name, model and rows to predict."""
    rng = np.random.default_rng(20)
    X, y = make_data(rng, 2, 3)
    frame = pd.DataFrame(X, columns=["Länge", "city=Lyon", "city=other"])
    costs = {"ill": {"well": 5}}
    discriminant = GaussianLinearDiscriminant(
        solver=Global(gap=1e-6), priors=[0.3, 0.7], costs=costs
    )
    discriminant.fit(frame, np.array(["ill", "well"])[y])
    judgement = Judgement("leave-one-out", 80.0, 0.9, 0.875, 0.0125)
    discriminant.fit_record_ = FitRecord(
        "state",
        "patients.csv",
        "2026-11-30",
        80.0,
        judgement,
        categories=(Category("city", "Paris", ("Lyon",), ("Metz", "Nîmes"), "other"),),
        marks=("?", "-999"),
        n_columns=4,
    )
    yield "discriminant", discriminant, frame
    X, y = make_data(rng, 4, 2)
    yield "search", recommended(random_state=3, class_weight={0: 2.5}).fit(X, y), X
    powers = LocalNeighborhoodSearch(transformation="auto", max_iter=20)
    yield "transformed", powers.fit(np.exp(X), y), np.exp(X)
    X, y = make_data(rng, 4, 5)
    frame = pd.DataFrame(X, columns=["Länge", "width", "height", "age", "mass"])
    projection = HeteroscedasticProjection(3, priors=[0.1, 0.2, 0.3, 0.4])
    yield "projection", projection.fit(frame, np.array(["a", "b", "c", "d"])[y]), frame
    pipeline = make_pipeline(
        HeteroscedasticProjection(4, method="chernoff"),
        HeteroscedasticProjection(shrinkage=None),
        GaussianLinearDiscriminant(shrinkage=0.1),
    )
    yield "pipeline", pipeline.set_output(transform="pandas").fit(X, y), X
    X, y = make_data(rng, 2, 3)
    frame = pd.DataFrame(X, columns=["Länge", "width", "height"])
    bounded = BoundedErrorClassifier(max_error={"ill": 0.2}, confidence=0.8)
    yield "bounded", bounded.fit(frame, np.array(["ill", "well"])[y]), frame
    X, y = rng.normal(size=(9, 8)), np.repeat([0, 1, 2], [4, 4, 1])
    X[:, 2] = X[:, 0]
    parts = [X[y == k] for k in range(3)]
    means = np.array([part.mean(axis=0) for part in parts])
    factors = [part - mean for part, mean in zip(parts, means, strict=True)]
    few = ClassStatistics(np.arange(3), np.array([4.0, 4.0, 1.0]), means, factors)
    yield "wide", GaussianLinearDiscriminant(shrinkage="auto").fit_statistics(few), X
    X, y = make_data(rng, 3, 4)
    gaps = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    yield "gaps", GaussianLinearDiscriminant(missing="em").fit(gaps, y), X


def main():
    path = FOLDER / f"expected_{VERSION}.json"
    expected = json.loads(path.read_text()) if path.exists() else {}
    for name, model, X in make_models():
        if name in expected:
            continue
        heterolda.save(model, FOLDER / f"model_{VERSION}_{name}.json")
        rows = X[::9].round(3)
        expected[name] = {"rows": np.asarray(rows).tolist()}
        predicts = hasattr(model, "predict")
        methods = ("predict", "predict_proba", "decision_function")
        for method in methods if predicts else ("transform",):
            expected[name][method] = getattr(model, method)(rows).tolist()
    write_json(path, expected)


if __name__ == "__main__":
    main()
