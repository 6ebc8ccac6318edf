"""Numbers, labels and tables in words."""

import numpy as np

from heterolda.foundations.wording import (
    Markup,
    count,
    html,
    html_table,
    listed,
    named,
    percent,
    printable,
    text_table,
)


def test_tables_have_their_first_column_on_the_left():
    lines = text_table([["pair", "error"], ["a, b", "1.0 %"], ["c", "12.0 %"]])
    assert lines == ["pair   error", "a, b   1.0 %", "c     12.0 %"]


def test_html_is_escaped_and_cut():
    rows = [["<b>", Markup("<i>1</i>")], ['"', "&"], ["c", "3"]]
    shown = html_table(["<", "n"], rows, most=2)
    assert '<th scope="col">&lt;</th><th scope="col">n</th>' in shown
    assert '<th scope="row">&lt;b&gt;</th><td><i>1</i></td>' in shown
    assert '<th scope="row">&quot;</th><td>&amp;</td>' in shown
    assert shown.endswith("</table><p>and 1 more</p>")
    assert "more" not in html_table(["a", "n"], rows, most=3)
    assert html("a < b", Markup("<hr>")) == "<div><p>a &lt; b</p><hr></div>"


def test_long_lists_are_cut():
    assert named(["a", "b", "c"], most=2) == "'a', 'b' and 1 more"
    assert named(np.arange(2)) == "0, 1"
    assert listed(np.arange(3)) == "[0, 1, 2]"
    assert listed(np.arange(300), most=2) == "[0, 1] and 298 more"


def test_numbers_in_words():
    shares = 0.1234, 0.00123, 1e-9, 0.0
    assert [*map(percent, shares)] == ["12.3 %", "0.12 %", "< 0.001 %", "0.0 %"]
    assert count(1, "row") == "1 row"
    assert count(12345, "row") == "12,345 rows"
    assert count(2, "class") == "2 classes"
    assert count(1.5, "row") == "1.5 rows"


def test_text_is_safe_for_a_terminal():
    assert printable("column 'a\x1b[31mb'\n") == "column 'a\\x1b[31mb'\n"
    assert printable("a very long name", 11) == "a ver [...] name"
