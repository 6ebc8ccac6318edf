"""Text as people have it: its first lines show its layout, and its rows stay whole."""

import csv
import io
import re
import warnings
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from fuzz.commands import a_folder
from helpers.cli import succeed
from heterolda.data import text_rows
from heterolda.data.csv_reader import open_text
from heterolda.data.decoding import NotNumbersError, parsed_numbers
from heterolda.data.formats import Encoding, Format, as_utf8
from heterolda.data.layout import find_layout
from heterolda.data.table import Table
from heterolda.data.text_rows import complete_rows, merged_blanks, without_empty_rows
from heterolda.data.writer import write_table
from heterolda.exceptions import ReadingWarning

ROWS = "1,5;2;a\n2,5;3;b\n"
HEADS = [
    # text; delimiter, decimal mark, names, lines before the first row
    (f"x;y;k\n{ROWS}", ";", ",", ["x", "y", "k"], 1),
    (f"x, mm;y, mm;k\n{ROWS}", ";", ",", ["x, mm", "y, mm", "k"], 1),
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
    ("x,k\n7,2,a\n9,3,b\n", ",", ".", ["x", "k"], 1),  # an error, later
    ("x,k,\n1,a,\n2,b,\n", ",", ".", ["x", "k", "column_3"], 1),
    ("sep=;\nx;k\n1;a\n", ";", ".", ["x", "k"], 2),
    ("# of, July\n\nx,k\n1,a\n", ",", ".", ["x", "k"], 3),
    ("Pump 5;;\nx;y;k\n1;2;a\n", ";", ".", ["x", "y", "k"], 2),
    ("x, y, k\n1, 2, a\n", ",", ".", ["x", "y", "k"], 1),
    ("x;y;k\nmm;1/min;\n" + 5 * "1;2;a\n", ";", ".", ["x", "y", "k"], 2),
    ("x;y;k\nNA;;\n" + 5 * "1;2;a\n", ";", ".", ["x", "y", "k"], 1),
    ('x,k\r\n"1\r\n",a\r\n', ",", ".", ["x", "k"], 1),
    ("x\n1,5\n2,5\n", ";", ",", ["x"], 1),  # one column
    ('x,k\n"538",a\n"1,843",b\n', ",", ".", ["x", "k"], 1),  # grouped
    ("#id,x\n#1,2\n#2,3\n", ",", ".", ["#id", "x"], 1),
]


@pytest.mark.filterwarnings("ignore::heterolda.exceptions.ReadingWarning")
def test_the_first_lines_show_the_layout():
    for head, delimiter, decimal, names, n_lines in HEADS:
        layout = find_layout(head, Format(), ",", "t")
        form = layout.format
        assert (form.delimiter, form.decimal) == (delimiter, decimal), head
        assert form.grouped == bool(re.search(r"1[.,](465|843)", head)), head
        assert (layout.names, layout.n_lines) == (names, n_lines)
        assert layout.unnamed == [n for n in names if n.startswith("column_")]
        # What is given is not detected.
        form = find_layout(head, Format(delimiter=";", decimal="."), ",", "t").format
        assert (form.delimiter, form.decimal) == (";", ".")
    mixed = "x;y\n1.465;2,5\n"  # an error, unless the decimal mark is given
    for given, decimal in ((None, "."), (",", ",")):
        form = find_layout(mixed, Format(decimal=given), ",", "t").format
        assert (form.decimal, form.grouped) == (decimal, given == ",")


def test_lines_that_repeat_the_names_are_rejected_or_left_out():
    body = "1,2,a\n3,4,b\n" * 10
    for text, line, n_rows in (
        ("x,z,k\n" + body + "x,z,k\n" + body, 22, 40),
        ("x,z,k\n" + body + "x,z,k", 22, 20),  # at the end
        ("x,z,k\nx,z,k\n" + body, 2, 20),  # these are no units
        ("x,z,k\n\n" + body + "\n\ufeff x,z,k \r\n" + body, 24, 40),
        (("1100,1104,k\n" + body) * 3, 22, 60),  # numbers
        (("x,z,k\n" + body).replace("\n", "\r") * 2, 22, 40),
        (('"x","z ,","k"\n' + body) * 2, 22, 40),
        ((" x   z\t k\n" + body.replace(",", "  ")) * 2, 22, 40),
        (('"x\ny",z,k\n' + body) * 2, 23, 40),
    ):
        for size in (len(text), 7):
            pieces = [text[k : k + size].encode() for k in range(0, len(text), size)]
            file = opened(pieces, skip_repeated_header=False)
            message = rf"^t: line {line} repeats the column names, .* --skip-rep"
            with pytest.raises(ValueError, match=message):
                list(file.batches)
            file = opened(pieces, skip_repeated_header=True)
            left_out = f"t: left out {2 if '1100' in text else 1} line"
            with pytest.warns(ReadingWarning, match=left_out):
                assert sum(batch.num_rows for batch in file.batches) == n_rows, text


