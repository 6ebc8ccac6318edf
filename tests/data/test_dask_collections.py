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


def data(n=1200, d=4, k=4):
    X, y = gaussian_classes(Shape(n, d, k))
    return 50 + 3 * X, np.array(["kiwi", "apple", "pear", "fig", "plum"])[y]


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


def test_arrays_frames_and_memory_give_one_model(scheduler):
    X, y = data()
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, w=weight)
    lazy = dd.from_pandas(frame, npartitions=5)
    kept = lazy[lazy.a > -1e9]  # chunk sizes unknown
    for sample_weight in (None, weight):
        whole = GaussianLinearDiscriminant().fit(X, y, sample_weight)
        w = None if sample_weight is None else da.from_array(weight, chunks=500)
        arrays = da.from_array(X, chunks=(170, 3)), da.from_array(y, chunks=400)
        frames = kept[list("abcd")], kept["y"]
        unknown = frames[0].to_dask_array(), frames[1]
        fw = None if w is None else kept["w"]
        assert_same_model(GaussianLinearDiscriminant().fit(*arrays, w), whole)
        named = GaussianLinearDiscriminant().fit(*frames, fw)
        assert_same_model(named, whole)
        assert named.feature_names_in_.tolist() == list("abcd")
        assert_same_model(GaussianLinearDiscriminant().fit(*unknown, fw), whole)


def test_more_features_than_rows_give_one_model(scheduler, rng):
    n, d = 60, 150
    X = 50 + rng.normal(size=(n, d)) * rng.uniform(0.1, 10, d)
    y = np.array(["kiwi", "apple", "pear"])[np.arange(n) % 3]
    X[:, :5] += 8 * (y[:, None] == "pear")
    weight = 1.0 + np.arange(n) % 3
    # Chunks of columns, too, as dask makes them of itself.
    rows = da.from_array(X, chunks=(17, 80))
    frame = pd.DataFrame(X, columns=[f"g{k}" for k in range(d)]).assign(y=y, w=weight)
    lazy = dd.from_pandas(frame, npartitions=3)
    names = list(frame.columns[:d])
    whole = GaussianLinearDiscriminant().fit(X, y, weight)
    for some in ((rows, y, weight), (lazy[names], lazy["y"], lazy["w"])):
        model = GaussianLinearDiscriminant().fit(*some)
        assert model.statistics_.factors is not None
        assert_same_model(model, whole)
        assert_array_equal(model.predict(some[0]).compute(), whole.predict(X))
    assert model.feature_names_in_.tolist() == names


@pytest.mark.parametrize(
    "Estimator", [GaussianLinearDiscriminant, LocalNeighborhoodSearch]
)
def test_lazy_input_gives_lazy_results(scheduler, Estimator):
    X, y = data(400)
    frame = pd.DataFrame(X, columns=list("abcd"))
    for classes in (2, 4):
        few = np.isin(y, np.unique(y)[:classes])
        rows, labels = X[few], y[few]
        model = Estimator().fit(frame[few], labels)
        arrays = Estimator().fit(rows, labels)
        lazy_frame = dd.from_pandas(frame[few], npartitions=3)
        lazy_rows = da.from_array(rows, chunks=(90, 3))
        for method in METHODS:
            expected = getattr(model, method)(frame[few])
            for answer in (
                getattr(model, method)(lazy_frame),
                getattr(arrays, method)(lazy_rows),
            ):
                assert isinstance(answer, da.Array)
                assert answer.dtype == expected.dtype
                assert answer.ndim == expected.ndim
                if expected.dtype.kind == "f":
                    assert_allclose(answer.compute(), expected)
                else:
                    assert_array_equal(answer.compute(), expected)
            assert getattr(arrays, method)(lazy_rows).shape == expected.shape
        sizes = tuple(len(part) for part in lazy_frame.partitions)
        score = model.score(lazy_frame, da.from_array(labels, chunks=(sizes,)))
        assert type(score) is float
        assert score == pytest.approx(model.score(frame[few], labels))
        weight = np.arange(len(rows)) % 3
        assert arrays.score(lazy_rows, labels, weight) == pytest.approx(
            arrays.score(rows, labels, weight)
        )


