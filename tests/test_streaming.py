"""The same statistics from files, folders and streams of any kind as from one array."""

import gzip
import threading
import tracemalloc
from itertools import pairwise

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.shapes import Shape, gaussian_classes
from heterolda import ClassStatistics, GaussianLinearDiscriminant, MissingRowsWarning
from heterolda.streaming import ahead, statistics_from_batches

FEATURES = ["a", "b", "c"]


@pytest.fixture
def frame(rng):
    X, y = gaussian_classes(Shape(900, 3, 4))
    table = pd.DataFrame(X + 10, columns=FEATURES)
    table["kind"] = np.array(["north", "south", "east", "west"])[y]
    table["times"] = rng.integers(0, 4, len(table)).astype(float)
    return table


def direct(frame, columns=FEATURES, weight=None):
    labels = frame["kind"].to_numpy(dtype=str)
    weight = None if weight is None else frame[weight]
    return ClassStatistics.from_data(frame[columns].to_numpy(), labels, weight)


def assert_same(stats, expected):
    assert_array_equal(stats.classes, expected.classes)
    assert stats.classes.dtype.kind == expected.classes.dtype.kind
    for name in ("weights", "means", "scatters"):
        mine, other = getattr(stats, name), getattr(expected, name)
        assert_allclose(mine, other, rtol=1e-10, atol=1e-10 * np.abs(other).max())


def save_parts(frame, folder, kind):
    bounds = [0, 1, 300, 300, 650, len(frame)]  # one row, and none at all
    for k, (low, high) in enumerate(pairwise(bounds)):
        part = frame.iloc[low:high]
        path = folder / f"part-{k}.{kind}"
        if kind == "parquet":
            part.to_parquet(path, row_group_size=100, index=False)
        else:
            sep = "\t" if kind.startswith("tsv") else ","
            part.to_csv(path, sep=sep, index=False)


SOURCES = {
    "table": lambda f, _: pa.Table.from_pandas(f),
    "reader": lambda f, _: pa.Table.from_pandas(f).to_reader(max_chunksize=70),
    "batches": lambda f, _: pa.Table.from_pandas(f).to_batches(max_chunksize=70),
    "generator": lambda f, _: iter(pa.Table.from_pandas(f).to_batches(70)),
    "batch": lambda f, _: pa.RecordBatch.from_pandas(f),
    "dataset": lambda f, folder: ds.dataset(folder),
    "polars": lambda f, _: pl.from_pandas(f),
    "duckdb": lambda f, _: duckdb.sql("select * from f"),
    "pandas": lambda f, _: f,
    "folder": lambda f, folder: folder,
    "glob": lambda f, folder: str(folder / "part-?.parquet"),
    "list": lambda f, folder: sorted(folder.glob("*.parquet"), reverse=True),
}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("weight", [None, "times"])
def test_any_source_gives_the_statistics_of_the_array(frame, tmp_path, kind, weight):
    save_parts(frame, tmp_path, "parquet")
    source = SOURCES[kind](frame, tmp_path)
    stats = statistics_from_batches(
        source, "kind", columns=["c", "a"], sample_weight=weight, batch_size=64
    )
    assert_same(stats, direct(frame, ["c", "a"], weight))
    assert stats.feature_names.tolist() == ["c", "a"]


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "csv.gz"])
def test_files_give_the_statistics_of_the_array(frame, tmp_path, kind):
    save_parts(frame.drop(columns="times"), tmp_path, kind)
    stats = statistics_from_batches(tmp_path, "kind")
    assert_same(stats, direct(frame))
    model = GaussianLinearDiscriminant().fit_statistics(stats)
    whole = GaussianLinearDiscriminant().fit(frame[FEATURES], frame["kind"])
    assert_allclose(model.coef_, whole.coef_, rtol=1e-8)
    assert_array_equal(model.predict(frame[FEATURES]), whole.predict(frame[FEATURES]))


