"""Numbers, labels and tables in words."""

from heterolda.foundations.wording import Markup, html, html_table, printable


def test_html_is_escaped_and_cut():
    rows = [["<b>", Markup("<i>1</i>")], ['"', "&"], ["c", "3"]]
    shown = html_table(["<", "n"], rows, max_shown=2)
    assert '<th scope="col">&lt;</th><th scope="col">n</th>' in shown
    assert '<th scope="row">&lt;b&gt;</th><td><i>1</i></td>' in shown
    assert '<th scope="row">&quot;</th><td>&amp;</td>' in shown
    assert shown.endswith("</table><p>and 1 more</p>")
    assert "more" not in html_table(["a", "n"], rows, max_shown=3)
    assert html("a < b", Markup("<hr>")) == "<div><p>a &lt; b</p><hr></div>"


def test_text_is_safe_for_a_terminal():
    assert printable("column 'a\x1b[31mb'\n") == "column 'a\\x1b[31mb'\n"
    assert printable("a very long name", 11) == "a ver [...] name"
