"""ONNX graphs have the probabilities of the classifiers, in any runtime."""

from functools import cache

import numpy as np
import onnx
import pytest
import skl2onnx
from onnx.reference import ReferenceEvaluator
from skl2onnx.common.data_types import Int64TensorType
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.exported import (
    DOUBLE,
    MODELS,
    SINGLE,
    certain,
    data,
    errors_in_double,
    errors_in_single,
    fitted,
    random_rows,
    run_graph,
    scaled,
)
from heterolda import (
    BoundedErrorClassifier,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    SmoothedLinearDiscriminant,
    to_onnx,
)
from heterolda.export.onnx import register

register()
ERRORS = {"float32": errors_in_single, "float64": errors_in_double}


@cache
def graph_of(name, dtype):
    return to_onnx(fitted(name), dtype=dtype)


@pytest.mark.parametrize("name", MODELS)
def test_probabilities_are_those_of_predict_proba_in_two_runtimes(name, rng):
    model = fitted(name)
    X = random_rows(name, 2000, rng)
    if name == "digits-majority":  # sums of votes
        votes = run_graph(graph_of(name, "float64"), X)[1]
        np.testing.assert_array_equal(votes, np.rint(model.decision_function(X)))
        return
    expected = model.predict_proba(X)
    clear = certain(model, X, ERRORS["float64"](model, X))
    p = run_graph(graph_of(name, "float64"), X)[1]
    np.testing.assert_allclose(p[clear], expected[clear], rtol=1e-9, atol=1e-300)
    clear = certain(model, X, ERRORS["float32"](model, X))
    label, p = run_graph(graph_of(name, "float32"), X.astype(np.float32))
    assert p.dtype == np.float32
    np.testing.assert_allclose(p[clear], expected[clear], atol=1e-5)
    places = np.searchsorted(model.classes_, label)
    np.testing.assert_array_equal(p[np.arange(len(p)), places], p.max(axis=1))
    label, p = ReferenceEvaluator(graph_of(name, "float64")).run(None, {"X": X[:20]})
    np.testing.assert_array_equal(label, model.predict(X[:20]))
    np.testing.assert_allclose(p, expected[:20], rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("name", ["d1", "digits", "digits-ovr"])
@pytest.mark.parametrize("factor", [1e-14, 1e4])
def test_log_odds_have_their_limits(name, factor, rng):
    """Next to none, they still decide; beyond any measure, they are finite."""
    model = scaled(name, factor)
    X = random_rows(name, 500, rng)
    clear = certain(model, X, ERRORS["float64"](model, X))
    assert clear.mean() > 0.1
    p = run_graph(to_onnx(model, dtype="float64"), X)[1]
    expected = model.predict_proba(X)
    rtol = 1e-11 if factor < 1 else 1e-9
    np.testing.assert_allclose(p[clear], expected[clear], rtol=rtol, atol=0)


@pytest.mark.parametrize("name", ["d1", "digits"])
def test_largest_probability_is_that_of_the_label_next_to_thresholds(name, rng):
    """Single precision makes many probabilities equal that are not."""
    model = fitted(name)
    X = random_rows(name, 500, rng)
    w, b = model.coef_[0], model.intercept_[0]
    X -= np.outer(X @ w + b, w / (w @ w))  # on the first threshold, up to rounding
    for dtype in ("float32", "float64"):
        label, p = run_graph(graph_of(name, dtype), X.astype(dtype))
        np.testing.assert_array_equal(label, model.classes_[p.argmax(axis=1)])
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("opset", [13, 18, skl2onnx.__max_supported_opset__])
def test_old_and_new_opsets(opset, rng):
    model = fitted("four-smoothed")
    X = random_rows("four-smoothed", 50, rng)
    graph = skl2onnx.to_onnx(
        model, X[:1], options={"zipmap": False}, target_opset=opset
    )
    onnx.checker.check_model(graph, full_check=True)
    assert {node.domain for node in graph.graph.node} <= {"", "ai.onnx"}
    versions = {it.domain: it.version for it in graph.opset_import}
    assert versions[""] <= opset
    np.testing.assert_array_equal(run_graph(graph, X)[0], model.predict(X))


@pytest.mark.parametrize(
    ("labels", "none"),
    [(["a", "é", "日本", "?"], ""), ([-3, 0, 7, 2**62], -(2**63))],
)
def test_incomplete_rows_have_a_label_of_no_class_in_any_runtime(
    labels, none, make_classes
):
    X, y = make_classes(4)
    y = np.array(labels)[y]
    model = GaussianLinearDiscriminant().fit(X, y)
    complete = np.arange(len(X)) % 3 == 0
    X[1::3, 1], X[2::3, 0] = np.nan, np.inf
    graph = to_onnx(model, dtype="float64")
    with np.errstate(invalid="ignore"):
        reference = ReferenceEvaluator(graph).run(None, {"X": X})
    for label, p in run_graph(graph, X), reference:
        np.testing.assert_array_equal(label[complete], model.predict(X[complete]))
        assert set(label[~complete].tolist()) == {none}
        assert np.isnan(p[~complete]).all()
        assert np.isfinite(p[complete]).all()


def test_booleans_and_whole_numbers_become_integers(make_classes):
    X, y = make_classes(n_classes=2)
    for labels in (y == 1, y * 3.0):
        model = BoundedErrorClassifier(max_error=0.2).fit(X, labels)
        label = run_graph(to_onnx(model, dtype="float64"), X)[0]
        np.testing.assert_array_equal(label, model.predict(X).astype(int))


def test_skl2onnx_converts_with_its_own_options_and_types(rng):
    model = fitted("digits")
    X = random_rows("digits", 30, rng).astype(np.float32)
    label, maps = run_graph(skl2onnx.to_onnx(model, X[:1]), X)
    np.testing.assert_array_equal(label, model.predict(X))
    assert list(maps[0]) == model.classes_.tolist()
    p = [list(row.values()) for row in maps]
    np.testing.assert_allclose(p, model.predict_proba(X), atol=1e-5)
    types = [("X", Int64TensorType([None, X.shape[1]]))]
    graph = skl2onnx.convert_sklearn(
        model, initial_types=types, options={"zipmap": False}
    )
    X = np.rint(X).astype(np.int64)
    np.testing.assert_array_equal(run_graph(graph, X)[0], model.predict(X))
    label, p = run_graph(to_onnx(model), X[:0].astype(np.float32))
    assert (label.shape, p.shape) == ((0,), (0, len(model.classes_)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_components_far_from_zero_lose_only_what_their_format_loses(dtype):
    X, y = data("four")
    X = X + 1e4
    model = HeteroscedasticProjection(3).fit(X, y)
    rows = (X + 0.1).astype(dtype)
    exact = rows.astype(np.float64)
    expected = model.transform(exact)
    (actual,) = run_graph(to_onnx(model, dtype=dtype), rows)
    assert actual.dtype == dtype
    terms = np.abs(exact - model.mean_) @ np.abs(model.scalings_)
    bound = (X.shape[1] + 4) * (SINGLE if dtype == "float32" else DOUBLE) * terms
    assert (np.abs(actual - expected) <= bound).all()
    plain = rows @ model.scalings_.astype(dtype)
    plain -= (model.mean_ @ model.scalings_).astype(dtype)
    assert np.abs(plain - expected).max() > 10 * bound.max()
    theirs = run_graph(skl2onnx.to_onnx(model, rows[:1]), rows)
    np.testing.assert_array_equal(theirs, [actual])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pipelines_with_projections_and_steps_of_scikit_learn(dtype):
    X, y = data("four")
    last = SmoothedLinearDiscriminant(0.5)
    model = make_pipeline(StandardScaler(), HeteroscedasticProjection(3), last)
    rows = (X + 100).astype(dtype)
    model.fit(X + 100, y)
    label, p = run_graph(to_onnx(model, dtype=dtype), rows)
    assert np.mean(label == model.predict(rows)) > 0.99
    atol = 1e-4 if dtype == "float32" else 1e-9
    close = np.isclose(p, model.predict_proba(rows), atol=atol)
    assert close.all(axis=1).mean() > 0.99


def test_the_file_is_the_graph_and_wrong_arguments_are_rejected(tmp_path, make_classes):
    model, path = fitted("d1"), tmp_path / "model.onnx"
    assert to_onnx(model, path).SerializeToString() == path.read_bytes()
    with pytest.raises(FileNotFoundError, match="does not exist"):
        to_onnx(model, tmp_path / "no" / "model.onnx")
    with pytest.raises(ValueError, match="dtype must be"):
        to_onnx(model, dtype="float16")
    X, y = make_classes(n_classes=2)
    waiting = HeteroscedasticProjection().partial_fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="cannot transform yet"):
        to_onnx(waiting)
    for labels in np.array([0, 2**63], dtype=np.uint64), np.array(["", "a"]):
        with pytest.raises(ValueError, match="ONNX cannot represent"):
            to_onnx(GaussianLinearDiscriminant().fit(X, labels[y]))
    with pytest.raises(ValueError, match="range of single precision"):
        to_onnx(HeteroscedasticProjection().fit(X * 1e-45, y))
