"""The same statistics from files, folders and streams of any kind as from one array."""

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
    ReadingWarning,
)
from heterolda.data import fit_batches, statistics_from_batches

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
    "lazy polars": lambda f, _: pl.from_pandas(f).lazy(),
    "frames": lambda f, _: [f[:200], f[200:200], f[200:]],
    "tables": lambda f, _: (pa.Table.from_pandas(part) for part in (f[:1], f[1:])),
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


LABEL_TYPES = {
    "large": lambda y: pa.array(y, pa.large_string()),
    "view": lambda y: pa.array(y, pa.string_view()),
    "dictionary": lambda y: pa.array(y).dictionary_encode(),
    "unsigned": lambda y: pa.array(y).cast(pa.dictionary(pa.uint8(), pa.string())),
    "runs": lambda y: pc.run_end_encode(pa.array(y)),
    "Categorical": lambda y: pl.Series(y, dtype=pl.Categorical).to_arrow(),
    "Enum": lambda y: pl.Series(y, dtype=pl.Enum(["b", "unused", "a"])).to_arrow(),
}


@pytest.mark.parametrize("kind", LABEL_TYPES)
def test_text_of_any_type(kind):
    y = ["a", "b", "a", "a", "b"]
    x = [1.0, 2.0, 4.0, 8.0, 16.0]
    source = pa.table({"x": x, "kind": LABEL_TYPES[kind](y)})
    stats = statistics_from_batches(source, "kind")
    assert_same(stats, ClassStatistics.from_data(np.c_[x], y))
    y[3] = None
    source = pa.table({"x": x, "kind": LABEL_TYPES[kind](y)})
    refused(source, "column 'kind', row 4 is missing")
    with pytest.warns(MissingRowsWarning, match="1 of 5"):
        stats = statistics_from_batches(source, "kind", missing="drop")
    assert stats.weights.tolist() == [2, 2]


@pytest.mark.parametrize(
    "values",
    [
        [date(2020, 1, 1), date(2020, 1, 2)],
        [datetime(2020, 1, 1), datetime(2020, 1, 2)],
        [Decimal(1), Decimal(2)],
        [b"a", b"b"],
        [[1], [2]],
        [{"a": 1}, {"a": 2}],
        [timedelta(1), timedelta(2)],
    ],
    ids=lambda values: type(values[0]).__name__,
)
def test_labels_that_are_none(values):
    source = pa.table({"x": [1.0, 2, 4, 8], "kind": pa.array(values * 2)})
    refused(source, r"'kind' of the labels must be whole numbers, booleans or text")


def test_labels_that_no_type_holds_are_not_confused():
    def source(*labels):
        return [pa.record_batch({"x": [1.0, 2.0], "kind": pair}) for pair in labels]

    large = np.full(2, 2**63 + 1, dtype=np.uint64)
    refused(source(large, [-1, -1]), "no type in common that holds 9223372036854775809")
    refused(source([2**60 + 1] * 2, [2.0**60] * 2), "no type in common")
    # Small ones are the same number in whatever type.
    stats = statistics_from_batches(source([0, 1], [1.0, 2.0], [True, False]), "kind")
    assert stats.classes.tolist() == [0, 1, 2]
    assert stats.weights.tolist() == [2, 3, 1]


def test_a_column_that_numbers_the_rows_is_no_target(frame):
    numbered = pd.concat([frame] * 4).assign(kind=np.arange(4 * len(frame)))
    refused(numbered, r"'kind' is a measurement .* 3600 different numbers in 3600 rows")
    numbered["kind"] = [f"row {k}" for k in numbered["kind"]]
    refused(numbered, r"'kind' has \d+ different labels in the first \d+ rows")


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
    values = pa.array(whole[:, 0].astype(float))
    for packed in (
        values.dictionary_encode(),
        pc.run_end_encode(values),
        values.cast(pa.float16()),
        values.cast(pa.decimal256(50, 3)),
    ):
        stats = statistics_from_batches(pa.table({"a": packed, "y": y}), "y")
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
        with pytest.raises(ValueError, match=r"part-1.*column 'a', row 3 is missing"):
            statistics_from_batches(folder, "kind")


