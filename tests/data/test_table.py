"""The same statistics from files and streams of any kind as from one array."""

import pickle
import subprocess
import sys
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.memory import peak_of_process
from benchmarks.shapes import Shape, gaussian_classes
from heterolda import ClassStatistics, GaussianLinearDiscriminant
from heterolda.data import fit_batches, statistics_from_batches
from heterolda.data.gathering import draw_rows, gather, read_all
from heterolda.data.reading import Pass, open_files
from heterolda.data.table import Table
from heterolda.exceptions import (
    MissingRowsWarning,
    ReadingWarning,
    SimilarLabelsWarning,
)
from heterolda.statistics import samples

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
        actual, desired = getattr(stats, name), getattr(expected, name)
        assert_allclose(actual, desired, rtol=rtol, atol=rtol * np.abs(desired).max())


def rejected(source, message, error=ValueError, **settings):
    with pytest.raises(error, match=message):
        statistics_from_batches(source, **{"target": "kind", **settings})


def save_parts(frame, folder, kind):
    bounds = [0, 1, 300, 300, 650, len(frame)]  # one row, and none at all
    for k, (low, high) in enumerate(pairwise(bounds)):
        part, path = frame.iloc[low:high], folder / f"part-{k}.{kind}"
        if kind == "parquet":
            part.to_parquet(path, row_group_size=100, index=False)
        else:
            part.to_csv(path, index=False)


SOURCES = {
    "reader": lambda f, _: pa.Table.from_pandas(f).to_reader(max_chunksize=70),
    "generator": lambda f, _: iter(pa.Table.from_pandas(f).to_batches(70)),
    "dataset": lambda f, folder: ds.dataset(folder),
    "polars": lambda f, _: pl.from_pandas(f),
    "frames": lambda f, _: [f[:200], f[200:200], f[200:]],
    "duckdb": lambda f, _: duckdb.sql("select * from f"),
    "pandas": lambda f, _: f,
    "folder": lambda f, folder: folder,
    "list": lambda f, folder: sorted(folder.glob("*.parquet"), reverse=True),
    "text": lambda f, folder: folder / "*.csv.gz",
}


@pytest.mark.parametrize("kind", SOURCES)
def test_any_source_gives_the_statistics_of_the_array(frame, tmp_path, kind):
    save_parts(frame, tmp_path, "csv.gz" if kind == "text" else "parquet")
    for weight in (None, "times"):
        source = SOURCES[kind](frame, tmp_path)
        stats = statistics_from_batches(
            source, "kind", columns=["c", "a"], sample_weight=weight
        )
        assert_same(stats, direct(frame, ["c", "a"], weight))
        assert stats.feature_names.tolist() == ["c", "a"]


def test_files_of_more_columns_than_rows_give_the_model_of_rows_in_memory(
    rng, tmp_path
):
    n, d = 60, 150
    y = np.array(["kiwi", "apple", "pear", "fig"])[np.arange(n) % 4]
    X = 10 + rng.normal(size=(n, d)) * rng.uniform(0.1, 10, d)
    X[:, :5] += (np.arange(n) % 4)[:, None] * 8
    frame = pd.DataFrame(X, columns=[f"g{k}" for k in range(d)]).assign(kind=y)
    frame["w"] = np.where(np.arange(n) % 4, 1.0, 3.0)
    frame.to_parquet(tmp_path / "a.parquet")
    whole = GaussianLinearDiscriminant().fit(X, y, frame["w"])
    for source in (tmp_path, pa.Table.from_pandas(frame).to_batches(7)):
        model = GaussianLinearDiscriminant()
        fit_batches(model, source, "kind", sample_weight="w")
        assert model.statistics_.factors is not None
        assert_same(model.statistics_, whole.statistics_, 1e-9)
        assert_allclose(model.model_error_, whole.model_error_, atol=1e-12)
        assert_array_equal(model.predict(frame[frame.columns[:d]]), whole.predict(X))


def test_folds_and_the_sample_have_all_rows(frame):
    gathered = gather(Table(frame, "kind", FEATURES, (), "times"), n_folds=5)
    assert_same(gathered.statistics, direct(frame, weight="times"))
    assert len(gathered.folds) == 5
    total = sum(gathered.folds[1:], gathered.folds[0])
    assert_same(total, gathered.statistics)
    assert all(
        fold.weights.sum() < 0.4 * total.weights.sum() for fold in gathered.folds
    )
    rows = frame[frame["times"] > 0]
    sample = gathered.sample
    assert sample.weight.sum() == rows["times"].sum()
    assert_array_equal(np.sort(sample.X[:, 0]), np.sort(rows["a"]))


