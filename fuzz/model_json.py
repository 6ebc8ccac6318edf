"""Model files: any content is rejected, or is a model that computes finite numbers."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags

from fuzz.changes import change_bytes, change_structure
from fuzz.reader import Reader
from heterolda import (
    BoundedErrorClassifier,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
)
from heterolda.estimators.fit_record import Category
from heterolda.export.model_file import (
    from_document,
    json_text,
    parse_json,
    to_document,
)
from heterolda.inspection import FitRecord, evaluate
from heterolda.solvers import Grid

# A second compression of the factors of wide data changes their last digits.
_STATISTICS = re.compile(rb'"statistics_":\s*"[^"]*"')
METHODS = "predict", "decision_function", "predict_proba", "predict_log_proba"


def check(data):
    """Return whether a file is a model; if so, it and its copy compute numbers."""
    try:
        model = from_document(parse_json(data))
    except (ValueError, MemoryError) as error:
        # heterolda.load puts words of its own around these.
        if isinstance(error, np.linalg.LinAlgError):
            raise
        return False
    text = json_text(to_document(model))
    again = json_text(to_document(from_document(parse_json(text))))
    assert _STATISTICS.sub(b"", again) == _STATISTICS.sub(b"", text)
    d = model.n_features_in_
    X = np.vstack([np.zeros(d), np.ones(d), -1e3 * np.ones(d), np.full(d, 1e200)])
    X[3, ::2] *= -1
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        if isinstance(model, HeteroscedasticProjection):
            components = model.transform(X[:2])
            back = model.inverse_transform(np.eye(components.shape[1]))
            assert np.isfinite(components).all(), "transform is not finite"
            assert np.isfinite(back).all(), "inverse_transform is not finite"
        elif hasattr(model, "predict"):
            _check_answers(model, X)
    return True


def _check_answers(model, X):
    """Reject answers that are not finite; pipelines reject infinite components."""
    holes = np.where(np.arange(X.shape[1]) == 0, np.nan, X)
    cases = [(method, X) for method in METHODS if hasattr(model, method)]
    if getattr(model, "_rows_curve", None) is not None:
        try:
            minimax = model.with_operating_point("minimax")
        except ValueError as error:  # of the statistics
            if isinstance(error, np.linalg.LinAlgError):
                raise
        else:
            assert np.isfinite(minimax.predict_proba(X)).all(), "minimax is not finite"
    if get_tags(model).input_tags.allow_nan:  # rules for such rows are solved now
        cases.append(("predict", holes))
    for method, rows in cases:
        try:
            values = np.asarray(getattr(model, method)(rows))
        except ValueError as error:
            of_pipeline = isinstance(model, Pipeline) and "X contains" in str(error)
            if isinstance(error, np.linalg.LinAlgError) or not (
                of_pipeline or rows is holes
            ):
                raise
            continue
        if method == "predict":
            assert set(values.tolist()) <= set(model.classes_.tolist())
        else:
            assert np.isfinite(values).all(), f"{method} is not finite"


def seeds():
    """Return files of many kinds of models."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 12)
    X = rng.normal(size=(48, 2)) * (1 + y[:, None]) + 2 * y[:, None]
    logistic, costs = LogisticRegression(), np.ones((4, 4)) - np.eye(4)
    recorded = GaussianLinearDiscriminant(missing="em").fit(X, y)
    recorded.feature_names_in_ = np.array(["Länge", "city=Lyon"], dtype=object)
    city = Category("city", "Paris", ("Lyon",), ("Metz",))
    recorded.fit_record_ = FitRecord("y", "a.csv", "2026", 48.0, (city,))
    recorded.evaluation_ = evaluate(GaussianLinearDiscriminant(), X, y)
    bounded = BoundedErrorClassifier(max_error=0.5, confidence=0.5)
    wide = rng.normal(size=(9, 120))
    two = GaussianLinearDiscriminant(priors="equal").fit(X, y > 1)
    models = [
        SmoothedLinearDiscriminant(),
        GaussianLinearDiscriminant(class_weight={1: 2.0}),
        GaussianLinearDiscriminant(multiclass="ovr", solver=Grid(), shrinkage="cv"),
        GaussianLinearDiscriminant(costs=costs, voting="majority"),
        HeteroscedasticProjection(1),
        LocalNeighborhoodSearch(logistic, costs={1: 2.0}),
        LocalNeighborhoodSearch(
            FrozenEstimator(GaussianLinearDiscriminant().fit(X, y))
        ),
        make_pipeline(HeteroscedasticProjection(1), LocalNeighborhoodSearch(logistic)),
    ]
    fitted = [
        recorded,
        two,
        bounded.fit(X, y > 1),
        clone(models[1]).fit(wide, y[:36:4] % 3),
    ]
    fitted += [model.fit(X, y) for model in models]
    return [json_text(to_document(model)) for model in fitted]


def change(data, rng):
    """Return another content, half of the time by its structure."""
    try:
        document = parse_json(data)
    except ValueError:
        document = None
    if rng.random() < 0.5 or not isinstance(document, dict) or not document:
        return change_bytes(data, rng)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        document = change_structure(document, rng)
        if not isinstance(document, dict):
            break
    return json.dumps(document).encode()


READER = Reader("model", ".json", seeds, change, check)