def test_a_label_of_one_file_only_and_files_in_any_order(frame, tmp_path):
    frame = frame.drop(columns="times")
    frame[FEATURES] += 1e5
    one = frame["kind"] == "west"
    frame[~one].to_parquet(tmp_path / "many.parquet", index=False)
    frame[one][:5].to_parquet(tmp_path / "west.parquet", index=False)
    frame[one][5:].to_csv(tmp_path / "rest.csv", index=False)
    paths = sorted(tmp_path.iterdir())
    for order in (paths, paths[::-1]):
        assert_same(statistics_from_batches(order, "kind"), direct(frame))


def test_an_index_that_pandas_has_written_is_no_feature(frame, tmp_path):
    frame = frame.drop(columns="times").sample(frac=1, random_state=0)
    for index in (frame.index, frame.index.astype(str).rename("id")):
        indexed = frame.set_index(index)
        path = tmp_path / "a.parquet"
        indexed.to_parquet(path)
        assert len(pq.ParquetFile(path).schema_arrow.names) == 5
        for source in (path, indexed, ds.dataset(path), pa.Table.from_pandas(indexed)):
            stats = statistics_from_batches(source, "kind")
            assert stats.feature_names.tolist() == FEATURES
            assert_same(stats, direct(frame))
    numbered = frame.rename_axis("id")
    stats = statistics_from_batches(numbered, "kind", columns=["id", "a"])
    assert stats.feature_names.tolist() == ["id", "a"]  # if it is asked for
    numbered = frame.set_index("kind")
    assert_same(statistics_from_batches(numbered, "kind"), direct(frame))
    path = tmp_path / "a.csv"
    frame.to_csv(path)
    with pytest.warns(
        ReadingWarning, match="column_1 left out, since nothing names it"
    ):
        assert_same(statistics_from_batches(path, "kind"), direct(frame))
    assert_same(statistics_from_batches(path, "kind", columns=FEATURES), direct(frame))


def test_names_of_any_kind(rng):
    x, y = rng.normal(size=(6, 3)), ["a", "b"] * 3
    names = ["größe", "a.b", " ", "клас"]
    source = pa.table([*x.T, y], names=names)
    stats = statistics_from_batches(source, "клас")
    assert stats.feature_names.tolist() == names[:3]
    # The same name twice is no matter if it is not wanted.
    source = pa.table([*x.T, y], names=["x", "q", "q", "kind"])
    assert statistics_from_batches(source, "kind", columns=["x"]).n_features == 1
    refused(source, r"several columns are named \['q'\]")
    refused(source, r"several columns are named \['q'\]", columns=["x", "q"])


def test_an_estimator_is_left_as_it_was(frame, tmp_path):
    frame = frame.drop(columns="times")
    save_parts(frame, tmp_path, "parquet")
    fresh = GaussianLinearDiscriminant()
    fitted = fit_batches(GaussianLinearDiscriminant(), tmp_path, "kind")
    before = pickle.dumps(fitted)
    bad = tmp_path / "part-9.parquet"
    for broken in (frame.assign(b="text"), frame.assign(a=None), frame.assign(z=1)):
        broken.to_parquet(bad)
        for estimator in (fresh, fitted):
            with pytest.raises(ValueError, match=r"part-9.parquet: .*'[abz]'"):
                fit_batches(estimator, tmp_path, "kind")
    bad.write_bytes(bad.read_bytes()[:-9])
    for estimator in (fresh, fitted):
        with pytest.raises(ValueError, match=r"part-9.parquet cannot be read"):
            fit_batches(estimator, tmp_path, "kind")
    assert vars(fresh) == vars(GaussianLinearDiscriminant())
    assert pickle.dumps(fitted) == before


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
    refused(tmp_path, "part-9.parquet: 1 column is not all numbers: 'b' .row 1: 'text'")
    frame.assign(kind=1).to_parquet(bad)
    refused(tmp_path, r"part-9.parquet: column 'kind' of the labels is text in")
    frame.assign(a=np.inf).to_parquet(bad)
    refused(tmp_path, "part-9.parquet: column 'a', row 1 is infinite")
    frame.assign(a=1e200).to_parquet(bad)
    refused(tmp_path, r"part-9.parquet: .*the values of column 'a' are so large")
    frame.assign(kind=None).to_parquet(bad)
    refused(tmp_path, "part-9.parquet: column 'kind', row 1 is missing")
    frame.assign(kind=np.linspace(0, 1, len(frame))).to_parquet(bad)
    refused(bad, r"part-9.parquet: column 'kind' of the labels must be whole numbers")
    frame.drop(columns="kind").to_parquet(bad)
    refused(tmp_path, r"part-9.parquet: no column is named 'kind'; it has 'a', 'b'")
    holes = frame["kind"].where(frame["kind"] != "west")
    frame.assign(kind=holes).to_parquet(bad)
    refused(
        tmp_path, rf"part-9.parquet: column 'kind', row {holes.isna().argmax() + 1} "
    )
    bad.write_bytes(bad.read_bytes()[:-9])
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
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part.parquet").touch()
    (tmp_path / "notes.txt").write_text("no table")
    expected = direct(frame)
    for source in (tmp_path, str(tmp_path / "kind=*"), str(tmp_path / "**" / "*.pq")):
        assert_same(statistics_from_batches(source, "kind"), expected)
    inner = tmp_path / "kind=east"
    refused([tmp_path, inner], "source: the file .*0.pq' is named more than once")
    for path in tmp_path.rglob("*.pq"):
        pd.read_parquet(path).drop(columns="kind").to_parquet(path)
    refused(tmp_path, "no column is named 'kind'.*partitioning='hive'")
    source = ds.dataset([str(p) for p in tmp_path.rglob("*.pq")], partitioning="hive")
    assert_same(statistics_from_batches(source, "kind"), expected)


