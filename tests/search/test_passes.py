"""The search of rows that are not in memory makes the steps of that in memory."""

import math
import os
import signal
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from benchmarks.shapes import Shape, gaussian_classes
from helpers.problems import random_problem, random_settings, wide_rows
from heterolda import (
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
    MissingRowsWarning,
    SearchInterruptedWarning,
    recommended,
)
from heterolda.data import fit_batches
from heterolda.data.dask.collections import DaskRows
from heterolda.data.out_of_core import _Pool
from heterolda.search.algorithm2 import PairRows, grid_weights, paper_search
from heterolda.search.passes import Walk, evaluate_rule


def skewed(n=1500, d=4, k=4):
    """Classes that are not normal, so that there is something to search for."""
    X, y = gaussian_classes(Shape(n, d, k))
    X = X + np.random.default_rng(1).exponential(size=X.shape)
    return 5 + X, np.array(["kiwi", "apple", "pear", "fig"])[y]


def assert_same_search(search, expected):
    assert_array_equal(search.classes_, expected.classes_)
    assert len(search.history_) == len(expected.history_)
    for mine, other in zip(search.history_, expected.history_, strict=True):
        assert_array_equal(mine, other)
    for name in ("coef_", "intercept_", "n_errors_", "n_errors_start_", "n_iter_"):
        mine, other = getattr(search, name), getattr(expected, name)
        assert type(mine) is np.ndarray
        assert mine.dtype == other.dtype
        assert_array_equal(mine, other)


