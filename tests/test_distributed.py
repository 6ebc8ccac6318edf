"""The same model from dask collections as from arrays, on threads and on processes."""

import os
import signal
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.distributed import Client, LocalCluster
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.shapes import Shape, gaussian_classes
from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
)
from heterolda.distributed import statistics

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes, each with a nanny."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit="2GiB",
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(params=["threads", "processes"])
def scheduler(request):
    """Where tasks run: the client of the cluster is active while it lives."""
    if request.param == "processes":
        yield request.getfixturevalue("cluster")
    else:
        with dask.config.set(scheduler="threads"):
            yield None


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


def test_categories_and_text_of_data_frames(rng):
    frame = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    frame["text"] = rng.choice(["x", "y"], 80)
    frame["category"] = frame["text"].astype("category")
    lazy = dd.from_pandas(frame, npartitions=3)
    for name in ("text", "category"):
        model = GaussianLinearDiscriminant().fit(lazy[["a", "b"]], lazy[name])
        assert model.classes_.tolist() == ["x", "y"]


def test_the_order_of_chunks_does_not_matter(rng):
    X, y = data(500)
    X = X + 1e6
    chunks = [(X[k : k + 50], y[k : k + 50]) for k in range(0, 500, 50)]
    rng.shuffle(chunks)
    lazy = [
        da.concatenate([da.from_array(part, chunks=-1) for part in parts])
        for parts in zip(*chunks, strict=True)
    ]
    mine, whole = statistics(*lazy), ClassStatistics.from_data(X, y)
    assert_allclose(mine.scatters, whole.scatters, rtol=1e-10, atol=1e-6)
    assert_allclose(mine.means, whole.means, rtol=1e-12)


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
        ((frame, labels.rechunk(50)), "y has 2 chunks where X has 3"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(*arguments)
        assert not hasattr(model, "coef_")
    with pytest.raises(TypeError, match="y must be a dask collection"):
        model.fit(frame, y)
    with pytest.raises(ValueError, match="shrinkage='cv' leaves rows out"):
        GaussianLinearDiscriminant(shrinkage="cv").fit(lazy, labels)
    model.fit(lazy, labels)
    with pytest.raises(ValueError, match="X has 3 features, but"):
        model.predict(lazy[:, :3])
    with pytest.raises(ValueError, match="no rows"):
        model.score(lazy[:0], labels[:0])