def test_all_rows_or_a_random_sample_in_their_order(frame, monkeypatch):
    monkeypatch.setattr(samples, "MAX_ROWS", 5)
    table = Table(pa.Table.from_pandas(frame).to_batches(64), "kind", FEATURES)
    rows, _ = read_all(table)
    assert_array_equal(rows.X, frame[FEATURES])
    assert_array_equal(rows.labels, frame["kind"])
    drawn = []
    for seed in (0, 0, 1):
        drawn_rows = draw_rows(table, random_state=seed, n=50)
        assert drawn_rows.reading.n_rows == 900
        rows = drawn_rows.sample.in_proportion().as_rows()
        assert len(rows.X) == 50
        places = np.flatnonzero(np.isin(frame["a"], rows.X[:, 0]))
        assert_array_equal(rows.X, frame[FEATURES].iloc[places])
        assert_array_equal(rows.labels, frame["kind"].iloc[places])
        assert np.ptp(places) > 450  # from all over the table
        drawn.append(places.tolist())
    assert drawn[0] == drawn[1] != drawn[2]


# Types of columns

LABELS = [
    pa.array([True, False, True, True, False]),
    pa.array(["x", "a b", "é", "x", "é"]),
    pa.array([1.0, 4.0, 4.0, 1.0, 1.0]),
    pa.array([*"abaab"], pa.string_view()),
    pa.array([*"abaab"]).cast(pa.dictionary(pa.uint8(), pa.string())),
    pl.Series([*"abaab"], dtype=pl.Enum(["b", "unused", "a"])).to_arrow(),
]


@pytest.mark.parametrize("labels", LABELS)
def test_labels_of_any_type(labels):
    x = [1.0, 2.0, 4.0, 8.0, 16.0]
    stats = statistics_from_batches(pa.table({"x": x, "kind": labels}), "kind")
    assert_same(
        stats, ClassStatistics.from_data(np.c_[x], np.array(labels.to_pylist()))
    )


def test_values_that_are_not_labels():
    for value in (date(2020, 1, 1), timedelta(1), Decimal(1), b"a", [1], 0.25):
        table = pa.table({"x": [1.0, 2, 4, 8], "kind": pa.array([value, None] * 2)})
        rejected(table, r"label column 'kind' must be whole numbers, booleans or text")


def test_labels_are_the_same_numbers_in_whatever_type(tmp_path):
    pairs = [0, 1], [1.0, 2.0], [True, False]
    batches = [pa.record_batch({"x": [1.0, 2.0], "kind": pair}) for pair in pairs]
    stats = statistics_from_batches(batches, "kind")
    assert (stats.classes.tolist(), stats.weights.tolist()) == ([0, 1, 2], [2, 3, 1])
    # Those of text files are integers if all are; 03 is not a number's own form.
    for zero, classes in (("", [3, 10]), ("0", ["03", "10"])):
        path = tmp_path / "a.csv"
        path.write_text(f"x,y\n1,{zero}3\n2,10\n4,{zero}3\n7.5,10\n")
        assert statistics_from_batches(path, "y").classes.tolist() == classes


def test_labels_are_found_among_classes():
    names = ["a", "A", "b", "7"]
    table = Table(pa.table({"x": [1.0] * 3, "kind": ["a", " B", "7.0"]}), "kind")
    with pytest.warns(SimilarLabelsWarning, match=r"' B', '7.0', which .* 'b', '7' of"):
        (rows,) = Pass(table, classes=np.array(names))
    assert rows.codes.tolist() == [0, 2, 3]
    ambiguous = Table(pa.table({"x": [1.0], "kind": ["a "]}), "kind")
    with pytest.raises(ValueError, match=r"\['a '\] that are not classes of the model"):
        list(Pass(ambiguous, classes=np.array(names)))


def test_tables_to_be_written_must_be_of_one_kind():
    tables = [pa.table({"x": [1.0], "kind": ["a"], name: [0]}) for name in "yz"]
    for source, n in (tables, 1), (tables[:1] * 2, 2):
        files = open_files(Table(source, "kind", ["x"], keep=True))
        if n == 2:
            assert len(list(files)) == 2
        else:
            with pytest.raises(ValueError, match=r"\['y', 'z'\]; process these files"):
                list(files)


