"""The same statistics from files, streams and arrays of any kind as from one array."""

import pickle
import subprocess
import sys
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.memory import peak_of_process
from benchmarks.shapes import Shape, gaussian_classes
from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    MissingRowsWarning,
    ParameterError,
    ReadingWarning,
)
from heterolda.data import fit_batches, statistics_from_batches
from heterolda.data.gathering import read_all
from heterolda.data.table import Table

ROOT = Path(__file__).parents[2]
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


def assert_same(stats, expected, rtol=1e-10):
    assert_array_equal(stats.classes, expected.classes)
    assert stats.classes.dtype.kind == expected.classes.dtype.kind
    for name in ("weights", "means", "scatters"):
        mine, other = getattr(stats, name), getattr(expected, name)
        assert_allclose(mine, other, rtol=rtol, atol=rtol * np.abs(other).max())


def refused(source, message, error=ValueError, **settings):
    with pytest.raises(error, match=message):
        statistics_from_batches(source, **{"target": "kind", **settings})


def save_parts(frame, folder, kind):
    bounds = [0, 1, 300, 300, 650, len(frame)]  # one row, and none at all
    for k, (low, high) in enumerate(pairwise(bounds)):
        part, path = frame.iloc[low:high], folder / f"part-{k}.{kind}"
        if kind == "parquet":
            part.to_parquet(path, row_group_size=100, index=False)
        else:
            part.to_csv(path, sep="\t" if kind == "tsv" else ",", index=False)


SOURCES = {
    "table": lambda f, _: pa.Table.from_pandas(f),
    "reader": lambda f, _: pa.Table.from_pandas(f).to_reader(max_chunksize=70),
    "batches": lambda f, _: pa.Table.from_pandas(f).to_batches(max_chunksize=70),
    "generator": lambda f, _: iter(pa.Table.from_pandas(f).to_batches(70)),
    "batch": lambda f, _: pa.RecordBatch.from_pandas(f),
    "dataset": lambda f, folder: ds.dataset(folder),
    "polars": lambda f, _: pl.from_pandas(f),
    "lazy polars": lambda f, _: pl.from_pandas(f).lazy(),
    "frames": lambda f, _: [f[:200], f[200:200], f[200:]],
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
def test_files_give_the_statistics_and_the_model_of_the_array(frame, tmp_path, kind):
    frame = frame.drop(columns="times")
    save_parts(frame, tmp_path, kind)
    assert_same(statistics_from_batches(tmp_path, "kind"), direct(frame))
    model = fit_batches(GaussianLinearDiscriminant(), tmp_path, "kind")
    whole = GaussianLinearDiscriminant().fit(frame[FEATURES], frame["kind"])
    assert_allclose(model.coef_, whole.coef_, rtol=1e-8)
    if kind == "parquet":  # the order of files and of classes does not matter
        paths = sorted(tmp_path.iterdir(), reverse=True)
        frame[:50].to_csv(tmp_path / "more.csv", index=False)
        stats = statistics_from_batches([tmp_path / "more.csv", *paths], "kind")
        assert_same(stats, direct(pd.concat([frame, frame[:50]])))


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int16, ">f8"])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_array_has_the_statistics_of_its_rows(frame, kind, weighted):
    X, y = (10 * frame[FEATURES].to_numpy()).astype(kind), frame["kind"].to_numpy(str)
    weight = frame["times"].to_numpy() if weighted else None
    settings = {"sample_weight": weight, "batch_size": 128}
    stats = statistics_from_batches(X, y, **settings)
    assert_same(stats, ClassStatistics.from_data(X, y, weight), 1e-12)
    assert stats.feature_names is None
    model = fit_batches(GaussianLinearDiscriminant(), X, y, **settings)
    expected = GaussianLinearDiscriminant().fit(X, y, weight)
    assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    assert not hasattr(model, "feature_names_in_")


