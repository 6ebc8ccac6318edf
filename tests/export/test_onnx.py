"""ONNX graphs decide as the classifiers do, up to the rounding of their format."""

import numpy as np
import onnx
import pytest
import skl2onnx
from onnx.reference import ReferenceEvaluator
from onnxruntime import InferenceSession
from skl2onnx.common.data_types import (
    Int64TensorType,
)
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import heterolda.export
from helpers.exported import (
    DOUBLE,
    MODELS,
    SINGLE,
    certain,
    certain_if_transformed,
    data,
    errors_in_double,
    errors_in_single,
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
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
)
from heterolda.export.onnx import register

register()
N = 10_000
ERRORS = {"float32": errors_in_single, "float64": errors_in_double}


def run(graph, X):
    return InferenceSession(graph.SerializeToString()).run(None, {"X": X})


@pytest.fixture(scope="module")
def graphs():
    """Graphs by model and format, made once."""
    made = {}

    def graph(name, dtype):
        if (name, dtype) not in made:
            made[name, dtype] = heterolda.export.to_onnx(fitted(name), dtype=dtype)
        return made[name, dtype]

    return graph


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", MODELS)
def test_labels_are_those_of_predict_beyond_rounding(name, dtype, graphs, rng):
    model = fitted(name)
    X = random_rows(model, N, rng)
    label, probability = run(graphs(name, dtype), X.astype(dtype))
    clear = certain(model, X, ERRORS[dtype](model, X))
    assert clear.mean() > (0.99 if dtype == "float32" else 0.9999)
    np.testing.assert_array_equal(label[clear], model.predict(X[clear]))
    np.testing.assert_array_equal(label, model.classes_[probability.argmax(axis=1)])
    assert len(np.unique(label)) == len(model.classes_)


