"""Quotes in text: rows are cut as a naive reader cuts them, and open quotes refused."""

import csv
import io
import time

import numpy as np
import pytest

from fuzz.commands import a_folder
from helpers.cli import invoke, succeed
from heterolda.data.quotes import CountingFile, check_quotes, whole_rows

CELLS = ["1", "", '5" pipe', '"a"', '"b ""c"""', '"d\ne"', '"f,g;"', "'", "é", '""']


def chunks_of(text, rng):
    """Text cut at random places."""
    cuts = np.sort(rng.integers(0, len(text) + 1, size=rng.integers(0, 12)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t"])
def test_rows_are_whole_wherever_the_text_is_cut(rng, delimiter):
    for _ in range(150):
        rows = [rng.choice(CELLS, size=3) for _ in range(rng.integers(1, 9))]
        end = rng.choice(["\n", "\r\n"])
        text = end.join(delimiter.join(row) for row in rows) + rng.choice(["", end])
        blocks = list(whole_rows(chunks_of(text.encode(), rng), delimiter, "text"))
        assert b"".join(blocks) == text.encode()
        expected = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
        found = [
            row
            for block in blocks
            for row in csv.reader(
                io.StringIO(block.decode(), newline=""), delimiter=delimiter
            )
        ]
        assert found == expected


BAD = [
    ('x,y\n1,"a\n2,b\n', 1),  # not closed
    ('x,y\n1,a\n2,"b\n3,c\n4,"d\n5,e\n', 2),  # closed by the opening of another
    ('x,y\n1,"big" one\n', 1),
    ('x,y\n1,"a\n2,5" q\n', 1),
    ('x,"y\n1,2\n', 0),
]


@pytest.mark.parametrize(("text", "line"), BAD)
def test_open_quotes_are_refused(rng, text, line):
    for _ in range(20):
        with pytest.raises(ValueError, match=f"^t: a quote .* after line {line}:"):
            check_quotes(chunks_of(text.encode(), rng), ",", "t")
    counting = CountingFile(io.BytesIO(text.encode()), ",")
    while counting.read(3):
        pass
    assert counting.doubtful


@pytest.mark.parametrize("text", ["x,y\n1,2\n", '"x",y\n"a","b\nc"\n', '"",""\n1,"z"'])
def test_plain_quotes_need_no_second_look(text):
    for size in (1, 2, 100):
        counting = CountingFile(io.BytesIO(text.encode()), ",")
        while counting.read(size):
            pass
        assert not counting.doubtful


def test_a_mark_of_an_editor_before_a_quote():
    text = b'\xef\xbb\xbf"x\ny",z\n1,2\n'
    assert list(whole_rows([text[:5], text[5:]], ",", "t")) == [text]


def seconds_of(text):
    """Least time that it takes to cut some text, of three times."""
    times = []
    for _ in range(3):
        begin = time.process_time()
        chunks = (text[k : k + 4096] for k in range(0, len(text), 4096))
        assert b"".join(whole_rows(chunks, ",", "t")) == text
        times.append(time.process_time() - begin)
    return min(times)


def test_an_inch_mark_does_not_make_reading_quadratic():
    plain = b"2,plain\n" * 200_000
    assert seconds_of(b'x,y\n1,5" pipe\n' + plain) < 10 * seconds_of(plain)


def test_rows_without_an_end_are_refused(monkeypatch):
    monkeypatch.setattr("heterolda.data.quotes._LONGEST_ROW", 1000)
    with pytest.raises(ValueError, match="the row after line 1 is longer than"):
        list(whole_rows([b"x\n", b"a" * 900, b"a" * 900], ",", "t"))
    with pytest.raises(ValueError, match="a quote is not closed"):
        list(whole_rows([b'x\n"', b"a\n" * 900], ",", "t"))


def test_commands_refuse_swallowed_rows_and_keep_the_data():
    rows = "".join(f"{k % 7}.5,{k % 5},{'ab'[k % 2]},z\n" for k in range(60))
    good = "x,y,kind,note\n" + rows
    bad = good + '1,2,a,"open\n3,4,b,z\n5,6,a,5" q\n'
    with a_folder(good_csv=good.encode(), bad_csv=bad.encode()) as folder:
        succeed("fit", "good.csv", "-t", "kind", "--exclude", "note", "-o", "m.json")
        result = invoke("predict", "m.json", "bad.csv", "-o", "out.csv")
        assert result.exit_code == 1
        assert "a quote is not closed, or stands within quotes" in result.stderr
        assert not (folder / "out.csv").exists()
        (folder / "bad.csv").write_text(good + '1,"2,a,z\n')
        result = invoke("fit", "bad.csv", "-t", "kind", "--exclude", "note")
        assert "a quote is not closed, or stands within quotes" in result.stderr
        result = invoke(
            "fit", "good.csv", "-t", "kind", "--exclude", "note", "-o", "./good.csv"
        )
        assert result.exit_code == 2
        assert "it would replace the data" in result.stderr
        assert (folder / "good.csv").read_text() == good