def opened(pieces, **settings):
    """Open pieces of text; the first has at least the names."""
    table = Table("t", target="k", keep=True, format=Format(**settings))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return open_text(iter(pieces), table, "t", Encoding(), n_bytes=99)


@pytest.mark.filterwarnings("ignore::heterolda.exceptions.ReadingWarning")
def test_without_a_header_the_first_line_is_a_row():
    given = Format(header=False)
    rows = {
        "1,5;a\n2,5;b\n": (";", 2, 0),
        "#1,2,a\n#2,4,b\n3,4,b\n": (",", 3, 0),
        "# of July\n2,4,b\n3,4,b\n": (",", 3, 1),
        "column_1,column_2\n1,2\n": (",", 2, 1),
    }
    for text, expected in rows.items():
        layout = find_layout(text, given, ",", "t")
        assert (layout.format.delimiter, len(layout.names), layout.n_lines) == expected
        assert layout.names[0] == "column_1"
        assert layout.unnamed == []
    fitted = Format(header=False, n_columns=(4, 3))
    find_layout("1,2,a\n", fitted, ",", "t")
    for text, n in {"1,2\n": 2, "1,2,3,4,a\n": 5}.items():
        with pytest.raises(ValueError, match=f"has {n} columns, but .* to 3 or 4"):
            find_layout(text, fitted, ",", "t")


def test_guesses_are_noted():
    for text, note in {
        "x k\n1 2 a\n2 3 b\n": "the first column was read as row names",
        "# of, July\nx,k\n1,a\n": "up to line 1 comes before the table",
        "x;y\n1.465,5;2\n": "have thousands separators",
        "x;y\n1,5;2\n": "have a decimal comma",
    }.items():
        with pytest.warns(ReadingWarning, match=note):
            find_layout(text, Format(), ",", "t")


def test_numbers_with_commas():
    # Thousands have no zero first, and three digits each.
    grouped = Format(decimal=",", grouped=True)
    cells = ["1.234,5", " 12\u00a0", "1,5", "NA", "\u00a0"]
    numbers = parsed_numbers(pa.array(cells), grouped)
    assert numbers.to_pylist() == [1234.5, 12.0, 1.5, None, None]
    for cell in ("0.788", "1.2345", "1234.567,0"):
        with pytest.raises(NotNumbersError):
            parsed_numbers(pa.array([cell]), grouped)


def test_tables_are_written_in_the_format_of_the_data(tmp_path):
    first = pa.record_batch({"a": [0.5, None], "b": ["x", 'y;"z"']})
    second = pa.record_batch({"a": [2.0], "b": ["é"]})
    path = tmp_path / "a.csv"
    for delimiter, decimal, expected in (
        (";", ",", 'a;b\r\n0,5;x\r\n;"y;""z"""\r\n2;é\r\n'),
        ("\t", ",", 'a;b\r\n0,5;x\r\n;"y;""z"""\r\n2;é\r\n'),  # no .tsv
        ("\t", ".", 'a,b\r\n0.5,x\r\n,"y;""z"""\r\n2,é\r\n'),
    ):
        early = Format(delimiter, decimal, line_end="\r\n")
        # Windows-1252 is found out only with a later row.
        late = replace(early, encoding=Encoding("Windows-1252"))
        assert write_table([(first, early), (second, late)], str(path)) == 3
        assert path.read_bytes() == expected.encode("cp1252")


LETTERS = "Öl,größe,α\n1,2,ß\n" * 3


