"""Text: rows are cut where they end, open quotes refused, answers given at once."""

import csv
import io

import numpy as np
import pytest

from helpers.cli import invoke, succeed
from heterolda.data import text_rows
from heterolda.data.text_rows import complete_rows, merged_blanks, without_empty_rows

CELLS = ["1", "", '5" pipe', '"a"', '"b ""c"""', '"d\ne"', '"f,g;"', "'", "é", '""']
ROWS = "".join(f"{k % 7},{'ab'[k % 3 == 0]}\n" for k in range(60))


def pieces_of(text, rng):
    """Text cut at random places."""
    cuts = np.sort(rng.integers(0, len(text) + 1, size=rng.integers(0, 12)))
    cut = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    return [piece for piece in cut if piece]


def parsed(text, delimiter):
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t"])
@pytest.mark.parametrize("least", [0, 20])
def test_rows_are_whole_wherever_the_text_is_cut(rng, delimiter, least):
    for _ in range(75):
        rows = [rng.choice(CELLS, size=3) for _ in range(rng.integers(1, 9))]
        end = rng.choice(["\n", "\r\n"])
        text = end.join(delimiter.join(row) for row in rows) + rng.choice(["", end])
        pieces = pieces_of(text.encode(), rng)
        cut = list(complete_rows(pieces, delimiter, "text", least))
        assert b"".join(cut) == text.encode()
        again = [row for piece in cut for row in parsed(piece.decode(), delimiter)]
        assert again == parsed(text, delimiter)
        assert least <= len(text.encode()) or len(cut) == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('x,y\n1,"a\n2,b\n', 1),  # not closed
        ('x,y\n1,a\n2,"b\n3,c\n4,"d\n5,e\n', 2),  # closed by the opening of another
        ('x,y\n1,"big" one\n', 1),
        ('x,y\n1,"a\n2,5" q\n', 1),
        ('x,"y\n1,2\n', 0),
    ],
)
def test_open_quotes_are_refused(rng, text, line):
    message = f"^t: a quote .* begins in line {line + 1}:"
    for _ in range(20):
        with pytest.raises(ValueError, match=message):
            list(complete_rows(pieces_of(text.encode(), rng), ",", "t"))


def test_rows_without_an_end_are_refused(monkeypatch):
    monkeypatch.setattr(text_rows, "_LONGEST_ROW", 1000)
    with pytest.raises(ValueError, match="row that begins in line 2 is longer than"):
        list(complete_rows([b"x\n", b"a" * 900, b"a" * 900], ",", "t"))
    with pytest.raises(ValueError, match="a quote is not closed"):
        list(complete_rows([b'x\n"', b"a\n" * 900], ",", "t"))


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


def test_cells_longer_than_the_limit_of_the_csv_module():
    limit = csv.field_size_limit()
    text = b'x,y\n1,"' + b'""a\n' * limit + b'"\n2,5" q\n'
    assert b"".join(complete_rows([text], ",", "t")) == text
    assert csv.field_size_limit() == limit


def test_blanks_and_empty_rows():
    assert merged_blanks(b"  a \t b\n1  2 \r\n\n x\ty") == b"a b\n1 2\r\n\nx y"
    text = b";;\na;b;\n;;\r\n;\n;c;\n;;"
    assert without_empty_rows(text, ";") == b"a;b;\n;c;\n"
    assert without_empty_rows(b'"\n;\n";1\n', ";") == b'"\n;\n";1\n'


def test_spooled_standard_input_is_deleted(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    good = f"x,kind\n{ROWS}"
    succeed("fit", "-", "-t", "kind", "--cv", "3", stdin=good)
    for bad in ("", good + "y,a\n", good + '1,"a\n'):
        result = invoke("fit", "-", "-t", "kind", stdin=bad)
        assert result.exit_code == 1
        assert "standard input" in result.stderr
        assert str(tmp_path) not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_empty_lines_above_a_table_are_read_once(tmp_path):
    """Millions of them took minutes, as all were looked at again with each piece."""
    path = tmp_path / "a.csv"
    path.write_text("\n" * 1_000_000 + f"x,kind\n{ROWS}")
    assert "60 rows, 1 feature," in succeed("fit", path, "-t", "kind", "--no-accuracy")