@pytest.mark.parametrize("seed", range(60))
def test_passes_make_the_steps_of_the_search_in_memory(seed):
    """Any chunks and room: with few rows kept, each pass is good for one step."""
    rng = np.random.default_rng(seed)
    X, first, weight, v = random_problem(rng)
    settings = random_settings(rng)
    expected = paper_search(X, first, weight, v, **settings)
    units, unit = (np.empty(0, np.int64), 1.0)
    if weight is not None:
        units, unit = grid_weights(weight)
    rows = PairRows(np.ascontiguousarray(X), first, units, unit)
    cuts = np.sort(rng.integers(0, len(X) + 1, 3))
    chunks = [rows.take(part) for part in np.split(np.arange(len(X)), cuts)]
    room = int(rng.choice([1, 20, len(X) // 2 + 1, len(X)]))
    in_memory = rng.random() < 0.5

    walk = Walk(v, **settings)
    n_passes = 0
    while not walk.ended:
        n_passes += 1
        pool = _Pool(room)
        for chunk in chunks:
            pool.add(evaluate_rule(chunk, walk.v, walk.step, room, pool.horizon))
        total = pool.total()
        assert len(total.near.sizes) <= room
        walk.apply_pass(total.errors, total.changes, total.near.horizon)
        if in_memory:
            walk.move_in_memory(total.near, lambda *_: None)
        while walk.n_safe():
            walk.move(total.near.within(walk.reach).changes(walk.v, walk.step))
    result = walk.result(unit)
    assert_array_equal(result.history, expected.history)
    assert_array_equal(result.path, expected.path)
    assert result.errors == expected.errors
    assert result.errors_start == expected.errors_start
    if room == len(X):
        assert n_passes == 1


def test_far_rows_are_left_alone_between_passes(rng):
    """With half of the rows in memory there are far fewer passes than iterations."""
    X = rng.normal(size=(4000, 3)) + rng.exponential(size=(4000, 3))
    first = X[:, 0] + rng.normal(size=4000) > 1
    rows = PairRows(X, first, np.empty(0, np.int64), 1.0)
    walk = Walk(np.array([1.0, 1.0, 0.3, -0.2]), 0.1, 200, 200)
    n_passes = 0
    while not walk.ended:
        n_passes += 1
        found = evaluate_rule(rows, walk.v, walk.step, 2000)
        assert math.isfinite(found.near.horizon)
        walk.apply_pass(found.errors, found.changes, found.near.horizon)
        walk.move_in_memory(found.near, lambda *_: None)
    assert n_passes < len(walk.result(1.0).history) / 3


# Files


def parquet_folder(folder, X, y, weight=None):
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(kind=y)
    if weight is not None:
        frame["weight"] = weight
    for k in range(3):
        frame[k::3].to_parquet(folder / f"part-{k}.parquet")
    return frame


def test_files_of_fewer_rows_than_features(tmp_path, rng):
    X, y = wide_rows(rng)
    frame = pd.DataFrame(X).add_prefix("x").assign(kind=y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    start = GaussianLinearDiscriminant(shrinkage=(1, 1))
    search = LocalNeighborhoodSearch(start, max_iter=5)
    fit_batches(search, tmp_path / "rows.csv", "kind")
    whole = LocalNeighborhoodSearch(start, max_iter=5).fit(X, y)
    assert_array_equal(search.n_errors_, whole.n_errors_)
    ours, theirs = (model._committee.planes for model in (search, whole))
    assert_allclose(ours.deviations, theirs.deviations, rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("memory", [1, 40_000, 2**29])
@pytest.mark.parametrize("weighted", [False, True])
def test_files_give_the_search_of_memory(tmp_path, n_classes, memory, weighted, rng):
    X, y = skewed(k=n_classes)
    weight = rng.integers(0, 3, len(X)) if weighted else None
    costs = {"kiwi": 2.0} if weighted else None
    frame = parquet_folder(tmp_path, X, y, weight)
    start = GaussianLinearDiscriminant().fit(frame[["x0", "x1", "x2", "x3"]], y)
    search = LocalNeighborhoodSearch(
        FrozenEstimator(start), max_iter=60, class_weight=costs
    )
    column = "weight" if weighted else None
    fitted = fit_batches(
        search, tmp_path, "kind", sample_weight=column, batch_size=300, memory=memory
    )
    assert fitted is search
    names = list(search.feature_names_in_)
    assert names == ["x0", "x1", "x2", "x3"]
    whole = LocalNeighborhoodSearch(**search.get_params(deep=False))
    whole.fit(frame[names], y, weight)
    assert_same_search(search, whole)
    assert_array_equal(search.predict(frame[names]), whole.predict(frame[names]))
    assert_allclose(
        search.predict_proba(frame[names]), whole.predict_proba(frame[names])
    )


def test_the_start_is_fitted_to_the_statistics_of_the_files(tmp_path):
    X, y = skewed()
    frame = parquet_folder(tmp_path, X, y)
    for estimator in (None, GaussianLinearDiscriminant(priors=[0.4, 0.3, 0.2, 0.1])):
        search = LocalNeighborhoodSearch(estimator, class_weight="balanced", max_iter=9)
        fit_batches(search, tmp_path, "kind")
        whole = LocalNeighborhoodSearch(**search.get_params(deep=False)).fit(X, y)
        assert_allclose(search.coef_, whole.coef_)
        assert_allclose(search.estimator_.priors_, whole.estimator_.priors_)
        assert_allclose(
            search.predict_proba(frame.drop(columns="kind")), whole.predict_proba(X)
        )


def test_text_files_missing_rows_and_numbers_as_labels(tmp_path):
    X, y = skewed(400)
    codes = np.searchsorted(np.unique(y), y)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=codes)
    frame.loc[7, "b"] = np.nan
    frame.to_csv(tmp_path / "data.csv", index=False)
    search = LocalNeighborhoodSearch(max_iter=20)
    with pytest.warns(MissingRowsWarning, match="1 of 400 rows"):
        fit_batches(search, tmp_path / "data.csv", "kind", missing="drop")
    assert search.classes_.tolist() == [0, 1, 2, 3]
    good = frame.dropna()
    whole = LocalNeighborhoodSearch(max_iter=20).fit(good[list("abcd")], good["kind"])
    assert_allclose(search.coef_, whole.coef_)


def test_a_discriminant_or_a_projection_needs_one_pass():
    X, y = skewed(300)
    table = pa.Table.from_pandas(pd.DataFrame(X, columns=list("abcd")).assign(y=y))
    model = fit_batches(GaussianLinearDiscriminant(), table.to_reader(), "y")
    whole = GaussianLinearDiscriminant().fit(X, y)
    assert_allclose(model.coef_, whole.coef_)
    projection = HeteroscedasticProjection(2, method="chernoff")
    fit_batches(projection, table.to_reader(), "y")
    rows = pd.DataFrame(X, columns=list("abcd"))
    expected = HeteroscedasticProjection(2, method="chernoff").fit(rows, y)
    assert_allclose(projection.transform(rows), expected.transform(rows), atol=1e-9)


def test_what_cannot_be_searched_in_files_is_refused():
    X, y = skewed(300)
    table = pa.Table.from_pandas(pd.DataFrame(X, columns=list("abcd")).assign(y=y))
    search = LocalNeighborhoodSearch()
    for arguments, error, message in (
        ((search, table.to_reader(), "y"), TypeError, "can be read only once"),
        ((search, iter(table.to_batches()), "y"), TypeError, "only once"),
        ((LogisticRegression(), table, "y"), TypeError, "estimator must be a Gaussian"),
        ((LocalNeighborhoodSearch(strategy="exact"), table, "y"), ValueError, "exact"),
        ((recommended(), table, "y"), ValueError, "strategy='smooth' needs all rows"),
        (
            (LocalNeighborhoodSearch(early_stopping=True), table, "y"),
            ValueError,
            "early_stopping needs all rows in memory",
        ),
        (
            (LocalNeighborhoodSearch(LogisticRegression()), table, "y"),
            TypeError,
            "LogisticRegression cannot be fitted to rows that are not in memory",
        ),
        ((LocalNeighborhoodSearch(max_iter=0), table, "y"), ValueError, "max_iter"),
    ):
        with pytest.raises(error, match=message):
            fit_batches(*arguments)
        assert not hasattr(arguments[0], "coef_")
    for settings in ({"memory": 0}, {"columns": "a"}, {"exclude": 5}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            fit_batches(search, table, "y", **settings)


class Fickle:
    """A table whose labels change once it has been read."""

    def __init__(self, table, later):
        self.tables = [table, later]

    def __arrow_c_stream__(self, requested_schema=None):
        table = self.tables.pop(0) if len(self.tables) > 1 else self.tables[0]
        return table.__arrow_c_stream__(requested_schema)


def test_labels_that_change_on_the_way_are_noticed(rng):
    table = pa.table({"x": rng.normal(size=40), "y": ["a", "b"] * 20})
    source = Fickle(table, table.set_column(1, "y", pa.array(["a", "c"] * 20)))
    with pytest.raises(ValueError, match="that are not classes of the model"):
        fit_batches(LocalNeighborhoodSearch(), source, "y")


class Impatient:
    """A table that is interrupted when it is read for the n-th time."""

    def __init__(self, table, n):
        self.table, self.n = table, n

    def __arrow_c_stream__(self, requested_schema=None):
        self.n -= 1
        if self.n == 0:
            raise KeyboardInterrupt
        return self.table.__arrow_c_stream__(requested_schema)


def test_an_interrupt_keeps_the_best_rules_so_far():
    X, y = skewed(600)
    table = pa.Table.from_pandas(pd.DataFrame(X, columns=list("abcd")).assign(y=y))
    search = LocalNeighborhoodSearch(patience=1000)
    with pytest.warns(SearchInterruptedWarning, match="interrupted after 0 of 6"):
        fit_batches(search, Impatient(table, 5), "y", memory=1)
    assert search.n_iter_.tolist() == [4] * 6
    assert np.all(search.n_errors_ <= search.n_errors_start_)
    with pytest.raises(KeyboardInterrupt):
        fit_batches(LocalNeighborhoodSearch(), Impatient(table, 2), "y", memory=1)


def test_progress_is_told(capsys):
    X, y = skewed(300, k=2)
    table = pa.Table.from_pandas(pd.DataFrame(X, columns=list("abcd")).assign(y=y))
    rows = []
    search = LocalNeighborhoodSearch(max_iter=5, verbose=2)
    fit_batches(search, table, "y", memory=1, progress=rows.append)
    assert rows[-1] == 300
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("'apple' and 'kiwi': iteration 2")
    assert lines[-1].startswith("[1/1] 'apple' and 'kiwi'")


# Dask


@pytest.mark.parametrize("weighted", [False, True])
def test_dask_gives_the_search_of_memory(scheduler, weighted, rng):
    X, y = skewed(900)
    weight = rng.integers(0, 3, len(X)) if weighted else None
    frame = pd.DataFrame(X, columns=list("abcd"))
    start = FrozenEstimator(GaussianLinearDiscriminant().fit(frame, y))
    settings = {"estimator": start, "max_iter": 8}
    if weighted:
        settings["class_weight"] = {"fig": 3.0}
    whole = LocalNeighborhoodSearch(**settings).fit(frame, y, weight)
    whole_frame = frame.assign(y=y, w=1 if weight is None else weight)
    lazy = dd.from_pandas(whole_frame, npartitions=4)
    search = LocalNeighborhoodSearch(**settings).fit(
        lazy[list("abcd")], lazy["y"], lazy["w"] if weighted else None
    )
    assert_same_search(search, whole)
    assert search.feature_names_in_.tolist() == list("abcd")
    sizes = 0, 300, 1, 599  # chunks of no row, and of one
    search = LocalNeighborhoodSearch(**settings).fit(
        da.from_array(X, chunks=(sizes, (3, 1))), y, weight
    )
    assert_same_search(search, whole)
    assert not hasattr(search, "feature_names_in_")


def test_chunks_with_no_row_of_a_class(scheduler):
    X, y = skewed(800)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    start = FrozenEstimator(GaussianLinearDiscriminant().fit(X, y))
    whole = LocalNeighborhoodSearch(start, max_iter=20).fit(X, y)
    lazy = da.from_array(X, chunks=(90, 4))
    search = LocalNeighborhoodSearch(start, max_iter=20).fit(lazy, y)
    assert_same_search(search, whole)
    assert_array_equal(search.predict(lazy).compute(), whole.predict(X))


def test_little_room_on_the_workers(monkeypatch):
    from heterolda.data.dask import collections as distributed

    monkeypatch.setattr(distributed, "_LEAST_ROOM", 1)
    monkeypatch.setattr(distributed, "_ROOM_SHARE", 0)
    X, y = skewed(500)
    start = FrozenEstimator(GaussianLinearDiscriminant().fit(X, y))
    whole = LocalNeighborhoodSearch(start, max_iter=20).fit(X, y)
    lazy = da.from_array(X, chunks=(120, 4))
    assert_same_search(LocalNeighborhoodSearch(start, max_iter=20).fit(lazy, y), whole)


def test_no_rows_travel(cluster, monkeypatch):
    """What comes back from the workers is counts and horizons."""
    answers = []
    gather = DaskRows._gather
    monkeypatch.setattr(
        DaskRows, "_gather", lambda *a: answers.append(gather(*a)) or answers[-1]
    )
    X, y = skewed(600)
    lazy = da.from_array(X, chunks=(200, 4)).persist()
    LocalNeighborhoodSearch(max_iter=10).fit(lazy, y)
    assert len(answers) == 10 - 1
    for answer in answers:
        assert len(answer) == 3  # chunks
        for pairs in answer:
            for value in pairs.values():
                counts = value[1] if isinstance(value, tuple) else value
                assert counts.shape == (10,)
                assert counts.dtype == np.int64


def slow_block(seed, delay):
    time.sleep(delay)
    return np.random.default_rng(seed).normal(size=(50, 3))


def slow_rows(delay):
    make = dask.delayed(slow_block, pure=False)
    return da.concatenate(
        [da.from_delayed(make(k, delay), (50, 3), dtype=float) for k in range(24)]
    )


def test_a_worker_that_dies_during_the_search_does_not_change_it(cluster):
    X = slow_rows(0.0).compute(scheduler="threads")
    y = (X[:, 0] + np.random.default_rng(0).normal(size=1200) > 0.5).astype(int)
    start = FrozenEstimator(GaussianLinearDiscriminant().fit(X, y))
    settings = {"estimator": start, "max_iter": 50, "patience": 50}
    whole = LocalNeighborhoodSearch(**settings).fit(X, y)
    victim = next(iter(cluster.run(os.getpid).values()))
    rows = DaskRows(slow_rows(0.02), y)
    killer = threading.Timer(0.8, os.kill, (victim, signal.SIGKILL))
    killer.start()
    search = LocalNeighborhoodSearch(**settings)._fit_in_passes(rows)
    killer.join()
    assert victim not in cluster.run(os.getpid).values()  # it did die
    assert_same_search(search, whole)


def test_what_cannot_be_searched_on_a_cluster_is_refused():
    X, y = skewed(200)
    lazy = da.from_array(X, chunks=(90, 4))
    for search, error, message in (
        (recommended(), ValueError, "strategy='smooth' needs all rows in memory"),
        (LocalNeighborhoodSearch(LogisticRegression()), TypeError, "Logistic"),
        (LocalNeighborhoodSearch(prefit=True), Exception, "not fitted"),
    ):
        with pytest.raises(error, match=message):
            search.fit(lazy, y)
        assert not hasattr(search, "coef_")
    with pytest.raises(ValueError, match="at least 2 classes"):
        LocalNeighborhoodSearch().fit(lazy, np.zeros(200))
    tiny = np.where(np.arange(200) == 3, 1e-20, 1.0)
    with pytest.raises(ValueError, match="too unequal to count errors"):
        LocalNeighborhoodSearch().fit(lazy, y, tiny)