@pytest.mark.parametrize("code", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_text_of_any_encoding_wherever_it_is_cut(code):
    data = (LETTERS if code != "utf-16-be" else f"\ufeff{LETTERS}").encode(code)
    for size in (1, 2, 3, 1000):
        pieces = [data[k : k + size] for k in range(0, len(data), size)]
        assert b"".join(as_utf8(pieces, "t")).decode() == LETTERS


def test_text_that_is_not_utf8_is_of_windows():
    text = "Öl €,größe\n1,2\n" * 3
    data = b"x" * 10 + text.encode("cp1252") + b"\x81"
    for size in (1, 2, 5, 1000):
        pieces = [data[k : k + size] for k in range(0, len(data), size)]
        with pytest.warns(ReadingWarning, match="t is not UTF-8"):
            read = b"".join(as_utf8(pieces, "t")).decode()
        assert read == "x" * 10 + text + "\x81"
    bad = {
        b"x,\0\n1,2\n": "zero bytes",
        "ö,\n".encode() + "ö".encode("latin-1"): "with bytes of another encoding",
        b"\xff\xfea\0\x00\xd8": "begins as text in UTF-16, but is damaged",
    }
    for data, message in bad.items():
        for size in (3, 1000):
            pieces = [data[k : k + size] for k in range(0, len(data), size)]
            with pytest.raises(ValueError, match=message):
                list(as_utf8(pieces, "t"))


def test_na_strings_that_are_numbers_are_not_missing_labels():
    rows = "".join(f"{k % 4 + k % 3},{k % 5},{k % 4}\n" for k in range(60))
    words = "-t", "column_3", "--no-header", "--no-accuracy"
    em = "--missing", "em"
    with a_folder(data_csv=rows.encode()):
        shown = succeed("fit", "data.csv", *words, "--na", "0", *em)
    assert "60 rows, 2 features, 4 classes" in shown


# Rows of text, cut where they end

CELLS = ["1", "", '5" pipe', '"a"', '"b ""c"""', '"d\ne"', '"f,g;"', "'", "é", '""']


def pieces_of(text, rng):
    cuts = np.sort(rng.integers(0, len(text) + 1, size=rng.integers(0, 12)))
    cut = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    return [piece for piece in cut if piece]


def parsed(text, delimiter):
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


@pytest.mark.parametrize(("delimiter", "least"), [(",", 0), (";", 20)])
def test_rows_are_whole_wherever_the_text_is_cut(rng, delimiter, least):
    for _ in range(150):
        rows = [rng.choice(CELLS, size=3) for _ in range(rng.integers(1, 9))]
        end = rng.choice(["\n", "\r\n"])
        text = end.join(delimiter.join(row) for row in rows) + rng.choice(["", end])
        pieces = pieces_of(text.encode(), rng)
        cut = list(complete_rows(pieces, delimiter, "text", least))
        assert b"".join(cut) == text.encode()
        again = [row for piece in cut for row in parsed(piece.decode(), delimiter)]
        assert again == parsed(text, delimiter)
        assert least <= len(text.encode()) or len(cut) == 1


def test_open_quotes_are_rejected(rng):
    for text, line in (
        ('x,y\n1,"a\n2,b\n', 2),  # not closed
        ('x,y\n1,a\n2,"b\n3,c\n4,"d\n5,e\n', 3),  # closed by another's opening
        ('x,y\n1,"big" one\n', 2),
        ('x,y\n1,"a\n2,5" q\n', 2),
        ('x,"y\n1,2\n', 1),
    ):
        for _ in range(20):
            message = f"^t: a quote .* begins in line {line}:"
            with pytest.raises(ValueError, match=message):
                list(complete_rows(pieces_of(text.encode(), rng), ",", "t"))


def test_rows_without_an_end_are_rejected(monkeypatch):
    monkeypatch.setattr(text_rows, "_MAX_ROW_BYTES", 1000)
    with pytest.raises(ValueError, match="row that begins in line 2 is longer than"):
        list(complete_rows([b"x\n", b"a" * 900, b"a" * 900], ",", "t"))


def test_a_row_goes_on_as_soon_as_its_quotes_are_closed():
    sent = []

    def pieces():
        for piece in (b'x,y\n1,"a\n', b'b"', b"\n", b'2,"c\n', b'd"\n', b"3,e\n"):
            sent.append(piece)
            yield piece

    rows = complete_rows(pieces(), ",", "t")
    for n_sent, expected in ((1, b"x,y\n"), (3, b'1,"a\nb"\n'), (5, b'2,"c\nd"\n')):
        assert next(rows) == expected
        assert len(sent) == n_sent
    assert list(rows) == [b"3,e\n"]


def test_blanks_and_empty_rows():
    assert merged_blanks(b"  a \t b\n1  2 \r\n\n x\ty") == b"a b\n1 2\r\n\nx y"
    text = b";;\na;b;\n;;\r\n;\n;c;\n;;"
    assert without_empty_rows(text, ";") == b"a;b;\n;c;\n"
    assert without_empty_rows(b'"\n;\n";1\n', ";") == b'"\n;\n";1\n'


def test_empty_lines_above_a_table_are_read_once():
    """Millions of them took minutes, as all were looked at again with each piece."""
    rows = "".join(f"{k % 7},{'ab'[k % 3 == 0]}\n" for k in range(60))
    with a_folder(data_csv=("\n" * 1_000_000 + f"x,kind\n{rows}").encode()):
        shown = succeed("fit", "data.csv", "-t", "kind", "--no-accuracy")
    assert "60 rows, 1 feature," in shown
