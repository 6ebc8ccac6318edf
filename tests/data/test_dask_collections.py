"""The same model from dask collections as from arrays, on threads and on processes."""

import os
import pickle
import signal
import threading
import time
import warnings

import dask
import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from benchmarks.shapes import Shape, gaussian_classes
from heterolda import (
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
)
from heterolda.data.dask import statistics

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")
NAMES = list("abcd")


def data(n=1200, d=4, k=4):
    X, y = gaussian_classes(Shape(n, d, k))
    return 50 + 3 * X, np.array(["kiwi", "apple", "pear", "fig", "plum"])[y]


def collections(X, y, weight=None):
    """The same rows as arrays and as frames, with chunks of known and unknown sizes."""
    weight = np.ones(len(X)) if weight is None else weight
    names = [*NAMES, *(f"g{k}" for k in range(X.shape[1]))][: X.shape[1]]
    frame = pd.DataFrame(X, columns=names).assign(y=y, w=weight)
    lazy = dd.from_pandas(frame, npartitions=5)
    lazy = lazy[lazy[names[0]] > -1e9]
    frames = lazy[names], lazy["y"], lazy["w"]
    rows = da.from_array(X, chunks=(len(X) // 7, 3))
    return {
        "arrays": (rows, da.from_array(y, chunks=400), da.from_array(weight, 500)),
        "memory": (rows, y, weight),
        "frames": frames,
        "unknown": (frames[0].to_dask_array(), *frames[1:]),
    }


def assert_same_model(model, expected):
    for name in ("weights", "means", "scatters"):
        mine, other = (getattr(m.statistics_, name) for m in (model, expected))
        assert type(mine) is np.ndarray
        assert_allclose(mine, other, rtol=1e-10, atol=1e-10 * np.abs(other).max())
    assert_array_equal(model.classes_, expected.classes_)
    assert model.n_features_in_ == expected.n_features_in_
    for name in ("coef_", "intercept_", "bayes_error_"):
        assert type(getattr(model, name)) is np.ndarray
        assert_allclose(getattr(model, name), getattr(expected, name), rtol=1e-7)


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        *(("arrays", (1200, 4)), ("unknown", (1200, 4)), ("frames", (1200, 4))),
        *(("memory", (60, 150)), ("frames", (60, 150))),
    ],
)
def test_collections_and_memory_give_one_model(scheduler, rng, kind, shape):
    X, y = data(*shape)
    weight = rng.integers(0, 4, len(X)).astype(float)
    rows, *labels = collections(X, y, weight)[kind]
    whole = GaussianLinearDiscriminant().fit(X, y, weight)
    model = GaussianLinearDiscriminant().fit(rows, *labels)
    assert_same_model(model, whole)
    assert hasattr(model, "feature_names_in_") == (kind == "frames")
    assert_array_equal(model.predict(rows).compute(), whole.predict(X))
    unweighted = GaussianLinearDiscriminant().fit(rows, labels[0])
    assert_same_model(unweighted, GaussianLinearDiscriminant().fit(X, y))


@pytest.mark.parametrize(
    ("Estimator", "n_classes"),
    [
        *((GaussianLinearDiscriminant, 2), (GaussianLinearDiscriminant, 4)),
        (LocalNeighborhoodSearch, 4),
    ],
)
def test_lazy_input_gives_lazy_results(scheduler, Estimator, n_classes):
    X, y = data(400, k=n_classes)
    weight = np.arange(len(X)) % 3
    frame = pd.DataFrame(X, columns=NAMES)
    rows, labels, weights = collections(X, y, weight)["arrays"]
    lazy = dd.from_pandas(frame, npartitions=3)
    for model, some, of_some in (
        (Estimator().fit(frame, y), frame, lazy),
        (Estimator().fit(X, y), X, rows),
    ):
        for method in METHODS:
            expected = getattr(model, method)(some)
            answer = getattr(model, method)(of_some)
            assert isinstance(answer, da.Array)
            assert (answer.dtype, answer.ndim) == (expected.dtype, expected.ndim)
            if expected.dtype.kind == "f":
                assert_allclose(answer.compute(), expected)
            else:
                assert_array_equal(answer.compute(), expected)
    assert model.decision_function(rows).shape == expected.shape
    score = model.score(rows, labels, weights)
    assert type(score) is float
    assert score == pytest.approx(model.score(X, y, weight))
    assert model.score(rows, y) == pytest.approx(model.score(X, y))