LABELS = {
    "integers": [3, -1, 20],
    "booleans": [True, False],
    "text": ["x", "a b", "é"],
    "whole floats": [1.0, 4.0],
    "categories": pd.Categorical(["z", "y"]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_type(kind, rng):
    labels = LABELS[kind]
    y = labels.take(rng.integers(0, 2, 60)) if kind == "categories" else None
    y = np.array(labels)[rng.integers(0, len(labels), 60)] if y is None else y
    frame = pd.DataFrame({"a": rng.normal(size=60), "y": y})
    stats = statistics_from_batches(pa.Table.from_pandas(frame), "y")
    expected = ClassStatistics.from_data(frame[["a"]], np.asarray(y))
    assert stats.classes.tolist() == expected.classes.tolist()
    assert stats.classes.dtype.kind == np.asarray(sorted(set(labels))).dtype.kind
    assert_allclose(stats.scatters, expected.scatters)


def test_labels_of_text_files_are_integers_if_all_are(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,3\n2,10\n4,3\n7.5,10\n")
    assert statistics_from_batches(path, "y").classes.tolist() == [3, 10]
    path.write_text("x,y\n1,03\n2,10\n4,03\n7.5,10\n")  # 03 is no number's own form
    assert statistics_from_batches(path, "y").classes.tolist() == ["03", "10"]


def test_numbers_of_any_type(rng):
    whole = rng.integers(0, 100, (50, 1))
    y = rng.integers(0, 2, 50)
    expected = ClassStatistics.from_data(whole, y)
    for kind in (pa.int8(), pa.uint64(), pa.float32(), pa.decimal128(21, 2)):
        values = pa.array(whole[:, 0]).cast(kind)
        stats = statistics_from_batches(pa.table({"a": values, "y": y}), "y")
        assert_allclose(stats.scatters, expected.scatters)
    flags = pa.table({"a": pa.array(whole[:, 0] > 50), "y": y})
    stats = statistics_from_batches(flags, "y")
    assert_allclose(stats.means, ClassStatistics.from_data(whole > 50, y).means)


def test_a_text_column_that_is_whole_at_first_and_not_later(tmp_path):
    """Types that are guessed from the first block would fail here."""
    rows = ["1,0\n2,1\n"] * 600_000 + ["1.5,0\n2.25,1\n"]
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(rows))
    stats = statistics_from_batches(path, "y")
    assert stats.weights.tolist() == [600_001, 600_001]
    assert_allclose(stats.means[:, 0], [1 + 0.5 / 600_001, 2 + 0.25 / 600_001])


def test_rows_with_missing_values_are_counted_and_left_out(frame, tmp_path):
    holes = frame.copy()
    holes.loc[3, "a"] = np.nan
    holes.loc[[5, 700], "kind"] = None
    holes.loc[9, "times"] = np.nan
    complete = holes.dropna()
    for source in ("parquet", "csv"):
        folder = tmp_path / source
        folder.mkdir()
        save_parts(holes, folder, source)
        with pytest.warns(MissingRowsWarning, match="4 of 900 rows"):
            stats = statistics_from_batches(
                folder, "kind", sample_weight="times", missing="drop"
            )
        assert_same(stats, direct(complete, weight="times"))
        with pytest.raises(ValueError, match=r"part-1.*'a' has missing values \(1 in"):
            statistics_from_batches(folder, "kind")


def refused(source, message, error=ValueError, **settings):
    with pytest.raises(error, match=message):
        statistics_from_batches(source, **{"target": "kind", **settings})


def test_damaged_and_foreign_files_are_named(frame, tmp_path):
    frame = frame.drop(columns="times")
    save_parts(frame, tmp_path, "parquet")
    whole = (tmp_path / "part-1.parquet").read_bytes()
    bad = tmp_path / "part-9.parquet"
    bad.write_bytes(whole[: len(whole) // 2])
    refused(tmp_path, "part-9.parquet cannot be read")
    bad.write_bytes(b"")
    refused(tmp_path, "part-9.parquet cannot be read")
    bad.write_bytes(whole[:300] + b"\xff" * 800 + whole[1100:])
    refused(tmp_path, "part-9.parquet cannot be read")
    frame.rename(columns={"b": "B"}).to_parquet(bad)
    refused(tmp_path, r"part-9.parquet: its columns are not those.*\['B', 'b'\]")
    frame.assign(extra=1).to_parquet(bad)
    refused(tmp_path, r"part-9.parquet: its columns are not those.*\['extra'\]")
    # ... unless the columns are named.
    stats = statistics_from_batches(tmp_path, "kind", columns=["a", "b"])
    assert stats.weights.sum() == 2 * len(frame)
    frame.assign(b="text").to_parquet(bad)
    refused(tmp_path, r"part-9.parquet: column 'b' must be numbers, but is of type")
    frame.assign(kind=1).to_parquet(bad)
    refused(tmp_path, r"part-9.parquet: column 'kind' of the labels holds text in")
    frame.assign(a=np.inf).to_parquet(bad)
    refused(tmp_path, r"part-9.parquet: column 'a' contains infinity")
    frame.assign(a=1e200).to_parquet(bad)
    refused(tmp_path, r"part-9.parquet: .*the values of column 'a' are so large")
    frame.assign(kind=None).to_parquet(bad)
    refused(tmp_path, r"part-9.parquet: column 'kind' has missing values")
    frame.assign(kind=np.linspace(0, 1, len(frame))).to_parquet(bad)
    refused(bad, r"part-9.parquet: column 'kind' of the labels must be whole numbers")


def test_damaged_text_is_named(tmp_path):
    path = tmp_path / "a.csv"
    for text, message in (
        ("", "a.csv is empty"),
        ("x,kind\n1,a\n2,b,3\n", "a.csv cannot be read"),
        ("x,kind\n1,a\ntwo,b\n", "a.csv: column 'x' must be numbers.*'two'"),
        ("x,x,kind\n1,2,a\n", "a.csv: several columns are named"),
        ("x,other\n1,a\n", "a.csv: no column is named 'kind'"),
        ("kind\na\n", "a.csv: there is no column besides"),
        ("x,kind\n", "source has no rows"),
    ):
        path.write_text(text)
        refused(path, message)
    damaged = gzip.compress(b"x,kind\n" + b"1,a\n" * 100_000)
    packed = tmp_path / "b.csv.gz"
    packed.write_bytes(damaged[: len(damaged) // 2])
    refused(packed, "b.csv.gz cannot be read")


def test_requests_that_make_no_sense(frame, tmp_path):
    table = pa.Table.from_pandas(frame)
    refused(tmp_path, "has no file", FileNotFoundError)
    refused(tmp_path / "no.parquet", "there is no file", FileNotFoundError)
    refused(str(tmp_path / "*.csv"), "there is no file", FileNotFoundError)
    refused([], "empty list")
    (tmp_path / "a.xlsx").touch()
    refused(tmp_path / "a.xlsx", "kind of the file")
    refused(42, "source must be a path", TypeError)
    refused({"a": [1]}, "source must be a path", TypeError)
    refused(table, "missing must be", missing="skip")
    refused(table, "batch_size must be", batch_size=0)
    refused(table, "batch_size must be an integer", batch_size="big")
    refused(table, "list of names", columns="ab")
    refused(table, "list of names", columns=5)
    refused(table, "more than once", columns=["a", "kind"])
    refused(table, "more than once", sample_weight="kind")
    refused(table, "no column is named 'no'", columns=["no"])
    refused(table.slice(0, 0), "no rows")
    negative = pa.Table.from_pandas(frame.assign(times=-1.0))
    refused(negative, "'times'.*negative", sample_weight="times")


def test_progress_is_reported(frame):
    seen = []
    batches = pa.Table.from_pandas(frame).to_batches(max_chunksize=400)
    statistics_from_batches(batches, "kind", columns=["a"], progress=seen.append)
    assert seen == [400, 800, 900]


def test_an_interrupt_ends_the_decoding_thread(frame):
    batches = pa.Table.from_pandas(frame).to_batches(max_chunksize=10)

    def stop(n_rows):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        statistics_from_batches(batches, "kind", columns=["a"], progress=stop)
    assert not [t for t in threading.enumerate() if t.name == "heterolda-decoder"]


def test_items_are_madeahead_and_in_order():
    made = []
    used = threading.Event()

    def items():
        for k in range(6):
            made.append(k)
            if k == 2:
                used.set()
            yield k

    stream = ahead(items())
    assert next(stream) == 0
    assert used.wait(30)  # two more are made while the first is in use
    assert list(stream) == [1, 2, 3, 4, 5]
    assert made == [0, 1, 2, 3, 4, 5]


def test_only_a_few_batches_are_in_memory(tmp_path):
    path = tmp_path / "a.parquet"
    X, y = gaussian_classes(Shape(20_000, 8, 3))
    table = pa.table({f"x{j}": X[:, j] for j in range(8)} | {"y": y})
    with pq.ParquetWriter(path, table.schema) as writer:
        for _ in range(20):
            writer.write_table(table)
    tracemalloc.start()
    stats = statistics_from_batches(path, "y", batch_size=5_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert stats.weights.sum() == 400_000
    assert peak < 0.25 * 400_000 * 8 * 8  # of the bytes of the data