def test_missing_values_of_an_array_are_treated_as_those_of_files(frame):
    X, y = frame[FEATURES].to_numpy(copy=True), frame["kind"].to_numpy(str)
    X[5, 1] = X[700, 2] = np.nan
    before = X.copy()
    refused(X, "column '1', row 6 is missing", target=y)
    with pytest.warns(MissingRowsWarning, match="2 of 900"):
        stats = statistics_from_batches(X, y, missing="drop", batch_size=100)
    whole = ~np.isnan(X).any(axis=1)
    assert_same(stats, ClassStatistics.from_data(X[whole], y[whole]))
    stats = statistics_from_batches(X, y, missing="em", batch_size=100)
    assert_same(stats, ClassStatistics.from_data(X, y, missing="em"), 1e-5)
    assert_array_equal(X, before)
    X[5, 1] = np.inf
    refused(X, "column '1', row 6 is infinite", target=y)


@pytest.mark.check
def test_a_tensor_in_the_memory_of_the_host_is_a_source(rng):
    torch = pytest.importorskip("torch")
    X, y = rng.normal(size=(50, 3)), np.arange(50) % 2
    stats = statistics_from_batches(torch.asarray(X), torch.asarray(y))
    assert_allclose(stats.scatters, ClassStatistics.from_data(X, y).scatters)


def test_all_rows_or_a_random_sample_in_their_order(frame):
    table = Table(pa.Table.from_pandas(frame), "kind", FEATURES, batch_size=64)
    rows, reading = read_all(table)
    assert_array_equal(rows.X, frame[FEATURES])
    assert_array_equal(rows.labels, frame["kind"])
    drawn = []
    for seed in (0, 0, 1):
        some, reading = read_all(table, most=50, seed=seed)
        assert (len(some.X), reading.n_read) == (50, 900)
        places = np.flatnonzero(np.isin(frame["a"], some.X[:, 0]))
        assert_array_equal(some.X, frame[FEATURES].iloc[places])
        assert_array_equal(some.labels, frame["kind"].iloc[places])
        assert np.ptp(places) > 450  # from all over the table
        drawn.append(places.tolist())
    assert drawn[0] == drawn[1] != drawn[2]


# Types of columns