def test_rows_in_single_precision_give_lazy_results_in_it():
    X, y = data(200)
    frame = pd.DataFrame(X, columns=NAMES)
    model = GaussianLinearDiscriminant().fit(frame, y)
    for kind, expected in (("f4", "f4"), ("f2", "f8"), ({"a": "f4"}, "f8")):
        some = frame.astype(kind)
        answer = model.predict_proba(dd.from_pandas(some, npartitions=3))
        assert answer.dtype == answer.compute().dtype == expected
        assert_array_equal(answer.compute(), model.predict_proba(some))
    rows = da.from_array(X.astype("f4"), chunks=(90, 3))
    assert GaussianLinearDiscriminant().fit(X, y).predict_proba(rows).dtype == "f4"


def test_projections_of_lazy_rows_are_lazy(rng):
    X, y = data(400)
    weight = rng.integers(0, 4, len(X)).astype(float)
    fresh = HeteroscedasticProjection(2, method="chernoff")
    expected = clone(fresh).fit(X, y, weight)
    sources = collections(X, y, weight)
    rows, *labels = sources["memory"]
    parts = clone(fresh).partial_fit(rows[:90], *(part[:90] for part in labels))
    parts.partial_fit(rows[90:], *(part[90:] for part in labels))
    for projection, some in (
        *((clone(fresh).fit(*source), source[0]) for source in sources.values()),
        (parts, rows),
    ):
        assert type(projection.scalings_) is np.ndarray
        assert_allclose(projection.scalings_, expected.scalings_, rtol=1e-7, atol=1e-9)
        answer = projection.transform(some)
        assert isinstance(answer, da.Array)
        assert_allclose(answer.compute(), expected.transform(X), rtol=1e-7, atol=1e-9)
    with pytest.raises(ValueError, match="X has 3 features, but"):
        parts.transform(rows[:, :3])
    for n, message in ((0, "X has no rows"), (1, "at least 2 classes")):
        with pytest.raises(ValueError, match=f"{message}.*: pass data of two classes"):
            clone(fresh).fit(rows[:n], y[:n])


def test_chunks_of_one_class_of_no_rows_and_of_one():
    X, y = data(300)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    sizes = 0, 75, 1, 74, 0, 0, 140, 10
    rows, labels = da.from_array(X, chunks=(sizes, 4)), da.from_array(y, (sizes,))
    whole = GaussianLinearDiscriminant().fit(X, y)
    model = GaussianLinearDiscriminant().fit(rows, labels)
    assert_same_model(model, whole)
    assert_array_equal(model.predict(rows).compute(), whole.predict(X))
    # Chunks of a single row, labels in a column, one weight for all, kept collections.
    lazy = da.from_array(X[::9], chunks=(1, 2)), da.from_array(y[::9, None], (1, 1))
    thrice = GaussianLinearDiscriminant().fit(X[::9], y[::9], np.full(len(X[::9]), 3))
    assert_same_model(GaussianLinearDiscriminant().fit(*lazy, 3), thrice)
    frame = pd.DataFrame(X[::9], columns=NAMES).assign(y=pd.Categorical(y[::9]))
    kept = dd.from_pandas(frame, npartitions=7).persist()
    model = GaussianLinearDiscriminant().fit(kept[NAMES], kept[["y"]], 3)
    assert_same_model(model, thrice)
    assert model.score(kept[NAMES], kept["y"], 2) == thrice.score(X[::9], y[::9])


@pytest.mark.parametrize(
    "labels",
    [[0, 5], [True, False], ["a", "b"], np.array(["a", "bb"], object), [1.0, 2.0]],
)
def test_labels_of_any_type(labels, rng):
    y = np.asarray(labels)[rng.integers(0, 2, 90)]
    X = rng.normal(size=(90, 2))
    lazy = da.from_array(X, chunks=(40, 2)), da.from_array(y, chunks=(40,))
    model = GaussianLinearDiscriminant().fit(*lazy)
    assert model.classes_.tolist() == sorted(labels)
    whole = GaussianLinearDiscriminant().fit(X, y)
    assert_array_equal(model.predict(X), whole.predict(X))


def slow_block(seed, delay):
    time.sleep(delay)
    return np.random.default_rng(seed).normal(size=(50, 3))


def slow_rows(delay):
    make = dask.delayed(slow_block, pure=False)
    return da.concatenate(
        [da.from_delayed(make(k, delay), (50, 3), dtype=float) for k in range(24)]
    )


