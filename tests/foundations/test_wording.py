"""Numbers, labels and tables in words."""

from heterolda.foundations.wording import printable


def test_text_is_safe_for_a_terminal():
    assert printable("column 'a\x1b[31mb'\n") == "column 'a\\x1b[31mb'\n"
    assert printable("a very long name", 11) == "a ver [...] name"