LABELS = {
    "integers": pa.array([3, -1, 20, 3, -1]),
    "booleans": pa.array([True, False, True, True, False]),
    "text": pa.array(["x", "a b", "é", "x", "é"]),
    "whole floats": pa.array([1.0, 4.0, 4.0, 1.0, 1.0]),
    "large": pa.array([*"abaab"], pa.large_string()),
    "view": pa.array([*"abaab"], pa.string_view()),
    "dictionary": pa.array([*"abaab"]).dictionary_encode(),
    "unsigned": pa.array([*"abaab"]).cast(pa.dictionary(pa.uint8(), pa.string())),
    "runs": pc.run_end_encode(pa.array([*"abaab"])),
    "Categorical": pl.Series([*"abaab"], dtype=pl.Categorical).to_arrow(),
    "Enum": pl.Series([*"abaab"], dtype=pl.Enum(["b", "unused", "a"])).to_arrow(),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_type(kind):
    labels = LABELS[kind].to_pylist()
    x = [1.0, 2.0, 4.0, 8.0, 16.0]
    stats = statistics_from_batches(pa.table({"x": x, "kind": LABELS[kind]}), "kind")
    assert_same(stats, ClassStatistics.from_data(np.c_[x], np.array(labels)))
    if isinstance(labels[0], str) and kind != "runs":
        labels[3] = None
        source = pa.table({"x": x, "kind": pa.array(labels, LABELS[kind].type)})
        refused(source, "column 'kind', row 4 is missing")
        with pytest.warns(MissingRowsWarning, match="1 of 5"):
            stats = statistics_from_batches(source, "kind", missing="drop")
        assert stats.weights.sum() == 4


@pytest.mark.parametrize(
    "values",
    [
        [date(2020, 1, 1), date(2020, 1, 2)],
        [datetime(2020, 1, 1), datetime(2020, 1, 2)],
        [timedelta(1), timedelta(2)],
        [Decimal(1), Decimal(2)],
        [b"a", b"b"],
        [[1], [2]],
        [{"a": 1}, {"a": 2}],
        [0.25, 1.5],
    ],
    ids=lambda values: type(values[0]).__name__,
)
def test_labels_that_are_none(values):
    source = pa.table({"x": [1.0, 2, 4, 8], "kind": pa.array(values * 2)})
    refused(source, r"'kind' of the labels must be whole numbers, booleans or text")


def test_labels_that_no_type_holds_are_not_confused(tmp_path):
    def source(*labels):
        return [pa.record_batch({"x": [1.0, 2.0], "kind": pair}) for pair in labels]

    large = np.full(2, 2**63 + 1, dtype=np.uint64)
    refused(source(large, [-1, -1]), "no type in common that holds 9223372036854775809")
    refused(source([2**60 + 1] * 2, [2.0**60] * 2), "no type in common")
    # Small ones are the same number in whatever type.
    stats = statistics_from_batches(source([0, 1], [1.0, 2.0], [True, False]), "kind")
    assert (stats.classes.tolist(), stats.weights.tolist()) == ([0, 1, 2], [2, 3, 1])
    # Those of text files are integers if all are; 03 is not a number's own form.
    for zero, classes in (("", [3, 10]), ("0", ["03", "10"])):
        path = tmp_path / "a.csv"
        path.write_text(f"x,y\n1,{zero}3\n2,10\n4,{zero}3\n7.5,10\n")
        assert statistics_from_batches(path, "y").classes.tolist() == classes


def test_a_column_that_numbers_the_rows_is_not_a_target(frame):
    numbered = pd.concat([frame] * 4).assign(kind=np.arange(4 * len(frame)))
    refused(numbered, r"'kind' is a measurement .* 3600 different numbers in 3600 rows")
    numbered["kind"] = [f"row {k}" for k in numbered["kind"]]
    refused(numbered, r"'kind' has \d+ different labels in the first \d+ rows")


BITS = np.arange(50) % 3 % 2
KINDS = pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.bool_()
NUMBERS = {str(kind): pa.array(1.0 * BITS).cast(kind) for kind in KINDS}
NUMBERS["decimal"] = pa.array(1.0 * BITS).cast(pa.decimal128(21, 2))
NUMBERS["large decimal"] = pa.array(1.0 * BITS).cast(pa.decimal256(50, 3))
NUMBERS["dictionary"] = pa.array(1.0 * BITS).dictionary_encode()
NUMBERS["runs"] = pc.run_end_encode(pa.array(1.0 * BITS))


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_of_any_type(kind):
    y = np.arange(50) % 2
    stats = statistics_from_batches(pa.table({"a": NUMBERS[kind], "y": y}), "y")
    assert_same(stats, ClassStatistics.from_data(BITS[:, None], y))


def test_a_text_column_that_is_whole_at_first_and_not_later(tmp_path):
    """Types that are guessed from the first block would fail here."""
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "1,0\n2,1\n" * 600_000 + "1.5,0\n2.25,1\n")
    stats = statistics_from_batches(path, "y")
    assert stats.weights.tolist() == [600_001, 600_001]
    assert_allclose(stats.means[:, 0], [1 + 0.5 / 600_001, 2 + 0.25 / 600_001])


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_rows_with_missing_values_are_counted_and_left_out(frame, tmp_path, kind):
    frame.loc[3, "a"] = np.nan
    frame.loc[[5, 700], "kind"] = None
    frame.loc[9, "times"] = np.nan
    save_parts(frame, tmp_path, kind)
    settings = {"sample_weight": "times", "missing": "drop"}
    with pytest.warns(MissingRowsWarning, match="4 of 900 rows"):
        stats = statistics_from_batches(tmp_path, "kind", **settings)
    assert_same(stats, direct(frame.dropna(), weight="times"))
    refused(tmp_path, r"part-1.*column 'a', row 3 is missing")