@pytest.mark.parametrize("name", MODELS)
def test_probabilities_are_those_of_predict_proba(name, graphs, rng):
    model = fitted(name)
    X = random_rows(model, 2000, rng)
    expected = model.predict_proba(X)
    clear = certain(model, X, ERRORS["float64"](model, X))
    p = run(graphs(name, "float64"), X)[1]
    np.testing.assert_allclose(p[clear], expected[clear], rtol=1e-9, atol=1e-300)
    clear = certain(model, X, ERRORS["float32"](model, X))
    p = run(graphs(name, "float32"), X.astype(np.float32))[1]
    assert p.dtype == np.float32
    np.testing.assert_allclose(p[clear], expected[clear], atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_transformed_features(n_classes, rng):
    model = transformed(n_classes)
    for dtype, tolerance in (("float64", 1e-11), ("float32", 1e-6)):
        X = rows_for_transformed(model, 2000, rng).astype(dtype)
        exact = X.astype(np.float64)
        label, p = run(heterolda.export.to_onnx(model, dtype=dtype), X)
        clear = certain_if_transformed(model, exact, tolerance)
        assert clear.mean() > 0.98
        np.testing.assert_array_equal(label[clear], model.predict(exact[clear]))
        expected = model.predict_proba(exact[clear])
        np.testing.assert_allclose(p[clear], expected, atol=10 * tolerance)


def test_transformed_components_in_a_pipeline(rng):
    y = np.arange(240) % 4
    X = np.exp(rng.normal(size=(240, 5)) + y[:, None])
    last = SmoothedLinearDiscriminant(0.5)
    pipeline = make_pipeline(HeteroscedasticProjection(2), last).fit(X, y)
    assert pipeline[-1].transformation_ is not None
    p = run(heterolda.export.to_onnx(pipeline, dtype="float64"), X)[1]
    np.testing.assert_allclose(p, pipeline.predict_proba(X), atol=1e-9)


def test_a_bounded_discriminant_is_one_with_another_threshold(make_classes):
    X, y = make_classes(2)
    model = BoundedErrorClassifier(max_error={0: 0.2}).fit(X, y)
    label, probability = run(heterolda.export.to_onnx(model, dtype="float64"), X)
    np.testing.assert_array_equal(label, model.predict(X))
    np.testing.assert_allclose(probability, model.predict_proba(X), atol=1e-9)
    model.set_params(estimator=LogisticRegression()).fit(X, y)
    with pytest.raises(TypeError, match="only a GaussianLinearDiscriminant"):
        heterolda.export.to_onnx(model)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("factor", [1e-14, 1e4])
def test_log_odds_have_their_limits(name, factor, rng):
    """Next to none, they still decide; beyond any measure, they are finite."""
    model = scaled(name, factor)
    X = random_rows(model, 500, rng)
    clear = certain(model, X, ERRORS["float64"](model, X))
    assert clear.mean() > 0.1
    label, p = run(heterolda.export.to_onnx(model, dtype="float64"), X)
    expected = model.predict_proba(X)
    rtol = 1e-11 if factor < 1 else 1e-9
    np.testing.assert_allclose(p[clear], expected[clear], rtol=rtol, atol=0)
    label, p = run(heterolda.export.to_onnx(model), X.astype(np.float32))
    np.testing.assert_array_equal(label, model.classes_[p.argmax(axis=1)])


def test_exactly_tied_votes_are_decided_by_scores(graphs, rng):
    model = fitted("digits-majority")
    X = random_rows(model, N, rng)
    scores = X @ model.coef_.T + model.intercept_
    votes = np.sort(model._committee.votes(scores), axis=1)
    X = X[votes[:, -1] == votes[:, -2]]
    assert len(X) > 20
    for dtype in ("float32", "float64"):
        clear = certain(model, X, ERRORS[dtype](model, X))
        assert clear.mean() > 0.9
        label = run(graphs("digits-majority", dtype), X.astype(dtype))[0]
        np.testing.assert_array_equal(label[clear], model.predict(X[clear]))


@pytest.mark.parametrize("name", ["d1", "digits", "digits-ova", "four-smoothed"])
def test_largest_probability_is_that_of_the_label_next_to_thresholds(name, graphs, rng):
    """Single precision makes many probabilities equal that are not."""
    model = fitted(name)
    X = random_rows(model, 500, rng)
    w, b = model.coef_[0], model.intercept_[0]
    X -= np.outer(X @ w + b, w / (w @ w))  # on the first threshold, up to rounding
    for dtype in ("float32", "float64"):
        label, p = run(graphs(name, dtype), X.astype(dtype))
        np.testing.assert_array_equal(label, model.classes_[p.argmax(axis=1)])
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("name", ["d1", "digits", "digits-ova"])
def test_data_far_from_zero_lose_only_what_their_format_loses(name, rng):
    """In single precision 1e4 + x keeps 3 digits of x; the scores keep all of them."""
    X, y = data(name.partition("-")[0])
    model = MODELS[name]().fit(X + 1e4, y)
    rows = random_rows(model, N, rng).astype(np.float32)
    exact = rows.astype(np.float64)
    label = run(heterolda.export.to_onnx(model), rows)[0]
    errors = errors_in_single(model, exact, exact_rows=True)
    clear = certain(model, exact, errors)
    assert clear.mean() > 0.999
    np.testing.assert_array_equal(label[clear], model.predict(exact[clear]))
    # The same sums without centres would be off by far more than the bound.
    plain = rows @ model.coef_.T.astype(np.float32) + model.intercept_.astype("f4")
    scores = exact @ model.coef_.T + model.intercept_
    assert np.abs(plain - scores).max() > 10 * errors.max()


@pytest.mark.parametrize("opset", [13, 15, 18, skl2onnx.__max_supported_opset__])
def test_old_and_new_opsets(opset, rng):
    model = fitted("four-smoothed")
    X = random_rows(model, 50, rng)
    graph = heterolda.export.to_onnx(model, dtype="float64", target_opset=opset)
    onnx.checker.check_model(graph, full_check=True)
    assert {node.domain for node in graph.graph.node} <= {"", "ai.onnx"}
    versions = {it.domain: it.version for it in graph.opset_import}
    assert versions[""] <= opset
    np.testing.assert_array_equal(run(graph, X)[0], model.predict(X))


@pytest.mark.parametrize("name", MODELS)
def test_another_runtime_gives_the_same(name, graphs, rng):
    model = fitted(name)
    X = random_rows(model, 20, rng)
    label, p = ReferenceEvaluator(graphs(name, "float64")).run(None, {"X": X})
    np.testing.assert_array_equal(label, model.predict(X))
    np.testing.assert_allclose(p, model.predict_proba(X), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "name", ["d1", "digits", "digits-ova", "digits-coupled", "powers"]
)
def test_rows_that_are_not_finite_have_no_class(name, dtype, graphs):
    if name == "powers":
        model = transformed(4)
        graph = heterolda.export.to_onnx(model, dtype=dtype)
        X = model.transformation_.centre[None]
    else:
        graph, (X, _) = graphs(name, dtype), data(name.partition("-")[0])
    rows = np.repeat(X[:1], 5, axis=0).astype(dtype)
    rows[1, 2], rows[2, 0], rows[3, -1] = np.nan, np.inf, -np.inf
    none = "" if name.startswith("digits") else -(2**63)
    said = {one.key: one.value for one in graph.metadata_props}["missing"]
    assert said.endswith(f"its label is {none if none else chr(34) * 2}.")
    with np.errstate(invalid="ignore"):
        reference = ReferenceEvaluator(graph).run(None, {"X": rows})
    for label, p in run(graph, rows), reference:
        assert label[1:4].tolist() == [none] * 3
        assert np.isnan(p[1:4]).all()
        assert label[0] == label[4] != none
        assert np.isfinite(p[[0, 4]]).all()


def test_rows_with_gaps_have_no_class_and_models_of_fewer_features_have(make_classes):
    X, y = make_classes(4)
    X[::3, 1] = np.nan
    # A label that stands for no class may be that of one.
    for labels in np.array(["", "a", "b", "?"]), np.array([-(2**63), 0, 1, 2]):
        model = GaussianLinearDiscriminant(missing="em").fit(X, labels[y])
        graph = heterolda.export.to_onnx(model, dtype="float64")
        said = {one.key: one.value for one in graph.metadata_props}["missing"]
        assert "The Python model also predicts rows with missing values" in said
        lost, (label, p) = np.isnan(X).any(axis=1), run(graph, X)
        np.testing.assert_array_equal(label[~lost], model.predict(X[~lost]))
        assert len(set(label[lost])) == 1
        assert set(label[lost]).isdisjoint(labels)
        assert np.isnan(p[lost]).all()
        there = np.array([True, False, True])
        few = heterolda.export.to_onnx(model.for_features(there), dtype="float64")
        label, p = run(few, X[lost][:, there])
        np.testing.assert_array_equal(label, model.predict(X[lost]))
        np.testing.assert_allclose(p, model.predict_proba(X[lost]), atol=1e-9)


@pytest.mark.parametrize(
    "labels",
    [
        ["oui", "é", "日本", "a b"],
        [-3, 0, 7, 2**62],
        [0.0, 1.0, -2.0, 5.0],
    ],
)
def test_labels_of_four_classes(labels, make_classes):
    X, codes = make_classes()
    y = np.asarray(labels)[codes]
    model = GaussianLinearDiscriminant().fit(X, y)
    label = run(heterolda.export.to_onnx(model, dtype="float64"), X)[0]
    np.testing.assert_array_equal(label, model.predict(X))


def test_boolean_labels_become_integers(make_classes):
    X, y = make_classes(n_classes=2)
    model = GaussianLinearDiscriminant().fit(X, y == 1)
    label = run(heterolda.export.to_onnx(model, dtype="float64"), X)[0]
    assert label.dtype == np.int64
    np.testing.assert_array_equal(label, model.predict(X).astype(int))


def test_skl2onnx_converts_with_its_own_options(rng):
    model = fitted("digits")
    X = random_rows(model, 30, rng).astype(np.float32)
    expected, p = model.predict(X), model.predict_proba(X)
    label, maps = run(skl2onnx.to_onnx(model, X[:1]), X)
    np.testing.assert_array_equal(label, expected)
    assert list(maps[0]) == model.classes_.tolist()
    np.testing.assert_allclose([list(m.values()) for m in maps], p, atol=1e-5)

    def convert(**options):
        return run(skl2onnx.to_onnx(model, X[:1], options={id(model): options}), X)

    np.testing.assert_allclose(convert(zipmap=False)[1], p, atol=1e-5)
    columns = convert(zipmap="columns")
    np.testing.assert_allclose(np.column_stack(columns[1:]), p, atol=1e-5)
    numbers = convert(zipmap=False, nocl=True)[0]
    np.testing.assert_array_equal(model.classes_[numbers], expected)
    names = convert(zipmap=False, output_class_labels=True)[2]
    np.testing.assert_array_equal(names, model.classes_)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_components_far_from_zero_lose_only_what_their_format_loses(dtype):
    X, y = data("four")
    X = X + 1e4
    model = HeteroscedasticProjection(3).fit(X, y)
    rows = (X + 0.1).astype(dtype)
    exact = rows.astype(np.float64)
    expected = model.transform(exact)
    (found,) = run(heterolda.export.to_onnx(model, dtype=dtype), rows)
    assert found.dtype == dtype
    terms = np.abs(exact - model.mean_) @ np.abs(model.scalings_)
    bound = (X.shape[1] + 4) * (SINGLE if dtype == "float32" else DOUBLE) * terms
    assert (np.abs(found - expected) <= bound).all()
    plain = rows @ model.scalings_.astype(dtype)
    plain -= (model.mean_ @ model.scalings_).astype(dtype)
    assert np.abs(plain - expected).max() > 10 * bound.max()
    np.testing.assert_array_equal(run(skl2onnx.to_onnx(model, rows[:1]), rows), [found])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "steps",
    [
        [HeteroscedasticProjection(3), GaussianLinearDiscriminant(shrinkage=0.1)],
        [
            HeteroscedasticProjection(9, method="chernoff"),
            HeteroscedasticProjection(3),
            SmoothedLinearDiscriminant(0.5),
        ],
        [StandardScaler(), HeteroscedasticProjection(3), KNeighborsClassifier()],
        [StandardScaler(), HeteroscedasticProjection(2)],
    ],
    ids=lambda steps: type(steps[-1]).__name__,
)
def test_projections_in_pipelines(steps, dtype):
    X, y = data("four")
    model = clone(make_pipeline(*steps)).fit(X + 100, y)
    rows = (X + 100).astype(dtype)
    outputs = run(heterolda.export.to_onnx(model, dtype=dtype), rows)
    tolerance = {"atol": 1e-4 if dtype == "float32" else 1e-9}
    if hasattr(model, "predict"):
        assert np.mean(outputs[0] == model.predict(rows)) > 0.99
        close = np.isclose(outputs[1], model.predict_proba(rows), **tolerance)
        assert close.all(axis=1).mean() > 0.99
    else:
        np.testing.assert_allclose(outputs[0], model.transform(rows), **tolerance)
    options = {"zipmap": False} if hasattr(model, "predict") else None
    theirs = run(skl2onnx.to_onnx(model, rows[:1], options=options), rows)
    np.testing.assert_array_equal(theirs[0], outputs[0])