def test_rows_in_single_precision_give_lazy_results_in_it():
    X, y = data(200)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = GaussianLinearDiscriminant().fit(frame, y)
    for kind, expected in (("f4", "f4"), ("f2", "f8"), ({"a": "f4"}, "f8")):
        some = frame.astype(kind)
        lazy = dd.from_pandas(some, npartitions=3)
        for method in METHODS[1:]:
            answer = getattr(model, method)(lazy)
            assert answer.dtype == answer.compute().dtype == expected
            assert_array_equal(answer.compute(), getattr(model, method)(some))
    rows = da.from_array(X.astype("f4"), chunks=(90, 3))
    assert GaussianLinearDiscriminant().fit(X, y).predict_proba(rows).dtype == "f4"


def test_projections_of_lazy_rows_are_lazy(scheduler):
    X, y = data(400)
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, w=weight)
    lazy = dd.from_pandas(frame, npartitions=3)
    arrays = da.from_array(X, chunks=(90, 3)), da.from_array(y, chunks=70), weight
    frames = lazy[list("abcd")], lazy["y"], lazy["w"]
    fresh = HeteroscedasticProjection(2, method="chernoff")
    expected = clone(fresh).fit(X, y, weight)
    parts = clone(fresh).partial_fit(*(part[:90] for part in arrays))
    parts.partial_fit(*(part[90:] for part in arrays))
    for projection, rows in (
        (clone(fresh).fit(*arrays), arrays[0]),
        (clone(fresh).fit(*frames), frames[0]),
        (parts, arrays[0]),
    ):
        assert type(projection.scalings_) is np.ndarray
        assert_allclose(projection.scalings_, expected.scalings_, rtol=1e-7, atol=1e-9)
        found = projection.transform(rows)
        assert isinstance(found, da.Array)
        assert found.dtype == np.float64
        assert_allclose(found.compute(), expected.transform(X), rtol=1e-7, atol=1e-9)
    with pytest.raises(ValueError, match="X has 3 features, but"):
        parts.transform(arrays[0][:, :3])
    for labels, message in ((y[:0], "X has no rows"), (y[:1], "at least 2 classes")):
        with pytest.raises(ValueError, match=f"{message}.*: pass data of two classes"):
            clone(fresh).fit(arrays[0][: len(labels)], labels)


def test_chunks_of_one_class_of_no_rows_and_of_one():
    X, y = data(300)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    sizes = 0, 75, 1, 74, 0, 0, 140, 10
    lazy = da.from_array(X, chunks=(sizes, 4)), da.from_array(y, chunks=(sizes,))
    whole = GaussianLinearDiscriminant().fit(X, y)
    model = GaussianLinearDiscriminant().fit(*lazy)
    assert_same_model(model, whole)
    assert_array_equal(model.predict(lazy[0]).compute(), whole.predict(X))


