"""Text as people have it: how it is written shows in its first lines."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from fuzz.commands import a_folder
from helpers.cli import invoke, succeed
from heterolda import MissingRowsWarning, ParameterError, ReadingWarning
from heterolda.data import statistics_from_batches
from heterolda.data.csv_reader import _check_na
from heterolda.data.decoding import NotNumbersError, parsed_numbers
from heterolda.data.formats import Format, as_utf8
from heterolda.data.layout import find_layout

ROWS = "1,5;2;a\n2,5;3;b\n"
HEADS = [
    # text; delimiter, decimal mark, names, lines before the first row
    ("x,y,k\n1,2,a\n", ",", ".", ["x", "y", "k"], 1),
    (f"x;y;k\n{ROWS}", ";", ",", ["x", "y", "k"], 1),
    (f"x, mm;y, mm;k\n{ROWS}", ";", ",", ["x, mm", "y, mm", "k"], 1),
    ("x;k\n1,5;a\n2,5;b\n", ";", ",", ["x", "k"], 1),
    ("July, 2024, new\nx;y;k\n1,5;2,5;a\n2,5;3;b\n", ";", ",", ["x", "y", "k"], 2),
    ("x\ty\n1,5\t2\n", "\t", ",", ["x", "y"], 1),
    ("x|y\n1.5|2\n", "|", ".", ["x", "y"], 1),
    ("x;y\n1.5;2\n1;1,5\n", ";", ".", ["x", "y"], 1),  # an error, later
    ("x;y\n1,500;2\n", ";", ".", ["x", "y"], 1),  # which may be thousands
    ('x,y\n"1,465.5",2\n', ",", ".", ["x", "y"], 1),
    ("x;y\n1.465,5;2\n", ";", ",", ["x", "y"], 1),
    ('"","x","k"\n"1",2,"a"\n"2",3,"b"\n', ",", ".", ["column_1", "x", "k"], 1),
    ('"x" "k"\n"1" 2 "a b"\n"2" 3 "c"\n', " ", ".", ["column_1", "x", "k"], 1),
    ("  x   k\n 1.5   a\n12.5   b\n", " ", ".", ["x", "k"], 1),
    ("x,k,\n1,a,\n2,b,\n", ",", ".", ["x", "k", "column_3"], 1),
    ("x,k\n1,a,\n2,b,\n", ",", ".", ["x", "k", "column_3"], 1),
    ("x,k,\n1,a\n2,b\n", ",", ".", ["x", "k"], 1),
    ("sep=;\nx;k\n1;a\n", ";", ".", ["x", "k"], 2),
    ("sep=,\n1,2\n3,4\n", ",", ".", ["1", "2"], 2),
    ("# of, July\n\nx,k\n1,a\n", ",", ".", ["x", "k"], 3),
    ("# of, July\n# x,k\n1,a\n", ",", ".", ["x", "k"], 2),
    ("Pump 5\n\nx,y,k\n1,2,a\n", ",", ".", ["x", "y", "k"], 3),
    ("Pump 5;;\nx;y;k\n1;2;a\n", ";", ".", ["x", "y", "k"], 2),
    (",,k\n1,2,a\n", ",", ".", ["column_1", "column_2", "k"], 1),
    ("x, y, k\n1, 2, a\n", ",", ".", ["x", "y", "k"], 1),
    ("x;y;k\nmm;1/min;\n" + 5 * "1;2;a\n", ";", ".", ["x", "y", "k"], 2),
    ("x;y;k\nNA;;\n" + 5 * "1;2;a\n", ";", ".", ["x", "y", "k"], 1),
    ('x,k\r\n"1\r\n",a\r\n', ",", ".", ["x", "k"], 1),
    ("x;y", ";", ".", ["x", "y"], 1),
    ("x, C;k\n1,5;a\n2,5;b\n", ";", ",", ["x, C", "k"], 1),
    ("x k\n1,5 a\n2,5 b\n", " ", ",", ["x", "k"], 1),
    ("x\n1,5\n2,5\n", ";", ",", ["x"], 1),  # one column
    ("1.5 kg,2 kg,a\n2.5 kg,3 kg,b\n", ",", ".", ["1.5 kg", "2 kg", "a"], 1),
    (";;\nx;y;k\n1;2;a\n", ";", ".", ["x", "y", "k"], 2),
    ('x,k\n"538",a\n"1,843",b\n', ",", ".", ["x", "k"], 1),  # grouped
    ("#id,x\n#1,2\n#2,3\n", ",", ".", ["#id", "x"], 1),
    ("x,k\n1.5,2,a\n2.5,3,b\n", ",", ".", ["x", "k"], 1),  # too long, later
]


@pytest.mark.filterwarnings("ignore::heterolda.ReadingWarning")
@pytest.mark.parametrize(("head", "delimiter", "decimal", "names", "n_lines"), HEADS)
def test_how_text_is_written_shows(head, delimiter, decimal, names, n_lines):
    layout = find_layout(head, Format(), ",", "t")
    assert layout.format.delimiter == delimiter
    assert layout.format.decimal == decimal
    assert (layout.names, layout.n_lines) == (names, n_lines)
    assert layout.unnamed == [name for name in names if name.startswith("column_")]
    # What is given is not looked for.
    given = Format(delimiter=";", decimal=".")
    found = find_layout(head, given, ",", "t").format
    assert (found.delimiter, found.decimal) == (";", ".")


@pytest.mark.filterwarnings("ignore::heterolda.ReadingWarning")
def test_without_a_header_the_first_line_is_a_row():
    given = Format(header=False)
    rows = {
        "1,2,a\n3,4,b\n": (",", 3, 0),
        "1,5;a\n2,5;b\n": (";", 2, 0),
        "20,5;a;9,7\n21,5;b;8\n": (";", 3, 0),
        "#1,2,a\n#2,4,b\n3,4,b\n": (",", 3, 0),
        "# of July\n2,4,b\n3,4,b\n": (",", 3, 1),
        "column_1,column_2\n1,2\n": (",", 2, 1),
    }
    for text, expected in rows.items():
        found = find_layout(text, given, ",", "t")
        assert (found.format.delimiter, len(found.names), found.n_lines) == expected
        assert found.names[0] == "column_1"
        assert found.unnamed == []
    with pytest.raises(ValueError, match=r"its first line \(x, y, k\) seems to name"):
        find_layout("x,y,k\n" + "1,2,a\n" * 5, given, ",", "t")


def test_what_may_be_meant_otherwise_is_said():
    notes = {
        "x k\n1 2 a\n2 3 b\n": "the first column was read as row names",
        "# of, July\nx,k\n1,a\n": "up to line 1, come before the table",
    }
    for text, note in notes.items():
        with pytest.warns(ReadingWarning, match=note):
            find_layout(text, Format(), ",", "t")
    for given in (Format(), Format(na=("gap", "no"))):
        first = "NA,nan" if not given.na else "gap,no"
        layout = find_layout(f"x,y\n{first}\n" + "1,2\n" * 6, given, ",", "t")
        assert layout.n_lines == 1  # gaps are no units
    with pytest.raises(ParameterError, match="-99,9 are two strings, but"):
        _check_na(Format(decimal=",", na=("?", "-99", "9")))
    _check_na(Format(decimal=",", na=("-99", "-9", "?")))
    # Thousands have no zero first, and three digits each.
    grouped = Format(decimal=",", grouped=True)
    found = parsed_numbers(pa.array(["1.234,5", "12", "1,5"]), grouped)
    assert found.to_pylist() == [1234.5, 12.0, 1.5]
    for cell in ("0.788", "1.2345", "1234.567,0"):
        with pytest.raises(NotNumbersError):
            parsed_numbers(pa.array([cell]), grouped)


def test_blanks_after_delimiters_are_not_part_of_cells(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x, y, kind\n" + "1, 2, a\n3, 5, b\n2, NA, a\n7, 1, b\n" * 5)
    with pytest.warns(MissingRowsWarning, match="5 of 20"):
        stats = statistics_from_batches(path, "kind", missing="drop")
    assert stats.feature_names.tolist() == ["x", "y"]
    assert stats.classes.tolist() == ["a", "b"]


LETTERS = "Öl,größe,α\n1,2,ß\n" * 3
CODES = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_text_of_any_encoding_wherever_it_is_cut(code, size):
    has_mark = code not in ("utf-16-le", "utf-16-be")  # or is known by its zeros,
    text = LETTERS if has_mark else LETTERS.replace("α", "o")  # of which α has none
    data = text.encode(code)
    first = 1 if has_mark else 100
    pieces = [data[k : k + size] for k in range(first, len(data), size)]
    assert b"".join(as_utf8([data[:first], *pieces], "t")).decode() == text


def test_what_is_not_utf8_is_of_windows():
    text = "Öl €,größe\n1,2\n" * 3
    data = b"x" * 10 + text.encode("cp1252") + b"\x81"
    for size in (1, 2, 5, 1000):
        pieces = [data[k : k + size] for k in range(0, len(data), size)]
        with pytest.warns(ReadingWarning, match="t is not text in UTF-8"):
            found = b"".join(as_utf8(pieces, "t")).decode()
        assert found == "x" * 10 + text + "\x81"
    bad = {
        b"x,\0\n1,2\n": "zero bytes",
        "ö,\n".encode() + "ö".encode("latin-1"): "with bytes of another encoding",
        b"\xff\xfea\0\x00\xd8": "begins as text in UTF-16, but is damaged",
    }
    for data, message in bad.items():
        with pytest.raises(ValueError, match=message):
            list(as_utf8([data], "t"))


def test_a_model_keeps_the_na_strings_and_that_there_is_no_header():
    rows = "".join(f"{k % 4 + k % 3},{k % 5},{'abcd'[k % 4]}\n" for k in range(60))
    gaps = "-999,1,a\n1,-999.0,b\n?,2,a\n1,2,?\n"
    words = "-t", "column_3", "--no-header", "-o", "m.json", "--na", "?,-999"
    with a_folder(data_csv=(rows + gaps).encode()):
        result = invoke("fit", "data.csv", *words)
        assert result.exit_code == 1
        assert "column 'column_1', row 61 is missing" in result.stderr
        result = invoke("fit", "data.csv", *words, "--missing", "drop")
        assert "4 of 64 rows have missing values" in result.stderr
        assert "These also count as missing values: ?, -999: " in result.stdout
        for text, said in {
            "2,1\n-999,1\n": "column_1,column_2,prediction\n2,1,b\n-999,1,\n",
            "1,a,2\n" * 9: "The model needs numbers",
            "1\n2\n": "columns might be confused",
        }.items():
            Path("new.csv").write_text(text)
            result = invoke("predict", "m.json", "new.csv", "--missing", "keep")
            assert said in result.stdout + result.stderr


def test_marks_that_are_numbers_are_no_gaps_of_labels():
    rows = [(k % 4 + k % 3 + 1, k % 5 + 1, k % 4) for k in range(60)]
    table = pa.table(
        dict(zip(["x", "y", "kind"], zip(*rows, strict=True), strict=True))
    )
    with a_folder():
        pq.write_table(table, "data.parquet")
        csv.write_csv(table, "data.csv")
        for name in ("data.parquet", "data.csv"):
            shown = succeed("fit", name, "-t", "kind", "--na", "0", "--no-accuracy")
            assert "60 rows, 2 features, 4 classes" in shown