@pytest.mark.filterwarnings("ignore::heterolda.exceptions.ReadingWarning")
def test_a_target_whose_values_mostly_differ_looks_like_a_measurement(frame, tmp_path):
    numbered = pd.concat([frame] * 4).assign(kind=np.arange(4 * len(frame)))
    measured = r"'kind' looks like a measurement .* has {} different values in {} row"
    rejected(numbered, measured.format(3600, "3,600"))
    path, sizes = tmp_path / "d.csv", numbered["kind"]
    for kind, n, text in (
        (sizes.map("{} mm".format), 100, "100 different values in 100"),
        (sizes.where(sizes % 20 > 0, "?"), 100, "96 different values in 100"),
        (sizes / 4, 8, "8 different values in 8"),
        (sizes % 30 / 4, 90, "30 different values in 90"),
    ):
        table = numbered.assign(kind=kind)[:n]
        table.to_csv(path, index=False)
        rejected(
            path, rf"'kind' looks like a measurement and not a class: it has {text}"
        )
        table.to_csv(path, index=False, sep=";", decimal=",")
        rejected(path, "or make classes of it, such as low and high")
    rejected(numbered.assign(kind=sizes / 4), r"values such as 0.25.*a measurement")
    numbered["kind"] = [f"row {k}" for k in numbered["kind"]]
    rejected(numbered, r"'kind' has \d+ different values in [\d,]+ rows; name another")


def test_numbers_of_any_type():
    bits, y = np.arange(50) % 3 % 2, np.arange(50) % 2
    kinds = pa.int8(), pa.uint64(), pa.float16(), pa.bool_(), pa.decimal128(21, 2)
    numbers = pa.array(1.0 * bits)
    for column in (*map(numbers.cast, kinds), numbers.dictionary_encode()):
        stats = statistics_from_batches(pa.table({"a": column, "y": y}), "y")
        assert_same(stats, ClassStatistics.from_data(bits[:, None], y))


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
    rejected(tmp_path, r"part-1.*column 'a', row 3 is missing")
    batches = pa.Table.from_pandas(frame[300:]).to_reader(max_chunksize=70)
    rejected(batches, "column 'kind', row 401 is missing")
    frame.loc[800, "a"] = np.inf  # rows that are left out count
    batches = pa.Table.from_pandas(frame[300:]).to_reader(max_chunksize=70)
    rejected(batches, "column 'a', row 501 is infinite", missing="drop")


def test_an_index_that_pandas_has_written_is_not_a_feature(frame, tmp_path):
    frame = frame.drop(columns="times").sample(frac=1, random_state=0)
    path = tmp_path / "a.parquet"
    for index in (frame.index, frame.index.astype(str).rename("id")):
        indexed = frame.set_index(index)
        indexed.to_parquet(path)
        for source in (path, indexed, ds.dataset(path)):
            stats = statistics_from_batches(source, "kind")
            assert stats.feature_names.tolist() == FEATURES
            assert_same(stats, direct(frame))
    numbered = frame.rename_axis("id")
    stats = statistics_from_batches(numbered, "kind", columns=["id", "a"])
    assert stats.feature_names.tolist() == ["id", "a"]  # if it is asked for
    path = tmp_path / "a.csv"
    frame.to_csv(path)
    with pytest.warns(ReadingWarning, match="left out 1 column without a name"):
        assert_same(statistics_from_batches(path, "kind"), direct(frame))


# What is rejected

