"""The same model from dask collections as from arrays, on threads and on processes."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from benchmarks.shapes import Shape, gaussian_classes
from heterolda import (
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
)
from heterolda.data.dask import statistics_and_sample

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")
NAMES = list("abcd")


def data(n=1200, d=4, k=4):
    X, y = gaussian_classes(Shape(n, d, k))
    return 50 + 3 * X, np.array(["kiwi", "apple", "pear", "fig"])[y]


def collections(X, y, weight):
    """The same rows as arrays and frames, also in empty chunks and of unknown sizes."""
    names = [*NAMES, *(f"g{k}" for k in range(X.shape[1]))][: X.shape[1]]
    frame = pd.DataFrame(X, columns=names).assign(y=y, w=weight)
    lazy = dd.from_pandas(frame, npartitions=5)
    lazy = lazy[lazy[names[0]] > -1e9]
    frames = lazy[names], lazy["y"], lazy["w"]
    part = len(X) // 3
    rows = da.from_array(X, chunks=((0, part, 0, 1, len(X) - part - 1, 0), 3))
    return {
        "arrays": (rows, da.from_array(y, chunks=400), da.from_array(weight, 500)),
        "memory": (rows, y, weight),
        "frames": frames,
        "unknown": (frames[0].to_dask_array(), *frames[1:]),
    }


def assert_same_model(model, expected):
    for name in ("weights", "means", "scatters"):
        actual, desired = (getattr(m.statistics_, name) for m in (model, expected))
        assert type(actual) is np.ndarray
        assert_allclose(actual, desired, rtol=1e-10, atol=1e-10 * desired.max())
    assert_array_equal(model.classes_, expected.classes_)
    for name in ("coef_", "intercept_", "model_error_"):
        assert type(getattr(model, name)) is np.ndarray
        actual, desired = getattr(model, name), getattr(expected, name)
        assert_allclose(actual, desired, rtol=1e-7, atol=1e-8 * abs(desired).max())


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        *(("arrays", (1200, 4)), ("unknown", (1200, 4)), ("frames", (1200, 4))),
        ("memory", (60, 150)),
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


@pytest.mark.parametrize("n_classes", [2, 4])
def test_lazy_input_gives_lazy_results(scheduler, n_classes):
    X, y = data(400, k=n_classes)
    weight = np.arange(len(X)) % 3
    single = pd.DataFrame(X, columns=NAMES).astype("f4")
    rows, labels, weights = collections(X, y, weight)["arrays"]
    model = GaussianLinearDiscriminant().fit(X, y)
    named = LocalNeighborhoodSearch().fit(single, y)
    for fitted, in_memory, lazy in (
        (named, single, dd.from_pandas(single, npartitions=3)),
        (model, X, rows),
    ):
        for method in METHODS:
            expected = getattr(fitted, method)(in_memory)
            answer = getattr(fitted, method)(lazy)
            assert isinstance(answer, da.Array)
            assert (answer.dtype, answer.ndim) == (expected.dtype, expected.ndim)
            if expected.dtype.kind == "f":
                assert_allclose(answer.compute(), expected, rtol=1e-5)
            else:
                assert_array_equal(answer.compute(), expected)
    score = model.score(rows, labels, weights)
    assert type(score) is float
    assert score == pytest.approx(model.score(X, y, weight))
    assert model.score(rows, y) == pytest.approx(model.score(X, y))


def test_bad_input_is_rejected():
    X, y = data(100)
    lazy, labels = da.from_array(X, chunks=(40, 4)), da.from_array(y, chunks=40)
    plain = pd.DataFrame(X, columns=NAMES)
    frame = dd.from_pandas(plain, npartitions=3)
    column = dd.from_pandas(pd.Series(y), npartitions=3)
    dates = plain.assign(b=pd.date_range("2020", periods=100))
    holes = plain.assign(b=pd.array([1, None] * 50, dtype="Int64"))
    model = GaussianLinearDiscriminant()
    for arguments, error, message in (
        ((lazy, labels[:50]), ValueError, "y must have one entry for each of the 100"),
        ((lazy, labels, labels[:9]), ValueError, "sample_weight must have one entry"),
        ((lazy[:, 0], labels), ValueError, "X must have two dimensions"),
        ((lazy, lazy), ValueError, "y must have one dimension"),
        ((da.where(lazy > 50, np.nan, lazy), labels), ValueError, "contains NaN"),
        ((da.ma.masked_greater(lazy, X[3, 0]), labels), ValueError, "masked"),
        ((lazy[:0], labels[:0]), ValueError, "X has no rows"),
        ((lazy, np.where(y == "fig", None, y)), ValueError, "missing labels"),
        ((frame, labels), ValueError, r"y has \d+ rows in a chunk where X has 3"),
        ((frame, labels.rechunk(50)), ValueError, "y has 2 chunks, but X has 3"),
        ((dd.from_pandas(dates, npartitions=3), column), ValueError, "'b' .*type date"),
        ((dd.from_pandas(holes, npartitions=3), column), ValueError, "'b' contains"),
        ((frame, y), TypeError, "y must be a dask array or data"),
        ((dask.delayed(X), labels), TypeError, "X must be a dask array or data frame"),
    ):
        with pytest.raises(error, match=message):
            model.fit(*arguments)
        assert not hasattr(model, "coef_")
    with pytest.raises(ValueError, match="shrinkage='cv' cross-validates"):
        GaussianLinearDiscriminant(shrinkage="cv").fit(lazy, labels)
    model.fit(lazy, labels)
    with pytest.raises(ValueError, match="X has 3 features, but"):
        model.predict(lazy[:, :3])
    with pytest.raises(ValueError, match="y has labels of type int64, but those"):
        model.score(lazy, da.arange(100, chunks=40))


def test_projections_and_partial_fits(rng):
    X, y = data(600)
    weight = rng.integers(0, 4, len(X)).astype(float)
    model = GaussianLinearDiscriminant(choose_on="model")
    whole = clone(model).fit(X, y, weight)
    for rows in (slice(0, 250), slice(250, 300), slice(300, 600)):
        *chunk, w = collections(X[rows], y[rows], weight[rows])["frames"]
        model.partial_fit(*chunk, classes=whole.classes_, sample_weight=w)
    assert_same_model(model, whole)
    expected = HeteroscedasticProjection(2).fit(X, y, weight)
    lazy = collections(X, y, weight)["frames"]
    answer = HeteroscedasticProjection(2).fit(*lazy).transform(lazy[0])
    assert isinstance(answer, da.Array)
    # A search ends where its tolerance says.
    assert_allclose(answer.compute(), expected.transform(X), rtol=1e-7, atol=1e-7)


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
    stats, _ = statistics_and_sample(joined[["c", "d"]], joined["y"])
    assert stats.weights.sum() == 300