@pytest.mark.parametrize(
    "labels",
    [[0, 5], [True, False], ["a", "b"], np.array(["a", "bb"], object), [1.0, 2.0]],
)
def test_labels_of_any_type(labels, rng):
    y = np.asarray(labels)[rng.integers(0, 2, 90)]
    X = rng.normal(size=(90, 2))
    model = GaussianLinearDiscriminant().fit(
        da.from_array(X, chunks=(40, 2)), da.from_array(y, chunks=(40,))
    )
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
    for arguments, message in (
        ((lazy, labels[:50]), "y must have one entry for each of the 100 rows"),
        ((lazy, labels, labels[:9]), "sample_weight must have one entry"),
        ((lazy[:, 0], labels), "X must have two dimensions"),
        ((lazy, lazy), "y must have one dimension"),
        ((da.where(lazy > 50, np.nan, lazy), labels), "contains NaN"),
        ((lazy[:0], labels[:0]), "X has no rows"),
        ((lazy, da.zeros(100, chunks=40)), "at least 2 classes"),
        ((lazy, labels, da.full(100, -1.0)), "negative"),
        ((frame, labels), r"y has \d+ rows in a chunk where X has 3"),
        ((frame, labels.rechunk(50)), "y has 2 chunks, but X has 3"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(*arguments)
        assert not hasattr(model, "coef_")
    with pytest.raises(TypeError, match="y must be a dask collection"):
        model.fit(frame, y)
    with pytest.raises(TypeError, match="y must be a dask array or data frame"):
        model.fit(lazy, dask.delayed(y))
    for wrong in (dask.delayed(X), dask.bag.from_sequence([1, 2])):
        with pytest.raises(TypeError, match="X must be a dask array or data frame"):
            model.fit(wrong, labels)
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
def test_partial_fit_adds_lazy_chunks_in_any_order(scheduler, kind, rng):
    X, y = data(600)
    weight = rng.integers(0, 4, len(X)).astype(float)
    whole = GaussianLinearDiscriminant().fit(X, y, weight)
    classes = whole.classes_
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, w=weight)
    pieces = [slice(0, 250), slice(250, 300), slice(300, 600)]
    for order in (pieces, pieces[::-1]):
        model = GaussianLinearDiscriminant()
        for rows in order:
            if kind == "arrays":
                size = len(X[rows]) // 3
                chunk = [da.from_array(part[rows], size) for part in (X, y, weight)]
            else:
                lazy = dd.from_pandas(frame[rows], npartitions=3)
                chunk = [lazy[list("abcd")], lazy["y"], lazy["w"]]
            model.partial_fit(*chunk[:2], classes=classes, sample_weight=chunk[2])
        assert_same_model(model, whole)
    if kind == "frames":
        assert model.feature_names_in_.tolist() == list("abcd")
    # ... and lazy chunks after those in memory.
    mixed = GaussianLinearDiscriminant().partial_fit(X[:90], y[:90], classes=classes)
    mixed.partial_fit(da.from_array(X[90:], 100), da.from_array(y[90:], 70))
    assert_same_model(mixed, GaussianLinearDiscriminant().fit(X, y))


def test_a_lazy_chunk_that_is_refused_changes_nothing():
    X, y = data(200)
    lazy, labels = da.from_array(X, chunks=(80, 4)), da.from_array(y, chunks=80)
    classes = np.unique(y)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=2)
    column = dd.from_pandas(pd.Series(y), npartitions=2)
    broken = da.where(lazy > lazy[150, 2], np.nan, lazy)
    bad = [
        (lazy, np.full(200, "kale"), None, r"labels \['kale'\] that are not"),
        (broken, labels, None, "contains NaN"),
        (lazy[:, 0], labels, None, "X must have two dimensions"),
        (lazy, labels, da.full(200, -1.0, chunks=80), "negative"),
        (lazy * 1e200, labels, None, "squares overflow"),
        (frame.assign(b="text"), column, None, "column 'b' must be numbers"),
    ]
    model = GaussianLinearDiscriminant()
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(lazy, labels)
    for chunk, of_chunk, weight, message in bad:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(chunk, of_chunk, classes=classes, sample_weight=weight)
        assert vars(model) == vars(GaussianLinearDiscriminant())
    model.partial_fit(frame, column, classes=classes)
    before = pickle.dumps(model)
    bad += [
        (frame[list("abc")], column, None, "feature names should match"),
        (frame[list("bacd")], column, None, "same order"),
        (lazy.rechunk((80, 2))[:, :3], labels, None, "X has 3 features"),
    ]
    for chunk, of_chunk, weight, message in bad:
        with (
            warnings.catch_warnings(action="ignore", category=UserWarning),
            pytest.raises(ValueError, match=message),
        ):
            model.partial_fit(chunk, of_chunk, sample_weight=weight)
    with pytest.raises(ValueError, match="differs from the classes of the first call"):
        model.partial_fit(frame, column, classes=["fig", "kale"])
    assert pickle.dumps(model) == before


def test_lazy_chunks_may_lack_classes_at_first():
    X, y = data(300)
    few = np.isin(y, ["apple", "fig"])
    model = GaussianLinearDiscriminant()
    model.partial_fit(da.from_array(X[few], 50), y[few], classes=np.unique(y))
    assert model.n_features_in_ == 4
    with pytest.raises(NotFittedError, match=r"\['kiwi', 'pear'\] still have"):
        model.predict(da.from_array(X, 50))
    model.partial_fit(da.from_array(X[~few], 50), y[~few])
    assert_same_model(model, GaussianLinearDiscriminant(guard=False).fit(X, y))


