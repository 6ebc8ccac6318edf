"""Columns that are not numbers: one message names them, and its advice works."""

import re
import shlex
from decimal import Decimal

import pyarrow as pa
import pytest

from helpers.cli import invoke, make_frame, succeed
from heterolda.data import csv_reader, statistics_from_batches

pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.ModelMisfitWarning"
)

FIT = "fit", "--no-accuracy"
IDS, PLACES = [f"p{k}" for k in range(200)], ["Rome", "New York", "Rome"]
DAYS = [f"2024-01-{k:02d}" for k in range(1, 29)]
# By the option that helps: columns with their values, and the first that is no number.
COLUMNS = {
    "--na": {
        "mark": (["1.5", "2", "4", "7", "?"], "row 5: '?'"),
        "n.d.": ([*"123456789" * 2, "n.d."], "row 19: 'n.d.'"),
        "typing error": ([*map(str, range(199)), "two"], "row 200: 'two'"),
    },
    "--categorical": {
        "city": (PLACES, "row 1: 'Rome'"),
        "code": (["1", "2", "A"], "row 3: 'A'"),
    },
    "--exclude": {
        "iso": (DAYS, "row 1: '2024-01-01'"),
        "hour": ([f"{k}:30" for k in range(24)], "row 1: '0:30'"),
        'the "id", in $HOME': (IDS, "row 1: 'p0'"),
        "unit": (["mm"], "row 1: 'mm'"),
        "empty": ([""], "empty"),
        "note": (["", "", "1;5 " + "see the note " * 5], "row 3: '1;5 see the note"),
    },
    None: {"number": (["1", "-2.5", "3e4", "20241231"], ""), "gaps": (["", "1"], "")},
}
# Columns of numbers of which some cells are wrong, or all are written in another way.
MENDED = {
    "length": ([f"{k / 7:.2f} mm" for k in range(99)], "row 1: '0.00 mm'"),
    "price": ([f"${k / 7:.2f}" for k in range(99)], "row 1: '$0.00'"),
    "comma": ([f"{k},{k}" for k in range(199)], "row 1: '0,0'"),
    "dash": ([f"\u2212{k}.5" for k in range(99)], "row 1: '\u22120.5'"),
    "limit": ([*map(str, range(99)), "<0.1"], "row 100: '<0.1'"),
    "points": ([*map(str, range(199)), "1.2.3"], "row 200: '1.2.3'"),
    "sum": ([*map(str, range(199)), "total 3"], "row 200: 'total 3'"),
    "grade": ([*"12345" * 39, *["1 O"] * 5], "row 196: '1 O'"),
    "mixed": ([*map(str, range(110)), *IDS[110:]], "row 111: 'p110'"),
}


def frame_with(rng, **columns):
    frame = make_frame(rng).drop(columns="id")
    for name, values in columns.items():
        cells = [values[k % len(values)] for k in range(len(frame))]
        frame.insert(0, name, cells)
    return frame


def advised(message):
    return shlex.split(re.search(r"[.,] (?:or )?[Aa]dd (--.*?)(; |$)", message)[1])


def message_of(*arguments):
    result = invoke(*arguments)
    assert result.exit_code in (1, 2), result.stderr
    *notes, said = result.stderr.splitlines()
    assert all(note.startswith("note: ") for note in notes)
    return said