def test_a_worker_that_dies_does_not_change_the_result(cluster):
    """Blocks take a while; one worker process is killed in the middle of the fit."""
    y = np.arange(1200) % 4
    victim, other = cluster.run(os.getpid).values()
    assert victim != other
    killer = threading.Timer(0.6, os.kill, (victim, signal.SIGKILL))
    killer.start()
    model = GaussianLinearDiscriminant().fit(slow_rows(0.1), y)
    killer.join()
    assert victim not in cluster.run(os.getpid).values()  # it did die
    X = slow_rows(0.0).compute(scheduler="threads")
    assert_same_model(model, GaussianLinearDiscriminant().fit(X, y))


def test_bad_input_is_refused():
    X, y = data(100)
    lazy, labels = da.from_array(X, chunks=(40, 4)), da.from_array(y, chunks=40)
    model = GaussianLinearDiscriminant()
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    masked = da.ma.masked_greater(lazy, X[3, 0])
    for arguments, message in (
        ((lazy, labels[:50]), "y must have one entry for each of the 100 rows"),
        ((lazy, labels, labels[:9]), "sample_weight must have one entry"),
        ((lazy[:, 0], labels), "X must have two dimensions"),
        ((lazy, lazy), "y must have one dimension"),
        ((da.where(lazy > 50, np.nan, lazy), labels), "contains NaN"),
        ((masked, labels), "contains NaN"),
        ((lazy[:0], labels[:0]), "X has no rows"),
        ((lazy, da.zeros(100, chunks=40)), "at least 2 classes"),
        ((lazy, labels, da.full(100, -1.0)), "negative"),
        ((frame, labels), r"y has \d+ rows in a chunk where X has 3"),
        ((frame, labels.rechunk(50)), "y has 2 chunks, but X has 3"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(*arguments)
        assert not hasattr(model, "coef_")
    for arguments, message in (
        ((frame, y), "y must be a dask collection"),
        ((lazy, dask.delayed(y)), "y must be a dask array or data frame"),
        ((dask.delayed(X), labels), "X must be a dask array or data frame"),
        ((dask.bag.from_sequence([1]), labels), "X must be a dask array or data frame"),
    ):
        with pytest.raises(TypeError, match=message):
            model.fit(*arguments)
    with pytest.raises(ValueError, match="shrinkage='cv' cross-validates"):
        GaussianLinearDiscriminant(shrinkage="cv").fit(lazy, labels)
    model.fit(lazy, labels)
    with pytest.raises(ValueError, match="X has 3 features, but"):
        model.predict(lazy[:, :3])
    for arguments, message in (
        ((lazy[:0], labels[:0]), "no rows"),
        ((lazy, da.arange(100, chunks=40)), "y has labels of type int64, but those"),
        ((lazy, labels, -np.ones(100)), "negative"),
        ((lazy, np.where(y == "fig", None, y)), "missing labels"),
    ):
        with pytest.raises(ValueError, match=message):
            model.score(*arguments)


@pytest.mark.parametrize("kind", ["arrays", "frames"])
def test_partial_fit_adds_lazy_chunks_in_any_order(kind, rng):
    X, y = data(600)
    weight = rng.integers(0, 4, len(X)).astype(float)
    whole = GaussianLinearDiscriminant().fit(X, y, weight)
    classes = whole.classes_
    pieces = [slice(0, 250), slice(250, 300), slice(300, 600)]
    for order in (pieces, pieces[::-1]):
        model = GaussianLinearDiscriminant()
        for rows in order:
            *chunk, w = collections(X[rows], y[rows], weight[rows])[kind]
            model.partial_fit(*chunk, classes=classes, sample_weight=w)
        assert_same_model(model, whole)
    # ... and lazy chunks after those in memory, which may lack classes.
    few = np.isin(y, ["apple", "fig"])
    mixed = GaussianLinearDiscriminant().partial_fit(X[few], y[few], classes=classes)
    with pytest.raises(NotFittedError, match=r"\['kiwi', 'pear'\] still have"):
        mixed.predict(da.from_array(X, 50))
    mixed.partial_fit(da.from_array(X[~few], 100), da.from_array(y[~few], 70))
    assert_same_model(mixed, GaussianLinearDiscriminant(guard=False).fit(X, y))


def test_a_lazy_chunk_that_is_refused_changes_nothing():
    X, y = data(200)
    lazy, labels = da.from_array(X, chunks=(80, 4)), da.from_array(y, chunks=80)
    classes = np.unique(y)
    frame = dd.from_pandas(pd.DataFrame(X, columns=NAMES), npartitions=2)
    column = dd.from_pandas(pd.Series(y), npartitions=2)
    bad = [
        (lazy, np.full(200, "kale"), r"labels \['kale'\] that are not"),
        (da.where(lazy > lazy[150, 2], np.nan, lazy), labels, "contains NaN"),
        (lazy * 1e200, labels, "squares overflow"),
        (frame.assign(b="text"), column, "column 'b' must be numbers"),
    ]
    model = GaussianLinearDiscriminant()
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(lazy, labels)
    for *chunk, message in bad:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(*chunk, classes=classes)
        assert vars(model) == vars(GaussianLinearDiscriminant())
    model.partial_fit(frame, column, classes=classes)
    before = pickle.dumps(model)
    bad += [
        (frame[list("abc")], column, "feature names should match"),
        (frame[list("bacd")], column, "same order"),
        (lazy.rechunk((80, 2))[:, :3], labels, "X has 3 features"),
    ]
    for *chunk, message in bad:
        with (
            warnings.catch_warnings(action="ignore", category=UserWarning),
            pytest.raises(ValueError, match=message),
        ):
            model.partial_fit(*chunk)
    with pytest.raises(ValueError, match="differs from the classes of the first call"):
        model.partial_fit(frame, column, classes=["fig", "kale"])
    assert pickle.dumps(model) == before


def test_frames_from_files_keep_their_partitions(tmp_path):
    """Dask joins partitions of files of which few columns are read."""
    X, y = data(600)
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y, more=1.0, w=2.0)
    for k in range(12):
        frame[50 * k : 50 * k + 50].to_parquet(tmp_path / f"{k:02}.parquet")
    lazy = dd.read_parquet(tmp_path)
    whole = GaussianLinearDiscriminant().fit(frame[["c"]], y, frame["w"])
    model = GaussianLinearDiscriminant().fit(lazy[["c"]], lazy["y"], lazy["w"])
    assert_same_model(model, whole)
    assert model.predict(lazy[["c"]]).numblocks == (lazy.npartitions,)
    assert_array_equal(model.predict(lazy[["c"]]), whole.predict(frame[["c"]]))
    assert model.score(lazy[["c"]], lazy["y"]) == whole.score(frame[["c"]], y)
    joined = lazy.merge(dd.from_pandas(frame[:300][["a", "b"]], npartitions=2), on="a")
    assert statistics(joined[["c", "d"]], joined["y"]).weights.sum() == 300


@pytest.mark.parametrize(
    "kind",
    ["Int64", "Float64", "boolean", "bool", "category", object, "double[pyarrow]"],
)
def test_numbers_of_any_type_in_frames(kind, rng):
    X = np.column_stack([rng.integers(0, 2, 90), rng.normal(size=90)])
    y = np.arange(90) % 3
    plain = pd.DataFrame(X, columns=["a", "b"])
    frame = plain.assign(a=plain["a"].astype(kind), y=pd.array(y, dtype="Int64"))
    lazy = dd.from_pandas(frame, npartitions=4)
    model = GaussianLinearDiscriminant().fit(lazy[["a", "b"]], lazy["y"])
    assert_same_model(model, GaussianLinearDiscriminant().fit(plain, y))
    answer = model.predict(lazy[["a", "b"]]).compute()
    assert_array_equal(answer, model.predict(plain))


def test_columns_that_are_not_numbers_and_missing_labels_are_named():
    X, y = data(90)
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y)
    holes = pd.array([1, None] * 45, dtype="Int64")
    none = np.where(y == "fig", None, y)
    for changed, message in (
        ({"b": pd.date_range("2020", periods=90)}, "'b' must be .* is of type date"),
        ({"b": pd.Categorical(y)}, "'b' must be numbers, but is of type category"),
        ({"b": X[:, 0] + 1j}, "'b' must be numbers, but is of type complex"),
        ({"b": holes}, "X: column 'b' contains missing values"),
        ({"b": np.where(X[:, 0] > X[3, 0], np.inf, 1)}, "'b' contains infinity"),
        ({"y": none}, r"y has missing labels \(\d+ of "),
        ({"y": pd.Categorical(none)}, r"y has missing labels \(\d+ of "),
        ({"y": holes}, r"y has missing labels \(\d+ of "),
    ):
        lazy = dd.from_pandas(frame.assign(**changed), npartitions=2)
        with pytest.raises(ValueError, match=message):
            GaussianLinearDiscriminant().fit(lazy[NAMES], lazy["y"])