def test_whole_features_and_no_rows():
    X, _ = data("four")
    model = fitted("four-smoothed")
    types = [("X", Int64TensorType([None, X.shape[1]]))]
    graph = skl2onnx.convert_sklearn(
        model, initial_types=types, options={"zipmap": False}
    )
    label, p = run(graph, X.astype(np.int64))
    np.testing.assert_array_equal(label, model.predict(X))
    assert p.dtype == np.float32
    label, p = run(heterolda.export.to_onnx(model), X[:0].astype(np.float32))
    assert label.shape == (0,)
    assert p.shape == (0, 4)


def test_a_search_from_another_classifier_has_no_centres(make_classes):
    X, y = make_classes()
    model = LocalNeighborhoodSearch(LogisticRegression(), max_iter=5).fit(X, y)
    label = run(heterolda.export.to_onnx(model), X.astype(np.float32))[0]
    clear = certain(model, X, errors_in_single(model, X))
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(label[clear], model.predict(X[clear]))


def test_the_file_is_the_graph_and_is_written_whole_or_not_at_all(tmp_path):
    model = fitted("d1")
    path = tmp_path / "model.onnx"
    graph = heterolda.export.to_onnx(model, path)
    assert path.read_bytes() == graph.SerializeToString()
    assert [it.name for it in tmp_path.iterdir()] == ["model.onnx"]
    with pytest.raises(FileNotFoundError, match="does not exist"):
        heterolda.export.to_onnx(model, tmp_path / "no" / "model.onnx")