def test_all_columns_are_named_and_the_advice_makes_the_next_command_work(
    rng, tmp_path
):
    path = tmp_path / "my data.csv"
    columns = {name: one for kind in COLUMNS.values() for name, one in kind.items()}
    reverse = {name: columns[name][0] for name in reversed(columns)}
    frame_with(rng, **reverse).to_csv(path, index=False)
    for command, missing in (FIT, "em"), (("project",), "drop"):
        arguments = *command, path, "-t", "kind"
        said = message_of(*arguments)
        assert f"{path}: 11 columns are not all numbers: 'mark' (row" in said
        for name, (_, cell) in columns.items():
            assert f"'{name}' ({cell}" in said if cell else f"'{name}'" not in said
        options = advised(said)
        assert options[:4] == ["--na", "?,n.d.,two", "--categorical", "city,code"]
        assert options[-2:] == ["--missing", missing]
        succeed(*arguments, *options)
    # Given options are kept.
    given = "--exclude", "unit,x0", "--missing", "drop"
    more = advised(message_of(*arguments, *given))
    assert "--missing" not in more
    assert more[-1].startswith("unit,x0,")
    with pytest.raises(ValueError, match=r"or use exclude=\['city', 'code', 'iso', "):
        statistics_from_batches(path, "kind")


def test_no_column_of_numbers_is_given_up_for_some_cells_or_a_unit(rng, tmp_path):
    path = tmp_path / "d.csv"
    columns = {name: values for name, (values, _) in reversed(MENDED.items())}
    frame = frame_with(rng, **columns)
    frame.to_csv(path, index=False)
    said = message_of(*FIT, path, "-t", "kind")
    shown = ", ".join(f"'{name}' ({cell})" for name, (_, cell) in MENDED.items())
    assert f"{path}: 9 columns are not all numbers: {shown}. Write pl" in said
    mended = ", ".join(map(repr, MENDED))
    assert said.endswith(f". Write plain numbers in {mended}")
    frame.assign(x0=IDS).to_csv(path, index=False)
    said = message_of(*FIT, path, "-t", "kind")
    assert said.endswith(f"in {mended}. Correct the others, or add --exclude x0")
    # In Parquet files text is not parsed.
    table = pa.table({"x": ["1.5", "2", "4", "7.5"], "k": [*"abab"]})
    with pytest.raises(
        ValueError, match=r"'x' \(row 1: '1.5'\)\. Write plain numbers in 'x'"
    ):
        statistics_from_batches(table, "k")


FIRST = {
    "5.1,3.5,1.4,0.2,setosa": True,
    ",".join([*map(str, range(1100, 1140, 4)), "kind"]): False,  # wavelengths
    "x0,x1,3,4,kind": False,
}


@pytest.mark.parametrize(("first", "is_row"), FIRST.items())
def test_a_first_line_that_may_be_a_row(rng, tmp_path, first, is_row):
    path = tmp_path / "d.data"
    d = first.count(",")
    frame = make_frame(rng, 80, d=d).drop(columns="id")
    rows = frame.to_csv(index=False, header=False)
    path.write_text(f"{first}\n{rows}".replace("west", first.split(",")[-1]))
    said = message_of("fit", path, "-t", "species")
    assert "no column is named 'species'; it" in said
    assert ("its first line was read as column names, '" in said) == is_row
    if is_row:
        target = f"column_{d + 1}"
        options = re.search("if it is a row, add (.*?);", said)[1].split()
        has_text = first[-1].isalpha()
        assert options == ["--no-header", *(["--target", target] if has_text else [])]
        assert "81 rows" in succeed(*FIT, path, "-t", target, *options)
    # If all goes well there is but a note.
    result = invoke(*FIT, path, "-t", first.split(",")[-1])
    assert result.exit_code == 0, result.stderr
    assert ("if it is a row, add --no-header" in result.stderr) == is_row


def test_decimals_of_parquet_are_numbers():
    table = pa.table({"price": [Decimal(1)] * 4, "city": [*"abac"], "kind": [*"abab"]})
    with pytest.raises(ValueError, match=r"1 column is .*: 'city' \(row 1: 'a'\)"):
        statistics_from_batches(table, "kind")


def test_rows_are_counted_over_all_pieces_of_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_reader, "_READ_BYTES", 1000)
    path = tmp_path / "a.csv"
    path.write_text("x,kind\n" + "1,a\n2,b\n" * 10_000 + "two,b\n")
    with pytest.raises(ValueError, match=r"'x' \(row 20001: 'two'\)"):
        statistics_from_batches(path, "kind")