def test_an_index_that_pandas_has_written_is_not_a_feature(frame, tmp_path):
    frame = frame.drop(columns="times").sample(frac=1, random_state=0)
    path = tmp_path / "a.parquet"
    for index in (frame.index, frame.index.astype(str).rename("id")):
        indexed = frame.set_index(index)
        indexed.to_parquet(path)
        assert len(pq.ParquetFile(path).schema_arrow.names) == 5
        for source in (path, indexed, ds.dataset(path)):
            stats = statistics_from_batches(source, "kind")
            assert stats.feature_names.tolist() == FEATURES
            assert_same(stats, direct(frame))
    numbered = frame.rename_axis("id")
    stats = statistics_from_batches(numbered, "kind", columns=["id", "a"])
    assert stats.feature_names.tolist() == ["id", "a"]  # if it is asked for
    assert_same(statistics_from_batches(frame.set_index("kind"), "kind"), direct(frame))
    path = tmp_path / "a.csv"
    frame.to_csv(path)
    with pytest.warns(ReadingWarning, match="column_1 left out, since nothing names"):
        assert_same(statistics_from_batches(path, "kind"), direct(frame))
    assert_same(statistics_from_batches(path, "kind", columns=FEATURES), direct(frame))


def test_names_of_any_kind(rng):
    x, y = rng.normal(size=(6, 3)), ["a", "b"] * 3
    names = ["größe", "a.b", " ", "клас"]
    stats = statistics_from_batches(pa.table([*x.T, y], names=names), "клас")
    assert stats.feature_names.tolist() == names[:3]
    # The same name twice is no matter if it is not wanted.
    source = pa.table([*x.T, y], names=["x", "q", "q", "kind"])
    assert statistics_from_batches(source, "kind", columns=["x"]).n_features == 1
    refused(source, r"several columns are named \['q'\]")
    refused(source, r"several columns are named \['q'\]", columns=["x", "q"])


# What is refused