FILES = {  # a file after good ones, and its error
    "half": (lambda f, data: data[: len(data) // 2], " cannot be read"),
    "renamed": (lambda f, _: f.rename(columns={"b": "B"}), r": its.*\['B', 'b'\]"),
    "text": (lambda f, _: f.assign(b="x"), ": 1 column is not .*: 'b' .row 1: 'x'"),
    "labels": (lambda f, _: f.assign(kind=1), ": the label column 'kind' is text"),
    "infinite": (lambda f, _: f.assign(a=np.inf), ": column 'a', row 1 is infinite"),
    "large": (lambda f, _: f.assign(a=1e200), ": .* of column 'a' are so large"),
}


@pytest.mark.parametrize("kind", FILES)
def test_damaged_and_foreign_files_are_named(frame, tmp_path, kind):
    frame = frame.drop(columns="times")
    save_parts(frame, tmp_path, "parquet")
    change, message = FILES[kind]
    fitted = fit_batches(GaussianLinearDiscriminant(), tmp_path, "kind")
    before = pickle.dumps(fitted)
    bad = tmp_path / "part-9.parquet"
    changed = change(frame, (tmp_path / "part-1.parquet").read_bytes())
    if isinstance(changed, bytes):
        bad.write_bytes(changed)
    else:
        changed.to_parquet(bad)
    with pytest.raises(ValueError, match=f"part-9.parquet{message}"):
        fit_batches(fitted, tmp_path, "kind")
    assert pickle.dumps(fitted) == before
    if kind == "half":
        whole = ds.dataset(tmp_path / "part-1.parquet").schema
        rejected(ds.dataset(tmp_path, schema=whole), "cannot be read: .*part-9.parquet")


def test_folders_in_folders(frame, tmp_path):
    frame = frame.drop(columns="times")
    for k, kind in enumerate(np.unique(frame["kind"])):
        folder = tmp_path / f"kind={kind}" / "deep.parquet"
        folder.mkdir(parents=True)
        frame[frame["kind"] == kind].to_parquet(folder / f"{k}.pq", index=False)
    for name in ("_SUCCESS", ".part.parquet", "notes.txt", "~$a.xlsx"):
        (tmp_path / name).touch()
    for source in (tmp_path, str(tmp_path / "kind=*"), str(tmp_path / "**" / "*.pq")):
        assert_same(statistics_from_batches(source, "kind"), direct(frame))
    inner = tmp_path / "kind=east"
    rejected([tmp_path, inner], "source: the file .*0.pq' is named more than once")


def test_requests_that_make_no_sense(frame, tmp_path):
    table = pa.Table.from_pandas(frame)
    (tmp_path / "a.docx").touch()
    (tmp_path / "none").mkdir()
    other = table.rename_columns(["a", "b", "C", "kind", "times"])
    wide = pa.table({f"x{k}": [1.0] for k in range(50)})
    twice = pa.table([[1.0], [2.0], ["a"]], names=["q", "q", "kind"])
    negative = frame.assign(times=-1.0)
    none, absent = tmp_path / "none", tmp_path / "no.parquet"
    for source, error, message, settings in [
        ([], ValueError, "empty list", {}),
        (tmp_path / "a.docx", ValueError, "not of a type that can be read", {}),
        (table, ValueError, "missing must be", {"missing": "skip"}),
        (table, ValueError, "list of names", {"columns": "ab"}),
        (table, ValueError, "more than once", {"columns": ["a", "kind"]}),
        (table, ValueError, "no column is named 'no'", {"columns": ["no"]}),
        (table.slice(0, 0), ValueError, "no rows", {}),
        ([table, other], ValueError, r"item 2 of source: its columns.*\['C'", {}),
        (wide, ValueError, "no column is named 'kind'; it has 'x0', .* 30 more", {}),
        (twice, ValueError, "several columns are named 'q': rename", {}),
        (negative, ValueError, "'times'.*negative", {"sample_weight": "times"}),
        (none, FileNotFoundError, "has no file", {}),
        (absent, FileNotFoundError, "there is no file", {}),
        (np.zeros((4, 2)), TypeError, "got ndarray: pass an array to fit", {}),
        ([*table.to_batches(), 5], TypeError, "item 2 of source must be a record", {}),
        (table, TypeError, "must be the name of a column", {"target": None}),
        (
            table,
            ValueError,
            "columns must be a list of names",
            {"columns": [0]},
        ),
    ]:
        rejected(source, message, error, **settings)
    more = twice.append_column("x", [[1.0]])
    stats = statistics_from_batches(more, "kind", exclude=["q"])
    assert stats.feature_names.tolist() == ["x"]


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
        from heterolda.data import arrow, statistics_from_batches
        arrow._BATCH_NUMBERS = 160_000
        peaks = []
        sources = sys.argv[1:]
        for source in [*sources, ds.dataset(sources[-1])]:
            statistics_from_batches(source, "y")
            peaks.append(peak_of_process())
        print(*peaks)
    """
    paths = [tmp_path / f"{name}.parquet" for name in sizes]
    command = [sys.executable, "-c", code, *paths]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=ROOT)
    small, _, large, dataset = map(int, run.stdout.split())
    assert large - small < 0.3 * table.nbytes
    assert dataset - small < 0.8 * table.nbytes


def test_the_row_with_too_many_cells_is_named(tmp_path):
    path, n = tmp_path / "a.csv", 1_200_000  # more than are read at a time
    path.write_text("x,kind\n" + "1,a\n" * n + "1,2,a\n")
    rejected(path, f"row {n + 1} has 3 cells, but there are 2 columns")