def test_frames_from_files_keep_their_partitions(tmp_path):
    """Dask joins partitions of files of which few columns are read."""
    X, y = data(600)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, more=1.0, w=2.0)
    for k in range(12):
        frame[50 * k : 50 * k + 50].to_parquet(tmp_path / f"{k:02}.parquet")
    lazy = dd.read_parquet(tmp_path)
    whole = GaussianLinearDiscriminant().fit(frame[["c"]], y, frame["w"])
    model = GaussianLinearDiscriminant().fit(lazy[["c"]], lazy["y"], lazy["w"])
    assert_same_model(model, whole)
    assert model.predict(lazy[["c"]]).numblocks == (lazy.npartitions,)
    assert_array_equal(model.predict(lazy[["c"]]), whole.predict(frame[["c"]]))
    assert model.score(lazy[["c"]], lazy["y"]) == whole.score(frame[["c"]], y)
    kept = lazy[lazy.a > 50]
    some = frame[frame.a > 50]
    assert_same_model(
        GaussianLinearDiscriminant().fit(kept[list("abcd")], kept["y"]),
        GaussianLinearDiscriminant().fit(some[list("abcd")], some["y"]),
    )
    joined = lazy.merge(dd.from_pandas(frame[:300][["a", "b"]], npartitions=2), on="a")
    assert statistics(joined[["c", "d"]], joined["y"]).weights.sum() == 300


TYPES = ["Int64", "Float64", "boolean", "bool", "category", object, "double[pyarrow]"]


@pytest.mark.parametrize("kind", TYPES)
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


def test_columns_that_are_no_numbers_are_named():
    X, y = data(90)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    holes = pd.array([1, None] * 45, dtype="Int64")
    for values, message in (
        (pd.date_range("2020", periods=90), "'b' must be numbers, but is of type date"),
        (pd.Categorical(y), "'b' must be numbers, but is of type category"),
        (X[:, 0] + 1j, "'b' must be numbers, but is of type complex"),
        (holes, "'b' contains missing values"),
        (
            np.where(X[:, 0] > X[3, 0], np.inf, 1.0),
            "'b' contains infinity",
        ),
    ):
        lazy = dd.from_pandas(frame.assign(b=values), npartitions=2)
        with pytest.raises(ValueError, match=f"X: column {message}"):
            GaussianLinearDiscriminant().fit(lazy[list("abcd")], lazy["y"])
    for labels in (
        np.where(y == "fig", None, y),
        pd.Categorical(np.where(y == "fig", None, y)),
        holes,
    ):
        lazy = dd.from_pandas(frame.assign(y=labels), npartitions=2)
        with pytest.raises(ValueError, match=r"y has missing labels \(\d+ of "):
            GaussianLinearDiscriminant().fit(lazy[list("abcd")], lazy["y"])
    masked = da.ma.masked_greater(da.from_array(X, 30), X[3, 0])
    with pytest.raises(ValueError, match="contains NaN"):
        GaussianLinearDiscriminant().fit(masked, y)


def test_persisted_collections_single_rows_and_columns_of_one(scheduler):
    X, y = data(60)
    whole = GaussianLinearDiscriminant().fit(X, y)
    lazy = da.from_array(X, chunks=(1, 2)), da.from_array(y[:, None], chunks=(1, 1))
    assert_same_model(GaussianLinearDiscriminant().fit(*lazy), whole)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=pd.Categorical(y))
    kept = dd.from_pandas(frame, npartitions=7).persist()
    model = GaussianLinearDiscriminant().fit(kept[list("abcd")], kept[["y"]], 3)
    thrice = GaussianLinearDiscriminant().fit(X, y, np.full(60, 3))
    assert_same_model(model, thrice)
    score = model.score(kept[list("abcd")], kept["y"], 2)
    assert score == pytest.approx(thrice.score(X, y))