FILES = {  # a file after good ones, and what is said about it
    "half": (lambda f, data: data[: len(data) // 2], " cannot be read"),
    "empty": (lambda f, data: b"", " cannot be read"),
    "holes": (lambda f, data: data[:300] + b"\xff" * 800 + data[1100:], " cannot be"),
    "renamed": (lambda f, _: f.rename(columns={"b": "B"}), r": its.*\['B', 'b'\]"),
    "more": (lambda f, _: f.assign(z=1), r": its columns are not those.*\['z'\]"),
    "text": (lambda f, _: f.assign(b="x"), ": 1 column is not .*: 'b' .row 1: 'x'"),
    "labels": (lambda f, _: f.assign(kind=1), ": column 'kind' of the labels is text"),
    "infinite": (lambda f, _: f.assign(a=np.inf), ": column 'a', row 1 is infinite"),
    "large": (lambda f, _: f.assign(a=1e200), ": .* of column 'a' are so large"),
    "unlabeled": (lambda f, _: f.assign(kind=None), ": column 'kind', row 1 is miss"),
    "other": (lambda f, _: f.drop(columns="kind"), ": no column is named 'kind'; it h"),
}


@pytest.mark.parametrize("kind", FILES)
def test_damaged_and_foreign_files_are_named(frame, tmp_path, kind):
    frame = frame.drop(columns="times")
    save_parts(frame, tmp_path, "parquet")
    change, message = FILES[kind]
    fresh = GaussianLinearDiscriminant()
    fitted = fit_batches(GaussianLinearDiscriminant(), tmp_path, "kind")
    before = pickle.dumps(fitted)
    bad = tmp_path / "part-9.parquet"
    changed = change(frame, (tmp_path / "part-1.parquet").read_bytes())
    if isinstance(changed, bytes):
        bad.write_bytes(changed)
    else:
        changed.to_parquet(bad)
    for estimator in (fresh, fitted):
        with pytest.raises(ValueError, match=f"part-9.parquet{message}"):
            fit_batches(estimator, tmp_path, "kind")
    assert vars(fresh) == vars(GaussianLinearDiscriminant())
    assert pickle.dumps(fitted) == before
    if kind == "more":  # unless the columns are named
        stats = statistics_from_batches(tmp_path, "kind", columns=["a", "b"])
        assert stats.weights.sum() == 2 * len(frame)
    if kind == "half":
        whole = ds.dataset(tmp_path / "part-1.parquet").schema
        refused(ds.dataset(tmp_path, schema=whole), "cannot be read: .*part-9.parquet")
        bad.unlink()
        bad.symlink_to(tmp_path / "nowhere.parquet")
        refused(tmp_path, "part-9.parquet cannot be read")


def test_folders_in_folders(frame, tmp_path):
    frame = frame.drop(columns="times")
    for k, kind in enumerate(np.unique(frame["kind"])):
        folder = tmp_path / f"kind={kind}" / "deep.parquet"
        folder.mkdir(parents=True)
        frame[frame["kind"] == kind].to_parquet(folder / f"{k}.pq", index=False)
    for name in ("_SUCCESS", ".part.parquet", "notes.txt"):
        (tmp_path / name).touch()
    for source in (tmp_path, str(tmp_path / "kind=*"), str(tmp_path / "**" / "*.pq")):
        assert_same(statistics_from_batches(source, "kind"), direct(frame))
    inner = tmp_path / "kind=east"
    refused([tmp_path, inner], "source: the file .*0.pq' is named more than once")
    for path in tmp_path.rglob("*.pq"):
        pd.read_parquet(path).drop(columns="kind").to_parquet(path)
    refused(tmp_path, "no column is named 'kind'.*partitioning='hive'")
    source = ds.dataset([str(p) for p in tmp_path.rglob("*.pq")], partitioning="hive")
    assert_same(statistics_from_batches(source, "kind"), direct(frame))


def test_requests_that_make_no_sense(frame, tmp_path):
    table = pa.Table.from_pandas(frame)
    (tmp_path / "a.docx").touch()
    (tmp_path / "none").mkdir()
    other = table.rename_columns(["a", "b", "C", "kind", "times"])
    wide = pa.table({f"x{k}": [1.0] for k in range(50)})
    negative = frame.assign(times=-1.0)
    for source, message, settings in [
        ([], "empty list", {}),
        (tmp_path / "a.docx", "unknown type", {}),
        (table, "missing must be", {"missing": "skip"}),
        (table, "batch_size must be", {"batch_size": 0}),
        (table, "batch_size must be an integer", {"batch_size": "big"}),
        (table, "list of names", {"columns": "ab"}),
        (table, "list of names", {"columns": 5}),
        (table, "more than once", {"columns": ["a", "kind"]}),
        (table, "more than once", {"sample_weight": "kind"}),
        (table, "no column is named 'no'", {"columns": ["no"]}),
        (table.slice(0, 0), "no rows", {}),
        (pl.Series([1.0]), "source cannot be read", {}),
        ([table, other], r"item 2 of source: its columns.*\['C', 'c'\]", {}),
        (wide, "no column is named 'kind'; it has 'x0', .* and 30 more", {}),
        (negative, "'times'.*negative", {"sample_weight": "times"}),
    ]:
        refused(source, message, **settings)
    for source in (tmp_path / "none", tmp_path / "no.parquet", str(tmp_path / "*.csv")):
        message = "has no file|there is no file"
        refused(source, message, FileNotFoundError)
    for source, message, settings in [
        (42, "source must be a path", {}),
        ({"a": [1]}, "source must be a path", {}),
        ([*table.to_batches(), 5], "item 2 of source must be a record batch", {}),
        ([np.zeros(3)], "item 1 of source must be a record batch", {}),
        (table, "must be the name of a column", {"target": None}),
        (table, "must be column names", {"columns": [0]}),
        (table, "must be column names", {"sample_weight": [1, 2]}),
    ]:
        refused(source, message, TypeError, **settings)
    rows = np.zeros((900, 2))
    labels = {"target": [0, 1] * 450}
    for source, message, settings in [
        (np.zeros((900, 0)), "at least one column, got shape", labels),
        (rows.astype(complex), "array of numbers .* complex128", labels),
        (np.zeros(900), "two-dimensional", labels),
        (np.zeros((0, 2)), "the data have no rows", {"target": []}),
        (rows, "target must be an array of labels", {}),
        (rows, "target must be an array of labels", {"target": [1, 2]}),
        (rows, "target has missing labels", {"target": [None] * 900}),
        (rows, "sample_weight", labels | {"sample_weight": [1.0]}),
        (rows, "columns is for tables", labels | {"columns": ["a"]}),
        (rows, "exclude is for tables", labels | {"exclude": ["a"]}),
    ]:
        refused(source, message, ParameterError, **settings)


# Batches


def test_progress_is_reported(frame):
    seen = []

    def progress(text, share):
        assert np.isnan(share)
        seen.append(text)

    table = pa.Table.from_pandas(frame)
    settings = {"columns": ["a"], "progress": progress}
    statistics_from_batches(table.to_batches(max_chunksize=400), "kind", **settings)
    # One table need not be one batch.
    statistics_from_batches(table, "kind", batch_size=250, **settings)
    sizes = 400, 800, 900, 250, 500, 750, 900
    assert seen == [f"{n} rows" for n in sizes]


def test_settings_of_a_dataset_are_kept(tmp_path, rng):
    """Whoever has chosen how it is read has a reason, such as a key."""
    path = tmp_path / "a.parquet"
    table = pa.table({"x": rng.normal(size=2000), "kind": [0, 1] * 1000})
    settings = {"compression": "none", "use_dictionary": False}
    pq.write_table(table, path, write_page_checksum=True, **settings)
    data = bytearray(path.read_bytes())
    data[4000] ^= 1  # a number is another one
    path.write_bytes(data)
    assert statistics_from_batches(ds.dataset(path), "kind").weights.sum() == 2000
    careful = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    kind = ds.ParquetFileFormat(default_fragment_scan_options=careful)
    refused(ds.dataset(path, format=kind), "cannot be read: .*checksum")


@pytest.mark.check
def test_a_large_file_is_not_read_ahead(tmp_path, rng):
    """Arrow's own settings would put all of it into the memory of the process."""
    if peak_of_process() is None:
        pytest.skip("the memory of a process is not known on this system")
    n = 1_000_000
    table = pa.table({f"x{j}": rng.normal(size=n) for j in range(16)} | {"y": [0] * n})
    sizes = {"small": 10_000, "one group": n, "many groups": 10_000}
    for name, size in sizes.items():
        part = table[:50_000] if name == "small" else table
        path = tmp_path / f"{name}.parquet"
        pq.write_table(part, path, row_group_size=size, use_dictionary=False)
    code = """if True:
        import sys, pyarrow.dataset as ds
        from benchmarks.memory import peak_of_process
        from heterolda.data import statistics_from_batches
        peaks = []
        sources = sys.argv[1:]
        for source in [*sources, ds.dataset(sources[-1])]:
            statistics_from_batches(source, "y", batch_size=10_000)
            peaks.append(peak_of_process())
        print(*peaks)
    """
    paths = [tmp_path / f"{name}.parquet" for name in sizes]
    command = [sys.executable, "-c", code, *paths]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=ROOT)
    small, _, large, dataset = map(int, run.stdout.split())
    assert large - small < 0.3 * table.nbytes
    assert dataset - small < 0.8 * table.nbytes
