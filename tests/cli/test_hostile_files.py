"""Small files that once broke a reader, or might: what comes of each is known."""

import gzip
import io
import os
import struct
import zipfile

import numpy as np
import pyarrow as pa
import pytest

from fuzz.commands import a_folder
from fuzz.statistics_npz import seeds as statistics_files
from fuzz.tables import check as check_table
from fuzz.tables import model, text_seeds, written
from helpers.cli import invoke, start, succeed
from heterolda import ClassStatistics
from heterolda.data import statistics_from_batches
from heterolda.exceptions import SimilarLabelsWarning

GOOD = text_seeds()[0].decode()
FIT = "fit DATA -t kind -o new.json"
PREDICT = "predict model.json DATA -o out.csv --proba"
PROJECT = "project DATA -t kind -o out.csv"


def named(cases):
    """Return names of tests: contents are long."""
    return [f"{k}: {case[-1]}" for k, case in enumerate(cases)]


def npy(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array))
    return file.getvalue()


def claims(shape):
    """An array without numbers whose header claims some."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    head = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head


# An array of a file of statistics (1), or of wide data (-1), and what is wrong.
STATISTICS = [
    (1, "scatters", claims((100_000, 100_000)), "is not as large as stated"),
    (1, "scatters", npy(-np.ones((4, 2, 2))), "is indefinite"),
    (1, "means", b"\x93NUMPY\x07\x00", "unknown version|format version"),
    (1, "weights", npy([1 + 2j] * 4), "must be real numbers"),
    (-1, "n_factors", npy([4, -1]), "do not fit together"),
    # Their sum overflows to three.
    (-1, "n_factors", npy(np.array([2**64 - 1, 4], np.uint64)), "do not fit"),
    (-1, "factors", npy(np.full((3, 5), 1e160)), "overflow float64"),
    (1, "scatters", npy(np.zeros((4, 2100, 2100))), "far larger than the file"),
]


@pytest.mark.parametrize(
    ("place", "name", "content", "message"), STATISTICS, ids=[s[-1] for s in STATISTICS]
)
def test_statistics_that_are_none(place, name, content, message):
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(statistics_files()[place])) as good,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bad,
    ):
        for member in good.namelist():
            is_bad = member == f"{name}.npy"
            bad.writestr(member, content if is_bad else good.read(member))
    with pytest.raises(ValueError, match=message):
        ClassStatistics.load(io.BytesIO(file.getvalue()))


TEXT = [
    (FIT, GOOD + '1,2,"north\n', "a quote is not closed"),
    (PREDICT, GOOD + '1,2,"north\n3,4,south\n', "in the row that begins in line 26"),
    (FIT, GOOD + "1.5,\x1b[31m2,north\n", r"(row 25: '\x1b[31m2')"),
    (FIT, GOOD + f"1.5,{'z' * 5000},north\n", "zzz...'). Write plain numbers"),
    (FIT, f"x0,{'k' * 200_000}\n1,2\n", "a cell of its first row has more than"),
    (FIT, "x0\0,kind\n1,2\n", "it has zero bytes"),
    (FIT, "kind\n1\n2\n", "there is no column besides ['kind']"),
    (FIT, GOOD + "1e200,1,north\n-1e200,1,north\n", "too large|overflow|square"),
    (PROJECT, GOOD + "1e300,1,alone\n", "column 'x0' are so large that their squares"),
]


@pytest.mark.parametrize(("command", "text", "message"), TEXT, ids=named(TEXT))
def test_text_that_is_no_table(command, text, message):
    for ending in (".csv.gz", ""):  # a file and a stream
        data = gzip.compress(text.encode()) if ending else text.encode()
        assert not check_table(data, ending, command)
    with a_folder(model_json=model(), data_csv=text.encode()):
        said = invoke(*command.replace("DATA", "data.csv").split()).stderr
    assert any(part in said for part in message.split("|")) or message in said, said


def test_labels_that_look_alike():
    many = ["9007199254740992", "9007199254740993"]  # one number in float64
    labels = ["1", "1.0", "2", "a ", "a", "b", "A", "c", *many] * 3
    table = pa.table({"x": np.arange(30.0) ** 2, "kind": labels})
    expected = r"'1' and '1.0'; 'a ' and 'a' and 'A'\. If they"
    with pytest.warns(SimilarLabelsWarning, match=expected):
        statistics = statistics_from_batches(table, "kind")
    assert len(statistics.classes) == 10


def test_names_that_command_a_terminal_are_shown_and_not_obeyed():
    text = GOOD.replace("north", "\x1b[31mred").replace("x0", "\u202etxt\u2028y")
    with a_folder(data_csv=text.encode()):
        said = succeed("fit", "data.csv", "-t", "kind", "-o", "new.json")
        assert "\x1b" not in said
        assert r"\x1b[31mred" in said
        shown = succeed("inspect", "new.json")
        assert r"\u202etxt\u2028y" in shown
        assert "\x1b" not in shown
        # Tables keep what they are given.
        table = succeed("predict", "new.json", "data.csv")
        assert "\x1b[31mred" in table


def columns(n=24, **changes):
    rng = np.random.default_rng(0)
    kinds = np.array(["north", "south", "east", "west"])
    plain = {"x0": rng.normal(size=n), "x1": rng.normal(size=n)}
    return pa.table({**plain, "kind": kinds[np.arange(n) % 4], **changes})


def test_parquet_that_is_odd_cut_or_damaged():
    nothing, lists = pa.nulls(24), pa.array([[1.0]] * 24)
    x0 = pa.array(range(24)).cast(pa.decimal128(21, 2))
    x1 = pa.array([True, False] * 12).dictionary_encode()
    for data, command, accepted in (
        (written(columns(x0=x0, x1=x1)), FIT, True),
        (written(columns(x0=nothing)), FIT, False),
        (written(columns(x1=lists)), PREDICT, False),
        (written(columns(0)), FIT, False),
        (written(columns(0)), PREDICT, True),
        *((written(columns())[:cut], FIT, False) for cut in (0, 8, 100, -8, -1)),
    ):
        assert check_table(data, ".parquet", command) == accepted
    columns_of_three = columns(kind=["north", "south", "east"] * 8)
    data = written(columns_of_three, compression="none", store_schema=False)
    codes = bytes([0b00_10_01_00, 0b01_00_10_01])  # of 0, 1, 2, 0, 1, 2, 0, 1
    for word, command in ((b"north", FIT), (b"north", PREDICT), (codes, FIT)):
        assert word in data
        damaged = data.replace(word, b"\xc3" + word[1:])
        assert not check_table(damaged, ".parquet", command)


def test_long_text_in_many_rows_of_a_small_parquet_file():
    # Spelled out, the labels would take 20 GB.
    n = 100_000
    indices = pa.array(np.arange(n) % 2, pa.int32())
    labels = pa.DictionaryArray.from_arrays(indices, ["a" * 200_000, "b" * 200_000])
    few = np.random.default_rng(0).integers(0, 3, n)
    data = written(
        columns(n, kind=labels, x0=few, x1=few[::-1]),
        store_schema=False,
        compression="gzip",
    )
    assert len(data) < 100_000
    before = pa.total_allocated_bytes()
    with a_folder(data_parquet=data):
        result = invoke("fit", "data.parquet", "-t", "kind", "-o", "new.json")
        assert "'kind' has a label of 200,000 characters, 'aaa" in result.stderr
        assert "another column with --target" in result.stderr
        assert not os.path.exists("new.json")
    pool = pa.default_memory_pool()
    assert pool.max_memory() - before < 500_000_000


@pytest.mark.check
def test_no_reader_outlives_its_command(tmp_path):
    # Python aborted at its end, after the right message: status 134.
    zeros, row = tmp_path / "zeros.csv.gz", tmp_path / "row.csv"
    stored = tmp_path / "model.json"
    zeros.write_bytes(gzip.compress(b"x0,x1,kind\n" + bytes(300_000_000), 1))
    row.write_bytes(b"x0,x1,kind\n1," + b"2" * 40_000_000 + b",north\n")
    stored.write_bytes(model())
    for path, command in (
        (zeros, ["fit", zeros, "-t", "kind", "-o", tmp_path / "new.json"]),
        (row, ["predict", stored, row, "-o", tmp_path / "out.csv"]),
        (row, ["evaluate", stored, row, "-t", "kind"]),
    ):
        process = start(*command)
        said = process.communicate()[1].decode()
        assert process.returncode == 1, said
        assert said.splitlines()[-1].startswith(f"heterolda: {path}"), said
    assert set(tmp_path.iterdir()) == {zeros, row, stored}