def test_requests_that_make_no_sense(frame, tmp_path):
    table = pa.Table.from_pandas(frame)
    refused(tmp_path, "has no file", FileNotFoundError)
    refused(tmp_path / "no.parquet", "there is no file", FileNotFoundError)
    refused(str(tmp_path / "*.csv"), "there is no file", FileNotFoundError)
    refused([], "empty list")
    (tmp_path / "a.docx").touch()
    refused(tmp_path / "a.docx", "unknown type")
    refused(42, "source must be a path", TypeError)
    refused({"a": [1]}, "source must be a path", TypeError)
    refused(table, "missing must be", missing="skip")
    refused(table, "batch_size must be", batch_size=0)
    refused(table, "batch_size must be an integer", batch_size="big")
    refused(table, "list of names", columns="ab")
    refused(table, "list of names", columns=5)
    for settings in ({"target": None}, {"columns": [0]}, {"sample_weight": [1, 2]}):
        refused(
            table, "must be (the name of a column|column names)", TypeError, **settings
        )
    batches = table.to_batches()
    refused([*batches, 5], "item 2 of source must be a record batch", TypeError)
    refused([np.zeros(3)], "item 1 of source must be a record batch", TypeError)
    refused(pl.Series([1.0]), "source cannot be read")
    other = table.rename_columns(["a", "b", "C", "kind", "times"])
    refused([table, other], r"item 2 of source: its columns.*\['C', 'c'\]")
    wide = pa.table({f"x{k}": [1.0] for k in range(50)})
    refused(wide, "no column is named 'kind'; it has 'x0', .* and 30 more")
    refused(table, "more than once", columns=["a", "kind"])
    refused(table, "more than once", sample_weight="kind")
    refused(table, "no column is named 'no'", columns=["no"])
    refused(table.slice(0, 0), "no rows")
    negative = pa.Table.from_pandas(frame.assign(times=-1.0))
    refused(negative, "'times'.*negative", sample_weight="times")


def test_progress_is_reported(frame):
    seen = []
    batches = pa.Table.from_pandas(frame).to_batches(max_chunksize=400)

    def progress(text, share):
        assert np.isnan(share)
        seen.append(text)

    statistics_from_batches(batches, "kind", columns=["a"], progress=progress)
    assert seen == ["400 rows", "800 rows", "900 rows"]
    seen.clear()  # one table need not be one batch
    settings = {"columns": ["a"], "batch_size": 250, "progress": progress}
    statistics_from_batches(pa.Table.from_pandas(frame), "kind", **settings)
    assert seen == ["250 rows", "500 rows", "750 rows", "900 rows"]


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