def test_wrong_arguments_are_refused(make_classes):
    with pytest.raises(ValueError, match="dtype must be"):
        heterolda.export.to_onnx(fitted("d1"), dtype="float16")
    with pytest.raises(ValueError, match="target_opset must be at least 13"):
        heterolda.export.to_onnx(fitted("d1"), target_opset=12)
    with pytest.raises(ValueError, match="not fitted"):
        heterolda.export.to_onnx(GaussianLinearDiscriminant())
    X, y = make_classes(n_classes=2)
    waiting = GaussianLinearDiscriminant().partial_fit(X[:1], y[:1], classes=[0, 1])
    with pytest.raises(ValueError, match="cannot predict yet"):
        heterolda.export.to_onnx(waiting)
    waiting = HeteroscedasticProjection().partial_fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="cannot transform yet"):
        heterolda.export.to_onnx(waiting)
    labels = np.array([0, 2**63], dtype=np.uint64)[y]
    with pytest.raises(ValueError, match="ONNX cannot hold"):
        heterolda.export.to_onnx(GaussianLinearDiscriminant().fit(X, labels))
    huge = GaussianLinearDiscriminant().fit(X * 1e-45, y)
    for model in (huge, HeteroscedasticProjection().fit(X * 1e-45, y)):
        with pytest.raises(ValueError, match="range of single precision"):
            heterolda.export.to_onnx(model)
    label = run(heterolda.export.to_onnx(huge, dtype="float64"), X * 1e-45)[0]
    np.testing.assert_array_equal(label, huge.predict(X * 1e-45))
